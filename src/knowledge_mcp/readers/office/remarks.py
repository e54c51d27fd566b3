"""What people have left in office files beside their text: changes that nobody has accepted, and comments."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from lxml import etree

from knowledge_mcp.readers.shared.containers import local_name, member, parse_xml, relations_of, without_namespace
from knowledge_mcp.readers.shared.hidden import CHANGES, COMMENTS, MarkedWords, noted, remark, unaccepted_changes
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_BEGINS = {"change-start": f"{_TEXT}change-id", "annotation": f"{_OFFICE}name"}
_ENDS = {"change-end": f"{_TEXT}change-id", "annotation-end": f"{_OFFICE}name"}
"""Marks between which words stand that came, or that a comment is about, and the attributes with their names."""
_WORKBOOK = "an Excel workbook"


def remarks_of(body: Element) -> tuple[list[str], dict[str, str]]:
    """Give the warnings about a text's comments and changes, and the metadata that hold them."""
    within = _words_within(body)
    comments = [
        remark("", _author(each), _kind(each), within.get(each.get(f"{_OFFICE}name", ""), ""), _said(each))
        for each in body.iter(f"{_OFFICE}annotation")
    ]
    counts: Counter[str] = Counter()
    changes: list[str] = []
    for region in body.iter(f"{_TEXT}changed-region"):
        for each in region:
            kind = local_name(each)
            counts[kind] += 1
            words = _said(each) if kind == "deletion" else within.get(region.get(f"{_TEXT}id", ""), "")
            if kind in {"deletion", "insertion"} and words:
                changes.append(remark("", _author(each), kind, words))
    warnings = [f"{how_many(len(comments), 'comment was', 'comments were')} left out."] if comments else []
    if counts["deletion"] or counts["insertion"]:
        warnings.append(unaccepted_changes(counts["insertion"], counts["deletion"]))
    return warnings, noted(CHANGES, changes) | noted(COMMENTS, comments)


def _words_within(body: Element) -> dict[str, str]:
    """Collect the words between two marks of one name, by that name."""
    marked = MarkedWords()
    found: dict[str, str] = {}
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, each in walk:
        name = local_name(each)
        if event == "end":
            if name in _BEGINS and (own := each.get(_BEGINS[name])):
                marked.open(own)
            elif name in _ENDS and (own := each.get(_ENDS[name])):
                found[own] = marked.close(own) or found.get(own, "")
            marked.add(each.tail)
        elif name in {"tracked-changes", "annotation"}:
            walk.skip_subtree()
        else:
            marked.add(" " if name in {"s", "tab", "p"} else each.text)
            marked.add(each.text if name == "p" else None)
    return found


def _author(element: Element) -> str:
    return next((each.text or "" for each in element.iter("{*}creator")), "")


def _kind(comment: Element) -> str:
    is_resolved = any(
        without_namespace(str(key)) == "resolved" and value == "true" for key, value in comment.attrib.items()
    )
    return "resolved comment" if is_resolved else "comment"


def _said(element: Element) -> str:
    """Return the words of the paragraphs in an element."""
    paragraphs = (each for each in element.iter(f"{_TEXT}p", f"{_TEXT}h"))
    return " ".join(" ".join("".join(map(str, each.itertext())).split()) for each in paragraphs).strip()


# ---- workbooks ------------------------------------------------------------------------------------------------------


def comments_on_cells(archive: zipfile.ZipFile, part: str, title: str) -> Iterator[str]:
    """Tell the comments on the cells of a sheet, a line each; those in threads once, though older programs have a copy.

    Args:
        archive: the workbook.
        part: the name of the sheet's part.
        title: what the sheet is called.
    """
    relations = [*relations_of(partial(member, archive), part, _WORKBOOK)] if part else []
    threads = [each.target for each in relations if each.kind == "threadedComment" and not each.external]
    plain = [each.target for each in relations if each.kind == "comments" and not each.external]
    for name in threads or plain:
        data = member(archive, name)
        root = parse_xml(data, _WORKBOOK) if data else None
        if root is None:
            continue
        authors = [each.text or "" for each in root.iter("{*}author")]
        for comment in root.iter("{*}comment", "{*}threadedComment"):
            number = whole_number(comment.get("authorId"), len(authors))
            author = authors[number] if number < len(authors) else ""
            said = "".join(map(str, comment.itertext()))
            kind = "resolved comment" if comment.get("done") == "1" else "comment"
            yield remark(f"{title} {comment.get('ref', '')}".strip(), author, kind, "", said)

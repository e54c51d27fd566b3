"""Remarks in OpenDocument files: unaccepted changes and comments."""

from __future__ import annotations

from collections import Counter

from lxml import etree

from knowledge_mcp.readers.office.odf.package import OFFICE, TEXT
from knowledge_mcp.readers.shared.containers import Element, local_name, without_namespace, words_of
from knowledge_mcp.readers.shared.hidden import (
    CHANGES,
    COMMENTS,
    MarkedWords,
    comments_left_out,
    noted,
    remark,
    unaccepted_changes,
)

_BEGINS = {"change-start": f"{TEXT}change-id", "annotation": f"{OFFICE}name"}
_ENDS = {"change-end": f"{TEXT}change-id", "annotation-end": f"{OFFICE}name"}
"""Marks around inserted or commented words, and their attributes with the name."""


def remarks_of(body: Element) -> tuple[list[str], dict[str, str]]:
    """Return the warnings about a text's comments and changes, and the metadata that hold them."""
    within = _words_within(body)
    comments = [
        comment(each, words=within.get(each.get(f"{OFFICE}name", ""), "")) for each in body.iter(f"{OFFICE}annotation")
    ]
    counts: Counter[str] = Counter()
    changes: list[str] = []
    for region in body.iter(f"{TEXT}changed-region"):
        for each in region:
            kind = local_name(each)
            counts[kind] += 1
            words = _paragraph_text(each) if kind == "deletion" else within.get(region.get(f"{TEXT}id", ""), "")
            if kind in {"deletion", "insertion"} and words:
                changes.append(remark("", _author(each), kind, words))
    warnings = [comments_left_out(len(comments))] if comments else []
    if counts["deletion"] or counts["insertion"]:
        warnings.append(unaccepted_changes(counts["insertion"], counts["deletion"]))
    return warnings, noted(CHANGES, changes) | noted(COMMENTS, comments)


def comment(annotation: Element, *, place: str = "", words: str = "") -> str:
    """Return a comment as one line, with its place and the words it is about."""
    return remark(place, _author(annotation), _kind(annotation), words, _paragraph_text(annotation))


def _words_within(body: Element) -> dict[str, str]:
    """Collect the words between two marks with the same name, by that name."""
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


def _paragraph_text(element: Element) -> str:
    """Return the words of the paragraphs in an element."""
    paragraphs = (each for each in element.iter(f"{TEXT}p", f"{TEXT}h"))
    return " ".join(words_of(each) for each in paragraphs).strip()

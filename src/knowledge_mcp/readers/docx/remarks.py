"""Remarks in and on a Word document: unaccepted changes, comments, and warnings of what was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from knowledge_mcp.readers.docx.package import parse
from knowledge_mcp.readers.shared.containers import Element, attribute, local_name
from knowledge_mcp.readers.shared.hidden import (
    CHANGES,
    COMMENTS,
    MarkedWords,
    comments_left_out,
    noted,
    remark,
    unaccepted_changes,
)
from knowledge_mcp.readers.shared.layout import unread_pictures
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.readers.docx.package import Package

_KINDS = {"ins": "insertion", "del": "deletion", "moveTo": "move", "cellIns": "insertion", "cellDel": "deletion"}
_BEGIN, _END = "commentRangeStart", "commentRangeEnd"
_LOOKED_AT = [f"{{*}}{name}" for name in (*_KINDS, _BEGIN, _END, "commentReference", "t")]


class Remarks:
    """Collect changes and comments; call `see` with each child of the body in order."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._changes: list[str] = []
        self._marked = MarkedWords()
        self._commented: dict[str, str] = {}
        self._clauses: dict[str, str] = {}

    def see(self, element: Element, clause: str = "") -> None:
        """Collect the remarks in an element of the text, which is in `clause`."""
        clause = f"clause {clause}" if clause else ""
        for part in element.iter(*_LOOKED_AT):
            name = local_name(part)
            if name in _KINDS:
                self._change(part, _KINDS[name], clause)
            elif name == "t":
                self._marked.add(part.text)
            else:
                number = attribute(part, "id") or ""
                if name == _BEGIN:
                    self._marked.open(number)
                elif name == _END:
                    self._commented[number] = self._marked.close(number)
                else:
                    self._clauses[number] = clause

    def _change(self, part: Element, kind: str, clause: str) -> None:
        self._counts[kind] += 1
        tags = ("{*}t", "{*}delText") if kind == "deletion" else ("{*}t",)  # inserted words may have been deleted again
        words = "".join(text.text or "" for text in part.iter(*tags))
        if words.strip():
            self._changes.append(remark(clause, attribute(part, "author"), kind, words))

    def report(self, package: Package) -> tuple[list[str], dict[str, str]]:
        """Return the warnings about changes and comments, and the metadata that hold them."""
        warnings: list[str] = []
        if self._counts:
            counts = (self._counts[kind] for kind in ("insertion", "deletion", "move"))
            warnings.append(unaccepted_changes(*counts))
        comments = [*self._comments(package)]
        if comments:
            warnings.append(comments_left_out(len(comments)))
        return warnings, noted(CHANGES, self._changes) | noted(COMMENTS, comments)

    def _comments(self, package: Package) -> Iterator[str]:
        """Yield each comment as one line: its clause, its author, the words it is about, its text."""
        resolved = set(_resolved(package))
        for comment in _children(package, "comments"):
            if local_name(comment) != "comment":
                continue
            number = attribute(comment, "id") or ""
            paragraphs = list(comment.iter("{*}p"))
            body = " ".join("".join(text.text or "" for text in each.iter("{*}t")) for each in paragraphs)
            is_resolved = any(attribute(each, "paraId") in resolved for each in paragraphs)
            kind = "resolved comment" if is_resolved else "comment"
            clause, words = self._clauses.get(number, ""), self._commented.get(number, "")
            yield remark(clause, attribute(comment, "author"), kind, words, body)


def _resolved(package: Package) -> Iterator[str]:
    """Yield the ids of the comment paragraphs that are marked as done."""
    for each in _children(package, "commentsExtended"):
        if attribute(each, "done") in {"1", "true"}:
            yield attribute(each, "paraId") or ""


def _children(package: Package, kind: str) -> Iterable[Element]:
    data = package.part(kind)
    return parse(data) if data is not None else ()


def unread(symbols: int, pictures: int, numbers: int, figures: int) -> Iterator[str]:
    """Yield a warning for each kind of content that was not read, by how many there are."""
    if symbols:
        yield f"{how_many(symbols, 'sign')} of symbol fonts unknown, shown as ▪."
    if pictures:
        yield unread_pictures(pictures)
    if numbers:
        what = how_many(numbers, "number that a field counts was", "numbers that fields count were")
        yield f"{what} not read (AUTONUM, LISTNUM)."
    if figures:
        what = how_many(figures, "chart or diagram was", "charts or diagrams were")
        yield f"{what} not read: the file has no data for them."

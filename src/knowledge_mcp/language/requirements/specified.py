"""Specification items in the notation of OpenFastTrace: an id with type and revision alone on a line, "req~login~2"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge_mcp.model.document import BlockKind, DeclaredLink, Document, RequirementItem, Span
from knowledge_mcp.support.checkpoints import check_each

_NAME = r"(?P<kind>[A-Za-z]{1,20})~[^\W_][\w.-]{0,200}~\d{1,6}"
_OWN = re.compile(rf"{_NAME}\Z")
_TARGET = re.compile(rf"(?<![\w~]){_NAME}(?![\w~])")
_FIELD = re.compile(
    r"(?<!\S)(Covers|Depends|Needs|Tags|Status|Description|Rationale|Comment)\s{0,3}:(?!\S)"
)  # lines of a paragraph are joined
_LINKS = frozenset({"Covers", "Depends"})
_TEXT = frozenset({"", "Description"})


def specification_items(document: Document) -> Iterator[RequirementItem]:
    """Yield the items of a document: from their id, or the heading directly above it, up to the next one or heading."""
    current: _Item | None = None
    heading: Span | None = None
    for block in check_each(document.blocks):
        if block.kind is BlockKind.HEADING:
            heading = block.span
            yield from [current.made(block.span.start)] if current is not None else []
            current = None
            continue
        for line in block.span.of(document.text).split("\n"):
            own = _OWN.match(line.strip()) if block.kind is BlockKind.PARAGRAPH else None
            if own is not None:
                yield from [current.made(block.span.start)] if current is not None else []
                title = heading.of(document.text) if heading is not None else ""
                start = block.span.start if heading is None else heading.start
                current = _Item(own[0], own["kind"], title, start, block.lines[0] if block.lines else 0)
            elif current is not None:
                current.take(line)
        heading = None
    if current is not None:
        yield current.made(len(document.text))


class _Item:
    """An item while its lines are read."""

    def __init__(self, name: str, kind: str, title: str, start: int, line: int) -> None:
        self._name, self._kind, self._title, self._start, self._line = name, kind, title, start, line
        self._field = ""
        self._fields: dict[str, list[str]] = {}

    def take(self, line: str) -> None:
        """Add a line to the field that it continues, and start those that it names."""
        before, *named = _FIELD.split(line)
        if not named and self._field in {"Needs", "Tags", "Status"}:  # of one line
            self._field = ""
        for name, value in [(self._field, before), *zip(named[::2], named[1::2], strict=True)]:
            self._field = name
            self._fields.setdefault(name, []).append(value.strip())

    def made(self, end: int) -> RequirementItem:
        """Return the item, which ends where the next one or a heading begins."""
        fields = {name: "\n".join(filter(None, lines)) for name, lines in self._fields.items()}
        return RequirementItem(
            self._name,
            self._title,
            "\n".join(text for name, text in fields.items() if name in _TEXT and text),
            kind=self._kind,
            attributes={name: text for name, text in fields.items() if name not in {*_LINKS, *_TEXT}},
            links=tuple(
                DeclaredLink(target[0], name.lower())
                for name in sorted(_LINKS & {*fields})
                for target in _TARGET.finditer(fields[name])
            ),
            line=self._line,
            span=Span(self._start, end),
        )

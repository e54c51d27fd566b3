"""The blocks of a source file as a tree of units: symbols, and runs of lines between them, each with its tokens."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from knowledge_mcp.chunking.passages import token_starts_in
from knowledge_mcp.model.document import Document, Span
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import checked

__all__ = ["SourceFile", "Unit"]

_QUIET = frozenset({"import"})


@dataclass(slots=True)
class Unit:
    """Hold a symbol, or a run of blocks that are no symbol's opening.

    Attributes:
        first, last: positions of its blocks, inclusive.
        section: the symbol that it is; None for a run.
        role: `import` for a run of imports, else empty.
        inner: what a symbol holds; empty for a run.
    """

    first: int
    last: int
    section: int | None = None
    role: str = ""
    inner: list[Unit] = field(default_factory=list["Unit"])


class SourceFile:
    """Look into one document: its blocks, their tokens, its tree.

    Args:
        document: as `CodeReader` reads it; of any other, blocks without depth.
        measure: counts tokens, once for the whole text.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self.document = document
        self.blocks = document.blocks
        self._measure = measure
        self._starts = token_starts_in(document.text, Span(0, len(document.text)), measure)

    def span(self, first: int, last: int) -> Span:
        """Return the text from one block to another."""
        return Span(self.blocks[first].span.start, self.blocks[last].span.end)

    def tokens(self, first: int, last: int) -> int:
        """Count the tokens from one block to another, both included."""
        return self.tokens_in(self.span(first, last))

    def tokens_in(self, span: Span) -> int:
        """Count the tokens that begin inside a span."""
        return bisect_left(self._starts, span.end) - bisect_left(self._starts, span.start)

    def exact(self, span: Span) -> int:
        """Count the tokens of a span by itself."""
        return self._measure.count_tokens(span.of(self.document.text))

    def path(self, section: int | None) -> tuple[int, ...]:
        """List a section with those around it, outermost first."""
        return tuple(one.index for one in self.document.ancestors(section))

    def tree(self) -> list[Unit]:
        """Build the units of the file's top level."""
        root = Unit(0, len(self.blocks) - 1)
        open_: list[Unit] = [root]
        sections: list[int] = []
        for position, block in enumerate(checked(self.blocks)):
            path = self.path(block.section)
            while tuple(sections) != path[: len(sections)]:
                sections.pop()
                open_.pop()
            for section in path[len(sections) :]:
                opened = Unit(position, position, section)
                open_[-1].inner.append(opened)
                open_.append(opened)
                sections.append(section)
            _add(open_[-1], position, block.marker if block.marker in _QUIET else "")
            for unit in open_:
                unit.last = position
        return root.inner

    def kind(self, unit: Unit) -> str:
        """Tell what a symbol is, by the marker of the block that its signature stands in; empty for a run."""
        if unit.section is None:
            return ""
        opens = self.document.sections[unit.section].heading.start
        for position in range(unit.first, min(unit.first + 3, unit.last + 1)):
            if self.blocks[position].span.end > opens:
                return self.blocks[position].marker
        return ""


def _add(unit: Unit, position: int, role: str) -> None:
    last = unit.inner[-1] if unit.inner else None
    if last is not None and last.section is None and last.role == role:
        last.last = position
    else:
        unit.inner.append(Unit(position, position, role=role))

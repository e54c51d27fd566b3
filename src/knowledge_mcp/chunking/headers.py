"""The heading path of a chunk: as context for its vector, as hierarchy for filters, as place for its id."""

from __future__ import annotations

from knowledge_mcp.chunking.calling import called
from knowledge_mcp.model.document import Document, Section
from knowledge_mcp.ports import TokenMeasure

__all__ = ["CONTEXT_TOKENS", "HIERARCHY_LEVELS", "HeadingPaths"]

CONTEXT_TOKENS = 48
"""Tokens that the heading path before a chunk may have."""

HIERARCHY_LEVELS = 6
"""Levels of `section_hierarchy` (clarification 4)."""

_SEPARATOR = " > "


class HeadingPaths:
    """Work out what stands above each section of one document; every section once.

    Attributes:
        limit: tokens that a path may have.
        truncated: whether a hierarchy asked for so far had more than six levels.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self.truncated = False
        self._document = document
        self._called = called(document)
        self._measure = measure
        self.limit = max(1, min(CONTEXT_TOKENS, measure.max_tokens // 4))
        self._contexts: dict[int | None, tuple[str, int]] = {}

    def hierarchy(self, section: int | None) -> tuple[str, ...]:
        """List titles with numbers from the top, at most six; notes in `truncated` that there were more."""
        labels = tuple(label for node in self._document.ancestors(section) if (label := _label(node)))
        if len(labels) > HIERARCHY_LEVELS:
            self.truncated = True
        return labels[:HIERARCHY_LEVELS]

    def place(self, section: int | None) -> str:
        """Name the place of a section by its clause number and what is unnumbered below it.

        Titles above a numbered clause are left out, so that renaming a chapter does not rename what stands in it.
        """
        parts: list[str] = []
        for node in self._document.ancestors(section):
            if node.number:
                parts = [node.number]
            else:
                parts.append(node.title)
        return "\x1f".join(parts)

    def context(self, section: int | None) -> tuple[str, int]:
        """Return the compact path from the document's title down, and how many tokens it has.

        Where it is too long, middle levels go first, then the title's end, then the innermost heading's end.
        """
        found = self._contexts.get(section)
        if found is None:
            found = self._context(section)
            self._contexts[section] = found
        return found

    def _context(self, section: int | None) -> tuple[str, int]:
        title = self._called
        parts = [title] if title else []
        for node in self._document.ancestors(section):
            label = _label(node)
            if label and not (len(parts) == 1 and title.casefold().endswith(label.casefold())):
                parts.append(label)
        while len(parts) > 2 and self._count(parts) > self.limit:
            del parts[len(parts) // 2 if len(parts) > 3 else 1]
        if parts and self._count(parts) > self.limit:
            parts = [self._shortened(parts[0], self.limit // 2), *parts[1:]] if len(parts) > 1 else parts
        words = _SEPARATOR.join(part for part in parts if part)
        if self._measure.count_tokens(words) > self.limit:
            words = self._shortened(words, self.limit)
        return words, self._measure.count_tokens(words) if words else 0

    def _count(self, parts: list[str]) -> int:
        return self._measure.count_tokens(_SEPARATOR.join(parts))

    def _shortened(self, words: str, limit: int) -> str:
        """Cut words off at the end until the rest fits."""
        spans = self._measure.token_spans(words)
        if len(spans) <= limit:
            return words
        kept = words[: spans[limit][0]].rstrip() if limit > 0 else ""
        blank = kept.rfind(" ")
        if blank > 0 and not words[len(kept) : len(kept) + 1].isspace():
            kept = kept[:blank]
        while kept and self._measure.count_tokens(kept) > limit:
            kept = kept[: len(kept) // 2]
        return kept.rstrip(" >:,;–—-")


def _label(section: Section) -> str:
    return " ".join(section.label.split())

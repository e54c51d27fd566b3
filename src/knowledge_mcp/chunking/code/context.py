"""What stands before a code chunk for its vector and its words: the path, the symbols around it, what they are for."""

from __future__ import annotations

import re

from knowledge_mcp.model.document import Document, Span
from knowledge_mcp.ports import TokenMeasure

__all__ = ["CONTEXT_TOKENS", "CodeContexts"]

CONTEXT_TOKENS = 64
"""Tokens that the context of a chunk may have; never more than a quarter of what the model reads."""

_SEPARATOR = " > "
_LONGEST = 160
_MOST_LEVELS = 6
_DOC_LONGEST = 200
_DECORATION = re.compile(r"^[\s/*#!;%'\"-]+|[\s/*'\"]+$")
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


class CodeContexts:
    """Work out the context of each symbol of one document; every symbol once.

    Attributes:
        limit: tokens that a context may have.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self._document = document
        self._measure = measure
        self.limit = max(1, min(CONTEXT_TOKENS, measure.max_tokens // 4))
        self._docs: dict[int, Span] = {}
        self._kinds: dict[int, str] = {}
        self._signatures: dict[int, str] = {}
        self._found: dict[tuple[int | None, bool], tuple[str, int]] = {}
        for block in document.blocks:
            if block.section is None:
                continue
            if block.marker == "doc":
                self._docs.setdefault(block.section, block.span)
            opens = document.sections[block.section].heading.start
            if block.span.start <= opens < block.span.end:
                self._kinds[block.section] = block.marker

    def kind(self, section: int) -> str:
        """Tell what a symbol is, empty where that is not known."""
        return self._kinds.get(section, "")

    def most(self, section: int | None) -> int:
        """Count the tokens of the longest context that a piece inside a symbol can have."""
        return max(self._context(section, inside)[1] for inside in (False, True))

    def of(self, section: int | None, span: Span) -> str:
        """Return the context of a piece: a symbol whose signature stands in it is not repeated."""
        shows = section is not None and _holds(span, self._document.sections[section].heading.start)
        return self._context(section, not shows)[0]

    def _context(self, section: int | None, inside: bool) -> tuple[str, int]:
        key = (section, inside)
        found = self._found.get(key)
        if found is None:
            words = self._words(section, inside)
            found = self._found[key] = (words, self._measure.count_tokens(words))
        return found

    def _words(self, section: int | None, inside: bool) -> str:
        rows = [each.index for each in self._document.ancestors(section)]
        rows = (rows if inside else rows[:-1])[-_MOST_LEVELS:]
        parts = [self._document.title, *(self._signature(row) for row in rows)]
        while len(parts) > 2 and self._count(parts) > self.limit:
            del parts[1]
        if self._count(parts) > self.limit:
            parts = [self._shortened(part, self.limit // len(parts) - 1) for part in parts]
        words = _SEPARATOR.join(part for part in parts if part)
        doc = self._doc(section) if inside and section is not None else ""
        if doc and self._measure.count_tokens(f"{words}\n{doc}") <= self.limit:
            return f"{words}\n{doc}"
        return words if self._measure.count_tokens(words) <= self.limit else self._shortened(words, self.limit)

    def _signature(self, row: int) -> str:
        found = self._signatures.get(row)
        if found is None:
            section = self._document.sections[row]
            words = " ".join(section.heading.of(self._document.text).split()) or section.title
            found = self._signatures[row] = words if len(words) <= _LONGEST else section.title
        return found

    def _doc(self, row: int) -> str:
        """Return the first sentence of a symbol's documentation."""
        span = self._docs.get(row)
        if span is None:
            return ""
        lines = (
            _DECORATION.sub("", line)
            for line in self._document.text[span.start : min(span.end, span.start + 4 * _DOC_LONGEST)].split("\n")
        )
        words = " ".join(line for line in lines if line)
        sentence = _SENTENCE.match(words)
        words = sentence.group(1) if sentence else words
        return words[:_DOC_LONGEST]

    def _count(self, parts: list[str]) -> int:
        return self._measure.count_tokens(_SEPARATOR.join(parts))

    def _shortened(self, words: str, limit: int) -> str:
        """Keep the end of a path, which says most, and the beginning of anything else."""
        spans = self._measure.token_spans(words)
        if len(spans) <= limit:
            return words
        if limit <= 0:
            return ""
        kept = words[spans[-limit][0] :] if words == self._document.title else words[: spans[limit][0]]
        while kept and self._measure.count_tokens(kept) > limit:
            kept = kept[: len(kept) // 2]
        return kept.strip()


def _holds(span: Span, place: int) -> bool:
    return span.start <= place < span.end

"""The heading path of a chunk: as context for its vector, as hierarchy for filters, as place for its id."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from knowledge_mcp.model.document import Document, Section
from knowledge_mcp.ports import TokenMeasure

__all__ = [
    "CONTEXT_TOKENS",
    "HIERARCHY_LEVELS",
    "HeadingPaths",
    "called",
]

_LOOKED_AT = 4000
"""Code points of a document in which its name has to stand."""
_MOST = 6
"""Words of a file's name that are put before a title."""
_LONG = 8
"""Words of a title from which on it no longer tells at once what the document is."""

_WORDS = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[^\w.\-&/]+")
_PIECES = re.compile(r"[^\W\d_]+|\d+")


def called(document: Document) -> str:
    """Return the title, with the words of the file's name before it that it lacks and that the first lines hold.

    Before a long title stand also those that it has: "ACME 2023: Report of the Commission on ... to Acme". Nothing is
    added where the first lines confirm no word of three letters or more: such names are made by machines. Of words only
    those count that are written with a capital there. What is one word in the file's name may be several in the text
    ("HARBOURMASTER", "Harbour Master").
    """
    title = " ".join(document.title.split())
    opening = _Written(document.text[:_LOOKED_AT])
    in_title = _Written(title)
    is_long = len(title.split()) > _LONG
    told: list[str] = []
    confirmed = missing = False
    for word in _stem(document.source_uri):
        whole = in_title.find(word) or opening.find(word)
        for piece in [word] if whole else _PIECES.findall(word):
            if len(piece) == 1:
                continue  # tells nothing, and stands everywhere
            known = in_title.find(piece)
            written = known or opening.find(piece)
            confirmed = confirmed or (bool(written) and piece.isalpha() and len(piece) > 2)
            if written != written.lower() or (written and piece.isdecimal()):
                missing = missing or not known
                told += [written] if is_long or not known else []
    if not confirmed or not missing:
        return title
    return f"{' '.join(dict.fromkeys(told[:_MOST]))}: {title}" if title else " ".join(dict.fromkeys(told[:_MOST]))


def _stem(source: str) -> list[str]:
    path = re.split(r"[?#]", source, maxsplit=1)[0] if "://" in source else source
    return _WORDS.findall(PurePosixPath(unquote(path)).stem)


class _Written:
    """Find words in a text whatever their case, and whatever stands between their letters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._letters = "".join(_WORDS.findall(text)).casefold()
        self._borders: tuple[dict[int, int], dict[int, int]] | None = None

    def find(self, word: str) -> str:
        """Return whole words of the text that are this one, as they are written; empty where there are none."""
        wanted = word.casefold()
        place = self._letters.find(wanted)
        while place >= 0:
            begins, ends = self._bordered()
            if place in begins and place + len(wanted) in ends:
                found = self._text[begins[place] : ends[place + len(wanted)]]
                return " ".join(_BETWEEN.sub(" ", found).split())
            place = self._letters.find(wanted, place + 1)
        return ""

    def _bordered(self) -> tuple[dict[int, int], dict[int, int]]:
        """Map where words begin and end among the letters to where they do in the text; worked out at the first hit."""
        if self._borders is None:
            begins: dict[int, int] = {}
            ends: dict[int, int] = {}
            length = 0
            for word in _WORDS.finditer(self._text):
                begins[length] = word.start()
                length += len(word.group().casefold())
                ends[length] = word.end()
            self._borders = begins, ends
        return self._borders


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

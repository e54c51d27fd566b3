"""What is above a chunk: the path of its headings, and headlines over figures that no reader recognised as headings.

The path is used as context for the vector, as hierarchy for filters, and as location for the id. A balance sheet is a
page of rows under one headline: a piece from its middle means nothing by itself, and a piece that mixes the end of one
statement with the beginning of the next is ambiguous.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from knowledge_mcp.model.document import Block, BlockKind, Document, Section
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each

_LOOKED_AT = 4000
"""Code points at the start of a document in which its name must occur."""
_MOST = 6
"""Maximum words of a file name that are put before a title."""
_LONG = 8
"""Titles with more words than this do not say immediately what the document is."""

_WORDS = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[^\w.\-&/]+")
_PIECES = re.compile(r"[^\W\d_]+|\d+")


def title_with_file_name(document: Document) -> str:
    """Return the title, preceded by the words of the file name that it lacks and that the first lines contain.

    A long title is also preceded by words that it already has: "ACME 2023: Report of the Commission on ... to Acme".
    Nothing is added if the first lines confirm no word of at least three letters and no designation, such as that of a
    part ("LM317"): such file names are generated. Only words that are capitalised there count. One word of the file
    name may be several in the text ("HARBOURMASTER", "Harbour Master"). The number of a series needs no confirmation if
    the series is an abbreviation in the text: a proposal often does not state that it is "EIP-1153".
    """
    title = " ".join(document.title.split())
    opening = _WordFinder(document.text[:_LOOKED_AT])
    in_title = _WordFinder(title)
    is_long = len(title.split()) > _LONG
    added: list[str] = []
    confirmed = missing = numbered = False
    for word in _stem(document.source_uri):
        whole = in_title.find(word) or opening.find(word)
        for piece in [word] if whole else _PIECES.findall(word):
            if len(piece) == 1:
                continue  # means nothing, and occurs everywhere
            known = in_title.find(piece)
            written = known or opening.find(piece) or (piece if numbered and piece.isdecimal() else "")
            numbered = (written.isalpha() and written.isupper()) or (numbered and piece.isalpha() and piece.isupper())
            confirmed = confirmed or (bool(written) and _says_something(piece))
            if written != written.lower() or (written and piece.isdecimal()):
                missing = missing or not known
                added += [written] if is_long or not known else []
    if not confirmed or not missing:
        return title
    return f"{' '.join(dict.fromkeys(added[:_MOST]))}: {title}" if title else " ".join(dict.fromkeys(added[:_MOST]))


def _says_something(piece: str) -> bool:
    """Return whether this is a word or a deliberate code, rather than a number, "v2" or "10K"."""
    return not piece.isdecimal() and len(piece) > (2 if piece.isalpha() else 3)


def _stem(source: str) -> list[str]:
    path = re.split(r"[?#]", source, maxsplit=1)[0] if "://" in source else source
    return _WORDS.findall(PurePosixPath(unquote(path)).stem)


class _WordFinder:
    """Find words in a text in any case, and with anything between their letters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._letters = "".join(_WORDS.findall(text)).casefold()
        self._edges: tuple[dict[int, int], dict[int, int]] | None = None

    def find(self, word: str) -> str:
        """Return whole words of the text that match this one, as written; empty if there are none."""
        letters = word.casefold()
        place = self._letters.find(letters)
        while place >= 0:
            begins, ends = self._word_edges()
            if place in begins and place + len(letters) in ends:
                found = self._text[begins[place] : ends[place + len(letters)]]
                return " ".join(_BETWEEN.sub(" ", found).split())
            place = self._letters.find(letters, place + 1)
        return ""

    def _word_edges(self) -> tuple[dict[int, int], dict[int, int]]:
        """Map word boundaries among the letters to those in the text; computed at the first hit."""
        if self._edges is None:
            begins: dict[int, int] = {}
            ends: dict[int, int] = {}
            length = 0
            for word in _WORDS.finditer(self._text):
                begins[length] = word.start()
                length += len(word.group().casefold())
                ends[length] = word.end()
            self._edges = begins, ends
        return self._edges


CONTEXT_TOKENS = 48
"""Maximum tokens of the heading path before a chunk."""

HIERARCHY_LEVELS = 6
"""Levels of `section_hierarchy` (clarification 4)."""

_SEPARATOR = " > "


class HeadingPaths:
    """Compute what is above each section of one document; cached per section.

    Attributes:
        limit: maximum tokens of a path.
        truncated: whether any hierarchy requested so far had more than six levels.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self.truncated = False
        self._document = document
        self._called = title_with_file_name(document)
        self._measure = measure
        self.limit = max(1, min(CONTEXT_TOKENS, measure.max_tokens // 4))
        self._contexts: dict[int | None, tuple[str, int]] = {}

    def hierarchy(self, section: int | None) -> tuple[str, ...]:
        """List titles with numbers from the top, at most six; sets `truncated` if there were more."""
        labels = tuple(label for node in self._document.ancestors(section) if (label := _label(node)))
        if len(labels) > HIERARCHY_LEVELS:
            self.truncated = True
        return labels[:HIERARCHY_LEVELS]

    def place(self, section: int | None) -> str:
        """Identify a section by its clause number and the unnumbered headings below it.

        Titles above a numbered clause are left out, so that renaming a chapter does not change the ids in it.
        """
        parts: list[str] = []
        for node in self._document.ancestors(section):
            if node.number:
                parts = [node.number]
            else:
                parts.append(node.title)
        return "\x1f".join(parts)

    def context(self, section: int | None) -> tuple[str, int]:
        """Return the compact path from the document's title down, and its tokens.

        If it is too long, middle levels are dropped first, then the title's end, then the innermost heading's end.
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
            parts = [self._shorten(parts[0], self.limit // 2), *parts[1:]] if len(parts) > 1 else parts
        words = _SEPARATOR.join(part for part in parts if part)
        if self._measure.count_tokens(words) > self.limit:
            words = self._shorten(words, self.limit)
        return words, self._measure.count_tokens(words) if words else 0

    def _count(self, parts: list[str]) -> int:
        return self._measure.count_tokens(_SEPARATOR.join(parts))

    def _shorten(self, words: str, limit: int) -> str:
        """Remove words at the end until the rest fits."""
        spans = self._measure.token_spans(words)
        if len(spans) <= limit:
            return words
        shortened = words[: spans[limit][0]].rstrip() if limit > 0 else ""
        blank = shortened.rfind(" ")
        if blank > 0 and not words[len(shortened) : len(shortened) + 1].isspace():
            shortened = shortened[:blank]
        while shortened and self._measure.count_tokens(shortened) > limit:
            shortened = shortened[: len(shortened) // 2]
        return shortened.rstrip(" >:,;–—-")


def _label(section: Section) -> str:
    return " ".join(section.label.split())


_LONGEST = 160
_MOST_WORDS = 18
_REACH = 6
"""Maximum blocks between a headline and the first of its rows."""
_ROW = 3
"""Minimum figures in a line that is an unrecognised row; they must also be a quarter of its words."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FIGURE = re.compile(r"(?<![\w.])\d[\d.,]*")
_ENDS = (".", ";", ",", ":", "?", "!")


@dataclass(frozen=True, slots=True)
class _Headline:
    """One headline: its block, where its scope ends, and whether it is the headline of the page."""

    block: Block
    end: int
    of_page: bool


class Headlines:
    """Find the headlines of one document.

    A headline is a short line that is not a sentence, whose longer words are capitalised, with rows of figures close
    below it; it is the first of its page or directly above a table. So is an unnumbered heading followed directly by
    another one that took over its rows. Only documents with pages have headlines.
    """

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._found = list(_headlines(document)) if document.pages else []
        self._starts = [each.block.span.start for each in self._found]

    def opens(self, position: int) -> bool:
        """Return whether the headline of a page begins at a position."""
        place = bisect_right(self._starts, position) - 1
        return place >= 0 and self._starts[place] == position and self._found[place].of_page

    def over(self, position: int) -> str:
        """Join the headlines for a position: that of its page, then the nearest; or empty."""
        place = bisect_right(self._starts, position) - 1
        above = [each for each in self._found[max(place - _REACH, 0) : place + 1] if each.end > position]
        above = [each for each in above if each.block.span.end <= position]
        chosen = [each for each in above if each.of_page][-1:]
        chosen += [each for each in above[-1:] if each not in chosen]
        return "\n".join(" ".join(each.block.span.of(self._text).split()) for each in chosen)


def _headlines(document: Document) -> Iterator[_Headline]:
    blocks = document.blocks
    runs = {page.number: page.own_runs for page in document.pages}
    for place, block in enumerate(check_each(blocks)):
        if len(block.pages) != 1 or block.kind not in {BlockKind.PARAGRAPH, BlockKind.HEADING}:
            continue
        first = place == 0 or block.pages[0] not in blocks[place - 1].pages
        end = next((run.end for run in runs.get(block.pages[0], ()) if run.contains(block.span)), block.span.end)
        below = blocks[place + 1 : place + 1 + _REACH]
        if block.kind is BlockKind.HEADING:
            if not _is_left_at_once(document, block, below):
                continue
            below, end = below[1:], min(end, _next_beside(document, place, end))
        elif not first and not (below and below[0].kind is BlockKind.TABLE):
            continue
        if _is_title(block.span.of(document.text)) and _has_rows(document.text, block, below):
            yield _Headline(block, end, first or block.kind is BlockKind.HEADING)


def _is_left_at_once(document: Document, heading: Block, below: Sequence[Block]) -> bool:
    """Return whether an unnumbered heading is followed only by another one that is not part of it."""
    if heading.section is None or document.sections[heading.section].number or not below:
        return False
    if below[0].kind is not BlockKind.HEADING or below[0].section == heading.section:
        return False
    return heading.section not in {section.index for section in document.ancestors(below[0].section)}


def _next_beside(document: Document, place: int, end: int) -> int:
    """Return where the heading after the next one begins that is no deeper than the one at a position."""
    section = document.blocks[place].section
    level = document.sections[section].level if section is not None else 0
    for block in document.blocks[place + 2 :]:
        if block.span.start >= end:
            break
        if (
            block.kind is BlockKind.HEADING
            and block.section is not None
            and document.sections[block.section].level <= level
        ):
            return block.span.start
    return end


def _has_rows(text: str, block: Block, below: Sequence[Block]) -> bool:
    """Return whether rows begin close below a block, on its page."""
    for each in below:
        if each.pages[:1] != block.pages or each.kind in {BlockKind.HEADING, BlockKind.CODE}:
            return False
        if each.kind is BlockKind.TABLE:
            return True
        words = each.span.of(text).rstrip()
        figures = len(_FIGURE.findall(words))
        if figures >= _ROW and 4 * figures >= len(words.split()) and not words.endswith("."):
            return True
    return False


def _is_title(line: str) -> bool:
    if len(line) > _LONGEST or line.rstrip().endswith(_ENDS):
        return False
    words = _WORD.findall(line)
    if not 2 <= len(words) <= _MOST_WORDS or len(_FIGURE.findall(line)) > 2:
        return False
    longer = [word for word in words[:6] if len(word) > 3]
    return len(longer) >= 2 and all(word[0].isupper() for word in longer[:3])

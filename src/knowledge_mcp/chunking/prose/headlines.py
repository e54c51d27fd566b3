"""Titles over figures that no reader took for headings: what the rows below are about, as far down as their page goes.

A balance sheet is a page of rows under one line of print. A piece that is cut from its middle says nothing of it by
itself, and a piece that mixes the end of one statement with the beginning of the next says two things at once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.model.document import Block, BlockKind, Document
from knowledge_mcp.support.checkpoints import checked

__all__ = ["Headlines"]

_LONGEST = 160
_MOST_WORDS = 18
_REACH = 6
"""Blocks below a headline among which its rows have to begin."""
_ROW = 3
"""Figures in a line that is a row, though no reader took it for one; and they are a quarter of its words."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_FIGURE = re.compile(r"(?<![\w.])\d[\d.,]*")
_ENDS = (".", ";", ",", ":", "?", "!")


@dataclass(frozen=True, slots=True)
class _Headline:
    """One headline: its block, where its power ends, and whether it is the page's."""

    block: Block
    end: int
    of_page: bool


class Headlines:
    """Find the headlines of one document.

    A headline is a short line of print, no sentence, whose longer words begin with capitals, with rows of figures close
    below it; it is the first of its page or stands right above a table. So is an unnumbered heading that another one
    follows at once, which took the rows as its own. Only documents with pages have headlines.
    """

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._found = list(_headlines(document)) if document.pages else []
        self._starts = [each.block.span.start for each in self._found]

    def opens(self, position: int) -> bool:
        """Tell whether the headline of a page begins at a place of the text."""
        place = bisect_right(self._starts, position) - 1
        return place >= 0 and self._starts[place] == position and self._found[place].of_page

    def over(self, position: int) -> str:
        """Join the headlines under which a place of the text stands: that of its page, then the nearest; or nothing."""
        place = bisect_right(self._starts, position) - 1
        above = [each for each in self._found[max(place - _REACH, 0) : place + 1] if each.end > position]
        above = [each for each in above if each.block.span.end <= position]
        chosen = [each for each in above if each.of_page][-1:]
        chosen += [each for each in above[-1:] if each not in chosen]
        return "\n".join(" ".join(each.block.span.of(self._text).split()) for each in chosen)


def _headlines(document: Document) -> Iterator[_Headline]:
    blocks = document.blocks
    ends = {page.number: page.span.end for page in document.pages}
    for place, block in enumerate(checked(blocks)):
        if len(block.pages) != 1 or block.kind not in {BlockKind.PARAGRAPH, BlockKind.HEADING}:
            continue
        first = place == 0 or block.pages[0] not in blocks[place - 1].pages
        end = ends.get(block.pages[0], block.span.end)
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
    """Tell whether nothing stands under an unnumbered heading but another one that is no part of it."""
    if heading.section is None or document.sections[heading.section].number or not below:
        return False
    if below[0].kind is not BlockKind.HEADING or below[0].section == heading.section:
        return False
    return heading.section not in {section.index for section in document.ancestors(below[0].section)}


def _next_beside(document: Document, place: int, end: int) -> int:
    """Return where the next heading but one begins that is no deeper than the one at a place."""
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
    """Tell whether rows begin close below a block, on its page."""
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

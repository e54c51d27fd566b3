"""Lines joined to running text: which line goes on, which begins anew, how words cut at line ends are joined."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.layout import Line, PageLayout

__all__ = ["Geometry", "Vocabulary"]

_CUT_WORD = re.compile(r"(?P<left>[^\W\d_]+)[-\u00ad\u2010\x02]$")
_NEXT_WORD = re.compile(r"(?P<right>[^\W\d_]+)")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_END = re.compile(r"[.:;!?][)\]\"”’]*$")


class Vocabulary:
    """Know the words of a document, to tell a hyphen that cuts a word from one that belongs to it."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            self._words.update(word.lower() for word in _WORDS.findall(line.text)[:-1])

    def join(self, text: str, following: str) -> str:
        """Join a line to the text before it.

        A hyphen at the end goes when the word without it occurs in the document; it stays when the word with it does,
        or when both parts are words of the document by themselves; else it goes. Before a capital or a digit it stays.
        """
        cut, after = _CUT_WORD.search(text, max(len(text) - 60, 0)), _NEXT_WORD.match(following)
        if cut is None or after is None or not after["right"][0].islower():
            joint = "" if text.endswith(("-", "/", "\u2010")) and not text.endswith((" -", " /")) else " "
            return text.removesuffix("\x02") + joint + following
        left, right = cut["left"].lower(), after["right"].lower()
        if left + right not in self._words:
            both = left in self._words and right in self._words
            if f"{left}-{right}" in self._words or both:
                return f"{text[:-1]}-{following}"
        return text[:-1] + following


class Geometry:
    """Know a document's line pitch and column edges, to tell where a paragraph ends."""

    def __init__(self, pages: Sequence[PageLayout]) -> None:
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        self._right: dict[tuple[int, int], float] = {}
        for page in pages:
            lines = [line for line in page.lines if not line.rotated]
            for line in lines:
                key = (page.number, round(line.x0 / 40))
                self._right[key] = max(self._right.get(key, 0.0), line.x1)
            for one, other in itertools.pairwise(lines):
                step = other.y0 - one.y0
                if one.size == other.size and one.block == other.block and 0.8 * one.size < step < 3 * one.size:
                    steps[one.size][round(step, 1)] += 1
        self._pitch = {size: min(counts, key=lambda step: (-counts[step], step)) for size, counts in steps.items()}

    def goes_on(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        """Tell whether `line` belongs to the block that `previous` ends.

        Args:
            previous: the block's last line.
            line: the next line in reading order.
            text: the block's text so far.
            kind: what the block is.
            hang: the left edge of a list item's marker, of other blocks' first line.
        """
        hangs = kind is BlockKind.LIST_ITEM and not line.code and line.x0 > hang + 3 and not _ends(text)
        if previous.code != line.code and not (hangs or _is_flow(previous, line)):
            return False
        if line.page != previous.page or line.y0 < previous.y0 - previous.size:
            return _sentence_goes_on(text, line) and abs(line.size - previous.size) < 0.6
        if abs(line.y0 - previous.y0) < 0.4 * line.size:
            return line.x0 > previous.x0
        if line.y0 - previous.y0 > 1.28 * self._pitch_of(previous) or line.x0 > previous.x1:
            return False
        if abs(line.size - previous.size) > 1.2 or (line.bold != previous.bold and self._is_short(previous)):
            return False
        return not self._paragraph_ends(previous, line, text, kind, hang)

    def _pitch_of(self, line: Line) -> float:
        return self._pitch.get(line.size, 1.25 * line.size)

    def _paragraph_ends(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        ended = _ends(text)
        if kind is BlockKind.LIST_ITEM and line.x0 < hang - 3:
            return True
        if ended and self._is_short(previous) and (line.text[:1].isupper() or not line.text[:1].isalpha()):
            return True
        indented = line.x0 - previous.x0 > 0.8 * line.size
        return ended and indented and kind is not BlockKind.LIST_ITEM and abs(previous.x0 - hang) > 1

    def _is_short(self, line: Line) -> bool:
        right = self._right.get((line.page, round(line.x0 / 40)), line.x1)
        return line.x1 < right - 0.12 * max(right - line.x0, 1.0)


def _is_flow(previous: Line, line: Line) -> bool:
    """Tell a word of code at a line's edge from a block of code: one of the two is set in both faces or runs on."""
    return line.text[:1].islower() and not _END.search(previous.text) and line.x0 <= previous.x0 + 2


def _ends(text: str) -> bool:
    return _END.search(text, max(len(text) - 12, 0)) is not None


def _sentence_goes_on(text: str, line: Line) -> bool:
    if _ends(text) or not text:
        return False
    return line.text[:1].islower() or line.text[:1].isdigit() or text.endswith(("-", ",")) or line.text[:1] in "(§"

"""Tesseract's TSV to words, and what the words tell of the page: its confidence, whether it lies askew or sideways."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence

from knowledge_mcp.model.ocr import OcrWord

__all__ = ["is_sideways", "mean_confidence", "skew_of", "text_of", "weight_of", "words_of"]

_WORD_LEVEL = "5"
_COLUMNS = 12
_LEGIBLE = 20.0
_SURE_SIGN = 60.0


def words_of(tsv: str) -> tuple[OcrWord, ...]:
    """Read the words of one page, in Tesseract's reading order; lines, paragraphs and blocks numbered from 0.

    Left out is what is no word: blanks over rules and pictures, signs without a letter or digit of which Tesseract is
    not sure (specks, strokes of a drawing), and anything below a confidence of 20.
    """
    words: list[OcrWord] = []
    blocks: dict[str, int] = {}
    paragraphs: dict[tuple[str, str], int] = {}
    lines: dict[tuple[str, str, str], int] = {}
    for row in tsv.splitlines():
        fields = row.split("\t")
        if len(fields) < _COLUMNS or fields[0] != _WORD_LEVEL:
            continue
        text = " ".join("\t".join(fields[_COLUMNS - 1 :]).split())
        confidence = float(fields[10])
        readable = confidence >= (_LEGIBLE if any(map(str.isalnum, text)) else _SURE_SIGN)
        if not text or not readable:
            continue
        block, paragraph, line = fields[2], fields[3], fields[4]
        left, top, width, height = (int(field) for field in fields[6:10])
        words.append(
            OcrWord(
                text,
                min(max(confidence, 0.0), 100.0),
                (left, top, left + width, top + height),
                lines.setdefault((block, paragraph, line), len(lines)),
                blocks.setdefault(block, len(blocks)),
                paragraphs.setdefault((block, paragraph), len(paragraphs)),
            )
        )
    return tuple(words)


def text_of(words: Sequence[OcrWord]) -> str:
    """Print words line by line, a blank line between blocks."""
    text = ""
    previous: OcrWord | None = None
    for word in words:
        if previous is not None:
            text += "\n\n" if word.block != previous.block else "\n" if word.line != previous.line else " "
        text += word.text
        previous = word
    return text


def mean_confidence(words: Sequence[OcrWord]) -> float:
    """Return the mean confidence, 0 where there is no word."""
    return statistics.fmean(word.confidence for word in words) if words else 0.0


def weight_of(words: Sequence[OcrWord]) -> float:
    """Weigh a reading of a page: letters and digits of longer words that are sure, by their confidence."""
    sure = (word for word in words if word.confidence >= _SURE_SIGN and sum(map(str.isalnum, word.text)) > 2)
    return sum(sum(map(str.isalnum, word.text)) * word.confidence / 100 for word in sure)


def is_sideways(words: Sequence[OcrWord]) -> bool:
    """Tell whether most words of several letters are taller than wide: the page was read lying on its side."""
    telling = [word.box for word in words if len(word.text) > 3]
    tall = sum(bottom - top > right - left for left, top, right, bottom in telling)
    return len(telling) >= 3 and tall * 2 > len(telling)


def skew_of(words: Sequence[OcrWord]) -> float:
    """Measure how many degrees lines fall to the right, by the middles of their first and last words; 0 if unknown.

    Only lines long enough to tell are asked; the answer is their median.
    """
    lines: defaultdict[int, list[OcrWord]] = defaultdict(list)
    for word in words:
        lines[word.line].append(word)
    slopes: list[float] = []
    for line in lines.values():
        first, last = line[0].box, line[-1].box
        across = (last[0] + last[2] - first[0] - first[2]) / 2
        height = max(box[3] - box[1] for box in (first, last))
        if len(line) >= 4 and across > 6 * height > 0:
            slopes.append(math.degrees(math.atan2((last[1] + last[3] - first[1] - first[3]) / 2, across)))
    return statistics.median(slopes) if len(slopes) >= 2 else 0.0

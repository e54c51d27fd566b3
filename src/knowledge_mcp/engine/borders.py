"""Where a text may be cut so that it still reads: at a block's end, else a sentence's, a line's, a word's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge_mcp.model.document import Span
from knowledge_mcp.ports import TokenMeasure

__all__ = ["cut_within", "sentence_around"]

_CHARACTERS_PER_TOKEN = 5
_TRIES = 8
_BLOCK = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’')\]»]*\s+(?=[\"“‘'(\[«]*[^\W\d_a-z])|(?<=[;:])\s*\n")
_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\s+")


def cut_within(text: str, span: Span, limit: int, measure: TokenMeasure) -> int:
    """Tell where a piece from the span's start may end so that it has at most `limit` tokens, `limit` >= 1.

    It ends with a block where that leaves it at least half as long as it could be, else with a sentence, a line, a
    word. Only a word that has more tokens than the limit is cut inside; the piece is never empty unless the span is.
    """
    far = _reach(text, span, limit, measure)
    if far >= span.end:
        return span.end
    for _ in range(_TRIES):
        end = _border(text, span.start, far)
        if end is None:
            return max(far, span.start + 1)
        if measure.count_tokens(text[span.start : end].rstrip()) <= limit:
            return end
        far = end - 1
    return max(far, span.start + 1)


def _reach(text: str, span: Span, limit: int, measure: TokenMeasure) -> int:
    """Tell where the first token after the limit begins, the span's end where there is none; looks no further."""
    size = limit * _CHARACTERS_PER_TOKEN
    while True:
        stop = min(span.end, span.start + size)
        tokens = measure.token_spans(text[span.start : stop])
        if len(tokens) > limit:
            return span.start + tokens[limit][0]
        if stop == span.end:
            return stop
        size *= 2


def _border(text: str, start: int, far: int) -> int | None:
    half = start + (far - start) // 2
    for pattern, least in ((_BLOCK, half), (_SENTENCE, half), (_LINE, half), (_SENTENCE, start), (_BLANK, start)):
        last = None
        # one character more, so that a border that begins exactly at `far` is seen
        for match in pattern.finditer(text, max(least, start + 1), min(far + 2, len(text))):
            if match.start() > far:
                break
            last = match
        if last is not None and text[start : last.start()].strip():
            return last.start()
    return None


def sentence_around(text: str, span: Span, within: Span, most: int = 300) -> Span:
    """Return the sentence that holds a span, at most so many characters of it unless the span is longer."""
    begin, end = within.start, within.end
    for cut in _sentence_borders(text, within):
        if cut <= span.start:
            begin = max(begin, cut)
        elif cut >= span.end:
            end = cut
            break
    if end - begin > most:
        room = max(most - len(span), 0)
        left = max(begin, span.start - room // 2)
        right = min(end, max(span.end, left + most))
        begin = _to_word(text, left, begin, span.start)
        blank = max(text.rfind(" ", span.end, right), text.rfind("\n", span.end, right))
        end = right if right == end or blank < span.end else blank
    return Span(begin, end).trimmed(text)


def _to_word(text: str, left: int, begin: int, start: int) -> int:
    """Step to the next word's beginning, where the place is inside a word."""
    if left == begin or text[left - 1].isspace():
        return left
    blank = _BLANK.search(text, left, start)
    return blank.end() if blank else left


def _sentence_borders(text: str, within: Span) -> Iterator[int]:
    found = {match.end() for match in _BLOCK.finditer(text, within.start, within.end)}
    found |= {match.end() for match in _SENTENCE.finditer(text, within.start, within.end)}
    return iter(sorted(found))

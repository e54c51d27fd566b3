"""Parts of a quote: split at ellipses, found in order near each other, or combined from several passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from knowledge_mcp.engine.evidence.quote_finding import SENTENCE_END, PreparedQuote, Searched, prepare_quote
from knowledge_mcp.language.quantities.bounds import DENIED
from knowledge_mcp.language.quote_words import Words
from knowledge_mcp.model.document import Span

NEAR = 4_000
"""Maximum characters that an ellipsis may leave out: about a page."""

_ELLIPSIS = re.compile(r"(?:(?<!\s)\s++)?(?:[\[(]\s*+(?:\.{3}|\u2026)\s*+[\])]|\.{3,}|\u2026|\.(?: \.){2,3}(?!\w))\s*")
_MARKS = "'\"`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_ENDED = re.compile(r"[.!?:;](?:\s|\Z)|\n\n")
"""The end of a sentence or paragraph."""
_CLOSING = frozenset(')]}"')
_FEWEST_WORDS = 4
_FEWEST_OF_A_SENTENCE = 2
_OVERRUN = 3
_LITTLE_LEFT_OUT = 3


@dataclass(frozen=True, slots=True)
class QuotePart:
    """A part of a quote, with the document and span that contain it."""

    document_id: str
    span: Span
    quoted: str


def forms(quote: str) -> list[PreparedQuote]:
    """List what a quote may mean: itself, and itself without surrounding quotation marks; empty without any word."""
    text = quote.strip()
    whole = prepare_quote(text)
    if whole is None:
        return []
    inner = text[1:-1].strip() if len(text) > 2 and text[0] in _MARKS and text[-1] in _MARKS else ""
    bare = prepare_quote(inner) if inner else None
    return [whole] if bare is None else [whole, bare]


def split_at_ellipses(quote: PreparedQuote) -> list[PreparedQuote]:
    """Split a quote at its ellipses; parts without a word are left out."""
    parts: list[PreparedQuote | None] = []
    start = 0
    for match in _ELLIPSIS.finditer(quote.text):
        parts.append(prepare_quote(quote.text, start, match.start()))
        start = match.end()
    parts.append(prepare_quote(quote.text, start))
    return [part for part in parts if part is not None]


def chain(places: Sequence[Sequence[Span]]) -> list[Span] | None:
    """Choose one place for each part, in order, each near the previous one; None if impossible.

    The choice with the shortest total length wins.

    Args:
        places: the places of each part, in the order of the text.
    """
    best: list[tuple[int, list[Span]]] = [(span.end, [span]) for span in places[-1]]
    for spans in reversed(places[:-1]):
        longer: list[tuple[int, list[Span]]] = []
        for span in spans:
            following = [(end, rest) for end, rest in best if 0 <= rest[0].start - span.end <= NEAR]
            if following:
                end, rest = min(following, key=lambda each: each[0])
                longer.append((end, [span, *rest]))
        best = longer
    return min(best, key=lambda each: each[0] - each[1][0].start)[1] if best else None


def denial_between(text: str, spans: Sequence[Span]) -> str:
    """Return what an ellipsis leaves out if that reverses a sentence: "shall … run" instead of "shall not run".

    Text between commas or brackets, and "whether or not", do not negate the remaining text.
    """
    for before, after in pairwise(spans):
        gap = text[before.end : after.start].strip()
        denied = DENIED.search(gap)
        if denied is None or _ENDED.search(gap) or (gap[0] in ",(" or gap[-1] in ",)"):
            continue
        if text[before.end - 1] not in ",(" and not gap[: denied.start()].endswith("or "):
            return " ".join(gap.split())
    return ""


def cover(part: PreparedQuote, texts: Sequence[tuple[str, Searched]]) -> tuple[list[QuotePart], bool] | None:
    """Combine a quote from passages, as few and as long as possible; None if a part of it is in no text.

    Returns:
        The pieces in the quote's order, and whether the quote is cut only between sentences.
    """
    pieces: list[QuotePart] = []
    between_sentences = True
    ends = _sentence_ends(part.words)
    first = 0
    while first < len(part.words):
        piece, stop = _longest_piece(part, first, ends, texts)
        if piece is None:
            return None
        if pieces and _is_left_out(pieces[-1], piece, dict(texts)):
            return None
        between_sentences = between_sentences and (stop in ends or stop == len(part.words))
        pieces.append(piece)
        first = stop
    return pieces, between_sentences


def _longest_piece(
    part: PreparedQuote, first: int, ends: frozenset[int], texts: Sequence[tuple[str, Searched]]
) -> tuple[QuotePart | None, int]:
    """Find the longest piece from a token on, in the first text that contains it."""
    sentence_stop = min((end for end in ends if end > first), default=len(part.words))
    seed = max(1, min(_FEWEST_WORDS, _count(part, first, sentence_stop)))
    best, stop = None, first
    for document_id, searched in texts:
        reached, span = searched.longest(part, first, seed)
        if reached > stop and span is not None:
            best, stop = (document_id, searched, span), reached
        if stop == len(part.words):
            break
    if best is None:
        return None, first
    document_id, searched, span = best
    back = max((end for end in ends if first < end <= stop), default=first)
    if stop < len(part.words) and back > first and _count(part, back, stop) <= _OVERRUN:
        stop = back
        shorter = prepare_quote(part.text, part.words.starts[first], part.words.ends[stop - 1])
        found = searched.equal(shorter, 1) if shorter is not None else []
        if not found:
            return None, first
        span = found[0]
    sentence = (first == 0 or first in ends) and (stop in ends or stop == len(part.words))
    if _count(part, first, stop) < (_FEWEST_OF_A_SENTENCE if sentence else _FEWEST_WORDS):
        return None, first
    return QuotePart(document_id, span, part.between(first, stop)), stop


def _is_left_out(before: QuotePart, after: QuotePart, texts: dict[str, Searched]) -> bool:
    """Return whether only a word or two of the text are between two pieces: an alteration, not two passages."""
    gap = after.span.start - before.span.end
    if before.document_id != after.document_id or not 0 <= gap <= 200:
        return False
    between = texts[before.document_id].words(before.span.end, after.span.start)
    inside = [n for n in range(len(between)) if before.span.end <= between.starts[n] < after.span.start]
    return sum(between.is_word(n) for n in inside) < _LITTLE_LEFT_OUT


def _count(part: PreparedQuote, first: int, stop: int) -> int:
    return sum(first <= index < stop for index in part.real)


def _sentence_ends(words: Words) -> frozenset[int]:
    """List the indexes after the last mark of each sentence, including closing marks."""
    ends: set[int] = set()
    for index in range(len(words)):
        if words.keys[index] in SENTENCE_END:
            stop = index + 1
            while stop < len(words) and words.keys[stop] in _CLOSING and words.starts[stop] == words.ends[stop - 1]:
                stop += 1
            ends.add(stop)
    return frozenset(ends)

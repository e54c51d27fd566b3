"""A quote's way: find where it may stand, compare it word by word, and say what is true of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.core import documents
from knowledge_mcp.engine.core.base import Base, Records
from knowledge_mcp.engine.core.citing import passage
from knowledge_mcp.engine.evidence.quote_finding import QuoteMatch, Searched, Sought, alike, sought
from knowledge_mcp.language.quote_words import Words, read_words
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentParts, DocumentStructure, PageCoverage
from knowledge_mcp.model.document import LAYER_UNCHECKED, LAYOUT_UNCERTAIN, Span
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    DamagedError,
    InvalidInputError,
    KnowledgeError,
    leave_out,
    noticing,
)
from knowledge_mcp.model.evidence import QuoteAnswer, QuotePlace, QuoteQuery, QuoteVerdict, UncertainPage
from knowledge_mcp.model.extraction import is_unsure
from knowledge_mcp.support.checkpoints import check_each

_MOST = 5
_LEAST_SHARE = 0.7
"""Share of a quote's words that a page must hold: woven texts lose none, and another page holds half of them."""
_LONG = 4
"""Letters from which on a word is not on every page."""


def uncertain_pages(documents: Mapping[str, DocumentParts], words: Sequence[str]) -> tuple[UncertainPage, ...]:
    """List the uncertain pages that hold most words of a quote, those that hold the most first.

    Args:
        documents: what was compared, by id.
        words: of the quote, as `quote_words` writes them.
    """
    quote_words = {word for word in words if len(word) >= _LONG} or set(words)
    found: list[tuple[float, UncertainPage]] = []
    for document_id, parts in check_each(documents.items()):
        text, structure = parts.text, parts.structure
        for page in structure.pages if structure is not None and text is not None else ():
            if text is None or not _is_uncertain(page):
                continue
            shared = quote_words.intersection(read_words(page.text(text)).keys)
            share = len(shared) / max(1, len(quote_words))
            if share >= _LEAST_SHARE:
                found.append((share, UncertainPage(document_id, page.number, page.label, page.note)))
    found.sort(key=lambda each: (-each[0], each[1].document_id, each[1].page))
    return tuple(page for _, page in found[:_MOST])


def _is_uncertain(page: PageCoverage) -> bool:
    doubted = LAYOUT_UNCERTAIN in page.note or LAYER_UNCHECKED in page.note
    return doubted or (page.method == "ocr" and is_unsure(page.note))


NEAR = 4_000
"""Most characters that an ellipsis may leave out: about a page."""

_ELLIPSIS = re.compile(r"(?:(?<!\s)\s++)?(?:[\[(]\s*+(?:\.{3}|\u2026)\s*+[\])]|\.{3,}|\u2026|\.(?: \.){2,3}(?!\w))\s*")
_MARKS = "'\"`\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_SENTENCE_END = frozenset(".!?:;")
_CLOSING = frozenset(')]}"')
_FEWEST_WORDS = 4
_FEWEST_OF_A_SENTENCE = 2
_OVERRUN = 3
_LITTLE_LEFT_OUT = 3


@dataclass(frozen=True, slots=True)
class QuotePart:
    """Name a part of a quote, the document that has it, and where."""

    document_id: str
    span: Span
    quoted: str


def forms(quote: str) -> list[Sought]:
    """List what a quote may mean: itself, and itself without the quotation marks about it; empty without any word."""
    text = quote.strip()
    whole = sought(text)
    if whole is None:
        return []
    inner = text[1:-1].strip() if len(text) > 2 and text[0] in _MARKS and text[-1] in _MARKS else ""
    bare = sought(inner) if inner else None
    return [whole] if bare is None else [whole, bare]


def split_at_ellipses(quote: Sought) -> list[Sought]:
    """Cut a quote at its ellipses; parts without a word are left out."""
    parts: list[Sought | None] = []
    start = 0
    for match in _ELLIPSIS.finditer(quote.text):
        parts.append(sought(quote.text, start, match.start()))
        start = match.end()
    parts.append(sought(quote.text, start))
    return [part for part in parts if part is not None]


def chain(places: Sequence[Sequence[Span]]) -> list[Span] | None:
    """Choose one place for each part, in order, each near the one before, the closest together; None if there is none.

    Args:
        places: where each part stands, in the order of the text.
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


def cover(part: Sought, texts: Sequence[tuple[str, Searched]]) -> tuple[list[QuotePart], bool] | None:
    """Put a quote together from passages, as few and as long as can be; None where something of it is in no text.

    Returns:
        The pieces in the quote's order, and whether the quote is cut between sentences only.
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
    part: Sought, first: int, ends: frozenset[int], texts: Sequence[tuple[str, Searched]]
) -> tuple[QuotePart | None, int]:
    """Find the longest piece from a word on, in the first text that has it."""
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
        shorter = sought(part.text, part.words.starts[first], part.words.ends[stop - 1])
        found = searched.equal(shorter, 1) if shorter is not None else []
        if not found:
            return None, first
        span = found[0]
    sentence = (first == 0 or first in ends) and (stop in ends or stop == len(part.words))
    if _count(part, first, stop) < (_FEWEST_OF_A_SENTENCE if sentence else _FEWEST_WORDS):
        return None, first
    return QuotePart(document_id, span, part.between(first, stop)), stop


def _is_left_out(before: QuotePart, after: QuotePart, texts: dict[str, Searched]) -> bool:
    """Tell whether only a word or two of the text are left out between two pieces: an alteration, not two passages."""
    gap = after.span.start - before.span.end
    if before.document_id != after.document_id or not 0 <= gap <= 200:
        return False
    between = texts[before.document_id].words(before.span.end, after.span.start)
    inside = [n for n in range(len(between)) if before.span.end <= between.starts[n] < after.span.start]
    return sum(between.is_word(n) for n in inside) < _LITTLE_LEFT_OUT


def _count(part: Sought, first: int, stop: int) -> int:
    return sum(first <= index < stop for index in part.real)


def _sentence_ends(words: Words) -> frozenset[int]:
    """List the indexes after each sentence's last mark, closing marks included."""
    ends: set[int] = set()
    for index in range(len(words)):
        if words.keys[index] in _SENTENCE_END:
            stop = index + 1
            while stop < len(words) and words.keys[stop] in _CLOSING and words.starts[stop] == words.ends[stop - 1]:
                stop += 1
            ends.add(stop)
    return frozenset(ends)


_LONGEST = 10_000
_PROBES = 6
_WORDS_OF_A_PROBE = 24
_DEPTH = 50
_MOST_COMPARED = 24
_MOST_ALIGNED = 8
_MOST_PLACES = 5
_NEARLY_THE_SAME = 0.5
_SURELY_THE_SAME = 0.75
_NEAREST = 0.2


def verify_quote(base: Base, query: QuoteQuery) -> QuoteAnswer:
    """Compare a quote with the documents, word by word.

    Without a document, those are compared that the keyword leg finds for stretches of the quote. `quote_words` tells
    what counts as the same: blanks, hyphenation at line ends, kinds of dashes and quotation marks, ligatures, case;
    bullets, and the bars between a table's cells, may be left out. A quote that begins or ends inside a word or a value
    is altered. A list's item after its lead-in, with other items between, is stitched unless an ellipsis says so.

    Raises:
        InvalidInputError: the quote is too long, or has no word in it.
        NotFoundError: the document named does not exist; names ids that look alike.
        KnowledgeError: the store failed before anything was found.
    """
    said = _parse_quote(query.quote)
    if query.document_id is not None:
        documents.document(base, query.document_id)
        return _Comparison(base, said).in_one(query.document_id)
    if not base.exists():
        return QuoteAnswer(QuoteVerdict.NOT_FOUND, (), 0)
    return _Comparison(base, said).anywhere()


def verdict_in(searched: Searched, quote: str) -> QuoteVerdict:
    """Compare a quote with one text, as `verify_quote` does: exact, normalised or not found.

    Raises:
        InvalidInputError: the quote is too long, or has no word in it.
    """
    for form in _parse_quote(quote):
        spans = searched.equal(form)
        if spans:
            exact = any(span.of(searched.text) == form.quoted for span in spans)
            return QuoteVerdict.EXACT if exact else QuoteVerdict.NORMALISED
    return QuoteVerdict.NOT_FOUND


def _parse_quote(quote: str) -> list[Sought]:
    if len(quote) > _LONGEST:
        raise InvalidInputError(
            f"The quote has {len(quote):,} characters, more than {_LONGEST:,}.", suggestion="Check it in parts."
        )
    said = forms(quote)
    if not said:
        raise InvalidInputError("There is no word in the quote.", suggestion="Give the words that are to be checked.")
    return said


@dataclass(frozen=True, slots=True)
class _Match:
    """Pair a place with the part of the quote that stands there."""

    document_id: str
    quoted: str
    span: Span
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Near:
    """Pair a part of the quote with the passage most like it."""

    document_id: str
    part: Sought
    likeness: QuoteMatch


class _Comparison:
    """Compare one quote with documents, each read once."""

    def __init__(self, base: Base, said: Sequence[Sought]) -> None:
        self._base = base
        self._records = Records(base)
        self._said = said
        self._bare = said[-1]
        self._parts = split_at_ellipses(self._bare)
        self._texts: dict[str, tuple[Searched, DocumentParts] | None] = {}
        self._likenesses: dict[str, list[QuoteMatch | None]] = {}
        self._chunks: dict[str, tuple[list[Chunk], DocumentStructure, list[DamagedError]]] = {}

    def in_one(self, document_id: str) -> QuoteAnswer:
        """Answer for the document named; others are asked only where it has not the quote."""
        found = self._equal([document_id])
        if found:
            return self._equal_answer(found)
        others: list[str] = []
        failure: KnowledgeError | None = None
        try:
            others = [other for other in self._candidates() if other != document_id]
            found = self._equal(others)
        except KnowledgeError as exc:
            failure = exc
        if found:
            return self._answer(QuoteVerdict.ELSEWHERE, self._equal_places(found), document_id=document_id)
        degraded = () if failure is None else (f"Other documents were not compared: {failure.message}",)
        answer = self._answer_stitched([document_id], degraded) or self._answer_altered([document_id], degraded)
        if answer is not None:
            return answer
        if failure is not None:
            raise failure
        return self._not_found([document_id, *others])

    def anywhere(self) -> QuoteAnswer:
        """Answer for all documents."""
        candidates = self._candidates()
        found = self._equal(candidates)
        if found:
            return self._equal_answer(found)
        return (
            self._answer_stitched(candidates, ()) or self._answer_altered(candidates, ()) or self._not_found(candidates)
        )

    # ---- which documents

    def _candidates(self) -> list[str]:
        """List the documents that the keyword leg finds for stretches of the quote, the likeliest first."""
        weights: dict[str, float] = defaultdict(float)
        has_searched = False
        for probe in self._probes():
            if not self._base.analyser.query_terms(probe):
                continue
            has_searched = True
            legs = self._base.search(vector=None, text=probe, filter=None, limit=_DEPTH)
            if legs.lexical is None or legs.lexical_error:
                raise ConnectionFailedError(legs.lexical_error or "The keyword leg gave no answer.")
            for rank, hit in enumerate(legs.lexical):
                weights[hit.chunk_id] += 1.0 / (1 + rank)
        if not has_searched:
            return [record.id for record in documents.documents(self._base)[:_MOST_COMPARED]]
        by_document: dict[str, float] = defaultdict(float)
        for chunk in self._base.opened.chunks("id", sorted(weights)):
            by_document[chunk.document_id] += weights[chunk.id]
        return sorted(by_document, key=lambda each: (-by_document[each], each))[:_MOST_COMPARED]

    def _probes(self) -> list[str]:
        """Cut the quote into stretches from beginning to end; in each, long words first, because they are rare."""
        words = self._bare.words
        spoken = [words.keys[index] for index in self._bare.real]
        count = min(_PROBES, -(-len(spoken) // _WORDS_OF_A_PROBE))
        probes: list[str] = []
        for number in range(count):
            start = number * max(0, len(spoken) - _WORDS_OF_A_PROBE) // max(1, count - 1)
            stretch = dict.fromkeys(spoken[start : start + _WORDS_OF_A_PROBE])
            probes.append(" ".join(sorted(stretch, key=len, reverse=True)))
        return probes

    def _read_texts(self, document_ids: Sequence[str]) -> list[tuple[str, Searched]]:
        """Read the texts of documents, leaving out those that have just gone."""
        read: list[tuple[str, Searched]] = []
        for document_id in check_each(document_ids):
            if document_id not in self._texts:
                parts = self._base.opened.parts(document_id)
                text = parts.text if parts is not None else None
                self._texts[document_id] = None if parts is None or text is None else (Searched(text), parts)
            entry = self._texts[document_id]
            if entry is not None:
                read.append((document_id, entry[0]))
        return read

    # ---- what is true of the quote

    def _equal(self, document_ids: Sequence[str]) -> list[_Match]:
        """List where the quote stands as it is; of one with ellipses, also where its parts follow one another."""
        texts = self._read_texts(document_ids)
        for form in self._said:
            found = [
                _Match(document_id, form.quoted, span, span.of(searched.text) == form.quoted)
                for document_id, searched in texts
                for span in searched.equal(form)
            ]
            if found:
                return found
        return [each for document_id, searched in texts for each in self._match_in_sequence(document_id, searched)]

    def _match_in_sequence(self, document_id: str, searched: Searched) -> list[_Match]:
        if len(self._parts) == 1 and self._parts[0].quoted == self._bare.quoted:
            return []
        places: list[list[Span]] = []
        for part in self._parts:
            places.append(searched.equal(part))
            if not places[-1]:
                return []
        spans = chain(places)
        if spans is None:
            return []
        exact = all(span.of(searched.text) == part.quoted for span, part in zip(spans, self._parts, strict=True))
        return [_Match(document_id, self._bare.text, Span(spans[0].start, spans[-1].end), exact)]

    def _answer_stitched(self, document_ids: Sequence[str], degraded: tuple[str, ...]) -> QuoteAnswer | None:
        """Answer where every part of the quote is there, but not together."""
        texts = self._read_texts(document_ids[:_MOST_ALIGNED])
        pieces: list[QuotePart] = []
        between_sentences = True
        for part in self._parts:
            covered = cover(part, texts)
            if covered is None:
                return None
            pieces += covered[0]
            between_sentences = between_sentences and covered[1]
        if not between_sentences:
            nearest = self._nearest(document_ids)
            if nearest and min(near.likeness.similarity for near in nearest) >= _SURELY_THE_SAME:
                return None
        places = [self._place(piece.document_id, piece.quoted, piece.span) for piece in pieces]
        return self._answer(QuoteVerdict.STITCHED, places, degraded)

    def _answer_altered(self, document_ids: Sequence[str], degraded: tuple[str, ...]) -> QuoteAnswer | None:
        """Answer where a passage is nearly the same; of a quote with ellipses, for the parts that are altered."""
        nearest = self._nearest(document_ids)
        if not nearest or not all(_is_alike(near) for near in nearest):
            return None
        changed = [near for near in nearest if near.likeness.differences]
        verdict = QuoteVerdict.ALTERED if changed else QuoteVerdict.NORMALISED
        return self._answer(verdict, [self._near_place(near) for near in changed or nearest], degraded)

    def _not_found(self, document_ids: Sequence[str]) -> QuoteAnswer:
        near = max(self._nearest(document_ids), key=lambda each: each.likeness.similarity, default=None)
        is_near = near is not None and near.likeness.similarity >= _NEAREST
        return self._answer(QuoteVerdict.NOT_FOUND, [self._near_place(near)] if near is not None and is_near else [])

    def _nearest(self, document_ids: Sequence[str]) -> list[_Near]:
        """Find in one document the passages most like the parts of the quote; empty where a part is like nothing."""
        best: list[_Near] = []
        score = 0.0
        for document_id, searched in self._read_texts(document_ids[:_MOST_ALIGNED]):
            if document_id not in self._likenesses:
                self._likenesses[document_id] = [_most_alike(part, searched) for part in self._parts]
            near = [
                _Near(document_id, part, likeness)
                for part, likeness in zip(self._parts, self._likenesses[document_id], strict=True)
                if likeness is not None
            ]
            words = sum(len(each.part.real) for each in near)
            weight = sum(each.likeness.similarity * len(each.part.real) for each in near)
            if len(near) == len(self._parts) and weight / words > score:
                best, score = near, weight / words
        return best

    # ---- answers

    def _equal_answer(self, matches: Sequence[_Match]) -> QuoteAnswer:
        verdict = QuoteVerdict.EXACT if any(each.is_exact for each in matches) else QuoteVerdict.NORMALISED
        return self._answer(verdict, self._equal_places(matches))

    def _equal_places(self, matches: Sequence[_Match]) -> list[QuotePlace]:
        same = [each for each in matches if each.is_exact] or matches
        return [self._place(each.document_id, each.quoted, each.span) for each in same[:_MOST_PLACES]]

    def _near_place(self, near: _Near) -> QuotePlace:
        place = self._place(near.document_id, near.part.quoted, near.likeness.span)
        return QuotePlace(place.quoted, place.passage, near.likeness.similarity, near.likeness.differences)

    def _place(self, document_id: str, quoted: str, span: Span) -> QuotePlace:
        if document_id not in self._chunks:
            entry = self._texts[document_id]
            structure = (entry[1].structure if entry is not None else None) or NO_STRUCTURE
            with noticing() as damage:
                chunks = self._base.opened.chunks("document", [document_id])
            self._chunks[document_id] = chunks, structure, damage
        chunks, structure, damage = self._chunks[document_id]
        for each in damage:
            if not any(chunk.span.contains(span) for chunk in chunks):
                raise each  # the place may be in what is damaged
            leave_out(each)
        entry = self._texts[document_id]
        text = entry[0].text if entry is not None else ""
        return QuotePlace(quoted, passage(self._records, document_id, text, span, chunks, structure))

    def _answer(
        self,
        verdict: QuoteVerdict,
        places: Sequence[QuotePlace],
        degraded: tuple[str, ...] = (),
        *,
        document_id: str = "",
    ) -> QuoteAnswer:
        searched = sum(searched is not None for searched in self._texts.values())
        doubted: tuple[UncertainPage, ...] = ()
        if document_id or verdict in {QuoteVerdict.NOT_FOUND, QuoteVerdict.ALTERED}:
            ids = (document_id,) if document_id else self._texts
            parts_by_id = {name: entry[1] for name in ids if (entry := self._texts[name]) is not None}
            doubted = uncertain_pages(parts_by_id, [self._bare.words.keys[index] for index in self._bare.real])
        return QuoteAnswer(verdict, tuple(places), searched, degraded, doubted)


def _most_alike(part: Sought, searched: Searched) -> QuoteMatch | None:
    best: QuoteMatch | None = None
    for words in check_each(searched.windows(part)):
        found = alike(part.text, part.words, searched.text, words)
        if found is not None and (best is None or found.similarity > best.similarity):
            best = found
    return best


def _is_alike(near: _Near) -> bool:
    count = len(near.part.real)
    return near.likeness.similarity >= _NEARLY_THE_SAME and near.likeness.equal_words >= min(3, max(1, count - 1))

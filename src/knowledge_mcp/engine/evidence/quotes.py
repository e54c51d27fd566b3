"""Checks a quote: finds candidate places, compares word by word, and returns the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.core import documents
from knowledge_mcp.engine.core.base import Base, Records
from knowledge_mcp.engine.core.citing import passage
from knowledge_mcp.engine.evidence.quote_finding import PreparedQuote, QuoteMatch, Searched, alike
from knowledge_mcp.engine.evidence.quote_parts import QuotePart, chain, cover, denial_between, forms, split_at_ellipses
from knowledge_mcp.language.quote_words import read_words
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
from knowledge_mcp.model.evidence import Difference, QuoteAnswer, QuotePlace, QuoteQuery, QuoteVerdict, UncertainPage
from knowledge_mcp.model.extraction import is_unsure
from knowledge_mcp.support.checkpoints import check_each

_MOST = 5
_LEAST_SHARE = 0.7
"""Minimum share of a quote's words on an uncertain page: interleaved text keeps all, and another page has half."""
_LONG = 4
"""Minimum length of the words that are compared; shorter ones occur on every page."""


def uncertain_pages(documents: Mapping[str, DocumentParts], words: Sequence[str]) -> tuple[UncertainPage, ...]:
    """List the uncertain pages that contain most words of a quote, those with the most first.

    Args:
        documents: the compared documents, by id.
        words: of the quote, as keys of `quote_words`.
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

    Without a document, it is compared with those that the keyword leg finds for parts of the quote. `quote_words`
    defines what is equal: it ignores blanks, hyphenation at line ends, kinds of dashes and quotation marks, ligatures,
    case; bullets, and the bars between table cells, may be left out. A quote that starts or ends inside a word or a
    value is altered. A quote of a lead-in and a later list item, without the items between them, is stitched unless it
    has an ellipsis.

    Raises:
        InvalidInputError: the quote is too long, or contains no word.
        NotFoundError: the named document does not exist; names similar ids.
        KnowledgeError: the store failed before anything was found.
    """
    quote_forms = _parse_quote(query.quote)
    if query.document_id is not None:
        documents.document(base, query.document_id)
        return _Comparison(base, quote_forms).in_one(query.document_id)
    if not base.exists():
        return QuoteAnswer(QuoteVerdict.NOT_FOUND, (), 0)
    return _Comparison(base, quote_forms).anywhere()


def verdict_in(searched: Searched, quote: str) -> QuoteVerdict:
    """Compare a quote with one text, as `verify_quote` does: exact, normalised or not found.

    Raises:
        InvalidInputError: the quote is too long, or contains no word.
    """
    for form in _parse_quote(quote):
        spans = searched.equal(form)
        if spans:
            exact = any(span.of(searched.text) == form.quoted for span in spans)
            return QuoteVerdict.EXACT if exact else QuoteVerdict.NORMALISED
    return QuoteVerdict.NOT_FOUND


def _parse_quote(quote: str) -> list[PreparedQuote]:
    if len(quote) > _LONGEST:
        raise InvalidInputError(
            f"The quote has {len(quote):,} characters, more than {_LONGEST:,}.", suggestion="Check it in parts."
        )
    quote_forms = forms(quote)
    if not quote_forms:
        raise InvalidInputError("The quote contains no words.", suggestion="Give the words to check.")
    return quote_forms


@dataclass(frozen=True, slots=True)
class _Match:
    """A place that equals a part of the quote, and what an ellipsis wrongly leaves out."""

    document_id: str
    quoted: str
    span: Span
    is_exact: bool
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class _NearestPassage:
    """A part of the quote with the most similar passage."""

    document_id: str
    part: PreparedQuote
    likeness: QuoteMatch


class _Comparison:
    """Compares one quote with documents; each is read once."""

    def __init__(self, base: Base, quote_forms: Sequence[PreparedQuote]) -> None:
        self._base = base
        self._records = Records(base)
        self._forms = quote_forms
        self._bare = quote_forms[-1]
        self._parts = split_at_ellipses(self._bare)
        self._texts: dict[str, tuple[Searched, DocumentParts] | None] = {}
        self._likenesses: dict[str, list[QuoteMatch | None]] = {}
        self._chunks: dict[str, tuple[list[Chunk], DocumentStructure, list[DamagedError]]] = {}

    def in_one(self, document_id: str) -> QuoteAnswer:
        """Answer for the named document; other documents are searched only if it does not contain the quote."""
        found = self._equal([document_id])
        if found:
            return self._equal_answer(found)
        others: list[str] = []
        failure: KnowledgeError | None = None
        try:
            others = [other for other in self._candidates() if other != document_id]
            found = [each for each in self._equal(others) if not each.left_out]
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
        """List the documents that the keyword leg finds for parts of the quote, the most likely first."""
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
        """Split the quote into parts from start to end; in each, long words come first, because they are rare."""
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
        """Read the texts of documents, without those that were just removed."""
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

    # ---- the verdict

    def _equal(self, document_ids: Sequence[str]) -> list[_Match]:
        """List the places that equal the quote; with ellipses, also those where its parts follow one another."""
        texts = self._read_texts(document_ids)
        for form in self._forms:
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
        whole = Span(spans[0].start, spans[-1].end)
        return [_Match(document_id, self._bare.text, whole, exact, denial_between(searched.text, spans))]

    def _answer_stitched(self, document_ids: Sequence[str], degraded: tuple[str, ...]) -> QuoteAnswer | None:
        """Answer if every part of the quote was found, but not together."""
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
        """Answer if a passage is nearly equal; for a quote with ellipses, for its altered parts."""
        nearest = self._nearest(document_ids)
        if not nearest or not all(_is_alike(near) for near in nearest):
            return None
        changed = [near for near in nearest if near.likeness.differences]
        in_order = chain([[near.likeness.span] for near in nearest]) is not None
        verdict = QuoteVerdict.ALTERED if changed else QuoteVerdict.NORMALISED if in_order else QuoteVerdict.STITCHED
        return self._answer(verdict, [self._near_place(near) for near in changed or nearest], degraded)

    def _not_found(self, document_ids: Sequence[str]) -> QuoteAnswer:
        near = max(self._nearest(document_ids), key=lambda each: each.likeness.similarity, default=None)
        is_near = near is not None and near.likeness.similarity >= _NEAREST
        return self._answer(QuoteVerdict.NOT_FOUND, [self._near_place(near)] if near is not None and is_near else [])

    def _nearest(self, document_ids: Sequence[str]) -> list[_NearestPassage]:
        """Find the passages of one document most similar to the parts of the quote; empty if a part has none."""
        best: list[_NearestPassage] = []
        score = 0.0
        for document_id, searched in self._read_texts(document_ids[:_MOST_ALIGNED]):
            if document_id not in self._likenesses:
                self._likenesses[document_id] = [_most_alike(part, searched) for part in self._parts]
            near = [
                _NearestPassage(document_id, part, likeness)
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
        true = [each for each in matches if not each.left_out]
        if not true:
            places = self._equal_places(matches)
            likeness = 1.0 - 1.0 / (1 + len(self._bare.words))
            left_out = (Difference("\u2026", matches[0].left_out),)
            return self._answer(
                QuoteVerdict.ALTERED, [replace(each, similarity=likeness, differences=left_out) for each in places[:1]]
            )
        verdict = QuoteVerdict.EXACT if any(each.is_exact for each in true) else QuoteVerdict.NORMALISED
        return self._answer(verdict, self._equal_places(true))

    def _equal_places(self, matches: Sequence[_Match]) -> list[QuotePlace]:
        same = [each for each in matches if each.is_exact] or matches
        return [self._place(each.document_id, each.quoted, each.span) for each in same[:_MOST_PLACES]]

    def _near_place(self, near: _NearestPassage) -> QuotePlace:
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
                raise each  # the place may be in the damaged part
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


def _most_alike(part: PreparedQuote, searched: Searched) -> QuoteMatch | None:
    best: QuoteMatch | None = None
    for words in check_each(searched.windows(part)):
        found = alike(part.text, part.words, searched.text, words)
        if found is not None and (best is None or found.similarity > best.similarity):
            best = found
    return best


def _is_alike(near: _NearestPassage) -> bool:
    count = len(near.part.real)
    return near.likeness.similarity >= _NEARLY_THE_SAME and near.likeness.equal_words >= min(3, max(1, count - 1))

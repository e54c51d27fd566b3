"""Search over repositories: meaning and words per collection, one similarity for both, merged and cut at a threshold.

Each candidate has a similarity of 0..1 that means the same in every collection: what its cosine is calibrated to,
raised towards 1 by the share of the question's words that it holds, more so where the question holds names than where
it is prose.
A chunk that defines a symbol asked for by name comes first.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from knowledge_mcp.engine.base import PASSING, Base, Passages, Records, base_of
from knowledge_mcp.engine.blending import feedback, words_in_full
from knowledge_mcp.engine.code_files import glob_matches, has_language
from knowledge_mcp.engine.code_symbols import (
    MOST_PLACES,
    WORTH_OF_PROSE,
    asks_for_symbol,
    defines,
    is_report,
    names_in,
    stands_in,
    words_worth,
)
from knowledge_mcp.engine.prepare import embedding_key
from knowledge_mcp.engine.repository_manifest import MANIFEST_ID, path_of
from knowledge_mcp.engine.repository_values import CodeAnswer, CodeHit, CodeQuery, RepositoryInfo, RepositoryParts
from knowledge_mcp.model.chunk import Chunk, Vector, numbers_of
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError, SpaceMismatchError
from knowledge_mcp.model.query import In, LegHit, LegResults, LegScore
from knowledge_mcp.support.lanes import Lanes

__all__ = ["HALF_ALONE", "CodeSearch"]

HALF_ALONE = 0.5
"""BM25 sum at which a keyword hit's similarity is one half; the default threshold then costs keyword search 2 %."""

_KNEE, _BEND = 0.6, 0.4
"""Sum of cosine and words from which a similarity is no longer its calibration, and how slowly it then nears 1."""

_DEPTH = 100
"""Hits of each leg, at least. With 200 the sets' nDCG@10 is lower by .000 to .006, with 50 by as much; for a search
takes the last hits' scores for what it did not see."""

_LEANING = 0.3
"""Weight of a report's first line, which says what it is about, beside the meaning of the whole."""

_LONGEST_LINE = 300
_REMARK = 0.8
"""What a lone comment's meaning counts: few words are near to much, and say little."""

_FEW_TOKENS = 24
_COMMENT = re.compile(r"\s*(?:#|//|--|/?\*|;|%|$)")


@dataclass(slots=True)
class _Candidate:
    chunk_id: str
    dense: LegScore | None = None
    lexical: LegScore | None = None
    similarity: float = 0.0
    exact: bool = False
    chunk: Chunk | None = None


@dataclass(slots=True)
class _Trip:
    """Gather what a search met on its way; `chunks` is of the collection that it is in."""

    degraded: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    vector: Vector | None = None
    mode: str = "hybrid"
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class _Searched:
    """What was found in one repository, and what its search met."""

    info: RepositoryInfo
    trip: _Trip
    candidates: list[_Candidate]


class CodeSearch:
    """Search collections of code. Thread-safe.

    Args:
        base: the desk's parts.
        parts: of which the calibration is used.
        lanes: threads that search as many collections at once.
    """

    def __init__(self, base: Base, parts: RepositoryParts, lanes: Lanes) -> None:
        self._base = base
        self._similarity = parts.similarity
        self._lanes = lanes

    def search(
        self, query: CodeQuery, collections: Sequence[str], describe: Callable[[str], RepositoryInfo | None]
    ) -> CodeAnswer:
        """Find the best chunks of some repositories.

        Args:
            query: what is asked for.
            collections: where the repositories are.
            describe: describes the repository of a collection, None where there is none any more; it is asked in the
                same snapshot as the search.

        Raises:
            InvalidInputError: blank text.
            KnowledgeError: the embedder, where only meaning was asked for; the store.
        """
        if not query.text.strip():
            raise InvalidInputError("The query is empty.", suggestion="Ask with at least one word.")
        trip = _Trip(mode=query.mode)
        if collections:
            self._embed(query, trip)
        found: list[CodeHit] = []
        below = 0
        only = len(collections) == 1
        every = self._lanes.map(lambda name: self._searched(query, name, describe, trip, only=only), collections)
        searched = sorted((each for each in every if each is not None), key=lambda each: each.info.name)
        for one in searched:
            trip.degraded |= one.trip.degraded
            trip.notes |= one.trip.notes
            kept = [each for each in one.candidates if each.similarity >= query.threshold]
            below += len(one.candidates) - len(kept)
            found.extend(
                CodeHit(one.info, each.chunk, None, each.similarity, each.dense, each.lexical, each.exact)
                for each in kept
                if each.chunk is not None
            )
        found.sort(key=lambda hit: (not hit.exact_symbol, -hit.similarity, hit.repository.name, hit.chunk.id))
        hits = self._with_records(found[: query.limit])
        return CodeAnswer(
            hits=hits,
            total_matches=len(found),
            below_threshold=below,
            searched=tuple(each.info for each in searched),
            degraded=tuple(trip.degraded),
            notes=tuple(trip.notes),
        )

    # ---- one collection

    def _searched(
        self,
        query: CodeQuery,
        collection: str,
        describe: Callable[[str], RepositoryInfo | None],
        trip: _Trip,
        *,
        only: bool,
    ) -> _Searched | None:
        """Search one repository in one state; None where it has just gone, which is an error where it is the only one.

        Raises:
            NotFoundError: as said.
            KnowledgeError: of the store.
        """
        try:
            with self._base.store.snapshot(collection):
                info = describe(collection)
                if info is None:
                    return None
                own = replace(trip, degraded={}, notes={}, chunks=info.chunk_count)
                candidates: list[_Candidate] = []
                try:
                    candidates = self._candidates(query, info, own)
                except SpaceMismatchError as exc:
                    told = f"{info.name} was not searched: {exc.message} `pk-mcp reindex` indexes it anew."
                    own.degraded[told] = None
                return _Searched(info, own, candidates)
        except NotFoundError:
            if only:
                raise
            return None

    def _embed(self, query: CodeQuery, trip: _Trip) -> None:
        if query.mode == "keyword":
            return
        try:
            trip.vector = self._base.embedder.embed_query(query.text)
            first_line = query.text.strip().split("\n")[0].strip()[:_LONGEST_LINE]
            if is_report(query.text) and first_line:
                trip.vector = _leaning(trip.vector, self._base.embedder.embed_query(first_line))
        except PASSING as exc:
            if query.mode == "dense":
                raise
            trip.degraded[f"Meaning was not searched ({exc.message}); results match words only."] = None
            trip.mode = "keyword"

    def _candidates(self, query: CodeQuery, info: RepositoryInfo, trip: _Trip) -> list[_Candidate]:
        base = base_of(self._base, info.collection)
        if trip.vector is not None:
            base.check_space()
        documents = self._documents(base, query, trip, info)
        symbols = self._symbols(base, query, documents)
        chosen = documents
        if query.symbol is not None:
            owners = {chunk.document_id for chunk in symbols.values()}
            chosen = owners if documents is None else owners & documents
        if chosen is not None and not chosen:
            return []
        depth = max(_DEPTH, query.limit)
        kept_in = None if chosen is None else In("document_id", tuple(sorted(chosen)))
        text = query.text if trip.mode != "dense" else None
        legs = base.search(vector=trip.vector, text=text, filter=kept_in, limit=depth)
        for leg, error in (("Meaning", legs.dense_error), ("Words", legs.lexical_error)):
            if error:
                trip.degraded[f"{leg} could not be searched in {info.name}: {error}"] = None
        is_cut = legs.lexical is not None and len(legs.lexical) >= depth
        unseen = legs.lexical[-1].score if legs.lexical and is_cut else 0.0
        passages = Passages(base)
        first = self._rated(base, passages, query, trip, legs, symbols, unseen)
        if trip.mode != "hybrid" or trip.vector is None or legs.dense is None or not _asks_in_detail(query):
            return first
        best = sorted(first, key=lambda each: (-each.similarity, each.chunk_id))
        again = feedback(base, passages, trip.vector, [each.chunk_id for each in best], kept_in, depth)
        if again is None:
            return first
        moved, dense = again
        nearer = replace(trip, vector=moved)
        second = self._rated(base, passages, query, nearer, replace(legs, dense=dense), symbols, unseen)
        places = {each.chunk_id: each.dense for each in first}
        for each in second:
            each.dense = places.get(each.chunk_id)
        return second

    def _rated(
        self,
        base: Base,
        passages: Passages,
        query: CodeQuery,
        trip: _Trip,
        legs: LegResults,
        symbols: Mapping[str, Chunk],
        unseen: float,
    ) -> list[_Candidate]:
        """Fetch what the legs and the symbols name, and give each its similarity."""
        found = _joined(legs.dense, legs.lexical)
        for chunk_id in symbols if trip.mode != "dense" or query.symbol is not None else ():
            found.setdefault(chunk_id, _Candidate(chunk_id))
        chunks = {each.id: each for each in passages.get(list(found))}
        for each in found.values():
            each.chunk = chunks.get(each.chunk_id)
        kept = [each for each in found.values() if each.chunk is not None and each.chunk.document_id != MANIFEST_ID]
        if query.symbol is not None:
            name = query.symbol
            kept = [each for each in kept if each.chunk is not None and stands_in(each.chunk, name)]
        self._score(base, query, trip, kept, symbols, unseen)
        return kept

    def _documents(self, base: Base, query: CodeQuery, trip: _Trip, info: RepositoryInfo) -> set[str] | None:
        """List the files that language and path allow; None for all."""
        if query.language is None and query.path is None:
            return None
        records = [each for each in base.store.documents(base.collection) if each.id != MANIFEST_ID]
        if query.language is not None:
            wanted = query.language.strip().casefold()
            there = {dict(each.metadata).get("language", "").casefold() for each in records}
            records = [each for each in records if has_language(each, wanted)]
            if not records:
                known = ", ".join(sorted(each for each in there if each))
                trip.notes[f"{info.name} has no {query.language}; it has: {known}."] = None
        if query.path is not None:
            before = bool(records)
            records = [each for each in records if glob_matches(path_of(each.id), query.path)]
            if before and not records:
                trip.notes[f"No file of {info.name} matches the path {query.path}."] = None
        return {each.id for each in records}

    def _symbols(self, base: Base, query: CodeQuery, documents: set[str] | None) -> dict[str, Chunk]:
        """Find the chunks that define a symbol which is asked for by its name."""
        names = [query.symbol] if query.symbol is not None else names_in(query.text)
        mentioned = query.symbol is None and is_report(query.text)
        found: dict[str, Chunk] = {}
        for name in names:
            last = re.split(r"\.|::|#|->", name.removesuffix("()"))[-1]
            places = {
                chunk.id: chunk
                for term in dict.fromkeys((name, last))
                for chunk in base.store.definitions(base.collection, self._base.analyser.term_key(term))
                if defines(chunk, name) and (documents is None or chunk.document_id in documents)
            }
            if not mentioned or len(places) <= MOST_PLACES:
                found |= places
        return found

    # ---- scores

    def _score(
        self,
        base: Base,
        query: CodeQuery,
        trip: _Trip,
        found: Sequence[_Candidate],
        symbols: Mapping[str, Chunk],
        unseen: float,
    ) -> None:
        """Give each candidate its similarity; of words, what that leg did not reach holds `unseen` at most."""
        space = base.embedder.space
        in_full = words_in_full(len(base.analyser.query_terms(query.text)), trip.chunks)
        worth = words_worth(query.text)
        asked = asks_for_symbol(query.text)
        cosines = self._missing_cosines(base, trip.vector, found)
        for each in found:
            bm25 = max(each.lexical.score, 0.0) if each.lexical is not None else unseen
            cosine = each.dense.score if each.dense is not None else cosines.get(each.chunk_id)
            if trip.mode == "keyword":
                each.similarity = bm25 / (bm25 + HALF_ALONE)
            else:
                words = None if trip.mode == "dense" else worth * bm25 / in_full
                each.similarity = self._similar(space, cosine or 0.0, words)
                if each.chunk is not None and _is_remark(each.chunk):
                    each.similarity *= _REMARK
            if trip.mode == "dense":
                continue
            if each.chunk_id in symbols:
                each.exact = asked or query.symbol is not None
                each.similarity = 1.0 if asked else max(each.similarity, (1.0 + each.similarity) / 2)

    def _similar(self, space: EmbeddingSpace, cosine: float, words: float | None) -> float:
        """Map a cosine with what words add to 0..1: as cosines are calibrated up to the knee, then ever nearer to 1."""
        total = cosine if words is None else min(cosine + words, _KNEE)
        known = min(max(self._similarity(space, total), 0.0), 1.0)
        beyond = 0.0 if words is None else cosine + words - total
        return 1.0 - (1.0 - known) * math.exp(-beyond / _BEND)

    def _missing_cosines(self, base: Base, vector: Vector | None, found: Sequence[_Candidate]) -> dict[str, float]:
        """Work out the cosines of what only words found, so that all are measured alike."""
        if vector is None:
            return {}
        keys: dict[str, str] = {}
        for each in found:
            if each.dense is None and each.chunk is not None:
                keys[each.chunk_id] = embedding_key(each.chunk)
        if not keys:
            return {}
        try:
            known = base.store.vectors(base.collection, list(keys.values()))
        except KnowledgeError:
            return {}  # they are then measured by their words alone
        asked = numbers_of(vector)
        return {
            chunk_id: sum(map(operator.mul, asked, numbers_of(known[key])))
            for chunk_id, key in keys.items()
            if key in known
        }

    def _with_records(self, hits: Sequence[CodeHit]) -> tuple[CodeHit, ...]:
        wanted: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            wanted[hit.repository.collection].append(hit.chunk.document_id)
        found = self._lanes.map(lambda name: Records(base_of(self._base, name), wanted[name]), list(wanted))
        records = dict(zip(wanted, found, strict=True))
        return tuple(replace(hit, record=records[hit.repository.collection].get(hit.chunk.document_id)) for hit in hits)


def _asks_in_detail(query: CodeQuery) -> bool:
    """Tell whether a question says more than one name, and names what is there; the best hits then tell more of it."""
    return not asks_for_symbol(query.text) and words_worth(query.text) > WORTH_OF_PROSE


def _is_remark(chunk: Chunk) -> bool:
    """Tell whether a chunk is nothing but a short comment."""
    if chunk.definitions or chunk.token_count > _FEW_TOKENS:
        return False
    return all(_COMMENT.match(line) for line in chunk.content.split("\n"))


def _leaning(vector: Vector, other: Vector) -> Vector:
    """Move a vector towards another of the same length; the result has length 1."""
    form = f"<{len(vector) // 4}f"
    numbers = [
        one + _LEANING * two for one, two in zip(struct.unpack(form, vector), struct.unpack(form, other), strict=True)
    ]
    length = math.hypot(*numbers)
    return struct.pack(form, *(number / length for number in numbers)) if length > 0.0 else vector


def _joined(dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None) -> dict[str, _Candidate]:
    found: dict[str, _Candidate] = {}
    for rank, hit in enumerate(dense or (), 1):
        found.setdefault(hit.chunk_id, _Candidate(hit.chunk_id)).dense = LegScore(rank, hit.score)
    for rank, hit in enumerate(lexical or (), 1):
        found.setdefault(hit.chunk_id, _Candidate(hit.chunk_id)).lexical = LegScore(rank, hit.score)
    return found

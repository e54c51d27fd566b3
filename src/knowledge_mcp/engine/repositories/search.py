"""Search repositories by meaning and words, with one similarity for both, merged and cut at a threshold.

Each candidate has a similarity of 0..1 that means the same in every collection (`code_rating`). A chunk that defines a
symbol named in the query comes first. Only passages that may be shown are read.
"""

from __future__ import annotations

import math
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Self

from knowledge_mcp.engine.core.base import PASSING, Base, Passages, Records, base_of, snapshot
from knowledge_mcp.engine.core.health import notes_of
from knowledge_mcp.engine.core.restricted import copy_with
from knowledge_mcp.engine.repositories.manifest import MANIFEST_ID, path_of
from knowledge_mcp.engine.repositories.values import CodeAnswer, CodeHit, CodeQuery, RepositoryInfo, RepositoryParts
from knowledge_mcp.engine.search.blending import EXAMPLES, feedback, places, words_in_full
from knowledge_mcp.language.names import (
    MOST_PLACES,
    WEIGHT_OF_PROSE,
    asks_for_symbol,
    defines,
    is_report,
    names_in,
    stands_in,
    weight_of_words,
)
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError, SpaceMismatchError, noticing
from knowledge_mcp.model.query import In, LegResults
from knowledge_mcp.support.checkpoints import check_each, inherit_checkpoints
from knowledge_mcp.support.workers import WorkerPool

_ALIASES = {
    "c#": "csharp", "c++": "cpp", "golang": "go", "js": "javascript", "md": "markdown", "py": "python", "rb": "ruby",
    "rs": "rust", "sh": "bash", "shell": "bash", "ts": "typescript", "yml": "yaml",
}  # fmt: skip


def has_language(record: DocumentRecord, name: str) -> bool:
    """Return whether a file is in a language, named in lower case or by a common short name."""
    labels = dict(record.metadata)
    language = labels.get("language", "").casefold()
    known = _ALIASES.get(name, name)
    return language == known or (known == "typescript" and language == "tsx") or labels.get("extension") == f".{name}"


def glob_matches(path: str, pattern: str) -> bool:
    """Return whether a path matches a glob: `*` in a folder, `**` across folders; without a slash the name is matched.

    A pattern that names a folder matches everything below it. Brackets are literal, as in `app/[id]/page.tsx`.
    """
    pattern = pattern.strip().removeprefix("./").removeprefix("/").replace("[", "[[]")
    if pattern.endswith("/"):
        pattern += "**"
    below = path.startswith(pattern.replace("[[]", "[") + "/")
    if "/" not in pattern:
        return below or fnmatchcase(path.rpartition("/")[2], pattern)
    if not any(sign in pattern for sign in "*?"):
        return below or path == pattern.replace("[[]", "[")
    return _fits(path.split("/"), _GLUED.sub("**/*", pattern).split("/"))


_GLUED = re.compile(r"(?<![^/])\*\*+(?=[^/*])")
"""`**` at the beginning of a name: `src/**.py` is `src/**/*.py`."""


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Match the parts of a path; each `**` takes as few as the next parts allow, so that no pattern is slow."""
    place = part = 0
    resume: tuple[int, int] | None = None
    while place < len(names):
        if part < len(parts) and parts[part] == "**":
            part += 1
            resume = (place, part)
        elif part < len(parts) and fnmatchcase(names[place], parts[part]):
            place, part = place + 1, part + 1
        elif resume is not None:
            resume = (resume[0] + 1, resume[1])
            place, part = resume
        else:
            return False
    return all(each == "**" for each in parts[part:])


HALF_ALONE = 0.5
"""BM25 sum at which a keyword hit's similarity is one half; the default threshold then loses 2 % in keyword search."""

_KNEE, _BEND = 0.6, 0.4
"""Sum of cosine and words above which a similarity is not just its calibration, and how slowly it approaches 1."""

_REMARK = 0.8
"""Weight of the similarity of a lone comment: a few words are close to many questions, and not informative."""

_FEW_TOKENS = 24
_COMMENT = re.compile(r"\s*(?:#|//|--|/?\*|;|%|$)")
_SPARE = 4
"""Candidates read beyond the limit, so that a few comments among them do not need another read."""


@dataclass(slots=True)
class CodeCandidate:
    """One passage that may be shown.

    Attributes:
        similarity: 0..1; before the passage is read, an upper bound.
        exact: whether it is the symbol named in the query, and comes first.
        firm: whether reading it cannot lower the similarity.
        chunk: the passage, None until it is read.
    """

    chunk_id: str
    similarity: float
    exact: bool = False
    firm: bool = False
    chunk: Chunk | None = None


def by_words(bm25: float) -> float:
    """Map a BM25 sum alone to 0..1."""
    return bm25 / (bm25 + HALF_ALONE)


def similar(
    calibrated: Callable[[EmbeddingSpace, float], float], space: EmbeddingSpace, cosine: float, words: float | None
) -> float:
    """Map a cosine plus words to 0..1: calibrated like a cosine up to the knee, then approaching 1.

    Args:
        calibrated: maps a cosine in a space to 0..1.
        space: the embedding space.
        cosine: -1..1.
        words: from 0, None if only meaning counts.
    """
    total = cosine if words is None else min(cosine + words, _KNEE)
    known = min(max(calibrated(space, total), 0.0), 1.0)
    beyond = 0.0 if words is None else cosine + words - total
    return 1.0 - (1.0 - known) * math.exp(-beyond / _BEND)


def read_best(passages: Passages, rated: list[CodeCandidate], limit: int) -> list[CodeCandidate]:
    """Order candidates, best first, and read as many as needed to be sure of the best; return these.

    Candidates deleted meanwhile are dropped. For those not read, the similarity stays an upper bound.
    """
    while True:
        rated.sort(key=_order)
        if all(each.chunk is not None for each in rated[:limit]):
            return rated[:limit]
        unread = [each for each in rated[: limit + _SPARE] if each.chunk is None]
        read = {each.id: each for each in passages.get([each.chunk_id for each in unread])}
        for each in unread:
            each.chunk = read.get(each.chunk_id)
            if each.chunk is None:
                rated.remove(each)
            elif not each.firm and _is_remark(each.chunk):
                each.similarity *= _REMARK


def _order(candidate: CodeCandidate) -> tuple[bool, float, str]:
    return not candidate.exact, -candidate.similarity, candidate.chunk_id


def _is_remark(chunk: Chunk) -> bool:
    """Return whether a chunk is only a short comment."""
    if chunk.definitions or chunk.token_count > _FEW_TOKENS:
        return False
    return all(_COMMENT.match(line) for line in chunk.content.split("\n"))


_DEPTH = 100
"""Minimum hits of each leg. With 200 the nDCG@10 of the sets is lower by .000 to .006, with 50 by as much, because
a search uses the last hits' scores for what it did not see.
"""

_LEANING = 0.3
"""Weight of a report's first line, which states its subject, relative to the meaning of the whole."""

_LONGEST_LINE = 300


@dataclass(slots=True)
class _SearchRun:
    """Collect data of one search; `chunks` is for its collection."""

    degraded: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    vector: Vector | None = None
    mode: str = "hybrid"
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class _RepositoryHits:
    """The results from one repository, and the data of the search."""

    info: RepositoryInfo
    run: _SearchRun
    hits: Sequence[CodeHit] = ()
    matches: int = 0
    below: int = 0


class CodeSearch:
    """Search collections of code. Thread-safe.

    Args:
        base: the service's base.
        parts: provides the calibration.
        workers: threads that search as many collections at once.
    """

    def __init__(self, base: Base, parts: RepositoryParts, workers: WorkerPool) -> None:
        self._base = base
        self._similarity = parts.similarity
        self._workers = workers

    def over(self, base: Base) -> Self:
        """Return the same search over another view of the store."""
        return copy_with(self, _base=base)

    def search(
        self, query: CodeQuery, collections: Sequence[str], describe: Callable[[str], RepositoryInfo | None]
    ) -> CodeAnswer:
        """Find the best chunks of some repositories.

        Args:
            query: the query.
            collections: those of the repositories.
            describe: describes the repository of a collection, None if it no longer exists; called in the same snapshot
                as the search.

        Raises:
            InvalidInputError: blank text.
            KnowledgeError: the store failed, or the embedder if only meaning was requested.
        """
        if not query.text.strip():
            raise InvalidInputError("The query is empty.", suggestion="Use at least one word.")
        run = _SearchRun(mode=query.mode)
        if collections:
            self._embed(query, run)
        found: list[CodeHit] = []
        only = len(collections) == 1
        every = self._workers.map(
            inherit_checkpoints(lambda name: self._search_one(query, name, describe, run, only=only)), collections
        )
        searched = sorted((each for each in every if each is not None), key=lambda each: each.info.name)
        for one in searched:
            run.degraded |= one.run.degraded
            run.notes |= one.run.notes
            found.extend(one.hits)
        found.sort(key=lambda hit: (not hit.exact_symbol, -hit.similarity, hit.repository.name, hit.chunk.id))
        hits = self._with_records(found[: query.limit])
        return CodeAnswer(
            hits=hits,
            total_matches=sum(each.matches for each in searched),
            below_threshold=sum(each.below for each in searched),
            searched=tuple(each.info for each in searched),
            degraded=tuple(run.degraded),
            notes=tuple(run.notes),
        )

    # ---- one collection

    def _search_one(
        self,
        query: CodeQuery,
        collection: str,
        describe: Callable[[str], RepositoryInfo | None],
        run: _SearchRun,
        *,
        only: bool,
    ) -> _RepositoryHits | None:
        """Search one repository in one state; None if it was just deleted, which is an error if it is the only one.

        Raises:
            NotFoundError: it was the only one and was deleted.
            KnowledgeError: the store failed.
        """
        try:
            with snapshot(self._base.store, collection):
                info = describe(collection)
                if info is None:
                    return None
                own = replace(run, degraded={}, notes={}, chunks=info.chunk_count)
                try:
                    with noticing() as damage:
                        searched = self._hits_in(query, info, own)
                    if damage and not searched.hits:
                        raise damage[0]
                    own.degraded.update(dict.fromkeys(notes_of(damage)))
                    return searched
                except SpaceMismatchError as exc:
                    message = f"{info.name} was not searched: {exc.message} `pk-mcp reindex` indexes it again."
                    own.degraded[message] = None
                    return _RepositoryHits(info, own)
        except NotFoundError:
            if only:
                raise
            return None

    def _embed(self, query: CodeQuery, run: _SearchRun) -> None:
        if query.mode == "keyword":
            return
        try:
            run.vector = self._base.embedder.embed_query(query.text)
            first_line = query.text.strip().split("\n")[0].strip()[:_LONGEST_LINE]
            if is_report(query.text) and first_line:
                run.vector = _lean(run.vector, self._base.embedder.embed_query(first_line))
        except PASSING as exc:
            if query.mode == "dense":
                raise
            run.degraded[f"Semantic search failed ({exc.message}); results are keyword matches only."] = None
            run.mode = "keyword"

    def _hits_in(self, query: CodeQuery, info: RepositoryInfo, run: _SearchRun) -> _RepositoryHits:
        base = base_of(self._base, info.collection)
        if run.vector is not None:
            base.check_space()
        documents = self._documents(base, query, run, info)
        symbols = self._symbols(base, query, documents)
        chosen = documents
        if query.symbol is not None:
            owners = {chunk.document_id for chunk in symbols.values()}
            chosen = owners if documents is None else owners & documents
        if chosen is not None and not chosen:
            return _RepositoryHits(info, run)
        depth = max(_DEPTH, query.limit)
        chosen_only = None if chosen is None else In("document_id", tuple(sorted(chosen)))
        text = query.text if run.mode != "dense" else None
        legs = base.search(vector=run.vector, text=text, filter=chosen_only, limit=depth)
        for leg, error in (("Meaning", legs.dense_error), ("Words", legs.lexical_error)):
            if error:
                run.degraded[f"{leg} could not be searched in {info.name}: {error}"] = None
        is_cut = legs.lexical is not None and len(legs.lexical) >= depth
        unseen = legs.lexical[-1].score if legs.lexical and is_cut else 0.0
        passages = Passages(base)
        rated = self._rate(base, passages, query, run, legs, symbols, unseen)
        if run.mode == "hybrid" and run.vector is not None and legs.dense is not None and _asks_in_detail(query):
            best = [each.chunk_id for each in read_best(passages, rated, EXAMPLES)]
            again = feedback(base, passages, run.vector, best, chosen_only, depth)
            if again is not None:
                nearer, near = replace(run, vector=again[0]), replace(legs, dense=again[1])
                rated = self._rate(base, passages, query, nearer, near, symbols, unseen)
        best = read_best(passages, rated, query.limit)
        best_ids = {each.chunk_id for each in best}
        dense, lexical = places(legs.dense or (), best_ids), places(legs.lexical or (), best_ids)
        hits = [
            CodeHit(info, chunk, None, each.similarity, dense.get(chunk.id), lexical.get(chunk.id), each.exact)
            for each in best
            if (chunk := each.chunk) is not None and each.similarity >= query.threshold
        ]
        matches = sum(each.similarity >= query.threshold for each in rated)
        return _RepositoryHits(info, run, hits, matches, len(rated) - matches)

    def _rate(
        self,
        base: Base,
        passages: Passages,
        query: CodeQuery,
        run: _SearchRun,
        legs: LegResults,
        symbols: Mapping[str, Chunk],
        unseen: float,
    ) -> list[CodeCandidate]:
        """Compute the similarities of all hits; a chunk that the lexical leg did not list counts with BM25 `unseen`."""
        near = {hit.chunk_id: hit.score for hit in legs.dense or ()}
        word_scores = {hit.chunk_id: hit.score for hit in legs.lexical or ()}
        by_name = symbols if run.mode != "dense" or query.symbol is not None else ()
        chunk_ids = list(dict.fromkeys((*near, *word_scores, *by_name)))
        if query.symbol is not None:
            chunk_ids = [each.id for each in passages.get(chunk_ids) if stands_in(each, query.symbol)]
        near |= self._missing_cosines(base, run.vector, [each for each in chunk_ids if each not in near])
        in_full = words_in_full(len(base.analyser.query_words(query.text)), run.chunks)
        space = base.embedder.space
        words_weight = weight_of_words(query.text)
        asks_symbol = asks_for_symbol(query.text)
        rated: list[CodeCandidate] = []
        for chunk_id in check_each(chunk_ids):
            bm25 = max(word_scores.get(chunk_id, unseen), 0.0)
            if run.mode == "keyword":
                similarity = by_words(bm25)
            else:
                words = None if run.mode == "dense" else words_weight * bm25 / in_full
                similarity = similar(self._similarity, space, near.get(chunk_id, 0.0), words)
            is_named = run.mode != "dense" and chunk_id in symbols
            if is_named:
                similarity = 1.0 if asks_symbol else (1.0 + similarity) / 2
            rated.append(
                CodeCandidate(
                    chunk_id,
                    similarity,
                    exact=is_named and (asks_symbol or query.symbol is not None),
                    firm=is_named or run.mode == "keyword",
                )
            )
        return rated

    def _documents(self, base: Base, query: CodeQuery, run: _SearchRun, info: RepositoryInfo) -> set[str] | None:
        """List the files allowed by language and path; None for all."""
        if query.language is None and query.path is None:
            return None
        records = [each for each in check_each(base.opened.documents()) if each.id != MANIFEST_ID]
        if query.language is not None:
            language = query.language.strip().casefold()
            there = {dict(each.metadata).get("language", "").casefold() for each in records}
            records = [each for each in check_each(records) if has_language(each, language)]
            if not records:
                known = ", ".join(sorted(each for each in there if each))
                run.notes[f"{info.name} has no {query.language}; its languages: {known}."] = None
        if query.path is not None:
            before = bool(records)
            records = [each for each in check_each(records) if glob_matches(path_of(each.id), query.path)]
            if before and not records:
                run.notes[f"No file of {info.name} matches the path {query.path}."] = None
        return {each.id for each in records}

    def _symbols(self, base: Base, query: CodeQuery, documents: set[str] | None) -> dict[str, Chunk]:
        """Find the chunks that define a symbol named in the query."""
        names = [query.symbol] if query.symbol is not None else names_in(query.text)
        mentioned = query.symbol is None and is_report(query.text)
        found: dict[str, Chunk] = {}
        for name in names:
            last = re.split(r"\.|::|#|->", name.removesuffix("()"))[-1]
            places = {
                chunk.id: chunk
                for term in dict.fromkeys((name, last))
                for chunk in base.opened.chunks("term", [self._base.analyser.term_key(term)])
                if defines(chunk, name) and (documents is None or chunk.document_id in documents)
            }
            if not mentioned or len(places) <= MOST_PLACES:
                found |= places
        return found

    def _missing_cosines(self, base: Base, vector: Vector | None, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Read the cosines of chunks found only by words, so that all are measured alike."""
        if vector is None or not chunk_ids:
            return {}
        try:
            these = In("chunk_id", tuple(chunk_ids))
            found = base.opened.search(vector=vector, text=None, filter=these, limit=len(chunk_ids)).dense
        except KnowledgeError:
            return {}  # they are then measured by their words alone
        return {hit.chunk_id: hit.score for hit in found or ()}

    def _with_records(self, hits: Sequence[CodeHit]) -> tuple[CodeHit, ...]:
        document_ids: defaultdict[str, list[str]] = defaultdict(list)
        for hit in hits:
            document_ids[hit.repository.collection].append(hit.chunk.document_id)
        loaded = self._workers.map(
            inherit_checkpoints(lambda name: Records(base_of(self._base, name), document_ids[name])), list(document_ids)
        )
        records = dict(zip(document_ids, loaded, strict=True))
        return tuple(replace(hit, record=records[hit.repository.collection].get(hit.chunk.document_id)) for hit in hits)


def _asks_in_detail(query: CodeQuery) -> bool:
    """Return whether a question is more than one name, so that the best hits say more about what is meant."""
    return not asks_for_symbol(query.text) and weight_of_words(query.text) > WEIGHT_OF_PROSE


def _lean(vector: Vector, other: Vector) -> Vector:
    """Move a vector towards another one; the result is normalised."""
    form = f"<{len(vector) // 4}f"
    numbers = [
        one + _LEANING * two for one, two in zip(struct.unpack(form, vector), struct.unpack(form, other), strict=True)
    ]
    length = math.hypot(*numbers)
    return struct.pack(form, *(number / length for number in numbers)) if length > 0.0 else vector

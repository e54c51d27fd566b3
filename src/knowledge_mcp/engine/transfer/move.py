"""Copy a collection from one store to another unchanged, without re-embedding.

The steps: plan (what the target lacks or has differently) → copy document by document → compare both. A document with
the same record in the target counts as done, so that an interrupted run is finished by the next one. The source is only
read. Two collections are compared by counts, one hash over everything, and the answers to sampled queries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.engine.core.documents import StoredDocument, publish_document, vectors_of
from knowledge_mcp.engine.transfer.copying import (
    CHUNKS_AT_ONCE,
    CollectionPlace,
    CopyProblem,
    MoveEvent,
    MoveEventKind,
    Transfer,
    read,
)
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import InternalError, InvalidInputError, SpaceMismatchError
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.support.batches import batches

LEAST_DENSE_OVERLAP = 0.95
LEAST_LEXICAL_OVERLAP = 0.90
"""Minimum shares of the best hits that both stores must have in common, on average over the sampled queries."""

_HITS = 10
_TIE = 1e-4
_WORDS = 6


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of what was compared."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Overlap:
    """How similar the answers to sampled queries are.

    Attributes:
        queries: how many chunks were sampled.
        dense, lexical: mean share of the source's best hits that the target has too; None if nothing was asked.
        lost: ids of sampled chunks that the target does not find by their own vector, although the source does.
        judged: False if the target has other documents too, so that its best hits may differ legitimately.
    """

    queries: int
    dense: float | None
    lexical: float | None
    lost: tuple[str, ...] = ()
    judged: bool = True

    @property
    def good(self) -> bool:
        """Return whether nothing was lost and the shares are high enough."""
        if self.lost:
            return False
        if not self.judged:
            return True
        near = self.dense is None or self.dense >= LEAST_DENSE_OVERLAP
        return near and (self.lexical is None or self.lexical >= LEAST_LEXICAL_OVERLAP)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether the target has exactly the source's contents; documents that only the target has are ignored.

    Attributes:
        source, target: counts from reading every chunk.
        source_sha256, target_sha256: `content_hash` of each.
        differing: documents that differ, and how.
        overlap: result of the sampled queries.
    """

    source: Counts
    target: Counts
    source_sha256: str
    target_sha256: str
    differing: tuple[CopyProblem, ...]
    overlap: Overlap

    @property
    def equal(self) -> bool:
        """Return whether counts, hashes and answers agree."""
        same = self.source == self.target and self.source_sha256 == self.target_sha256
        return same and not self.differing and self.overlap.good


@dataclass(slots=True)
class ContentHash:
    """Combine documents, by id, into one hash and their counts."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)

    def add(self, document: StoredDocument | None, document_id: str, digest: str) -> None:
        """Add one document's digest; ids must come in ascending order."""
        self._hash.update(f"{document_id}\0{digest}\n".encode())
        if document is not None:
            self.documents += 1
            self.chunks += len(document.chunks)
            self.tokens += sum(chunk.token_count for chunk in document.chunks)

    @property
    def counts(self) -> Counts:
        """Return the counts."""
        return Counts(self.documents, self.chunks, self.tokens)

    @property
    def sha256(self) -> str:
        """Return the hash, 64 hex digits."""
        return str(self._hash.hexdigest())


def document_digest(place: CollectionPlace, document: StoredDocument) -> str:
    """Hash a document's record, text, structure, chunks and vectors: 64 hex digits, equal only if all are equal.

    Raises:
        InternalError: a chunk has no vector.
    """
    digest = hashlib.sha256()
    _add(digest, _plain(document.record))
    _add(digest, document.text.encode("utf-8", "surrogatepass"))
    _add(digest, _plain(document.structure))
    for batch in batches(document.chunks, CHUNKS_AT_ONCE):
        for chunk, vector in zip(batch, vectors_of(place.opened, batch), strict=True):
            _add(digest, _plain(chunk))
            _add(digest, vector)
    return digest.hexdigest()


def content_hash(place: CollectionPlace) -> ContentHash:
    """Hash everything in a collection, document by document in the order of their ids.

    Raises:
        InternalError: a document is incomplete.
    """
    whole = ContentHash()
    for document_id in sorted(place.records()):
        document = read(place, document_id)
        if document is not None:
            whole.add(document, document_id, document_digest(place, document))
    return whole


def compare(
    source: CollectionPlace,
    target: CollectionPlace,
    records: Mapping[str, DocumentRecord],
    *,
    samples: int,
    others: bool,
    on_document: Callable[[str, int], None],
) -> Comparison:
    """Read the documents of `records` from both stores and compare them.

    Args:
        source, target: the collections to compare.
        records: the documents of the source, by id.
        samples: number of chunks whose vector and words are searched for.
        others: whether the target has other documents too.
        on_document: receives each document's id and how many are done.
    """
    mine, theirs = ContentHash(), ContentHash()
    differing: list[CopyProblem] = []
    sample = _Sample(samples, sum(record.chunk_count for record in records.values()))
    for done, document_id in enumerate(sorted(records), 1):
        document, digest, trouble = _look(source, document_id)
        copy, its_digest, its_trouble = _look(target, document_id)
        mine.add(document, document_id, digest)
        theirs.add(copy, document_id, its_digest)
        if trouble or its_trouble or digest != its_digest:
            differing.append(CopyProblem(document_id, trouble or its_trouble or _difference(document, copy)))
        if document is not None and not trouble:
            sample.offer(source, document)
        on_document(document_id, done)
    overlap = _ask(source, target, sample.taken, judged=not others)
    return Comparison(mine.counts, theirs.counts, mine.sha256, theirs.sha256, tuple(differing), overlap)


def _look(place: CollectionPlace, document_id: str) -> tuple[StoredDocument | None, str, str]:
    """Read and hash one document; return it, its digest, and what is wrong with it."""
    document: StoredDocument | None = None
    try:
        document = read(place, document_id)
        if document is None:
            return None, "", f"It is not in '{place.collection}' of {place.store.identity.backend}."
        return document, document_digest(place, document), ""
    except InternalError as exc:
        return document, "", f"{place.store.identity.backend}: {exc.message}"


def _difference(original: StoredDocument | None, copy: StoredDocument | None) -> str:
    """Say how two complete versions of a document differ."""
    if original is None or copy is None:
        return "It is in only one of the two."
    for what, same in (
        ("record", original.record == copy.record),
        ("text", original.text == copy.text),
        ("sections or pages", original.structure == copy.structure),
        ("chunks", original.chunks == copy.chunks),
    ):
        if not same:
            return f"The {what} differ{'' if what.endswith('s') else 's'}."
    return "The vectors differ."


class _Sample:
    """Sample chunks evenly over a collection, with their vectors, while its documents are read."""

    def __init__(self, size: int, chunks: int) -> None:
        count = min(size, chunks)
        self._places = [place * chunks // count for place in range(count)]
        self._passed = 0
        self.taken: list[tuple[Chunk, Vector]] = []

    def offer(self, place: CollectionPlace, document: StoredDocument) -> None:
        """Process one document."""
        last = self._passed + len(document.chunks)
        chosen: list[Chunk] = []
        while self._places and self._places[0] < last:
            chosen.append(document.chunks[self._places.pop(0) - self._passed])
        self._passed = last
        if chosen:
            self.taken.extend(zip(chosen, vectors_of(place.opened, chosen), strict=True))


def _ask(
    source: CollectionPlace, target: CollectionPlace, sample: Sequence[tuple[Chunk, Vector]], *, judged: bool
) -> Overlap:
    """Search both stores for each sampled chunk's vector and words."""
    dense: list[float] = []
    lexical: list[float] = []
    lost: list[str] = []
    for chunk, vector in sample:
        words = _words_of(chunk.content)
        legs = [
            place.opened.search(vector=vector, text=words or None, filter=None, limit=_HITS)
            for place in (source, target)
        ]
        mine, theirs = (list(each.dense or ()) for each in legs)
        dense.append(_overlap(mine, theirs))
        if _is_among(chunk, mine) and not _is_among(chunk, theirs):
            lost.append(chunk.id)
        if legs[0].lexical:
            lexical.append(_overlap(list(legs[0].lexical), list(legs[1].lexical or ())))
    return Overlap(len(sample), _mean(dense), _mean(lexical), tuple(lost), judged)


def _is_among(chunk: Chunk, hits: Sequence[LegHit]) -> bool:
    """Return whether a chunk is among the hits, or was displaced by equally near ones."""
    return any(hit.chunk_id == chunk.id for hit in hits) or (len(hits) >= _HITS and hits[-1].score > 1.0 - _TIE)


def _overlap(mine: Sequence[LegHit], theirs: Sequence[LegHit]) -> float:
    """Return the share of common hits; among equal scores at the end, each store may choose."""
    if not mine:
        return 1.0 if not theirs else 0.0
    there = {hit.chunk_id for hit in theirs}
    cut = mine[-1].score
    free = sum(1 for hit in mine if hit.score - cut <= _TIE and hit.chunk_id not in there)
    spare = sum(1 for hit in theirs if hit.chunk_id not in {each.chunk_id for each in mine})
    return (sum(1 for hit in mine if hit.chunk_id in there) + min(free, spare)) / len(mine)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _words_of(text: str) -> str:
    """Return some words, evenly spread, each once."""
    words = list(dict.fromkeys(re.findall(r"\w{3,}", text)))
    return " ".join(words[:: max(1, -(-len(words) // _WORDS))])


def _add(digest: Any, part: bytes) -> None:
    """Add one part with its length, so that different sequences of parts never hash alike."""
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


def _plain(value: DocumentRecord | DocumentStructure | Chunk) -> bytes:
    """Write a value of the model as JSON; equal values give the same text."""
    text = json.dumps(value, default=_fields, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.encode()


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


_ROUNDS = 20
"""Maximum rounds of copying documents that changed in the source meanwhile."""


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Options of a move.

    Attributes:
        prune: remove documents from the target that the source does not have.
        samples: number of chunks searched for in both stores at the end.
    """

    prune: bool = False
    samples: int = 50


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What a move would do; all except `info` are document ids in order.

    Attributes:
        info: the source collection.
        new: not in the target yet.
        replaced: in the target with another record, or with a number of chunks that does not match it.
        present: already in the target.
        others: only in the target.
        chunks: number of chunks to copy.
    """

    info: CollectionInfo
    new: tuple[str, ...]
    replaced: tuple[str, ...]
    present: tuple[str, ...]
    others: tuple[str, ...]
    chunks: int


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The result of a move.

    Attributes:
        plan: the plan at the beginning.
        copied: documents written, including those copied again because the comparison found them wrong.
        chunks: chunks written.
        removed: documents removed from the target.
        failed: documents that could not be copied, and are not in the target otherwise.
        comparison: of source and target at the end.
        seconds: duration of copying; comparing took `comparing_seconds`.
    """

    plan: MovePlan
    copied: int
    chunks: int
    removed: tuple[str, ...]
    failed: tuple[CopyProblem, ...]
    comparison: Comparison
    seconds: float
    comparing_seconds: float

    @property
    def good(self) -> bool:
        """Return whether the target now equals the source."""
        return not self.failed and self.comparison.equal


class Move(Transfer):
    """Copy one collection; an instance is used once.

    Args:
        source, target: the collections.
        options: the options.
        on_event: receives every step.

    Raises:
        InvalidInputError: both are the same collection of the same store.
        NotFoundError: the source collection does not exist.
        SpaceMismatchError: the target collection has another embedding space; nothing was written.
    """

    def __init__(
        self,
        source: CollectionPlace,
        target: CollectionPlace,
        options: MoveOptions,
        on_event: Callable[[MoveEvent], None],
    ) -> None:
        super().__init__(source, on_event)
        self._target = target
        self._options = options
        self._info = _check_places(source, target)
        self._copied = self._chunks = 0

    def plan(self) -> MovePlan:
        """Compare the records of both; write nothing."""
        mine, theirs = self._source.records(), self._target.records()
        sound = self._sound(theirs)
        new = tuple(sorted(mine.keys() - theirs.keys()))
        shared = sorted(mine.keys() & theirs.keys())
        present = tuple(each for each in shared if mine[each] == theirs[each] and sound(each))
        done = set(present)
        replaced = tuple(each for each in shared if each not in done)
        chunks = sum(mine[each].chunk_count for each in (*new, *replaced))
        return MovePlan(self._info, new, replaced, present, tuple(sorted(theirs.keys() - mine.keys())), chunks)

    def run(self) -> MoveReport:
        """Copy what the target lacks, and compare.

        Raises:
            KnowledgeError: of a kind that would affect every further document; finished documents are kept, and another
                run continues after them.
        """
        started = time.perf_counter()
        target = self._target
        target.store.create_collection(target.collection, self._info.space)
        plan = self.plan()
        self._report_event(MoveEventKind.PLANNED, done=len(plan.present), total=_total(plan))
        for document_id in plan.present:
            self._report_event(MoveEventKind.PRESENT, document_id, total=_total(plan))
        self._do_each((*plan.new, *plan.replaced), self._copy, len(plan.present), _total(plan))
        records = self._catch_up()
        removed = self._prune(plan.others) if self._options.prune else ()
        copied_at = time.perf_counter()
        comparison = self._compare(records)
        again = [each.document_id for each in comparison.differing if each.document_id in set(plan.present)]
        if again:  # left by an earlier run or another writer under an equal record
            self._do_each(again, self._copy)
            comparison = self._compare(records)
        wrong = {each.document_id for each in comparison.differing}
        for document_id in self._failed.keys() & (records.keys() - wrong):
            del self._failed[document_id]  # another run has copied it meanwhile
        return MoveReport(
            plan=plan,
            copied=self._copied,
            chunks=self._chunks,
            removed=removed,
            failed=self.failures,
            comparison=comparison,
            seconds=copied_at - started,
            comparing_seconds=time.perf_counter() - copied_at,
        )

    # internals

    def _sound(self, records: Mapping[str, DocumentRecord]) -> Callable[[str], bool]:
        """Return whether a document in the target has as many chunks as its record says, if possible from the total."""
        target = self._target
        if not records:
            return lambda _: True
        in_target = counts_of(target.opened).chunks
        if in_target == sum(record.chunk_count for record in records.values()):
            return lambda _: True
        return lambda document_id: (
            len(target.opened.chunks("document", [document_id])) == records[document_id].chunk_count
        )

    def _copy(self, document_id: str, place: int, total: int) -> None:
        document = read(self._source, document_id)
        if document is None:
            return  # deleted from the source meanwhile
        publish_document(self._target.opened, document, self._vectors(document))
        self._failed.pop(document_id, None)
        self._copied += 1
        self._chunks += len(document.chunks)
        self._report_event(MoveEventKind.STORED, document_id, place, total)

    def _vectors(self, document: StoredDocument) -> list[Vector]:
        vectors: list[Vector] = []
        for batch in batches(document.chunks, CHUNKS_AT_ONCE):
            vectors += vectors_of(self._source.opened, batch)
            self._report_event(MoveEventKind.READ, document.record.id, len(vectors), len(document.chunks))
        return vectors

    def _catch_up(self) -> dict[str, DocumentRecord]:
        """Copy what changed in the source since; return the records that the target must have."""
        for _ in range(_ROUNDS):
            mine, theirs = self._source.records(), self._target.records()
            late = [
                each for each, record in sorted(mine.items()) if theirs.get(each) != record and each not in self._failed
            ]
            if not late:
                return mine
            self._do_each(late, self._copy)
        return self._source.records()

    def _prune(self, others: tuple[str, ...]) -> tuple[str, ...]:
        """Remove what only the target had at the beginning and the source still lacks."""
        mine = self._source.records()
        gone = tuple(each for each in others if each not in mine)
        self._remove(self._target, gone)
        return gone

    def _compare(self, records: Mapping[str, DocumentRecord]) -> Comparison:
        return compare(
            self._source,
            self._target,
            records,
            samples=self._options.samples,
            others=bool(self._target.records().keys() - records.keys()),
            on_document=lambda document_id, done: self._report_event(
                MoveEventKind.COMPARED, document_id, done, len(records)
            ),
        )


def _total(plan: MovePlan) -> int:
    return len(plan.new) + len(plan.replaced) + len(plan.present)


def _check_places(source: CollectionPlace, target: CollectionPlace) -> CollectionInfo:
    """Check that a move is possible; return the source's description."""
    same_store = source.store.identity == target.store.identity
    if same_store and source.collection == target.collection:
        raise InvalidInputError(
            f"Source and target are the same: collection '{source.collection}' of {source.store.identity.location}.",
            suggestion="Choose another target store, or another collection with --to-collection.",
        )
    info = source.info()
    there = target.opened.info()
    if there is not None and there.space.fingerprint != info.space.fingerprint:
        raise SpaceMismatchError(
            f"Collection '{target.collection}' of {target.store.identity.location} "
            f"contains vectors of {there.space.label}, but '{source.collection}' contains those of {info.space.label}. "
            "Nothing was copied.",
            details=f"target space {there.space}; source space {info.space}",
            suggestion="Choose another name with --to-collection, or `knowledge reembed` one of the two first.",
        )
    return info

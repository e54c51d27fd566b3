"""A collection copied from one store into another as it is, without re-embedding anything.

The way: plan (what the target lacks or has otherwise) → copy document by document → compare both. A document whose
record is the same at the target is taken as done, so that a run that was stopped anywhere is finished by the next one.
The source is only read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.engine.core.documents import StoredDocument, publish_document, vectors_of
from knowledge_mcp.engine.transfer.compare import Comparison, compare
from knowledge_mcp.engine.transfer.copying import (
    CHUNKS_AT_ONCE,
    CollectionPlace,
    MoveEvent,
    MoveEventKind,
    Transfer,
    Trouble,
    read,
)
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord
from knowledge_mcp.model.errors import (
    InvalidInputError,
    SpaceMismatchError,
)
from knowledge_mcp.support.batches import batches

_ROUNDS = 20
"""How often documents that changed at the source meanwhile are caught up with."""


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Choose how a move goes.

    Attributes:
        prune: remove documents from the target that the source has not.
        samples: how many chunks are searched for in both stores at the end.
    """

    prune: bool = False
    samples: int = 50


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Tell what a move would do; all but `info` are document ids in order.

    Attributes:
        info: the source's collection.
        new: not at the target yet.
        replaced: there with another record, or with other chunks than the record says.
        present: there already.
        others: only at the target.
        chunks: how many chunks would be copied.
    """

    info: CollectionInfo
    new: tuple[str, ...]
    replaced: tuple[str, ...]
    present: tuple[str, ...]
    others: tuple[str, ...]
    chunks: int


@dataclass(frozen=True, slots=True)
class MoveReport:
    """Sum up a move.

    Attributes:
        plan: as it was at the beginning.
        copied: documents written, those among them that were copied again because the comparison found them wrong too.
        chunks: chunks written.
        removed: documents pruned from the target.
        failed: documents that could not be copied, and are not at the target otherwise.
        comparison: of source and target at the end.
        seconds: of copying; comparing took `comparing_seconds`.
    """

    plan: MovePlan
    copied: int
    chunks: int
    removed: tuple[str, ...]
    failed: tuple[Trouble, ...]
    comparison: Comparison
    seconds: float
    comparing_seconds: float

    @property
    def good(self) -> bool:
        """Tell whether the target is now what the source is."""
        return not self.failed and self.comparison.equal


class Move(Transfer):
    """Copy one collection; an instance is used once.

    Args:
        source, target: from where and to where.
        options: how.
        on_event: receives every step.

    Raises:
        InvalidInputError: both are the same collection of the same store.
        NotFoundError: the source has no such collection.
        SpaceMismatchError: the target's collection is in another embedding space; nothing was written.
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
        """Compare the records of both; writes nothing."""
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
            KnowledgeError: of a kind that every further document would meet too; documents finished before it stay,
                and another run goes on behind them.
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
        if again:  # what an earlier run or somebody else left under an equal record
            self._do_each(again, self._copy)
            comparison = self._compare(records)
        wrong = {each.document_id for each in comparison.differing}
        for document_id in self._failed.keys() & (records.keys() - wrong):
            del self._failed[document_id]  # another run has copied it meanwhile: it is there as it should be
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

    # inside

    def _sound(self, records: Mapping[str, DocumentRecord]) -> Callable[[str], bool]:
        """Tell of a document at the target whether it has as many chunks as its record says: by the sum, if it fits."""
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
            return  # it has gone from the source meanwhile
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
        """Copy what changed at the source since; returns the records that the target is to have."""
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
        """Remove what only the target had at the beginning and the source still has not."""
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
    """Make sure that a move can be done at all; returns the source's description."""
    same_store = source.store.identity == target.store.identity
    if same_store and source.collection == target.collection:
        raise InvalidInputError(
            f"Source and target are the same: collection '{source.collection}' of {source.store.identity.location}.",
            suggestion="Name another target store, or another collection with --to-collection.",
        )
    info = source.info()
    there = target.opened.info()
    if there is not None and there.space.fingerprint != info.space.fingerprint:
        raise SpaceMismatchError(
            f"Collection '{target.collection}' of {target.store.identity.location} "
            f"holds vectors of {there.space.label}, but '{source.collection}' holds those of {info.space.label}. "
            "Nothing was copied.",
            details=f"target space {there.space}; source space {info.space}",
            suggestion="Choose another name with --to-collection, or `knowledge reembed` one of the two first.",
        )
    return info

"""Re-embed a collection in another space next to the live one, and then replace that in one step.

Chunks are kept if the new model can read them completely; only their vectors and token counts are new. The live
collection answers until the swap; its changes meanwhile are copied too. Everything that was paid for is kept: an
interrupted run continues where it stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial

from knowledge_mcp.engine.core.budget import Budget
from knowledge_mcp.engine.core.documents import StoredDocument, publish_document, vectors_of
from knowledge_mcp.engine.transfer.copying import CollectionPlace, CopyProblem, MoveEvent, MoveEventKind, Transfer, read
from knowledge_mcp.model.chunk import Chunk, Vector, embedding_key
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord, EmbeddingSpace
from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.ports import Embedder, Store
from knowledge_mcp.support.wording import how_many

_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class ReembedOptions:
    """Options of re-embedding a collection.

    Attributes:
        leave_out: swap even if some documents cannot be re-embedded; they are missing until ingested again.
        drop_old: remove the old collection after the swap.
        max_cost: limit in USD; None for no limit.
        slice: chunks per embedding call.
    """

    leave_out: bool = False
    drop_old: bool = False
    max_cost: float | None = None
    slice: int = 64


@dataclass(frozen=True, slots=True)
class ReembedPlan:
    """What would be done.

    Attributes:
        live: the present collection.
        space: the new one; equal to the live one's if there is nothing to do.
        building: name of the new collection until the swap.
        todo, done: documents to embed, and those finished by an earlier run.
        unfit: documents with chunks longer than the new model can read; they must be ingested again.
        chunks, tokens: to embed, as counted by the new model.
    """

    live: CollectionInfo
    space: EmbeddingSpace
    building: str
    todo: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    unfit: tuple[CopyProblem, ...] = ()
    chunks: int = 0
    tokens: int = 0

    @property
    def needed(self) -> bool:
        """Return whether the live collection is in another space than the new one."""
        return self.live.space.fingerprint != self.space.fingerprint


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """The result of re-embedding.

    Attributes:
        documents: re-embedded in this run. embedded, reused: their chunks, by origin of the vectors.
        failed: documents that could not be re-embedded, including the unfit ones.
        swapped: whether the live name now refers to the new collection.
        old_collection: name of the old collection, empty if there is none or it was removed.
        billed_tokens: tokens counted by the embedding service. price: USD per million of them, None if unknown.
    """

    plan: ReembedPlan
    documents: int = 0
    embedded: int = 0
    reused: int = 0
    failed: tuple[CopyProblem, ...] = ()
    swapped: bool = False
    old_collection: str = ""
    seconds: float = 0.0
    billed_tokens: int = 0
    price: float | None = 0.0

    @property
    def good(self) -> bool:
        """Return whether the live name refers to a collection of the new space that has every document."""
        return not self.failed and (self.swapped or not self.plan.needed)


class Reembed(Transfer):
    """Re-embed one collection; an instance is used once.

    Args:
        live: the collection.
        embedder: the embedder of the new space.
        options: the options.
        on_event: receives every step.
        today: date for the old collection's new name.

    Raises:
        NotFoundError: the collection does not exist.
        ConfigError: a limit is set and the price is unknown.
    """

    def __init__(
        self,
        live: CollectionPlace,
        embedder: Embedder,
        options: ReembedOptions,
        on_event: Callable[[MoveEvent], None],
        *,
        today: date | None = None,
    ) -> None:
        super().__init__(live, on_event)
        self._live = live
        self._embedder = embedder
        self._options = options
        self._today = today or datetime.now(UTC).date()
        self._info = live.info()
        self._space = embedder.space
        self._target = CollectionPlace(live.store, f"{live.collection}.next-{self._space.fingerprint[:8]}")
        self._budget = Budget(embedder, options.max_cost)
        self._documents = self._embedded = self._reused = 0
        self._looked_at: dict[str, DocumentRecord] = {}

    def plan(self) -> ReembedPlan:
        """Count the tokens of every chunk with the new model; embed and write nothing."""
        plan = ReembedPlan(self._info, self._space, self._target.collection)
        if not plan.needed:
            return plan
        mine, theirs = self._live.records(), self._target.records()
        todo = [each for each in sorted(mine) if not _is_done(mine[each], theirs.get(each))]
        unfit: list[CopyProblem] = []
        chunks = tokens = 0
        for document_id in todo:
            document = read(self._live, document_id)
            if document is None:
                continue
            trouble = self._unfit(document)
            if trouble:
                unfit.append(CopyProblem(document_id, trouble))
                continue
            chunks += len(document.chunks)
            tokens += sum(self._embedder.count_tokens(chunk.embedding_text) for chunk in document.chunks)
        done = tuple(each for each in sorted(mine) if each not in set(todo))
        return dataclasses.replace(plan, todo=tuple(todo), done=done, unfit=tuple(unfit), chunks=chunks, tokens=tokens)

    def run(self, plan: ReembedPlan | None = None) -> ReembedReport:
        """Build the new collection, and swap once every document is in it.

        If documents do not fit and must not be left out, nothing is embedded or swapped.

        Args:
            plan: of this instance, if it was made before.

        Raises:
            KnowledgeError: of a kind that would affect every further document; finished embeddings are kept for the
                next run, and the live collection is unchanged.
        """
        started = time.perf_counter()
        plan = plan or self.plan()
        if not plan.needed:
            return self._report(plan, started)
        self._failed.update((each.document_id, each.message) for each in plan.unfit)
        self._report_event(MoveEventKind.PLANNED, done=len(plan.done), total=len(plan.done) + len(plan.todo))
        if plan.unfit and not self._options.leave_out:
            return self._report(plan, started)
        self._target.store.create_collection(self._target.collection, self._space)
        records = self._bring_up_to_date()
        if self._failed and not self._options.leave_out:
            return self._report(plan, started)
        old_name = self._swap(records)
        return self._report(plan, started, swapped=True, old_collection=old_name)

    # building

    def _bring_up_to_date(self) -> dict[str, DocumentRecord]:
        """Re-embed and check until the new collection has what the live one has; return that."""
        for _ in range(_ROUNDS):
            mine, theirs = self._live.records(), self._target.records()
            todo = [
                each for each in sorted(mine) if not _is_done(mine[each], theirs.get(each)) and each not in self._failed
            ]
            self._remove(self._target, sorted(theirs.keys() - (mine.keys() - self._failed.keys())))
            self._do_each(todo, partial(self._reembed_document, self._live, self._target))
            unseen = [
                each for each in sorted(mine) if self._looked_at.get(each) != mine[each] and each not in self._failed
            ]
            self._do_each(unseen, self._check)
            self._looked_at.update((each, mine[each]) for each in unseen)
            if not todo and not unseen:
                return mine
        raise InternalError(
            f"Collection '{self._live.collection}' changes faster than it can be re-embedded.",
            suggestion="Run it again when no ingest is running; what was embedded is kept.",
        )

    def _reembed_document(
        self, source: CollectionPlace, target: CollectionPlace, document_id: str, number: int, total: int
    ) -> None:
        """Embed one document and publish it, if it still exists."""
        document = read(source, document_id)
        if document is None:
            return
        trouble = self._unfit(document)
        if trouble:
            raise InvalidInputError(trouble)
        chunks = tuple(
            dataclasses.replace(chunk, token_count=self._embedder.count_tokens(chunk.content))
            for chunk in document.chunks
        )
        record = dataclasses.replace(
            document.record,
            token_count=sum(chunk.token_count for chunk in chunks),
            embedding_model=self._space.label,
        )
        fresh = dataclasses.replace(document, record=record, chunks=chunks)
        publish_document(target.opened, fresh, self._vectors(target, fresh))
        self._documents += 1
        self._report_event(MoveEventKind.STORED, document_id, number, total)

    def _vectors(self, target: CollectionPlace, document: StoredDocument) -> list[Vector]:
        """Embed a document's chunks, except those that the new collection already has."""
        keys = [embedding_key(chunk) for chunk in document.chunks]
        known = target.opened.vectors(keys)
        for start in range(0, len(keys), self._options.slice):
            end = start + self._options.slice
            chunks, its_keys = document.chunks[start:end], keys[start:end]
            self._embed(chunks, its_keys, known)
            self._report_event(MoveEventKind.READ, document.record.id, start + len(chunks), len(keys))
        return [known[key] for key in keys]

    def _embed(self, chunks: Sequence[Chunk], keys: Sequence[str], known: dict[str, Vector]) -> None:
        texts = {key: chunk.embedding_text for chunk, key in zip(chunks, keys, strict=True) if key not in known}
        self._reused += len(keys) - len(texts)
        self._embedded += len(texts)
        if texts:
            missing = list(texts.values())
            self._budget.check(missing)
            known.update(zip(texts, self._embedder.embed_documents(missing), strict=True))

    def _unfit(self, document: StoredDocument) -> str:
        """Say which chunks the new model cannot read completely, empty if there are none."""
        most = self._embedder.max_tokens
        lengths = [self._embedder.count_tokens(chunk.embedding_text) for chunk in document.chunks]
        long = [length for length in lengths if length > most]
        if not long:
            return ""
        return (
            f"{len(long)} of {how_many(len(lengths), 'chunk')} with more than the {most} tokens that "
            f"{self._space.label} reads (the longest has {max(long)}). It must be ingested again."
        )

    def _check(self, document_id: str, number: int, total: int) -> None:
        """Check that the new collection has the same chunks, each with a vector."""
        self._report_event(MoveEventKind.COMPARED, document_id, number, total)
        original, copy = read(self._live, document_id), read(self._target, document_id)
        if original is None:
            return
        if copy is None:
            raise InternalError(f"Document '{document_id}' is missing in '{self._target.collection}'.")
        vectors_of(self._target.opened, copy.chunks)
        same = (copy.text, copy.structure, [_as_cut(chunk) for chunk in copy.chunks]) == (
            original.text,
            original.structure,
            [_as_cut(chunk) for chunk in original.chunks],
        )
        if not same and _plain(original.record) == _plain(copy.record):
            raise InternalError(f"Document '{document_id}' is not the same in '{self._target.collection}'.")

    # swapping

    def _swap(self, records: Mapping[str, DocumentRecord]) -> str:
        """Swap the two, copy what was published at the last moment; return the old one's name."""
        store, name = self._live.store, self._live.collection
        old_name = self._free_name(store)
        store.rename_collections({name: old_name, self._target.collection: name})
        self._report_event(MoveEventKind.SWAPPED, message=old_name)
        old = CollectionPlace(store, old_name)
        late, now = old.records(), self._live.records()
        changed = [each for each in sorted(late) if late[each] != records.get(each) and each not in self._failed]
        changed = [each for each in changed if not _is_done(late[each], now.get(each))]
        self._do_each(changed, partial(self._reembed_document, old, self._live))
        self._remove(self._live, [each for each in sorted(records) if each not in late])
        if self._options.drop_old and not self._failed.keys() & set(changed):
            store.drop_collection(old_name)
            return ""
        return old_name

    def _free_name(self, store: Store) -> str:
        names = {each.name for each in store.collections()}
        name = f"{self._live.collection}.old-{self._today:%Y%m%d}"
        number = 1
        while name in names:
            number += 1
            name = f"{self._live.collection}.old-{self._today:%Y%m%d}-{number}"
        return name

    # reporting

    def _report(
        self, plan: ReembedPlan, started: float, *, swapped: bool = False, old_collection: str = ""
    ) -> ReembedReport:
        return ReembedReport(
            plan=plan,
            documents=self._documents,
            embedded=self._embedded,
            reused=self._reused,
            failed=self.failures,
            swapped=swapped,
            old_collection=old_collection,
            seconds=time.perf_counter() - started,
            billed_tokens=self._budget.billed_tokens,
            price=self._embedder.price,
        )


def _is_done(record: DocumentRecord, copy: DocumentRecord | None) -> bool:
    """Return whether the copy is this version of a document, re-embedded or ingested again from the same bytes."""
    if copy is None:
        return False
    again = copy.sha256 == record.sha256 and copy.updated_at > record.updated_at
    return again or _plain(record) == _plain(copy)


def _plain(record: DocumentRecord) -> DocumentRecord:
    """Return a record without what depends on the embedding space."""
    return dataclasses.replace(record, token_count=0, embedding_model="")


def _as_cut(chunk: Chunk) -> Chunk:
    """Return a chunk without what depends on the embedding space."""
    return dataclasses.replace(chunk, token_count=0)

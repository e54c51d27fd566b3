"""Shared by all use cases: a collection of a store, its snapshot and records, its embedder, analyser, fusion."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from knowledge_mcp.engine.core.designations import Directory
from knowledge_mcp.engine.core.editions import Editions
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, StoreStatistics
from knowledge_mcp.model.errors import (
    CancelledError,
    ConnectionFailedError,
    DamagedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    SpaceMismatchError,
    TimedOutError,
    leave_out,
    noticing,
    reason_of,
)
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import Filter, LegResults
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.ports import Analyser, Collection, Embedder, Fusion, Reranker, Store, Synonyms
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.locks import hold_lock


class _ThreadSnapshots(threading.local):
    """Snapshots of this thread, by store and name."""

    def __init__(self) -> None:
        self.collections: dict[tuple[int, str], Collection] = {}


_SNAPSHOTS = _ThreadSnapshots()

_SEARCHES_AT_ONCE = 2
"""Maximum searches of one collection that compute in this process at a time. More would contend for the GIL and
the cold file cache, and use more memory (`benchmarks.rag_load`, two cores).
"""

_LOOK_EVERY = 5.0
"""Seconds after which a waiting search checks whether its caller has gone; it then queues at the end."""


def opened(store: Store, name: str) -> Collection:
    """Return this thread's snapshot of a collection, or a handle on it without one."""
    return _SNAPSHOTS.collections.get((id(store), name)) or store.open(name)


def record_of(collection: Collection, document_id: str) -> DocumentRecord | None:
    """Return a document's record, None if there is none."""
    return next(iter(collection.documents([document_id])), None)


def counts_of(collection: Collection) -> StoreStatistics:
    """Count what a collection contains.

    Raises:
        NotFoundError: there is no such collection.
    """
    info = collection.info(counted=True)
    if info is None or info.statistics is None:
        raise NotFoundError("There is no such collection.")
    return info.statistics


@contextmanager
def snapshot(store: Store, name: str) -> Generator[Collection]:
    """Make all reads of a collection by this thread (through `opened`) see one state until the context ends.

    Raises:
        NotFoundError: there is no such collection; with a server, the first read raises it.
    """
    key = (id(store), name)
    current = _SNAPSHOTS.collections.get(key)
    if current is not None:
        yield current
        return
    with store.open(name).snapshot() as collection:
        _SNAPSHOTS.collections[key] = collection
        try:
            yield collection
        finally:
            del _SNAPSHOTS.collections[key]


_MOST_RECORDS = 50_000
"""Maximum cached records, at about a kilobyte each; larger collections are read each time."""


@dataclass(frozen=True, slots=True)
class _RecordsOfState:
    """What was read of one state, and what was derived from it since."""

    state: str = ""
    records: tuple[DocumentRecord, ...] = ()
    labelled: dict[str, dict[str, list[DocumentRecord]]] = field(
        default_factory=dict[str, dict[str, list[DocumentRecord]]]
    )

    def by_label(self, name: str, value: str) -> Sequence[DocumentRecord]:
        by_value = self.labelled.get(name)
        if by_value is None:
            by_value = dict[str, list[DocumentRecord]]()
            for each in self.records:
                by_value.setdefault(each.label(name), []).append(each)
            self.labelled[name] = by_value
        return by_value.get(value, ())


class KnownRecords:
    """Cache the records of one collection; while nothing changes, only its state is read from the store. Thread-safe.

    A read that found damage is not cached: each answer must report it.

    Attributes:
        turns: semaphore for searches of the collection, if its store computes in this process.
    """

    def __init__(self) -> None:
        self.turns = threading.Semaphore(_SEARCHES_AT_ONCE)
        self._current: _RecordsOfState | None = None
        self._views: dict[object, tuple[str, Any]] = {}

    def all(self, collection: Collection) -> tuple[DocumentRecord, ...]:
        """List all records by id."""
        return self._read(collection).records

    def labelled(self, collection: Collection, name: str, value: str) -> Sequence[DocumentRecord]:
        """List the records whose metadata has a value under a key, by id."""
        return self._read(collection).by_label(name, value)

    def editions(self, collection: Collection) -> Editions:
        """Return the families among the records; cached for any number of records."""
        return self._view(Editions, collection)

    def directory(self, collection: Collection) -> Directory:
        """Return the index of records by designation; cached for any number of records."""
        return self._view(Directory, collection)

    def _view(self, make: Callable[[tuple[DocumentRecord, ...]], T], collection: Collection) -> T:
        """Return a value derived from the records, computed once for each state."""
        state = _state_of(collection)
        known = self._views.get(make)
        if known is None or known[0] != state:
            known = self._views[make] = state, make(self._read(collection).records)
        return known[1]

    def _read(self, collection: Collection) -> _RecordsOfState:
        state = _state_of(collection)
        current = self._current
        if current is not None and current.state == state:
            return current
        with noticing() as damage:
            reading = _RecordsOfState(state, tuple(collection.documents()))
        for each in damage:
            leave_out(each)
        # a change meanwhile may be in the records, but not in the state's name
        if not damage and len(reading.records) <= _MOST_RECORDS and _state_of(collection) == state:
            self._current = reading
        return reading


def _state_of(collection: Collection) -> str:
    """Return the name of the state of a collection's documents.

    Raises:
        NotFoundError: the collection no longer exists.
    """
    info = collection.info()
    if info is None:
        raise NotFoundError("The collection has just been dropped.", suggestion="Ask again.")
    return info.state


A = TypeVar("A")
T = TypeVar("T")


_logger = logging.getLogger(__name__)

USUAL_WEIGHT = 0.7
"""Default share of the dense leg in rank fusion (A-REQ-SEARCH-002)."""

PASSING = (ConnectionFailedError, TimedOutError, RateLimitedError)
"""Failures of the embedding service after which the lexical leg may answer alone; the answer says so."""


_MOST_BESIDE = 64
"""Maximum other collections whose records are cached."""


@dataclass(frozen=True)
class Base:
    """The parts that the use cases share.

    Attributes:
        store: the store.
        collection: the one collection of this knowledge base.
        embedder: the collection must have its embedding space.
        analyser: of the lexical leg.
        fuse: combines the legs.
        depth: minimum candidates from each leg; more are requested if more results are.
        blends: whether hybrid searches without a weight blend the legs by their scores; otherwise they are fused by
            ranks, with `USUAL_WEIGHT`, as A-REQ-SEARCH-002 says.
        hybrid: False switches the lexical leg of hybrid searches off (`QDRANT_HYBRID_SEARCH`).
        slice: chunks per embedding call; a remote embedder splits them into several requests.
        reranker: improves the order of the best hits, None for none.
        rerank_top: number of hits that it reorders.
        rerank_seconds: its time limit.
        synonyms: the synonyms, None for none.
        degraded: why this is not the configured store (clarification 5), empty if it is.
        damaged: damage found by answers, by message.
        views: these parts restricted to limited readers (`restricted_base`). views_lock: their lock.
        beside: cached records of other collections, shared by the parts for each of them (`base_of`).
    """

    store: Store
    collection: str
    embedder: Embedder
    analyser: Analyser
    fuse: Fusion
    depth: int = 100
    blends: bool = True
    hybrid: bool = True
    slice: int = 64
    reranker: Reranker | None = None
    rerank_top: int = 20
    rerank_seconds: float = 1.5
    synonyms: Synonyms | None = None
    degraded: str = ""
    damaged: dict[str, DamagedError] = field(default_factory=dict[str, DamagedError], repr=False, compare=False)
    views: dict[Rights, Base] = field(default_factory=dict[Rights, "Base"], repr=False, compare=False)
    views_lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    beside: dict[str, KnownRecords] = field(default_factory=dict[str, KnownRecords], repr=False, compare=False)
    _known: KnownRecords = field(default_factory=KnownRecords, repr=False, compare=False)
    _checked: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    _seen: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def exists(self) -> bool:
        """Return whether anything was ever ingested here."""
        if not self._seen.is_set() and (info := self.opened.info()) is not None:
            self._seen.set()
            if info.space == self.embedder.space:
                self._checked.set()
        return self._seen.is_set()

    @property
    def opened(self) -> Collection:
        """Return this thread's snapshot of the collection, or a handle on it without one."""
        return opened(self.store, self.collection)

    def editions(self) -> Editions:
        """Return the families of editions among the documents; computed once for each state of the collection."""
        return self._known.editions(self.opened) if self.exists() else Editions(())

    def directory(self) -> Directory:
        """Return the index of documents by designation; computed once for each state of the collection."""
        return self._known.directory(self.opened) if self.exists() else Directory(())

    def snapshot(self) -> AbstractContextManager[object]:
        """Make all reads of this thread see one state until the context ends, if the store supports it."""
        return snapshot(self.store, self.collection) if self.exists() else nullcontext()

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait for this thread's turn to search; do not nest."""
        if not self.store.identity.computes_here:
            yield
            return
        while not self._known.turns.acquire(timeout=_LOOK_EVERY):
            checkpoint()
        try:
            yield
        finally:
            self._known.turns.release()

    def records(self) -> tuple[DocumentRecord, ...]:
        """List all records by id; they are read once for each state of the collection."""
        return self._known.all(self.opened) if self.exists() else ()

    def records_labelled(self, name: str, value: str) -> Sequence[DocumentRecord]:
        """List the records whose metadata has a value under a key, by id; cached like `records`."""
        return self._known.labelled(self.opened, name, value) if self.exists() else ()

    def check_space(self) -> None:
        """Check that the collection, if it exists, is in the embedder's space.

        This is checked every time: another process may have replaced it by a collection of another space.

        Raises:
            SpaceMismatchError: it is in another space; names both, and the settings that select the collection's.
        """
        info = self.opened.info()
        if info is None:
            return
        if info.space != self.embedder.space:
            select = info.space.settings_unlike(self.embedder.space)
            raise SpaceMismatchError(
                f"Collection '{self.collection}' contains vectors of {info.space.label}, "
                f"but {self.embedder.space.label} is configured.",
                details=f"collection space {info.space}; configured space {self.embedder.space}",
                suggestion=f"Set {select}, or choose another collection." if select else None,
            )

    def why_degraded(self) -> str:
        """Say what of the store or of the collection cannot be used and why, empty if all can."""
        info = self.opened.info()
        return " ".join(each for each in (self.degraded, info.degraded if info is not None else "") if each)

    def outgrown(self, *, anywhere: bool = False) -> list[Finding]:
        """List collections of the store that are too large for its type, and how to move them."""
        if not hasattr(self.opened, "outgrown"):  # only some have a limit
            return []
        names = [self.collection] if self.exists() else []
        if anywhere:
            names = [each.name for each in self.store.collections()]
        collections: list[Any] = [self.store.open(name) for name in names]
        return [finding for each in collections if (finding := each.outgrown()) is not None]

    def warn_of_size(self, *, anywhere: bool = False) -> None:
        """Log a warning for each collection that `outgrown` lists; a failing store is reported elsewhere."""
        with contextlib.suppress(KnowledgeError):
            for finding in self.outgrown(anywhere=anywhere):
                log_event(_logger, logging.WARNING, "store_outgrown", reason=finding.message, next=finding.suggestion)

    def warm_up(self) -> None:
        """Load the models, as the first query would; costs no money. A failing reranker is only logged.

        Raises:
            KnowledgeError: the embedder's model cannot be loaded.
        """
        self.embedder.warm_up()
        if self.reranker is not None:
            try:
                self.reranker.warm_up()
            except KnowledgeError as exc:
                log_event(_logger, logging.WARNING, "rerank_unavailable", reason=exc.message, next=exc.suggestion)

    def close(self) -> None:
        """Free the models and the store."""
        if self.reranker is not None:
            self.reranker.close()
        self.embedder.close()
        self.store.close()

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        """Search like `Collection.search`; vectors of two spaces are never compared, even if a collection is replaced.

        Raises:
            SpaceMismatchError: the searched collection may be in another space than the vector.
            KnowledgeError: as for the store.
        """
        checkpoint()
        try:
            found = self.opened.search(vector=vector, text=text, filter=filter, limit=limit)
        except InvalidInputError:
            self.check_space()  # a vector of another length: raise the right error
            raise
        if vector is not None:
            self.check_space()  # after the search: a replacement before it is detected, one after it does no harm
        return found

    def query_vector(self, text: str) -> Vector:
        """Embed a question in the collection's space; the first call checks that it is the embedder's."""
        checkpoint()
        if not self._checked.is_set():
            self.check_space()
            self._checked.set()
        return self.embedder.embed_query(text)


def base_of(base: Base, collection: str) -> Base:
    """Return the same parts for another collection, with their own record of what was checked.

    Cached records are kept: they belong to a state of the collection.
    """
    known = base.beside.pop(collection, None) or KnownRecords()
    for oldest in list(base.beside)[: len(base.beside) + 1 - _MOST_BESIDE]:
        base.beside.pop(oldest, None)
    base.beside[collection] = known
    return dataclasses.replace(
        base,
        collection=collection,
        damaged={},
        views={},
        views_lock=threading.Lock(),
        _known=known,
        _checked=threading.Event(),
        _seen=threading.Event(),
    )


class Passages:
    """Read passages, cached for one answer."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._known: dict[str, Chunk | None] = {}

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return passages in the given order, without those that were just deleted."""
        checkpoint()
        missing = [each for each in chunk_ids if each not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing))
            self._known.update((each.id, each) for each in self._base.opened.chunks("id", missing))
        return [chunk for each in chunk_ids if (chunk := self._known[each]) is not None]


class Records:
    """Read document records, cached for one answer.

    Args:
        base: the parts.
        expected: documents that will be needed; they are read together.

    Attributes:
        damaged: documents with damaged records; nothing of them can be cited.
    """

    def __init__(self, base: Base, expected: Iterable[str] = ()) -> None:
        self._base = base
        self._known: dict[str, DocumentRecord | None] = {}
        self.damaged: set[str] = set()
        self.expect(expected)

    def expect(self, document_ids: Iterable[str]) -> None:
        """Read together what will be needed."""
        missing = [each for each in dict.fromkeys(document_ids) if each not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing))
            with noticing() as damage:
                found = self._base.opened.documents(missing)
            self._known.update((each.id, each) for each in found)
            for each in damage:
                leave_out(each)
                self.damaged.add(each.document_id)

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return a record, None if the document was just deleted."""
        if document_id not in self._known:
            self._known[document_id] = record_of(self._base.opened, document_id)
        return self._known[document_id]


@contextlib.contextmanager
def locked(folder: Path, names: Iterable[str], what: str, doing: str, give_up: Callable[[], bool]) -> Generator[None]:
    """Hold local locks for some names during the block.

    Args:
        folder: of the locks.
        names: any texts.
        what, doing: what is locked and why, for messages.
        give_up: called from time to time; returns whether to stop waiting.

    Raises:
        CancelledError: the wait was given up.
        InternalError: the folder is not writable.
    """
    with contextlib.ExitStack() as stack:
        for name in sorted(names):
            try:
                mine = stack.enter_context(hold_lock(folder, name, give_up=give_up))
            except OSError as exc:
                message = f"The lock of the {what} cannot be acquired. {reason_of(exc)}"
                raise InternalError(message, suggestion="Check DATA_PATH.") from exc
            if not mine:
                raise CancelledError(f"The {doing} was cancelled.", suggestion="Start it again if you still need it.")
        yield

"""What every use case works on: a collection of a store, its snapshot and records, its embedder, analyser, fusion."""

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
    """Keep this thread's snapshots by store and name."""

    def __init__(self) -> None:
        self.collections: dict[tuple[int, str], Collection] = {}


_SNAPSHOTS = _ThreadSnapshots()

_SEARCHES_AT_ONCE = 2
"""Searches of one collection that compute in this process at a time. More take turns at the interpreter's lock and at
cold caches of the file, and hold more memory (`benchmarks.rag_load`, two cores)."""

_LOOK_EVERY = 5.0
"""Seconds after which a search that waits for its turn looks whether its caller has left; it then waits behind all."""


def opened(store: Store, name: str) -> Collection:
    """Give this thread's snapshot of a collection, or a handle on it where there is none."""
    return _SNAPSHOTS.collections.get((id(store), name)) or store.open(name)


def record_of(collection: Collection, document_id: str) -> DocumentRecord | None:
    """Return a document's record, None where there is none."""
    return next(iter(collection.documents([document_id])), None)


def counts_of(collection: Collection) -> StoreStatistics:
    """Count what a collection holds.

    Raises:
        NotFoundError: there is no such collection.
    """
    info = collection.info(counted=True)
    if info is None or info.statistics is None:
        raise NotFoundError("There is no such collection.")
    return info.statistics


@contextmanager
def snapshot(store: Store, name: str) -> Generator[Collection]:
    """Let what this thread reads of a collection by `opened` be of one state until the context ends.

    Raises:
        NotFoundError: there is no such collection; where a server is asked, the first read says so.
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
"""Records that are kept, at about a kilobyte each; a collection of more is read each time."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Hold what was read of one state, and what was looked for in it since."""

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
    """List the records of one collection, asking the store no more than its state while nothing changes. Thread-safe.

    A reading that met damage is not kept: each answer has to name it.

    Attributes:
        turns: taken by those who search the collection, where its store computes in this process.
    """

    def __init__(self) -> None:
        self.turns = threading.Semaphore(_SEARCHES_AT_ONCE)
        self._current: _Reading | None = None
        self._views: dict[object, tuple[str, Any]] = {}

    def all(self, collection: Collection) -> tuple[DocumentRecord, ...]:
        """List all records by id."""
        return self._read(collection).records

    def labelled(self, collection: Collection, name: str, value: str) -> Sequence[DocumentRecord]:
        """List the records whose metadata has a value under a name, by id."""
        return self._read(collection).by_label(name, value)

    def editions(self, collection: Collection) -> Editions:
        """Give the families among the records; they are kept however many records there are."""
        return self._view(Editions, collection)

    def directory(self, collection: Collection) -> Directory:
        """Give what finds records by designation; it is kept however many records there are."""
        return self._view(Directory, collection)

    def _view(self, make: Callable[[tuple[DocumentRecord, ...]], T], collection: Collection) -> T:
        """Return what is made of the records, made once for each state."""
        state = _state_of(collection)
        known = self._views.get(make)
        if known is None or known[0] != state:
            known = self._views[make] = state, make(self._read(collection).records)
        return known[1]

    def _read(self, collection: Collection) -> _Reading:
        state = _state_of(collection)
        current = self._current
        if current is not None and current.state == state:
            return current
        with noticing() as damage:
            reading = _Reading(state, tuple(collection.documents()))
        for each in damage:
            leave_out(each)
        # what changed meanwhile may be in the records, but not in the name
        if not damage and len(reading.records) <= _MOST_RECORDS and _state_of(collection) == state:
            self._current = reading
        return reading


def _state_of(collection: Collection) -> str:
    """Name the state of a collection's documents.

    Raises:
        NotFoundError: there is no such collection any more.
    """
    info = collection.info()
    if info is None:
        raise NotFoundError("The collection has just been dropped.", suggestion="Ask again.")
    return info.state


A = TypeVar("A")
T = TypeVar("T")


_logger = logging.getLogger(__name__)

USUAL_WEIGHT = 0.7
"""Share of the dense leg in rank fusion where none is named (A-REQ-SEARCH-002)."""

PASSING = (ConnectionFailedError, TimedOutError, RateLimitedError)
"""Failures of the embedding service after which words alone may still answer; the answer says so."""


_MOST_BESIDE = 64
"""Other collections whose records are kept."""


@dataclass(frozen=True)
class Base:
    """Bundle what the use cases share.

    Attributes:
        store: where everything is kept.
        collection: the one collection of this knowledge base.
        embedder: whose space the collection must be in.
        analyser: of the lexical leg.
        fuse: merges the legs.
        depth: candidates asked of each leg, at least; more are asked when more results are requested.
        blends: whether hybrid searches that name no weight blend the legs by their scores; else they fuse them by their
            ranks, with `USUAL_WEIGHT`, as A-REQ-SEARCH-002 says.
        hybrid: False switches the lexical leg of hybrid searches off (`QDRANT_HYBRID_SEARCH`).
        slice: chunks handed to the embedder in one call; a remote one makes several requests of them.
        reranker: puts the best hits in a better order, None for none.
        rerank_top: hits that it looks at.
        rerank_seconds: how long it may take.
        synonyms: what documents may put differently than questions, None for nothing.
        degraded: why this is not the store that is configured (clarification 5), empty when it is.
        damaged: what answers met damaged, by its message.
        views: these parts as they are shown to whom may not read all (`seen_base`). views_lock: of them.
        beside: records known of collections, shared by the parts over each of them (`base_of`).
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
        """Tell whether anything was ever ingested here."""
        if not self._seen.is_set() and (info := self.opened.info()) is not None:
            self._seen.set()
            if info.space == self.embedder.space:
                self._checked.set()
        return self._seen.is_set()

    @property
    def opened(self) -> Collection:
        """Give this thread's snapshot of the collection, or a handle on it where there is none."""
        return opened(self.store, self.collection)

    def editions(self) -> Editions:
        """Give the families of editions among the documents; worked out once for each state of the collection."""
        return self._known.editions(self.opened) if self.exists() else Editions(())

    def directory(self) -> Directory:
        """Give what finds the documents that designations name; worked out once for each state of the collection."""
        return self._known.directory(self.opened) if self.exists() else Directory(())

    def snapshot(self) -> AbstractContextManager[object]:
        """Let what this thread reads be of one state until the context ends, where the store can hold one."""
        return snapshot(self.store, self.collection) if self.exists() else nullcontext()

    @contextmanager
    def turn(self) -> Generator[None]:
        """Search when it is this thread's turn; it must not ask for another one before the end."""
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
        """List the records whose metadata has a value under a name, by id; read as `records`."""
        return self._known.labelled(self.opened, name, value) if self.exists() else ()

    def check_space(self) -> None:
        """Make sure that the collection, where it exists, is in the embedder's space.

        It is asked again every time: another process may have put a collection of another space in its place.

        Raises:
            SpaceMismatchError: it is in another one; names both.
        """
        info = self.opened.info()
        if info is None:
            return
        if info.space != self.embedder.space:
            raise SpaceMismatchError(
                f"Collection '{self.collection}' holds vectors of {info.space.label}, "
                f"but {self.embedder.space.label} is configured.",
                details=f"collection space {info.space}; configured space {self.embedder.space}",
            )

    def why_degraded(self) -> str:
        """Say what of the store or of the collection cannot be used and why, empty where all can."""
        info = self.opened.info()
        return " ".join(each for each in (self.degraded, info.degraded if info is not None else "") if each)

    def outgrown(self, *, anywhere: bool = False) -> list[Finding]:
        """List how this collection, or any of the store, is too large for its kind of store, and how to move it."""
        if not hasattr(self.opened, "outgrown"):  # only some have a bound
            return []
        names = [self.collection] if self.exists() else []
        if anywhere:
            names = [each.name for each in self.store.collections()]
        collections: list[Any] = [self.store.open(name) for name in names]
        return [finding for each in collections if (finding := each.outgrown()) is not None]

    def warn_of_size(self, *, anywhere: bool = False) -> None:
        """Log a warning of each collection that `outgrown` lists; a failing store is met elsewhere."""
        with contextlib.suppress(KnowledgeError):
            for finding in self.outgrown(anywhere=anywhere):
                log_event(_logger, logging.WARNING, "store_outgrown", reason=finding.message, next=finding.suggestion)

    def warm_up(self) -> None:
        """Load the models, as the first question would; nothing is paid for. A reranker that fails is only reported.

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
        """Search as `Collection.search` does; vectors of two spaces are never compared, whoever swaps collections.

        Raises:
            SpaceMismatchError: the collection that was searched may be in another space than the vector.
            KnowledgeError: as the store's.
        """
        checkpoint()
        try:
            found = self.opened.search(vector=vector, text=text, filter=filter, limit=limit)
        except InvalidInputError:
            self.check_space()  # a vector of another length: say why
            raise
        if vector is not None:
            self.check_space()  # after the search: a swap before it shows itself, one after it does no harm
        return found

    def query_vector(self, text: str) -> Vector:
        """Embed a question in the collection's space; the first one makes sure that it is the embedder's."""
        checkpoint()
        if not self._checked.is_set():
            self.check_space()
            self._checked.set()
        return self.embedder.embed_query(text)


def base_of(base: Base, collection: str) -> Base:
    """Return the same parts over another collection, with a memory of its own of what was checked.

    Records that were read stay known: they belong to a state of the collection.
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
    """Look up passages once per answer."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._known: dict[str, Chunk | None] = {}

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return passages in the order asked; one that has just gone is left out."""
        checkpoint()
        missing = [each for each in chunk_ids if each not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing))
            self._known.update((each.id, each) for each in self._base.opened.chunks("id", missing))
        return [chunk for each in chunk_ids if (chunk := self._known[each]) is not None]


class Records:
    """Look up document records once per answer.

    Args:
        base: where.
        expected: documents that will be asked for; they are looked up together.

    Attributes:
        damaged: documents whose record is damaged; nothing of them can be cited.
    """

    def __init__(self, base: Base, expected: Iterable[str] = ()) -> None:
        self._base = base
        self._known: dict[str, DocumentRecord | None] = {}
        self.damaged: set[str] = set()
        self.expect(expected)

    def expect(self, document_ids: Iterable[str]) -> None:
        """Look up together what will be asked for."""
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
        """Return a record, None where the document has just gone."""
        if document_id not in self._known:
            self._known[document_id] = record_of(self._base.opened, document_id)
        return self._known[document_id]


@contextlib.contextmanager
def locked(folder: Path, names: Iterable[str], what: str, doing: str, give_up: Callable[[], bool]) -> Generator[None]:
    """Hold the locks of some names of this machine while the block runs.

    Args:
        folder: of the locks.
        names: any texts.
        what, doing: what is locked, and what for, as messages call it.
        give_up: asked now and then whether to stop waiting.

    Raises:
        CancelledError: it was given up.
        InternalError: the folder cannot be written.
    """
    with contextlib.ExitStack() as stack:
        for name in sorted(names):
            try:
                mine = stack.enter_context(hold_lock(folder, name, give_up=give_up))
            except OSError as exc:
                message = f"The lock of the {what} cannot be acquired. {reason_of(exc)}"
                raise InternalError(message, suggestion="Check DATA_PATH.") from exc
            if not mine:
                raise CancelledError(f"The {doing} was cancelled.", suggestion="Start it again when it is wanted.")
        yield

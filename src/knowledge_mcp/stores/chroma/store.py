"""ChromaDB, embedded in this process or as a server (`chroma run`), with the same contract as every other store.

The features that ChromaDB lacks are implemented here: `writing` orders writes so that they act like a transaction,
`view` adds the lexical leg, `client` prevents two processes from using one folder. `layout` describes how data is
stored in ChromaDB, `profiles` what a specification prescribes.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self, TypeVar, cast

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    EmbeddingSpace,
    StoreIdentity,
    StoreStatistics,
    WholeDocument,
)
from knowledge_mcp.model.errors import ConfigError, KnowledgeError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma import reading, writing
from knowledge_mcp.stores.chroma.client import Address, ChromaConnection, StorageSize
from knowledge_mcp.stores.chroma.errors import GoneError
from knowledge_mcp.stores.chroma.places import Catalogue, ChromaCollection, info_of
from knowledge_mcp.stores.chroma.profiles import PROFILES, Profile
from knowledge_mcp.stores.chroma.verify import Specified, drop_specified, verify, verify_copy
from knowledge_mcp.stores.chroma.view import ChromaView, ViewLimits
from knowledge_mcp.stores.chroma.writing import STATE, change_of
from knowledge_mcp.stores.shared.filters import check_filter
from knowledge_mcp.stores.shared.index_memory import IndexMemory
from knowledge_mcp.stores.shared.rules import check_query, no_collection
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy

T = TypeVar("T")

_TRIES = 3
MOST_PASSAGES = 100_000
"""Above this, a search takes seconds when ten people ask at once (docs/sizing.md), and filters take over 100 ms."""

_logger = logging.getLogger(__name__)


class ChromaStore:
    """Stores collections in ChromaDB, which is opened at the first call.

    Args:
        address: the folder of an embedded ChromaDB, or the server.
        analyser: produces the terms of the lexical leg. Documents indexed by an older version are re-indexed; those of
            a newer version are re-indexed in memory only.
        policy: retries of temporary failures of a server.
        limits: memory limits of one collection; None for the defaults.
        profiles: collections that are also copied into the form that a specification prescribes.
        memory: shared budget of the process's stores for search indexes; None for a separate one.
    """

    def __init__(
        self,
        address: Address,
        analyser: Analyser,
        *,
        policy: RetryPolicy = SPECIFIED,
        limits: ViewLimits | None = None,
        profiles: Mapping[str, Profile] = PROFILES,
        memory: IndexMemory | None = None,
    ) -> None:
        self.analyser = analyser
        self.connection = ChromaConnection(address, policy)
        self._limits = limits or ViewLimits()
        self._lock = threading.Lock()
        self._catalogue = Catalogue(self.connection, profiles)
        self._known: dict[str, ChromaView] = {}
        self.profiles = profiles
        self._copies: dict[str, Specified] = {}
        self.size = StorageSize(self.connection)
        self._memory = memory or IndexMemory()

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("chromadb", self.connection.address.location)

    @property
    def address(self) -> Address:
        """Where ChromaDB is. Contains the token: do not show it."""
        return self.connection.address

    def close(self) -> None:
        self.forget()
        self.connection.close()

    # collections

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        made = self._catalogue.create(name, space)
        if name in self.profiles:
            self.look_up(name)
        return made

    def collections(self) -> list[CollectionInfo]:
        return [info_of(each) for each in self._catalogue.all()]

    def drop_collection(self, name: str) -> bool:
        dropped = self._catalogue.drop(name)
        if name in self.profiles:
            self._follow_name(name)
        return dropped

    def open(self, name: str) -> ChromaHandle:
        return ChromaHandle(self, name)

    def described(self, name: str) -> CollectionInfo | None:
        """Return the information about the collection that has the name now, with the state of its documents."""
        for tries_left in reversed(range(_TRIES)):
            entry = self._catalogue.find(name)
            if entry is None:
                return None
            try:
                known = self._known.get(entry.id)
                table = known.place.documents if known else self.connection.table(str(entry.metadata["documents"]))
                return replace(info_of(entry), state=f"{entry.id} {change_of(table.one(STATE))}")
            except GoneError:  # dropped just now
                self.forget()
                if not tries_left:
                    raise
        return None

    def rename_collections(self, names: Mapping[str, str]) -> None:
        self._catalogue.rename(names)
        for name in self.profiles.keys() & {*names, *names.values()}:
            self._follow_name(name)

    # for its handles

    def drop_index(self, key: Hashable) -> None:
        """Drop the view of a collection from memory; the next search loads it again."""
        with self._lock:
            known = self._known.get(cast("str", key))
            if known is not None:
                self._known[known.place.token] = self._new_view(known.place)

    def used(self, view: ChromaView) -> None:
        """Report the size of a view after use, as it may have grown."""
        if self._known.get(view.place.token) is view and view.bytes:
            self._memory.used(self, view.place.token, view.bytes)

    def look_up(self, name: str) -> ChromaView:
        """Return the view of the collection that has the name now; it is kept when the collection is renamed."""
        entry = self._catalogue.find(name)
        if entry is None:
            raise no_collection(name)
        with self._lock:
            known = self._known.get(entry.id)
        if known is not None:
            return known
        place = self._catalogue.open(entry)
        self.copy(name, place)
        with self._lock:
            return self._known.setdefault(entry.id, self._new_view(place))

    def _new_view(self, place: ChromaCollection) -> ChromaView:
        return ChromaView(place, self.analyser, self._limits)

    def forget(self) -> None:
        with self._lock:
            self._known.clear()
            self._copies.clear()
        self._memory.forget(self)

    def specified(self, name: str, place: ChromaCollection) -> Specified:
        """Open the prescribed collections for the collection that has a name now."""
        with self._lock:
            known = self._copies.get(place.token)
        if known is not None:
            return known
        return Specified(self.connection, self.profiles[name], place)

    def copy(self, name: str, place: ChromaCollection, document_id: str | None = None) -> None:
        """Copy a document, or all that differ, into the prescribed collections.

        A failure does not undo the write. It is logged, and the copy is completed at the next change, or when the store
        is opened again.
        """
        if name not in self.profiles:
            return
        try:
            copy = self.specified(name, place)
            if document_id is None or place.token not in self._copies:
                copy.bring_all(copy.differing())
            else:
                copy.bring(document_id)
            with self._lock:
                self._copies[place.token] = copy
        except KnowledgeError as exc:
            with self._lock:
                self._copies.pop(place.token, None)
            log_event(_logger, logging.WARNING, "chroma_copy_failed", collection=name, reason=exc.message)

    def _follow_name(self, name: str) -> None:
        """Copy from the collection that has the name now; if there is none, drop the copy."""
        self.forget()
        if any(each.name == name for each in self.collections()):
            self.look_up(name)
        else:
            drop_specified(self.connection, self.profiles[name])


class ChromaHandle:
    """A handle on one collection of a `ChromaStore`; a snapshot keeps the collection behind the name, and its view.

    Args:
        store: the store that holds the collection.
        name: name of the collection.
    """

    def __init__(self, store: ChromaStore, name: str) -> None:
        self._store = store
        self._name = name
        self._snapshot: ChromaView | None = None

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Self]:
        view = self._store.look_up(self._name)
        with view.snapshot():
            self._snapshot = view
            try:
                yield self
            finally:
                self._snapshot = None

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        if self._snapshot is None:
            found = self._store.described(self._name)
        else:
            view = self._snapshot
            found = replace(view.place.info, name=self._name, state=f"{view.place.token} {view.change_now()}")
        return replace(found, statistics=self._at(self._count)) if found is not None and counted else found

    def _count(self, view: ChromaView) -> StoreStatistics:
        documents, chunks, tokens = view.totals.count(view.place, view.change_now())
        size = self._store.size.bytes(chunks, view.place.info.space.dimensions)
        return StoreStatistics(documents, chunks, tokens, size)

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        reported: set[str] = set()

        def write(view: ChromaView) -> None:
            def published(document_id: str) -> None:
                self._store.copy(self._name, view.place, document_id)
                reported.add(document_id)
                on_published(document_id)

            left = [each for each in documents if each.record.id not in reported]
            writing.publish(view.place, left, self._store.analyser, published)

        self._at(write)

    def delete(self, document_id: str) -> int:
        def write(view: ChromaView) -> int:
            removed = writing.delete_document(view.place, document_id)
            self._store.copy(self._name, view.place, document_id)
            return removed

        return self._at(write)

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._at(lambda view: reading.known_vectors(view, embedding_keys))

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        return self._at(lambda view: reading.records(view, document_ids, limit))

    def parts(self, document_id: str) -> DocumentParts | None:
        return self._at(lambda view: reading.parts(view.place, document_id))

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        return self._at(lambda view: reading.chunks(view, key, values))

    def outgrown(self) -> Finding | None:
        """Return a finding, with the way to move it, if the collection is too large for ChromaDB, else None."""
        count = self._at(lambda view: view.place.chunks.count())
        if count <= MOST_PASSAGES:
            return None
        return Finding(
            f"'{self._name}' has {count:,} passages; above {MOST_PASSAGES:,} ChromaDB is slow and takes much memory.",
            suggestion=f"Move it: `knowledge migrate --from chromadb --to postgres --collection {self._name}`, "
            "or --to qdrant, or --to sqlite if one machine serves it.",
        )

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        check_filter(filter)

        def look(view: ChromaView) -> LegResults:
            check_query(vector, view.place.info.space)
            return reading.legs(view, vector=vector, text=text, filter=filter, limit=limit)

        return self._at(look)

    def defined_terms(self) -> dict[str, str]:
        return self._at(reading.defined_terms)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        def check(view: ChromaView) -> list[Finding]:
            findings = verify(view.place, self._store.analyser, repair=repair)
            if self._name in self._store.profiles:
                try:
                    findings += verify_copy(self._store.specified(self._name, view.place), repair=repair)
                except ConfigError as exc:  # a collection of another program has a prescribed name
                    findings.append(Finding(exc.message, suggestion=exc.suggestion))
            return findings

        return self._at(check)

    def _at(self, what: Callable[[ChromaView], T]) -> T:
        """Run `what` on the collection; if it is dropped meanwhile, look it up again and retry once."""
        view = self._snapshot or self._store.look_up(self._name)
        try:
            done = what(view)
        except GoneError:
            self._snapshot = None
            self._store.forget()
            view = self._store.look_up(self._name)
            done = what(view)
        self._store.used(view)
        return done


class ChromaOptions(Protocol):
    """The settings that an address needs."""

    chromadb_path: Path
    chromadb_host: str | None
    chromadb_port: int
    chromadb_ssl: bool

    @property
    def chromadb_token(self) -> Secret | None: ...


def from_options(options: ChromaOptions, analyser: Analyser, memory: IndexMemory | None = None) -> ChromaStore:
    """Create the store that the settings specify; it opens ChromaDB at its first call."""
    token = options.chromadb_token
    address = Address(
        path=options.chromadb_path,
        host=options.chromadb_host,
        port=options.chromadb_port,
        ssl=options.chromadb_ssl,
        token=None if token is None else token.get_secret_value(),
    )
    return ChromaStore(address, analyser, memory=memory)

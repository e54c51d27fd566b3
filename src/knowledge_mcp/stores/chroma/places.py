"""Pairs of ChromaDB collections, listed in a catalogue; the collections of other programs are never touched.

ChromaDB cannot create, drop or rename two collections at once. Therefore a small ChromaDB collection, the catalogue,
has an entry for each pair with its current name. The entry is written after the pair was created, and removed before
the pair is dropped; several entries can be renamed in one call. Only one process at a time creates a pair of a given
name. An interruption leaves a pair without an entry, which is invisible and is removed by a later creation.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.stores.chroma.client import ChromaConnection, ChromaRow, ChromaTable, FoundEntry
from knowledge_mcp.stores.chroma.errors import GoneError, NameTakenError
from knowledge_mcp.stores.chroma.layout import LAYOUT, chroma_name
from knowledge_mcp.stores.chroma.profiles import PROFILES, Profile
from knowledge_mcp.stores.shared.payload import space_from_json, space_to_json
from knowledge_mcp.stores.shared.rules import check_space, checked_renames, now

CATALOGUE = "knowledge-mcp.catalogue"
INDEX = {"space": "cosine", "ef_construction": 100, "ef_search": 200, "max_neighbors": 16}
"""Parameters of ChromaDB's vector index; measured in `docs/chromadb.md`."""
_SMALL = {"hnsw": {"space": "cosine", "batch_size": 5, "sync_threshold": 10}}
"""Index parameters of tables whose vectors are not used: each write reads the log since the last synchronisation, texts
included.
"""
_LOOK_AGAIN_SECONDS = 0.05
"""Pause between checks whether another process is done: ChromaDB sends no notification when a collection is dropped."""
_LEFT_SECONDS = 30.0
"""Age of a creation lock after which its process is considered dead; a creation takes less than one second."""
_FORGOTTEN_SECONDS = 3600.0
"""Age after which a pair without an entry is considered the remains of an interrupted creation or drop."""


@dataclass(frozen=True)
class ChromaCollection:
    """One collection with its two tables; the token does not change when it is renamed."""

    token: str
    info: CollectionInfo
    chunks: ChromaTable
    documents: ChromaTable


class Catalogue:
    """Finds, creates, lists, renames and drops collections.

    Args:
        connection: to ChromaDB.
        profiles: by collection name, the ChromaDB collections that a specification prescribes; no pair uses their
            names.
    """

    def __init__(self, connection: ChromaConnection, profiles: Mapping[str, Profile] = PROFILES) -> None:
        self._connection = connection
        self._profiles = profiles
        self._specified = {name for each in profiles.values() for name in (each.chunks, each.documents)}
        self._table: ChromaTable | None = None

    def find(self, name: str) -> FoundEntry | None:
        """Return a collection's entry, or None if it does not exist.

        Raises:
            ConfigError: ChromaDB has a collection of that name which is not ours.
        """
        found = self._entries({"name": {"$eq": name}})
        if found:
            return found[0]
        names = [chroma_name(name)]
        if name in self._profiles:
            names = [self._profiles[name].chunks, self._profiles[name].documents]
        for each in names:
            with contextlib.suppress(GoneError):
                check_ours(self._connection.table(each))
        return None

    def open(self, entry: FoundEntry) -> ChromaCollection:
        """Open the pair of an entry.

        Raises:
            GoneError: it has just been dropped.
        """
        return ChromaCollection(
            token=entry.id,
            info=info_of(entry),
            chunks=self._connection.table(str(entry.metadata["chunks"])),
            documents=self._connection.table(str(entry.metadata["documents"])),
        )

    def all(self) -> list[FoundEntry]:
        """List all entries, sorted by name."""
        return sorted(self._entries(None), key=lambda entry: str(entry.metadata["name"]))

    def create(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        """Create a collection, or return the existing one.

        Raises:
            SpaceMismatchError: it exists in another embedding space.
            ConfigError: see `find`.
        """
        entry = self.find(name)
        if entry is None:
            with self._alone(name):
                entry = self.find(name) or self._make(name, space)
            self._sweep()
        info = info_of(entry)
        check_space(name, info.space, space)
        return info

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename collections in one call."""
        entries = {str(entry.metadata["name"]): entry for entry in self.all()}
        changed = checked_renames(names, entries)
        for name in changed.values():
            if name not in entries:
                self.find(name)
        if changed and self._table is not None:
            self._table.put(
                [ChromaRow(entries[old].id, {**entries[old].metadata, "name": new}) for old, new in changed.items()]
            )

    def drop(self, name: str) -> bool:
        """Drop a collection; return False if it does not exist."""
        entry = self.find(name)
        if entry is None:
            return False
        self._remove(entry)
        return True

    @contextlib.contextmanager
    def _alone(self, name: str) -> Generator[None]:
        """Lock the creation of a collection: of two entries with the same name, one would be hidden.

        The lock is a ChromaDB collection with a derived name, as its creation is the only atomic operation of ChromaDB.
        A lock that stays for long was left by a killed process.
        """
        lock, token = f"{chroma_name(name)}.making", secrets.token_hex(6)
        seen, since = "", time.monotonic()
        while True:
            try:
                self._connection.make_table(lock, {"layout": LAYOUT, "pair": token, "made": time.time()}, _SMALL)
                break
            except NameTakenError:
                time.sleep(_LOOK_AGAIN_SECONDS)
            with contextlib.suppress(GoneError):
                holder = str(check_ours(self._connection.table(lock)).metadata["pair"])
                if holder != seen:
                    seen, since = holder, time.monotonic()
                elif time.monotonic() - since > _LEFT_SECONDS:
                    self._connection.drop_table(lock)
        try:
            yield
        finally:
            with contextlib.suppress(GoneError):
                self._connection.drop_table(lock)

    def _make(self, name: str, space: EmbeddingSpace) -> FoundEntry:
        catalogue = self._open(make=True)
        token = secrets.token_hex(6)
        made: dict[str, Any] = {"layout": LAYOUT, "pair": token, "made": time.time(), "made_as": name}
        documents = self._connection.make_table(f"{chroma_name(name)}.documents-{token}", made, _SMALL)
        made |= {"documents": documents.name, "embedding_model": space.label}
        chunks = None
        if chroma_name(name) not in self._specified:
            with contextlib.suppress(NameTakenError):  # one of ours that was renamed, or is just being created
                chunks = self._connection.make_table(chroma_name(name), made, {"hnsw": INDEX})
        if chunks is None:
            chunks = self._connection.make_table(f"{chroma_name(name)}-{token}", made, {"hnsw": INDEX})
        metadata = {
            "name": name,
            "chunks": chunks.name,
            "documents": documents.name,
            "space": space_to_json(space),
            "embedding_model": space.label,
            "created_at": now(),
            "made": time.time(),
        }
        catalogue.put([ChromaRow(token, metadata)])
        return FoundEntry(token, metadata, "", "")

    def _remove(self, entry: FoundEntry) -> None:
        """Drop a pair; its entry goes first, so that nobody finds half a pair."""
        if self._table is not None:
            self._table.remove([entry.id])
        for table in (entry.metadata["documents"], entry.metadata["chunks"]):
            with contextlib.suppress(GoneError):
                self._connection.drop_table(str(table))

    def _sweep(self) -> None:
        """Remove old pairs without an entry."""
        known = {entry.id for entry in self._entries(None)}
        for name, metadata in self._connection.tables().items():
            lost = metadata.get("layout") == LAYOUT and "pair" in metadata and metadata["pair"] not in known
            if lost and time.time() - float(metadata["made"]) > _FORGOTTEN_SECONDS:
                with contextlib.suppress(GoneError):
                    self._connection.drop_table(name)

    def _entries(self, where: dict[str, Any] | None) -> Sequence[FoundEntry]:
        """Read entries, oldest first."""
        for again in (True, False):
            table = self._open(make=False)
            if table is None:
                return []
            try:
                found = table.rows(where=where)
            except GoneError:
                self._table = None
                if again:
                    continue
                raise
            return sorted(found, key=lambda entry: (float(entry.metadata["made"]), entry.id))
        return []

    def _open(self, *, make: bool) -> Any:
        if self._table is None:
            try:
                found = self._connection.table(CATALOGUE)
            except GoneError:
                if not make:
                    return None
                try:
                    found = self._connection.make_table(CATALOGUE, {"layout": LAYOUT}, _SMALL)
                except NameTakenError:
                    found = self._connection.table(CATALOGUE)
            self._table = check_ours(found)
        return self._table


def info_of(entry: FoundEntry) -> CollectionInfo:
    """Return the information about the collection of an entry."""
    return CollectionInfo(
        name=str(entry.metadata["name"]),
        space=space_from_json(str(entry.metadata["space"])),
        created_at=str(entry.metadata["created_at"]),
    )


def check_ours(table: ChromaTable, *, specified: bool = False) -> ChromaTable:
    """Return the table if it is ours.

    Args:
        table: the ChromaDB collection.
        specified: whether it must be one that a specification prescribes.

    Raises:
        ConfigError: it belongs to another program, or has another layout.
    """
    layout = str(table.metadata.get("layout", ""))
    if layout != LAYOUT or (specified and not table.metadata.get("specified")):
        what = "by another version of this program" if layout.startswith("knowledge-mcp/") else "by another program"
        raise ConfigError(
            f"The ChromaDB collection '{table.name}' was created {what} and is left unchanged.",
            details=f"Its layout is '{layout}', not '{LAYOUT}'.",
            suggestion="Choose another name (QDRANT_COLLECTION, --to-collection), or another ChromaDB.",
        )
    return table

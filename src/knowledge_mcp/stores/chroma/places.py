"""Collections of ours as pairs of ChromaDB collections, named in a catalogue: none of anybody else is touched.

ChromaDB cannot make, drop or rename two collections at once. So one small ChromaDB collection, the catalogue, has an
entry for each pair with its present name. An entry is written when its pair is whole and removed before the pair is
dropped; several entries get new names in one call. One process at a time makes a pair of a name. What a kill leaves is
a pair without an entry, which nobody sees and which goes with a later creation.
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
from knowledge_mcp.stores.chroma.errors import GoneError, TakenError
from knowledge_mcp.stores.chroma.layout import LAYOUT, chroma_name
from knowledge_mcp.stores.chroma.profiles import PROFILES, Profile
from knowledge_mcp.stores.shared.payload import space_from_json, space_to_json
from knowledge_mcp.stores.shared.rules import check_space, checked_renames, now

CATALOGUE = "knowledge-mcp.catalogue"
INDEX = {"space": "cosine", "ef_construction": 100, "ef_search": 200, "max_neighbors": 16}
"""Of ChromaDB's vector index; measured in `docs/chromadb.md`."""
_SMALL = {"hnsw": {"space": "cosine", "batch_size": 5, "sync_threshold": 10}}
"""Of tables whose vectors say nothing: each write reads the log since the last synchronisation, texts and all."""
_LOOK_AGAIN_SECONDS = 0.05
"""Between looks at whether another process is done: ChromaDB tells nobody that a collection is gone."""
_LEFT_SECONDS = 30.0
"""For how long a collection is being made before its maker is taken for dead; it takes less than one."""
_FORGOTTEN_SECONDS = 3600.0
"""Age from which a pair without an entry is taken for a creation or a drop that was cut short."""


@dataclass(frozen=True)
class ChromaCollection:
    """One collection: what it is, its chunks and its documents; the token stays when it is renamed."""

    token: str
    info: CollectionInfo
    chunks: ChromaTable
    documents: ChromaTable


class Catalogue:
    """Find, make, list, rename and drop collections.

    Args:
        connection: to ChromaDB.
        profiles: by names of ours, which collections of ChromaDB a specification gives them; no pair takes such a name.
    """

    def __init__(self, connection: ChromaConnection, profiles: Mapping[str, Profile] = PROFILES) -> None:
        self._connection = connection
        self._profiles = profiles
        self._specified = {name for each in profiles.values() for name in (each.chunks, each.documents)}
        self._table: ChromaTable | None = None

    def find(self, name: str) -> FoundEntry | None:
        """Look a collection's entry up; None where there is none.

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
        """Open the pair of an entry; GoneError where it has just been dropped."""
        return ChromaCollection(
            token=entry.id,
            info=info_of(entry),
            chunks=self._connection.table(str(entry.metadata["chunks"])),
            documents=self._connection.table(str(entry.metadata["documents"])),
        )

    def all(self) -> list[FoundEntry]:
        """List all entries by name."""
        return sorted(self._entries(None), key=lambda entry: str(entry.metadata["name"]))

    def create(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        """Make a collection, or return the one that is there.

        Raises:
            SpaceMismatchError: it is there in another space.
            ConfigError: as `find`.
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
        """Give collections new names in one call."""
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
        """Drop a collection; False where there was none."""
        entry = self.find(name)
        if entry is None:
            return False
        self._remove(entry)
        return True

    @contextlib.contextmanager
    def _alone(self, name: str) -> Generator[None]:
        """Be the only one that makes a collection: two entries of one name would hide what one of them gets.

        A ChromaDB collection of that name is the lock, as nothing else there is made by one process alone. One that
        stays for long was left by a process that was killed.
        """
        lock, token = f"{chroma_name(name)}.making", secrets.token_hex(6)
        seen, since = "", time.monotonic()
        while True:
            try:
                self._connection.make_table(lock, {"layout": LAYOUT, "pair": token, "made": time.time()}, _SMALL)
                break
            except TakenError:
                time.sleep(_LOOK_AGAIN_SECONDS)
            with contextlib.suppress(GoneError):
                held = str(check_ours(self._connection.table(lock)).metadata["pair"])
                if held != seen:
                    seen, since = held, time.monotonic()
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
            with contextlib.suppress(TakenError):  # one of ours that has another name by now, or is just being made
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
        """Drop a pair: its entry first, so that nobody finds half of it."""
        if self._table is not None:
            self._table.remove([entry.id])
        for table in (entry.metadata["documents"], entry.metadata["chunks"]):
            with contextlib.suppress(GoneError):
                self._connection.drop_table(str(table))

    def _sweep(self) -> None:
        """Remove pairs without an entry that have been lying there for long."""
        known = {entry.id for entry in self._entries(None)}
        for name, metadata in self._connection.tables().items():
            lost = metadata.get("layout") == LAYOUT and "pair" in metadata and metadata["pair"] not in known
            if lost and time.time() - float(metadata["made"]) > _FORGOTTEN_SECONDS:
                with contextlib.suppress(GoneError):
                    self._connection.drop_table(name)

    def _entries(self, where: dict[str, Any] | None) -> Sequence[FoundEntry]:
        """Read entries, the oldest first."""
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
                except TakenError:
                    found = self._connection.table(CATALOGUE)
            self._table = check_ours(found)
        return self._table


def info_of(entry: FoundEntry) -> CollectionInfo:
    """Describe the collection of an entry."""
    return CollectionInfo(
        name=str(entry.metadata["name"]),
        space=space_from_json(str(entry.metadata["space"])),
        created_at=str(entry.metadata["created_at"]),
    )


def check_ours(table: ChromaTable, *, specified: bool = False) -> ChromaTable:
    """Return a collection of ours; refuse one of somebody else's, or of another layout, with a ConfigError.

    Args:
        table: the collection.
        specified: whether it has to be one that a specification describes.
    """
    layout = str(table.metadata.get("layout", ""))
    if layout != LAYOUT or (specified and not table.metadata.get("specified")):
        what = "by another version of this program" if layout.startswith("knowledge-mcp/") else "by another program"
        raise ConfigError(
            f"The ChromaDB collection '{table.name}' was made {what} and is left as it is.",
            details=f"Its layout is '{layout}', not '{LAYOUT}'.",
            suggestion="Choose another name (QDRANT_COLLECTION, --to-collection), or another ChromaDB.",
        )
    return table

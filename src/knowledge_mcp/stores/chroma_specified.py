"""The two collections of a `Profile`, kept as what is visible in ours, for plain clients to read as specified.

They cannot hold what ours do: under a chunk's own id there is no room for a generation that is being collected beside
the visible one. So they are a copy. After each publish and deletion one document is copied anew; the uri of every
entry names the generation it was copied from, so that what a kill, a failure or an older program has left behind is
seen by comparing these names, and copied when the collection is opened the next time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.chroma_client import Connection, Found, Row, Table
from knowledge_mcp.stores.chroma_errors import GoneError, TakenError
from knowledge_mcp.stores.chroma_layout import LAYOUT, chunk_of, document_of, generation_of, unpack_vectors
from knowledge_mcp.stores.chroma_places import INDEX, Catalogue, Place, check_ours
from knowledge_mcp.stores.chroma_profiles import Profile
from knowledge_mcp.stores.chroma_writing import document_entry, visible_generations, visible_of
from knowledge_mcp.stores.payload import record_from_json

__all__ = ["Specified", "drop_specified"]

_TRIES = 20
_SQUARED = {"hnsw": {**INDEX, "space": "l2"}}
_FROM = "generation:"


class Specified:
    """Hold the two collections of one profile.

    Args:
        connection: to ChromaDB.
        catalogue: names our own collections; one of them that has a specified name gets another one.
        profile: which collections, and what is in them.
        place: the collection of ours that is copied.

    Raises:
        ConfigError: ChromaDB has a collection of that name that is not ours.
    """

    def __init__(self, connection: Connection, catalogue: Catalogue, profile: Profile, place: Place) -> None:
        self._connection = connection
        self._catalogue = catalogue
        self._profile = profile
        self._place = place
        self._chunks = self._opened(profile.chunks)
        self._documents = self._opened(profile.documents)

    def bring(self, document_id: str) -> None:
        """Copy one document as it is visible now, or remove it where it is no more.

        Its chunks come and go before its own entry, by which `differing` tells whether all of them have.

        Raises:
            InternalError: it is replaced faster than it can be copied.
        """
        for _ in range(_TRIES):
            entry = self._place.documents.one(document_entry(document_id))
            token = None if entry is None else visible_of(entry)
            if entry is None or token is None:
                self._remove_all_but("", document_id)
                self._documents.remove([document_id])
            else:
                self._copy(entry, token, document_id)
            after = self._place.documents.one(document_entry(document_id))
            if token == (None if after is None else visible_of(after)):
                return
        raise InternalError(f"Document '{document_id}' is replaced faster than it can be copied.", recoverable=True)

    def differing(self, *, thorough: bool = False) -> list[str]:
        """Name the documents that are not copied as they are visible now, in order.

        Args:
            thorough: look at every chunk's entry, not only at the documents'.
        """
        visible = {document_of(entry): token for entry, token in visible_generations(self._place.documents).items()}
        copied = {name: uri.removeprefix(_FROM) for name, uri in self._documents.uris(None).items()}
        found = {name for name in {*visible, *copied} if visible.get(name) != copied.get(name)}
        if thorough:
            found |= self._chunks_differing(visible)
        return sorted(found)

    def bring_all(self, document_ids: Sequence[str]) -> None:
        """Copy several documents."""
        for document_id in document_ids:
            self.bring(document_id)

    def _copy(self, entry: Found, token: str, document_id: str) -> None:
        record = record_from_json(str(entry.metadata["record"]))
        found = self._place.chunks.rows(where={"generation": {"$eq": token}})
        vectors = self._vectors(token, found)
        self._chunks.put(
            [
                Row(chunk.id, self._profile.chunk_metadata(chunk, record), vector, chunk.content, f"{_FROM}{token}")
                for chunk, vector in ((chunk_of(each), vectors[each.id]) for each in found if each.id in vectors)
            ]
        )
        self._remove_all_but(token, document_id)
        zeros = [0.0] * self._place.info.space.dimensions
        metadata = self._profile.document_metadata(record)
        self._documents.put([Row(document_id, metadata, zeros, record.title, f"{_FROM}{token}")])

    def _vectors(self, token: str, found: Sequence[Found]) -> dict[str, object]:
        """Give the exact vector of each chunk's entry, or the one that ChromaDB scaled where that is lost."""
        exact: dict[str, bytes] = {}
        for held in self._place.documents.rows(
            where={"$and": [{"kind": {"$eq": "vectors"}}, {"generation": {"$eq": token}}]}
        ):
            exact.update(unpack_vectors(held))
        keys = {each.id: str(each.metadata["embedding_key"]) for each in found}
        lost = [name for name, key in keys.items() if key not in exact]
        scaled = self._place.chunks.vectors(lost)
        return {
            name: np.frombuffer(exact[key], "<f4") if key in exact else scaled[name]
            for name, key in keys.items()
            if key in exact or name in scaled
        }

    def _remove_all_but(self, token: str, document_id: str) -> None:
        own = self._chunks.uris({"document_id": {"$eq": document_id}})
        self._chunks.remove([name for name, uri in own.items() if uri != f"{_FROM}{token}"])

    def _chunks_differing(self, visible: dict[str, str]) -> set[str]:
        documents = {token: document_id for document_id, token in visible.items()}
        wanted = {
            (entry.partition(" ")[2], f"{_FROM}{generation_of(entry)}")
            for entry in self._place.chunks.ids(None)
            if generation_of(entry) in documents
        }
        there = set(self._chunks.uris(None).items())
        found = {documents[uri.removeprefix(_FROM)] for _, uri in wanted - there}
        stray = [name for name, _ in there - wanted]
        owners = (each.metadata.get("document_id") for each in self._chunks.rows(ids=stray))
        return found | {str(owner) for owner in owners if owner}

    def _opened(self, name: str) -> Table:
        space = self._place.info.space
        try:
            found = self._connection.table(name)
            check_ours(found)
            if "pair" in found.metadata:
                self._catalogue.give_way(found)
            elif found.metadata.get("space") == space.fingerprint:
                return found
            else:  # a collection of another embedding space has taken the name
                self._connection.drop_table(name)
        except GoneError:
            pass
        made = {"layout": LAYOUT, "specified": True, "space": space.fingerprint, "embedding_model": space.label}
        try:
            return self._connection.make_table(name, made, _SQUARED)
        except TakenError:  # another process made it at the same moment
            return self._connection.table(name)


def drop_specified(connection: Connection, profile: Profile) -> None:
    """Remove both collections, unless they are not copies of ours."""
    for name in (profile.documents, profile.chunks):
        try:
            found = connection.table(name)
            if found.metadata.get("layout") == LAYOUT and found.metadata.get("specified"):
                connection.drop_table(name)
        except GoneError:
            continue

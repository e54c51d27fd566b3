"""Consistency checks and repair of a ChromaDB collection, and the copy of one in the form of a specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from knowledge_mcp.model.errors import DamagedError, InternalError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import ChromaConnection, ChromaRow, ChromaTable, FoundEntry
from knowledge_mcp.stores.chroma.errors import GoneError, NameTakenError
from knowledge_mcp.stores.chroma.layout import (
    LAYOUT,
    chunk_of,
    document_of,
    generation_of,
    unpack_index,
    unpack_vectors,
)
from knowledge_mcp.stores.chroma.places import INDEX, ChromaCollection, check_ours
from knowledge_mcp.stores.chroma.profiles import Profile
from knowledge_mcp.stores.chroma.writing import (
    GONE,
    document_entry,
    index_rows,
    make_index,
    structure_entries,
    sweep,
    unfinished,
    visible_generations,
    visible_of,
)
from knowledge_mcp.stores.shared.checking import INGEST, miscounted, of_damage, repairable
from knowledge_mcp.stores.shared.payload import record_from_json
from knowledge_mcp.support.wording import how_many

_TRIES = 20
_SQUARED = {"hnsw": {**INDEX, "space": "l2"}}
_FROM = "generation:"


class Specified:
    """The two prescribed collections of one profile.

    Args:
        connection: to ChromaDB.
        profile: the names and contents of the collections.
        place: our collection, which is copied.

    Raises:
        ConfigError: ChromaDB has a collection of that name that is not ours.
    """

    def __init__(self, connection: ChromaConnection, profile: Profile, place: ChromaCollection) -> None:
        self._connection = connection
        self._profile = profile
        self._place = place
        self._chunks = self._opened(profile.chunks)
        self._documents = self._opened(profile.documents)

    def bring(self, document_id: str) -> None:
        """Copy the visible version of one document, or remove its copy if it does not exist any more.

        Its chunks are written and removed before its own entry, so that `differing` can rely on the entry.

        Raises:
            InternalError: the document is replaced faster than it can be copied.
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
        """List the documents whose copy differs from their visible version, in order.

        Args:
            thorough: check every chunk's entry, not only the documents' entries.
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

    def _copy(self, entry: FoundEntry, token: str, document_id: str) -> None:
        record = record_from_json(str(entry.metadata["record"]))
        found = self._place.chunks.rows(where={"generation": {"$eq": token}})
        vectors = self._vectors(token, found)
        self._chunks.put(
            [
                ChromaRow(
                    chunk.id, self._profile.chunk_metadata(chunk, record), vector, chunk.content, f"{_FROM}{token}"
                )
                for chunk, vector in ((chunk_of(each), vectors[each.id]) for each in found if each.id in vectors)
            ]
        )
        self._remove_all_but(token, document_id)
        zeros = [0.0] * self._place.info.space.dimensions
        metadata = self._profile.document_metadata(record)
        self._documents.put([ChromaRow(document_id, metadata, zeros, record.title, f"{_FROM}{token}")])

    def _vectors(self, token: str, found: Sequence[FoundEntry]) -> dict[str, object]:
        """Return the exact vector of each chunk, or the one normalised by ChromaDB if that is lost."""
        exact: dict[str, bytes] = {}
        for row in self._place.documents.rows(
            where={"$and": [{"kind": {"$eq": "vectors"}}, {"generation": {"$eq": token}}]}
        ):
            exact.update(unpack_vectors(row))
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
        expected = {
            (entry.partition(" ")[2], f"{_FROM}{generation_of(entry)}")
            for entry in self._place.chunks.ids(None)
            if generation_of(entry) in documents
        }
        there = set(self._chunks.uris(None).items())
        found = {documents[uri.removeprefix(_FROM)] for _, uri in expected - there}
        stray = [name for name, _ in there - expected]
        owners = (each.metadata.get("document_id") for each in self._chunks.rows(ids=stray))
        return found | {str(owner) for owner in owners if owner}

    def _opened(self, name: str) -> ChromaTable:
        space = self._place.info.space
        try:
            found = self._connection.table(name)
            check_ours(found, specified=True)
            if found.metadata.get("space") == space.fingerprint:
                return found
            self._connection.drop_table(name)  # a collection of another embedding space has taken the name
        except GoneError:
            pass
        made = {"layout": LAYOUT, "specified": True, "space": space.fingerprint, "embedding_model": space.label}
        try:
            return self._connection.make_table(name, made, _SQUARED)
        except NameTakenError:  # another process has created it at the same moment
            return self._connection.table(name)


def drop_specified(connection: ChromaConnection, profile: Profile) -> None:
    """Drop both collections, unless they are not copies of ours."""
    for name in (profile.documents, profile.chunks):
        try:
            found = connection.table(name)
            if found.metadata.get("layout") == LAYOUT and found.metadata.get("specified"):
                connection.drop_table(name)
        except GoneError:
            continue


_SAMPLED = 8


def verify(place: ChromaCollection, analyser: Analyser, *, repair: bool) -> list[Finding]:
    """Check a collection; with `repair`, remove the remains of interrupted writes and rebuild indexes."""
    findings: list[Finding] = []
    entries = place.documents.rows(where={"kind": {"$eq": "document"}})
    gone = [each.id for each in entries if not each.metadata.get("record")]
    if gone:
        findings.append(
            Finding(f"{how_many(len(gone), 'document is', 'documents are')} not completely deleted.", repaired=repair)
        )
    for token, count in sorted(sweep(place, look_only=not repair).items()):
        findings.append(
            Finding(f"Generation {token} with {how_many(count, 'chunk')} belongs to no document.", repaired=repair)
        )
    if repair:
        place.documents.remove_if(gone, GONE)
    findings.extend(
        Finding(
            "An ingest of this document was not finished, or is still running.",
            document_id=document_id,
            suggestion="Ingest the document again.",
        )
        for document_id in unfinished(place)
    )
    counted: dict[str, int] = {}
    for entry in place.chunks.ids(None):
        counted[generation_of(entry)] = counted.get(generation_of(entry), 0) + 1
    for entry in sorted(entries, key=lambda each: each.id):
        if entry.metadata.get("record"):
            try:
                findings.extend(_document(place, entry, counted, analyser, repair))
            except DamagedError as exc:
                findings.append(of_damage(exc))
    findings.extend(_nearest_to_themselves(place))
    return findings


def verify_copy(copy: Specified, *, repair: bool) -> list[Finding]:
    """Compare the prescribed collections with what is visible, entry by entry; `repair` copies what differs."""
    differing = copy.differing(thorough=True)
    if repair:
        copy.bring_all(differing)
    message = "It is not in the collections of the specification as it is here."
    return [repairable(message, each, repaired=repair) for each in differing]


def _document(
    place: ChromaCollection, entry: FoundEntry, counted: dict[str, int], analyser: Analyser, repair: bool
) -> Iterator[Finding]:
    """Compare one record with its chunks, text, index and vectors."""
    record = record_from_json(str(entry.metadata["record"]), document_of(entry.id))
    token = entry.uri.partition(":")[2]
    chunks = counted.get(token, 0)
    if chunks != record.chunk_count:
        yield miscounted(record.chunk_count, chunks, record.id)
    of_it = place.documents.rows(where={"generation": {"$eq": token}})
    texts = [each for each in of_it if each.metadata["kind"] == "text"]
    if len(texts) != int(entry.metadata["text_parts"]):
        yield Finding("The canonical text is missing.", record.id, suggestion=INGEST)
    shapes = {each.id for each in of_it if each.metadata["kind"] == "structure"}
    if not shapes.issuperset(structure_entries(entry, token)):
        yield Finding("The sections and pages are missing.", record.id, suggestion=INGEST)
    try:
        parts = {each.id: str(each.metadata["packed"]) for each in of_it if each.metadata["kind"] == "index"}
        index = unpack_index("".join(parts[f"index {token} {number}"] for number in range(len(parts))))
        sound = len(index.ids) == chunks
        keys = set(index.keys)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is rebuilt from the chunks
        sound, keys = False, set[str]()
    if not sound:
        if repair:
            place.documents.put(index_rows(token, record.id, make_index(place, token, analyser)))
        yield Finding("The search index is damaged.", record.id, repaired=repair, suggestion=INGEST)
    vectors = {key for each in of_it if each.metadata["kind"] == "vectors" for key in unpack_vectors(each)}
    if keys - vectors:
        message = f"{how_many(len(keys - vectors), 'chunk has', 'chunks have')} no exact vector."
        yield Finding(message, record.id, suggestion=INGEST)


def _nearest_to_themselves(place: ChromaCollection) -> Iterator[Finding]:
    """Query ChromaDB's index for some chunks by their own vectors; it fails for many if two processes wrote to it."""
    ids = place.chunks.ids(None)
    sample = ids[:: max(1, len(ids) // _SAMPLED)]
    lost = 0
    for entry, vector in place.chunks.vectors(sample).items() if sample else ():
        near = place.chunks.nearest(vector, 1, None)
        same = bool(near) and float(near[0].vector @ vector) > float(vector @ vector) - 1e-4
        lost += not same and entry not in {each.id for each in near}
    if lost:
        yield Finding(
            f"ChromaDB's vector index does not find {lost} of {len(sample)} chunks by their own vectors.",
            suggestion="Ingest all documents again into a new collection, and let only one process use the folder.",
        )

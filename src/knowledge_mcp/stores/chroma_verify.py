"""A collection checked against itself, and mended where nothing is lost by it."""

from __future__ import annotations

from collections.abc import Iterator

from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma_client import Found
from knowledge_mcp.stores.chroma_layout import document_of, generation_of, unpack_index, unpack_vectors
from knowledge_mcp.stores.chroma_places import Place
from knowledge_mcp.stores.chroma_specified import Specified
from knowledge_mcp.stores.chroma_writing import (
    GONE,
    index_rows,
    make_index,
    staged_generations,
    structure_entries,
    sweep,
)
from knowledge_mcp.stores.payload import record_from_json

__all__ = ["verify", "verify_copy"]

_SAMPLED = 8
_INGEST = "Ingest the document again with --force."


def verify(place: Place, analyser: Analyser, *, repair: bool) -> list[Finding]:
    """List what is wrong; what was cut short is swept up and indexes are made anew with `repair`."""
    findings: list[Finding] = []
    entries = place.documents.rows(where={"kind": {"$eq": "document"}})
    gone = [each.id for each in entries if not each.metadata.get("record")]
    if gone:
        findings.append(Finding(f"{len(gone)} documents are not wholly deleted.", repaired=repair))
    for token, count in sorted(sweep(place, look_only=not repair).items()):
        findings.append(Finding(f"Generation {token} with {count} chunks belongs to no document.", repaired=repair))
    if repair:
        place.documents.remove_if(gone, GONE)
    findings.extend(
        Finding(
            "An ingest of this document was not finished, or is under way.",
            document_id=document_id,
            suggestion="Ingest the document again.",
        )
        for document_id in sorted(set(staged_generations(place).values()))
    )
    counted: dict[str, int] = {}
    for entry in place.chunks.ids(None):
        counted[generation_of(entry)] = counted.get(generation_of(entry), 0) + 1
    for entry in sorted(entries, key=lambda each: each.id):
        if entry.metadata.get("record"):
            try:
                findings.extend(_document(place, entry, counted, analyser, repair))
            except DamagedError as exc:
                message = f"{exc.message} {exc.details}".strip()
                findings.append(Finding(message, exc.document_id or None, suggestion=exc.suggestion))
    findings.extend(_nearest_to_themselves(place))
    return findings


def verify_copy(copy: Specified, *, repair: bool) -> list[Finding]:
    """Compare the collections of a specification with what is visible, entry by entry; `repair` copies what differs."""
    differing = copy.differing(thorough=True)
    if repair:
        copy.bring_all(differing)
    message = "It is not in the collections of the specification as it is here."
    suggestion = "" if repair else "Run `knowledge doctor --repair`."
    return [Finding(message, each, repaired=repair, suggestion=suggestion) for each in differing]


def _document(
    place: Place, entry: Found, counted: dict[str, int], analyser: Analyser, repair: bool
) -> Iterator[Finding]:
    """Compare one record with its chunks, text, index and vectors."""
    record = record_from_json(str(entry.metadata["record"]), document_of(entry.id))
    token = entry.uri.partition(":")[2]
    chunks = counted.get(token, 0)
    if chunks != record.chunk_count:
        yield Finding(
            f"The record announces {record.chunk_count} chunks, {chunks} are there.", record.id, suggestion=_INGEST
        )
    of_it = place.documents.rows(where={"generation": {"$eq": token}})
    texts = [each for each in of_it if each.metadata["kind"] == "text"]
    if len(texts) != int(entry.metadata["text_parts"]):
        yield Finding("The canonical text is missing.", record.id, suggestion=_INGEST)
    shapes = {each.id for each in of_it if each.metadata["kind"] == "structure"}
    if not shapes.issuperset(structure_entries(entry, token)):
        yield Finding("The sections and pages are missing.", record.id, suggestion=_INGEST)
    try:
        parts = {each.id: str(each.metadata["packed"]) for each in of_it if each.metadata["kind"] == "index"}
        index = unpack_index("".join(parts[f"index {token} {number}"] for number in range(len(parts))))
        sound = len(index.ids) == chunks
        keys = set(index.keys)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, it is made anew from the chunks
        sound, keys = False, set[str]()
    if not sound:
        if repair:
            place.documents.put(index_rows(token, record.id, make_index(place, token, analyser)))
        yield Finding("The search index is damaged.", record.id, repaired=repair, suggestion=_INGEST)
    vectors = {key for each in of_it if each.metadata["kind"] == "vectors" for key in unpack_vectors(each)}
    if keys - vectors:
        yield Finding(f"{len(keys - vectors)} chunks have no exact vector.", record.id, suggestion=_INGEST)


def _nearest_to_themselves(place: Place) -> Iterator[Finding]:
    """Ask ChromaDB's index for some chunks by their own vectors: one that two processes wrote to finds few of them."""
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

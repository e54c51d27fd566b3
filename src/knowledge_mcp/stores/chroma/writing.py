"""Writes to ChromaDB in an order that leaves either the old or the new version complete if interrupted.

ChromaDB has no transactions, but one small call is atomic. `publish` writes everything new under a generation that is
not visible yet, many documents in a few calls: first the holders of the generations and the exact vectors, then the
chunks, then in one call everything else with the records, which name the generations: this is the commit. Only then are
the old generations removed. Whoever discards an unfinished generation removes its holder first, and then checks what is
visible. Therefore a generation whose holder still exists after its record was written is complete, and any other is
written again. The remains of an interruption are invisible, and are removed by the next publish or by `sweep`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.collection import DocumentRecord, WholeDocument
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import ChromaRow, ChromaTable, FoundEntry, Where
from knowledge_mcp.stores.chroma.layout import (
    Index,
    all_of,
    chunk_of,
    chunk_row,
    generation_of,
    index_of,
    pack_index,
    pack_vectors,
    parts_of,
)
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.shared.payload import record_to_json, structure_to_json
from knowledge_mcp.stores.shared.rules import check_documents, in_stored_order, not_announced
from knowledge_mcp.support.batches import grouped
from knowledge_mcp.support.system.processes import is_running

_LONGEST_SECONDS = 120.0
"""Seconds after which the writer of a generation that is neither visible nor gone is considered dead. They count from
when this process first saw its holder, by its monotonic clock, because machines disagree about the time and a clock
may be set.
"""

_SURELY_OVER = 86_400.0
"""The same by wall-clock time, with a margin for wrong clocks: short-lived commands cannot watch a holder for long."""

_TRIES = 5
_MOST_SEEN = 10_000
_SEEN: dict[str, float] = {}
"""When holders were first seen here; above the limit the oldest are forgotten, and count as new again."""


def _holder_row(document_id: str, token: str) -> ChromaRow:
    """Create the holder of a generation that this process is writing."""
    metadata: dict[str, Any] = {
        "kind": "staged",
        "document_id": document_id,
        "generation": token,
        "since": time.time(),
        "writer": f"{platform.node()} {os.getpid()}",
    }
    return ChromaRow(f"staged {json.dumps([document_id, secrets.token_hex(16)])}", metadata)


def holders_of(place: ChromaCollection, documents: Sequence[str] | None) -> list[FoundEntry]:
    """Read the holders of the generations of some documents, or of all."""
    return place.documents.rows(where=all_of({"kind": {"$eq": "staged"}}, of_documents(documents)))


def of_documents(documents: Sequence[str] | None) -> Where | None:
    """Return the condition for some documents, or None for all."""
    return None if documents is None else {"document_id": {"$in": list(documents)}}


def is_abandoned(holder: FoundEntry) -> bool:
    """Return whether a generation's writer is dead: a process of this machine that has ended, or one that is too late.

    A writer that is still alive notices that its holder is gone, and writes again.
    """
    since = holder.metadata["since"]
    host, _, process = str(holder.metadata.get("writer")).rpartition(" ")
    gone = host == platform.node() and process.isdecimal() and not is_running(int(process))
    return gone or _seen_for(holder.id) > _LONGEST_SECONDS or time.time() - float(since) > _SURELY_OVER


def _seen_for(holder: str) -> float:
    """Return how many seconds ago a holder was first seen; each holder has a unique id."""
    now = time.monotonic()
    since = _SEEN.setdefault(holder, now)
    if len(_SEEN) > _MOST_SEEN:
        for oldest in list(_SEEN)[: _MOST_SEEN // 10]:
            _SEEN.pop(oldest, None)
    return now - since


_VECTOR_BYTES = 768 * 1024
SMALL_CALL = 1024 * 1024
"""Maximum bytes of a single call for entries that must become visible together or in order."""
_VISIBLE = "generation:"
_DOCUMENTS: Where = {"kind": {"$eq": "document"}}
_CONTENT_KINDS: Where = {"kind": {"$in": ["text", "structure", "index", "vectors"]}}
STATE = "state"
"""Id of the entry that each publish and each delete rewrites."""
GONE: Where = {"gone": {"$eq": True}}
"""Marks the record of a document that is being deleted."""


def change_of(state: FoundEntry | None) -> str:
    """Return the state in a collection's state entry; empty if nothing was ever written."""
    return "" if state is None else str(state.metadata["change"])


def document_entry(document_id: str) -> str:
    """Return the id of the entry of a document's record."""
    return f"document {json.dumps([document_id])}"


def visible_generations(documents: ChromaTable) -> dict[str, str]:
    """Map the entry of every document to its visible generation."""
    return {
        entry: uri.removeprefix(_VISIBLE)
        for entry, uri in documents.uris(_DOCUMENTS).items()
        if uri.startswith(_VISIBLE)
    }


def visible_of(entry: FoundEntry) -> str | None:
    """Return the generation that a record makes visible, or None if its document is being deleted."""
    return entry.uri.removeprefix(_VISIBLE) if entry.uri.startswith(_VISIBLE) else None


def structure_entries(entry: FoundEntry, token: str) -> list[str]:
    """Return the entry ids of a generation's structure; none if it has none."""
    parts = str(entry.metadata.get("structure") or "").partition(" ")[2]
    return [f"structure {token} {number}" for number in range(int(parts or 0))]


def _vector_rows(token: str, document_id: str, chunks: Sequence[EmbeddedChunk]) -> list[ChromaRow]:
    """Create the entries of the exact vectors of chunks; their ids contain a hash of their content."""
    group = max(1, _VECTOR_BYTES // max(1, len(chunks[0].vector))) if chunks else 1
    rows: list[ChromaRow] = []
    for start in range(0, len(chunks), group):
        keys, vectors = pack_vectors(chunks[start : start + group])
        digest = hashlib.sha256(f"{keys}{vectors}".encode()).hexdigest()[:16]
        metadata = {"kind": "vectors", "generation": token, "document_id": document_id, "keys": keys}
        rows.append(ChromaRow(f"vectors {token} {digest}", metadata | {"vectors": vectors}))
    return rows


@dataclass(frozen=True, slots=True)
class _DocumentEntries:
    """A document and its entries: the holder, exact vectors, chunks, other rows, and the record."""

    document: WholeDocument
    holder: ChromaRow
    vectors: list[ChromaRow]
    chunks: list[ChromaRow]
    rows: list[ChromaRow]
    commit: ChromaRow

    @property
    def id(self) -> str:
        """The document's id."""
        return self.document.record.id

    @property
    def size(self) -> int:
        """Estimated bytes of the call that makes it visible."""
        return sum(each.size for each in (*self.rows, self.commit))


def publish(
    place: ChromaCollection,
    documents: Sequence[WholeDocument],
    analyser: Analyser,
    on_published: Callable[[str], object],
) -> None:
    """Publish documents in as few calls as possible; `on_published` is called for each when it is visible.

    Raises:
        InvalidInputError: a vector has a wrong length; nothing was written.
        InternalError: a document's number of chunks differs from its record, and nothing was written; or other writers
            discarded it on every attempt.
    """
    check_documents(documents, place.info.space.dimensions)
    killed = {str(each.metadata["document_id"]) for each in holders_of(place, None) if is_abandoned(each)}
    if killed:  # some of their documents may be visible, so nobody writes them again
        sweep(place, sorted(killed))
    entries = (_entries(each, analyser) for each in documents)
    for group in grouped(entries, (SMALL_CALL,), lambda each: (each.size,), lambda each: each.id):
        discard_unfinished(place, [each.id for each in group], spare=lambda holder: not is_abandoned(holder))
        left = _written(place, group, on_published)
        for _ in range(_TRIES - 1):
            if not left:
                break
            left = _written(place, [_entries(each.document, analyser) for each in left], on_published)
        if left:
            raise not_announced(left[0].document.record, 0, "other writers discard it again and again")


def _written(
    place: ChromaCollection, group: Sequence[_DocumentEntries], on_published: Callable[[str], object]
) -> list[_DocumentEntries]:
    """Write a group and report it; return the documents that another writer discarded meanwhile."""
    place.documents.put([*(each.holder for each in group), *(row for each in group for row in each.vectors)])
    place.chunks.put([row for each in group for row in each.chunks])
    stored = _not_discarded(place, group)
    if stored:
        _commit(place, [row for each in stored for row in each.rows], [each.commit for each in stored])
        stored = _not_discarded(place, stored)
    for each in stored:
        on_published(each.id)
    sweep(place, [each.id for each in group], finished=[each.holder.id for each in group])
    return [each for each in group if each not in stored]


def _not_discarded(place: ChromaCollection, group: Sequence[_DocumentEntries]) -> list[_DocumentEntries]:
    """Return the documents whose generations nobody has discarded."""
    there = {each.id for each in place.documents.rows(ids=[each.holder.id for each in group])}
    return [each for each in group if each.holder.id in there]


def _entries(document: WholeDocument, analyser: Analyser) -> _DocumentEntries:
    token, document_id = secrets.token_hex(8), document.record.id
    chunks = in_stored_order(document.chunks)
    vectors = _vector_rows(token, document_id, chunks)
    index = index_of(
        [(each.chunk, each.embedding_key) for each in chunks], sorted(each.id for each in vectors), analyser
    )
    rows, commit = _generation_rows(token, document, index)
    return _DocumentEntries(
        document=document,
        holder=_holder_row(document_id, token),
        vectors=vectors,
        chunks=[chunk_row(each, token) for each in chunks],
        rows=rows,
        commit=commit,
    )


def _generation_rows(token: str, document: WholeDocument, index: Index) -> tuple[list[ChromaRow], ChromaRow]:
    """Create the entries of text, structure and index of a generation, and of the record that makes it visible."""
    record, texts = document.record, parts_of(document.text)
    kept = {"generation": token, "document_id": record.id}
    rows = [
        ChromaRow(f"text {token} {number}", {"kind": "text", **kept, "text": part}) for number, part in enumerate(texts)
    ]
    shape = structure_to_json(document.structure)
    shapes = parts_of(shape) if shape else []
    rows += [
        ChromaRow(f"structure {token} {number}", {"kind": "structure", **kept, "structure": part})
        for number, part in enumerate(shapes)
    ]
    rows += index_rows(token, record.id, index)
    return rows, _record_row(record, token, len(texts), len(shapes), record_to_json(record, document.text, shape))


def _commit(place: ChromaCollection, rows: Sequence[ChromaRow], commits: Sequence[ChromaRow]) -> None:
    """Write what the records need, then all records with the state in one call, so that all become visible at once."""
    commits = [*commits, _changed()]
    if sum(each.size for each in (*rows, *commits)) <= SMALL_CALL:
        place.documents.put([*rows, *commits])
    else:
        place.documents.put(rows)
        place.documents.put(commits)


def make_index(place: ChromaCollection, token: str, analyser: Analyser) -> Index:
    """Build a generation's index from its chunks."""
    found = place.chunks.rows(where={"generation": {"$eq": token}})
    chunks = sorted(
        ((chunk_of(each), str(each.metadata["embedding_key"])) for each in found),
        key=lambda pair: (pair[0].index, pair[0].id),
    )
    vectors = place.documents.ids(all_of({"kind": {"$eq": "vectors"}}, {"generation": {"$eq": token}}))
    return index_of(chunks, sorted(vectors), analyser)


def index_rows(token: str, document_id: str, index: Index) -> list[ChromaRow]:
    """Create the entries of an index, each with the number of parts and the analyser, in case the format is newer."""
    parts = parts_of(pack_index(index))
    kept = {"kind": "index", "generation": token, "document_id": document_id, "parts": len(parts)}
    kept |= {"analyser": index.analyser}
    return [ChromaRow(f"index {token} {number}", kept | {"packed": part}) for number, part in enumerate(parts)]


def _record_row(record: DocumentRecord, token: str, text_parts: int, structure_parts: int, kept: str) -> ChromaRow:
    """Create the entry of a record, which names the visible generation."""
    metadata = {
        "kind": "document",
        "document_id": record.id,
        "title": record.title,
        "document_type": record.document_type,
        "source_path": record.source_path,
        "sha256": record.sha256,
        "chunk_count": record.chunk_count,
        "token_count": record.token_count,
        "pages": record.pages,
        "status": record.status.value,
        "embedding_model": record.embedding_model,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "text_parts": text_parts,
        "structure": f"{token} {structure_parts}",
        "record": kept,
        "gone": None,
    }
    return ChromaRow(document_entry(record.id), metadata, document=record.title, uri=f"{_VISIBLE}{token}")


def _changed() -> ChromaRow:
    """Create the state entry that tells other processes that something has changed."""
    return ChromaRow(STATE, {"kind": STATE, "change": secrets.token_hex(8)}, uri=STATE)


def discard_unfinished(
    place: ChromaCollection, documents: Sequence[str] | None, *, spare: Callable[[FoundEntry], bool] = lambda _: False
) -> None:
    """Discard unfinished generations of some documents or of all, and those that no document shows.

    Holders are removed first, except those to be spared: a writer that still finds its holder after the commit knows
    that its generation stays.
    """
    found = [each for each in holders_of(place, documents) if not spare(each)]
    dropped = {each.id: str(each.metadata["generation"]) for each in found}
    place.documents.remove(list(dropped))
    visible = _visible_tokens(place, documents)
    _remove_generations(place, {token for token in dropped.values() if token not in visible})
    sweep(place, documents)


def delete_document(place: ChromaCollection, document_id: str) -> int:
    """Delete a document: hide it in one call, then remove its entries; return the number of visible chunks."""
    discard_unfinished(place, [document_id])
    entry = document_entry(document_id)
    found = place.documents.one(entry)
    token = None if found is None else visible_of(found)
    if token is None:
        place.documents.remove_if([] if found is None else [entry], GONE)  # an interrupted delete
        return 0
    gone = ChromaRow(entry, {"kind": "document", "document_id": document_id, "record": None, "gone": True}, uri="gone")
    place.documents.put([gone, _changed()])
    count = _remove_generations(place, {token})
    place.documents.remove_if([entry], GONE)
    return count


def sweep(
    place: ChromaCollection,
    documents: Sequence[str] | None = None,
    *,
    finished: Sequence[str] = (),
    look_only: bool = False,
) -> dict[str, int]:
    """Remove every generation, of some documents or of all, that is neither visible nor being written.

    Generations are listed before their holders, because a writer creates the holder before its first entry.

    Args:
        place: the collection.
        documents: ids; None for all.
        finished: holders of finished writes, to be removed too.
        look_only: only report.

    Returns:
        The number of chunks removed (or to be removed), by generation.
    """
    own = of_documents(documents)
    found: dict[str, int] = {}
    for entry in place.chunks.ids(own):
        token = generation_of(entry)
        found[token] = found.get(token, 0) + 1
    for entry in place.documents.ids(all_of(_CONTENT_KINDS, own)):
        found.setdefault(entry.split(" ")[1], 0)
    holders = holders_of(place, documents)
    over = {*finished, *(each.id for each in holders if is_abandoned(each))}
    tokens = {str(each.metadata["generation"]) for each in holders if each.id not in over}
    tokens |= _visible_tokens(place, documents)
    lost = {token: count for token, count in found.items() if token not in tokens}
    if not look_only:
        _remove_generations(place, lost, sorted(over))
    return lost


def _visible_tokens(place: ChromaCollection, documents: Sequence[str] | None) -> set[str]:
    if documents is None:
        return set(visible_generations(place.documents).values())
    found = place.documents.rows(ids=[document_entry(each) for each in documents])
    return {token for each in found if (token := visible_of(each)) is not None}


def _remove_generations(place: ChromaCollection, tokens: Iterable[str], finished: Sequence[str] = ()) -> int:
    """Remove all entries of generations, then the finished ones; return the number of chunks removed."""
    ordered = sorted(tokens)
    chunks: list[str] = []
    others: list[str] = []
    if ordered:
        where: Where = {"generation": {"$in": ordered}}
        chunks = place.chunks.ids(where)
        others = place.documents.ids(all_of(_CONTENT_KINDS, where))
    place.chunks.remove(chunks)
    place.documents.remove([*others, *finished])
    return len(chunks)


def unfinished(place: ChromaCollection) -> list[str]:
    """List the documents that are being written, or whose writer was killed, in order."""
    visible = _visible_tokens(place, None)
    found = [each.metadata for each in holders_of(place, None)]
    return sorted({str(each["document_id"]) for each in found if str(each["generation"]) not in visible})

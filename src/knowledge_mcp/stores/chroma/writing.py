"""What is written to ChromaDB, in an order that leaves the old or the new version whole wherever it is cut short.

ChromaDB has no transaction, but one small call is all or nothing. `publish` writes everything new under a generation
that nobody looks at, many documents in a few calls: first what holds their generations and the exact vectors, then the
chunks, then in one call everything else with the records, which name the generations: that is the commit. Only then the
old ones are removed. Whoever discards a generation that is being written takes its holder first, and then looks what
is visible: so a generation whose holder is still there after its record is written is whole, and any other one is
written again. Whatever a kill leaves behind is invisible, and goes with the next publish or with `sweep`.
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
from knowledge_mcp.stores.shared.rules import as_kept, check_documents, not_announced
from knowledge_mcp.support.batches import grouped
from knowledge_mcp.support.system.processes import is_running

_LONGEST_SECONDS = 120.0
"""Time after which a document that is neither visible nor gone is taken for a killed writer's: since this process
first saw its holder, by its own clock, for two machines tell different times, and a clock may be set."""

_SURELY_OVER = 86_400.0
"""The same by the clock of the day, as far as a clock is hardly wrong: commands that end soon watch nobody for long."""

_TRIES = 5
_MOST_SEEN = 10_000
_SEEN: dict[str, float] = {}
"""When holders were first seen here; of more than so many the oldest are forgotten, and count as new again."""


def _holder_row(document_id: str, token: str) -> ChromaRow:
    """Make the holder of a generation that this process writes now."""
    metadata: dict[str, Any] = {
        "kind": "staged",
        "document_id": document_id,
        "generation": token,
        "since": time.time(),
        "writer": f"{platform.node()} {os.getpid()}",
    }
    return ChromaRow(f"staged {json.dumps([document_id, secrets.token_hex(16)])}", metadata)


def holders_of(place: ChromaCollection, documents: Sequence[str] | None) -> list[FoundEntry]:
    """Read the holders of some documents' generations, or of all."""
    return place.documents.rows(where=all_of({"kind": {"$eq": "staged"}}, of_documents(documents)))


def of_documents(documents: Sequence[str] | None) -> Where | None:
    """Say in ChromaDB's words which documents are meant, None for all."""
    return None if documents is None else {"document_id": {"$in": list(documents)}}


def is_abandoned(holder: FoundEntry) -> bool:
    """Tell whether a document's writer was killed: a process of this machine that has gone, or one that is late.

    One that is at work all the same notices that its holder is gone, and writes again.
    """
    since = holder.metadata["since"]
    host, _, process = str(holder.metadata.get("writer")).rpartition(" ")
    gone = host == platform.node() and process.isdecimal() and not is_running(int(process))
    return gone or _seen_for(holder.id) > _LONGEST_SECONDS or time.time() - float(since) > _SURELY_OVER


def _seen_for(holder: str) -> float:
    """Tell how long ago a holder was first seen, in seconds; each has a name of its own."""
    now = time.monotonic()
    since = _SEEN.setdefault(holder, now)
    if len(_SEEN) > _MOST_SEEN:
        for oldest in list(_SEEN)[: _MOST_SEEN // 10]:
            _SEEN.pop(oldest, None)
    return now - since


_VECTOR_BYTES = 768 * 1024
SMALL_CALL = 1024 * 1024
"""Bytes up to which entries that must not be seen apart, or one after the other, are written in one call."""
_VISIBLE = "generation:"
_DOCUMENTS: Where = {"kind": {"$eq": "document"}}
_HELD_KINDS: Where = {"kind": {"$in": ["text", "structure", "index", "vectors"]}}
STATE = "state"
"""Entry that each publish and each delete writes again."""
GONE: Where = {"gone": {"$eq": True}}
"""Marks the record of a document that is being deleted."""


def change_of(state: FoundEntry | None) -> str:
    """Name the state that a collection's entry of it tells; empty where nothing was ever written."""
    return "" if state is None else str(state.metadata["change"])


def document_entry(document_id: str) -> str:
    """Name the entry of a document's record."""
    return f"document {json.dumps([document_id])}"


def visible_generations(documents: ChromaTable) -> dict[str, str]:
    """Map every document's entry to its visible generation."""
    return {
        entry: uri.removeprefix(_VISIBLE)
        for entry, uri in documents.uris(_DOCUMENTS).items()
        if uri.startswith(_VISIBLE)
    }


def visible_of(entry: FoundEntry) -> str | None:
    """Name the generation that a record shows, None where its document is being deleted."""
    return entry.uri.removeprefix(_VISIBLE) if entry.uri.startswith(_VISIBLE) else None


def structure_entries(entry: FoundEntry, token: str) -> list[str]:
    """Name the entries of a generation's sections and pages; none where there are none."""
    parts = str(entry.metadata.get("structure") or "").partition(" ")[2]
    return [f"structure {token} {number}" for number in range(int(parts or 0))]


def _vector_rows(token: str, document_id: str, chunks: Sequence[EmbeddedChunk]) -> list[ChromaRow]:
    """Write the exact vectors of chunks in entries; their names tell what is in them."""
    group = max(1, _VECTOR_BYTES // max(1, len(chunks[0].vector))) if chunks else 1
    rows: list[ChromaRow] = []
    for start in range(0, len(chunks), group):
        keys, vectors = pack_vectors(chunks[start : start + group])
        digest = hashlib.sha256(f"{keys}{vectors}".encode()).hexdigest()[:16]
        metadata = {"kind": "vectors", "generation": token, "document_id": document_id, "keys": keys}
        rows.append(ChromaRow(f"vectors {token} {digest}", metadata | {"vectors": vectors}))
    return rows


@dataclass(frozen=True, slots=True)
class _Entries:
    """Hold a document and its entries: its generation's holder, exact vectors, chunks, the rest, the record."""

    document: WholeDocument
    holder: ChromaRow
    vectors: list[ChromaRow]
    chunks: list[ChromaRow]
    rows: list[ChromaRow]
    commit: ChromaRow

    @property
    def id(self) -> str:
        """Name the document."""
        return self.document.record.id

    @property
    def size(self) -> int:
        """Estimate the bytes of the call that makes it visible."""
        return sum(each.size for each in (*self.rows, self.commit))


def publish(
    place: ChromaCollection,
    documents: Sequence[WholeDocument],
    analyser: Analyser,
    on_published: Callable[[str], object],
) -> None:
    """Write documents in as few calls as hold them; `on_published` is told of each when it is visible.

    Raises:
        InvalidInputError: a vector is of another length; nothing was written.
        InternalError: a document has not the chunks announced, and nothing was written; or other writers discarded it
            each time that it was written.
    """
    check_documents(documents, place.info.space.dimensions)
    killed = {str(each.metadata["document_id"]) for each in holders_of(place, None) if is_abandoned(each)}
    if killed:  # some of their documents may be visible, and so nobody writes them again
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
    place: ChromaCollection, group: Sequence[_Entries], on_published: Callable[[str], object]
) -> list[_Entries]:
    """Write a group and tell of it; returns those that another writer discarded meanwhile."""
    place.documents.put([*(each.holder for each in group), *(row for each in group for row in each.vectors)])
    place.chunks.put([row for each in group for row in each.chunks])
    stored = _held(place, group)
    if stored:
        _commit(place, [row for each in stored for row in each.rows], [each.commit for each in stored])
        stored = _held(place, stored)
    for each in stored:
        on_published(each.id)
    sweep(place, [each.id for each in group], finished=[each.holder.id for each in group])
    return [each for each in group if each not in stored]


def _held(place: ChromaCollection, group: Sequence[_Entries]) -> list[_Entries]:
    """Choose the documents whose generations nobody has discarded."""
    there = {each.id for each in place.documents.rows(ids=[each.holder.id for each in group])}
    return [each for each in group if each.holder.id in there]


def _entries(document: WholeDocument, analyser: Analyser) -> _Entries:
    token, document_id = secrets.token_hex(8), document.record.id
    chunks = as_kept(document.chunks)
    vectors = _vector_rows(token, document_id, chunks)
    index = index_of(
        [(each.chunk, each.embedding_key) for each in chunks], sorted(each.id for each in vectors), analyser
    )
    rows, commit = _generation_rows(token, document, index)
    return _Entries(
        document=document,
        holder=_holder_row(document_id, token),
        vectors=vectors,
        chunks=[chunk_row(each, token) for each in chunks],
        rows=rows,
        commit=commit,
    )


def _generation_rows(token: str, document: WholeDocument, index: Index) -> tuple[list[ChromaRow], ChromaRow]:
    """Write text, structure and index of a generation in entries, and the record that makes it visible in another."""
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
    """Write what records need, and then the records with the change of state in one call: all or none are visible."""
    commits = [*commits, _changed()]
    if sum(each.size for each in (*rows, *commits)) <= SMALL_CALL:
        place.documents.put([*rows, *commits])
    else:
        place.documents.put(rows)
        place.documents.put(commits)


def make_index(place: ChromaCollection, token: str, analyser: Analyser) -> Index:
    """Make a generation's index from its chunks."""
    found = place.chunks.rows(where={"generation": {"$eq": token}})
    chunks = sorted(
        ((chunk_of(each), str(each.metadata["embedding_key"])) for each in found),
        key=lambda pair: (pair[0].index, pair[0].id),
    )
    vectors = place.documents.ids(all_of({"kind": {"$eq": "vectors"}}, {"generation": {"$eq": token}}))
    return index_of(chunks, sorted(vectors), analyser)


def index_rows(token: str, document_id: str, index: Index) -> list[ChromaRow]:
    """Write an index in entries; each says how many there are, and whose it is: a later form may be unreadable here."""
    parts = parts_of(pack_index(index))
    kept = {"kind": "index", "generation": token, "document_id": document_id, "parts": len(parts)}
    kept |= {"analyser": index.analyser}
    return [ChromaRow(f"index {token} {number}", kept | {"packed": part}) for number, part in enumerate(parts)]


def _record_row(record: DocumentRecord, token: str, text_parts: int, structure_parts: int, kept: str) -> ChromaRow:
    """Make the entry of a record, which names the visible generation."""
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
    """Make the entry that tells every process that something else is visible now."""
    return ChromaRow(STATE, {"kind": STATE, "change": secrets.token_hex(8)}, uri=STATE)


def discard_unfinished(
    place: ChromaCollection, documents: Sequence[str] | None, *, spare: Callable[[FoundEntry], bool] = lambda _: False
) -> int:
    """Drop unfinished generations of some documents or of all, and what no document shows; returns their chunks.

    The holders go first, but for those to be spared: who finds his own there after a commit knows that what he
    committed stays.
    """
    found = [each for each in holders_of(place, documents) if not spare(each)]
    dropped = {each.id: str(each.metadata["generation"]) for each in found}
    place.documents.remove(list(dropped))
    visible = _visible_tokens(place, documents)
    gone = _remove_generations(place, {token for token in dropped.values() if token not in visible})
    sweep(place, documents)
    return gone


def delete_document(place: ChromaCollection, document_id: str) -> int:
    """Remove a document: first from sight in one call, then its entries; returns how many visible chunks went."""
    discard_unfinished(place, [document_id])
    entry = document_entry(document_id)
    found = place.documents.one(entry)
    token = None if found is None else visible_of(found)
    if token is None:
        place.documents.remove_if([] if found is None else [entry], GONE)  # a deletion that was cut short
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

    Generations are looked for first and their holders then: one that is just being written has its holder before its
    first entry. `finished` are other entries to be removed: a holder among them holds nothing any more.

    Returns:
        how many chunks went (or would have) by generation.
    """
    own = of_documents(documents)
    found: dict[str, int] = {}
    for entry in place.chunks.ids(own):
        token = generation_of(entry)
        found[token] = found.get(token, 0) + 1
    for entry in place.documents.ids(all_of(_HELD_KINDS, own)):
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
    """Remove all entries of generations, then the finished ones; returns how many chunks went."""
    ordered = sorted(tokens)
    chunks: list[str] = []
    others: list[str] = []
    if ordered:
        where: Where = {"generation": {"$in": ordered}}
        chunks = place.chunks.ids(where)
        others = place.documents.ids(all_of(_HELD_KINDS, where))
    place.chunks.remove(chunks)
    place.documents.remove([*others, *finished])
    return len(chunks)


def unfinished(place: ChromaCollection) -> list[str]:
    """Name the documents that are being written, or whose writer was killed, in order."""
    visible = _visible_tokens(place, None)
    found = [each.metadata for each in holders_of(place, None)]
    return sorted({str(each["document_id"]) for each in found if str(each["generation"]) not in visible})

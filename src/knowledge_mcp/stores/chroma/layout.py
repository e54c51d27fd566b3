"""How chunks and documents are stored in ChromaDB: names, metadata for plain clients, filters and packed indexes.

```text
<name>                      one entry per chunk: its vector, its content, flat metadata, and the whole chunk as JSON
<name>.documents-<token>    `document ["<id>"]`         the record; its uri names the visible generation
                            `text <generation> <n>`     the canonical text in parts
                            `structure <generation> <n>` the structure in parts, if the document has one
                            `index <generation> <n>`    the search index of its chunks (`Index`), packed
                            `vectors <generation> <h>`  the exact vectors: ChromaDB normalises what it is given
                            `staged ["<id>", "<g>"]`    who is writing a new generation, until it is visible
                            `state`                     changes whenever what is visible changes
```
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk
from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.query import Filter, In, NotIn, Prefix
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import ChromaRow, FoundEntry, Where
from knowledge_mcp.stores.shared.filters import clause_prefixes, kind_of, simple_filters
from knowledge_mcp.stores.shared.payload import UNREADABLE, chunk_from_json, chunk_to_json, sealed, unsealed
from knowledge_mcp.stores.shared.ranking import counted_terms

LAYOUT = "knowledge-mcp/1"
PART_CHARACTERS = 1_000_000
"""Characters in one part of a long text: at most some megabytes on the wire."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{1,150}[A-Za-z0-9]")
_CODED = "kb-"


def chroma_name(name: str) -> str:
    """Return the ChromaDB name of a collection: its own name if ChromaDB allows it, else a code."""
    if _PLAIN.fullmatch(name) and not name.startswith(_CODED):
        return name
    code = name.encode("utf-8", "surrogatepass")
    return _CODED + (code.hex() if len(code) <= 60 else hashlib.sha256(code).hexdigest())


def chunk_row(each: EmbeddedChunk, token: str) -> ChromaRow:
    """Create a chunk's entry; absent values are None, so that an entry written again keeps no old values."""
    chunk = each.chunk
    whole = json.loads(unsealed(chunk_to_json(chunk)))
    del whole["content"]
    lines = chunk.lines or (None, None)
    metadata: dict[str, Any] = {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "document_title": chunk.document_title,
        "document_type": chunk.document_type,
        "chunk_index": chunk.index,
        "chunk_type": chunk.chunk_type.value,
        "normative": chunk.normative,
        "clause_number": chunk.clause_number,
        "clause_prefixes": clause_prefixes(chunk.clause_number) or None,
        "section_title": chunk.section_title,
        "section_hierarchy": list(chunk.section_hierarchy) or None,
        "parent_chunk_id": chunk.parent_chunk_id,
        "page_numbers": list(chunk.page_numbers) or None,
        "page_labels": list(chunk.page_labels) or None,
        "first_line": lines[0],
        "last_line": lines[1],
        "references": list(chunk.references) or None,
        "defined_terms": [one.term for one in chunk.definitions] or None,
        "token_count": chunk.token_count,
        "content_hash": chunk.content_hash,
        "source_path": chunk.source_path,
        "embedding_key": each.embedding_key,
        "generation": token,
        "chunk": sealed(json.dumps(whole, ensure_ascii=False, separators=(",", ":"))),
    }
    return ChromaRow(f"{token} {chunk.id}", metadata, np.frombuffer(each.vector, "<f4"), chunk.content)


def document_of(entry_id: str) -> str:
    """Return the document id from the id of a record's entry."""
    found: list[str] = json.loads(entry_id.partition(" ")[2])
    return found[0]


def generation_of(entry_id: str) -> str:
    """Return the generation from the id of a chunk's entry."""
    return entry_id.partition(" ")[0]


def chunk_of(found: FoundEntry) -> Chunk:
    """Parse a chunk exactly as it was written.

    Raises:
        DamagedError: it is not what was written.
    """
    try:
        whole = json.loads(unsealed(found.metadata["chunk"]))
        whole["content"] = found.document
    except UNREADABLE as exc:
        document_id, chunk_id = (str(found.metadata.get(name, "")) for name in ("document_id", "chunk_id"))
        raise DamagedError.of("passage", document_id, chunk_id, why=f"{type(exc).__name__}: {exc}") from exc
    return chunk_from_json(json.dumps(whole, ensure_ascii=False))


def all_of(*parts: Where | None) -> Where | None:
    """Combine conditions with AND; None if there are none."""
    there = [part for part in parts if part is not None]
    return there[0] if len(there) == 1 else {"$and": there} if there else None


def where_of(filter: Filter | None) -> Where | None:
    """Convert a filter into a ChromaDB condition."""
    parts: list[Where] = []
    for part in simple_filters(filter):
        if isinstance(part, Prefix):
            parts.append({"clause_prefixes": {"$contains": part.value.rstrip(".")}})
            continue
        if isinstance(part, NotIn):
            parts.extend([{part.field: {"$nin": list(dict.fromkeys(part.values))}}] if part.values else [])
            continue
        values: list[Any] = list(dict.fromkeys(part.values)) if isinstance(part, In) else [part.value]
        if part.field == "normative":
            values = [known for known, names in _TRUTH if any(each in names for each in values)]
        parts.append({part.field: {"$in": values}} if values else _NOTHING)
    return all_of(*parts)


_TRUTH = ((True, (True, "true")), (False, (False, "false")))
_NOTHING: Where = {"chunk_id": {"$eq": ""}}


def parts_of(text: str) -> list[str]:
    """Split a long text into parts; an empty text gives one empty part."""
    return [text[start : start + PART_CHARACTERS] for start in range(0, len(text), PART_CHARACTERS)] or [""]


@dataclass(frozen=True)
class Index:
    """The search index of one document's chunks, in order.

    Attributes:
        analyser: version that produced the terms.
        ids, keys: chunk id and embedding key of each chunk.
        kinds: document type, chunk type and `normative` of each chunk.
        clauses: clause number of each chunk.
        definitions: (position of the chunk, term, aliases) in order.
        vectors: ids of the entries that hold the exact vectors.
        terms: all terms.
        lengths: number of terms in each chunk, with repetitions.
        ends: for each term the end of its postings in `places` and `counts`.
        places: position of the chunk of each posting.
        counts: count of the term in that chunk.
    """

    analyser: str
    ids: list[str]
    keys: list[str]
    kinds: list[tuple[str, str, str]]
    clauses: list[str | None]
    definitions: list[tuple[int, str, list[str]]]
    vectors: list[str]
    terms: list[str]
    lengths: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    places: NDArray[np.uint32]
    counts: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))


def index_of(chunks: Sequence[tuple[Chunk, str]], vectors: Sequence[str], analyser: Analyser) -> Index:
    """Build the index of chunks, given in order with their embedding keys."""
    postings: dict[str, list[tuple[int, int]]] = {}
    lengths: list[int] = []
    for place, (chunk, _) in enumerate(chunks):
        counts = counted_terms(chunk, analyser)
        lengths.append(sum(counts.values()))
        for term, count in counts.items():
            postings.setdefault(term, []).append((place, count))
    flat = [pair for pairs in postings.values() for pair in pairs]
    return Index(
        analyser=analyser.version,
        ids=[chunk.id for chunk, _ in chunks],
        keys=[key for _, key in chunks],
        kinds=[kind_of(each) for each, _ in chunks],
        clauses=[chunk.clause_number for chunk, _ in chunks],
        definitions=[
            (place, each.term, list(each.aliases))
            for place, (chunk, _) in enumerate(chunks)
            for each in chunk.definitions
        ],
        vectors=list(vectors),
        terms=list(postings),
        lengths=np.array(lengths, "<u4"),
        ends=np.cumsum([len(pairs) for pairs in postings.values()], dtype="<u4") if postings else np.zeros(0, "<u4"),
        places=np.array([place for place, _ in flat], "<u4"),
        counts=np.array([count for _, count in flat], np.uint8),
    )


_LISTS = ("analyser", "ids", "keys", "kinds", "clauses", "definitions", "vectors", "terms")
_ARRAYS = (("lengths", "<u4"), ("ends", "<u4"), ("places", "<u4"), ("counts", "u1"))


def pack_index(index: Index) -> str:
    """Serialise an index as ASCII text."""
    head = json.dumps({name: getattr(index, name) for name in _LISTS}, separators=(",", ":")).encode()
    body = [np.ascontiguousarray(getattr(index, name), kind).tobytes() for name, kind in _ARRAYS]
    sizes = struct.pack("<5I", len(head), *(len(each) for each in body))
    return base64.b64encode(zlib.compress(b"".join((sizes, head, *body)), 3)).decode()


def unpack_index(text: str) -> Index:
    """Parse an index.

    Raises:
        ValueError, zlib.error, struct.error, KeyError: it is damaged.
    """
    data = zlib.decompress(base64.b64decode(text, validate=True))
    sizes = struct.unpack_from("<5I", data)
    parts: list[bytes] = []
    start = struct.calcsize("<5I")
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    if start != len(data):
        raise ValueError("an index of another length than it says")
    lists: dict[str, Any] = json.loads(parts[0])
    arrays: dict[str, Any] = {
        name: np.frombuffer(part, kind) for (name, kind), part in zip(_ARRAYS, parts[1:], strict=True)
    }
    lists["kinds"] = [tuple(each) for each in lists["kinds"]]
    lists["definitions"] = [tuple(each) for each in lists["definitions"]]
    return Index(**{name: lists[name] for name in _LISTS}, **arrays)


def pack_vectors(chunks: Sequence[EmbeddedChunk]) -> tuple[str, str]:
    """Serialise exact vectors: their embedding keys as JSON, and the concatenated vectors as base64."""
    return json.dumps([each.embedding_key for each in chunks]), base64.b64encode(
        b"".join(each.vector for each in chunks)
    ).decode()


def unpack_vectors(found: FoundEntry) -> dict[str, bytes]:
    """Parse exact vectors; returns them by embedding key."""
    keys: list[str] = json.loads(found.metadata["keys"])
    data = base64.b64decode(found.metadata["vectors"])
    size = len(data) // max(1, len(keys))
    return {key: data[place * size : (place + 1) * size] for place, key in enumerate(keys)}

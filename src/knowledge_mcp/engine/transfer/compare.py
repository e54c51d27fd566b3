"""Two collections compared: counts, one hash over everything, and the answers to sampled queries."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from knowledge_mcp.engine.core.documents import StoredDocument, vectors_of
from knowledge_mcp.engine.transfer.copying import (
    CHUNKS_AT_ONCE,
    CollectionPlace,
    Trouble,
    read,
)
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.support.batches import batches

LEAST_DENSE_OVERLAP = 0.95
LEAST_LEXICAL_OVERLAP = 0.90
"""Shares of the best hits that both stores must have in common, on average over the sampled queries."""

_HITS = 10
_TIE = 1e-4
_WORDS = 6


@dataclass(frozen=True, slots=True)
class Counts:
    """Count what was compared."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Overlap:
    """Tell how alike the answers to sampled queries are.

    Attributes:
        queries: how many chunks were sampled.
        dense, lexical: mean share of the source's best hits that the target has too; None where nothing was asked.
        lost: ids of sampled chunks that the target does not find by their own vector, though the source does.
        judged: False where the target holds other documents too, so that its best hits may rightly differ.
    """

    queries: int
    dense: float | None
    lexical: float | None
    lost: tuple[str, ...] = ()
    judged: bool = True

    @property
    def good(self) -> bool:
        """Tell whether nothing was lost and the shares are high enough."""
        if self.lost:
            return False
        if not self.judged:
            return True
        near = self.dense is None or self.dense >= LEAST_DENSE_OVERLAP
        return near and (self.lexical is None or self.lexical >= LEAST_LEXICAL_OVERLAP)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Tell whether the target holds exactly what the source holds; documents that only the target has are left out.

    Attributes:
        source, target: counts as read, chunk by chunk.
        source_sha256, target_sha256: `content_hash` of each.
        differing: documents that are not the same, and in what.
        overlap: of sampled queries.
    """

    source: Counts
    target: Counts
    source_sha256: str
    target_sha256: str
    differing: tuple[Trouble, ...]
    overlap: Overlap

    @property
    def equal(self) -> bool:
        """Tell whether counts, hashes and answers agree."""
        same = self.source == self.target and self.source_sha256 == self.target_sha256
        return same and not self.differing and self.overlap.good


@dataclass(slots=True)
class ContentHash:
    """Gather documents, by id, into one hash and their counts."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)

    def add(self, document: StoredDocument | None, document_id: str, digest: str) -> None:
        """Take in one document's digest; ids must come in ascending order."""
        self._hash.update(f"{document_id}\0{digest}\n".encode())
        if document is not None:
            self.documents += 1
            self.chunks += len(document.chunks)
            self.tokens += sum(chunk.token_count for chunk in document.chunks)

    @property
    def counts(self) -> Counts:
        """Return what was counted."""
        return Counts(self.documents, self.chunks, self.tokens)

    @property
    def sha256(self) -> str:
        """Return the hash, 64 hex digits."""
        return str(self._hash.hexdigest())


def document_digest(place: CollectionPlace, document: StoredDocument) -> str:
    """Hash a document's record, text, structure, chunks and vectors: 64 hex digits, equal exactly when all are.

    Raises:
        InternalError: a chunk has no vector.
    """
    digest = hashlib.sha256()
    _add(digest, _plain(document.record))
    _add(digest, document.text.encode("utf-8", "surrogatepass"))
    _add(digest, _plain(document.structure))
    for batch in batches(document.chunks, CHUNKS_AT_ONCE):
        for chunk, vector in zip(batch, vectors_of(place.opened, batch), strict=True):
            _add(digest, _plain(chunk))
            _add(digest, vector)
    return digest.hexdigest()


def content_hash(place: CollectionPlace) -> ContentHash:
    """Hash everything that a collection holds, document by document in the order of their ids.

    Raises:
        InternalError: a document is not whole.
    """
    whole = ContentHash()
    for document_id in sorted(place.records()):
        document = read(place, document_id)
        if document is not None:
            whole.add(document, document_id, document_digest(place, document))
    return whole


def compare(
    source: CollectionPlace,
    target: CollectionPlace,
    records: Mapping[str, DocumentRecord],
    *,
    samples: int,
    others: bool,
    on_document: Callable[[str, int], None],
) -> Comparison:
    """Read the documents of `records` from both places and compare them.

    Args:
        source, target: what is compared.
        records: the documents of the source, by id.
        samples: how many chunks are asked for by their vector and by their words.
        others: whether the target holds other documents too.
        on_document: receives each document's id and how many are done.
    """
    mine, theirs = ContentHash(), ContentHash()
    differing: list[Trouble] = []
    sample = _Sample(samples, sum(record.chunk_count for record in records.values()))
    for done, document_id in enumerate(sorted(records), 1):
        document, digest, trouble = _look(source, document_id)
        copy, its_digest, its_trouble = _look(target, document_id)
        mine.add(document, document_id, digest)
        theirs.add(copy, document_id, its_digest)
        if trouble or its_trouble or digest != its_digest:
            differing.append(Trouble(document_id, trouble or its_trouble or _difference(document, copy)))
        if document is not None and not trouble:
            sample.offer(source, document)
        on_document(document_id, done)
    overlap = _ask(source, target, sample.taken, judged=not others)
    return Comparison(mine.counts, theirs.counts, mine.sha256, theirs.sha256, tuple(differing), overlap)


def _look(place: CollectionPlace, document_id: str) -> tuple[StoredDocument | None, str, str]:
    """Read and hash one document: what was read, its digest, what is wrong with it."""
    document: StoredDocument | None = None
    try:
        document = read(place, document_id)
        if document is None:
            return None, "", f"It is not in '{place.collection}' of {place.store.identity.backend}."
        return document, document_digest(place, document), ""
    except InternalError as exc:
        return document, "", f"{place.store.identity.backend}: {exc.message}"


def _difference(original: StoredDocument | None, copy: StoredDocument | None) -> str:
    """Say in what two versions of a document differ that are both whole."""
    if original is None or copy is None:
        return "It is only in one of the two."
    for what, same in (
        ("record", original.record == copy.record),
        ("text", original.text == copy.text),
        ("sections or pages", original.structure == copy.structure),
        ("chunks", original.chunks == copy.chunks),
    ):
        if not same:
            return f"The {what} differ{'' if what.endswith('s') else 's'}."
    return "The vectors differ."


class _Sample:
    """Take chunks evenly spread over a collection, with their vectors, while its documents pass by."""

    def __init__(self, size: int, chunks: int) -> None:
        count = min(size, chunks)
        self._places = [place * chunks // count for place in range(count)]
        self._passed = 0
        self.taken: list[tuple[Chunk, Vector]] = []

    def offer(self, place: CollectionPlace, document: StoredDocument) -> None:
        """Let one document pass."""
        last = self._passed + len(document.chunks)
        chosen: list[Chunk] = []
        while self._places and self._places[0] < last:
            chosen.append(document.chunks[self._places.pop(0) - self._passed])
        self._passed = last
        if chosen:
            self.taken.extend(zip(chosen, vectors_of(place.opened, chosen), strict=True))


def _ask(
    source: CollectionPlace, target: CollectionPlace, sample: Sequence[tuple[Chunk, Vector]], *, judged: bool
) -> Overlap:
    """Search both with each sampled chunk's vector and words."""
    dense: list[float] = []
    lexical: list[float] = []
    lost: list[str] = []
    for chunk, vector in sample:
        words = _words_of(chunk.content)
        legs = [
            place.opened.search(vector=vector, text=words or None, filter=None, limit=_HITS)
            for place in (source, target)
        ]
        mine, theirs = (list(each.dense or ()) for each in legs)
        dense.append(_overlap(mine, theirs))
        if _is_among(chunk, mine) and not _is_among(chunk, theirs):
            lost.append(chunk.id)
        if legs[0].lexical:
            lexical.append(_overlap(list(legs[0].lexical), list(legs[1].lexical or ())))
    return Overlap(len(sample), _mean(dense), _mean(lexical), tuple(lost), judged)


def _is_among(chunk: Chunk, hits: Sequence[LegHit]) -> bool:
    """Tell whether a chunk is among the hits, or others as near as can be have crowded it out."""
    return any(hit.chunk_id == chunk.id for hit in hits) or (len(hits) >= _HITS and hits[-1].score > 1.0 - _TIE)


def _overlap(mine: Sequence[LegHit], theirs: Sequence[LegHit]) -> float:
    """Give the share of hits in common; which ones of equal score at the end make the list is left to each store."""
    if not mine:
        return 1.0 if not theirs else 0.0
    there = {hit.chunk_id for hit in theirs}
    cut = mine[-1].score
    free = sum(1 for hit in mine if hit.score - cut <= _TIE and hit.chunk_id not in there)
    spare = sum(1 for hit in theirs if hit.chunk_id not in {each.chunk_id for each in mine})
    return (sum(1 for hit in mine if hit.chunk_id in there) + min(free, spare)) / len(mine)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _words_of(text: str) -> str:
    """Take some words, evenly spread, each once."""
    words = list(dict.fromkeys(re.findall(r"\w{3,}", text)))
    return " ".join(words[:: max(1, -(-len(words) // _WORDS))])


def _add(digest: Any, part: bytes) -> None:
    """Add one part with its length, so that no two sequences of parts look alike."""
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)


def _plain(value: DocumentRecord | DocumentStructure | Chunk) -> bytes:
    """Write a value of the model as JSON, the same for equal values."""
    text = json.dumps(value, default=_fields, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.encode()


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}

"""Synthetic knowledge bases of any size, made like real ones, written through the store's own port."""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.product import environment
from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.chunk import Chunk, ChunkType, EmbeddedChunk, embedding_key
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace, WholeDocument
from knowledge_mcp.model.document import DocumentType, Span

_PER_DOCUMENT = 500
_SYLLABLES = [
    *"abcdefghij",
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
]
_VOCABULARY = 40_000


def _words() -> list[str]:
    """Make a vocabulary of fixed, distinct words."""
    draw = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        words["".join(draw.choice(_SYLLABLES) for _ in range(draw.randint(2, 4)))] = None
    return list(words)


def _frequencies() -> NDArray[np.float64]:
    weights = 1.0 / np.arange(1, _VOCABULARY + 1) ** 1.05
    return weights / weights.sum()


def questions(count: int, seed: int) -> list[str]:
    """Make questions of 5 to 12 words, frequent and rare ones mixed as in real questions."""
    words, draw = _words(), np.random.default_rng(seed)
    chances = _frequencies()
    found: list[str] = []
    for _ in range(count):
        common = draw.choice(_VOCABULARY, size=int(draw.integers(3, 7)), p=chances)
        rare = draw.integers(50, 8000, size=int(draw.integers(2, 6)))
        found.append(" ".join(words[int(each)] for each in (*common, *rare)))
    return found


def _vectors(count: int, dimensions: int, draw: np.random.Generator, base: NDArray[np.float32]) -> NDArray[np.float32]:
    a, b, c = (base[draw.integers(0, len(base), count)] for _ in range(3))
    made = a + 0.45 * (b - c) + draw.normal(0, 0.02, (count, dimensions)).astype(np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def _chunk(document: str, kind: DocumentType, index: int, text: str, start: int) -> Chunk:
    clause = f"{1 + index // 60}.{1 + index // 10 % 6}.{1 + index % 10}"
    normative = index % 3 == 0
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{document}/{index}")),
        document_id=document,
        document_title=f"Synthetic standard {document}",
        document_type=kind.value,
        index=index,
        content=text,
        content_hash=hashlib.sha256(f"{document}{text}".encode()).hexdigest(),
        context=f"Synthetic standard {document} > {clause}",
        token_count=len(text.split()),
        span=Span(start, start + len(text)),
        section_hierarchy=(clause.split(".", maxsplit=1)[0], clause),
        section_title=f"Clause {clause}",
        clause_number=clause,
        parent_chunk_id=None,
        chunk_type=ChunkType.REQUIREMENT if normative else ChunkType.GUIDANCE,
        normative=normative,
        source_path=f"/synthetic/{document}.pdf",
        page_numbers=(1 + index // 4,),
    )


def _documents(
    size: int, draw: np.random.Generator, per_document: int
) -> Iterator[tuple[str, DocumentType, list[str]]]:
    words, chances, kinds = np.array(_words()), _frequencies(), list(DocumentType)
    for number in range((size + per_document - 1) // per_document):
        count = min(per_document, size - number * per_document)
        lengths = draw.integers(40, 160, count)
        drawn = words[draw.choice(_VOCABULARY, size=int(lengths.sum()), p=chances)]
        ends = np.cumsum(lengths)
        texts = [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
        yield f"doc-{number:06d}", kinds[number % len(kinds)], texts


def documents(
    size: int, space: EmbeddingSpace, base: NDArray[np.float32], *, per_document: int = _PER_DOCUMENT
) -> Iterator[tuple[DocumentRecord, str, list[EmbeddedChunk]]]:
    """Make `size` chunks in documents: each one's record, canonical text and chunks; always the same.

    Args:
        size: chunks in all.
        space: what the vectors say they are.
        base: real unit vectors (n, dimensions) that the made ones are mixed from.
        per_document: chunks of a document.
    """
    draw = np.random.default_rng(3)
    for document, kind, texts in _documents(size, draw, per_document):
        vectors = _vectors(len(texts), space.dimensions, draw, base)
        start, chunks = 0, list[EmbeddedChunk]()
        for index, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
            chunk = _chunk(document, kind, index, text, start)
            start += len(text) + 1
            chunks.append(EmbeddedChunk(chunk, vector.astype("<f4").tobytes(), embedding_key(chunk)))
        yield _record(document, kind, chunks, start, space), " ".join(texts), chunks


def _record(
    document: str, kind: DocumentType, chunks: list[EmbeddedChunk], size: int, space: EmbeddingSpace
) -> DocumentRecord:
    return DocumentRecord(
        id=document,
        title=chunks[0].chunk.document_title,
        document_type=kind.value,
        source_path=chunks[0].chunk.source_path,
        sha256=chunks[0].chunk.content_hash,
        pipeline="synthetic",
        size=size,
        pages=1,
        chunk_count=len(chunks),
        token_count=sum(each.chunk.token_count for each in chunks),
        embedding_model=space.label,
        created_at="2026-01-01T00:00:00+00:00",
        updated_at="2026-01-01T00:00:00+00:00",
    )


def build_store(data: Path, size: int) -> None:
    """Fill the default store below `data` with `size` chunks; a folder that is already filled is left alone."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_base

    base = build_base(load_settings(environ=environment(data)))
    base.store.create_collection(base.collection, base.embedder.space)
    if counts_of(base.store.open(base.collection)).chunks != size:
        real = [np.frombuffer(vector, "<f4") for vector in base.embedder.embed_documents(questions(2000, seed=1))]
        for record, text, chunks in documents(size, base.embedder.space, np.stack(real)):
            base.store.open(base.collection).publish([WholeDocument(record, text, chunks)], lambda _: None)
    base.store.close()

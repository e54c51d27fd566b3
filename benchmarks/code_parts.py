"""Parts that `benchmarks.code_search` puts into the product by its registry: kept vectors, the specified chunker."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from knowledge_mcp.embedders.local.embedder import from_options as local_from_options
from knowledge_mcp.model.chunk import Chunk, ChunkType, Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.document import Document, Span
from knowledge_mcp.ports import Embedder, TokenMeasure
from knowledge_mcp.settings import Settings

_NAMESPACE = uuid.UUID("0d1a7f0e-55a1-5c0e-8f39-1b7a0c8c1a11")
_MOST_CHUNKS = 100
_CHARACTERS_PER_TOKEN = 4


class KeptEmbedder:
    """Embed each text once for all runs: vectors are kept in a SQLite file by the text's hash (`ports.Embedder`)."""

    def __init__(self, inner: Embedder, file: Path) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._kept = sqlite3.connect(file, check_same_thread=False)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    @property
    def usage(self) -> EmbeddingUsage:
        return self._inner.usage

    @property
    def price(self) -> float | None:
        return self._inner.price

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._inner.token_spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            found: dict[bytes, bytes] = {}
            for key in keys:
                row: tuple[bytes] | None = self._kept.execute(
                    "SELECT vector FROM vectors WHERE key = ?", (key,)
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            fresh = self._inner.embed_documents(list(missing.values()))
            with self._lock, self._kept:
                self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", zip(missing, fresh, strict=True))
            found.update(zip(missing, fresh, strict=True))
        return [found[key] for key in keys]

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        del texts
        return {}

    def embed_query(self, text: str) -> Vector:
        return self._inner.embed_query(text)

    def warm_up(self) -> None:
        self._inner.warm_up()

    def close(self) -> None:
        self._inner.close()
        self._kept.close()


def kept_from_options(settings: Settings) -> KeptEmbedder:
    """Keep the local model's vectors beside the data folder of a run."""
    settings.data_folder.mkdir(parents=True, exist_ok=True)
    return KeptEmbedder(local_from_options(settings), settings.data_folder.parent.parent / "code-vectors.sqlite")


class SpecifiedLines:
    """Cut as the specification says (C 6.6), to the letter: whole lines, tokens of four characters, no context.

    Args:
        max_tokens, overlap_tokens: 500 and 50 by default.
    """

    def __init__(self, max_tokens: int = 500, overlap_tokens: int = 50) -> None:
        self._most = max_tokens
        self._overlap = overlap_tokens

    @property
    def version(self) -> str:
        return f"specified-lines/1 max={self._most} overlap={self._overlap}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        chunks: list[Chunk] = []
        for first, span in self._pieces(document.text):
            content = span.of(document.text)
            if not content.strip() or len(chunks) == _MOST_CHUNKS:
                continue
            digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
            chunks.append(
                Chunk(
                    id=str(uuid.uuid5(_NAMESPACE, f"{document.id}\x1e{first}\x1e{digest}")),
                    document_id=document.id,
                    document_title=document.title,
                    document_type=document_type,
                    index=len(chunks),
                    content=content,
                    content_hash=digest,
                    context="",
                    token_count=measure.count_tokens(content),
                    span=span,
                    section_hierarchy=(),
                    section_title="",
                    clause_number=None,
                    parent_chunk_id=None,
                    chunk_type=ChunkType.GUIDANCE,
                    normative=False,
                    source_path=document.source_uri,
                    lines=(first, first + content.count("\n")),
                )
            )
        return chunks

    def _pieces(self, text: str) -> Iterator[tuple[int, Span]]:
        """Yield first line and span of each piece; a piece begins with the last lines of the one before."""
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)
        tokens = [math.ceil(len(line) / _CHARACTERS_PER_TOKEN) for line in lines]
        first, size = 0, 0
        for place, own in enumerate(tokens):
            if size + own > self._most and place > first:
                yield first + 1, Span(starts[first], starts[place] - 1)
                first, size = self._overlapping(tokens, first, place)
            size += own
        yield first + 1, Span(starts[first], max(starts[-1] - 1, starts[first]))

    def _overlapping(self, tokens: Sequence[int], first: int, end: int) -> tuple[int, int]:
        begin, size = end, 0
        while begin > first + 1 and size + tokens[begin - 1] <= self._overlap:
            begin -= 1
            size += tokens[begin]
        return begin, size

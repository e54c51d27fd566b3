"""The embedding cache in front of an embedder: it keeps what was paid for, or computed by an interrupted ingest.

All collections of a store share it, and several processes may use it at once. It is optional: if its file cannot be
used, the embedder works without it, and this is logged once.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InternalError, InvalidInputError
from knowledge_mcp.ports import Embedder

if TYPE_CHECKING:
    from knowledge_mcp.embedders.cache_file import CacheFile

CACHE_FILE = "embedding-cache.sqlite"
MOST_BYTES = 2 * 1024**3
STOPPED_FILE = "embedding-cache-local.sqlite"
STOPPED_BYTES = 64 * 1024**2
"""Room for 30,000 passages, more than any document has; vectors of stored documents are read from the collection."""

OnAnswer = Callable[[Sequence[str], Sequence[Vector]], None]
"""Called with the texts and vectors of each answer as soon as it arrives, on the requesting thread."""


class StreamingEmbedder(Embedder, Protocol):
    """An embedder that reports each answer as soon as it arrives."""

    def embed_each(self, texts: Sequence[str], on_answer: OnAnswer) -> list[Vector]:
        """Like `embed_documents`; calls `on_answer` with the texts and vectors of each answer."""
        ...


class CachedEmbedder:
    """Answers from the cache if possible, and stores what the inner embedder answers; implements `ports.Embedder`.

    Vectors are stored as each answer of the service arrives, so that a crash loses at most the requests in progress.
    Refused texts are not stored. Vectors of questions are stored too, but never evict those of passages.

    Args:
        inner: the embedder. Its space is part of every key.
        file: the cache's file; it is created on first use.
        most_bytes: above this size, the least recently used vectors are evicted.
        keeps_questions: whether vectors of questions are stored too.
    """

    def __init__(
        self, inner: StreamingEmbedder, file: Path, *, most_bytes: int = MOST_BYTES, keeps_questions: bool = True
    ) -> None:
        self._inner = inner
        self._path = file
        self._most_bytes = most_bytes
        self._file: CacheFile | None = None
        self._keeps_questions = keeps_questions
        self._lock = threading.Lock()
        self._answered = 0
        self._closed = False

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    @property
    def price(self) -> float | None:
        return self._inner.price

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def usage(self) -> EmbeddingUsage:
        inner = self._inner.usage
        return EmbeddingUsage(requests=inner.requests, tokens=inner.tokens, cached=inner.cached + self._answered)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._inner.token_spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self._refuse_when_closed()
        refuse_blanks(texts)
        prefix = self.space.document_prefix
        known = self._look_up(prefix, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]

        def keep(some: Sequence[str], vectors: Sequence[Vector]) -> None:
            self._cache().put({_key(prefix, text): vector for text, vector in zip(some, vectors, strict=True)})

        reasons: dict[str, str] = {}
        refusal: ContentRefusedError | None = None
        try:
            answered: Sequence[Vector | None] = self._inner.embed_each(missing, keep) if missing else []
        except ContentRefusedError as exc:
            refusal, answered = exc, exc.vectors
            reasons = {missing[index]: words for index, words in exc.reasons.items()}
        self._count(sum(text in known for text in texts))
        known.update((text, each) for text, each in zip(missing, answered, strict=True) if each is not None)
        if refusal is not None:
            refused = {index: reasons[text] for index, text in enumerate(texts) if text in reasons}
            raise ContentRefusedError(
                refusal.message,
                vectors=[known.get(text) for text in texts],
                reasons=refused,
                details=refusal.details,
                suggestion=refusal.suggestion,
            ) from refusal
        return [known[text] for text in texts]

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        self._refuse_when_closed()
        known = self._look_up(self.space.document_prefix, texts)
        self._count(len(known))
        return known

    def embed_query(self, text: str) -> Vector:
        self._refuse_when_closed()
        if not self._keeps_questions:
            return self._inner.embed_query(text)
        refuse_blanks([text])
        prefix = self.space.query_prefix
        known = self._look_up(prefix, [text]).get(text)
        if known is not None:
            self._count(1)
            return known
        vector = self._inner.embed_query(text)
        self._cache().put({_key(prefix, text): vector}, passing=True)
        return vector

    def warm_up(self) -> None:
        self._refuse_when_closed()
        self._inner.warm_up()

    def close(self) -> None:
        self._closed = True
        self._inner.close()
        if self._file is not None:
            self._file.close()

    def _look_up(self, prefix: str, texts: Sequence[str]) -> dict[str, Vector]:
        keys = {text: _key(prefix, text) for text in texts}
        found = self._cache().get(list(keys.values())) if keys else {}
        return {text: found[key] for text, key in keys.items() if key in found}

    def _count(self, answered: int) -> None:
        with self._lock:
            self._answered += answered

    def _cache(self) -> CacheFile:
        from knowledge_mcp.embedders.cache_file import CacheFile

        with self._lock:
            if self._file is None:
                self._file = CacheFile(
                    self._path, self.space.fingerprint, self.space.dimensions, most_bytes=self._most_bytes
                )
            return self._file

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise InternalError("The embedder is closed.")


def with_cache(inner: StreamingEmbedder, folder: Path) -> CachedEmbedder:
    """Put the cache of a data folder in front of a paid embedder; opens nothing."""
    return CachedEmbedder(inner, folder / CACHE_FILE)


def with_cache_of_stopped_runs(inner: StreamingEmbedder, folder: Path) -> CachedEmbedder:
    """Put a small cache in front of a free embedder, so that interrupted ingests can resume; opens nothing."""
    return CachedEmbedder(inner, folder / STOPPED_FILE, most_bytes=STOPPED_BYTES, keeps_questions=False)


def refuse_blanks(texts: Sequence[str]) -> None:
    """Raise InvalidInputError, naming the first blank text, if there is one."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise InvalidInputError(f"Text {position + 1} of {len(texts)} is blank; only text can be embedded.")


def _key(prefix: str, text: str) -> bytes:
    return hashlib.sha256((prefix + text).encode("utf-8", "surrogatepass")).digest()

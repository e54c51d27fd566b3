"""A fake embedder that behaves like a real one, in microseconds and without any model file."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import threading
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InternalError, InvalidInputError, KnowledgeError

__all__ = ["HashingEmbedder"]

TOKEN = re.compile(r"\w{1,16}|[^\w\s]")
"""A word, cut where it grows longer than any real tokenizer would let it, or one other printed character."""

Feature = tuple[str, float]


class HashingEmbedder:
    """Embed texts by hashing their words and the trigrams inside them: texts that share words lie near each other.

    Vectors have unit norm, depend on the text alone and on no seed, process or order. Like a real model it reads only
    the first `max_tokens` tokens of a text, refuses blank texts, may be used by many threads and refuses work once
    closed.

    Args:
        dimensions: components per vector.
        max_tokens: how many tokens of one text are read.
        model: the model's name in the space; another name is another space.
        failure: raised by `embed_documents` and `embed_query` instead of answering, None for never.
        fail_after: how many texts are still embedded before `failure` is raised.
        price: USD per million tokens that it says it takes; tokens are billed where that is not 0.0.
        refused: texts that hold these words are refused, as a service's content filter does; empty for none.

    Attributes:
        documents, queries: every text that was embedded, in the order of the calls.
        loads: how often `warm_up` was called.
        closed: whether `close` was called.
    """

    def __init__(
        self,
        *,
        dimensions: int = 384,
        max_tokens: int = 254,
        model: str = "hashing",
        failure: KnowledgeError | None = None,
        fail_after: int = 0,
        price: float | None = 0.0,
        refused: str = "",
    ) -> None:
        self._space = EmbeddingSpace(
            provider="local", model=model, dimensions=dimensions, variant="fake", pooling="mean"
        )
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self.failure = failure
        self.fail_after = fail_after
        self._price = price
        self._refused = refused
        self._usage = EmbeddingUsage()
        self.documents: list[str] = []
        self.queries: list[str] = []
        self.loads = 0
        self.closed = False

    @property
    def space(self) -> EmbeddingSpace:
        return self._space

    @property
    def usage(self) -> EmbeddingUsage:
        return self._usage

    @property
    def price(self) -> float | None:
        return self._price

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def count_tokens(self, text: str) -> int:
        return sum(1 for _ in TOKEN.finditer(text))

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in TOKEN.finditer(text)]

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        reasons = {
            place: "the content filter refused it"
            for place, text in enumerate(self._checked(texts))
            if self._refused and self._refused in text
        }
        vectors = [None if place in reasons else self._embed(text, self.documents) for place, text in enumerate(texts)]
        accepted = [vector for vector in vectors if vector is not None]
        if len(accepted) < len(texts):
            raise ContentRefusedError(f"{len(reasons)} texts were refused.", vectors=vectors, reasons=reasons)
        return accepted

    def documents_at_hand(self, texts: Sequence[str]) -> list[Vector] | None:
        return self.embed_documents(texts)

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._checked([text])[0], self.queries)

    def warm_up(self) -> None:
        self._refuse_when_closed()
        with self._lock:
            self.loads += 1

    def close(self) -> None:
        self.closed = True

    def _refuse_when_closed(self) -> None:
        if self.closed:
            raise InternalError("The embedder is closed.")

    def _checked(self, texts: Sequence[str]) -> Sequence[str]:
        self._refuse_when_closed()
        for position, text in enumerate(texts):
            if not text.strip():
                raise InvalidInputError(f"Text {position + 1} of {len(texts)} is blank; only text can be embedded.")
        return texts

    def _embed(self, text: str, log: list[str]) -> Vector:
        with self._lock:
            if self.failure is not None:
                if self.fail_after <= 0:
                    raise self.failure
                self.fail_after -= 1
            log.append(text)
            if self._price != 0.0:
                billed = self._usage.tokens + self.count_tokens(text)
                self._usage = EmbeddingUsage(self._usage.requests + 1, billed, self._usage.cached)
        tokens = [match.group().casefold() for match in TOKEN.finditer(text)][: self._max_tokens]
        return _hashed(tokens, self._space.dimensions)


def _hashed(tokens: Sequence[str], dimensions: int) -> Vector:
    components = [0.0] * dimensions
    for token, count in Counter(tokens).items():
        times = 1.0 + math.log(count)
        for index, weight in _features(token, dimensions):
            components[index] += times * weight
    norm = math.sqrt(sum(value * value for value in components))
    if norm == 0.0:
        components[0] = norm = 1.0
    return struct.pack(f"<{dimensions}f", *(value / norm for value in components))


@lru_cache(maxsize=65536)
def _features(token: str, dimensions: int) -> tuple[tuple[int, float], ...]:
    """Give a token's places in the vector with their signed weights: itself, and its trigrams with less weight."""
    edged = f"<{token}>"
    trigrams = [edged[start : start + 3] for start in range(len(edged) - 2)] if len(token) > 3 else []
    named: list[Feature] = [(token, 1.0 if len(token) > 3 or not token.isalpha() else 0.3)]
    named += [(f"#{trigram}", 0.35) for trigram in trigrams]
    return tuple(_placed(name, weight, dimensions) for name, weight in named)


def _placed(name: str, weight: float, dimensions: int) -> tuple[int, float]:
    digest = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return (digest >> 1) % dimensions, weight if digest & 1 else -weight

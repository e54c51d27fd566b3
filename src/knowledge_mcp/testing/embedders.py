"""The contract of `ports.Embedder` as a test suite, for built-in and third-party embedders.

Subclass `EmbedderContract` in a test module and define `make_embedder`; pytest collects the rest:

```python
class TestMyEmbedder(EmbedderContract):
    def make_embedder(self) -> Embedder:
        return MyEmbedder()
```
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from typing import TypeVar

from knowledge_mcp.model.chunk import Vector, numbers_of
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InternalError, InvalidInputError, KnowledgeError
from knowledge_mcp.ports import Embedder

TOKEN = re.compile(r"\w{1,16}|[^\w\s]")
"""A word, split at the maximum length of a real tokenizer's tokens, or another printable character."""

Feature = tuple[str, float]


class HashingEmbedder:
    """A fake that embeds texts by hashing words and their trigrams: texts that share words have high cosines.

    Vectors have unit norm and depend only on the text, not on a seed, process or order. Like a real model, it reads
    only the first `max_tokens` tokens of a text, refuses blank texts, is thread-safe, and refuses work after it was
    closed.

    Args:
        dimensions: components per vector.
        max_tokens: maximum number of tokens read of a text.
        model: model name of the embedding space; different names are different spaces.
        failure: raised by `embed_documents` and `embed_query` instead of answering; None for never.
        fail_after: number of texts to embed before `failure` is raised.
        price: reported price in USD per million tokens; if it is not 0.0, tokens are billed.
        refused: texts that contain this string are refused, as by a service's content filter; empty for none.

    Attributes:
        documents, queries: all texts that were embedded, in order.
        loads: number of calls of `warm_up`.
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
            for place, text in enumerate(self._check(texts))
            if self._refused and self._refused in text
        }
        vectors = [None if place in reasons else self._embed(text, self.documents) for place, text in enumerate(texts)]
        accepted = [vector for vector in vectors if vector is not None]
        if len(accepted) < len(texts):
            raise ContentRefusedError(f"{len(reasons)} texts were refused.", vectors=vectors, reasons=reasons)
        return accepted

    def embed_each(
        self, texts: Sequence[str], on_answer: Callable[[Sequence[str], Sequence[Vector]], None]
    ) -> list[Vector]:
        """Embed each text separately, and report it at once."""
        vectors: list[Vector] = []
        for text in texts:
            vectors += self.embed_documents([text])
            on_answer([text], vectors[-1:])
        return vectors

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        del texts
        return {}

    def embed_query(self, text: str) -> Vector:
        return self._embed(self._check([text])[0], self.queries)

    def warm_up(self) -> None:
        self._refuse_when_closed()
        with self._lock:
            self.loads += 1

    def close(self) -> None:
        self.closed = True

    def _refuse_when_closed(self) -> None:
        if self.closed:
            raise InternalError("The embedder is closed.")

    def _check(self, texts: Sequence[str]) -> Sequence[str]:
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
        return _hash(tokens, self._space.dimensions)


def _hash(tokens: Sequence[str], dimensions: int) -> Vector:
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
    """Return the signed weights of a token by vector position: the token itself, and trigrams with less weight."""
    edged = f"<{token}>"
    trigrams = [edged[start : start + 3] for start in range(len(edged) - 2)] if len(token) > 3 else []
    features: list[Feature] = [(token, 1.0 if len(token) > 3 or not token.isalpha() else 0.3)]
    features += [(f"#{trigram}", 0.35) for trigram in trigrams]
    return tuple(_feature(name, weight, dimensions) for name, weight in features)


def _feature(name: str, weight: float, dimensions: int) -> tuple[int, float]:
    digest = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return (digest >> 1) % dimensions, weight if digest & 1 else -weight


E = TypeVar("E", bound=Exception)

TEXTS = (
    "The supplier shall verify every requirement before delivery.",
    "Every requirement is verified by the supplier before it is delivered.",
    "Bananas grow in clusters that hang from the top of the plant.",
    "5.3.1 Größe, naïveté, 東京都 and 🎉 emoji\twith\nodd   blanks",
    "x",
)
BLANKS = ("", " ", "\n\t \u2003")


def cosine(a: Vector, b: Vector) -> float:
    """Return the dot product of two vectors in the port's format, which is the cosine of unit vectors."""
    return sum(x * y for x, y in zip(numbers_of(a), numbers_of(b), strict=True))


class EmbedderContract(ABC):
    """Tests that an embedder does what `ports.Embedder` promises; each test makes and closes its own."""

    @abstractmethod
    def make_embedder(self) -> Embedder:
        """Return a new embedder; the suite closes it."""

    def test_every_vector_has_unit_norm_and_the_dimensions_of_its_space(self) -> None:
        with closing(self.make_embedder()) as embedder:
            for vector in [*embedder.embed_documents(TEXTS), embedder.embed_query(TEXTS[0])]:
                assert len(vector) == 4 * embedder.space.dimensions, "a vector is float32, 4 bytes a component"
                assert math.isclose(math.sqrt(cosine(vector, vector)), 1.0, abs_tol=1e-5), "the norm is not 1"

    def test_the_space_is_the_same_for_every_instance_and_before_and_after_use(self) -> None:
        with closing(self.make_embedder()) as first, closing(self.make_embedder()) as second:
            before = first.space
            first.embed_query(TEXTS[0])
            assert first.space == before == second.space
            assert first.space.provider, "a space names its provider"
            assert first.space.model, "a space names its model"

    def test_a_text_gets_the_same_bits_in_any_company_and_order(self) -> None:
        with closing(self.make_embedder()) as embedder:
            together = embedder.embed_documents(TEXTS)
            assert embedder.embed_documents(TEXTS[::-1])[::-1] == together, "another order gave other bits"
            assert [embedder.embed_documents([text])[0] for text in TEXTS] == together, "alone it got other bits"
            assert embedder.embed_query(TEXTS[0]) == embedder.embed_query(TEXTS[0])

    def test_many_threads_get_the_bits_that_one_gets(self) -> None:
        with closing(self.make_embedder()) as embedder, ThreadPoolExecutor(4) as pool:
            alone = embedder.embed_documents(TEXTS)
            answers = list(pool.map(embedder.embed_documents, [TEXTS] * 8))
            assert answers == [alone] * 8

    def test_no_texts_give_no_vectors(self) -> None:
        with closing(self.make_embedder()) as embedder:
            assert embedder.embed_documents([]) == []

    def test_a_blank_text_is_refused_wherever_it_stands(self) -> None:
        with closing(self.make_embedder()) as embedder:
            for blank in BLANKS:
                _raises(InvalidInputError, lambda text=blank: embedder.embed_query(text))
                _raises(InvalidInputError, lambda text=blank: embedder.embed_documents([TEXTS[0], text]))

    def test_a_paraphrase_lies_nearer_than_another_subject(self) -> None:
        with closing(self.make_embedder()) as embedder:
            query = embedder.embed_query("Which requirement shall the supplier verify before delivery?")
            original, paraphrase, bananas = embedder.embed_documents(TEXTS[:3])
            assert cosine(original, paraphrase) > cosine(original, bananas) + 0.1
            assert cosine(query, original) > cosine(query, bananas) + 0.1

    def test_token_spans_lie_in_order_and_leave_out_no_letter_and_no_digit(self) -> None:
        with closing(self.make_embedder()) as embedder:
            for text in TEXTS:
                spans = list(embedder.token_spans(text))
                assert spans == sorted(spans), "spans are in the order of the text"
                assert all(0 <= start < end <= len(text) for start, end in spans), "a span lies in the text"
                covered = {position for start, end in spans for position in range(start, end)}
                lost = [text[i] for i in range(len(text)) if i not in covered and text[i].isalnum()]
                assert not lost, f"no token holds {lost}"

    def test_counting_agrees_with_the_spans_and_truncates_nothing(self) -> None:
        with closing(self.make_embedder()) as embedder:
            assert embedder.max_tokens > 0
            for text in (*TEXTS, *BLANKS):
                assert embedder.count_tokens(text) == len(embedder.token_spans(text))
            assert embedder.count_tokens("") == 0
            long = "verify " * (embedder.max_tokens + 50)
            assert embedder.count_tokens(long) >= embedder.max_tokens + 50

    def test_a_text_longer_than_the_model_reads_is_embedded_by_its_beginning(self) -> None:
        with closing(self.make_embedder()) as embedder:
            head = "verify the requirement " * embedder.max_tokens
            short, long = embedder.embed_documents([head, head + "bananas " * 20])
            assert math.isclose(cosine(short, long), 1.0, abs_tol=1e-4)

    def test_warming_up_twice_is_harmless(self) -> None:
        with closing(self.make_embedder()) as embedder:
            embedder.warm_up()
            embedder.warm_up()
            assert embedder.embed_query(TEXTS[0])

    def test_a_closed_embedder_refuses_work_and_may_be_closed_again(self) -> None:
        with closing(self.make_embedder()) as embedder:
            embedder.embed_query(TEXTS[0])
            embedder.close()
            _raises(KnowledgeError, lambda: embedder.embed_query(TEXTS[0]))
            _raises(KnowledgeError, lambda: embedder.embed_documents(TEXTS))
            embedder.close()


def _raises(kind: type[E], call: Callable[[], object]) -> E:
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, not the answer {answer!r:.80}")

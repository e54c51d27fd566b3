"""The contract of `ports.Embedder` as a test suite, for built-in and foreign embedders alike.

Subclass `EmbedderContract` in a test module, give it `make_embedder`, and pytest collects the rest:

```python
class TestMyEmbedder(EmbedderContract):
    @abstractmethod
    def make_embedder(self) -> Embedder:
        return MyEmbedder()
```
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from knowledge_mcp.model.chunk import Vector, numbers_of
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.testing.hashing_embedder import HashingEmbedder

__all__ = ["EmbedderContract", "HashingEmbedder", "cosine"]

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
    """Compute the dot product of two vectors of the port's form, which is their cosine when both have unit norm."""
    return sum(x * y for x, y in zip(numbers_of(a), numbers_of(b), strict=True))


class EmbedderContract(ABC):
    """Hold an embedder to what `ports.Embedder` promises; each test makes and closes its own."""

    @abstractmethod
    def make_embedder(self) -> Embedder:
        """Return a fresh embedder; the suite closes it."""

    def test_every_vector_has_unit_norm_and_the_dimensions_of_its_space(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            for vector in [*embedder.embed_documents(TEXTS), embedder.embed_query(TEXTS[0])]:
                assert len(vector) == 4 * embedder.space.dimensions, "a vector is float32, 4 bytes a component"
                assert math.isclose(math.sqrt(cosine(vector, vector)), 1.0, abs_tol=1e-5), "the norm is not 1"

    def test_the_space_is_the_same_for_every_instance_and_before_and_after_use(self) -> None:
        with _Opened(self.make_embedder) as first, _Opened(self.make_embedder) as second:
            before = first.space
            first.embed_query(TEXTS[0])
            assert first.space == before == second.space
            assert first.space.provider, "a space names its provider"
            assert first.space.model, "a space names its model"

    def test_a_text_gets_the_same_bits_in_any_company_and_order(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            together = embedder.embed_documents(TEXTS)
            assert embedder.embed_documents(TEXTS[::-1])[::-1] == together, "another order gave other bits"
            assert [embedder.embed_documents([text])[0] for text in TEXTS] == together, "alone it got other bits"
            assert embedder.embed_query(TEXTS[0]) == embedder.embed_query(TEXTS[0])

    def test_many_threads_get_the_bits_that_one_gets(self) -> None:
        with _Opened(self.make_embedder) as embedder, ThreadPoolExecutor(4) as pool:
            alone = embedder.embed_documents(TEXTS)
            answers = list(pool.map(embedder.embed_documents, [TEXTS] * 8))
            assert answers == [alone] * 8

    def test_no_texts_give_no_vectors(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            assert embedder.embed_documents([]) == []

    def test_a_blank_text_is_refused_wherever_it_stands(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            for blank in BLANKS:
                _raises(InvalidInputError, lambda text=blank: embedder.embed_query(text))
                _raises(InvalidInputError, lambda text=blank: embedder.embed_documents([TEXTS[0], text]))

    def test_a_paraphrase_lies_nearer_than_another_subject(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            query = embedder.embed_query("Which requirement shall the supplier verify before delivery?")
            original, paraphrase, bananas = embedder.embed_documents(TEXTS[:3])
            assert cosine(original, paraphrase) > cosine(original, bananas) + 0.1
            assert cosine(query, original) > cosine(query, bananas) + 0.1

    def test_token_spans_lie_in_order_and_leave_out_no_letter_and_no_digit(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            for text in TEXTS:
                spans = list(embedder.token_spans(text))
                assert spans == sorted(spans), "spans are in the order of the text"
                assert all(0 <= start < end <= len(text) for start, end in spans), "a span lies in the text"
                seen = {position for start, end in spans for position in range(start, end)}
                lost = [text[i] for i in range(len(text)) if i not in seen and text[i].isalnum()]
                assert not lost, f"no token holds {lost}"

    def test_counting_agrees_with_the_spans_and_truncates_nothing(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            assert embedder.max_tokens > 0
            for text in (*TEXTS, *BLANKS):
                assert embedder.count_tokens(text) == len(embedder.token_spans(text))
            assert embedder.count_tokens("") == 0
            long = "verify " * (embedder.max_tokens + 50)
            assert embedder.count_tokens(long) >= embedder.max_tokens + 50

    def test_a_text_longer_than_the_model_reads_is_embedded_by_its_beginning(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            head = "verify the requirement " * embedder.max_tokens
            short, long = embedder.embed_documents([head, head + "bananas " * 20])
            assert math.isclose(cosine(short, long), 1.0, abs_tol=1e-4)

    def test_warming_up_twice_is_harmless(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            embedder.warm_up()
            embedder.warm_up()
            assert embedder.embed_query(TEXTS[0])

    def test_a_closed_embedder_refuses_work_and_may_be_closed_again(self) -> None:
        with _Opened(self.make_embedder) as embedder:
            embedder.embed_query(TEXTS[0])
            embedder.close()
            _raises(KnowledgeError, lambda: embedder.embed_query(TEXTS[0]))
            _raises(KnowledgeError, lambda: embedder.embed_documents(TEXTS))
            embedder.close()


class _Opened:
    """Give an embedder to one test and close it afterwards."""

    def __init__(self, make: Callable[[], Embedder]) -> None:
        self._embedder = make()

    def __enter__(self) -> Embedder:
        return self._embedder

    def __exit__(self, *_: object) -> None:
        self._embedder.close()


def _raises(kind: type[E], call: Callable[[], object]) -> E:
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, not the answer {answer!r:.80}")

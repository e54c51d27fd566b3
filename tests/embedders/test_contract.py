"""The contract suite catches embedders that break the port's promises, one promise at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.testing.embedders import EmbedderContract, HashingEmbedder


class Shrunken(HashingEmbedder):
    def embed_query(self, text: str) -> Vector:
        return super().embed_query(text)[:-4]


class Scaled(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        import struct

        rows = [struct.unpack(f"<{self.space.dimensions}f", each) for each in super().embed_documents(texts)]
        return [struct.pack(f"<{len(row)}f", *(2 * value for value in row)) for row in rows]


class BatchSensitive(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return super().embed_documents([f"{text} {len(texts)}" for text in texts])


class Unordered(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return sorted(super().embed_documents(texts))


class Random(HashingEmbedder):
    def embed_query(self, text: str) -> Vector:
        return super().embed_query(f"{text} {random.random()}")


class Meaningless(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return super().embed_documents(["one and the same" if text.strip() else text for text in texts])


class TakesBlanks(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return super().embed_documents([text if text.strip() else "nothing" for text in texts])


class DropsBlanks(HashingEmbedder):
    def embed_query(self, text: str) -> Vector:
        try:
            return super().embed_query(text)
        except InvalidInputError:
            return b""


class Truncating(HashingEmbedder):
    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return super().token_spans(text)[: self.max_tokens]

    def count_tokens(self, text: str) -> int:
        return len(self.token_spans(text))


class ByteSpans(HashingEmbedder):
    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [(len(text[:start].encode()), len(text[:end].encode())) for start, end in super().token_spans(text)]


class Undying(HashingEmbedder):
    def close(self) -> None:
        return


class ReadsItAll(HashingEmbedder):
    def __init__(self) -> None:
        super().__init__(max_tokens=10**9)

    @property
    def max_tokens(self) -> int:
        return 60


WRONG: list[tuple[type[HashingEmbedder], str]] = [
    (Shrunken, "unit_norm"),
    (Scaled, "unit_norm"),
    (BatchSensitive, "same_bits_in_any_company"),
    (Unordered, "same_bits_in_any_company"),
    (Random, "same_bits_in_any_company"),
    (Meaningless, "paraphrase"),
    (TakesBlanks, "blank"),
    (DropsBlanks, "blank"),
    (Truncating, "truncates_nothing"),
    (ByteSpans, "token_spans"),
    (Undying, "closed"),
    (ReadsItAll, "by_its_beginning"),
]


def _tests(make: Callable[[], Embedder], part: str) -> list[Callable[[], None]]:
    class Suite(EmbedderContract):
        def make_embedder(self) -> Embedder:
            return make()

    return [getattr(Suite(), name) for name in dir(Suite) if name.startswith("test_") and part in name]


@pytest.mark.parametrize(("wrong", "part"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_a_wrong_embedder_fails_the_contract(wrong: type[HashingEmbedder], part: str) -> None:
    (check,) = _tests(wrong, part)
    with pytest.raises((AssertionError, ValueError)):
        check()
    (same_check,) = _tests(HashingEmbedder, part)
    same_check()

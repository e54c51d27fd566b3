"""The shipped fake embedder fulfils the contract and can be told to fail."""

from __future__ import annotations

import subprocess
import sys

import pytest

from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.testing.embedders import EmbedderContract, HashingEmbedder, cosine


class TestHashingEmbedder(EmbedderContract):
    def make_embedder(self) -> Embedder:
        return HashingEmbedder()


class TestSmallHashingEmbedder(EmbedderContract):
    def make_embedder(self) -> Embedder:
        return HashingEmbedder(dimensions=96, max_tokens=20, model="other")


def test_another_process_computes_the_same_bits() -> None:
    program = (
        "from knowledge_mcp.testing.embedders import HashingEmbedder;"
        "print(HashingEmbedder().embed_query('the same everywhere').hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == HashingEmbedder().embed_query("the same everywhere").hex()


def test_it_fails_as_told_after_so_many_texts() -> None:
    embedder = HashingEmbedder(failure=ConnectionFailedError("The service is away."), fail_after=2)
    with pytest.raises(ConnectionFailedError):
        embedder.embed_documents(["one", "two", "three"])
    assert embedder.documents == ["one", "two"]


def test_it_remembers_what_was_asked_of_it() -> None:
    embedder = HashingEmbedder()
    embedder.embed_documents(["one", "two"])
    embedder.embed_query("three")
    embedder.warm_up()
    assert (embedder.documents, embedder.queries, embedder.loads) == (["one", "two"], ["three"], 1)


def test_the_text_beyond_its_window_is_not_seen() -> None:
    embedder = HashingEmbedder(max_tokens=3)
    first, second = embedder.embed_documents(["one two three four", "one two three five"])
    assert first == second
    assert cosine(first, embedder.embed_query("one two four")) < 0.99


def test_the_space_follows_the_name_and_the_dimensions() -> None:
    spaces = {HashingEmbedder().space, HashingEmbedder(model="b").space, HashingEmbedder(dimensions=8).space}
    assert len({space.fingerprint for space in spaces}) == 3

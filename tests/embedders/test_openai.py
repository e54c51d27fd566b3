"""The OpenAI embedder against the stand-in: the port's contract, what is sent, in which pieces, and what comes back."""

from __future__ import annotations

import logging
import struct
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from knowledge_mcp.embedders.services.embedder import RemoteTokenizer
from knowledge_mcp.embedders.services.providers import from_openai_options
from knowledge_mcp.embedders.services.service import MODELS
from knowledge_mcp.model.collection import EmbeddingUsage
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.testing.embedders import EmbedderContract
from tests.embedders.remote_world import Options, openai_embedder
from tests.servers import openai_faults as faults
from tests.servers.openai_server import OpenAIServer


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _with_the_stand_in(self, server: OpenAIServer) -> None:
        self.server = server

    def make_embedder(self) -> Embedder:
        return openai_embedder(self.server, embedding_dimensions=256)


@pytest.mark.requirement("A-REQ-IF-002")
@pytest.mark.requirement("C-4.1-identity")
@pytest.mark.requirement("C-6.2-batches")
@pytest.mark.requirement("C-11.4-maxEmbeddingBatchSize")
def test_the_default_is_text_embedding_3_small_with_1536_components_and_100_texts_a_request(
    server: OpenAIServer,
) -> None:
    embedder = openai_embedder(server)
    texts = [f"clause {number}" for number in range(250)]
    vectors = embedder.embed_documents(texts)
    assert embedder.space.label == "openai/text-embedding-3-small (1536)"
    assert vectors == [server.vector(text) for text in texts]
    assert sorted(len(request.texts) for request in server.requests) == [50, 100, 100]
    assert {(request.model, request.dimensions) for request in server.requests} == {("text-embedding-3-small", None)}
    embedder.close()


@pytest.mark.requirement("A-REQ-IF-002")
@pytest.mark.parametrize(
    ("model", "dimensions", "sent"),
    [
        ("text-embedding-3-small", 256, 256),
        ("text-embedding-3-small", 1536, None),
        ("text-embedding-3-large", None, None),
        ("text-embedding-3-large", 1024, 1024),
        ("text-embedding-3-large", 3072, None),
        ("text-embedding-ada-002", 1536, None),
    ],
)
def test_dimensions_are_sent_only_where_the_model_takes_them_and_does_not_give_them_anyway(
    server: OpenAIServer, model: str, dimensions: int | None, sent: int | None
) -> None:
    embedder = openai_embedder(server, embedding_model=model, embedding_dimensions=dimensions)
    vector = embedder.embed_query("a question")
    assert (server.requests[0].model, server.requests[0].dimensions) == (model, sent)
    assert len(vector) == 4 * embedder.space.dimensions == 4 * (dimensions or MODELS[model].dimensions)
    embedder.close()


@pytest.mark.requirement("A-REQ-IF-002")
@pytest.mark.parametrize(
    ("model", "dimensions", "said"),
    [
        ("text-embedding-3-small", 1537, "256 to 1536"),
        ("text-embedding-3-small", 255, "256 to 1536"),
        ("text-embedding-3-large", 3073, "256 to 3072"),
        ("text-embedding-ada-002", 512, "always gives 1536"),
        ("nomic-embed-text", None, "are unknown"),
    ],
)
def test_dimensions_that_the_model_cannot_give_are_a_config_error(
    model: str, dimensions: int | None, said: str
) -> None:
    options = Options(SecretStr("sk-x"), embedding_model=model, embedding_dimensions=dimensions)
    with pytest.raises(ConfigError, match=said) as failure:
        from_openai_options(options)
    assert "EMBEDDING_" in failure.value.suggestion


def test_a_model_of_another_server_is_used_with_the_dimensions_that_are_told() -> None:
    embedder = from_openai_options(
        Options(SecretStr("x"), embedding_model="nomic-embed-text", embedding_dimensions=768)
    )
    assert (embedder.space.dimensions, embedder.price) == (768, None)


@pytest.mark.requirement("A-REQ-MAINT-002")
@pytest.mark.parametrize("key", [None, SecretStr("")])
def test_a_missing_key_is_a_config_error_that_names_the_variable(key: SecretStr | None) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        from_openai_options(Options(key))


@pytest.mark.parametrize(
    ("model", "expected", "price"),
    [
        (None, None, 0.02),
        ("text-embedding-3-large", None, 0.13),
        ("text-embedding-ada-002", None, 0.10),
        ("text-embedding-3-large", 0.065, 0.065),
    ],
)
def test_the_price_is_the_list_price_unless_told_otherwise(
    model: str | None, expected: float | None, price: float
) -> None:
    assert from_openai_options(Options(SecretStr("x"), embedding_model=model, embedding_price=expected)).price == price


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_try_may_take_10_seconds_for_a_query_and_60_for_a_batch(server: OpenAIServer) -> None:
    embedder = openai_embedder(server)
    embedder.embed_query("a question")
    embedder.embed_documents(["a passage"])
    limits = [float(request.headers["x-stainless-read-timeout"]) for request in server.requests]
    assert limits == [10.0, 60.0]
    assert [request.headers["x-stainless-retry-count"] for request in server.requests] == ["0", "0"]
    embedder.close()


@pytest.mark.requirement("C-4.1-many")
@pytest.mark.requirement("C-11.2-batches")
def test_requests_run_at_once_up_to_the_limit_and_the_order_of_the_texts_is_kept(server: OpenAIServer) -> None:
    server.faults.extend([None, faults.reordered(), None, faults.reordered(), None])
    texts = [f"passage {number} of {number * 7 % 13}" for number in range(90)]
    embedder = openai_embedder(server, embedding_batch_size=5, embedding_concurrency=3)
    assert embedder.embed_documents(texts) == [server.vector(text) for text in texts]
    assert 1 < server.most_at_once <= 3
    assert server.answered == Counter(texts)
    embedder.close()


def test_a_text_that_stands_twice_in_a_call_is_sent_once(server: OpenAIServer) -> None:
    embedder = openai_embedder(server)
    first, second, third = embedder.embed_documents(["same", "other", "same"])
    assert first == third != second
    assert server.texts == ["same", "other"]
    embedder.close()


def test_a_repeated_question_is_not_paid_twice(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge_mcp.embedders.services.embedder.REMEMBERED_QUERIES", 3)
    embedder = openai_embedder(server)
    assert embedder.embed_query("which clause?") == embedder.embed_query("which clause?")
    assert embedder.usage == EmbeddingUsage(requests=1, tokens=3, cached=1)
    for number in range(3):
        embedder.embed_query(f"question {number}")
    embedder.embed_query("which clause?")
    assert Counter(server.texts)["which clause?"] == 2, "the memory of questions is bounded"
    embedder.close()


def test_batches_stay_below_the_services_limits_of_tokens(server: OpenAIServer) -> None:
    server.count = RemoteTokenizer().count
    texts = [f"{number} " + "word " * 7000 for number in range(50)]
    embedder = openai_embedder(server, embedding_batch_size=2048)
    embedder.embed_documents(texts)
    sums = [sum(map(server.count, request.texts)) for request in server.requests]
    assert len(sums) == 2
    assert max(sums) <= 300_000
    assert server.answered == Counter(texts)
    assert embedder.usage == EmbeddingUsage(requests=2, tokens=sum(sums))
    embedder.close()


def test_a_request_never_holds_more_than_2048_texts(server: OpenAIServer) -> None:
    embedder = openai_embedder(server, embedding_batch_size=5000, embedding_dimensions=256)
    embedder.embed_documents([f"n{number}" for number in range(2100)])
    assert sorted(len(request.texts) for request in server.requests) == [52, 2048]
    embedder.close()


@pytest.mark.requirement("C-4.1-one")
def test_a_text_that_is_too_long_is_sent_by_its_beginning_and_the_log_says_so(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = RemoteTokenizer()
    server.count = tokens.count
    long = "東京都の規格 verify " * 3000
    embedder = openai_embedder(server)
    with caplog.at_level(logging.WARNING):
        embedder.embed_documents([long, "short"])
    sent = server.requests[0].texts[0]
    assert long.startswith(sent)
    assert 8150 < tokens.count(sent) <= 8191
    (result,) = [getattr(each, EVENT_FIELDS) for each in caplog.records if each.getMessage() == "text_truncated"]
    assert (result["texts"], result["max_tokens"]) == (1, 8191)
    assert result["longest"] == tokens.count(long)
    embedder.close()


def test_half_a_surrogate_pair_is_sent_as_a_replacement_character(server: OpenAIServer) -> None:
    embedder = openai_embedder(server)
    assert len(embedder.embed_documents(["the \ud800 plant"])) == 1
    assert server.texts == ["the \ufffd plant"]
    embedder.close()


@pytest.mark.requirement("A-REQ-MAINT-001")
def test_each_answer_is_logged_with_its_tokens_and_its_time_and_neither_key_nor_text(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = openai_embedder(server)
    with caplog.at_level(logging.DEBUG):
        embedder.embed_documents(["one secretive passage", "two words"])
    (result,) = [getattr(each, EVENT_FIELDS) for each in caplog.records if each.getMessage() == "embedding_generated"]
    assert (result["token_count"], result["texts"]) == (5, 2)
    assert result["latency_ms"] > 0
    everything = "\n".join(f"{each.getMessage()} {each.__dict__}" for each in caplog.records)
    assert server.key not in everything
    assert "secretive" not in everything
    embedder.close()


def test_vectors_are_normalised_to_float32_of_unit_norm(server: OpenAIServer) -> None:
    def doubled(items: list[faults.Item]) -> list[faults.Item]:
        return [(index, [2.0 * value for value in components]) for index, components in items]

    server.faults.append(faults.Fault(change=doubled))
    embedder = openai_embedder(server)
    (vector,) = embedder.embed_documents(["a passage"])
    assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1.0, abs=1e-6)
    assert vector == server.vector("a passage")
    embedder.close()


def test_warming_up_loads_everything_and_asks_nobody(server: OpenAIServer) -> None:
    embedder = openai_embedder(server)
    embedder.warm_up()
    assert server.requests == []
    assert embedder.usage == EmbeddingUsage()
    embedder.close()


def test_nothing_heavy_is_imported_before_the_first_use() -> None:
    program = (
        "import sys; from pathlib import Path; from pydantic import SecretStr\n"
        "from knowledge_mcp.embedders.services.providers import from_azure_options, from_openai_options\n"
        "from tests.embedders.remote_world import Options\n"
        "key = SecretStr('k')\n"
        "options = Options(key, embedding_cache=True, azure_openai_key=key, azure_openai_endpoint='https://x')\n"
        "print(from_openai_options(options).space.label, from_azure_options(options).space.label)\n"
        "print(sorted({'openai', 'httpx2', 'numpy', 'apsw', 'quicktok'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    labels, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    assert labels == "openai/text-embedding-3-small (1536) azure/text-embedding-3-small (1536)"


@pytest.mark.parametrize("missing", ["openai", "quicktok"])
def test_a_missing_package_is_a_config_error_with_the_line_that_installs_it(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delitem(sys.modules, "knowledge_mcp.embedders.services.requests", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    embedder = openai_embedder(server)
    with pytest.raises(ConfigError) as failure:
        embedder.embed_query("a question")
    assert 'pip install "clausewise[openai]"' in failure.value.suggestion
    embedder.close()


def test_the_representation_of_an_embedder_and_its_parts_holds_no_key(server: OpenAIServer) -> None:
    embedder = openai_embedder(server)
    embedder.embed_query("a question")
    parts: list[Any] = [embedder, *vars(embedder).values()]
    assert server.key not in " ".join(map(repr, parts))
    embedder.close()


def test_the_stand_in_gives_the_same_vectors_as_floats_and_as_base64_through_the_real_library(
    server: OpenAIServer,
) -> None:
    import openai

    with openai.OpenAI(api_key=server.key, base_url=server.url, max_retries=0) as client:
        model, texts = "text-embedding-3-small", ["first text", "second text"]
        floats = client.embeddings.create(model=model, input=texts, dimensions=256, encoding_format="float")
        packed = client.embeddings.create(model=model, input=texts, dimensions=256)
        single = client.embeddings.create(model=model, input="first text", dimensions=256)
    assert [request.encoding for request in server.requests] == ["float", "base64", "base64"]
    assert [each.index for each in floats.data] == [0, 1]
    assert [each.embedding for each in floats.data] == [each.embedding for each in packed.data]
    assert struct.pack("<256f", *single.data[0].embedding) == server.vector("first text", 256)
    assert (floats.object, floats.model, floats.usage.total_tokens) == ("list", model, 4)

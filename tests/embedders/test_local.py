"""The local embedder: the port's contract with the real model, and what it does with a model's own settings."""

from __future__ import annotations

import itertools
import logging
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tokenizers import Tokenizer

from knowledge_mcp.embedders.local.embedder import LocalEmbedder, from_options
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.support.workers import usable_cores
from knowledge_mcp.testing.embedders import EmbedderContract, cosine
from tests.embedders import tiny


@dataclass
class _Options:
    models_path: Path | None
    embedding_model: str | None = None
    embedding_model_path: Path | None = None
    embedding_variant: Literal["int8", "fp32"] = "int8"
    embedding_threads: int | None = None
    embedding_cache: bool = True
    data_folder: Path = Path("never made")


class TestLocalEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _with_the_real_model(self, minilm_cache: Path) -> None:
        self.cache = minilm_cache

    def make_embedder(self) -> Embedder:
        return LocalEmbedder(cache=self.cache, threads=2)


def test_float_vectors_have_the_published_similarities_and_int8_ones_stay_near(minilm_cache: Path) -> None:
    texts = ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    exact, small = (LocalEmbedder(cache=minilm_cache, variant=variant) for variant in ("fp32", "int8"))
    query = exact.embed_query("That is a happy person")
    vectors = exact.embed_documents(texts)
    assert [round(cosine(query, each), 4) for each in vectors] == pytest.approx([0.6946, 0.9429, 0.2569], abs=1e-4)
    assert min(cosine(a, b) for a, b in zip(vectors, small.embed_documents(texts), strict=True)) > 0.97
    assert exact.space.fingerprint != small.space.fingerprint
    exact.close()
    small.close()


def test_a_text_keeps_its_bits_on_any_thread_beside_any_other(minilm_cache: Path) -> None:
    texts = [f"Clause {n} of part {n % 7} asks for {'a longer and longer proof ' * (n % 5)}." for n in range(40)]
    embedder = LocalEmbedder(cache=minilm_cache, threads=4)
    alone = [embedder.embed_documents([text])[0] for text in texts]
    crowd = [threading.Thread(target=embedder.embed_documents, args=(texts[::-1],)) for _ in range(2)]
    for thread in crowd:
        thread.start()
    assert embedder.embed_documents(texts) == alone
    for thread in crowd:
        thread.join()
    embedder.close()


def test_the_built_in_model_reads_254_tokens_and_is_384_wide(minilm_cache: Path) -> None:
    embedder = from_options(_Options(models_path=minilm_cache))
    assert (embedder.max_tokens, embedder.space.dimensions, embedder.space.model) == (254, 384, "all-MiniLM-L6-v2")
    assert embedder.space.label == "local/all-MiniLM-L6-v2 (int8, 384)"
    assert embedder.count_tokens("unbelievably") == len(embedder.token_spans("unbelievably")) > 1


def test_the_space_of_the_built_in_model_is_known_without_its_files(tmp_path: Path) -> None:
    assert LocalEmbedder(cache=tmp_path).space.weights.startswith("53aa51172d142c89")
    assert list(tmp_path.iterdir()) == []


def test_a_model_computes_what_its_weights_say_with_its_own_prefixes(tmp_path: Path) -> None:
    path = tiny.write_model(tmp_path / "m", pooling="cls_token", prompts={"query": "query: ", "passage": "passage "})
    embedder = LocalEmbedder(path=path, cache=tmp_path / "cache", variant="fp32")
    text = "verify the report"
    assert cosine(embedder.embed_query(text), _expected(path, f"query: {text}", "cls")) == pytest.approx(1, abs=1e-5)
    assert cosine(embedder.embed_documents([text])[0], _expected(path, f"passage {text}", "cls")) == pytest.approx(
        1, abs=1e-5
    )
    assert (embedder.space.query_prefix, embedder.space.document_prefix) == ("query: ", "passage ")
    assert embedder.max_tokens == 16 - 2 - 1, "special tokens and the prefix take room"
    embedder.close()


def test_a_long_text_is_read_up_to_the_window_and_a_warning_says_so(
    tiny_model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = LocalEmbedder(path=tiny_model, cache=tmp_path / "cache", variant="fp32")
    head = "the supplier shall verify every requirement before delivery by the plant it is which"
    assert embedder.count_tokens(head) == embedder.max_tokens == 14
    with caplog.at_level(logging.DEBUG):
        whole, cut, short = embedder.embed_documents([head, f"{head} bananas grow", "the plant"])
    assert whole == cut != short
    events = {record.getMessage(): getattr(record, EVENT_FIELDS, {}) for record in caplog.records}
    assert events["text_truncated"] == {"texts": 1, "longest": 16, "max_tokens": 14, "model": "tiny-bert"}
    assert events["embedding_generated"]["token_count"] == 14 + 16 + 2
    assert events["embedding_generated"]["latency_ms"] >= 0
    embedder.close()


def test_a_lone_surrogate_counts_as_an_unknown_character(tiny_model: Path, tmp_path: Path) -> None:
    embedder = LocalEmbedder(path=tiny_model, cache=tmp_path / "cache")
    assert embedder.token_spans("the \ud800 plant")[-1] == (6, 11)
    assert len(embedder.embed_query("the \ud800 plant")) == 4 * tiny.HIDDEN


def test_a_damaged_tokenizer_is_a_config_error(tiny_model: Path, tmp_path: Path) -> None:
    (tiny_model / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="not a tokenizer"):
        LocalEmbedder(path=tiny_model, cache=tmp_path / "cache").count_tokens("x")


def test_nothing_heavy_is_imported_before_the_first_use() -> None:
    program = (
        "import sys; from knowledge_mcp.embedders.local.embedder import LocalEmbedder; LocalEmbedder().space;"
        "print(sorted({'numpy','onnx','onnxruntime','tokenizers','huggingface_hub','platformdirs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_an_embedder_that_nobody_closed_does_not_keep_the_process_alive(tiny_model: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from knowledge_mcp.embedders.local.embedder import LocalEmbedder;"
        "e = LocalEmbedder(path=Path(sys.argv[1]), cache=Path(sys.argv[2]), threads=2);"
        "print(len(e.embed_documents(['the plant', 'a report'])))"
    )
    command = [sys.executable, "-c", program, str(tiny_model), str(tmp_path / "cache")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "2"


def test_a_cpu_quota_limits_the_lanes(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    everything = usable_cores(tmp_path / "missing")
    for text, cores in {
        "max 100000": everything,
        "100000 100000": 1,
        "50000 100000": 1,
        "9900000 100000": min(99, everything),
    }.items():
        quota.write_text(text)
        assert usable_cores(quota) == cores


def _expected(path: Path, text: str, pooling: str) -> bytes:
    ids = Tokenizer.from_file(str(path / "tokenizer.json")).encode(text).ids
    ids = [each for each in ids if each != 0]
    return np.asarray(tiny.reference(tiny.weights(), ids, pooling), "<f4").tobytes()


def test_a_word_of_a_million_letters_is_measured_in_pieces(minilm_cache: Path) -> None:
    embedder = LocalEmbedder(cache=minilm_cache)
    text = f"before {'A' * 1_000_000} after"
    spans = embedder.token_spans(text)
    assert embedder.count_tokens(text) == len(spans) == 2 + 1_000_000 // 16
    assert (spans[0], spans[-1]) == ((0, 6), (len(text) - 5, len(text)))
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))
    embedder.close()


@pytest.mark.slow
def test_a_question_without_the_model_and_a_network_is_refused_without_trying_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")
    embedder = LocalEmbedder(cache=tmp_path)
    with pytest.raises(ConnectionFailedError, match="could not be downloaded") as caught:
        embedder.embed_query("How is a seal tested?")
    assert "knowledge models fetch" in caught.value.suggestion
    assert not [each for each in caplog.messages if "etry" in each], caplog.messages
    embedder.close()

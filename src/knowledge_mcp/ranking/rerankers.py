"""Rerankers: reorder the best hits of a search with a cross-encoder, on this machine or behind a URL.

A service is called with `POST {model, query, documents, top_n}`, the request format that most of them share.
"""

from __future__ import annotations

import dataclasses
import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as OutOfTimeError
from pathlib import Path
from typing import Any, Protocol, cast

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    RateLimitedError,
    TimedOutError,
    needing,
    reason_of,
)
from knowledge_mcp.model.query import Hit
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.files import read_whole_text
from knowledge_mcp.support.workers import usable_cores


def _late() -> TimedOutError:
    """Return the error for a reranking that was not finished in time."""
    return TimedOutError(
        "The reranker did not finish in time.",
        suggestion="Raise RERANKER_BUDGET_MS, lower RERANKER_TOP, or use a smaller model.",
    )


def _left(deadline: float) -> float:
    """Return the remaining seconds, never negative."""
    return max(0.0, deadline - time.monotonic())


def reorder(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Sort hits by new scores, each 0..1; ties keep their order.

    Raises:
        InternalError: a score is missing, or is not a number in 0..1.
    """
    if len(scores) != len(hits) or not all(math.isfinite(each) and 0.0 <= each <= 1.0 for each in scores):
        raise InternalError(
            "The reranker returned no usable scores.", details=f"{len(scores)} for {len(hits)} passages"
        )
    places = sorted(range(len(hits)), key=lambda place: -scores[place])
    return [dataclasses.replace(hits[place], score=scores[place]) for place in places]


_MOST_TOKENS = 512
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_FILES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")


class LocalRerankerOptions(Protocol):
    """The settings that this reranker needs."""

    @property
    def reranker_folder(self) -> Path: ...

    embedding_threads: int | None


def from_local_options(options: LocalRerankerOptions) -> CrossEncoder:
    """Create the reranker from the settings; loads nothing."""
    return CrossEncoder(options.reranker_folder, threads=options.embedding_threads or usable_cores())


class CrossEncoder:
    """Scores question and passage together (`ports.Reranker`); thread-safe, loaded on first use.

    Args:
        folder: contains `model.onnx` (or `onnx/model.onnx`) of a sequence classifier with one or two outputs, and
            `tokenizer.json`, as exported by sentence-transformers and Optimum.
        threads: number of passages scored at a time.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._threads = max(1, threads)
        self._lock = threading.Lock()
        self._score: Callable[[str, str], float] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Sort the hits by the model's scores.

        Raises:
            ConfigError: the folder has no such model.
            TimedOutError: not finished by the deadline (`time.monotonic()` seconds).
            InternalError: the model failed.
        """
        score, pool = self._load_model()
        over = threading.Event()

        def one(text: str) -> float:
            return score(query, text) if not over.is_set() else 0.0

        futures = [pool.submit(one, hit.chunk.embedding_text) for hit in hits]
        try:
            return reorder(hits, [future.result(timeout=_left(deadline)) for future in futures])
        except OutOfTimeError as exc:
            raise _late() from exc
        finally:
            over.set()

    def warm_up(self) -> None:
        """Load the model."""
        self._load_model()

    def close(self) -> None:
        """Free the model."""
        with self._lock:
            pool, self._pool, self._score = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def _load_model(self) -> tuple[Callable[[str, str], float], ThreadPoolExecutor]:
        with self._lock:
            if self._score is None or self._pool is None:
                self._score = _load(self._folder)
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="rerank")
            return self._score, self._pool


def _load(folder: Path) -> Callable[[str, str], float]:
    model = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if model is None or not (folder / "tokenizer.json").is_file():
        raise ConfigError(
            f"There is no cross-encoder in {folder}.",
            details=f"Looked for tokenizer.json and one of {', '.join(_FILES)}.",
            suggestion="Run `knowledge models fetch ms-marco-MiniLM-L12-v2`, or set RERANKER_MODEL_PATH to the "
            "folder of an exported cross-encoder.",
        )
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    runtime = cast("Any", onnxruntime)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = runtime.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])
        tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as exc:  # both libraries raise classes of their own without a common base
        raise ConfigError(f"The cross-encoder in {folder} cannot be loaded.", details=reason_of(exc)) from exc
    inputs = [str(each.name) for each in session.get_inputs()]
    if not set(inputs) <= _INPUTS or "input_ids" not in inputs:
        raise ConfigError(f"{model} has the inputs {', '.join(inputs)}, which are not a cross-encoder's.")
    tokenizer.enable_truncation(_most_tokens(folder), strategy="only_second")
    tokenizer.no_padding()

    def score(query: str, text: str) -> float:
        encoding = tokenizer.encode(query, text)
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        try:
            (answer, *_) = session.run(None, {name: np.array([feed[name]], np.int64) for name in inputs})
            return _probability([float(each) for each in np.asarray(answer, np.float64).reshape(-1)])
        except ConfigError:
            raise
        except Exception as exc:  # as above
            raise InternalError(f"The reranking model failed. {reason_of(exc)}") from exc

    return score


def _probability(logits: Sequence[float]) -> float:
    """Convert one logit, or those of "no" and "yes", into a probability."""
    if len(logits) not in {1, 2}:
        raise ConfigError(f"The reranking model gives {len(logits)} numbers for a pair; one or two were expected.")
    logit = logits[0] if len(logits) == 1 else logits[1] - logits[0]
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def _most_tokens(folder: Path) -> int:
    """Return the maximum number of tokens of the model; 512 if its configuration does not say."""
    try:
        stated = json.loads(read_whole_text(folder / "config.json")).get("max_position_embeddings")
    except (OSError, ValueError, AttributeError):
        return _MOST_TOKENS
    return min(stated, _MOST_TOKENS) if isinstance(stated, int) and stated > 0 else _MOST_TOKENS


class ApiOptions(Protocol):
    """The settings that this reranker needs."""

    reranker_url: str | None
    reranker_model: str | None

    @property
    def reranker_api_key(self) -> Secret | None: ...


def from_api_options(options: ApiOptions) -> ApiReranker:
    """Create the reranker from the settings; makes no request.

    Raises:
        ConfigError: RERANKER_URL is not set.
    """
    if not options.reranker_url:
        raise ConfigError(
            "RERANKER is 'api', but RERANKER_URL is not set.",
            suggestion="Set it to the full address, such as https://rerank.example.com/v1/rerank.",
        )
    return ApiReranker(options.reranker_url, options.reranker_api_key, options.reranker_model or "")


class ApiReranker:
    """Requests relevance scores from a service (`ports.Reranker`); thread-safe.

    Args:
        url: where to post.
        key: sent as bearer token; None for none.
        model: sent in each request; empty for the service's default.
    """

    def __init__(self, url: str, key: Secret | None = None, model: str = "") -> None:
        self._url = url
        self._key = key
        self._model = model
        self._lock = threading.Lock()
        self._client: Any = None

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Sort the hits by the service's scores, which must be in 0..1; makes one request, without retries.

        Raises:
            TimedOutError: no answer before the deadline (`time.monotonic()` seconds).
            KnowledgeError: the service cannot be reached, refuses, or answers in another form.
        """
        httpx, client = self._open_client()
        if not _left(deadline):
            raise _late()
        body: dict[str, Any] = {
            "query": query,
            "documents": [hit.chunk.embedding_text for hit in hits],
            "top_n": len(hits),
        }
        if self._model:
            body["model"] = self._model
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key is not None else {}
        try:
            answer = client.post(self._url, json=body, headers=headers, timeout=_left(deadline))
        except httpx.TimeoutException as exc:
            raise _late() from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ConnectionFailedError(
                "The reranker could not be reached.", details=type(exc).__name__, suggestion="Check RERANKER_URL."
            ) from exc
        if answer.status_code != 200:
            raise _refusal(answer.status_code, answer.text)
        if not _left(deadline):
            raise _late()
        try:
            answered = answer.json()
        except ValueError as exc:
            raise InternalError("The reranker's answer is not JSON.") from exc
        return reorder(hits, _scores(answered, len(hits)))

    def warm_up(self) -> None:
        """Load the library; makes no request."""
        self._open_client()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _open_client(self) -> tuple[Any, Any]:
        with needing("remote", "The client library for the reranker is not installed."):
            import httpx
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(follow_redirects=False)
            return httpx, self._client


def _scores(answered: Any, count: int) -> list[float]:
    """Read one score for each passage.

    Raises:
        InternalError: the answer has another form, or a passage is missing.
    """
    results = cast("dict[str, Any]", answered).get("results") if isinstance(answered, dict) else None
    scores: dict[int, float] = {}
    try:
        for each in cast("list[dict[str, Any]]", results):
            scores[int(each["index"])] = float(each["relevance_score"])
    except (TypeError, ValueError, KeyError, AttributeError) as exc:
        raise InternalError(
            "The reranker's answer has an unexpected format.",
            details="expected {results: [{index, relevance_score}]}",
        ) from exc
    if scores.keys() != set(range(count)):
        raise InternalError("The reranker omitted passages.", details=f"{len(scores)} of {count} have a score")
    return [scores[place] for place in range(count)]


def _refusal(status: int, words: str) -> KnowledgeError:
    details = f"HTTP {status}: {words[:300]}"
    if status in {401, 403}:
        return AuthError("The reranker refused the key.", details=details, suggestion="Check RERANKER_API_KEY.")
    if status == 429:
        return RateLimitedError("The reranker is limiting requests.", details=details)
    if status >= 500:
        return ConnectionFailedError("The reranker failed.", details=details)
    return InvalidInputError(
        "The reranker refused the request.", details=details, suggestion="Check RERANKER_URL and RERANKER_MODEL."
    )

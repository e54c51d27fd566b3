"""A reranker on this machine: a cross-encoder from a folder, in onnxruntime, within a budget of time."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as OutOfTimeError
from pathlib import Path
from typing import Any, Protocol, cast

from knowledge_mcp.model.errors import ConfigError, InternalError, reason_of
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ranking.reordering import Clock, late, reordered, text_of
from knowledge_mcp.support.lanes import usable_cores

__all__ = ["CrossEncoder", "LocalRerankerOptions", "from_options"]

_MOST_TOKENS = 512
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_FILES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "model_quantized.onnx")


class LocalRerankerOptions(Protocol):
    """Name the settings that this reranker reads."""

    @property
    def reranker_folder(self) -> Path: ...
    @property
    def embedding_threads(self) -> int | None: ...


def from_options(options: LocalRerankerOptions) -> CrossEncoder:
    """Build it from the settings; loads nothing."""
    return CrossEncoder(options.reranker_folder, threads=options.embedding_threads or usable_cores())


class CrossEncoder:
    """Score question and passage together (`ports.Reranker`); thread-safe, loaded at its first use.

    Args:
        folder: holds `model.onnx` (or `onnx/model.onnx`) of a sequence classifier with one or two outputs, and
            `tokenizer.json`, as sentence-transformers and Optimum export them.
        threads: passages scored at a time.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._threads = max(1, threads)
        self._lock = threading.Lock()
        self._score: Callable[[str, str], float] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Order the hits by the model's scores.

        Raises:
            ConfigError: there is no such model in the folder.
            TimedOutError: it was not done at the deadline (`time.monotonic()` seconds).
            InternalError: the model failed.
        """
        clock = Clock(deadline)
        score, pool = self._loaded()
        over = threading.Event()

        def one(text: str) -> float:
            return score(query, text) if not over.is_set() else 0.0

        futures = [pool.submit(one, text_of(hit)) for hit in hits]
        try:
            return reordered(hits, [future.result(timeout=clock.left) for future in futures])
        except OutOfTimeError as exc:
            raise late() from exc
        finally:
            over.set()

    def warm_up(self) -> None:
        """Load the model."""
        self._loaded()

    def close(self) -> None:
        """Free the model."""
        with self._lock:
            pool, self._pool, self._score = self._pool, None, None
        if pool is not None:
            pool.shutdown()

    def _loaded(self) -> tuple[Callable[[str, str], float], ThreadPoolExecutor]:
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
    """Turn one logit, or those of "no" and "yes", into 0..1."""
    if len(logits) not in {1, 2}:
        raise ConfigError(f"The reranking model gives {len(logits)} numbers for a pair; one or two were expected.")
    logit = logits[0] if len(logits) == 1 else logits[1] - logits[0]
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def _most_tokens(folder: Path) -> int:
    """Read how many tokens the model takes; 512 where its configuration does not say."""
    try:
        told = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
    except (OSError, ValueError, AttributeError):
        return _MOST_TOKENS
    return min(told, _MOST_TOKENS) if isinstance(told, int) and told > 0 else _MOST_TOKENS

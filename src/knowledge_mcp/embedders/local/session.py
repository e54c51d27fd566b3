"""One ONNX model in onnxruntime: token ids of one text in, one unit vector out."""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding

from knowledge_mcp.embedders.local.model_config import ModelConfig
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import ConfigError, InternalError, reason_of

DEPTH, WIDTH = 64, 32
_PROBE = (
    b"c-rIO5aP|w%P-GKO-WDH%}p+_x+cIS!Nr)!#h4_-SgFM8n^@von&X*QlA4}cB*a=!l%JHU)g!>+z@Z?(?8KPl)gVwm3P!;w7zLwX6pVrq2ciUl?FAt"
    b"oE-nrxAvP`sE+!6#B%n|wScnZOq~OHD#UQ{70OKSM2L"
)
_ROWS = (1, 2, 16)
"""Numbers of rows for which onnxruntime uses different kernels."""


def probe() -> bytes:
    """Return a model that multiplies `a`, uint8 `[n, DEPTH]`, by an int8 matrix `[DEPTH, WIDTH]` filled with 127."""
    return zlib.decompress(base64.b85decode(_PROBE))


@lru_cache(maxsize=1)
def are_exact() -> bool:
    """Return whether int8 products are exact on this CPU; checked once per process, in a millisecond."""
    session: Any = cast("Any", onnxruntime).InferenceSession(probe(), providers=["CPUExecutionProvider"])
    sums = (session.run(None, {"a": np.full((rows, DEPTH), 255, np.uint8)})[0] for rows in _ROWS)
    return all(bool((found == DEPTH * 255 * 127).all()) for found in sums)


POOLED = ("sentence_embedding", "pooled_embedding", "embedding")
TOKEN_VECTORS = ("last_hidden_state", "token_embeddings", "hidden_states")
ERRORS_ONLY = 3

runtime = cast(Any, onnxruntime)
_STATE = cast("dict[str, object]", vars(runtime.capi.onnxruntime_pybind11_state))
FAILURES: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(each for each in _STATE.values() if isinstance(each, type) and issubclass(each, Exception)),
)
"""All exceptions that onnxruntime raises."""


class OnnxModel:
    """Runs an ONNX file on the calling thread. Thread-safe.

    Args:
        path: the file. Its output is recognised by name: one vector per text, or one per token, to be pooled here.
        config: pooling and dimensions.

    Raises:
        ConfigError: the file cannot be loaded, or does not have the inputs and outputs of a sentence encoder.
    """

    def __init__(self, path: Path, config: ModelConfig) -> None:
        try:
            self._session: Any = runtime.InferenceSession(
                str(path),
                sess_options=_options(),
                providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # fusion makes it slower: 14.3 against 10.3 ms a text
            )
        except FAILURES as exc:
            raise ConfigError(
                f"{path} cannot be loaded by onnxruntime.",
                details=reason_of(exc),
                suggestion="Run `knowledge models verify`, then `knowledge models fetch`.",
            ) from exc
        self._config = config
        self._inputs = [str(each.name) for each in self._session.get_inputs()]
        self._output, self._pooled = _choose_output(path, [str(each.name) for each in self._session.get_outputs()])
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ConfigError(f"{path} has the inputs {', '.join(self._inputs)}, which are not a text encoder's.")

    def embed(self, encoding: Encoding) -> Vector:
        """Compute the vector of one encoded text.

        Raises:
            InternalError: the model failed, or did not return a vector of finite numbers.
        """
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        try:
            arrays = {name: np.array([feed[name]], np.int64) for name in self._inputs}
            (answer,) = self._session.run([self._output], arrays)
        except FAILURES as exc:
            raise InternalError(f"The embedding model failed. {reason_of(exc)}") from exc
        return self._vector(cast("NDArray[np.float32]", answer))

    def _vector(self, answer: NDArray[np.float32]) -> Vector:
        """Pool the output if the graph did not, normalise it and check it."""
        row = answer[0]
        if not self._pooled:
            tokens = row.astype(np.float64)
            row = {"mean": lambda: tokens.mean(axis=0), "cls": lambda: tokens[0], "last": lambda: tokens[-1]}[
                self._config.pooling
            ]().astype(np.float32)
        norm = float(np.linalg.norm(row.astype(np.float64)))
        if row.shape != (self._config.dimensions,) or not np.isfinite(norm) or norm == 0.0:
            raise InternalError(
                "The embedding model returned no usable vector.", details=f"shape {row.shape}, norm {norm}"
            )
        return (row.astype(np.float64) / norm).astype("<f4").tobytes()


def _options() -> Any:
    """Return session options: compute on the caller's thread, and free memory (the arena would keep its peak size)."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = ERRORS_ONLY
    if not are_exact():
        options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return options


def _choose_output(path: Path, names: list[str]) -> tuple[str, bool]:
    """Choose the output to read; also return whether it is one vector per text."""
    for names_of_kind, pooled in ((POOLED, True), (TOKEN_VECTORS, False)):
        for name in names_of_kind:
            if name in names:
                return name, pooled
    raise ConfigError(f"{path} has the outputs {', '.join(names)}; none of them is known to contain embeddings.")

"""The model's own tokenizer, and the model in onnxruntime: one text in, one unit-norm vector out."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from knowledge_mcp.embedders.local.model_config import ModelConfig
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import ConfigError, InternalError, reason_of

_REMEMBERED = 65_536
"""Words remembered: some megabytes; at more all are forgotten."""
_LONGEST = 64
"""Longest word that is remembered, in code points."""
_WORD = re.compile(r"\S+")
_JOINING = re.compile(r"[\x0b\x0c\x1c-\x1f\x85]")
"""Blanks to Python that such a tokenizer drops, so that what stands around them is one word to it."""

Spans = Sequence[tuple[int, int]]


def stands_alone(tokenizer: Tokenizer) -> bool:
    """Tell whether a tokenizer cuts each word between blanks as if it stood alone."""
    return (
        isinstance(tokenizer.model, WordPiece)
        and isinstance(tokenizer.normalizer, BertNormalizer)
        and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
        and not any(
            each.lstrip or each.rstrip or each.single_word or _WORD.fullmatch(each.content) is None
            for each in tokenizer.get_added_tokens_decoder().values()
        )
    )


class WordTokens:
    """Count and locate the tokens of texts; each word is cut once. Thread-safe.

    Args:
        cut: gives `[start, end)` of each token of a text, in code points; it must cut each word as if it stood alone.
    """

    def __init__(self, cut: Callable[[str], Spans]) -> None:
        self._cut = cut
        self._known = _Known(cut)

    def count(self, text: str) -> int:
        """Count the tokens."""
        if _JOINING.search(text):
            return len(self._cut(text))
        return sum(map(len, map(self._known.__getitem__, text.split())))

    def spans(self, text: str) -> Spans:
        """List each token's `[start, end)` in code points."""
        if _JOINING.search(text):
            return self._cut(text)
        found: list[tuple[int, int]] = []
        for word in _WORD.finditer(text):
            place = word.start()
            found += [(place + start, place + end) for start, end in self._known[word.group()]]
        return tuple(found)


class _Known(dict[str, Spans]):
    """Map words to the places of their tokens, worked out where they are not known."""

    def __init__(self, cut: Callable[[str], Spans]) -> None:
        super().__init__()
        self._cut = cut

    def __missing__(self, word: str) -> Spans:
        spans = self._cut(word)
        if len(word) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = spans
        return spans


REMEMBERED_TEXTS = 2048
REMEMBERED_LENGTH = 8192
"""Longest text, in code points, whose count and spans are remembered."""
LONG, PIECE = 100, 16
"""A word of more than `LONG` code points is one unknown token to the model; it is measured in pieces of `PIECE`, so
that an embedded picture or key does not make one passage of millions of characters."""
LONG_RUN = re.compile(rf"\S{{{LONG + 1}}}")
SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class ModelTokenizer:
    """Tokenize as the model does; nothing is truncated but what goes to the model.

    Attributes:
        window: tokens that the model reads of one text with its prefix, special tokens not counted.
        room: the same for a document without its prefix.

    Raises:
        ConfigError: the file is no tokenizer of this library's form, or leaves no room for text.
    """

    def __init__(self, path: Path, config: ModelConfig) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as exc:  # the library raises nothing more precise
            raise ConfigError(
                f"{path} is not a tokenizer.",
                details=str(exc),
                suggestion="Run `knowledge models fetch` to get the model again.",
            ) from exc
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._words = WordTokens(self._offsets) if stands_alone(self._tokenizer) else None
        self._remembered_count = lru_cache(REMEMBERED_TEXTS)(self._count)
        self._remembered_spans = lru_cache(REMEMBERED_TEXTS // 16)(self._spans)
        self.window = config.max_seq_length - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self.room = self.window - self._count(config.document_prefix)
        if self.room < 1:
            raise ConfigError(
                f"The model reads {config.max_seq_length} tokens, which leaves no room beside its prefix."
            )

    def count(self, text: str) -> int:
        """Count the tokens, special ones not counted."""
        return self._remembered_count(text) if len(text) <= REMEMBERED_LENGTH else self._count(text)

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each token's `[start, end)` in code points."""
        return self._remembered_spans(text) if len(text) <= REMEMBERED_LENGTH else self._spans(text)

    def encode(self, text: str) -> tuple[Encoding, int]:
        """Encode for the model: the first `window` tokens with the special ones, and how many the text has in all."""
        encoding = self._encoded(text)
        length = len(encoding)
        if length > self.window:
            encoding.truncate(self.window)
        return self._tokenizer.post_process(encoding, None, add_special_tokens=True), length

    def _count(self, text: str) -> int:
        if self._words is not None:
            return self._words.count(text)
        return len(self._offsets(text)) if LONG_RUN.search(text) else len(self._encoded(text))

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._offsets(text) if self._words is None else self._words.spans(text)

    def _offsets(self, text: str) -> Sequence[tuple[int, int]]:
        spans = self._encoded(text).offsets
        if not LONG_RUN.search(text):
            return tuple(spans)
        return tuple(
            (place, min(place + step, end))
            for start, end in spans
            for step in (PIECE if end - start > LONG else max(1, end - start),)
            for place in range(start, max(end, start + 1), step)
        )

    def _encoded(self, text: str) -> Encoding:
        """Encode without special tokens; a lone surrogate, which no UTF-8 text holds, counts as unknown character."""
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):
            return self._tokenizer.encode(text.translate(SURROGATES), add_special_tokens=False)


DEPTH, WIDTH = 64, 32
_PROBE = (
    b"c-rIO5aP|w%P-GKO-WDH%}p+_x+cIS!Nr)!#h4_-SgFM8n^@von&X*QlA4}cB*a=!l%JHU)g!>+z@Z?(?8KPl)gVwm3P!;w7zLwX6pVrq2ciUl?FAt"
    b"oE-nrxAvP`sE+!6#B%n|wScnZOq~OHD#UQ{70OKSM2L"
)
_ROWS = (1, 2, 16)
"""Numbers of rows for which onnxruntime has ways of its own."""


def probe() -> bytes:
    """Give a model that multiplies `a`, uint8 `[n, DEPTH]`, by int8 `[DEPTH, WIDTH]` of nothing but 127."""
    return zlib.decompress(base64.b85decode(_PROBE))


@lru_cache(maxsize=1)
def are_exact() -> bool:
    """Tell whether the greatest products add up to what they should; asked once a process, in a millisecond."""
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
"""All that onnxruntime raises."""


class OnnxModel:
    """Run an ONNX file on the calling thread; many threads may call at once.

    Args:
        path: the file. Its outputs are known by name: one vector a text, or one a token, which are then pooled here.
        config: pooling and dimensions.

    Raises:
        ConfigError: the file cannot be loaded, or has other inputs or outputs than a sentence encoder.
    """

    def __init__(self, path: Path, config: ModelConfig) -> None:
        try:
            self._session: Any = runtime.InferenceSession(
                str(path),
                sess_options=_options(),
                providers=["CPUExecutionProvider"],
                disabled_optimizers=["SkipLayerNormFusion"],  # fused it is slower: 14.3 against 10.3 ms a text
            )
        except FAILURES as exc:
            raise ConfigError(
                f"{path} cannot be loaded by onnxruntime.",
                details=reason_of(exc),
                suggestion="Run `knowledge models verify`, then `knowledge models fetch`.",
            ) from exc
        self._config = config
        self._inputs = [str(each.name) for each in self._session.get_inputs()]
        self._output, self._pooled = _chosen_output(path, [str(each.name) for each in self._session.get_outputs()])
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ConfigError(f"{path} has the inputs {', '.join(self._inputs)}, which are not a text encoder's.")

    def embed(self, encoding: Encoding) -> Vector:
        """Compute the vector of one encoded text.

        Raises:
            InternalError: the model failed, or gave something else than a vector of finite numbers.
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
        """Pool where the graph did not, bring to unit norm, and check."""
        row = answer[0]
        if not self._pooled:
            tokens = row.astype(np.float64)
            row = {"mean": lambda: tokens.mean(axis=0), "cls": lambda: tokens[0], "last": lambda: tokens[-1]}[
                self._config.pooling
            ]().astype(np.float32)
        norm = float(np.linalg.norm(row.astype(np.float64)))
        if row.shape != (self._config.dimensions,) or not np.isfinite(norm) or norm == 0.0:
            raise InternalError("The embedding model gave no usable vector.", details=f"shape {row.shape}, norm {norm}")
        return (row.astype(np.float64) / norm).astype("<f4").tobytes()


def _options() -> Any:
    """Choose a session that computes on its caller's thread and gives memory back (the arena keeps its peak)."""
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


def _chosen_output(path: Path, names: list[str]) -> tuple[str, bool]:
    """Choose the output to read; True where it is one vector a text."""
    for wanted, pooled in ((POOLED, True), (TOKEN_VECTORS, False)):
        for name in wanted:
            if name in names:
                return name, pooled
    raise ConfigError(f"{path} has the outputs {', '.join(names)}; none of them is known to hold embeddings.")

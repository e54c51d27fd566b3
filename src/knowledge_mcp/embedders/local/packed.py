"""Reads multilingual E5 from one file of 4-bit weights and vocabulary, without the program that wrote it.

```text
"E5S1", version, sizes            vocabulary: pieces of UTF-8, their scores        directory, then tensors
```

A tensor is float32, or blocks of 32 weights: a float16 scale, then 16 bytes whose low halves are the first 16 weights
and whose high halves are the last 16, each minus 8 and times the scale. Mean cosine to the authors' float32: .98 to
.99, according to its packager.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.files import read_whole

_MAGIC = b"E5S1"
_MOST_BYTES = 1 << 30
"""Maximum bytes of a packed model: several times those that exist."""
_SIZES = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")
_BLOCK = 32
_PACKED = 1
"""Tensor kind with blocks of 4 bits; 0 is float32."""

_LAYER = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm",
}  # fmt: skip
_TABLES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_REMOVED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"
_BLANKS = "[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"


@dataclass(frozen=True, slots=True)
class _Packed:
    data: bytes
    hidden: int
    pieces: list[tuple[str, float]]
    tensors: dict[str, tuple[int, int, int, int]]
    """Kind, number of weights, offset and bytes, by name."""


def read_packed(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read all tensors as float32, by their names in the authors' checkpoint.

    Raises:
        ConfigError: the file is missing, truncated or of another form.
    """
    with _errors_of(path):
        packed = _open(path)
        return {_name(name): _tensor(packed, name, entry) for name, entry in packed.tensors.items()}


def write_tokenizer(path: Path, target: Path) -> None:
    """Write the vocabulary as tokenizer.json; the same file always gives the same bytes.

    Raises:
        ConfigError: as `read_packed`.
    """
    with _errors_of(path):
        pieces = _open(path).pieces
    ids = {piece: number for number, (piece, _) in enumerate(pieces)}
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[each], "content": each, **plain} for each in _SPECIAL],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Replace", "pattern": {"Regex": _REMOVED}, "content": ""},
                {"type": "Replace", "pattern": {"Regex": _BLANKS}, "content": " "},
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": space,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _special("</s>")],
            "pair": [
                _special("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _special("</s>"), _special("</s>"),
                {"Sequence": {"id": "B", "type_id": 0}}, _special("</s>"),
            ],
            "special_tokens": {each: {"id": each, "ids": [ids[each]], "tokens": [each]} for each in ("<s>", "</s>")},
        },
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": pieces, "byte_fallback": False},
    }  # fmt: skip
    target.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _special(token: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": token, "type_id": 0}}


@contextmanager
def _errors_of(path: Path) -> Generator[None]:
    """Convert any exception that a malformed file causes into a ConfigError."""
    try:
        yield
    except (OSError, ValueError, KeyError, IndexError, struct.error) as exc:
        raise ConfigError(
            f"{path} is not a complete packed model.",
            details=str(exc),
            suggestion="Run `knowledge models fetch` to get the model again.",
        ) from exc


def _open(path: Path) -> _Packed:
    """Read sizes, vocabulary and directory; tensors are decoded on request."""
    data = read_whole(path, most=_MOST_BYTES)
    magic, _, hidden, *_ = _SIZES.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError(f"it begins with {magic!r}")
    place = _SIZES.size
    count, _, _, _, _, length = _VOCABULARY.unpack_from(data, place)
    place += _VOCABULARY.size
    ends = np.frombuffer(data, "<u4", count + 1, place)
    scores = np.frombuffer(data, "<f4", count, place + 4 * (count + 1))
    place += 4 * (count + 1) + 4 * count
    texts = data[place : place + length]
    place += length
    _, skipped = struct.unpack_from("<iI", data, place)  # character normalisation, which NFKC does instead
    place += 8 + skipped
    pieces = [
        (texts[ends[number] : ends[number + 1]].decode("utf-8"), float(scores[number])) for number in range(count)
    ]
    return _Packed(data, hidden, pieces, _directory(data, place))


def _directory(data: bytes, place: int) -> dict[str, tuple[int, int, int, int]]:
    (entries,) = struct.unpack_from("<i", data, place)
    place += 4
    found: dict[str, tuple[int, int, int, int]] = {}
    for _ in range(entries):
        (size,) = struct.unpack_from("<H", data, place)
        name = data[place + 2 : place + 2 + size].decode("ascii")
        found[name] = struct.unpack_from("<BIQQ", data, place + 2 + size)
        place += 2 + size + struct.calcsize("<BIQQ")
    return found


def _name(name: str) -> str:
    """Return a tensor's name in the checkpoint: `l3.q.w` is `encoder.layer.3.attention.self.query.weight`."""
    if name in _TABLES:
        return _TABLES[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{int(layer[1:])}.{_LAYER[part]}.{ {'w': 'weight', 'b': 'bias'}[kind] }"


def _tensor(packed: _Packed, name: str, entry: tuple[int, int, int, int]) -> NDArray[np.float32]:
    kind, count, start, size = entry
    raw = np.frombuffer(packed.data, np.uint8, size, start)
    if kind == _PACKED:
        blocks = raw.reshape(-1, 2 + _BLOCK // 2)
        scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
        halves = blocks[:, 2:]
        weights = np.concatenate((halves & 15, halves >> 4), axis=1).astype(np.float32) - 8.0
        values = (weights * scales).reshape(-1)
    else:
        values = raw.copy().view("<f4")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} weights, its directory says {count}")
    if name.startswith("emb.ln") or name.endswith(".b") or ".aln." in name or ".oln." in name:
        return values
    rows = count // packed.hidden if not name.endswith("fo.w") else packed.hidden
    return values.reshape(rows, -1)

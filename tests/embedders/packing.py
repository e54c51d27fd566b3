"""Write a tiny BERT as one packed file: 4-bit weights with their vocabulary."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.embedders.tiny import HEADS, HIDDEN, INNER, POSITIONS

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁die", "▁Pumpe", "▁läuft", "query", "passage", ":", "a", "b", "<mask>")
_PARTS = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense",
}  # fmt: skip
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


def blocks(values: NDArray[np.float32]) -> bytes:
    """Write weights in blocks of 32: a float16 scale, then two weights a byte."""
    packed = b""
    for block in values.reshape(-1, 32):
        scale = np.float16(max(float(np.abs(block).max()) / 7, 1e-4))
        whole = np.clip(np.rint(block / np.float32(scale)), -8, 7).astype(np.int8) + 8
        packed += scale.tobytes() + (whole[:16] | whole[16:] << 4).astype(np.uint8).tobytes()
    return packed


def write_packed(
    path: Path, weights: Mapping[str, NDArray[np.float32]], layers: int, pieces: Sequence[str] = PIECES
) -> None:
    """Write weights with the names of a checkpoint, and pieces whose scores fall."""
    table = weights["embeddings.word_embeddings.weight"]
    head = struct.pack("<4sI7ifi", b"E5S1", 1, HIDDEN, layers, HEADS, INNER, len(table), POSITIONS, 2, 1e-12, 32)
    texts = [each.encode() for each in pieces]
    ends = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = -np.arange(len(pieces)).astype("<f4")
    head += struct.pack("<5iQ", len(pieces), 0, 2, 1, 3, int(ends[-1]))
    head += ends.tobytes() + scores.tobytes() + b"".join(texts) + struct.pack("<iI", 0, 0)
    named = [("emb.word", 1, table)]
    named += [("emb.pos", 0, weights["embeddings.position_embeddings.weight"])]
    named += [("emb.type", 0, weights["embeddings.token_type_embeddings.weight"])]
    named += [(f"emb.ln.{kind[0]}", 0, weights[f"embeddings.LayerNorm.{kind}"]) for kind in ("weight", "bias")]
    for layer in range(layers):
        for short, part in (_PARTS | _NORMS).items():
            for kind in ("weight", "bias"):
                is_packed = int(kind == "weight" and short in _PARTS)
                value = weights[f"encoder.layer.{layer}.{part}.{kind}"]
                named.append((f"l{layer}.{short}.{kind[0]}", is_packed, value))
    bodies = [blocks(value) if kind else value.astype("<f4").tobytes() for _, kind, value in named]
    size = len(head) + 4 + sum(2 + len(name) + struct.calcsize("<BIQQ") for name, *_ in named)
    directory, body = struct.pack("<i", len(named)), b""
    for (name, kind, value), raw in zip(named, bodies, strict=True):
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, value.size, size + len(body), len(raw))
        body += raw
    path.write_bytes(head + directory + body)

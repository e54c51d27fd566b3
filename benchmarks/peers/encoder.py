"""The one model that all peers embed with: the product's local embedder, its vectors kept between peers if wished.

Every peer gets it as a small class of its own interface. The weights are all-MiniLM-L6-v2 as int8, run by onnxruntime,
one text at a time on each of as many threads as there are cores; texts are cut at 256 tokens. In the second comparison
peers get the weights as sentence-transformers runs them (`library.py`), and the product runs them in float32.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from benchmarks.peers.library import LibraryModel
from knowledge_mcp.embedders.local.model_config import Variant

Runtime = Literal["product", "float32", "library"]
"""How the weights are run: by the product, in int8 as by default or in float32, or by a library of the peers'."""

REQUIREMENTS = ("numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1", "tokenizers==0.23.3")
"""What the model needs beside this project's own sources."""

BATCH = 64
"""Texts that a peer hands over at once where that is a setting of its own."""

_LOOKED_UP = 500


class Encoder:
    """Embed with the product's local model, or with the same weights as a library runs them.

    Args:
        kept: a file with vectors by the SHA-256 of their texts, which others with the same precision use too; None
            embeds everything again.
        runtime: how.

    Attributes:
        kept: the file.
        variant: the precision of that, as `EMBEDDING_VARIANT` names it.
        seen: every text of a document that was asked for, in order.
        timed: whether a search is being timed, which then has to embed its question.
    """

    def __init__(self, kept: Path | None = None, runtime: Runtime = "product") -> None:
        from knowledge_mcp.embedders.local.embedder import LocalEmbedder

        self.variant: Variant = "int8" if runtime == "product" else "fp32"
        self._model = LibraryModel() if runtime == "library" else LocalEmbedder(variant=self.variant)
        self._model.warm_up()
        self.kept = kept
        self.timed = True
        self._kept = None if kept is None else sqlite3.connect(kept, timeout=60, check_same_thread=False)
        if self._kept is not None:
            self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        self.seen: list[str] = []

    def documents(self, texts: Sequence[str]) -> Any:
        """Return `[texts, 384]` float32, unit norm."""
        self.seen.extend(texts)
        if self._kept is None:
            return _array(self._model.embed_documents(texts))
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        found = self._found(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        made = dict(zip(missing, self._model.embed_documents(list(missing.values())), strict=True))
        with self._kept:
            self._kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", made.items())
        found |= made
        return _array([found[key] for key in keys])

    def query(self, text: str) -> Any:
        """Return `[384]` float32, unit norm; of the vectors that are kept only where no time is taken."""
        if self.timed or self._kept is None:
            return _array([self._model.embed_query(text)])[0]
        return self.documents([text])[0]  # the model has no prefixes: a question is embedded as a document is

    def bare(self, texts: Sequence[str]) -> None:
        """Embed texts in one call, keeping nothing: what is left to time when a framework is taken away."""
        self._model.embed_documents(texts)

    def close(self) -> None:
        """Free the model and the file."""
        self._model.close()
        if self._kept is not None:
            self._kept.close()

    def _found(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        assert self._kept is not None
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _LOOKED_UP):
            some = keys[start : start + _LOOKED_UP]
            marks = ",".join("?" * len(some))
            found.update(self._kept.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some))
        return found


def _array(vectors: Sequence[bytes]) -> Any:
    import numpy as np

    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1).copy()

"""The same weights as a library's own user would run them: sentence-transformers on torch, in float32, as it comes.

LlamaIndex, Haystack, txtai and ChromaDB's client all have an embedding of their own that does this. The weights are
those that `knowledge models fetch` gets; what the library wants beside them is written into a folder of its own.

Packages: `pip install torch==2.13.0 transformers==5.23.0 sentence-transformers==6.2.0`
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.embedders.local.model_folders import ALL_MINILM

REQUIREMENTS = ("torch==2.13.0", "transformers==5.23.0", "sentence-transformers==6.2.0")

_WINDOW = 256
"""Tokens that the model reads, as its authors set it."""


class LibraryModel:
    """Embed with sentence-transformers; documents in its own batches, as many threads as torch takes."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = _written(Path(temporary))
            library: Any = importlib.import_module("sentence_transformers")
            models: Any = importlib.import_module("sentence_transformers.models")
            transformer = models.Transformer(str(folder), max_seq_length=_WINDOW)
            pooling = models.Pooling(ALL_MINILM.config.dimensions, "mean")
            self._model = library.SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu")

    def warm_up(self) -> None:
        """Run it once."""
        self.embed_query("warm up")

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector a text: 384 little-endian float32 of unit norm."""
        found = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return [each.astype("<f4").tobytes() for each in found]

    def embed_query(self, text: str) -> bytes:
        """Return the vector of one text."""
        return self.embed_documents([text])[0]

    def close(self) -> None:
        """Free the model."""
        del self._model


def _written(folder: Path) -> Path:
    """Write the model in the layout of transformers, out of what the product has fetched."""
    from knowledge_mcp.embedders.local.embedder import LocalEmbedder
    from knowledge_mcp.embedders.local.model_folders import default_cache

    fetched = default_cache() / ALL_MINILM.name
    if not (fetched / ALL_MINILM.weights.name).is_file():
        LocalEmbedder().warm_up()  # which fetches it
    transformers: Any = importlib.import_module("transformers")
    shape = ALL_MINILM.config.bert
    assert shape is not None
    transformers.BertConfig(
        architectures=["BertModel"],
        vocab_size=30_522,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        max_position_embeddings=shape.positions,
        layer_norm_eps=shape.layer_norm_eps,
    ).save_pretrained(folder)
    shutil.copy(fetched / ALL_MINILM.weights.name, folder / "model.safetensors")
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(fetched / ALL_MINILM.tokenizer.name), **names)
    tokenizer.save_pretrained(folder)
    return folder

"""ChromaDB by its own client: `python -m benchmarks.peers.chromadb_peer [SET …]`.

`chromadb.EphemeralClient()` (in memory, which is quicker than its persistent client) and a collection as it comes: HNSW
with its default parameters, squared L2, which ranks unit vectors as the cosine does. The embedding function is this
benchmark's model in the place of ChromaDB's own default, which is the same MiniLM in float32. A document is one
passage; they are added in the largest batches that the client allows. The open-source client has no hybrid search.

Packages: `pip install chromadb==1.5.9`
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.encoder import Encoder
from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet


def embedding_function(encoder: Encoder) -> Any:
    """Make the model an embedding function of ChromaDB."""
    base: Any = importlib.import_module("chromadb").EmbeddingFunction

    class Shared(base):
        def __init__(self) -> None:
            """Hold nothing: the model is the benchmark's."""

        def __call__(self, input: Sequence[str]) -> list[Any]:
            return list(encoder.documents(input))

        def embed_query(self, input: Sequence[str]) -> list[Any]:
            return [encoder.query(text) for text in input]

        @staticmethod
        def name() -> str:
            return "shared-minilm"

        def get_config(self) -> dict[str, Any]:
            return {}

        @staticmethod
        def build_from_config(config: dict[str, Any]) -> Any:
            del config
            return Shared()

    return Shared()


def build(chosen: JudgedSet, shop: Shop) -> Engine:
    """Add every document to a collection."""
    chromadb: Any = importlib.import_module("chromadb")
    client = chromadb.EphemeralClient(chromadb.config.Settings(anonymized_telemetry=False))
    shared = embedding_function(shop.encoder)
    collection = client.create_collection(f"set-{uuid.uuid4().hex}", embedding_function=shared)
    keys, texts = list(chosen.documents), list(chosen.documents.values())
    step = client.get_max_batch_size()
    for start in range(0, len(keys), step):
        collection.add(ids=keys[start : start + step], documents=texts[start : start + step])

    def search(question: str, limit: int) -> list[str]:
        return list(collection.query(query_texts=[question], n_results=min(limit, len(keys)))["ids"][0])

    return Engine(search, close=lambda: client.delete_collection(collection.name))


PEER = Peer("ChromaDB client", ("chromadb==1.5.9",), {"dense": build})

if __name__ == "__main__":
    main(PEER)

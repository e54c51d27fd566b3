"""Haystack pipelines: `python -m benchmarks.peers.haystack_peer [SET …]`.

Indexing is a pipeline of `DocumentSplitter()` as it comes (200 words, no overlap), an embedder component over this
benchmark's model, and `DocumentWriter` into `InMemoryDocumentStore()` as it comes (dot product, BM25L). Dense: a text
embedder and `InMemoryEmbeddingRetriever`. Hybrid, as the documentation shows it: that and `InMemoryBM25Retriever`,
joined by `DocumentJoiner(join_mode="reciprocal_rank_fusion")`. Each retriever's `top_k` is the number of passages asked
for (its default is 10, as in the timed search). Everything is held in memory.

Packages: `pip install haystack-ai==3.4.0`
"""

from __future__ import annotations

import dataclasses
import importlib
from functools import partial
from typing import Any

from benchmarks.peers.encoder import BATCH, Encoder
from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet


def embedders(encoder: Encoder) -> tuple[Any, Any]:
    """Make the model two components: of documents and of questions."""
    haystack: Any = importlib.import_module("haystack")
    component: Any = haystack.component

    class SharedDocumentEmbedder:
        def __init__(self) -> None:
            component.set_output_types(self, documents=list[haystack.Document])

        def run(self, documents: list[Any]) -> dict[str, Any]:
            embedded: list[Any] = []
            for start in range(0, len(documents), BATCH):
                some = documents[start : start + BATCH]
                vectors = encoder.documents([each.content for each in some]).tolist()
                embedded += [
                    dataclasses.replace(each, embedding=vector) for each, vector in zip(some, vectors, strict=True)
                ]
            return {"documents": embedded}

    class SharedTextEmbedder:
        def __init__(self) -> None:
            component.set_output_types(self, embedding=list[float])

        def run(self, text: str) -> dict[str, Any]:
            return {"embedding": encoder.query(text).tolist()}

    return component(SharedDocumentEmbedder)(), component(SharedTextEmbedder)()


def build(chosen: JudgedSet, shop: Shop, *, hybrid: bool) -> Engine:
    """Index every document and put the asking pipeline together."""
    haystack: Any = importlib.import_module("haystack")
    store = importlib.import_module("haystack.document_stores.in_memory").InMemoryDocumentStore()
    documents, texts = embedders(shop.encoder)
    indexing = haystack.Pipeline()
    splitter = importlib.import_module("haystack.components.preprocessors").DocumentSplitter()
    indexing.add_component("splitter", splitter)
    indexing.add_component("embedder", documents)
    indexing.add_component("writer", importlib.import_module("haystack.components.writers").DocumentWriter(store))
    indexing.connect("splitter", "embedder")
    indexing.connect("embedder", "writer")
    given = [haystack.Document(id=key, content=text) for key, text in chosen.documents.items()]
    indexing.run({"splitter": {"documents": given}})
    asking = _asking(store, texts, hybrid=hybrid)

    def search(question: str, limit: int) -> list[str]:
        data: dict[str, dict[str, Any]] = {"text": {"text": question}, "dense": {"top_k": limit}}
        if hybrid:
            data |= {"words": {"query": question, "top_k": limit}, "joiner": {"top_k": limit}}
        found = asking.run(data)["joiner" if hybrid else "dense"]["documents"]
        return [each.meta["source_id"] for each in found]

    return Engine(search)


def _asking(store: Any, texts: Any, *, hybrid: bool) -> Any:
    retrievers: Any = importlib.import_module("haystack.components.retrievers.in_memory")
    asking = importlib.import_module("haystack").Pipeline()
    asking.add_component("text", texts)
    asking.add_component("dense", retrievers.InMemoryEmbeddingRetriever(store))
    asking.connect("text.embedding", "dense.query_embedding")
    if hybrid:
        joiners: Any = importlib.import_module("haystack.components.joiners")
        asking.add_component("words", retrievers.InMemoryBM25Retriever(store))
        asking.add_component("joiner", joiners.DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        asking.connect("words", "joiner")
        asking.connect("dense", "joiner")
    return asking


PEER = Peer(
    "Haystack", ("haystack-ai==3.4.0",), {"dense": partial(build, hybrid=False), "hybrid": partial(build, hybrid=True)}
)

if __name__ == "__main__":
    main(PEER)

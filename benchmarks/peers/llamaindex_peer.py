"""LlamaIndex: `python -m benchmarks.peers.llamaindex_peer [SET …]`.

`VectorStoreIndex.from_documents` with the default parser (`SentenceSplitter()`: 1,024 tokens, 200 of overlap, counted
by tiktoken) and the default store in memory; the embedding model is this benchmark's, as a `BaseEmbedding`. Dense:
`index.as_retriever()`. Hybrid, as the documentation shows it: that and `BM25Retriever.from_defaults(docstore=…)` below
a `QueryFusionRetriever` in mode `reciprocal_rerank` with `num_queries=1` (no language model rewrites the question). A
third way cuts at 256 tokens with 20 of overlap, about what the model reads; a user who knows the model would choose it.
`similarity_top_k` is the number of passages asked for, as the default of 2 could not fill ten places.
`use_async=False`, because with one question the event loop only costs time.

Packages: `pip install llama-index-core==0.14.25 llama-index-retrievers-bm25==0.8.0`
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers.encoder import BATCH, Encoder
from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet

_FITTED = {"chunk_size": 256, "chunk_overlap": 20}


def embedding_model(encoder: Encoder) -> Any:
    """Make the model an embedding of LlamaIndex."""
    base: Any = importlib.import_module("llama_index.core.embeddings").BaseEmbedding

    class SharedEmbedding(base):
        def _get_query_embedding(self, query: str) -> list[float]:
            return encoder.query(query).tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return encoder.query(query).tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return encoder.documents([text])[0].tolist()

        def _get_text_embeddings(self, texts: Sequence[str]) -> list[list[float]]:
            return encoder.documents(texts).tolist()

    return SharedEmbedding(model_name="shared-minilm", embed_batch_size=BATCH)


def build(chosen: JudgedSet, shop: Shop, *, hybrid: bool, fitted: bool = False) -> Engine:
    """Index every document and put the retriever together."""
    core: Any = importlib.import_module("llama_index.core")
    splitter = importlib.import_module("llama_index.core.node_parser").SentenceSplitter
    documents = [core.Document(text=text, id_=key) for key, text in chosen.documents.items()]
    model = embedding_model(shop.encoder)
    parser = splitter(**_FITTED) if fitted else splitter()
    index = core.VectorStoreIndex.from_documents(documents, embed_model=model, transformations=[parser])
    count = len(index.docstore.docs)
    retrievers: list[Any] = [index.as_retriever(similarity_top_k=min(10, count))]
    if hybrid:
        words: Any = importlib.import_module("llama_index.retrievers.bm25").BM25Retriever
        retrievers.append(words.from_defaults(docstore=index.docstore, similarity_top_k=min(10, count)))
        retrievers.append(_fused(retrievers))

    def search(question: str, limit: int) -> list[str]:
        for each in retrievers:
            each.similarity_top_k = min(limit, count)
        return [found.node.ref_doc_id for found in retrievers[-1].retrieve(question)]

    return Engine(search)


def _fused(retrievers: Sequence[Any]) -> Any:
    fusion: Any = importlib.import_module("llama_index.core.retrievers").QueryFusionRetriever
    no_model: Any = importlib.import_module("llama_index.core.llms").MockLLM()
    return fusion(list(retrievers), llm=no_model, mode="reciprocal_rerank", num_queries=1, use_async=False)


PEER = Peer(
    "LlamaIndex",
    ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0"),
    {
        "dense": partial(build, hybrid=False),
        "hybrid": partial(build, hybrid=True),
        "hybrid, 256 tokens": partial(build, hybrid=True, fitted=True),
    },
)

if __name__ == "__main__":
    main(PEER)

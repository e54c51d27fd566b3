"""txtai: `python -m benchmarks.peers.txtai_peer [SET …]`.

`Embeddings(method="external", transform=…)` is its documented way to bring a model of one's own. Dense: Faiss, which
txtai builds exact up to 5,000 documents and as IVF with its own number of cells above. Hybrid: `hybrid=True`, which
adds its own BM25 (normalised scores) and takes the convex combination with equal weights. Both as they come, content
not stored. A document is one passage, as txtai cuts nothing by itself. Everything is held in memory.

Packages: `pip install txtai==9.14.0` (brings torch, some 200 MB for processors alone, and transformers)
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet


def build(chosen: JudgedSet, shop: Shop, *, hybrid: bool) -> Engine:
    """Index every document."""
    txtai: Any = importlib.import_module("txtai")
    indexing = True

    def transform(texts: Sequence[str]) -> Any:
        return shop.encoder.documents(texts) if indexing else shop.encoder.query(texts[0]).reshape(1, -1)

    embeddings = txtai.Embeddings(method="external", transform=transform, hybrid=hybrid)
    embeddings.index(list(chosen.documents.items()))
    indexing = False

    def search(question: str, limit: int) -> list[str]:
        return [key for key, _ in embeddings.search(question, limit)]

    return Engine(search, close=embeddings.close)


PEER = Peer("txtai", ("txtai==9.14.0",), {"dense": partial(build, hybrid=False), "hybrid": partial(build, hybrid=True)})

if __name__ == "__main__":
    main(PEER)

"""bm25s, words only: `python -m benchmarks.peers.bm25s_peer [SET …]`.

As its documentation shows it: `bm25s.tokenize` with English stop words and PyStemmer's English stemmer, `BM25()` as it
comes (method "lucene", k1 1.5, b 0.75, numpy). A document is one passage. Everything is held in memory. There is no
model in it, so its ingest and its searches pay for none.

Packages: `pip install bm25s==0.3.16 PyStemmer==2.2.0.3`
"""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet


def build(chosen: JudgedSet, shop: Shop) -> Engine:
    """Index the words of every document."""
    del shop  # there is no model and no folder in it
    bm25s: Any = importlib.import_module("bm25s")
    stemmer: Any = importlib.import_module("Stemmer").Stemmer("english")
    keys = list(chosen.documents)
    words = bm25s.tokenize(list(chosen.documents.values()), stopwords="en", stemmer=stemmer, show_progress=False)
    index = bm25s.BM25()
    index.index(words, show_progress=False)

    def search(question: str, limit: int) -> list[str]:
        asked = bm25s.tokenize([question], stopwords="en", stemmer=stemmer, show_progress=False)
        found, scores = index.retrieve(asked, k=min(limit, len(keys)), show_progress=False)
        return [keys[place] for place, score in zip(found[0], scores[0], strict=True) if score > 0]

    return Engine(search)


PEER = Peer("bm25s", ("bm25s==0.3.16", "PyStemmer==2.2.0.3"), {"words": build})

if __name__ == "__main__":
    main(PEER)

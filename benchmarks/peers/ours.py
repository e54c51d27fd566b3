"""The product itself: `python -m benchmarks.peers.ours [SET …]`.

Prose goes through what `knowledge eval` uses: each document is one Markdown file in memory, its title the heading,
taken in by `Knowledge.ingest` with default settings into SQLite on disk, and asked by `Knowledge.search`. Source files
are written to a folder, indexed by the repository service as `pk-mcp index` does, and asked by its search without a
threshold. "blended" is `HYBRID_FUSION=scores`, which repositories and all surfaces without a specified fusion have by
default; "as specified" is `HYBRID_FUSION=ranks`, the default of the standards; "meaning alone" and "words alone" search
by one leg, to be held against peers that have no other. All ask one and the same index. `--runtime float32` is
`EMBEDDING_VARIANT=fp32`.

Packages: this project, `pip install -e ".[code,eval]"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from benchmarks.code_parts import KeptEmbedder
from benchmarks.peers.encoder import Encoder
from benchmarks.peers.running import Engine, Peer, Shop, main
from benchmarks.peers.sets import JudgedSet
from benchmarks.product import environment
from knowledge_mcp import registry, wiring
from knowledge_mcp.embedders.local.embedder import from_options
from knowledge_mcp.engine.repositories.values import CodeQuery, IndexRequest
from knowledge_mcp.evals import ingest_set, open_set
from knowledge_mcp.model.query import SearchMode, SearchQuery
from knowledge_mcp.ports import Embedder, Knowledge
from knowledge_mcp.settings import Settings, load_settings

BLENDED = "blended"
SPECIFIED = "as specified"
MEANING = "meaning alone"
WORDS = "words alone"

_REPOSITORY = "set"
_CODE_MODES: Mapping[SearchMode, Literal["hybrid", "dense", "keyword"]] = {
    SearchMode.HYBRID: "hybrid",
    SearchMode.SEMANTIC: "dense",
    SearchMode.KEYWORD: "keyword",
}
_SHARED: list[Encoder] = []
"""The encoder whose file of vectors the product uses too; empty where its ingest is timed."""


def kept_from_options(settings: Settings) -> Embedder:
    """Give the product the vectors that are kept for all; what is missing, and every question, it embeds itself."""
    kept = _SHARED[0].kept if _SHARED else None
    return from_options(settings) if kept is None else KeptEmbedder(from_options(settings), kept)


def build(chosen: JudgedSet, shop: Shop, *, fusion: str = "scores", mode: SearchMode = SearchMode.HYBRID) -> Engine:
    """Take the set in, unless the folder holds it already, and open the search."""
    _SHARED[:] = [shop.encoder]
    registry.EMBEDDERS["local"] = f"{kept_from_options.__module__}:{kept_from_options.__name__}"
    done = shop.folder / "done"
    own = {"HYBRID_FUSION": fusion, "EMBEDDING_VARIANT": shop.encoder.variant}
    settings = load_settings(environ={**environment(shop.folder / "data"), **own})
    engine = (_code if chosen.is_code else _prose)(chosen, shop, settings, mode, held=done.is_file())
    if shop.keeps:
        done.touch()
    return engine


def _prose(chosen: JudgedSet, shop: Shop, settings: Settings, mode: SearchMode, *, held: bool) -> Engine:
    knowledge = wiring.build_knowledge(settings)
    knowledge.warm_up()
    judged = open_set(chosen.folder)
    shop.start()
    if not held:
        ingest_set(knowledge, judged, None, lambda _said, _done, _of: None)

    def search(question: str, limit: int) -> list[str]:
        answer = knowledge.search(SearchQuery(text=question, limit=limit, mode=mode))
        return [judged.keys[hit.chunk.source_path] for hit in answer.hits]

    return Engine(search, partial(_texts, knowledge), knowledge.close)


def _texts(knowledge: Knowledge) -> list[str]:
    records = knowledge.documents()
    return [chunk.embedding_text for each in records for chunk in knowledge.document_chunks(each.id)]


def _code(chosen: JudgedSet, shop: Shop, settings: Settings, mode: SearchMode, *, held: bool) -> Engine:
    names = {(key if "." in key else f"{key}.py"): key for key in chosen.documents}
    service = wiring.build_repositories(settings)
    service.warm_up()
    if not held:
        files = shop.folder / "files"
        _write(chosen, names, files)
        shop.start()
        service.index(IndexRequest(str(files), name=_REPOSITORY))

    def search(question: str, limit: int) -> list[str]:
        found = service.search_code(CodeQuery(question, limit=limit, threshold=0.0, mode=_CODE_MODES[mode]))
        return [names[hit.chunk.document_id.partition(":")[2]] for hit in found.hits]

    return Engine(search, close=service.close)


def _write(chosen: JudgedSet, names: Mapping[str, str], folder: Path) -> None:
    for name, key in names.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(chosen.documents[key], encoding="utf-8")


PEER = Peer(
    "knowledge-mcp",
    (),
    {
        BLENDED: partial(build, fusion="scores"),
        SPECIFIED: partial(build, fusion="ranks"),
        MEANING: partial(build, mode=SearchMode.SEMANTIC),
        WORDS: partial(build, mode=SearchMode.KEYWORD),
    },
    asks_only=frozenset({SPECIFIED, MEANING, WORDS}),
)

if __name__ == "__main__":
    main(PEER)

"""Ask every store the same questions of the same corpus, and count how much of the top ten they have in common.

Usage: `python -m benchmarks.agreement [--sets scifact docs] [--stores sqlite chromadb-embedded qdrant]
[--queries 150] [--keep FOLDER]`

SciFact's abstracts (a hundred to a Markdown file) and the documents of `docs/md`, `docs/docx` and `docs/pdf` (below
`$KNOWLEDGE_EVAL_DATA`, else `../shared/data`) are ingested once by the product with its default model into SQLite,
copied into the other stores through their ports, and asked: SciFact's own questions, and titles of sections. Each leg
and the hybrid (weight .7, 100 candidates a leg) is compared with the memory store, which is exact; sets that differ
only in hits of equal score (within 1e-6) count as equal. With `--keep` what was ingested stays there, and another run
asks it again without reading and embedding anything.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.product import environment
from benchmarks.stores import opened
from knowledge_mcp.engine.transfer.copying import CollectionPlace
from knowledge_mcp.engine.transfer.move import Move, MoveOptions
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.stores.memory import MemoryStore

DATA = Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data"))
LARGEST_FILE = 1_500_000
Ranking = list[tuple[str, float]]


class Remembering(EnglishAnalyser):
    """Analyse each text once: the memory store asks again with each search."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, list[str]] = {}

    def document_terms(self, text: str) -> list[str]:
        if text not in self._known:
            self._known[text] = super().document_terms(text)
        return self._known[text]


def write_scifact(folder: Path) -> list[str]:
    """Write the abstracts as sections of Markdown files; returns the questions."""
    rows = [json.loads(line) for line in (DATA / "ir/scifact/corpus.jsonl").read_text().splitlines()]
    for start in range(0, len(rows), 100):
        parts = [f"## {' '.join(row['title'].split())}\n\n{row['text']}\n" for row in rows[start : start + 100]]
        (folder / f"abstracts-{start:05d}.md").write_text(f"# Abstracts from {start}\n\n" + "\n".join(parts))
    lines = (DATA / "ir/scifact/queries.jsonl").read_text().splitlines()
    return [str(json.loads(line)["text"]) for line in lines]


def copy_documents(folder: Path) -> list[str]:
    """Copy the smaller documents of each format; questions are made from their sections later."""
    for kind in ("md", "docx", "pdf"):
        for path in sorted((DATA / "docs" / kind).glob(f"*.{kind}")):
            if path.stat().st_size <= LARGEST_FILE:
                shutil.copy(path, folder)
    return []


def top_ten(store: Any, collection: str, vector: bytes, text: str) -> dict[str, Ranking]:
    """Rank by each leg and by both."""
    legs = store.open(collection).search(vector=vector, text=text, filter=None, limit=100)
    dense: tuple[LegHit, ...] = legs.dense or ()
    lexical: tuple[LegHit, ...] = legs.lexical or ()
    return {
        "dense": [(hit.chunk_id, hit.score) for hit in dense[:10]],
        "keyword": [(hit.chunk_id, hit.score) for hit in lexical[:10]],
        "hybrid": [(each[0], each[1]) for each in fuse(dense, lexical, 0.7, 10)],
    }


def common(mine: Ranking, truth: Ranking) -> float:
    """Return the share of the true ten that was found; hits as good as the last true one count."""
    if not truth:
        return 1.0 if not mine else 0.0
    names, least = {name for name, _ in truth}, truth[-1][1]
    return sum(name in names or score >= least - 1e-6 for name, score in mine) / len(truth)


def compare(name: str, stores: list[str], queries: int, work: Path, copies: Path) -> list[dict[str, Any]]:
    """Ingest one corpus below `work`, copy it into each store, below `copies`, ask, and compare."""
    files = work / "files"
    files.mkdir(parents=True, exist_ok=True)
    questions = write_scifact(files) if name == "scifact" else copy_documents(files)
    # what an earlier run has kept is found unchanged and not read again
    command = [str(Path(sys.executable).parent / "knowledge-ingest"), str(files)]
    done = subprocess.run(command, env=environment(work / "data"), check=False, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(done.stderr[-2000:])
    rows: list[dict[str, Any]] = []
    with opened("sqlite", work / "data") as (source, _):
        from knowledge_mcp.settings import load_settings
        from knowledge_mcp.wiring import build_base

        base = build_base(load_settings(environ=environment(work / "data")))
        place = CollectionPlace(source, base.collection)
        ingested = source.open(base.collection)
        records = ingested.documents()
        if not questions:
            chunks = ingested.chunks("document", [record.id for record in records])
            questions = sorted({chunk.section_title for chunk in chunks if len(chunk.section_title.split()) > 2})
        asked = random.Random(4).sample(questions, min(queries, len(questions)))
        vectors = [base.embedder.embed_query(text) for text in asked]
        oracle = MemoryStore(Remembering())
        Move(place, CollectionPlace(oracle, base.collection), MoveOptions(samples=0), lambda _: None).run()
        truth = [top_ten(oracle, base.collection, *each) for each in zip(vectors, asked, strict=True)]
        for kind in stores:
            with opened(kind, copies / kind) as (store, _):
                if kind == "sqlite":
                    store = source  # noqa: PLW2901 - it was filled by the ingest itself
                else:
                    Move(place, CollectionPlace(store, base.collection), MoveOptions(samples=0), lambda _: None).run()
                found = [top_ten(store, base.collection, *each) for each in zip(vectors, asked, strict=True)]
            shares = {
                leg: [common(mine[leg], true[leg]) for mine, true in zip(found, truth, strict=True)]
                for leg in ("dense", "keyword", "hybrid")
            }
            chunks_in_all = sum(record.chunk_count for record in records)
            rows.append({"set": name, "store": kind, "chunks": chunks_in_all, "queries": len(asked), **shares})
            print(row_of(rows[-1]), flush=True)
        base.store.close()
        base.embedder.close()
    return rows


def row_of(row: dict[str, Any]) -> str:
    """Write one line: mean overlap and the number of queries whose ten are all the same."""
    cells = [
        f"{statistics.mean(row[leg]):.4f} ({sum(each == 1.0 for each in row[leg])} same)"
        for leg in ("dense", "keyword", "hybrid")
    ]
    return f"| {row['set']} | {row['store']} | {row['chunks']:,} | {row['queries']} | {' | '.join(cells)} |"


def main() -> int:
    """Compare and print; exit code 1 where a store misses the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sets", nargs="+", choices=("scifact", "docs"), default=["scifact", "docs"])
    parser.add_argument("--stores", nargs="+", default=["sqlite", "chromadb-embedded"])
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--keep", type=Path, help="folder of what is ingested, used again where it is filled already")
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"There is no folder {DATA}: set KNOWLEDGE_EVAL_DATA.")
        return 0
    print("| set | store | chunks | queries | dense | keyword | hybrid |\n|---|---|---|---|---|---|---|")
    rows: list[dict[str, Any]] = []
    for name in options.sets:
        with tempfile.TemporaryDirectory(prefix="agreement-") as work:
            kept: Path = options.keep or Path(work)
            rows += compare(name, options.stores, options.queries, kept / name, Path(work))
    bars = {"dense": 1.0, "keyword": 0.95, "hybrid": 0.95}
    return 0 if all(statistics.mean(row[leg]) >= bar for row in rows for leg, bar in bars.items()) else 1


if __name__ == "__main__":
    sys.exit(main())

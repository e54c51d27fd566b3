"""Code search through the product's own indexing: `python -m benchmarks.code_search WORK SET_FOLDER…`.

Each labelled set (BEIR form: corpus.jsonl, queries.jsonl, qrels/test.tsv) is written as a folder of source files,
indexed by the repositories' desk with the local model on SQLite, and asked in each mode. A file counts at the place of
its best chunk. Printed per set and mode: nDCG@10, recall@10, recall@10 above the default threshold, milliseconds per
query; `--cosines` prints where the cosines of relevant and of other files among the first ten lie, which the
calibration is made from.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any, Literal

from knowledge_mcp import wiring
from knowledge_mcp.engine.repositories import RepositoryDesk
from knowledge_mcp.engine.repository_values import CodeHit, CodeQuery, IndexRequest
from knowledge_mcp.settings import read_settings

Mode = Literal["hybrid", "dense", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "keyword")
DEPTH = 50
SHARES = (0.01, 0.03, 0.05, 0.1, 0.25, 0.5, 0.75)


def read_set(folder: Path) -> tuple[dict[str, dict[str, Any]], dict[str, str], dict[str, set[str]]]:
    """Read documents, queries and relevant documents by query."""
    documents = {each["_id"]: each for each in map(json.loads, (folder / "corpus.jsonl").open(encoding="utf-8"))}
    queries = {each["_id"]: each["text"] for each in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    return documents, queries, relevant


def write_files(documents: dict[str, dict[str, Any]], folder: Path) -> dict[str, str]:
    """Write each document as a file; returns ids by path."""
    ids: dict[str, str] = {}
    for name, each in documents.items():
        path = name if "." in name else f"{name}.py"
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(each["text"], encoding="utf-8")
        ids[path] = name
    return ids


def ranked(hits: tuple[CodeHit, ...], ids: dict[str, str]) -> list[str]:
    """List files by their best chunk."""
    paths = (hit.chunk.document_id.partition(":")[2] for hit in hits)
    return list(dict.fromkeys(ids[path] for path in paths))


def ndcg(ranking: list[str], wanted: set[str]) -> float:
    """Work out nDCG@10 for relevance of one kind."""
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(ranking[:10]) if name in wanted)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(wanted), 10)))


def measure(folder: Path, work: Path, *, cosines: bool) -> None:
    """Index one set, and ask it in each mode."""
    documents, queries, relevant = read_set(folder)
    place = work / folder.name
    ids = write_files(documents, place / "files")
    settings = read_settings(environ={"DATA_PATH": str(place / "data"), "EMBEDDING_PROVIDER": "local"}).settings
    desk = wiring.build_knowledge(settings, surface="repositories")
    assert isinstance(desk, RepositoryDesk)
    done = desk.index(IndexRequest(str(place / "files"), name="set"))
    print(f"{folder.name}: {done.files_processed} files, {done.chunks_created} chunks, {done.duration_ms / 1000:.1f} s")
    low: list[float] = []
    high: list[float] = []
    for mode in MODES:
        gains, recalls, kept, spent = 0.0, 0.0, 0.0, 0.0
        for name, wanted in relevant.items():
            started = time.perf_counter()
            found = desk.search_code(CodeQuery(queries[name][:1000], limit=DEPTH, threshold=0.0, mode=mode))
            spent += time.perf_counter() - started
            ranking = ranked(found.hits, ids)
            gains += ndcg(ranking, wanted)
            recalls += len(wanted & set(ranking[:10])) / len(wanted)
            above = ranked(tuple(hit for hit in found.hits if hit.similarity >= 0.7), ids)
            kept += len(wanted & set(above[:10])) / len(wanted)
            if mode == "dense":
                for hit in found.hits:
                    file = ids[hit.chunk.document_id.partition(":")[2]]
                    if hit.dense is not None and file in ranking[:10]:
                        (high if file in wanted else low).append(hit.dense.score)
        count = len(relevant)
        print(
            f"  {mode:8} nDCG@10 {gains / count:.4f}  recall@10 {recalls / count:.4f}  "
            f"above 0.7 {kept / count:.4f}  {spent / count * 1000:.1f} ms"
        )
    if cosines:
        for title, values in (("relevant", sorted(high)), ("other", sorted(low))):
            points = {share: values[int(share * (len(values) - 1))] for share in SHARES}
            print(f"  cosines, {title}: " + "  ".join(f"{share:g}: {value:.3f}" for share, value in points.items()))
    desk.close()


def main() -> None:
    """Measure the sets that are named."""
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    for folder in arguments[1:]:
        measure(Path(folder), Path(arguments[0]), cosines="--cosines" in sys.argv)


if __name__ == "__main__":
    main()

"""Code search through the product's own indexing: hybrid, meaning, words, and the specification's own chunker.

Usage: `python -m benchmarks.code_search WORK SET_FOLDER… [--ways symbols lines] [--modes MODE…] [--cosines] [--misses]`

Each labelled set (BEIR form: corpus.jsonl, queries.jsonl, qrels/test.tsv) is written as a folder of source files,
indexed by the repository service with the local model on SQLite, and asked in each mode with the first 1,000 characters
of each question, which is what the tool takes. A file counts at the place of its best chunk. `symbols` is the product's
chunker, `lines` the specification's to the letter (500 tokens of four characters, 50 of overlap, no context). Printed
per set, way and mode: nDCG@10, recall@10, recall@10 above the default threshold, milliseconds per question. `WORK`
keeps indexes and vectors, so that another run embeds only texts that are new. `--cosines` prints where the cosines of
relevant and of other files among the first ten lie, which the calibration is made from; `--misses` names the questions
whose files are not among the first ten, with their places.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.product import environment
from knowledge_mcp import registry, wiring
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.engine.repositories.values import CodeHit, CodeQuery, IndexRequest
from knowledge_mcp.settings import load_settings

Mode = Literal["hybrid", "dense", "keyword"]
MODES: tuple[Mode, ...] = ("hybrid", "dense", "keyword")
CHUNKERS = {"symbols": registry.CHUNKERS["repositories"], "lines": "benchmarks.code_parts:SpecifiedLines"}
DEPTH = 50
LONGEST = 1000
THRESHOLD = 0.7
SHARES = (0.01, 0.03, 0.05, 0.1, 0.25, 0.5, 0.75)


@dataclass
class Labelled:
    """Hold one set: texts by id, questions by id, relevant ids by question."""

    name: str
    documents: dict[str, str]
    questions: dict[str, str]
    relevant: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


@dataclass
class Score:
    """Gather what one mode came to on one set."""

    gain: float = 0.0
    recall: float = 0.0
    kept: float = 0.0
    seconds: float = 0.0
    low: list[float] = field(default_factory=list[float])
    high: list[float] = field(default_factory=list[float])
    misses: list[str] = field(default_factory=list[str])


def read_set(folder: Path) -> Labelled:
    """Read documents, questions and relevant documents."""

    def texts(name: str) -> dict[str, str]:
        rows: list[dict[str, Any]] = [json.loads(line) for line in (folder / name).open(encoding="utf-8")]
        return {row["_id"]: row["text"] for row in rows}

    found = Labelled(folder.name, texts("corpus.jsonl"), texts("queries.jsonl"))
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) > 0:
            found.relevant.setdefault(question, set()).add(document)
    return found


def write_files(documents: dict[str, str], folder: Path) -> dict[str, str]:
    """Write each document as a file, unless it stands there already; returns ids by path."""
    ids: dict[str, str] = {}
    for name, text in documents.items():
        path = name if "." in name else f"{name}.py"
        file = folder / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        ids[path] = name
    return ids


def ranked(hits: Sequence[CodeHit], ids: dict[str, str]) -> list[str]:
    """List files by their best chunk."""
    return list(dict.fromkeys(ids[hit.chunk.document_id.partition(":")[2]] for hit in hits))


def ndcg(ranking: list[str], expected: set[str]) -> float:
    """Work out nDCG@10 for relevance of one kind."""
    gain = sum(1 / math.log2(place + 2) for place, name in enumerate(ranking[:10]) if name in expected)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(len(expected), 10)))


def open_service(place: Path, way: str) -> RepositoryService:
    """Build the product's own service, with one of the chunkers, and vectors that are kept between runs."""
    registry.EMBEDDERS["local"] = "benchmarks.code_parts:kept_from_options"
    registry.CHUNKERS["repositories"] = CHUNKERS[way]
    settings = load_settings(environ=environment(place / way))
    return wiring.build_repositories(settings)


def ask(service: RepositoryService, labelled: Labelled, ids: dict[str, str], mode: Mode) -> Score:
    """Ask every question in one mode."""
    score = Score()
    for name, expected in labelled.relevant.items():
        started = time.perf_counter()
        query = CodeQuery(labelled.questions[name][:LONGEST], limit=DEPTH, threshold=0.0, mode=mode)
        found = service.search_code(query)
        score.seconds += time.perf_counter() - started
        ranking = ranked(found.hits, ids)
        score.gain += ndcg(ranking, expected)
        score.recall += len(expected & set(ranking[:10])) / len(expected)
        above = ranked([hit for hit in found.hits if hit.similarity >= THRESHOLD], ids)
        score.kept += len(expected & set(above[:10])) / len(expected)
        for hit in found.hits:
            file = ids[hit.chunk.document_id.partition(":")[2]]
            if hit.dense is not None and file in ranking[:10]:
                (score.high if file in expected else score.low).append(hit.dense.score)
        for file in sorted(expected - set(ranking[:10])):
            place = ranking.index(file) + 1 if file in ranking else 0
            score.misses.append(f"{name}: {file} at {place or f'none of {len(ranking)}'}; first {ranking[:3]}")
    return score


def measure(labelled: Labelled, work: Path, way: str, options: argparse.Namespace) -> None:
    """Index one set with one chunker, and print one row for each mode."""
    place = work / labelled.name
    ids = write_files(labelled.documents, place / "files")
    service = open_service(place, way)
    done = service.index(IndexRequest(str(place / "files"), name="set"))
    held = service.repository("set")
    count = len(labelled.relevant)
    for mode in options.modes:
        score = ask(service, labelled, ids, mode)
        print(
            f"| {labelled.name} | {held.file_count} | {held.chunk_count} | {way} | {mode} | {score.gain / count:.4f} "
            f"| {score.recall / count:.4f} | {score.kept / count:.4f} | {score.seconds / count * 1000:.1f} "
            f"| {done.duration_ms / 1000:.1f} |",
            flush=True,
        )
        if options.misses:
            for line in score.misses:
                print(f"    {line}")
        if options.cosines and mode == "dense":
            for title, values in (("relevant", sorted(score.high)), ("other", sorted(score.low))):
                points = [f"{share:g}: {values[int(share * (len(values) - 1))]:.3f}" for share in SHARES]
                print(f"    cosines, {title}:", *points, sep="  ")
    service.close()


def main() -> None:
    """Measure the sets that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--ways", nargs="+", choices=list(CHUNKERS), default=["symbols"])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--cosines", action="store_true")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    print("| set | files | chunks | cut by | mode | nDCG@10 | recall@10 | above 0.7 | ms a question | indexing s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for folder in options.sets:
        for way in options.ways:
            measure(read_set(folder), options.work, way, options)


if __name__ == "__main__":
    main()

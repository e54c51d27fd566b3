"""Measure nDCG@10 of the product's own ingest and search on labelled sets, each leg beside the hybrid.

Usage: `python -m benchmarks.retrieval [SET …] [--data FOLDER] [--keep FOLDER] [--json FILE]`

Sets are BEIR folders (`corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`) below `$KNOWLEDGE_EVAL_DATA`, else
`../shared/data`; without the folder the script says so and ends. Each document becomes one Markdown file with its title
as heading, is ingested by `knowledge-ingest` with default settings, and is found by its best passage. Gain is 2^g - 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.product import environment, open_knowledge
from knowledge_mcp.model.query import SearchMode, SearchQuery
from knowledge_mcp.ports import Knowledge

DEFAULT_SETS = ("ir/scifact", "ir/medline", "ir/cranfield", "qa/mtrag-un")
FLOORS = {"ir/scifact": 0.679, "ir/medline": 0.671, "ir/cranfield": 0.356, "qa/mtrag-un": 0.736}
"""nDCG@10 of a plain BM25 on the same judgements."""
RRF = {"ir/scifact": 0.714, "ir/medline": 0.808, "ir/cranfield": 0.427, "qa/mtrag-un": 0.813}
"""nDCG@10 of an equal-weight RRF measured before this product was written."""
MODES = (
    ("semantic", SearchMode.SEMANTIC),
    ("keyword", SearchMode.KEYWORD),
    ("hybrid", SearchMode.HYBRID),
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Hold one labelled set: documents (title, text), questions, and grades per question and document."""

    documents: dict[str, tuple[str, str]]
    questions: dict[str, str]
    grades: dict[str, dict[str, int]]


def read_set(folder: Path) -> Labelled:
    """Read a BEIR folder; questions without a judgement are left out."""
    documents: dict[str, tuple[str, str]] = {}
    for line in (folder / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        documents[row["_id"]] = (row.get("title", ""), row["text"])
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        question, document, grade = line.split("\t")
        grades[question][document] = int(grade)
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    return Labelled(documents, {row["_id"]: row["text"] for row in rows if row["_id"] in grades}, dict(grades))


def write_files(labelled: Labelled, folder: Path) -> dict[str, str]:
    """Write one Markdown file per document; returns the document's key by file path."""
    folder.mkdir(parents=True, exist_ok=True)
    keys: dict[str, str] = {}
    for number, (key, (title, text)) in enumerate(labelled.documents.items()):
        path = folder / f"d{number:06d}.md"
        heading = f"# {' '.join(title.split())}\n\n" if title.strip() else ""
        path.write_text(f"{heading}{text}\n")
        keys[str(path.resolve())] = key
    return keys


def ndcg(ranking: list[str], grades: dict[str, int], depth: int = 10) -> float:
    """Compute normalised discounted cumulative gain at a depth."""
    gains = [2 ** grades.get(key, 0) - 1 for key in ranking[:depth]]
    best = sorted((2**grade - 1 for grade in grades.values() if grade > 0), reverse=True)[:depth]
    ideal = sum(gain / math.log2(place + 2) for place, gain in enumerate(best))
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / ideal if ideal else 0.0


def score(knowledge: Knowledge, labelled: Labelled, keys: dict[str, str], mode: SearchMode) -> tuple[float, float]:
    """Return mean nDCG@10 and the median milliseconds of a search."""
    total, times = 0.0, list[float]()
    for question, text in labelled.questions.items():
        started = time.perf_counter()
        answer = knowledge.search(SearchQuery(text=text[:2000], limit=100, mode=mode))
        times.append(time.perf_counter() - started)
        ranking = list(dict.fromkeys(keys[hit.chunk.source_path] for hit in answer.hits))
        total += ndcg(ranking, labelled.grades[question])
    return total / len(labelled.questions), 1000 * sorted(times)[len(times) // 2]


def measure(name: str, folder: Path, work: Path) -> dict[str, float]:
    """Ingest one set by the command line and search it in every mode."""
    labelled = read_set(folder)
    files, data = work / name / "files", work / name / "data"
    keys = write_files(labelled, files)
    started = time.perf_counter()
    command = [str(Path(sys.executable).parent / "knowledge-ingest"), str(files), "--pattern", "*.md"]
    done = subprocess.run(command, env=environment(data), check=False, capture_output=True, text=True)
    if done.returncode > 1:  # 1: some documents of these sets are empty, and are skipped with that reason
        sys.exit(f"{name}: knowledge-ingest ended with {done.returncode}\n{done.stderr[-2000:]}")
    row = {"documents": float(len(labelled.documents)), "ingest s": time.perf_counter() - started}
    knowledge = open_knowledge(data)
    try:
        for label, mode in MODES:
            row[label], row[f"{label} ms"] = score(knowledge, labelled, keys, mode)
    finally:
        knowledge.close()
    return row


def main() -> None:
    """Measure the sets named and print one row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(DEFAULT_SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", type=Path, help="work here and keep it, so that a second run ingests nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        print(
            "| set | documents | ingest s | semantic | keyword | hybrid | BM25 floor | RRF before | hybrid ms "
            "| verdict |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|")
        for name in options.sets:
            row = rows[name] = measure(name, options.data / name, options.keep or Path(temporary))
            floor, before = FLOORS.get(name, 0.0), RRF.get(name, 0.0)
            good = row["hybrid"] > max(row["semantic"], row["keyword"], floor) and row["hybrid"] >= before - 0.01
            print(
                f"| {name} | {row['documents']:.0f} | {row['ingest s']:.0f} | {row['semantic']:.4f} "
                f"| {row['keyword']:.4f} | {row['hybrid']:.4f} | {floor:.3f} | {before:.3f} | {row['hybrid ms']:.1f} "
                f"| {'ok' if good else 'BELOW'} |",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

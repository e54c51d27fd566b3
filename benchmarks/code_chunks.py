"""Measure how well files are found by their chunks: cut by symbol, and by lines as specified.

Usage: `python -m benchmarks.code_chunks [SET …] [--data FOLDER] [--queries N] [--files N] [--small SHARE]`

Sets are BEIR folders below `$KNOWLEDGE_EVAL_DATA/code`, else `../shared/data/code`; without the folder the script says
so and ends. The local model embeds every chunk and every query; a file ranks by its best chunk (cosine). `lines` is the
specification's chunker to the letter: 500 tokens of four characters, 50 of overlap, no context; the model reads no more
of a chunk than it can. `capped lines` cuts by lines too, but no longer than the model reads. `--files N` keeps the
files that queries need and N others.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.product import environment
from benchmarks.retrieval import ndcg
from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Embedder, Reader
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.settings import load_settings
from knowledge_mcp.wiring import build_base

DEFAULT_SETS = ("swe-lite-flask", "swe-lite-pytest", "swe-lite-sympy", "commits-flask-py", "commits-gin-go")
MEDIA_TYPES = {".py": "text/x-python", ".go": "text/x-go", ".md": "text/markdown", ".rst": "text/x-rst"}
CHARACTERS_PER_TOKEN = 4

Cut = Callable[[str, str], list[str]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Hold one set: texts by file, questions by key, and the grades of files by question."""

    files: dict[str, str]
    questions: dict[str, str]
    grades: dict[str, dict[str, int]]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON-lines file."""
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield cast("dict[str, Any]", json.loads(line))


def read_set(folder: Path, queries: int | None, others: int | None) -> Labelled:
    """Read one set, or a part of it."""
    grades: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, file, grade = line.split("\t")
        grades.setdefault(question, {})[file] = int(grade)
    asked = {row["_id"]: row["text"] for row in rows(folder / "queries.jsonl") if row["_id"] in grades}
    asked = dict(list(asked.items())[:queries])
    needed = {file for question in asked for file in grades[question]}
    files = {row["_id"]: row["text"] for row in rows(folder / "corpus.jsonl")}
    if others is not None:
        kept = sorted(set(files) - needed, key=lambda name: hashlib.sha256(name.encode()).digest())[:others]
        files = {name: text for name, text in files.items() if name in needed or name in set(kept)}
    return Labelled(files, asked, grades)


def item_of(name: str, text: str) -> SourceItem:
    """Wrap a text of the set as a source item."""
    data = text.encode("utf-8", "replace")
    media_type = MEDIA_TYPES.get(Path(name).suffix, "text/x-python")
    digest = hashlib.sha256(data).hexdigest()
    return SourceItem(f"repository:{name}", name, media_type, len(data), digest, partial(io.BytesIO, data))


def by_symbols(reader: Reader, embedder: Embedder, name: str, text: str) -> list[str]:
    """Cut as the product does."""
    if not text.strip():
        return []
    document = reader.read(item_of(name, text))
    return [chunk.embedding_text for chunk in CodeChunker().chunk(document, DocumentType.CUSTOM.value, embedder)]


def by_lines(most: int, overlap: int, _: str, text: str) -> list[str]:
    """Cut as the specification says; tokens are counted as it counts them."""
    chunks: list[str] = []
    held: list[str] = []
    size = 0
    for line in text.split("\n"):
        tokens = math.ceil(len(line) / CHARACTERS_PER_TOKEN)
        if held and size + tokens > most:
            chunks.append("\n".join(held))
            kept: list[str] = []
            while held and sum(math.ceil(len(each) / 4) for each in [held[-1], *kept]) <= overlap:
                kept.insert(0, held.pop())
            held = kept
            size = sum(math.ceil(len(each) / CHARACTERS_PER_TOKEN) for each in held)
        held.append(line)
        size += tokens
    chunks.append("\n".join(held))
    return [chunk for chunk in chunks[:100] if chunk.strip()]


def measure(labelled: Labelled, embedder: Embedder, cut: Cut) -> dict[str, float]:
    """Cut, embed and search one set."""
    started = time.perf_counter()
    owners: list[str] = []
    texts: list[str] = []
    for name, text in labelled.files.items():
        pieces = cut(name, text)
        owners.extend([name] * len(pieces))
        texts.extend(pieces)
    cutting = time.perf_counter() - started
    vectors = np.frombuffer(b"".join(embedder.embed_documents(texts)), "<f4").reshape(len(texts), -1)
    taken = time.perf_counter() - started
    gain = found = 0.0
    for question, words in labelled.questions.items():
        scores = vectors @ np.frombuffer(embedder.embed_query(words[:2000]), "<f4")
        best = cast("list[int]", np.argsort(-scores)[:2000].tolist())
        ranking = list(dict.fromkeys(owners[place] for place in best))[:10]
        grades = labelled.grades[question]
        gain += ndcg(ranking, grades)
        found += len(set(ranking) & set(grades)) / len(grades)
    asked = len(labelled.questions)
    return {
        "nDCG@10": gain / asked,
        "recall@10": found / asked,
        "chunks": float(len(texts)),
        "cut s": cutting,
        "all s": taken,
    }


def main() -> None:
    """Measure the sets named and print one row for each way to cut."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(DEFAULT_SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--queries", type=int, help="only so many queries of each set")
    parser.add_argument("--files", type=int, help="only so many files beside those that the queries need")
    parser.add_argument("--ways", nargs="*", default=["symbols", "lines", "capped lines"])
    options = parser.parse_args()
    if not (options.data / "code").is_dir():
        print(f"SKIPPED: no labelled sets in {options.data / 'code'}; set KNOWLEDGE_EVAL_DATA")
        return
    embedder = build_base(load_settings(environ=environment(Path("unused")))).embedder
    reader = CodeReader()
    ways: dict[str, Cut] = {
        "symbols": partial(by_symbols, reader, embedder),
        "lines": partial(by_lines, 500, 50),
        "capped lines": partial(by_lines, embedder.max_tokens, 50),
    }
    print("| set | files | queries | cut | nDCG@10 | recall@10 | chunks | cut s | all s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.sets:
        labelled = read_set(options.data / "code" / name, options.queries, options.files)
        for way in options.ways:
            row = measure(labelled, embedder, ways[way])
            print(
                f"| {name} | {len(labelled.files)} | {len(labelled.questions)} | {way} | {row['nDCG@10']:.4f} "
                f"| {row['recall@10']:.4f} | {row['chunks']:.0f} | {row['cut s']:.1f} | {row['all s']:.0f} |",
                flush=True,
            )
    reader.close()
    embedder.close()


if __name__ == "__main__":
    main()

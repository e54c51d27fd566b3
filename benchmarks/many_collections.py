"""Measure what is lost where a set lies in several collections, by how their answers are made one.

Usage: `python -m benchmarks.many_collections [SET …] [--data FOLDER]`

Sets are as in `benchmarks.retrieval`. Each is cut at random into five collections of unequal size, and kept whole
beside them; nDCG@10 is printed for the whole, of `search_all`, and of other ways: the scores as they come, the cosines
alone, one hit of each collection in turn.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.retrieval import Labelled, ndcg, read_set
from knowledge_mcp import wiring
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import Hit, SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.settings import load_settings

SETS = ("ir/medline", "ir/cranfield")
PARTS = (0.5, 0.75, 0.9, 0.97, 1.0)
"""Where the set is cut: the smallest part has three documents of a hundred."""
LIMIT = 20


def filled(library: SharedLibrary, labelled: Labelled) -> None:
    """Keep each document twice: in `whole`, and in one of the parts."""
    names = sorted(labelled.documents)
    random.Random(7).shuffle(names)
    for place, name in enumerate(names):
        title, text = labelled.documents[name]
        if not text.strip():
            continue
        part = next(number for number, end in enumerate(PARTS) if place < end * len(names))
        for collection in ("whole", f"part{part}"):
            library.deposit(Deposit(collection, f"{name}.md", text=f"# {title or name}\n\n{text}\n"))


def ranking(hits: Sequence[Hit]) -> list[str]:
    """Name the documents of hits, each once."""
    return list(dict.fromkeys(hit.chunk.source_path.removesuffix(".md") for hit in hits))


def measure(labelled: Labelled, data: Path) -> dict[str, float]:
    """Return the mean nDCG@10 of each way."""
    library = wiring.build_library(load_settings(environ={"DATA_PATH": str(data)}, folder=data, surface="rag"))
    filled(library, labelled)
    parts = [each.name for each in library.collections() if each.name.startswith("part")]
    only_parts = library.seen_by(Rights(("part*",)))
    totals: dict[str, float] = defaultdict(float)
    for question, text in labelled.questions.items():
        query = SearchQuery(text[:2000], LIMIT)
        found = [library.search_in(name, query).hits for name in parts]
        every = [(hit, rank) for hits in found for rank, hit in enumerate(hits)]
        ways = {
            "whole": library.search_in("whole", query).hits,
            "search_all": only_parts.search_all(query).hits,
            "scores": [hit for hit, _ in sorted(every, key=lambda each: -each[0].score)],
            "cosines": [
                hit for hit, _ in sorted(every, key=lambda each: -(each[0].dense.score if each[0].dense else 0))
            ],
            "in turn": [hit for hit, _ in sorted(every, key=lambda each: (each[1], -each[0].score))],
        }
        for way, hits in ways.items():
            totals[way] += ndcg(ranking(hits), labelled.grades[question]) / len(labelled.questions)
    library.close()
    return totals


def main() -> None:
    """Measure the sets named and print one row each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    for name in options.sets:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(read_set(options.data / name), Path(folder))
        print(f"{name}: " + ", ".join(f"{way} {value:.3f}" for way, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

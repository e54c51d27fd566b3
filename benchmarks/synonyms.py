"""What the shipped list of synonyms gains and harms on questions and reports that it was not written for: TAT-QA.

Usage: `python -m benchmarks.synonyms [--data FOLDER] [--keep FOLDER] [--json FILE]`

278 excerpts of annual reports (a table and its paragraphs) are ingested, and 1,668 questions are asked whose words are
those of the excerpts, for they were written beside them. Sought is the excerpt that a question belongs to. Two
measurements, each with and without the list:

- harm: all questions as they are, and those in which the list finds a phrase;
- gain: questions in which a phrase of the reports is replaced by another one of the list that means the same ("cost of
  sales" by "COGS"); the list is not told which.

Shown are the mean reciprocal rank among ten, the share of questions whose excerpt is first, and among the first five.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.product import environment
from knowledge_mcp.evals import EvalSet, ingest_set, open_set
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.lexical.synonyms import SynonymList, from_options
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.settings import load_settings
from knowledge_mcp.wiring import build_knowledge

MEANING_THE_SAME = {
    "capital expenditures": ("capex", "capital spending"),
    "cost of sales": ("COGS", "cost of goods sold"),
    "cost of revenue": ("COGS", "cost of goods sold"),
    "net sales": ("top line",),
    "revenue": ("top line",),
    "net income": ("bottom line", "net profit"),
    "operating income": ("operating profit", "income from operations"),
    "gross profit": ("gross margin",),
    "accounts receivable": ("trade receivables",),
    "trade receivables": ("accounts receivable",),
    "accounts payable": ("trade payables",),
    "research and development": ("R&D",),
    "depreciation and amortization": ("D&A",),
    "earnings per share": ("EPS",),
    "property, plant and equipment": ("PP&E", "PPNE"),
    "property and equipment": ("PP&E", "PPNE"),
    "statements of income": ("income statement", "P&L"),
    "balance sheets": ("statements of financial position",),
    "working capital": ("net working capital",),
}
"""Phrases of reports, and what the list knows them by."""

_FIRST = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold one question, and the excerpt that it belongs to."""

    text: str
    context: str


def corpus(data: Path, folder: Path) -> tuple[EvalSet, list[Asked]]:
    """Write the excerpts as an evaluation set below a folder; returns it and all questions."""
    contexts = [json.loads(line) for line in (data / "contexts.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [json.loads(line) for line in (data / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for each in contexts:
            paragraphs = sorted(each["paragraphs"], key=lambda paragraph: paragraph["order"])
            text = "\n\n".join((each["table_md"], *(paragraph["text"] for paragraph in paragraphs)))
            file.write(json.dumps({"_id": each["_id"], "title": "", "text": text}) + "\n")
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"_id": each["_id"], "text": each["text"]}) + "\n" for each in questions)
    with (folder / "qrels" / "test.tsv").open("w", encoding="utf-8") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"{each['_id']}\t{each['context']}\t1\n" for each in questions)
    return open_set(folder), [Asked(each["text"], each["context"]) for each in questions]


def put_otherwise(questions: Sequence[Asked]) -> list[Asked]:
    """Replace phrases of the reports, one phrase and one other word for it a question."""
    found: list[Asked] = []
    for question in questions:
        for phrase, others in MEANING_THE_SAME.items():
            pattern = re.compile(rf"\b{re.escape(phrase).replace('revenue', 'revenues?')}\b", re.IGNORECASE)
            if pattern.search(question.text):
                found.extend(Asked(pattern.sub(other, question.text), question.context) for other in others)
    return found


def ranks(knowledge: Knowledge, questions: Sequence[Asked], keys: dict[str, str]) -> tuple[list[int], int]:
    """Return the place of each question's excerpt, 0 for none, and how many were asked in other words as well."""
    places: list[int] = []
    reworded = 0
    for question in questions:
        answer = knowledge.search(SearchQuery(question.text, limit=5 * _FIRST))
        reworded += bool(answer.also_asked)
        order = list(dict.fromkeys(keys[hit.chunk.source_path] for hit in answer.hits))[:_FIRST]
        places.append(order.index(question.context) + 1 if question.context in order else 0)
    return places, reworded


def row(places: Sequence[int], reworded: int) -> dict[str, float]:
    """Summarise places."""
    count = max(1, len(places))
    return {
        "questions": len(places),
        "reworded": reworded,
        "RR@10": sum(1 / place for place in places if place) / count,
        "first": sum(place == 1 for place in places) / count,
        "first five": sum(0 < place <= 5 for place in places) / count,
    }


def measure(data: Path, keep: Path, tell: Callable[[str], object]) -> dict[str, dict[str, float]]:
    """Ingest once, ask everything with and without the list."""
    chosen, questions = corpus(data, keep / "tatqa")
    words: SynonymList = from_options(("finance",), EnglishAnalyser())
    asked = {
        "all, as they are": questions,
        "with a phrase of the list": [each for each in questions if words.wordings(each.text)],
        "in other words": put_otherwise(questions),
    }
    results: dict[str, dict[str, float]] = {}
    for names in ("none", "finance"):
        settings = load_settings(environ={**environment(keep), "HYBRID_FUSION": "scores", "SYNONYMS": names})
        knowledge = build_knowledge(settings)
        ingest_set(knowledge, chosen, None, _quietly)
        for kind, those in asked.items():
            results[f"{kind}, {names}"] = found = row(*ranks(knowledge, those, dict(chosen.keys)))
            tell(f"{kind:26} {names:8} " + "  ".join(f"{name} {value:g}" if value >= 1 else f"{name} {value:.3f}"
                                                    for name, value in found.items()))  # fmt: skip
        knowledge.close()
    return results


def _quietly(*_: Any) -> None:
    """Tell nobody."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", type=Path, help="keep what was ingested here, for the next run")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(arguments)
    data = options.data / "qa" / "tatqa"
    if not data.is_dir():
        print(f"skipped: {data} is not there", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as fresh:
        found = measure(data, options.keep or Path(fresh), print)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Judge `answerability` where it was not fitted: questions that people found unanswerable, filings, other languages.

Usage: `python -m benchmarks.answerability_elsewhere --rows FILE [--data FOLDER] [--keep FOLDER] [--every 6]`

`FILE` is what `benchmarks.answerability --rows` kept: the models are fitted on it, without the set that is asked.

- MTRAG-UN's questions as its authors labelled them: answerable, partial, unanswerable, underspecified.
- FinanceBench's questions, as they are (answered where a page of evidence is among the ten best) and with the filing of
  the company held back, so that only other companies' filings are found.
- XQuAD's questions in German and Chinese over the English paragraphs, as they are and held back, some of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.answerability import Row, fitted, ids_by_key, judged, kept_rows, look, opened
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.evals import EvalSet, Question, open_set
from knowledge_mcp.evals.judging import fits
from knowledge_mcp.model.query import Hit
from knowledge_mcp.surfaces.answers import in_words

WORDS = ("unlikely", "uncertain", "likely")

Asked = tuple[str, tuple[float, ...], bool]
"""What kind of question it was, the signals of its search, and whether that was answered."""


def labelled(chosen: EvalSet, base: Base, folder: Path) -> Iterator[Asked]:
    """Ask the questions of MTRAG-UN by their labels."""
    ids = ids_by_key(chosen, base)
    right: dict[str, set[str]] = {
        each.id: {key for place in each.places for key in ids.get(place.document or "", ())}
        for each in chosen.questions
    }
    for row in lines(folder / "queries.jsonl"):
        known = right.get(row["_id"], set())
        found = look(base, row["text"], (), lambda hit, known=known: hit.chunk.document_id in known)
        if found is not None:
            yield row["metadata"]["answerability"][0].lower(), *found


def filings(chosen: EvalSet, base: Base) -> Iterator[Asked]:
    """Ask the questions of FinanceBench, with their filing and without."""
    by_stem = {Path(record.source_path).stem: record.id for record in base.store.open(base.collection).documents()}
    for question in chosen.questions:
        filing = {by_stem[place.document] for place in question.places if place.document}
        for kind, hidden in (("as they are", set[str]()), ("filing held back", filing)):
            found = look(base, question.text, hidden, lambda hit, question=question: is_evidence(hit, question))
            if found is not None:
                yield kind, *found


def is_evidence(hit: Hit, question: Question) -> bool:
    """Tell whether a hit stands on a page of evidence."""
    return any(fits(place, hit.chunk, {}) for place in question.places)


def translated(chosen: EvalSet, base: Base, file: Path, every: int) -> Iterator[Asked]:
    """Ask some questions in another language, with their paragraph and without."""
    ids = ids_by_key(chosen, base)
    places = {each.id: [place.document or "" for place in each.places] for each in chosen.questions}
    for row in lines(file)[::every]:
        right = {key for place in places.get(row["_id"], ()) for key in ids.get(place, ())}
        for kind, hidden in (("as they are", set[str]()), ("held back", right)):
            found = look(base, row["text"], hidden, lambda hit, right=right: hit.chunk.document_id in right)
            if found is not None:
                yield kind, *found


def lines(file: Path) -> list[dict[str, Any]]:
    """Read JSON Lines."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def tell(name: str, asked: list[Asked], rows: list[Row], without: str) -> None:
    """Print how the words fall on each kind of question, by a model that never saw the set."""
    model = fitted([row for row in rows if row.set != without and row.fusion == "ranks"])
    whole = judged([(model.probability(values), answered) for _, values, answered in asked])
    kinds: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for kind, values, answered in asked:
        kinds[kind].append((in_words(model.probability(values)), answered))
    for kind, result in kinds.items():
        counts = " | ".join(str(sum(word == each for each, _ in result)) for word in WORDS)
        share = sum(answered for _, answered in result) / len(result)
        print(f"| {name}, {kind} | {len(result)} | {share:.2f} | {counts} | {whole.area:.3f} | {whole.error:.3f} |")
    sys.stdout.flush()


def main() -> None:
    """Ask everything and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", type=Path, help="ingest here and keep it")
    parser.add_argument("--every", type=int, default=6, help="ask so few of the translated questions: one in so many")
    options = parser.parse_args()
    rows = kept_rows(options.rows)
    if not options.data.is_dir() or not rows:
        print(f"SKIPPED: no labelled sets in {options.data}, or nothing in {options.rows}")
        return
    print(f"| questions | asked | answered | {' | '.join(WORDS)} | area under ROC, all kinds | calibration error |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = options.keep or Path(temporary)
        folder = options.data / "qa/mtrag-un"
        chosen = open_set(folder)
        with opened(chosen, work / "qa-mtrag-un") as base:
            tell("MTRAG-UN", [*labelled(chosen, base, folder)], rows, "qa/mtrag-un")
        chosen = open_set(options.data / "qa/financebench")
        with opened(chosen, work / "qa-financebench") as base:
            tell("FinanceBench", [*filings(chosen, base)], rows, "qa/financebench")
        folder = options.data / "qa/xquad-en"
        chosen = open_set(folder)
        with opened(chosen, work / "qa-xquad-en") as base:
            for language in ("de", "zh"):
                asked = [*translated(chosen, base, folder / f"queries.{language}.jsonl", options.every)]
                tell(f"XQuAD in {language}", asked, rows, "qa/xquad-en")


if __name__ == "__main__":
    main()

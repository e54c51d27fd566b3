"""Measure what the analysis makes of documents: requirements, force of sentences, definitions, look-ups.

Usage: `python -m benchmarks.analysis [PART …] [--data FOLDER]`; PART is requirements, modality, recall, forms, lookup,
definitions or kinds.

Without names all are measured, against `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`; without the folder the script
says so and ends. It prints one line per measure with its bar, and exits with 1 where a bar is missed.
`--sample` prints a sample of definitions to be judged by reading, with the sheet's columns; the judged sheet is
`benchmarks/results/definitions-sheet.csv` (document, clause, term, verdict).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from benchmarks.analysis_terms import measure_definitions, measure_forms, measure_lookup, print_sample
from benchmarks.reading import read_document
from knowledge_mcp.engine.search.requirements import group_statements, words_of
from knowledge_mcp.language.clauses import SectionFacts
from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.identifiers import identifier_key
from knowledge_mcp.language.requirements.kinds import RequirementKind, requirement_kind
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import Document

_LABELS = {
    Modality.REQUIREMENT: "mandatory",
    Modality.RECOMMENDATION: "recommended",
    Modality.PERMISSION: "permitted",
    Modality.POSSIBILITY: "informative",
}
_LONG = 25
"""Letters from which on one text that stands within another is the same sentence."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Hold one figure: how many of how many, the bar, and what was missed, for reading."""

    name: str
    right: int
    all: int
    bar: float
    missed: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Return the share that is right."""
        return self.right / self.all if self.all else 0.0


def statements_of(document: Document) -> list[Statement]:
    """List a document's statements as the chunkers do: outside its definitions."""
    facts = SectionFacts(document)
    definitions = find_definitions(document, facts=facts)
    return find_statements(document, facts=facts, exempt=[each.span for each in definitions])


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def letters(text: str) -> str:
    """Reduce a text to its letters and digits."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _holds(text: str, gold: str) -> bool:
    """Tell whether at least nine in ten of the gold text's words stand in a record's text."""
    expected, held = _tokens(gold), set(_tokens(text))
    return sum(word in held for word in expected) >= 0.9 * len(expected)


def measure_requirements(data: Path) -> list[Measured]:
    """Count gold identifiers that a record has with their text: three WARC documents and the cFE one."""
    gold: list[tuple[str, dict[str, str]]] = [
        (f"docs/pdf/warc_tools_{name.lower()}.pdf", rows)
        for name, rows in json.loads((data / "docs/gold/warc_requirements.json").read_text()).items()
    ]
    own = json.loads((data / "docs/gold/nasa_cfe_requirements.json").read_text())
    gold.append(("docs/docx/nasa_cfe_requirements.docx", {row["id"]: row["text"] for row in own}))
    found: list[Measured] = []
    for path, rows in gold:
        document = read_document(data / path)
        records: dict[tuple[str, ...], str] = {}
        for group in group_statements(statements_of(document)):
            if group[0].identifier is not None:
                records.setdefault(identifier_key(group[0].identifier), words_of(group, document.text))
        missed = [
            f"{name}: {records.get(identifier_key(name), '')[:80]!r}"
            for name, text in rows.items()
            if not _holds(records.get(identifier_key(name), ""), text)
        ]
        found.append(Measured(Path(path).name, len(rows) - len(missed), len(rows), 0.0, tuple(missed)))
    found.append(Measured("requirements", sum(m.right for m in found), sum(m.all for m in found), 0.98))
    return found


_F1_OF_YES = {"re19-leeds": (0.682, 0.836), "re19-wasp": (0.940, 0.469), "promise-nfr": (0.676, 0.695)}
"""F1 of calling every requirement of a set functional, and of calling every one a quality: what a rule must beat."""


def measure_kinds(data: Path) -> list[Measured]:
    """Compare what kind of requirement each is, functional and quality apart, set by set; the rules know no set."""
    found: list[Measured] = []
    for name, floors in _F1_OF_YES.items():
        rows = rows_of(data / "req" / name / "requirements.jsonl")
        kinds = [requirement_kind(row["text"]) for row in rows]
        for label, other, floor in (
            ("functional", RequirementKind.QUALITY, floors[0]),
            ("quality", RequirementKind.FUNCTIONAL, floors[1]),
        ):
            pairs = [(bool(row[f"is_{label}"]), kind is not other) for row, kind in zip(rows, kinds, strict=True)]
            both, either = sum(a and b for a, b in pairs), sum(a + b for a, b in pairs)
            found.append(Measured(f"{name}, {label}, F1 (every one: {floor})", 2 * both, either, 0.0))
    return found


def measure_modality(data: Path) -> list[Measured]:
    """Compare the force of labelled sentences with what is found in their documents."""
    rows = rows_of(data / "req/normative-sentences/sentences.jsonl")
    right, missed = 0, list[str]()
    for name in dict.fromkeys(row["doc"] for row in rows):
        document = read_document(data / "docs/md" / name)
        known = {letters(each.span.of(document.text)): each for each in reversed(statements_of(document))}
        for row in rows:
            if row["doc"] != name:
                continue
            statement = _same(known, letters(row["text"]), row["label"])
            got = "informative" if statement is None else _LABELS[statement.modality]
            right += got == row["label"]
            if got != row["label"]:
                missed.append(f"{name} {row['label']} read as {got}: {row['text'][:80]!r}")
    return [Measured("modality in context", right, len(rows), 0.97, tuple(missed))]


def _same(known: dict[str, Statement], key: str, label: str) -> Statement | None:
    if key in known:
        return known[key]
    near = [other for other in known if (len(other) > _LONG and other in key) or (len(key) > _LONG and key in other)]
    if near:
        return known[max(near, key=len)]
    alike = get_close_matches(key, known, 1, 0.8) if label != "informative" else []
    return known[alike[0]] if alike else None


def measure_recall(data: Path) -> list[Measured]:
    """Count requirements of `promise-nfr` that are read as such: all texts as one document, and each alone."""
    rows = rows_of(data / "req/promise-nfr/requirements.jsonl")
    together = detect_convention("\n\n".join(row["text"] for row in rows))
    found: list[Measured] = []
    for name, alone in (("promise-nfr, one document", False), ("promise-nfr, each alone", True)):
        missed: list[str] = []
        for row in rows:
            convention = detect_convention(row["text"]) if alone else together
            forces = [force_of(span.of(row["text"]), convention) for span in sentence_spans(row["text"])]
            if all(force is None or force.modality is not Modality.REQUIREMENT for force in forces):
                missed.append(row["text"][:80])
        found.append(Measured(name, len(rows) - len(missed), len(rows), 0.95, tuple(missed)))
    return found


def _wrapped(measure: Callable[[Path], list[tuple[str, int, int, float, tuple[str, ...]]]]) -> Measure:
    return lambda data: [Measured(*row) for row in measure(data)]


Measure = Callable[[Path], list[Measured]]
MEASURES: dict[str, Measure] = {
    "requirements": measure_requirements,
    "modality": measure_modality,
    "kinds": measure_kinds,
    "recall": measure_recall,
    "forms": _wrapped(measure_forms),
    "lookup": _wrapped(measure_lookup),
    "definitions": _wrapped(measure_definitions),
}


def main() -> int:
    """Measure what is named and print it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], help="what to measure")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--missed", type=int, default=0, metavar="N", help="show the first N misses of each")
    parser.add_argument("--sample", type=int, metavar="N", help="print N definitions to be judged, and end")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        sys.exit(f"SKIPPED: no evaluation data at {arguments.data}; name the folder by KNOWLEDGE_EVAL_DATA or --data.")
    if arguments.sample:
        print_sample(arguments.data, arguments.sample)
        return 0
    failed = False
    for name in arguments.names or MEASURES:
        for measured in MEASURES[name](arguments.data):
            verdict = "" if not measured.bar else "ok" if measured.share >= measured.bar else "MISSED"
            failed = failed or verdict == "MISSED"
            bar = f"bar {measured.bar:.2f}" if measured.bar else ""
            print(f"{measured.name:34} {measured.right:6} of {measured.all:6}  {measured.share:.4f}  {bar:9} {verdict}")
            for line in measured.missed[: arguments.missed]:
                print(f"    {line}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""Measure terms clauses and glossaries: documents made in many forms, as PDF, DOCX and Markdown twins.

Usage: `python -m benchmarks.glossaries [--data FOLDER] [--show FORM]`

Each form of `glossary_forms` is printed with made entries, and most of them also with
the terms of the glossary sets. A term counts as found where its definition is whole; then its other names, its source,
its notes and its number are compared; what is found beyond is counted as false. `--show` lists what was missed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.analysis_terms import glossary
from benchmarks.glossary_files import as_docx, as_markdown, as_pdf
from benchmarks.glossary_forms import (
    ELSEWHERE,
    NUMBERED,
    PLAIN,
    Entry,
    Form,
    made_abbreviations,
    made_elsewhere,
    made_entries,
)
from benchmarks.reading import read_document
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.glossary.entries import split_term
from knowledge_mcp.model.chunk import Definition

_LETTERS = re.compile(r"[\W_]+")
_MADE, _TAKEN = 60, 80


def measure(form: Form, entries: Sequence[Entry], folder: Path, shown: bool = False) -> list[tuple[str, Counter[str]]]:
    """Read the three twins of a form and count what was found of its entries."""
    counted: list[tuple[str, Counter[str]]] = []
    files = {
        "pdf": as_pdf(form, entries),
        "docx": as_docx(form, entries),
        "md": as_markdown(form, entries).encode(),
    }
    if form.layout == "entry":
        files["typed.docx"] = as_docx(form, entries, typed=True)
    for kind, data in files.items():
        path = folder / f"made.{kind}"
        path.write_bytes(data)
        counted.append((kind, _count(form, entries, find_definitions(read_document(path)), shown)))
    return counted


def _count(form: Form, entries: Sequence[Entry], found: Sequence[Definition], shown: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    if form.layout == "index":
        entries = ()
    by_term = {_bare(each.term): each for each in reversed(found)}
    names = {_bare(name): each for each in found for name in (each.term, *each.aliases)}
    for entry in entries:
        counts["entries"] += 1
        if entry.see:
            counts["found"] += _bare(entry.terms[0]) in names
            continue
        one = by_term.pop(_bare(split_term(entry.terms[0])[0]), None)
        whole = one is not None and _bare(one.text) == _bare(entry.words)
        counts["found"] += whole
        if shown and not whole:
            print(f"  missed: {entry}\n     got: {one}")
        if form.layout == "entry":
            aliases = {_bare(name) for name in one.aliases} if one else set[str]()
            expected = {_bare(name) for name in (*entry.terms[1:], *entry.deprecated)}
            counts["named"] += len(expected)
            counts["names"] += len(expected & aliases)
            counts["sourced"] += bool(entry.source)
            counts["sources"] += bool(one and entry.source and _bare(one.origin or "") == _bare(entry.source))
            counts["noted"] += len(entry.notes) + bool(entry.example)
            said = _bare(" ".join(one.notes)) if one else ""
            counts["notes"] += sum(_bare(note) in said for note in (*entry.notes, entry.example) if note)
            if shown and one and not expected <= aliases:
                print(f"  names: {expected - aliases} of {one}")
    counts["false"] += len(by_term)
    if shown and by_term:
        print("  false:", *by_term.values(), sep="\n    ")
    return counts


def _bare(text: str) -> str:
    return _LETTERS.sub("", text.lower())


def main() -> None:
    """Print a line for each form and format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the evaluation sets")
    parser.add_argument("--show", metavar="FORM", help="one form only, with what was missed")
    chosen = parser.parse_args()
    made = made_entries(_MADE)
    short = made_abbreviations(_MADE)
    sets: list[tuple[Form, str, list[Entry]]] = [
        (form, "made", short if form.name.startswith("abbreviations") else made) for form in (*NUMBERED, *PLAIN)
    ]
    for code, forms in ELSEWHERE.items():
        sets += [(form, "made", made_elsewhere(code, _MADE)) for form in forms]
    if (chosen.data / "glossary").is_dir():
        rows = [
            (term, words)
            for term, words in glossary(chosen.data).items()
            if len(words) < 600 and max(map(len, term.split())) < 15
        ][::29][:_TAKEN]
        taken = [Entry((term,), words) for term, words in rows]
        sets += [(form, "sets", taken) for form in (*NUMBERED[:2], *PLAIN) if not form.name.startswith("abbreviations")]
    else:
        print("The glossary sets are not there: only made entries are measured.")
    with tempfile.TemporaryDirectory() as folder:
        for form, name, entries in sets:
            if chosen.show and chosen.show != form.name:
                continue
            for kind, counts in measure(form, entries, Path(folder), bool(chosen.show)):
                shares = [
                    f"{part} {counts[part] / counts[whole]:.3f}"
                    for part, whole in (
                        ("found", "entries"),
                        ("names", "named"),
                        ("sources", "sourced"),
                        ("notes", "noted"),
                    )
                    if counts[whole]
                ]
                print(f"{name:5} {form.name:24} {kind:11} {'  '.join(shares)}  false {counts['false']}", flush=True)


if __name__ == "__main__":
    main()

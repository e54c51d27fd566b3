"""Measure requirements without words of force, on made documents in six forms, each as PDF and as Markdown.

Usage: `python -m benchmarks.weak_requirements [--seeds 4] [--show]`

Counted is a requirement that is a record, marked weak, with its whole text and its number; false is a weak record of
anything else: items of other chapters, of the introduction, names, definitions.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.analysis import statements_of
from benchmarks.printed import Look, Part, as_markdown, as_pdf
from benchmarks.reading import read_document

_WHO = ("clerk", "driver", "operator", "administrator", "guest", "auditor", "planner")
_DOES = ("scans", "exports", "confirms", "prints", "archives", "assigns", "compares")
_WHAT = ("the label", "all open orders", "a delivery note", "the loading plan", "every second entry", "a list of stops")
_HOW = ("before the gate opens", "from the dashboard", "as a file", "in one step", "by its number", "for the next day")
FORMS = ("numbered", "decimal", "identifiers", "stories", "steps", "table")


def sentences(random_: random.Random, count: int) -> list[str]:
    """Make sentences that no word of force marks."""
    made: dict[str, None] = {}
    while len(made) < count:
        who, does, what, how = (random_.choice(each) for each in (_WHO, _DOES, _WHAT, _HOW))
        made[f"The {who} {does} {what} {how}."] = None
    return list(made)


def document(form: str, seed: int) -> tuple[list[Part], dict[str, str]]:
    """Make a document and what its requirements are: text without blanks → number."""
    random_ = random.Random(f"{form} {seed}")
    result = sentences(random_, 12)
    heading = {"stories": "User stories", "steps": "Use case: Loading"}.get(form, "Functional requirements")
    parts = [
        Part("heading", "Introduction", 1, "1"),
        Part("paragraph", "This chapter tells who reads the document. It has three parts that follow each other."),
        Part("item", "Chapter two names the actors of the yard.", 0, "1."),
        Part("item", "Chapter three names what is wanted.", 0, "2."),
        Part("heading", heading, 1, "2"),
        Part("paragraph", "The yard has two gates. Trucks come from seven in the morning."),
    ]
    gold: dict[str, str] = {}
    if form == "steps":
        parts.append(Part("heading", "Main flow", 2, "2.1"))
    for place, sentence in enumerate(result[:8], 1):
        second = " It keeps a copy of the old one." if place % 3 == 0 else ""
        if form == "stories":
            who = "an auditor" if place % 2 else "a guest"
            text = f"As {who}, I want to know how {sentence[:-1].lower()} so that nothing is lost."
            parts.append(Part("story", text))
            gold[text] = ""
            continue
        number = {"decimal": f"2.{place}", "identifiers": f"FR-{place}"}.get(form, f"{place}.")
        if form == "decimal":
            number = f"2.1.{place}"
        text = sentence + second
        role = "paragraph" if form in {"identifiers", "decimal"} else "item"
        words = f"{number} {text}" if role == "paragraph" else text
        parts.append(Part(role, words, 0, "" if role == "paragraph" else number))
        gold[text] = number.rstrip(".")
    parts += [
        Part("heading", "Rationale", 1, "3"),
        Part("item", result[8], 0, "1."),
        Part("item", result[9], 0, "2."),
        Part("heading", "Open questions", 1, "4"),
        Part("item", result[10], 0, "1."),
        Part("item", result[11], 0, "2."),
    ]
    return parts, gold


def _table(parts: Sequence[Part]) -> str:
    rows = [part for part in parts if part.role == "item"][2:10]
    written = as_markdown([part for part in parts if part not in rows])
    table = ["| No. | Description |", "| --- | --- |", *(f"| {row.number} | {row.text} |" for row in rows)]
    place = written.index("# 3 Rationale")
    return written[:place] + "\n".join(table) + "\n\n" + written[place:]


def main() -> None:
    """Print found, whole, numbered and false for each form and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print(f"{'form':14} {'format':9} wanted  found numbered  false")
    with tempfile.TemporaryDirectory() as folder:
        for form in FORMS:
            for suffix in ("md", "pdf"):
                expected = found = numbered = false = 0
                for seed in range(options.seeds):
                    parts, gold = document(form, seed)
                    path = Path(folder) / f"{form}{seed}.{suffix}"
                    if form == "table" and suffix == "pdf":
                        continue  # tables of PDF files have a benchmark of their own
                    if suffix == "md":
                        path.write_text(_table(parts) if form == "table" else as_markdown(parts))
                    else:
                        look = Look(face=("Helvetica", "Times", "Courier")[seed % 3])
                        path.write_bytes(as_pdf(parts, look, bookmarks=False))
                    weak = [each for each in statements_of(read_document(path)) if each.weak]
                    expected += len(gold)
                    for each in weak:
                        own = next((text for text in gold if each.text.endswith(text)), None)
                        found += own is not None
                        numbered += own is not None and (each.identifier or "").rstrip(".") == gold[own]
                        false += own is None
                        if own is None and options.show:
                            print("  false", each.identifier, each.text[:100])
                    if options.show:
                        for text in gold:
                            if not any(each.text.endswith(text) for each in weak):
                                print("  missed", path.name, text[:100])
                if expected:
                    print(f"{form:14} {suffix:9} {expected:6} {found:6} {numbered:8} {false:6}")


if __name__ == "__main__":
    main()

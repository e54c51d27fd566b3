"""Definitions and look-ups for `benchmarks.analysis`: glossaries in all their forms, typing errors, precision."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.product import open_knowledge
from benchmarks.reading import read_document
from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.sources.files import FileSource

Figures = list[tuple[str, int, int, float, tuple[str, ...]]]

GLOSSARIES = ("cncf", "nasa-cfe", "nist-csrc")
SHEET = Path(__file__).parent / "results" / "definitions-sheet.csv"
FORMS: dict[str, tuple[str, Callable[[str, str], str]]] = {
    "heading": ("# Glossary\n\n", lambda term, words: f"## {term}\n\n{words}\n\n"),
    "terms clause": ("# T\n\n## 3 Terms and definitions\n\n", lambda term, words: f"### {term}\n\n{words}\n\n"),
    "bold": ("# Glossary\n\n", lambda term, words: f"**{term}**: {words}\n\n"),
    "bold item": ("# Glossary\n\n", lambda term, words: f"- **{term}** — {words}\n"),
    "bold above": ("# Glossary\n\n", lambda term, words: f"**{term}**\n\n{words}\n\n"),
    "table": ("# Terms\n\n| Term | Definition |\n| --- | --- |\n", lambda term, words: f"| {term} | {words} |\n"),
    "definition list": ("# Glossary\n\n", lambda term, words: f"{term}\n: {words}\n\n"),
    "plain": ("# Glossary\n\n", lambda term, words: f"{term}: {words}\n\n"),
    "means": ("# Policy\n\n## 2 Interpretation\n\n", lambda term, words: f"“{term}” means {words}\n\n"),
}
_SEED = 20261122
_SHORTEST = 5
"""Minimum letters of a term that is still recognised with typing errors."""


def glossary(data: Path) -> dict[str, str]:
    """Read all terms with one definition each; of two with one key the first."""
    analyser, terms = EnglishAnalyser(), dict[str, tuple[str, str]]()
    for name in GLOSSARIES:
        for line in (data / "glossary" / name / "terms.jsonl").read_text().splitlines():
            row = json.loads(line)
            terms.setdefault(analyser.term_key(row["term"]), (row["term"], " ".join(row["definition"].split())))
    return dict(terms.values())


def _escaped(text: str) -> str:
    return re.sub(r"([*_<>\[\]`|])", r"\\\1", text)


def _page(form: str, terms: dict[str, str]) -> str:
    head, entry = FORMS[form]
    return head + "".join(entry(_escaped(term), _escaped(words)) for term, words in terms.items())


def _read(text: str) -> Document:
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()
    item = SourceItem("file:///g.md", "g.md", "text/markdown", len(content), digest, lambda: io.BytesIO(content))
    return MarkdownReader().read(item)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def measure_forms(data: Path) -> Figures:
    """Count the terms of the glossaries that are found with their words, in each form that a glossary may have."""
    terms = glossary(data)
    found: Figures = []
    for form in FORMS:
        keys = {_letters(d.term): _letters(d.text) for d in reversed(find_definitions(_read(_page(form, terms))))}
        missed: list[str] = []
        for term, words in terms.items():
            own = _letters(re.sub(r"\s*\([^()]*\)\s*$", "", term)) or _letters(term)
            text = keys.get(_letters(term)) or keys.get(own)
            if text is None or not (text[:20] and text[:20] in _letters(words)):
                missed.append(f"{term!r}: {(text or '')[:60]!r}")
        found.append((f"definitions, {form}", len(terms) - len(missed), len(terms), 0.0, tuple(missed)))
    return found


def with_typing_errors(term: str, count: int, source: random.Random) -> str:
    """Make a number of typing errors: a letter left out, doubled, replaced, or two swapped, at different places."""
    letters = list(term)
    for place in sorted(source.sample(range(len(letters) - 1), count), reverse=True):
        kind = source.choice(("drop", "double", "replace", "swap"))
        if kind == "drop":
            del letters[place]
        elif kind == "double":
            letters.insert(place, letters[place])
        elif kind == "replace":
            letters[place] = source.choice([each for each in "etaoinsrhl" if each != letters[place].lower()])
        else:
            letters[place : place + 2] = letters[place + 1], letters[place]
    return "".join(letters)


def measure_lookup(data: Path) -> Figures:
    """Look every term up in an ingested glossary, as printed and with one and two typing errors.

    With errors it counts as found where the term is found all the same, or stands first among the similar ones.
    """
    terms = glossary(data)
    source = random.Random(_SEED)
    analyser = EnglishAnalyser()
    keys = {analyser.term_key(term) for term in terms}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "glossary.md").write_text(_page("heading", terms))
        knowledge = open_knowledge(Path(folder) / "data")
        try:
            knowledge.ingest(FileSource(Path(folder) / "glossary.md"), IngestOptions())
            missed = [term for term in terms if not knowledge.lookup(term).definitions]
            found: Figures = [("look-up, as printed", len(terms) - len(missed), len(terms), 0.99, tuple(missed))]
            long = [term for term in terms if len(_letters(term)) >= _SHORTEST]
            for count in (1, 2):
                first, asked, wrong, anywhere = 0, 0, list[str](), 0
                for term in source.sample(long, min(600, len(long))):
                    typed = with_typing_errors(term, count, source)
                    if analyser.term_key(typed) in keys and analyser.term_key(typed) != analyser.term_key(term):
                        continue  # it is another term's name now
                    asked += 1
                    answer = knowledge.lookup(typed)
                    names = [hit.definition.term for hit in answer.definitions] or list(answer.similar_terms)
                    right = [_is_same(name, term) for name in names]
                    first += bool(right) and right[0]
                    anywhere += any(right)
                    if not (right and right[0]):
                        wrong.append(f"{typed!r} for {term!r}: {names[:4]}")
                found.append((f"look-up, {count} typing errors, first", first, asked, 0.97, tuple(wrong)))
                found.append((f"look-up, {count} typing errors, among", anywhere, asked, 0.97, ()))
        finally:
            knowledge.close()
    return found


def _is_same(name: str, term: str) -> bool:
    return _letters(name) in {_letters(term), _letters(re.sub(r"\s*\([^()]*\)\s*$", "", term))}


def documents_with_terms(data: Path) -> Iterator[tuple[str, Document]]:
    """Read the documents of `docs/md` and `docs/pdf` that have a clause of terms or abbreviations."""
    for path in sorted([*(data / "docs/md").iterdir(), *(data / "docs/pdf").glob("*.pdf")]):
        document = read_document(path)
        roles = set(SectionFacts(document).roles)
        if roles & {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS}:
            yield path.name, document


def _definitions(data: Path) -> list[tuple[str, Definition]]:
    return [(name, each) for name, document in documents_with_terms(data) for each in find_definitions(document)]


def print_sample(data: Path, count: int) -> None:
    """Print definitions chosen by chance, at most two fifths from one document, with their words, to be judged."""
    source = random.Random(_SEED)
    by_document: dict[str, list[Definition]] = {}
    for name, definition in _definitions(data):
        by_document.setdefault(name, []).append(definition)
    chosen: list[tuple[str, Definition]] = []
    for name, definitions in by_document.items():
        chosen += [(name, each) for each in source.sample(definitions, min(len(definitions), 2 * count // 5))]
    for name, each in sorted(source.sample(chosen, min(count, len(chosen))), key=lambda row: (row[0], row[1].span)):
        print(f"{name}\t{each.clause_number or ''}\t{each.term}\t{each.aliases}\t{each.text[:200]}")


def measure_definitions(data: Path) -> Figures:
    """Compare the definitions found now with the sheet that was judged by reading."""
    rows = list(csv.DictReader(SHEET.read_text().splitlines()))
    found = {(name, each.clause_number or "", each.term) for name, each in _definitions(data)}
    held = [row for row in rows if (row["document"], row["clause"], row["term"]) in found]
    wrong = [f"{row['document']} {row['clause']} {row['term']}" for row in held if row["verdict"] != "right"]
    kept = sum(row["verdict"] == "right" for row in held)
    total = sum(row["verdict"] == "right" for row in rows)
    return [
        ("definitions, precision on the sheet", len(held) - len(wrong), len(held), 0.95, tuple(wrong)),
        ("definitions, right ones still found", kept, total, 0.0, ()),
    ]

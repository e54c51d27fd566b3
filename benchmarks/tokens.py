"""Tokens that a client reads until the evidence of a question is before it, against reading the files that hold it.

Usage: `python -m benchmarks.tokens [SET …] [--data FOLDER] [--keep FOLDER] [--drafts 2] [--json FILE]`

Sets are folders below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`: BEIR (evidence: a relevant document), FinanceBench
(evidence: a page), or a folder of documents (or of folders `pdf`, `docx` and `md`), of which questions are drafted
(evidence: the words of the definition or requirement; such questions share words with their answers and are easy). Each
is ingested into an embedded store below `--keep`. Each question is put to `knowledge_search` as an assistant would,
going on by `next_cursor` up to three answers; counted is the text of all of them, JSON and all, as a client gets it.
Tokens are those of cl100k_base.

A question's evidence counts as read where a result is of its document, page or words, even if a snippet leaves out what
matters on a page. A file's tokens are those of its running text, without any JSON around it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answerability import tell_nobody
from benchmarks.product import environment
from knowledge_mcp.embedders.services.embedder import RemoteTokenizer
from knowledge_mcp.evals import AnswerPlace, EvalSet, Question, draft_questions, ingest_set, open_set
from knowledge_mcp.evals.judging import fits, names_of
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.settings import load_settings
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.surfaces.answers import compact, shorten
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.wiring import build_knowledge

DEFAULT_SETS = ("qa/financebench", "docs")
KINDS = ("pdf", "docx", "md")
PATTERNS = ("*.pdf", "*.docx", "*.md", "*.mdx")
FORMS: tuple[dict[str, int], ...] = (
    {"n_results": 3},
    {"n_results": 5},
    {"n_results": 10},
    {"n_results": 20},
    {"n_results": 10, "max_tokens": 500},
    {"n_results": 10, "max_tokens": 1000},
    {"n_results": 20, "max_tokens": 1000},
)
"""Arguments of `knowledge_search` beside the query."""
_ANSWERS = 3
"""Answers that a client reads before it gives up."""
_SEARCH = next(tool for tool in SURFACE.tools if tool.name == "knowledge_search")


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what one question cost: tokens until the evidence, and in which answer it was (0: in none)."""

    tokens: int
    answers: int
    first: int
    whole: int


def sent(knowledge: Knowledge, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Search as a transport does; returns what is sent."""
    response = _SEARCH.run(knowledge, parse(_SEARCH.request, arguments))
    return shorten(response.model_dump(mode="json", exclude_unset=True), _SEARCH.items)


def holds_evidence(
    knowledge: Knowledge, answer: Mapping[str, Any], question: Question, keys: Mapping[str, str]
) -> bool:
    """Tell whether a result of an answer, as it is shown, is what a place of the question means."""
    for result in answer["results"]:
        chunk = dataclasses.replace(knowledge.chunk(result["id"])[0], content=result["content"])
        if any(fits(place, chunk, keys) for place in question.places):
            return True
    return False


def ask(
    knowledge: Knowledge, chosen: EvalSet, form: Mapping[str, int], files: Mapping[str, int], tokens: RemoteTokenizer
) -> list[Asked]:
    """Ask every question in one form."""
    found: list[Asked] = []
    for question in chosen.questions:
        if question.unanswerable:
            continue
        spent = answers = first = 0
        cursor: int | None = 0
        while cursor is not None and answers < _ANSWERS:
            answer = sent(knowledge, {"query": question.text[:2000], "cursor": cursor, **form})
            count = tokens.count(compact(answer))
            spent, answers, first = spent + count, answers + 1, first or count
            if holds_evidence(knowledge, answer, question, chosen.keys):
                break
            cursor = answer.get("next_cursor")
        else:
            answers = 0
        found.append(Asked(spent, answers, first, whole_files(question, files)))
    return found


def whole_files(question: Question, files: Mapping[str, int]) -> int:
    """Add up the tokens of the files that the question's places name; of several that would do, the smallest."""
    named = [files[place.document] for place in question.places if place.document and place.document in files]
    return min(named, default=0)


def file_tokens(knowledge: Knowledge, chosen: EvalSet, tokens: RemoteTokenizer) -> dict[str, int]:
    """Count each document's running text, by every name that a place may give it."""
    expected = {place.document for question in chosen.questions for place in question.places}
    found: dict[str, int] = {}
    for record in knowledge.documents():
        chunk = knowledge.document_chunks(record.id)[0]
        names = {name for name in expected if name is not None and _is_named(name, names_of(chunk, chosen.keys))}
        if names:
            count = tokens.count(knowledge.document_text(record.id))
            found |= dict.fromkeys(names, count)
    return found


def _is_named(name: str, names: frozenset[str]) -> bool:
    return name in names or name.casefold() in names


def open_chosen(folder: Path) -> EvalSet:
    """Open a set, or a folder of documents as one without questions yet."""
    try:
        return open_set(folder)
    except InvalidInputError:
        return EvalSet(folder.name, "questions", (), files=folder, patterns=PATTERNS)


def places_of(chosen: EvalSet) -> list[Path | None]:
    """List the folders to ingest; None for what the set brings in memory."""
    if chosen.files is None:
        return [None]
    parts: list[Path | None] = [chosen.files / kind for kind in KINDS if (chosen.files / kind).is_dir()]
    return parts or [chosen.files]


def measure(folder: Path, work: Path, drafts: int, tokens: RemoteTokenizer) -> dict[str, list[Asked]]:
    """Ingest one set and ask it in every form."""
    chosen = open_chosen(folder)
    work.mkdir(parents=True, exist_ok=True)
    settings = load_settings(environ=environment(work)).model_copy(update={"collection": "evaluation"})
    knowledge = build_knowledge(settings)
    try:
        for place in places_of(chosen):
            source = None if place is None else FileSource(place.absolute(), patterns=chosen.patterns)
            ingest_set(knowledge, chosen, source, tell_nobody)
        if not chosen.questions:
            made = [each for each in draft_questions(knowledge, per_kind=drafts) if each.quote]
            questions = tuple(
                Question(each.id, each.question, (AnswerPlace(each.document, quote=each.quote),), each.kind)
                for each in made
            )
            chosen = dataclasses.replace(chosen, questions=questions)
        sizes = file_tokens(knowledge, chosen, tokens)
        return {json.dumps(form): ask(knowledge, chosen, form, sizes, tokens) for form in FORMS}
    finally:
        knowledge.close()


def row(name: str, form: str, asked: Sequence[Asked]) -> str:
    """Write one line of the table."""
    shown = ", ".join(f"{key}={value}" for key, value in json.loads(form).items())
    right = [each for each in asked if each.answers]
    if not right:
        return f"| {name} | {shown} | 0 of {len(asked)} | | | | | |"
    at_once = sum(each.answers == 1 for each in right) / len(asked)
    spent, whole = [each.tokens for each in right], [each.whole for each in right]
    times = statistics.median(each.whole / each.tokens for each in right)
    lost = sum(each.tokens for each in asked) / len(right)
    return (
        f"| {name} | {shown} | {at_once:.0%} | {len(right) / len(asked):.0%} of {len(asked)} "
        f"| {statistics.median(spent):,.0f} | {lost:,.0f} | {max(each.first for each in asked):,} "
        f"| {statistics.median(whole):,.0f} | {times:.1f} |"
    )


def main() -> None:
    """Measure the sets named and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(DEFAULT_SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", type=Path, help="work here and keep it, so that a second run ingests nothing")
    parser.add_argument("--drafts", type=int, default=2, help="drafted questions of each kind and document")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    tokens = RemoteTokenizer()
    kept: dict[str, dict[str, list[list[int]]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        print(
            "| set | knowledge_search with | in the first answer | in up to three | tokens till the evidence, median "
            "| tokens a question answered, failures included | greatest first answer | the file, median "
            "| file / answers, median |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for name in options.sets:
            work = (options.keep or Path(temporary)) / name.replace("/", "-")
            found = measure(options.data / name, work, options.drafts, tokens)
            kept[name] = {form: [list(dataclasses.astuple(each)) for each in asked] for form, asked in found.items()}
            for form, asked in found.items():
                print(row(name, form, asked))
                sys.stdout.flush()
    if options.json:
        options.json.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()

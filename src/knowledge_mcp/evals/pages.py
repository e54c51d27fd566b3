"""Questions whose evidence is a page of a PDF, in the form of FinanceBench: `questions.jsonl` beside `pdfs/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from knowledge_mcp.evals.questions import EvalSet, Place, Question
from knowledge_mcp.evals.reading import json_rows, refuse

__all__ = ["is_pages", "read_pages"]

_DOCUMENT = ("doc", "doc_name", "evidence_doc_name")
_PAGE = ("page", "evidence_page_num")


def is_pages(folder: Path) -> bool:
    """Tell whether a folder looks like a set of this form."""
    return (folder / "questions.jsonl").is_file() and (folder / "pdfs").is_dir()


def read_pages(folder: Path) -> EvalSet:
    """Read a folder; nothing is taken from it but questions, the names of the PDFs and the numbers of the pages.

    A page counts from 0, as FinanceBench has it, unless its evidence says `"page_base": 1`.

    Raises:
        InvalidInputError: a line is not of this form.
    """
    path = folder / "questions.jsonl"
    questions: list[Question] = []
    problems: list[str] = []
    there = {file.stem for file in (folder / "pdfs").glob("*.pdf")}
    left_out = 0
    for number, row in json_rows(path):
        text = row.get("text") or row.get("question")
        identifier = str(row.get("_id") or row.get("financebench_id") or f"q{number:04d}")
        places = _places(row)
        if not isinstance(text, str) or not text.strip() or places is None:
            problems.append(f"line {number} has no question, or no evidence with a document and a page")
        elif not {place.document for place in places} <= there:
            left_out += 1
        else:
            questions.append(Question(identifier, text, places, kind=str(row.get("question_type") or "")))
    refuse(path, problems)
    notes = (f"{left_out} questions are left out: their PDF is not there.",) if left_out else ()
    return EvalSet(
        name=folder.resolve().name,
        kind="pages",
        questions=tuple(questions),
        files=folder / "pdfs",
        patterns=("*.pdf",),
        notes=notes,
    )


def _places(row: dict[str, Any]) -> tuple[Place, ...] | None:
    evidence: object = row.get("evidence")
    if not isinstance(evidence, list) or not evidence:
        return None
    places: dict[tuple[str, int], Place] = {}
    for each in cast("list[object]", evidence):
        if not isinstance(each, dict):
            return None
        found = cast("dict[str, Any]", each)
        document = _first(found, _DOCUMENT) or _first(row, _DOCUMENT)
        page = _first(found, _PAGE)
        if not isinstance(document, str) or not isinstance(page, int):
            return None
        physical = page + 1 - int(found.get("page_base", 0))
        places[document, physical] = Place(document=document, page=physical)
    return tuple(places.values())


def _first(row: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)

"""Somebody's own questions: a JSON Lines or CSV file that says where each answer stands, or that there is none."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, cast

from knowledge_mcp.evals.questions import EvalSet, Place, Question
from knowledge_mcp.evals.reading import csv_rows, json_rows, refuse
from knowledge_mcp.model.errors import InvalidInputError

__all__ = ["FIELDS", "is_own", "read_own"]

FIELDS = ("id", "question", "document", "clause", "page", "quote", "grade", "expected", "unanswerable", "kind", "draft")
"""Names that a line or a column may have; `expected` is a list of further places."""

_PLACE = ("document", "clause", "page", "quote", "grade")
_OTHER_NAMES = {"query": "question", "text": "question", "document_id": "document", "_id": "id"}
_TRUE = {"true", "yes", "1"}
_FALSE = {"false", "no", "0", ""}


def is_own(path: Path) -> bool:
    """Tell by its name whether a file may hold questions."""
    return path.suffix.lower() in {".jsonl", ".ndjson", ".csv"}


def read_own(path: Path, *, documents: Path | None = None) -> EvalSet:
    """Read a file of questions; lines of one id, or without ids of one question, add their places to one another.

    Args:
        path: JSON Lines or, by its extension, CSV with a header.
        documents: a folder, or a file, to be ingested and asked; None for the present knowledge base.

    Raises:
        NotFoundError: there is no such file.
        InvalidInputError: lines are wrong; names each.
    """
    rows = csv_rows(path) if path.suffix.lower() == ".csv" else json_rows(path)
    found: dict[str, Question] = {}
    problems: list[str] = []
    for number, row in rows:
        try:
            question = _question(_named(row), number)
        except ValueError as exc:
            problems.append(f"line {number}: {exc}")
            continue
        earlier = next((each for each in found.values() if _same(each, question, row)), None)
        if earlier is not None and bool(earlier.places) != bool(question.places):
            problems.append(f"line {number}: the same question is unanswerable in another line")
        elif earlier is not None:
            places = tuple(dict.fromkeys((*earlier.places, *question.places)))
            found[earlier.id] = Question(earlier.id, earlier.text, places, earlier.kind, earlier.draft)
        else:
            found[question.id] = question
    refuse(path, problems)
    if not found:
        raise InvalidInputError(f"{path} holds no question.")
    questions = tuple(found.values())
    drafts = sum(question.draft for question in questions)
    notes = (f"{drafts} of {len(questions)} questions are drafts that nobody has read.",) if drafts else ()
    return EvalSet(name=path.stem, kind="questions", questions=questions, files=documents, notes=notes)


def _same(earlier: Question, question: Question, row: dict[str, Any]) -> bool:
    if earlier.id == question.id:
        return True
    return "id" not in row and "_id" not in row and earlier.text == question.text


def _named(row: dict[str, Any]) -> dict[str, Any]:
    """Give every field its one name."""
    named: dict[str, Any] = {}
    for name, value in row.items():
        known = _OTHER_NAMES.get(name, name)
        if known not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(FIELDS)}"
            raise ValueError(f"unknown field '{name}'{hint}")
        if value is not None:
            named[known] = value
    return named


def _question(row: dict[str, Any], number: int) -> Question:
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("there is no question")
    unanswerable = _flag(row, "unanswerable")
    places = _places(row)
    if unanswerable and places:
        raise ValueError("it is marked unanswerable, and says where the answer stands")
    if not unanswerable and not places:
        raise ValueError("it needs a document, clause, page or quote, or `unanswerable`")
    return Question(
        id=str(row.get("id") or f"q{number:04d}"),
        text=" ".join(text.split()),
        places=places,
        kind=str(row.get("kind", "")),
        draft=_flag(row, "draft"),
    )


def _places(row: dict[str, Any]) -> tuple[Place, ...]:
    places = list(_place(row))
    listed: object = row.get("expected", [])
    if not isinstance(listed, list):
        raise ValueError("`expected` is a list of places")  # noqa: TRY004 - told with the line, as all mistakes are
    for each in cast("list[object]", listed):
        if not isinstance(each, dict):
            raise ValueError("`expected` is a list of objects")  # noqa: TRY004 - as above
        more = _named(cast("dict[str, Any]", each))
        if not set(more) <= set(_PLACE) or not (set(more) - {"grade"}):
            raise ValueError(f"a place in `expected` has some of {', '.join(_PLACE)}, and nothing else")
        places.extend(_place(more))
    return tuple(dict.fromkeys(places))


def _place(row: dict[str, Any]) -> tuple[Place, ...]:
    """Read the place that an object's own fields name, for each of its documents; none where they name none."""
    if not any(row.get(name) not in {None, ""} for name in ("clause", "page", "quote") if name in row) and not row.get(
        "document"
    ):
        return ()
    named: object = row.get("document")
    documents = cast("list[object]", named) if isinstance(named, list) else [named]
    page = _number(row, "page")
    clause, quote = row.get("clause"), row.get("quote")
    return tuple(
        Place(
            document=None if document is None else str(document).strip(),
            clause=None if clause is None else str(clause).strip().rstrip("."),
            page=page,
            quote=None if quote is None else str(quote).strip(),
            grade=_number(row, "grade") or 1,
        )
        for document in documents
    )


def _number(row: dict[str, Any], name: str) -> int | None:
    value = row.get(name)
    if value is None:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"`{name}` is a whole number from 1, not {value!r}")
    return number


def _flag(row: dict[str, Any], name: str) -> bool:
    said = str(row.get(name, "")).strip().casefold()
    if said not in _TRUE | _FALSE:
        raise ValueError(f"`{name}` is true or false, not {row[name]!r}")
    return said in _TRUE

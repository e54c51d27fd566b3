"""Evaluation sets, that is questions with known answers: their content, and their readers for each file format."""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.source import DOCUMENT_PATTERNS, MOST_BYTES, SourceItem
from knowledge_mcp.support.files import read_whole_text

Kind = Literal["beir", "pages", "questions"]
"""The kind of a set: a folder in BEIR format, PDFs with evidence pages, or a user's own file of questions."""


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """The location of an answer; None matches anything.

    Attributes:
        document: id, title, file name or file stem of the document, ignoring case. In a BEIR set, the exact key of
            `corpus.jsonl`.
        clause: number of the clause, including everything below it.
        page: physical page, from 1.
        quote: words of the answer; whitespace, case, quotation marks and dashes are ignored.
        grade: how good the answer is, from 1.
    """

    document: str | None = None
    clause: str | None = None
    page: int | None = None
    quote: str | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with a known answer, or known to have none.

    Attributes:
        id: unique in its set.
        text: the question.
        places: where the answer is; empty if and only if the question is unanswerable.
        kind: what it was drafted from, or its author's own category; may be empty.
        draft: made by a program and not yet reviewed by a person.
    """

    id: str
    text: str
    places: tuple[AnswerPlace, ...]
    kind: str = ""
    draft: bool = False

    @property
    def unanswerable(self) -> bool:
        """Whether the right answer is that there is none."""
        return not self.places


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A set of questions with its documents.

    Attributes:
        name: of the set, used in results.
        kind: see `Kind`.
        questions: in the order of the file.
        documents: to be ingested from memory, in order; empty if files or an existing knowledge base are used.
        keys: by uri, the keys of documents in the set; empty if documents are identified by their own names.
        files: a folder or file to ingest, or None.
        patterns: file name patterns for that folder.
        notes: what a reader of the results should know, one sentence each.
    """

    name: str
    kind: Kind
    questions: tuple[Question, ...]
    documents: tuple[SourceItem, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Path | None = None
    patterns: tuple[str, ...] = DOCUMENT_PATTERNS
    notes: tuple[str, ...] = ()


MOST_PROBLEMS = 20
"""Maximum number of mistakes reported for one file."""


def text_of(path: Path) -> str:
    """Read a text file, with or without a byte order mark.

    Raises:
        NotFoundError: it does not exist.
        InvalidInputError: it cannot be read, or is not UTF-8.
    """
    try:
        return read_whole_text(path, most=MOST_BYTES)
    except FileNotFoundError as exc:
        raise NotFoundError(f"There is no file {path}.", suggestion="Check the path.") from exc
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise InvalidInputError(f"{path} cannot be read: {reason}.") from exc


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their line numbers; blank lines are skipped.

    Raises:
        InvalidInputError: a line is not a JSON object; names the line.
    """
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            content: object = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise InvalidInputError(f"{path}, line {number}: this is not valid JSON: {exc}.") from exc
        if not isinstance(content, dict):
            raise InvalidInputError(f"{path}, line {number}: each line must be one JSON object.")
        yield number, cast("dict[str, Any]", content)


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a CSV file with a header (commas or semicolons), with line numbers and without empty cells.

    Raises:
        InvalidInputError: a row has more cells than the header, or a column name is repeated.
    """
    lines = text_of(path).splitlines(keepends=True)
    separator = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
    rows = csv.reader(lines, delimiter=separator)
    header = [cell.strip().casefold().replace(" ", "_") for cell in next(rows, list[str]())]
    if len(set(header)) != len(header):
        raise InvalidInputError(f"{path}: two columns have the same name.")
    for row in rows:
        if len(row) > len(header):
            raise InvalidInputError(f"{path}, line {rows.line_num}: the row has more cells than the header.")
        found: dict[str, Any] = {
            name: cell.strip() for name, cell in zip(header, row, strict=False) if name and cell.strip()
        }
        if found:
            yield rows.line_num, found


def refuse(path: Path, problems: list[str]) -> None:
    """Report all mistakes in a file together, if there are any.

    Raises:
        InvalidInputError: there are mistakes.
    """
    if not problems:
        return
    listed = problems[:MOST_PROBLEMS]
    if len(problems) > len(listed):
        listed.append(f"… and {len(problems) - len(listed)} more")
    count = "One thing is" if len(problems) == 1 else f"{len(problems)} things are"
    found = f"{'; '.join(listed[:3])}{' …' if len(listed) > 3 else ''}"
    raise InvalidInputError(
        f"{count} wrong in {path}: {found}{'' if found.endswith('?') else '.'}",
        details="\n".join(listed),
        suggestion="Correct the lines named, then run again.",
    )


_PREFERRED = ("test", "dev")


def is_beir(folder: Path) -> bool:
    """Return whether a folder looks like a BEIR set."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def read_beir(folder: Path, *, split: str | None = None, hold_back: float = 0.0) -> EvalSet:
    """Read a BEIR folder; queries without judgements are skipped, and grades below 1 count as not relevant.

    Args:
        folder: the set.
        split: stem of the file in `qrels`; by default `test`, else `dev`, else the only one.
        hold_back: share of the queries, 0..1, whose relevant documents are removed from the corpus to make them
            unanswerable. The queries are chosen by a hash of their ids. Another query that loses all its documents is
            unanswerable too; one that loses some keeps the others as its answers.

    Raises:
        NotFoundError: a file is missing; names the existing splits.
        InvalidInputError: a file has another format, or there is nothing to ask.
    """
    judged = _judgements(folder, split)
    texts = {str(row["_id"]): str(row.get("text", "")) for _, row in _rows(folder / "queries.jsonl")}
    answerable = [query for query in texts if judged.get(query) and texts[query].strip()]
    if not answerable:
        raise InvalidInputError(f"{folder}: no query has a relevant document.")
    removed = _choose_removed(answerable, judged, hold_back)
    items: list[SourceItem] = []
    keys: dict[str, str] = {}
    for number, (_, row) in enumerate(_rows(folder / "corpus.jsonl")):
        if str(row["_id"]) not in removed:
            items.append(_item(number, str(row.get("title") or ""), str(row.get("text") or "")))
            keys[items[-1].uri] = str(row["_id"])
    present = set(keys.values())
    missing = {key for query in answerable for key in judged[query]} - present - removed
    notes = [f"{len(missing)} judged documents are not in the corpus."] if missing else []
    if removed:
        notes.append(f"{len(removed)} documents were held back, so that some questions have no answer.")
    places = {query: _judged_places(judged[query], removed) for query in answerable}
    return EvalSet(
        name=folder.resolve().name,
        kind="beir",
        questions=tuple(Question(query, texts[query], places[query]) for query in answerable),
        documents=tuple(items),
        keys=keys,
        notes=tuple(notes),
    )


def _judged_places(grades: Mapping[str, int], removed: Collection[str]) -> tuple[AnswerPlace, ...]:
    return tuple(AnswerPlace(document=key, grade=grade) for key, grade in grades.items() if key not in removed)


def _rows(path: Path) -> list[tuple[int, dict[str, object]]]:
    rows = list(json_rows(path))
    refuse(path, [f"line {number} has no `_id`" for number, row in rows if "_id" not in row])
    return [(number, dict(row)) for number, row in rows]


def _judgements(folder: Path, split: str | None) -> dict[str, dict[str, int]]:
    """Read the judgements: grades by document by query, only grades from 1."""
    path = _judgement_file(folder, split)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    problems: list[str] = []
    for number, row in enumerate(csv.reader(text_of(path).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE), 1):
        if not row or (number == 1 and not _is_number(row[-1])):
            continue
        cells = [row[0], *row[2:]] if len(row) == 4 else row  # TREC format has four, with an iteration in between
        if len(cells) != 3 or not _is_number(cells[2]):
            problems.append(f"line {number} is not `query document grade`")
        elif int(float(cells[2])) > 0:
            found[cells[0]][cells[1]] = int(float(cells[2]))
    refuse(path, problems)
    return dict(found)


def _judgement_file(folder: Path, split: str | None) -> Path:
    there = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    names = ", ".join(there) or "none"
    if split is not None:
        if split not in there:
            raise NotFoundError(f"{folder} has no judgements '{split}'.", suggestion=f"There are: {names}.")
        return there[split]
    chosen = next((name for name in _PREFERRED if name in there), None) or (
        next(iter(there)) if len(there) == 1 else None
    )
    if chosen is None:
        raise NotFoundError(
            f"{folder}/qrels has no test.tsv.", suggestion=f"Name one with --split; there are: {names}."
        )
    return there[chosen]


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _choose_removed(queries: list[str], judged: Mapping[str, Mapping[str, int]], share: float) -> set[str]:
    """Choose queries by a hash of their ids; return the documents to remove."""
    count = round(share * len(queries))
    chosen = sorted(queries, key=lambda query: hashlib.sha256(query.encode()).hexdigest())[:count]
    return {key for query in chosen for key in judged[query]}


def _item(number: int, title: str, text: str) -> SourceItem:
    """Create a Markdown file in memory, with the title as a heading; its name contains nothing searchable."""
    heading = f"# {' '.join(title.split())}\n\n" if title.strip() else ""
    data = f"{heading}{text}\n".encode()
    name = f"d{number:06d}"
    return SourceItem(
        uri=f"evaluation:/{name}.md",
        name=f"{name}.md",
        media_type="text/markdown",
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        open=partial(io.BytesIO, data),
        document_id=name,
    )


FIELDS = ("id", "question", "document", "clause", "page", "quote", "grade", "expected", "unanswerable", "kind", "draft")
"""Allowed fields or columns; `expected` is a list of further places."""

_PLACE = ("document", "clause", "page", "quote", "grade")
_OTHER_NAMES = {"query": "question", "text": "question", "document_id": "document", "_id": "id"}
_TRUE = {"true", "yes", "1"}
_FALSE = {"false", "no", "0", ""}


def is_question_file(path: Path) -> bool:
    """Return whether a file may contain questions, by its extension."""
    return path.suffix.lower() in {".jsonl", ".ndjson", ".csv"}


def read_questions(path: Path, *, documents: Path | None = None) -> EvalSet:
    """Read a file of questions; lines with the same id, or without ids and with the same question, are merged.

    Args:
        path: JSON Lines or, by its extension, CSV with a header.
        documents: a folder or file to ingest; None to use the existing knowledge base.

    Raises:
        NotFoundError: the file does not exist.
        InvalidInputError: lines are wrong; names each.
    """
    rows = csv_rows(path) if path.suffix.lower() == ".csv" else json_rows(path)
    found: dict[str, Question] = {}
    problems: list[str] = []
    for number, row in rows:
        try:
            question = _question(_rename_fields(row), number)
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
        raise InvalidInputError(f"{path} contains no questions.")
    questions = tuple(found.values())
    drafts = sum(question.draft for question in questions)
    notes = (f"{drafts} of {len(questions)} questions are drafts that nobody has read.",) if drafts else ()
    return EvalSet(name=path.stem, kind="questions", questions=questions, files=documents, notes=notes)


def _same(earlier: Question, question: Question, row: dict[str, Any]) -> bool:
    if earlier.id == question.id:
        return True
    return "id" not in row and "_id" not in row and earlier.text == question.text


def _rename_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Rename fields to their canonical names."""
    renamed: dict[str, Any] = {}
    for name, value in row.items():
        canonical = _OTHER_NAMES.get(name, name)
        if canonical not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, 1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(FIELDS)}"
            raise ValueError(f"unknown field '{name}'{hint}")
        if value is not None:
            renamed[canonical] = value
    return renamed


def _question(row: dict[str, Any], number: int) -> Question:
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("there is no question")
    unanswerable = _flag(row, "unanswerable")
    places = _places(row)
    if unanswerable and places:
        raise ValueError("it is marked unanswerable, but says where the answer is")
    if not unanswerable and not places:
        raise ValueError("it needs a document, clause, page or quote, or `unanswerable`")
    return Question(
        id=str(row.get("id") or f"q{number:04d}"),
        text=" ".join(text.split()),
        places=places,
        kind=str(row.get("kind", "")),
        draft=_flag(row, "draft"),
    )


def _places(row: dict[str, Any]) -> tuple[AnswerPlace, ...]:
    places = list(_place(row))
    listed: object = row.get("expected", [])
    if not isinstance(listed, list):
        raise ValueError("`expected` must be a list of places")  # noqa: TRY004 - reported with its line, like all mistakes
    for each in cast("list[object]", listed):
        if not isinstance(each, dict):
            raise ValueError("`expected` must be a list of objects")  # noqa: TRY004 - as above
        more = _rename_fields(cast("dict[str, Any]", each))
        if not set(more) <= set(_PLACE) or not (set(more) - {"grade"}):
            raise ValueError(f"a place in `expected` may only have the fields {', '.join(_PLACE)}")
        places.extend(_place(more))
    return tuple(dict.fromkeys(places))


def _place(row: dict[str, Any]) -> tuple[AnswerPlace, ...]:
    """Read the place in an object's own fields, once for each of its documents; empty if there is none."""
    if not any(row.get(name) not in {None, ""} for name in ("clause", "page", "quote") if name in row) and not row.get(
        "document"
    ):
        return ()
    documents_value: object = row.get("document")
    documents = cast("list[object]", documents_value) if isinstance(documents_value, list) else [documents_value]
    page = _number(row, "page")
    clause, quote = row.get("clause"), row.get("quote")
    return tuple(
        AnswerPlace(
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
        raise ValueError(f"`{name}` must be a whole number of at least 1, not {value!r}")
    return number


def _flag(row: dict[str, Any], name: str) -> bool:
    value = str(row.get(name, "")).strip().casefold()
    if value not in _TRUE | _FALSE:
        raise ValueError(f"`{name}` must be true or false, not {row[name]!r}")
    return value in _TRUE


_DOCUMENT = ("doc", "doc_name", "evidence_doc_name")
_PAGE = ("page", "evidence_page_num")


def is_pages(folder: Path) -> bool:
    """Return whether a folder looks like a set of PDFs with evidence pages."""
    return (folder / "questions.jsonl").is_file() and (folder / "pdfs").is_dir()


def read_pages(folder: Path) -> EvalSet:
    """Read a folder; only questions, names of PDFs and page numbers are used.

    Pages are numbered from 0, as in FinanceBench, unless the evidence has `"page_base": 1`.

    Raises:
        InvalidInputError: a line has another format.
    """
    path = folder / "questions.jsonl"
    questions: list[Question] = []
    problems: list[str] = []
    there = {file.stem for file in (folder / "pdfs").glob("*.pdf")}
    left_out = 0
    for number, row in json_rows(path):
        text = row.get("text") or row.get("question")
        identifier = str(row.get("_id") or row.get("financebench_id") or f"q{number:04d}")
        places = _evidence_pages(row)
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


def _evidence_pages(row: dict[str, Any]) -> tuple[AnswerPlace, ...] | None:
    evidence: object = row.get("evidence")
    if not isinstance(evidence, list) or not evidence:
        return None
    places: dict[tuple[str, int], AnswerPlace] = {}
    for each in cast("list[object]", evidence):
        if not isinstance(each, dict):
            return None
        found = cast("dict[str, Any]", each)
        document = _first(found, _DOCUMENT) or _first(row, _DOCUMENT)
        page = _first(found, _PAGE)
        if not isinstance(document, str) or not isinstance(page, int):
            return None
        physical = page + 1 - int(found.get("page_base", 0))
        places[document, physical] = AnswerPlace(document=document, page=physical)
    return tuple(places.values())


def _first(row: dict[str, Any], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name) is not None), None)


_FORMS = (
    "A set is a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv, a folder with questions.jsonl and pdfs/, or a "
    "file of questions (.jsonl or .csv); `knowledge eval draft` writes one."
)


def open_set(path: Path, *, split: str | None = None, hold_back: float = 0.0, documents: Path | None = None) -> EvalSet:
    """Read the set at a path, of any kind; arguments and errors as in its reader.

    Raises:
        NotFoundError: the path does not exist.
        InvalidInputError: its format is unknown, or an argument does not apply to it.
    """
    if not path.exists():
        raise NotFoundError(f"There is no file or folder {path}.", suggestion=_FORMS)
    if path.is_dir() and is_beir(path):
        _refuse_options(path, "brings its own documents", documents=documents)
        return read_beir(path, split=split, hold_back=hold_back)
    _refuse_options(path, "is not in the form of BEIR", split=split, hold_back=hold_back or None)
    if path.is_dir() and is_pages(path):
        _refuse_options(path, "brings its own documents", documents=documents)
        return read_pages(path)
    if path.is_file() and is_question_file(path):
        return read_questions(path, documents=documents)
    raise InvalidInputError(f"{path} is no evaluation set.", suggestion=_FORMS)


def _refuse_options(path: Path, why: str, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            option = {"documents": "--docs", "split": "--split", "hold_back": "--hold-back"}[name]
            raise InvalidInputError(f"{option} says nothing about {path}, which {why}.")

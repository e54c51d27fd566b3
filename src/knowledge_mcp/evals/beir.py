"""Sets in the form of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`; each document becomes one Markdown file."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path

from knowledge_mcp.evals.questions import EvalSet, Place, Question
from knowledge_mcp.evals.reading import json_rows, refuse, text_of
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.source import SourceItem

__all__ = ["is_beir", "read_beir"]

_PREFERRED = ("test", "dev")


def is_beir(folder: Path) -> bool:
    """Tell whether a folder looks like a set of this form."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def read_beir(folder: Path, *, split: str | None = None, hold_back: float = 0.0) -> EvalSet:
    """Read a folder; queries without a judgement are left out, grades below 1 count as not relevant.

    Args:
        folder: the set.
        split: stem of the file in `qrels`; without it `test`, else `dev`, else the only one.
        hold_back: share of the queries, 0..1, whose relevant documents are left out of the corpus, so that nothing
            answers them. Which ones is told by a hash of their ids. Another query that loses all its documents with
            them is unanswerable too; one that loses some is asked about those that stay.

    Raises:
        NotFoundError: a file is missing; names the splits that there are.
        InvalidInputError: a file is not of this form, or nothing in it can be asked.
    """
    judged = _judgements(folder, split)
    texts = {str(row["_id"]): str(row.get("text", "")) for _, row in _rows(folder / "queries.jsonl")}
    asked = [query for query in texts if judged.get(query) and texts[query].strip()]
    if not asked:
        raise InvalidInputError(f"{folder}: no query has a relevant document.")
    removed = _held_back(asked, judged, hold_back)
    items: list[SourceItem] = []
    keys: dict[str, str] = {}
    for number, (_, row) in enumerate(_rows(folder / "corpus.jsonl")):
        if str(row["_id"]) not in removed:
            items.append(_item(number, str(row.get("title") or ""), str(row.get("text") or "")))
            keys[items[-1].uri] = str(row["_id"])
    known = set(keys.values())
    missing = {key for query in asked for key in judged[query]} - known - removed
    notes = [f"{len(missing)} judged documents are not in the corpus."] if missing else []
    if removed:
        notes.append(f"{len(removed)} documents were held back, so that some questions have no answer.")
    places = {query: _places(judged[query], removed) for query in asked}
    return EvalSet(
        name=folder.resolve().name,
        kind="beir",
        questions=tuple(Question(query, texts[query], places[query]) for query in asked),
        documents=tuple(items),
        keys=keys,
        notes=tuple(notes),
    )


def _places(grades: Mapping[str, int], removed: Collection[str]) -> tuple[Place, ...]:
    return tuple(Place(document=key, grade=grade) for key, grade in grades.items() if key not in removed)


def _rows(path: Path) -> list[tuple[int, dict[str, object]]]:
    rows = list(json_rows(path))
    refuse(path, [f"line {number} has no `_id`" for number, row in rows if "_id" not in row])
    return [(number, dict(row)) for number, row in rows]


def _judgements(folder: Path, split: str | None) -> dict[str, dict[str, int]]:
    """Read grade by document by query; only grades from 1 on."""
    path = _judgement_file(folder, split)
    found: dict[str, dict[str, int]] = defaultdict(dict)
    problems: list[str] = []
    for number, row in enumerate(csv.reader(text_of(path).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE), 1):
        if not row or (number == 1 and not _is_number(row[-1])):
            continue
        cells = [row[0], *row[2:]] if len(row) == 4 else row  # four as TREC writes them, with an iteration between
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
        float(cell)
    except ValueError:
        return False
    return True


def _held_back(asked: list[str], judged: Mapping[str, Mapping[str, int]], share: float) -> set[str]:
    """Choose queries by a hash of their ids; returns the documents that go."""
    count = round(share * len(asked))
    chosen = sorted(asked, key=lambda query: hashlib.sha256(query.encode()).hexdigest())[:count]
    return {key for query in chosen for key in judged[query]}


def _item(number: int, title: str, text: str) -> SourceItem:
    """Make a Markdown file in memory, its title as heading; its name tells nothing that could be found."""
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

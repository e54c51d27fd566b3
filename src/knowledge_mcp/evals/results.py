"""What an evaluation found: values, and their JSON form, which baselines are kept in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

import knowledge_mcp
from knowledge_mcp.evals.judging import Share
from knowledge_mcp.evals.measures import COLUMNS, Abstention, Interval
from knowledge_mcp.evals.sets import text_of
from knowledge_mcp.model.errors import InvalidInputError

FORMAT = "knowledge-eval/1"
STORED_DIGITS = 4
"""Digits of a measure in a file; `compare` looks at no more of them."""
_HERE = "\x00rows"


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """Hold what one question came to.

    Attributes:
        values: in the order of the result's measures; empty for an unanswerable question.
        first: rank of the first right passage, None where there is none.
        ms: milliseconds of the search, None where they were not kept.
        text: the question, empty where it was not kept.
        signals: as in `abstaining`, empty where they were not kept.
    """

    values: tuple[float, ...]
    first: int | None = None
    ms: float | None = None
    text: str = ""
    signals: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Latency:
    """Hold milliseconds of searches for ten passages, one after another: median, 95th percentile, mean."""

    p50: float
    p95: float
    mean: float


@dataclass(frozen=True, slots=True)
class SetResult:
    """Hold what one set came to in one mode.

    Attributes:
        set, kind, mode: which.
        documents, chunks: what was searched.
        ingest_seconds: None where nothing was ingested.
        questions: answerable and unanswerable.
        unanswerable: the latter.
        measures: mean and interval over the answerable questions, by name; empty where there is none.
        curve: share of the right places found, by depth.
        latency: of all questions.
        citations: shares by what was checked.
        abstentions: one for each signal; empty without unanswerable questions.
        rows: by question.
        notes: what a reader should know, one sentence each.
    """

    set: str
    kind: str
    mode: str
    documents: int
    chunks: int
    ingest_seconds: float | None
    questions: int
    unanswerable: int
    measures: Mapping[str, Interval]
    curve: Mapping[int, float]
    latency: Latency
    citations: Mapping[str, Share]
    abstentions: tuple[Abstention, ...]
    rows: Mapping[str, QuestionResult]
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name set and mode."""
        return f"{self.set} ({self.mode})"


@dataclass(frozen=True, slots=True)
class Run:
    """Hold one evaluation: what was measured, of which build, with which settings.

    Attributes:
        name: of the run.
        version, commit: of the product; the commit is empty where it is not known, and ends in `+` where files differ.
        created_at: ISO 8601 UTC.
        configuration: flat pairs: embedding, store, weight …
        results: one for each set and mode.
    """

    name: str
    version: str
    commit: str
    created_at: str
    configuration: Mapping[str, str]
    results: tuple[SetResult, ...]


def run_as_json(run: Run, *, compact: bool = False) -> str:
    """Write a run as JSON, a question a line.

    Args:
        run: what was found.
        compact: leave out the questions' texts, times and signals, and round to four digits: what a baseline needs.
    """
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": run.name,
        "version": run.version,
        "commit": run.commit,
        "created_at": run.created_at,
        "configuration": dict(run.configuration),
        "results": [_result(each, compact=compact) for each in run.results],
    }
    places: list[str] = []
    for result, fields in zip(run.results, content["results"], strict=True):
        rows = {query: _row(row, compact=compact) for query, row in result.rows.items()}
        lines = ",\n".join(f"{json.dumps(query)}: {json.dumps(row, ensure_ascii=False)}" for query, row in rows.items())
        fields["rows"] = _HERE
        places.append(f"{{\n{lines}\n}}")
    parts = json.dumps(content, indent=1, ensure_ascii=False).split(json.dumps(_HERE))
    return "".join(part + rows for part, rows in zip(parts, [*places, "\n"], strict=True))


def _result(result: SetResult, *, compact: bool) -> dict[str, Any]:
    content: dict[str, Any] = {
        "set": result.set,
        "kind": result.kind,
        "mode": result.mode,
        "documents": result.documents,
        "chunks": result.chunks,
        "ingest_seconds": _round(result.ingest_seconds, 1),
        "questions": result.questions,
        "unanswerable": result.unanswerable,
        "measures": {
            name: {key: round(value, 4) for key, value in asdict(each).items()}
            for name, each in result.measures.items()
        },
        "curve": {str(depth): round(value, 4) for depth, value in result.curve.items()},
        "latency_ms": {key: round(value, 2) for key, value in asdict(result.latency).items()},
        "citations": {name: asdict(each) for name, each in result.citations.items()},
        "abstentions": [asdict(each) for each in result.abstentions],
        "notes": list(result.notes),
        "columns": [*COLUMNS],
    }
    if compact:
        del content["curve"], content["notes"]
    return content


def _row(row: QuestionResult, *, compact: bool) -> Any:
    values = [round(value, STORED_DIGITS) for value in row.values]
    if compact:
        return values
    return {
        "values": values,
        "first": row.first,
        "ms": _round(row.ms, 2),
        "text": row.text,
        "signals": {name: round(value, 5) for name, value in row.signals.items()},
    }


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def read_run(path: Path) -> Run:
    """Read a run that `run_as_json` wrote.

    Raises:
        NotFoundError: there is no such file.
        InvalidInputError: it is something else.
    """
    try:
        content = json.loads(text_of(path))
        if not isinstance(content, dict) or content["format"] != FORMAT:
            raise InvalidInputError(
                f"{path} is not a result of `knowledge eval`.", suggestion=f'Its "format" must be "{FORMAT}".'
            )
        results = [_fields_of(each) for each in cast("list[dict[str, Any]]", content["results"])]
        return TypeAdapter(Run).validate_python({**content, "results": results})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise InvalidInputError(
            f"{path} is not a result of `knowledge eval`, or a damaged one.", details=f"{type(exc).__name__}: {exc}"
        ) from exc


def _fields_of(content: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `SetResult`; what a baseline leaves out is empty."""
    rows = {query: _read_row(row, content["columns"]) for query, row in content["rows"].items()}
    return {"curve": {}, **content, "latency": content["latency_ms"], "rows": rows}


def _read_row(row: Any, columns: list[str]) -> QuestionResult:
    small = isinstance(row, list)
    values = cast("list[Any]", row if small else row["values"])
    by_column = dict(zip(columns, values, strict=False))
    ordered = tuple(float(by_column[name]) for name in COLUMNS) if values else ()
    if small:
        return QuestionResult(ordered)
    return QuestionResult(ordered, row["first"], row["ms"], row["text"], row["signals"])


_SECONDS = 10.0


def commit_of_build(folder: Path | None = None) -> str:
    """Name the commit in 12 hex digits, with `+` where tracked files differ; empty outside a checkout.

    Args:
        folder: inside the checkout; without it, the package's own. An installed package is in none, whatever folder
            its environment lies in: it must be tracked there.
    """
    here = folder or Path(knowledge_mcp.__file__).parent
    if _git(here, "ls-files", "--error-unmatch", "--", ".") is None:
        return ""
    commit = _git(here, "rev-parse", "--short=12", "HEAD")
    if not commit:
        return ""
    changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}+" if changed else commit


def _git(folder: Path, *arguments: str) -> str | None:
    """Run git; returns what it says, None where it fails or is not there."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() if process.returncode == 0 else None

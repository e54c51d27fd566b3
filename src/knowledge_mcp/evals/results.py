"""The results of an evaluation, and their JSON form, in which baselines are stored."""

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
"""Decimals of a measure in a file; `compare` rounds to the same number."""
_HERE = "\x00rows"


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one question.

    Attributes:
        values: in the order of the result's measures; empty for an unanswerable question.
        first: rank of the first right passage, or None.
        ms: milliseconds of the search; None if not stored.
        text: the question; empty if not stored.
        signals: see `measures.SIGNALS`; empty if not stored.
    """

    values: tuple[float, ...]
    first: int | None = None
    ms: float | None = None
    text: str = ""
    signals: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of searches for ten passages, one after another: median, 95th percentile, mean."""

    p50: float
    p95: float
    mean: float


@dataclass(frozen=True, slots=True)
class SetResult:
    """The result of one set in one mode.

    Attributes:
        set, kind, mode: identify it.
        documents, chunks: size of the knowledge base that was searched.
        ingest_seconds: None if nothing was ingested.
        questions: number of answerable and unanswerable questions.
        unanswerable: number of unanswerable questions.
        measures: mean and interval over the answerable questions, by name; empty if there are none.
        curve: recall by depth.
        latency: of all questions.
        citations: shares of right citations, by check.
        abstentions: one for each signal; empty without unanswerable questions.
        rows: results by question.
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
        """Set and mode."""
        return f"{self.set} ({self.mode})"


@dataclass(frozen=True, slots=True)
class Run:
    """One evaluation: what was measured, with which build and settings.

    Attributes:
        name: of the run.
        version, commit: of the product; the commit is empty if unknown, and ends in `+` if tracked files were changed.
        created_at: ISO 8601 UTC.
        configuration: settings by name: embedding, store, weight …
        results: one for each set and mode.
    """

    name: str
    version: str
    commit: str
    created_at: str
    configuration: Mapping[str, str]
    results: tuple[SetResult, ...]


def run_as_json(run: Run, *, compact: bool = False) -> str:
    """Format a run as JSON, with one line per question.

    Args:
        run: the run.
        compact: omit the questions' texts, times and signals, and round to four decimals, as for a baseline.
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
        NotFoundError: the file does not exist.
        InvalidInputError: the file is something else, or is damaged.
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
    """Return the fields of a `SetResult`; fields that a baseline omits are empty."""
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
    """Return the commit in 12 hex digits, with `+` if tracked files were changed; empty outside a checkout.

    Args:
        folder: a folder in the checkout; by default the package's own. The folder must be tracked, because the
            environment of an installed package may be inside an unrelated checkout.
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
    """Run git; return its output, or None if it fails or is not installed."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() if process.returncode == 0 else None

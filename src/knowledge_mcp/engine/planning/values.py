"""Requests and results of ingesting a document for an application."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from knowledge_mcp.engine.core.confinement import PathNotAllowedError
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, KnowledgeError

_NOTHING = 0.005
"""Image ratio below which pictures are not mentioned: it would be rounded to 0.00."""


class PlanningError(InvalidInputError):
    """A document could not be ingested; the error type is from the specification.

    Args:
        error_type: `file_not_found`, `unsupported_file_type`, `extraction_failed`, `no_content`, `no_chunks`,
            `document_not_found` or `job_not_found`.
    """

    def __init__(self, error_type: str, message: str, *, suggestion: str = "", details: str = "") -> None:
        super().__init__(message, suggestion=suggestion, details=details)
        self.error_type = error_type


@dataclass(frozen=True, slots=True)
class PlanningIngestRequest:
    """Ask to ingest one file for one application.

    Attributes:
        file_path: absolute path.
        application_ref: as the authority writes it.
        document_type: its type; None lets the classifier decide.
        force_ocr: read every page by OCR, also of image-based documents.
        ocr_language: Tesseract's names, joined by `+`; None for the default.
    """

    file_path: str
    application_ref: str
    document_type: str | None = None
    force_ocr: bool = False
    ocr_language: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> PlanningIngestRequest:
        """Rebuild it; unknown names are left out."""
        known = {field.name for field in fields(PlanningIngestRequest)}
        return PlanningIngestRequest(**{name: value for name, value in values.items() if name in known})


@dataclass(frozen=True, slots=True)
class PlanningIngestResult:
    """The result for a file; None and empty values do not apply.

    Attributes:
        status: `success`, `already_ingested` or `skipped`.
        document_id: its id, if it is in the store.
        chunks_created, extraction_method, contains_drawings, total_chars, total_words: if successful (B-FR-001).
        reason: why it was skipped: `image_based`.
        image_ratio: average over its pages, 0..1.
        total_pages: number of pages.
        message: one sentence, if there is something to say.
        document_type, document_type_confidence, document_type_reason: its type, and the evidence for it.
        pages: the result of each page; consecutive pages with the same result are one entry.
        warnings: what was lost or is doubtful.
        replaced: ids of earlier versions that it replaced.
    """

    status: Literal["success", "already_ingested", "skipped"]
    document_id: str | None = None
    chunks_created: int | None = None
    extraction_method: str | None = None
    contains_drawings: bool | None = None
    total_chars: int | None = None
    total_words: int | None = None
    reason: str | None = None
    image_ratio: float | None = None
    total_pages: int | None = None
    message: str | None = None
    document_type: str | None = None
    document_type_confidence: float | None = None
    document_type_reason: str | None = None
    pages: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the applicable values as plain JSON, in the order of the attributes."""
        values: dict[str, Any] = {}
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if value is not None and value != ():
                values[field.name] = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
        return values


def page_coverage(text: str) -> tuple[Mapping[str, Any], ...]:
    """Parse a reader's page results, and join consecutive ones with the same result.

    An entry has `first`, `last` and `method`; `image_ratio`, `confidence`, `drawing` and `reason` if they are
    informative. Empty if there is nothing, or it cannot be parsed.
    """
    try:
        pages: Any = json.loads(text) if text else []
        runs: list[dict[str, Any]] = []
        for page in pages:
            entry = _entry(page)
            if runs and {**runs[-1], "first": 0, "last": 0} == {**entry, "first": 0, "last": 0}:
                runs[-1]["last"] = entry["last"]
            else:
                runs.append(entry)
    except (ValueError, TypeError, KeyError):
        return ()
    return tuple(runs)


def _entry(page: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"first": int(page["page"]), "last": int(page["page"]), "method": str(page["method"])}
    if float(page.get("image_ratio") or 0.0) >= _NOTHING:
        entry["image_ratio"] = round(float(page["image_ratio"]), 2)
    if page.get("confidence") is not None:
        entry["confidence"] = round(float(page["confidence"]), 1)
    if page.get("drawing"):
        entry["drawing"] = True
    if page.get("reason"):
        entry["reason"] = str(page["reason"])
    return entry


OTHER_PLACES = "other_places"
"""Metadata key: further sources with the same bytes for the same application, a JSON list."""


def places_of(record: DocumentRecord) -> list[str]:
    """List the sources of a document, the listed one first."""
    return [record.source_path, *json.loads(record.label(OTHER_PLACES) or "[]")]


def error_type_of(error: KnowledgeError) -> str:
    """Return the specification's name for an error, otherwise its code."""
    if isinstance(error, PlanningError):
        return error.error_type
    if isinstance(error, PathNotAllowedError):
        return "path_not_allowed"
    return "cancelled" if isinstance(error, CancelledError) else error.code.value


def explain(error: KnowledgeError) -> dict[str, Any]:
    """Convert an error to the form `{status: "error", error_type, message}`; with `suggestion` if there is one."""
    values = {"status": "error", "error_type": error_type_of(error), "message": error.message}
    return values | ({"suggestion": error.suggestion} if error.suggestion else {})


class Batch:
    """Find the documents of an application that may belong to a file; used by one thread.

    They are read on first use and updated by `add`; changes by other processes are not seen. Therefore callers read
    these few documents again, and check once more at the end.

    Args:
        application_ref: the application.
        read: lists its records.

    Attributes:
        ingested: records ingested by the batch, by source path.
    """

    def __init__(self, application_ref: str, read: Callable[[], Iterable[DocumentRecord]]) -> None:
        self.application_ref = application_ref
        self.ingested: dict[str, DocumentRecord] = {}
        self._read = read
        self._ids: dict[str, set[str]] | None = None

    def like(self, uri: str, sha256: str) -> set[str]:
        """List the ids of documents with a path, or whose bytes have a hash."""
        known = self._known()
        return known.get(uri, set()) | known.get(sha256, set())

    def add(self, record: DocumentRecord) -> None:
        """Record a document as ingested."""
        self.ingested[record.source_path] = record
        self.note(record)

    def note(self, record: DocumentRecord) -> None:
        """Record where the bytes of a document are."""
        _note(self._known(), record)

    def _known(self) -> dict[str, set[str]]:
        if self._ids is None:
            known = dict[str, set[str]]()
            for each in self._read():
                _note(known, each)
            self._ids = known
        return self._ids


def _note(known: dict[str, set[str]], record: DocumentRecord) -> None:
    for key in (*places_of(record), record.sha256):
        known.setdefault(key, set()).add(record.id)

"""Ingest documents for applications: each file once per application, replacing earlier versions, also as jobs.

The same bytes for the same application are one document, whatever their paths; a file whose bytes have changed replaces
the document that had only this path; the same file under two applications is two documents.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.core import documents
from knowledge_mcp.engine.core.base import Base, locked
from knowledge_mcp.engine.core.confinement import AllowedFile, allowed_path, look_at
from knowledge_mcp.engine.core.health import check_absence
from knowledge_mcp.engine.core.restricted import hidden_ids, is_readable
from knowledge_mcp.engine.ingest.ingest import ingest_one
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.jobs.jobs import Jobs
from knowledge_mcp.engine.jobs.journal import FolderJournal, Job
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.engine.planning.values import (
    OTHER_PLACES,
    Batch,
    PlanningError,
    PlanningIngestRequest,
    PlanningIngestResult,
    explain,
    page_coverage,
    places_of,
)
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus
from knowledge_mcp.model.errors import (
    KnowledgeError,
    NotFoundError,
    UnreadableDocumentError,
    UnreadableReason,
    reason_of,
)
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem, advice_on_kind
from knowledge_mcp.support.files import is_gone, path_of_text, path_text
from knowledge_mcp.support.locks import hold_lock
from knowledge_mcp.support.workers import MadeOnce

_logger = logging.getLogger(__name__)

EXTENSIONS: Mapping[str, str] = MEDIA_TYPES
"""Media types of documents that can be ingested, by extension: those of B-FR-005, and every other kind of document."""


_ERROR_TYPES = {
    UnreadableReason.EMPTY.value: "no_content",
    UnreadableReason.UNSUPPORTED.value: "unsupported_file_type",
    "invalid_input": "no_chunks",
}


@dataclass(frozen=True, slots=True)
class _File:
    """One file as found: its path as given and resolved, and its facts."""

    raw_path: str
    path: Path
    seen: AllowedFile


class PlanningService(LocalKnowledge):
    """Answer from one collection, and ingest documents into it. Thread-safe.

    Args:
        base, pipeline, health_threshold_ms: as for `LocalKnowledge`.
        folder: contains locks and the journal of jobs.
        roots: folders with readable files; None for all, if the caller is the local user.
        patience: seconds for running jobs to end on close.
    """

    def __init__(
        self,
        base: Base,
        pipeline: Pipeline,
        *,
        folder: Path,
        roots: Sequence[Path] | None,
        patience: float = 10.0,
        health_threshold_ms: int = 500,
    ) -> None:
        super().__init__(base, MadeOnce(lambda: pipeline), health_threshold_ms=health_threshold_ms)
        self._locks = folder / "locks"
        self._roots = roots
        self._patience = patience
        self.jobs = Jobs(FolderJournal(folder / "jobs"), self._work, explain=explain)

    def warm_up(self) -> None:
        """Resume jobs that another process left, and load what the first query needs."""
        self.jobs.recover()
        super().warm_up()

    def close(self) -> None:
        """Give running jobs some time to end, stop them, and free all resources."""
        self.jobs.close(self._patience)
        super().close()

    def job(self, job_id: str) -> Job:
        """Return the state of a job; NotFoundError if there is none, or its documents must not be read."""

        def is_seen(job: Job) -> bool:
            return is_readable(self._base) and str((job.result or {}).get("document_id")) not in hidden_ids(self._base)

        return self.jobs.look_up(job_id, is_seen)

    def documents_of(self, application_ref: str) -> list[DocumentRecord]:
        """List the records of one application by id."""
        return list(self._base.records_labelled("application_ref", application_ref))

    def applications(self) -> dict[str, list[DocumentRecord]]:
        """Group all records by application."""
        by_application: dict[str, list[DocumentRecord]] = {}
        for record in self._base.records():
            by_application.setdefault(record.label("application_ref"), []).append(record)
        if not by_application:
            check_absence(self._base)
        return by_application

    def gone(self, application_ref: str, folder: Path) -> list[DocumentRecord]:
        """List an application's documents whose files were below a folder, and certainly exist nowhere now."""
        below = os.path.join(_prefix(application_ref) + path_text(folder), "")  # noqa: PTH118 - compared as text
        return [
            record
            for record in self.documents_of(application_ref)
            if record.source_path.startswith(below) and not _remaining(record)
        ]

    def check_path(self, request: PlanningIngestRequest) -> Path:
        """Check that a file may be read, exists, and is of a supported kind; return the resolved path.

        Raises:
            InvalidInputError: the path is not absolute, or not allowed.
            PlanningError: `file_not_found` or `unsupported_file_type`.
        """
        path = allowed_path(request.file_path, self._roots)
        if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a folder is closed to us
            kind = "This is not a file" if os.path.isdir(path) else "File not found"  # noqa: PTH112
            raise PlanningError("file_not_found", f"{kind}: {request.file_path}", suggestion="Check the path.")
        if path.suffix.lower() not in EXTENSIONS:
            raise PlanningError(
                "unsupported_file_type",
                f"Unsupported file type: {path.suffix or path.name}",
                suggestion=advice_on_kind(path.name, EXTENSIONS),
            )
        return path

    @contextlib.contextmanager
    def batch(self, application_ref: str) -> Generator[Batch]:
        """Return the state shared by several calls of `ingest_file`; the application's records are read once for all.

        At the end they are checked once more, for versions of these files that another process ingested meanwhile.
        """
        batch = Batch(application_ref, lambda: self.documents_of(application_ref))
        yield batch
        try:
            self._settle(batch)
        except (KnowledgeError, OSError) as exc:
            _logger.warning("earlier versions may be left until their files are filed again: %s", reason_of(exc))

    def ingest_file(
        self, request: PlanningIngestRequest, call: Call, batch: Batch | None = None
    ) -> PlanningIngestResult:
        """Ingest one document; if anything stops it, the earlier version stays.

        Args:
            request: the file and the application.
            call: receives the progress, and returns whether to stop.
            batch: of the same application, to ingest several files; None for one.

        Raises:
            PlanningError: it cannot be ingested; `error_type` says why.
            CancelledError: the caller cancelled; nothing was stored.
            KnowledgeError: the path, the store or the embedder failed.
        """
        file = _open_file(request.file_path, self.check_path(request), self._roots)
        reference = request.application_ref
        if batch is None or batch.application_ref != reference:
            batch = Batch(reference, lambda: self.documents_of(reference))
        uri = f"{_prefix(reference)}{path_text(file.path)}"
        hashes = {file.seen.sha256}
        while True:
            # for all applications: the second of two reuses the vectors of the first
            names = {uri, *(f"content:{each}" for each in hashes)}
            with locked(self._locks, names, "document", "ingest", call.cancelled):
                related = self._related(batch, uri, file.seen.sha256)
                older = {record.sha256 for record in related if uri in places_of(record)}
                if older <= hashes:
                    return self._ingest_locked(request, file, uri, related, batch, call)
            hashes |= older  # documents that had this path before are locked too: another path may lead to them

    # ---- one document, locked

    def _related(self, batch: Batch, uri: str, sha256: str) -> list[DocumentRecord]:
        """Read the documents with a path, with its bytes, or with a name for them, also those of other applications."""
        return documents.documents(self._base, {*_names(batch.application_ref, sha256), *batch.like(uri, sha256)})

    def _ingest_locked(
        self,
        request: PlanningIngestRequest,
        file: _File,
        uri: str,
        related: Sequence[DocumentRecord],
        batch: Batch,
        call: Call,
    ) -> PlanningIngestResult:
        own = [record for record in related if record.label("application_ref") == request.application_ref]
        there = next((record for record in own if record.sha256 == file.seen.sha256), None)
        older = [record for record in own if uri in places_of(record) and record.sha256 != file.seen.sha256]
        if there is not None and not self._is_to_be_read_again(there, request, file):
            there = self._put_at(there, [*_remaining(there, uri), uri], batch)
            return PlanningIngestResult(
                status="already_ingested",
                document_id=there.id,
                message="Document has already been ingested with the same content",
                document_type=there.document_type,
                replaced=self._leave(older, uri, batch),
            )
        request = _as_before(request, there, older)
        names = _names(request.application_ref, file.seen.sha256)
        is_taken = any(record.id == names[0] for record in related)
        document_id = there.id if there is not None else names[is_taken]
        item = _item(request, file, uri, document_id, there)
        lone = [record for record in older if not _remaining(record, uri)]
        report = self._ingest(item, file, call, force=there is not None, older=lone)
        if not report.documents:
            return _skipped_or_error((*report.skipped, *report.failed)[0], older)
        batch.add(report.documents[0].record)
        return _success(report.documents[0].record, item, self._leave(older, uri, batch))

    def _put_at(self, record: DocumentRecord, places: Sequence[str], batch: Batch) -> DocumentRecord:
        """Store a document's locations; it stays listed with its own if that remains, otherwise with the last one."""
        first = record.source_path if record.source_path in places else places[-1]
        labels = {OTHER_PLACES: _as_label([each for each in places if each != first])}
        if first != record.source_path:
            path = _path_of(first, record)
            labels |= {"file_path": path, "source_file": Path(path).name}
        elif labels[OTHER_PLACES] == record.label(OTHER_PLACES):
            return record
        moved = documents.relabel(self._base, record.id, labels, source_path=first)
        batch.note(moved)
        return moved

    def _leave(self, older: Sequence[DocumentRecord], uri: str, batch: Batch) -> tuple[str, ...]:
        """Remove a path from documents that had it; return the ids of those without another path, which are deleted."""
        removed: list[str] = []
        for record in older:
            places = _remaining(record, uri)
            if places:
                self._put_at(record, places, batch)
                continue
            self._remove_if_there(record.id)  # the ingest has left some of several
            removed.append(record.id)
        return tuple(removed)

    def _is_to_be_read_again(self, there: DocumentRecord, request: PlanningIngestRequest, file: _File) -> bool:
        """Return whether reading again can give more than before: another type, forced, or new capabilities."""
        if request.document_type not in {None, there.document_type}:
            return True
        if request.force_ocr and there.label("force_ocr") != "true":
            return True
        by_ocr = there.label("extraction_method") in {"ocr", "mixed"}
        if request.ocr_language is not None and by_ocr and there.label("ocr_language") != request.ocr_language:
            return True
        media_type = EXTENSIONS[file.path.suffix.lower()]
        return there.status is DocumentStatus.PARTIAL and not self._pipeline().has_read(there, media_type)

    def _ingest(
        self, item: SourceItem, file: _File, call: Call, *, force: bool, older: Sequence[DocumentRecord]
    ) -> IngestReport:
        def check(event: IngestEvent) -> None:
            if event.kind is IngestEventKind.CHUNKED and _identity(file.path) != file.seen.identity:
                raise UnreadableDocumentError(
                    "The file was changed while it was read.",
                    reason=UnreadableReason.INACCESSIBLE,
                    source=item.uri,
                    name=file.path.name,
                )

        options = IngestOptions(force=force, ids_are_settled=True, earlier=tuple(older))
        return ingest_one(self._base, self._pipeline(), item, options, call, unit="chunk", check=check)

    def _remove_if_there(self, document_id: str) -> None:
        try:
            self.remove(document_id)
        except NotFoundError:
            return

    def _settle(self, batch: Batch) -> None:
        """Remove what another process ingested with a path of the batch before the batch did.

        A path that is being ingested right now is skipped: that ingest handles what exists.
        """
        for record in self.documents_of(batch.application_ref) if batch.ingested else ():
            for place in places_of(record):
                newest = batch.ingested.get(place)
                if newest is None or record.sha256 == newest.sha256 or record.updated_at >= newest.updated_at:
                    continue
                with hold_lock(self._locks, place, give_up=lambda: True) as mine:
                    now = documents.documents(self._base, [record.id])
                    if mine and now == [record]:
                        self._leave(now, place, batch)

    def _work(self, request: Mapping[str, Any], call: Call) -> Mapping[str, Any]:
        return self.ingest_file(PlanningIngestRequest.from_json(request), call).as_json()


def sanitized(application_ref: str) -> str:
    """Make a reference safe for an id: `25/01178/REM` becomes `25_01178_REM`."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", application_ref)


def _names(application_ref: str, sha256: str) -> tuple[str, str]:
    """Return a document's names: `{sanitized ref}_{first six digits of its hash}` (B-FR-008), and an alternative.

    If another document has the name (another reference with the same sanitized form, or six equal digits), six digits
    derived from both reference and hash are added.
    """
    proposed = f"{sanitized(application_ref)}_{sha256[:6]}"
    return proposed, f"{proposed}-{hashlib.sha256(f'{application_ref}|{sha256}'.encode()).hexdigest()[:6]}"


def _open_file(raw_path: str, path: Path, roots: Sequence[Path] | None) -> _File:
    try:
        return _File(raw_path, path, look_at(path, roots))
    except FileNotFoundError as exc:
        raise PlanningError("file_not_found", f"File not found: {raw_path}") from exc
    except UnreadableDocumentError as exc:
        raise PlanningError("extraction_failed", exc.problem, suggestion=exc.suggestion) from exc
    except OSError as exc:
        reason = exc.strerror or type(exc).__name__
        raise PlanningError(
            "extraction_failed", f"The file cannot be read: {reason}.", suggestion="Check its permissions."
        ) from exc


def _identity(path: Path) -> tuple[int, ...]:
    """Return what changes if the file or its bytes are replaced; empty if there is none."""
    try:
        if os.path.realpath(path) != str(path):  # the path has become a link
            return ()
        status = path.stat()
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _prefix(application_ref: str) -> str:
    return f"planning:{application_ref}:"


def _path_of(place: str, record: DocumentRecord) -> str:
    return place.removeprefix(_prefix(record.label("application_ref")))


def _remaining(record: DocumentRecord, left: str = "") -> list[str]:
    """List the locations of a document, except one, that are not certainly gone."""
    places = (place for place in places_of(record) if place != left)
    return [place for place in places if not is_gone(path_of_text(_path_of(place, record)))]


def _as_label(places: Sequence[str]) -> str:
    return json.dumps(places) if places else ""


def _as_before(
    request: PlanningIngestRequest, there: DocumentRecord | None, older: Sequence[DocumentRecord]
) -> PlanningIngestRequest:
    """Keep earlier options for the same bytes, and the type given to an earlier version."""
    given = (each.document_type for each in (there, *older) if each and not each.label("document_type_confidence"))
    request = replace(request, document_type=request.document_type or next(given, None))
    if there is None:
        return request
    return replace(
        request,
        force_ocr=request.force_ocr or there.label("force_ocr") == "true",
        ocr_language=request.ocr_language or there.label("ocr_language") or None,
    )


def _item(
    request: PlanningIngestRequest, file: _File, uri: str, document_id: str, there: DocumentRecord | None
) -> SourceItem:
    """Describe the file for the ingest; `there` is the document that already has these bytes."""
    labels = {
        "application_ref": request.application_ref,
        "file_path": path_text(Path(file.raw_path)),
        "source_file": path_text(Path(file.raw_path).name),
    }
    others = [] if there is None else _remaining(there, uri)
    if others:
        labels[OTHER_PLACES] = _as_label(others)
    if request.force_ocr:
        labels["force_ocr"] = "true"
    if request.ocr_language is not None:
        labels["ocr_language"] = request.ocr_language
    return SourceItem(
        uri=uri,
        name=path_text(Path(file.raw_path).name),
        media_type=EXTENSIONS[file.path.suffix.lower()],
        size=file.seen.size,
        sha256=file.seen.sha256,
        open=file.seen.open,
        path=file.path,
        labels=tuple(labels.items()),
        document_id=document_id,
        document_type=request.document_type,
        language=request.ocr_language,
        force_ocr=request.force_ocr,
    )


def _success(record: DocumentRecord, item: SourceItem, replaced: tuple[str, ...]) -> PlanningIngestResult:
    confidence = record.label("document_type_confidence")
    by_caller = item.document_type is not None
    return PlanningIngestResult(
        status="success",
        document_id=record.id,
        chunks_created=record.chunk_count,
        extraction_method=record.label("extraction_method") or "text_layer",
        contains_drawings=record.label("contains_drawings") == "true",
        total_chars=int(record.label("total_chars") or 0),
        total_words=int(record.label("total_words") or 0),
        image_ratio=float(record.label("image_ratio") or 0.0),
        total_pages=record.pages,
        document_type=record.document_type,
        document_type_confidence=float(confidence) if confidence else None,
        document_type_reason="given by the caller" if by_caller else record.label("document_type_reason") or None,
        pages=page_coverage(record.label("page_coverage")),
        warnings=record.warnings,
        replaced=replaced,
    )


def _skipped_or_error(skipped: SkippedFile, older: Sequence[DocumentRecord]) -> PlanningIngestResult:
    stays = f" The previous version is still found: {', '.join(each.id for each in older)}." if older else ""
    if skipped.reason == UnreadableReason.IMAGE_BASED:
        facts = dict(skipped.facts)
        return PlanningIngestResult(
            status="skipped",
            reason="image_based",
            image_ratio=float(facts.get("image_ratio", "0")),
            total_pages=int(facts.get("total_pages", "0")),
            message=f"{skipped.message} {skipped.suggestion}".strip() + stays,
            pages=page_coverage(facts.get("page_coverage", "")),
        )
    raise PlanningError(
        _ERROR_TYPES.get(skipped.reason, "extraction_failed"), skipped.message + stays, suggestion=skipped.suggestion
    )

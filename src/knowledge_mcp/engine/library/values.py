"""Conversions between a deposit and the engine: its name, its item, its answer, and all that as JSON."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import PurePath, PurePosixPath
from typing import Any

from knowledge_mcp.engine.core.citing import TURNING
from knowledge_mcp.engine.jobs.jobs import error_of
from knowledge_mcp.engine.jobs.journal import Job, JobState
from knowledge_mcp.model.chunk import text_key
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import IngestedDocument, SkippedFile
from knowledge_mcp.model.library import COLLECTION_NAME, Deposit, Deposited, Fetched, IngestJob
from knowledge_mcp.model.rights import ALLOWED
from knowledge_mcp.model.source import UNKNOWN, SourceItem, media_type_of

_NAME = re.compile(COLLECTION_NAME)
_KNOWN = ("source", "title", "document_type")
"""Metadata keys with a special meaning."""
_LONGEST = 2000
"""Maximum characters of a source, as of an address; a truncated one could match another document's."""


def checked_name(collection: str, is_reserved: Callable[[str], bool] = lambda _: False) -> str:
    """Check that a collection may have this name.

    Raises:
        InvalidInputError: it must not.
    """
    if _NAME.fullmatch(collection) is None:
        raise InvalidInputError(
            f"This is not a collection name: {collection[:100]!r}",
            suggestion="Use 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit.",
        )
    if is_reserved(collection):
        raise InvalidInputError(
            f"The collection '{collection}' belongs to another part of this product.", suggestion="Use another name."
        )
    return collection


def item_of(deposit: Deposit, fetched: Fetched | None) -> SourceItem:
    """Create the item to read from a deposit, with its document's id.

    Raises:
        InvalidInputError: not exactly one of text, bytes and address is given, or none of it can be read.
    """
    if sum(each is not None for each in (deposit.text, deposit.content, deposit.url)) != 1:
        raise InvalidInputError("Give exactly one of a text, a file and an address.")
    metadata = dict(deposit.metadata)
    if fetched is not None:
        content, media_type, name = fetched.content, fetched.media_type, deposit.filename or fetched.filename
    elif deposit.text is not None:
        content, media_type, name = _encode(deposit.text), "text/markdown", deposit.filename
    else:
        content = deposit.content or b""
        media_type, name = deposit.media_type or media_type_of(deposit.filename), deposit.filename
    name = TURNING.sub("", _base_name(name))
    digest = hashlib.sha256(content).hexdigest()
    source = metadata.get("source") or deposit.url or name or f"text:{digest[:16]}"
    if len(source) > _LONGEST:
        raise InvalidInputError(
            f"The source has {len(source):,} characters, more than {_LONGEST:,}.", suggestion="Use a shorter name."
        )
    name = name or PurePosixPath(source).name or "document"
    if not content.strip():
        raise UnreadableDocumentError("The document is empty.", reason=UnreadableReason.EMPTY, source=source)
    if media_type == UNKNOWN:
        raise UnreadableDocumentError(
            f"The type of the file {name} cannot be determined.",
            reason=UnreadableReason.UNSUPPORTED,
            source=source,
            suggestion="Use a file name with the usual extension.",
        )
    labels = {key: value for key, value in metadata.items() if key not in _KNOWN} | {"filename": name}
    place = fetched.url.partition("?")[0] if fetched is not None else ""  # a query is often a signature that opens it
    if place and place != deposit.url:
        labels["fetched_from"] = place
    return SourceItem(
        uri=source,
        name=name,
        media_type=media_type,
        size=len(content),
        sha256=_fingerprint(digest, metadata, name),
        open=functools.partial(io.BytesIO, content),
        labels=tuple(sorted(labels.items())),
        document_id=_document_id(deposit.collection, source),
        title=TURNING.sub("", metadata.get("title", "")) or None,
        document_type=metadata.get("document_type") or None,
    )


def _document_id(collection: str, source: str) -> str:
    return text_key(f"{collection}\x1e{source}")[:16]


def document_of(job: Job) -> tuple[str, str]:
    """Return the id of a job's document, and the groups in its deposit (`model.rights.ALLOWED`).

    For a text without a name, the id is empty until the job has ended: it is derived from the text.
    """
    ingest_job, metadata = ingest_job_of(job), dict(job.request.get("metadata", ()))
    if ingest_job.result is not None:
        return ingest_job.result.document_id, metadata.get(ALLOWED, "")
    source = str(metadata.get("source") or job.request.get("url") or _base_name(str(job.request.get("filename", ""))))
    return _document_id(ingest_job.collection, source) if source else "", metadata.get(ALLOWED, "")


def _base_name(name: str) -> str:
    return PurePath(name.replace("\\", "/")).name


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInputError(
            "The text contains code points that are not characters (lone surrogates).", details=str(exc)
        ) from exc


def _fingerprint(digest: str, metadata: Mapping[str, str], name: str) -> str:
    """Hash the bytes with their metadata: a document is rewritten if its metadata changed."""
    if not metadata:
        return text_key(f"{digest}{name}")
    return text_key(json.dumps([digest, name, sorted(metadata.items())]))


def deposited(collection: str, done: IngestedDocument, earlier: DocumentRecord | None) -> Deposited:
    """Return the result of a deposit; the record is that of the previous version."""
    record = done.record
    return Deposited(
        document_id=record.id,
        collection=collection,
        title=record.title,
        source=record.source_path,
        chunks=record.chunk_count,
        pages=record.pages,
        unchanged=done.unchanged,
        replaced=earlier is not None and not done.unchanged,
        embedded=done.embedded,
        reused=done.reused,
        warnings=record.warnings,
    )


def why_not(skipped: SkippedFile, name: str) -> KnowledgeError:
    """Convert the report entry of an unreadable document to an error."""
    try:
        reason = UnreadableReason(skipped.reason)
    except ValueError:
        return InvalidInputError(skipped.message, suggestion=skipped.suggestion or None)
    return UnreadableDocumentError(
        skipped.message,
        reason=reason,
        source=skipped.source,
        name=name,
        suggestion=skipped.suggestion or None,
        facts=dict(skipped.facts),
    )


# ---- as JSON, for the journal


def request_to_json(deposit: Deposit, content_id: str) -> dict[str, Any]:
    """Write a deposit without its text or bytes, which the journal stores next to it."""
    return {
        "collection": deposit.collection,
        "filename": deposit.filename,
        "url": deposit.url,
        "media_type": deposit.media_type,
        "metadata": [list(pair) for pair in deposit.metadata],
        "force": deposit.force,
        "is_text": deposit.text is not None,
        "content_id": content_id,
    }


def request_from_json(request: Mapping[str, Any], content: Callable[[str], bytes]) -> Deposit:
    """Rebuild a deposit; `content` returns the bytes stored under a name."""
    stored = content(str(request["content_id"])) if request["content_id"] else None
    is_text = bool(request["is_text"])
    return Deposit(
        collection=str(request["collection"]),
        filename=str(request["filename"]),
        text=stored.decode("utf-8", "surrogatepass") if stored is not None and is_text else None,
        content=stored if not is_text else None,
        url=request["url"],
        media_type=request["media_type"],
        metadata=tuple((str(key), str(value)) for key, value in request["metadata"]),
        force=bool(request["force"]),
    )


def ingest_job_of(job: Job) -> IngestJob:
    """Return a job of the journal in the form for its caller."""
    result = None
    if job.result is not None and "document_id" in job.result:
        known = {field.name for field in fields(Deposited)}
        values: dict[str, Any] = {name: value for name, value in job.result.items() if name in known}
        values["warnings"] = tuple(values.get("warnings", ()))
        result = Deposited(**values)
    request = job.request
    metadata: dict[str, str] = dict(request.get("metadata", ()))
    return IngestJob(
        id=job.id,
        state=job.state.value,
        done=100.0 if job.state is JobState.DONE else job.done,
        message=job.message,
        created_at=job.created_at,
        updated_at=job.updated_at,
        collection=str(request.get("collection", "")),
        source=str(request.get("url") or metadata.get("source") or request.get("filename", "")),
        result=result,
        failure=error_of(job) if job.state is JobState.FAILED else None,
        kind=str(request.get("kind", "ingest")),
        documents=tuple(request.get("documents", ())),
    )

"""Options, events and report of an ingest, and the sources that are kept in sync."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from knowledge_mcp.model.collection import DocumentRecord


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was skipped, and why.

    Attributes:
        source: the file, as the user gave it.
        reason: an `UnreadableReason` value or an error code.
        message, suggestion: for people.
        facts: measurements of the file.
    """

    source: str
    reason: str
    message: str
    suggestion: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files of a folder that were ignored because they are not documents, or not of the kinds asked for.

    Attributes:
        what: what they are, e.g. `source code`, `pictures`, `hidden files`.
        count: how many.
        examples: the first few, as paths.
        advice: how to ingest them anyway.
    """

    what: str
    count: int
    examples: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What opening a file showed, before anything costs money: its pages, None if the format has none."""

    pages: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem found in a store: what, where, whether it was repaired, what to do."""

    message: str
    document_id: str | None = None
    repaired: bool = False
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Options of an ingest.

    Attributes:
        force: read and embed again even if bytes and pipeline are unchanged.
        dry_run: report what would be done; embed and write nothing.
        ids_are_settled: every item has a final, unique id: only the records of these ids are read, however many
            others there are.
        earlier: with settled ids, records of the same sources under other ids; the new documents replace them.
        files_at_once: maximum number of documents in one batch of passages to embed; None for no limit.
        vanished: sources that no longer exist: a new file with the bytes of one was moved, and keeps its document.
        pruned: those of `vanished` whose documents are removed afterwards; they no longer count as editions.
        other_sources: sources that exist but are not part of this run: a file with the same bytes does not take over
            their document.
        max_cost: limit for embeddings in USD; the run stops before it would spend more. None for no limit.
    """

    force: bool = False
    dry_run: bool = False
    ids_are_settled: bool = False
    earlier: tuple[DocumentRecord, ...] = ()
    files_at_once: int | None = None
    max_cost: float | None = None
    vanished: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    other_sources: tuple[str, ...] = ()


class IngestEventKind(StrEnum):
    """What has just happened in an ingest."""

    FOUND = "found"
    CHECKED = "checked"
    SKIPPED = "skipped"
    READING = "reading"
    CHUNKED = "chunked"
    EMBEDDED = "embedded"
    STORED = "stored"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    DUPLICATE = "duplicate"
    EDITION = "edition"


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """Progress of an ingest; `done` of `total` pages or chunks, depending on the kind."""

    kind: IngestEventKind
    source: str
    done: int = 0
    total: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """What a dry run found in one file."""

    source: str
    document_id: str
    pages: int
    chunks: int
    tokens: int
    unchanged: bool


@dataclass(frozen=True, slots=True)
class IngestedDocument:
    """The result for one file: its record and how many chunks were embedded or reused."""

    record: DocumentRecord
    embedded: int
    reused: int
    unchanged: bool


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest.

    Attributes:
        documents, planned, skipped, failed: the result for each file; only a dry run fills `planned`.
        seconds: total duration.
        embedding_tokens: tokens of the passages embedded in this run.
        billed_tokens: tokens counted by the embedding service, 0 if none is used.
        price: USD per million tokens, 0.0 if nothing is paid, None if unknown.
        editions: one sentence for each document recognised as an edition, or as one whose file was moved and edited.
    """

    documents: tuple[IngestedDocument, ...] = ()
    planned: tuple[PlannedDocument, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
    failed: tuple[SkippedFile, ...] = ()
    seconds: float = 0.0
    embedding_tokens: int = 0
    billed_tokens: int = 0
    price: float | None = 0.0
    editions: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """Compute the cost of the embeddings in USD; None if the price is unknown."""
        return None if self.price is None else self.billed_tokens * self.price / 1e6


class SourceKind(StrEnum):
    """Kinds of sources that can be registered."""

    FOLDER = "folder"
    PAGE = "page"
    SITEMAP = "sitemap"
    GIT = "git"
    WEBDAV = "webdav"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source as registered.

    Attributes:
        name: unique in its collection: letters, digits, `.`, `_`, `-`.
        kind: what it is.
        location: absolute path of a folder, or an https address without any credential.
        every: seconds between syncs if nothing reports changes.
        branch: of a git repository; empty for the default branch.
        below: folder inside a git repository; empty for all of it.
        patterns: names of the files to ingest; empty for every document.
        allow: the groups that may read its documents; empty if not restricted.
    """

    name: str
    kind: SourceKind
    location: str
    every: float
    branch: str = ""
    below: str = ""
    patterns: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a source's last sync; times are ISO 8601 UTC, empty if there was none.

    Attributes:
        last_synced: when the store last matched the source.
        last_tried: when a sync last ended, successfully or not.
        last_error: why the last one failed, empty if it succeeded.
        documents: number of its documents at the last successful sync.
        skipped: number of its files that could not be read then: unreadable, or not accessible to this program.
    """

    last_synced: str = ""
    last_tried: str = ""
    last_error: str = ""
    documents: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source with its state."""

    spec: SourceSpec
    state: SourceState

    def is_stale(self, now: datetime | None = None) -> bool:
        """Return whether the documents may differ from the source: never synced, last try failed, or overdue.

        A sync in the future, by a clock that was wrong, proves nothing.
        """
        if not self.state.last_synced or self.state.last_error:
            return True
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(self.state.last_synced)
        return not 0 <= age.total_seconds() < self.spec.every


@dataclass(frozen=True, slots=True)
class Visited:
    """The last response of an address, with what its server uses to detect changes.

    Attributes:
        sha256: of the bytes.
        size: bytes.
        media_type, name: as the fetcher found them.
        etag, last_modified: validators, as the server sent them; empty if it sent none.
        missed: whether the address returned nothing (404, 410) last time, although it is still listed.
    """

    sha256: str
    size: int
    media_type: str
    name: str
    etag: str = ""
    last_modified: str = ""
    missed: bool = False


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The result of one sync of one source.

    Attributes:
        ingest: the result for what the source contains.
        removed: documents that no longer exist in the source.
        kept: documents that no longer exist there either, but were kept; `why_kept` says why.
        unread: addresses that could not be fetched this time, also reported as skipped; their documents stay unchanged.
    """

    ingest: IngestReport
    removed: tuple[DocumentRecord, ...] = ()
    kept: tuple[DocumentRecord, ...] = ()
    why_kept: str = ""
    unread: tuple[str, ...] = ()

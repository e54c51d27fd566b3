"""What an ingest receives, the events on its way and the report at its end; and the sources that are kept in sync."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from knowledge_mcp.model.collection import DocumentRecord


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Tell which file was left out and why.

    Attributes:
        source: the file, as the user gave it.
        reason: an `UnreadableReason` value or an error code.
        message, suggestion: for people.
        facts: what was measured of the file.
    """

    source: str
    reason: str
    message: str
    suggestion: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Count the files of a folder that were left alone because they are no documents, or none that were asked for.

    Attributes:
        what: what they are, e.g. `source code`, `pictures`, `hidden files`.
        count: how many.
        examples: the first few, as paths.
        advice: what to do to ingest them all the same.
    """

    what: str
    count: int
    examples: tuple[str, ...] = ()
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Inspection:
    """Tell what opening a file showed, before anything is paid for: its pages, None where the format has none."""

    pages: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found wrong in a store: what, where, whether it was repaired, what to do."""

    message: str
    document_id: str | None = None
    repaired: bool = False
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Choose how an ingest treats what it meets.

    Attributes:
        force: read and embed again even where bytes and pipeline are unchanged.
        dry_run: report what would be done; embeds and writes nothing.
        stop_on_error: abort at the first unreadable file instead of skipping it.
        ids_are_settled: every item carries the id that is its own and no other's: only the records of these ids are
            looked at, however many others there are.
        earlier: where ids are settled, records of the same sources under other ids; the new documents replace them.
        files_at_once: most documents that one slice of passages to be embedded may come from; None for no limit.
        vanished: sources that are gone: a new file with the bytes of one has been moved, and keeps its document.
        pruned: of these, the sources whose documents are removed afterwards: they count as no editions any more.
        held: sources that are there, but no part of this run: no file with their bytes takes their documents over.
        max_cost: USD that may be spent on embeddings; the run stops before it would spend more. None for no limit.
    """

    force: bool = False
    dry_run: bool = False
    stop_on_error: bool = False
    ids_are_settled: bool = False
    earlier: tuple[DocumentRecord, ...] = ()
    files_at_once: int | None = None
    max_cost: float | None = None
    vanished: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


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
    """Tell the caller how far an ingest is; `done` of `total` pages or chunks, by kind."""

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
    """What became of one file: its record and how many chunks were embedded now or reused."""

    record: DocumentRecord
    embedded: int
    reused: int
    unchanged: bool


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Sum up an ingest.

    Attributes:
        documents, planned, skipped, failed: what became of each file; `planned` is filled by a dry run only.
        seconds: from beginning to end.
        embedding_tokens: tokens of the passages embedded in this run.
        billed_tokens: tokens that the embedding service counted, 0 where none is asked.
        price: USD per million tokens, 0.0 where nothing is paid, None where it is not known.
        editions: what documents were taken for, one sentence each: an edition, or one whose file moved and was edited.
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
        """Work out what the embeddings cost in USD; None where the price is not known."""
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
    """Describe a source as it was registered.

    Attributes:
        name: unique in its collection: letters, digits, `.`, `_`, `-`.
        kind: what it is.
        location: absolute path of a folder, or an https address without any credential.
        every: seconds after which it is synced again where nothing reports changes.
        branch: of a git repository; empty for its default branch.
        below: folder inside a git repository; empty for all of it.
        patterns: names of the files that are taken; empty for every document.
        allow: groups that alone may read its documents; empty where that is not said.
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
    """Tell how the last sync of a source went; times are ISO 8601 UTC, empty where there was none.

    Attributes:
        last_synced: when store and source were last made equal.
        last_tried: when a sync last ended, well or not.
        last_error: why the last one did not go well, empty where it did.
        documents: how many documents came from it at the last good sync.
        skipped: how many of its files could not be taken then: nobody can read them, or this program may not.
    """

    last_synced: str = ""
    last_tried: str = ""
    last_error: str = ""
    documents: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """Join what a source is with how it stands."""

    spec: SourceSpec
    state: SourceState

    def is_stale(self, now: datetime | None = None) -> bool:
        """Tell whether the documents may differ from the source: never synced, the last try failed, or overdue."""
        if not self.state.last_synced or self.state.last_error:
            return True
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(self.state.last_synced)
        return age.total_seconds() >= self.spec.every


@dataclass(frozen=True, slots=True)
class Visited:
    """Remember what an address gave, and by what its server tells that it gives the same.

    Attributes:
        sha256: of the bytes.
        size: bytes.
        media_type, name: as the fetcher found them.
        etag, last_modified: validators, as the server sent them; empty where it sent none.
        missed: whether the address gave nothing (404, 410) when it was asked last, though its list still names it.
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
    """Sum up one sync of one source.

    Attributes:
        ingest: what became of what is there.
        removed: documents whose place is gone from the source.
        kept: documents whose place is gone too, kept all the same; `why_kept` says why.
        unread: places that could not be had this time, each reported as skipped too; their documents stay as they were.
    """

    ingest: IngestReport
    removed: tuple[DocumentRecord, ...] = ()
    kept: tuple[DocumentRecord, ...] = ()
    why_kept: str = ""
    unread: tuple[str, ...] = ()

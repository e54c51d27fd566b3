"""What an ingest is told, tells on its way, and reports at its end."""

from __future__ import annotations

from dataclasses import dataclass
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
        advice: what to do where they are wanted all the same.
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
        editions: of what documents were taken as an edition, one sentence each.
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

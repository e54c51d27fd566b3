"""What a store keeps next to chunks: collections, their embedding space, and the record of each document."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Literal
from urllib.parse import unquote, urlsplit

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.document import Anchor, Hidden, RequirementItem, Span
from knowledge_mcp.model.lines import LineRun

CLAIMED = "claimed"
"""Metadata key of a record: facts that only the file's front matter or properties state, separated by commas."""
GIVEN = "given"
"""Metadata key of a record: facts that the caller gave explicitly, separated by commas; later versions keep them."""
STATED = "stated"
"""Metadata key of a record: the names of the metadata that its file states about itself, separated by commas."""
FILE_NAME_KEYS = ("filename", "source_file")
"""Metadata keys of a record under which the caller may give the file's name."""
DESIGNATION_KEYS = ("designation", "identifier", "number", "document_number", "standard", "reference", "docname")
"""Metadata keys of a document that may hold its designation."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Identify the embedding space of vectors; vectors of different spaces are never compared.

    Attributes:
        provider: `local`, `openai` or `azure`.
        model: model name as its provider spells it.
        dimensions: components per vector.
        variant: numeric variant of the weights, e.g. `int8`, `fp32`; empty for remote providers.
        pooling: `mean`, `cls`, `last`, or empty if the provider does it.
        query_prefix, document_prefix: text put before the text that is embedded.
        weights: SHA-256 hex of the weights file, empty for remote providers.
    """

    provider: str
    model: str
    dimensions: int
    variant: str = ""
    pooling: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    weights: str = ""

    @property
    def fingerprint(self) -> str:
        """Hash all attributes: 64 hex digits, equal if and only if the spaces are equal."""
        return _fingerprint(self)

    @property
    def label(self) -> str:
        """Return a name for people, e.g. `local/all-MiniLM-L6-v2 (int8, 384)`."""
        inner = f"{self.variant}, {self.dimensions}" if self.variant else str(self.dimensions)
        return f"{self.provider}/{self.model} ({inner})"

    def settings_unlike(self, other: EmbeddingSpace) -> str:
        """Return the settings that select this space instead of another one, e.g. `EMBEDDING_VARIANT=fp32`.

        Empty if no setting does: the spaces are equal, or files of one model differ.
        """
        names = ("provider", "model", "variant" if self.variant else "dimensions")  # weights here have their dimensions
        values = [(each, getattr(self, each)) for each in names]
        return " ".join(f"EMBEDDING_{name.upper()}={value}" for name, value in values if value != getattr(other, name))


@functools.lru_cache(maxsize=64)
def _fingerprint(space: EmbeddingSpace) -> str:
    """Hash a space; cached, because every search needs the hash of the same few spaces."""
    return hashlib.sha256(json.dumps(asdict(space), sort_keys=True).encode()).hexdigest()


class DocumentStatus(StrEnum):
    """How much of a document is searchable."""

    READY = "ready"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What is known about one ingested document.

    Attributes:
        id, title, document_type: as on its chunks.
        source_path: the source's uri.
        sha256: of the source bytes. Together with `pipeline` it decides whether a new ingest has anything to do.
        pipeline: release of the program, a colon, and the fingerprint of reader, chunker and their settings.
        size: source bytes. pages: physical pages, 0 if the format has none.
        chunk_count, token_count: totals over its chunks.
        embedding_model: label of the embedding space.
        created_at, updated_at: ISO 8601 UTC, first and last ingest.
        status: `partial` if text is known to be lost; the warnings say which.
        metadata: flat pairs from the document (edition, author …).
        warnings: one sentence each.
    """

    id: str
    title: str
    document_type: str
    source_path: str
    sha256: str
    pipeline: str
    size: int
    pages: int
    chunk_count: int
    token_count: int
    embedding_model: str
    created_at: str
    updated_at: str
    media_type: str = ""
    status: DocumentStatus = DocumentStatus.READY
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def label(self, name: str) -> str:
        """Return one value of its metadata, empty if there is none."""
        return next((value for key, value in self.metadata if key == name), "")

    @property
    def file_name(self) -> str:
        """Return the name of the source file as given at ingest, otherwise the last part of its source."""
        names = [self.label(name) for name in FILE_NAME_KEYS]
        return next((name for name in names if name), "") or file_name_of(self.source_path)

    def claims(self, name: str) -> bool:
        """Return whether a fact (`title`, `document_id` …) is stated only by the file's own metadata."""
        return name in self.label(CLAIMED).split(", ")


def file_name_of(source: str) -> str:
    r"""Return the file name in a source, empty if it has none.

    Below "/" and in URLs, a backslash belongs to the name: it begins an escape such as `\xff`, or was in the name.
    """
    if "://" in source:
        return unquote(urlsplit(source).path).rpartition("/")[2]
    path = source if source.startswith("/") else source.replace("\\", "/")
    return path.rpartition("/")[2]


StoreName = Literal["sqlite", "postgres", "qdrant", "chromadb"]
"""Stores that settings and commands can name; each has an entry in `registry.STORES`."""
ProviderName = Literal["local", "openai", "azure"]
"""Embedders that settings and commands can name; each has an entry in `registry.EMBEDDERS`."""


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """Identify a store: its type (`sqlite`, `postgres`, `qdrant`, `chromadb`, `memory`), and its file or address."""

    backend: str
    location: str

    @property
    def computes_here(self) -> bool:
        """Return whether searches use the CPU of this process, so that more threads would slow each other down."""
        return self.backend in {"memory", "sqlite"}


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Count what one collection contains; `storage_bytes` is for the whole store."""

    documents: int
    chunks: int
    tokens: int
    storage_bytes: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """One collection.

    Attributes:
        name: its name.
        space: its embedding space, fixed at creation.
        created_at: ISO 8601 UTC.
        degraded: what this version cannot use of it and why, one sentence; empty if it can use everything.
        state: identifies the state of its documents and differs after each change; only `Collection.info` reads it. Two
            collections never share a state, at any time and under any names, unless both are empty.
        statistics: counts, if they were asked for.
    """

    name: str
    space: EmbeddingSpace
    created_at: str
    degraded: str = ""
    state: str = field(default="", compare=False)
    statistics: StoreStatistics | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EmbeddingUsage:
    """Count an embedder's use of its service: requests, billed tokens, and texts answered from the cache instead."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One section of an outline, in reading order.

    Attributes:
        level: depth from 1, never truncated.
        number: clause number as printed, None if unnumbered.
        title: heading text without the number.
        span: heading and all content, including subsections, in the canonical text.
        page: physical page of the heading, from 1; None if the format has no pages.
        informative: True for informative annexes and parts marked as informative.
        line: line of the heading in the source file, from 1; None if the format has no lines or they were not counted.
    """

    level: int
    number: str | None
    title: str
    span: Span
    page: int | None = None
    informative: bool = False
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PageCoverage:
    """How one physical page was read.

    Attributes:
        number: counted from 1.
        label: the printed page number.
        span: its text in the canonical text; empty if nothing was read.
        method: as `Page.method`.
        characters: non-blank characters of its text.
        tables, figures: tables and figure captions found on it.
        note: why it is empty, partial or uncertain, otherwise empty.
        runs: as `Page.runs`.
    """

    number: int
    label: str
    span: Span
    method: str
    characters: int
    tables: int = 0
    figures: int = 0
    note: str = ""
    runs: tuple[Span, ...] = ()

    @property
    def own_runs(self) -> tuple[Span, ...]:
        """Return the runs of its text: one, unless text of other pages lies between."""
        return self.runs or (self.span,)

    def holds(self, span: Span) -> bool:
        """Return whether some of its text lies in a span."""
        return any(run.overlaps(span) for run in self.own_runs)

    def text(self, whole: str) -> str:
        """Cut its text out of the document's text."""
        return "\n\n".join(run.of(whole) for run in self.own_runs)


@dataclass(frozen=True, slots=True)
class DocumentStructure:
    """Sections, pages and anchors of one document, and the hidden characters that were left out; each may be empty.

    `items` and `original` are as on its `Document` and may be empty too. So may `lines`, if the format has none or they
    were not stored.
    """

    sections: tuple[OutlineEntry, ...] = ()
    pages: tuple[PageCoverage, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    hidden: Hidden = ()
    items: tuple[RequirementItem, ...] = ()
    original: str = ""
    lines: tuple[LineRun, ...] = ()

    @property
    def original_bytes(self) -> bytes:
        """Return the file that the document was read from; empty if it is not kept."""
        return zlib.decompress(base64.b64decode(self.original)) if self.original else b""


NO_STRUCTURE = DocumentStructure()
"""The structure of a document without sections and pages."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentParts:
    """What is kept of one version of a document next to its record and chunks; each part is decoded on request.

    Attributes:
        read_text, read_structure: check and decode a part for `text` and `structure`; they may cache the result.
    """

    read_text: Callable[[], str | None]
    read_structure: Callable[[], DocumentStructure | None]

    @property
    def text(self) -> str | None:
        """The canonical text; None if it is damaged and the caller collects damage (`noticing`).

        Raises:
            DamagedError: it is not the text that was stored, and the caller does not collect damage.
        """
        return self.read_text()

    @property
    def structure(self) -> DocumentStructure | None:
        """Sections and pages as published, empty if there are none; errors and None as for the text."""
        return self.read_structure()


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """Everything that a store keeps of one document.

    Attributes:
        record: its record; `chunk_count` is the number of chunks.
        text: the canonical text.
        chunks: every chunk with its vector, each id once.
        structure: sections and pages.
    """

    record: DocumentRecord
    text: str
    chunks: Sequence[EmbeddedChunk]
    structure: DocumentStructure = NO_STRUCTURE

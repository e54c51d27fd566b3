"""What a store keeps beside chunks: collections, their embedding space, and the record of each document."""

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
"""Name in a record's metadata: which facts only the file's own front matter or properties say, by comma."""
GIVEN = "given"
"""Name in a record's metadata: which of it whoever ingests has said by name, by comma; later versions keep that."""
FILE_NAME_KEYS = ("filename", "source_file")
"""Names in a record's metadata under which whoever ingests says what the file is called."""
DESIGNATION_KEYS = ("designation", "identifier", "number", "document_number", "standard", "reference", "docname")
"""Names in a document's metadata under which it may say what it is referred to by."""


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """Identify the space that vectors live in; vectors of two spaces are never compared.

    Attributes:
        provider: `local`, `openai` or `azure`.
        model: model name as its provider spells it.
        dimensions: components per vector.
        variant: numeric variant of the weights, e.g. `int8`, `fp32`; empty for remote providers.
        pooling: `mean`, `cls`, `last` or empty where the provider does it.
        query_prefix, document_prefix: text put before what is embedded.
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
        """Hash all attributes: 64 hex digits, equal exactly when the spaces are."""
        return _fingerprint(self)

    @property
    def label(self) -> str:
        """Name the space for people, e.g. `local/all-MiniLM-L6-v2 (int8, 384)`."""
        inner = f"{self.variant}, {self.dimensions}" if self.variant else str(self.dimensions)
        return f"{self.provider}/{self.model} ({inner})"


@functools.lru_cache(maxsize=64)
def _fingerprint(space: EmbeddingSpace) -> str:
    """Hash a space; every search asks for those of the same few."""
    return hashlib.sha256(json.dumps(asdict(space), sort_keys=True).encode()).hexdigest()


class DocumentStatus(StrEnum):
    """How much of a document is searchable."""

    READY = "ready"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """Keep what is known of one ingested document.

    Attributes:
        id, title, document_type: as on its chunks.
        source_path: the source's uri.
        sha256: of the source bytes. With `pipeline` it decides whether a re-ingest has anything to do.
        pipeline: release of the program, a colon, and the fingerprint of reader, chunker and their settings.
        size: source bytes. pages: physical pages, 0 where the format has none.
        chunk_count, token_count: totals over its chunks.
        embedding_model: label of the embedding space.
        created_at, updated_at: ISO 8601 UTC, first and last ingest.
        status: `partial` when text is known to be lost; warnings say which.
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
        """Return one value of its metadata, empty where it has none of that name."""
        return next((value for key, value in self.metadata if key == name), "")

    @property
    def file_name(self) -> str:
        """Name of the file that it was read from, as it was given when it was ingested, else the end of its source."""
        names = [self.label(name) for name in FILE_NAME_KEYS]
        return next((name for name in names if name), "") or file_name_of(self.source_path)

    def claims(self, name: str) -> bool:
        """Tell whether a fact is what only the file says of itself: `title`, `document_type`, `document_id` …."""
        return name in self.label(CLAIMED).split(", ")


def file_name_of(source: str) -> str:
    """Name the file that a source names; empty where it names none."""
    path = urlsplit(source).path if "://" in source else source
    return unquote(path).replace("\\", "/").rpartition("/")[2]


StoreName = Literal["sqlite", "postgres", "qdrant", "chromadb"]
"""Stores that settings and commands can name; each has a line in `registry.STORES`."""
ProviderName = Literal["local", "openai", "azure"]
"""Embedders that settings and commands can name; each has a line in `registry.EMBEDDERS`."""


@dataclass(frozen=True, slots=True)
class StoreIdentity:
    """Name a store: its kind (`sqlite`, `postgres`, `qdrant`, `chromadb`, `memory`), and its file or address."""

    backend: str
    location: str

    @property
    def computes_here(self) -> bool:
        """Tell whether searches compute in this process: more threads at once are then only in each other's way."""
        return self.backend in {"memory", "sqlite"}


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Count what one collection holds; `storage_bytes` is of the whole store."""

    documents: int
    chunks: int
    tokens: int
    storage_bytes: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """Describe one collection.

    Attributes:
        name: under which it is found.
        space: that it belongs to from creation on.
        created_at: ISO 8601 UTC.
        degraded: what of it this version cannot use and why, one sentence; empty where it can use everything.
        state: of its documents, another name after each change of them; only `Collection.info` looks at it. Of two
            collections, at any time and whatever they are called, only those without documents may share one.
        statistics: what it holds, where that was asked for.
    """

    name: str
    space: EmbeddingSpace
    created_at: str
    degraded: str = ""
    state: str = field(default="", compare=False)
    statistics: StoreStatistics | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class EmbeddingUsage:
    """Count what an embedder asked of its service: requests, tokens billed, texts answered from the cache instead."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Describe one section, in reading order.

    Attributes:
        level: depth from 1, never truncated.
        number: clause number as printed, None if unnumbered.
        title: heading text without the number.
        span: heading and all content, subsections included, in the canonical text.
        page: physical page from 1 that the heading stands on, None where the format has none.
        informative: True for informative annexes and parts marked so.
        line: line of the heading in the source file from 1, None where the format has none or nobody counted it.
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
    """Tell what was got from one physical page.

    Attributes:
        number: counted from 1.
        label: as printed.
        span: its text in the canonical text; empty span where nothing was read.
        method: as `Page.method`.
        characters: characters of its text that are not blank.
        tables, figures: tables and figure captions found on it.
        note: why it is empty, partial or uncertain, else empty.
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
        """Give the runs of its text, one where no text of other pages stands between."""
        return self.runs or (self.span,)

    def holds(self, span: Span) -> bool:
        """Tell whether some of its text stands in a span."""
        return any(run.overlaps(span) for run in self.own_runs)

    def text(self, whole: str) -> str:
        """Cut its text out of that of its document."""
        return "\n\n".join(run.of(whole) for run in self.own_runs)


@dataclass(frozen=True, slots=True)
class DocumentStructure:
    """Hold the sections, pages and anchors of one document, and the hidden characters left out; each may be empty.

    So may `items` and `original`, which are as on its `Document`, and `lines`, where its format has none or it was
    stored without.
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
        """The file that the document was read from; none where it is not kept."""
        return zlib.decompress(base64.b64decode(self.original)) if self.original else b""


NO_STRUCTURE = DocumentStructure()
"""What a document without sections and pages has."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentParts:
    """Hold what is kept of one version of a document beside its record and chunks; each part is decoded when asked for.

    Attributes:
        read_text, read_structure: check and decode a part as `text` and `structure` tell it; asked twice, they may
            remember.
    """

    read_text: Callable[[], str | None]
    read_structure: Callable[[], DocumentStructure | None]

    @property
    def text(self) -> str | None:
        """The canonical text; None where it is damaged and somebody is noticing.

        Raises:
            DamagedError: it is not the one that was stored, and nobody is noticing.
        """
        return self.read_text()

    @property
    def structure(self) -> DocumentStructure | None:
        """Sections and pages as they were published, empty where none were; errors and None as of the text."""
        return self.read_structure()


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """Hold all that a store keeps of one document.

    Attributes:
        record: with `chunk_count` chunks.
        text: the canonical text.
        chunks: every chunk with its vector, each id once.
        structure: sections and pages.
    """

    record: DocumentRecord
    text: str
    chunks: Sequence[EmbeddedChunk]
    structure: DocumentStructure = NO_STRUCTURE

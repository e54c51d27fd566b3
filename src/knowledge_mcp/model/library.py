"""A library: named collections to which single documents are added, and the results."""

from __future__ import annotations

from dataclasses import dataclass, field

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import KnowledgeError

COLLECTION_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
"""Allowed collection names, as a regular expression for the whole name."""
DEFAULT_COLLECTION = "default"
"""The collection of documents that name none; it always exists, and is empty at first."""


@dataclass(frozen=True, slots=True)
class Deposit:
    """Add one document: give exactly one of `text`, `content` and `url`.

    Attributes:
        collection: where it goes; 1..63 letters, digits, `.`, `_`, `-`, beginning with a letter or digit.
        filename: with extension; the name of the document, which identifies it within the collection next time. May be
            empty: a text is then identified by its content, a URL by itself.
        text: Markdown or plain text. A line `<!-- page 3 -->` means that the following text is on page 3.
        content: the bytes of a file of any readable kind.
        url: an https address to fetch.
        media_type: of `content`; None to use the file name.
        metadata: flat pairs to keep on the document's record; `source` is where it came from, `title` its title.
        force: read and embed again even if nothing changed.
    """

    collection: str = DEFAULT_COLLECTION
    filename: str = ""
    text: str | None = None
    content: bytes | None = None
    url: str | None = None
    media_type: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    force: bool = False


@dataclass(frozen=True, slots=True)
class Deposited:
    """The result of a deposit.

    Attributes:
        document_id: 16 hex digits, unique over all collections; the same for the next version of the document.
        collection, title, source: as stored.
        chunks: passages that can be found.
        pages: physical pages, slides; 0 if the format has none.
        unchanged: exactly this document was already stored; nothing was done.
        replaced: it replaced an earlier version with other content.
        embedded, reused: passages embedded now, and passages whose vectors were known.
        warnings: what was lost or is doubtful, one sentence each.
    """

    document_id: str
    collection: str
    title: str
    source: str
    chunks: int
    pages: int = 0
    unchanged: bool = False
    replaced: bool = False
    embedded: int = 0
    reused: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """One collection: documents, passages, tokens, the label of its embedding space; `created_at` is ISO 8601.

    `read_only` means that another part of the product fills it: nothing can be added to or deleted from it here.
    """

    name: str
    documents: int
    chunks: int
    tokens: int
    embedding_model: str
    created_at: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class LibraryDocument:
    """One whole document: its record, its canonical text, its passages by index, and its collection.

    `structure` has its sections and pages, if they were asked for.
    """

    collection: str
    record: DocumentRecord
    text: str
    chunks: tuple[Chunk, ...]
    structure: DocumentStructure = NO_STRUCTURE


@dataclass(frozen=True, slots=True)
class Fetched:
    """The content of an address.

    Attributes:
        url: the final address, after redirects.
        content: the bytes, decoded from any content encoding.
        media_type: lower case, without parameters; derived from the file name if the server states none.
        filename: as the server states it, otherwise from the address; with an extension if one is known.
    """

    url: str
    content: bytes
    media_type: str
    filename: str


@dataclass(frozen=True, slots=True)
class Converted:
    """A document as Markdown.

    Attributes:
        text: Markdown; `<!-- page 3 -->` precedes the text of page (or slide) 3.
        title, filename, media_type: of the document.
        pages: physical pages or slides, 0 if the format has none.
        metadata: flat pairs from the document.
        warnings: what was lost or is doubtful, one sentence each.
    """

    text: str
    title: str
    filename: str
    media_type: str
    pages: int = 0
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestJob:
    """Progress of an ingestion that runs in the background.

    Attributes:
        id: 16 hex digits.
        state: `queued`, `running`, `done`, `failed` or `cancelled`.
        done: percent done, 0 to 100.
        message: what it is doing, or why it failed.
        created_at, updated_at: ISO 8601 UTC.
        collection, source: as requested.
        result: its result, once it is done.
        kind: `ingest`; `trace`, `check` or `conflicts` if documents are compared with each other.
        documents: their ids, empty for all of the collection.
        failure: why it failed, None if it did not.
    """

    id: str
    state: str
    done: float
    message: str
    created_at: str
    updated_at: str
    collection: str = ""
    source: str = ""
    result: Deposited | None = None
    failure: KnowledgeError | None = field(default=None, compare=False)
    kind: str = "ingest"
    documents: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """Return the `ErrorCode` of a failed job, empty for others."""
        return "" if self.failure is None else self.failure.code.value

    @property
    def suggestion(self) -> str:
        """Return what to do about the failure, empty if there is none."""
        return "" if self.failure is None else self.failure.suggestion

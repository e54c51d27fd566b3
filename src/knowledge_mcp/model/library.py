"""A library: named collections that single documents are brought to, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure
from knowledge_mcp.model.errors import KnowledgeError

COLLECTION_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
"""What a collection may be called, as a regular expression of the whole name."""
DEFAULT_COLLECTION = "default"
"""Where a document goes that names no collection; it is always there, empty at first."""


@dataclass(frozen=True, slots=True)
class Deposit:
    """Bring one document: exactly one of `text`, `content` and `url` is given.

    Attributes:
        collection: where it goes; 1..63 letters, digits, `.`, `_`, `-`, beginning with a letter or digit.
        filename: with extension; what the document is called, and with the collection what it is known by next time.
            May be empty: a text is then known by its content, a url by itself.
        text: Markdown or plain text. A line `<!-- page 3 -->` says that what follows stands on page 3.
        content: the bytes of a file of any kind that can be read.
        url: an https address to fetch.
        media_type: of `content`; None for what the file name says.
        metadata: flat pairs to be kept on the document's record; `source` says where it came from, `title` what it is
            called.
        force: read and embed again even where nothing changed.
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
    """Tell what became of a deposit.

    Attributes:
        document_id: 16 hex digits, unique over all collections; the same for the next version of the document.
        collection, title, source: as kept.
        chunks: passages that can be found.
        pages: physical pages, slides; 0 where the format has none.
        unchanged: the very same document was there already, and nothing was done.
        replaced: an earlier version of other content was there, and is gone.
        embedded, reused: passages embedded now, and those whose vectors were known.
        warnings: what was lost or doubtful, one sentence each.
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
    """Describe one collection: documents, passages, tokens, the label of its embedding space; `created_at` ISO 8601.

    `read_only` tells that another part of the product fills it: nothing can be added to it or deleted from it here.
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
    """Hold one document whole: its record, its canonical text, its passages by index, and where it is kept.

    `structure` has its sections and pages, where they were asked for together with it.
    """

    collection: str
    record: DocumentRecord
    text: str
    chunks: tuple[Chunk, ...]
    structure: DocumentStructure = NO_STRUCTURE


@dataclass(frozen=True, slots=True)
class Fetched:
    """Hold what an address gave.

    Attributes:
        url: where it came from in the end, after redirects.
        content: the bytes, decoded from any content encoding.
        media_type: lower case, without parameters; by the file name where the server said nothing.
        filename: by the server's word, else by the address; with an extension where one is known.
    """

    url: str
    content: bytes
    media_type: str
    filename: str


@dataclass(frozen=True, slots=True)
class Converted:
    """Hold a document as Markdown.

    Attributes:
        text: Markdown; `<!-- page 3 -->` before what stands on page (or slide) 3.
        title, filename, media_type: of the document.
        pages: physical pages or slides, 0 where the format has none.
        metadata: flat pairs from the document.
        warnings: what was lost or doubtful, one sentence each.
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
    """Tell how far an ingestion is that nobody waits for.

    Attributes:
        id: 16 hex digits.
        state: `queued`, `running`, `done`, `failed` or `cancelled`.
        done: of 100.
        message: what it is at, or why it failed.
        created_at, updated_at: ISO 8601 UTC.
        collection, source: what was asked for.
        result: what came of it, once it is done.
        kind: `ingest`; `trace`, `check` or `conflicts` where documents are compared with each other.
        documents: their ids, none where they are all of the collection.
        failure: why it failed, None where it did not.
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
        """Return the `ErrorCode` of a failed one, empty for others."""
        return "" if self.failure is None else self.failure.code.value

    @property
    def suggestion(self) -> str:
        """Return what to do about the failure, empty where there is none."""
        return "" if self.failure is None else self.failure.suggestion

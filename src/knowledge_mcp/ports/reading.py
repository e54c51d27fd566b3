"""PORTS of reading: from a place to documents and chunks, and places that are the truth of their documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Classification, Document
from knowledge_mcp.model.extraction import OcrPage
from knowledge_mcp.model.ingest import Inspection, LeftOut, SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports.embedding import TokenMeasure


class Source(Protocol):
    """Find the items to ingest."""

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield what can be opened, in a stable order, and what cannot with its reason; never raises for one item."""
        ...


class Reader(Protocol):
    """Turn the bytes of one source item into a `Document`."""

    @property
    def version(self) -> str:
        """Name the reader and its version; part of a record's pipeline fingerprint."""
        ...

    def check(self, item: SourceItem) -> Inspection:
        """Open the item cheaply and make sure that it can be read.

        Raises:
            UnreadableDocumentError: corrupted, encrypted, password-protected, empty, mislabelled …
        """
        ...

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole item; `progress(pages done, pages in all)` is called now and then.

        Raises:
            UnreadableDocumentError: as in `check`, or when text cannot be got out.
        """
        ...

    def close(self) -> None:
        """Free child processes and whatever else reading holds."""
        ...


class OcrEngine(Protocol):
    """Read the words of a page image; several pages at once."""

    @property
    def version(self) -> str:
        """Name the engine where it can run, empty where it cannot; part of the version of the readers that use it."""
        ...

    @property
    def workers(self) -> int:
        """Tell how many pages it reads at the same time."""
        ...

    def ready(self, language: str = "eng") -> None:
        """Make sure that pages of a language, or of several joined by `+`, can be read.

        Raises:
            ConfigError: the engine is not installed; the suggestion has the line that installs it.
            InvalidInputError: the language's data is not installed.
        """
        ...

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        """Recognise one PNG-encoded page image."""
        ...

    def close(self) -> None:
        """Free child processes; later calls are errors."""
        ...


class Classifier(Protocol):
    """Tell what kind of document it is where the document does not say."""

    def __call__(self, document: Document) -> Classification:
        """Classify by name, title and opening text."""
        ...


class Chunker(Protocol):
    """Cut a document into chunks; every chunk is a span of the canonical text, and no text is lost."""

    @property
    def version(self) -> str:
        """Name the chunker, its version and its settings; part of a record's pipeline fingerprint."""
        ...

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Cut, classify and describe every passage, in order. `document.id` is the final document id."""
        ...


class SyncedSource(Source, Protocol):
    """Look at a place once, and tell what is there now; an instance is used for one sync."""

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        """Find out what is there now; asked once, before everything else. Tells whether there is anything at all.

        Args:
            records: of all documents, whichever source they came from.

        Raises:
            KnowledgeError: it cannot be found out, so that nothing may be concluded from what is not seen.
        """
        ...

    def owns(self, record: DocumentRecord) -> bool:
        """Tell whether a document came from here, whether its place is still there or not."""
        ...

    def is_gone(self, record: DocumentRecord) -> bool:
        """Tell whether the place of a document that came from here is there no more; False where that is not sure."""
        ...

    @property
    def only_names(self) -> bool:
        """Tell whether it names documents that lie elsewhere: another source may still hold what it names no more."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """Name what is there but could not be read this time, skipped too; known once `items` is at its end."""
        ...

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Count what is there and left alone, because it is no document; known once `items` is at its end."""
        ...

    def close(self) -> None:
        """Free what the sync held; what is remembered for the next one is kept."""
        ...

"""Ports for reading: from a location to documents and chunks, and sources that are kept in sync."""

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
        """Yield readable items and skipped files with reasons, in a stable order; one item never raises."""
        ...


class Reader(Protocol):
    """Turn the bytes of one source item into a `Document`."""

    @property
    def version(self) -> str:
        """Return the reader's name and version; part of a record's pipeline fingerprint."""
        ...

    def check(self, item: SourceItem) -> Inspection:
        """Open the item and check cheaply whether it can be read.

        Raises:
            UnreadableDocumentError: corrupted, encrypted, password-protected, empty, mislabelled …
        """
        ...

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the whole item; `progress(pages done, total pages)` is called from time to time.

        Raises:
            UnreadableDocumentError: as in `check`, or if the text cannot be extracted.
        """
        ...

    def close(self) -> None:
        """Free child processes and other resources."""
        ...


class OcrEngine(Protocol):
    """Read the words of page images; several pages at a time."""

    @property
    def version(self) -> str:
        """Return the engine's name and version, empty if it cannot run; part of the version of readers that use it."""
        ...

    @property
    def workers(self) -> int:
        """Return how many pages it reads at the same time."""
        ...

    def ready(self, language: str = "eng") -> None:
        """Check that pages of a language, or of several joined by `+`, can be read.

        Raises:
            ConfigError: the engine is not installed; the suggestion contains the command that installs it.
            InvalidInputError: the language's data is not installed.
        """
        ...

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        """Recognise one PNG-encoded page image."""
        ...

    def close(self) -> None:
        """Free child processes; do not use it afterwards."""
        ...


class Classifier(Protocol):
    """Determine the type of a document that does not state it."""

    def __call__(self, document: Document) -> Classification:
        """Classify by name, title and opening text."""
        ...


class Chunker(Protocol):
    """Split a document into chunks; every chunk is a span of the canonical text, and no text is lost."""

    @property
    def version(self) -> str:
        """Return the chunker's name, version and settings; part of a record's pipeline fingerprint."""
        ...

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Split, classify and describe every passage, in order. `document.id` is the final document id."""
        ...


class SyncedSource(Source, Protocol):
    """Look at a source once and report what it contains now; an instance is used for one sync."""

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        """List the current content; called once, before everything else. Return whether there is anything at all.

        Args:
            records: those of all documents, from any source.

        Raises:
            KnowledgeError: the content cannot be listed, so missing documents must not be considered deleted.
        """
        ...

    def owns(self, record: DocumentRecord) -> bool:
        """Return whether a document came from this source, even if it no longer exists there."""
        ...

    def is_gone(self, record: DocumentRecord) -> bool:
        """Return whether a document of this source no longer exists there; False if uncertain."""
        ...

    @property
    def only_names(self) -> bool:
        """Return whether it only links to documents elsewhere, so that another source may still have those it drops."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """List what exists but could not be read this time; it is also skipped; complete once `items` is exhausted."""
        ...

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Count files that are ignored because they are not documents; complete once `items` is exhausted."""
        ...

    def close(self) -> None:
        """Free the resources of the sync; what is remembered for the next one is kept."""
        ...

"""Ports for a library: single documents added to named collections, and the fetching of addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Box
from knowledge_mcp.model.library import CollectionSummary, Deposit, Deposited, Fetched, IngestJob, LibraryDocument
from knowledge_mcp.model.query import HealthReport, SearchAnswer, SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.model.source import SourceItem


class PageDrawer(Protocol):
    """Draw pages of files, in another process."""

    def draw(self, item: SourceItem, page: int, boxes: Sequence[Box], words: str, dpi: int) -> tuple[int, int, bytes]:
        """Return the width and height in pixels and the PNG of one page, counted from 1, with a passage marked on it.

        Args:
            item: the file.
            page: which page.
            boxes: where the passage is; boxes of other pages are ignored.
            words: highlighted where they are found in the boxes; a box without any is highlighted as a whole.
            dpi: dots per inch; reduced for sheets that would become too large.

        Raises:
            UnreadableDocumentError: the file cannot be opened, or has no such page.
        """
        ...


@runtime_checkable
class MarkedPages(Protocol):
    """Draw pages of stored documents whose files are available."""

    def marked_page(self, document_id: str, page: int, boxes: Sequence[Box], words: str) -> bytes:
        """Return the PNG of a page, counted from 1, with a passage marked as by `PageDrawer`.

        Raises:
            NotFoundError: there is no such document, or its file is gone, was never kept, or must not be read.
            InvalidInputError: it has no pages that can be drawn, or has changed since.
            UnreadableDocumentError: the file cannot be opened, or has no such page.
        """
        ...


class Fetcher(Protocol):
    """Fetch an address, only from public servers."""

    def fetch(self, url: str, *, cancelled: Callable[[], bool] | None = None) -> Fetched:
        """Fetch one https address, following redirects.

        Raises:
            InvalidInputError: the address is not allowed (scheme, host, redirect), or its content is too large or of a
                kind that cannot be read.
            NotFoundError: the response is 404 or 410.
            AuthError: the response is 401 or 403.
            ConnectionFailedError, TimedOutError, RateLimitedError: it cannot be fetched now.
        """
        ...


class Library(Protocol):
    """Documents in named collections: what the RAG surface and its REST service call, local or remote."""

    def collections(self) -> list[CollectionSummary]:
        """List all collections by name; `default` is always included."""
        ...

    def drop_collection(self, collection: str) -> int:
        """Remove a collection and its documents; return the number of documents removed.

        Raises:
            NotFoundError: there is no such collection.
        """
        ...

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Add one document; it is completely searchable when this returns. `on_progress(done, total, message)`.

        Adding the same document again changes nothing; other content under the same name replaces the earlier version
        in one step. If anything interrupts it, the earlier version stays.

        Raises:
            InvalidInputError: the deposit, its collection's name, or the document is not acceptable.
            KnowledgeError: fetching, embedding or storing failed.
        """
        ...

    def submit(self, deposit: Deposit) -> IngestJob:
        """Add one document in the background: accepted once this returns, and completed even if this process ends."""
        ...

    def job(self, job_id: str) -> IngestJob:
        """Return the progress of an accepted job; NotFoundError a week after its end."""
        ...

    def cancel_job(self, job_id: str) -> IngestJob:
        """Cancel an accepted job; nothing of it is kept. Errors as for `job`."""
        ...

    def job_counts(self) -> Mapping[str, int]:
        """Count the known jobs by state."""
        ...

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Find the best passages of one collection.

        Raises:
            NotFoundError: there is no such collection; suggests similar names. `default` may be empty.
        """
        ...

    def records(self, collection: str) -> list[DocumentRecord]:
        """List a collection's documents by id; errors as for `search_in`."""
        ...

    def find(self, document_id: str) -> LibraryDocument:
        """Return a whole document from any collection; NotFoundError if there is none."""
        ...

    def record(self, document_id: str) -> DocumentRecord:
        """Return a document's record from any collection; NotFoundError if there is none."""
        ...

    def where(self, document_id: str) -> str:
        """Return the name of the collection that contains a document; NotFoundError if there is none."""
        ...

    def remove_document(self, document_id: str) -> int:
        """Remove a document; return the number of passages removed; NotFoundError if there is none."""
        ...

    def health(self) -> HealthReport:
        """Check every dependency now."""
        ...

    def warm_up(self) -> None:
        """Load what the first query needs."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


class SharedLibrary(Library, Protocol):
    """Serve several users, each of whom may see only some collections."""

    def search_all(self, query: SearchQuery) -> SearchAnswer:
        """Find the best passages of all listed collections; each hit names its collection.

        A collection that cannot be searched is named in `degraded`.

        Raises:
            KnowledgeError: none could be searched; the error of the first.
        """
        ...

    def jobs(self) -> list[IngestJob]:
        """List the known jobs, newest first."""
        ...

    def review(self, what: str, ids: Sequence[str], *, collection: str = "") -> IngestJob:
        """Compare documents as a job; the earlier job is reused if it has the same question and nothing changed since.

        Args:
            what: `trace`, `check` or `conflicts`.
            ids: document ids: the two to trace, the document and the standard, or those in which to look for conflicts.
            collection: for conflicts; without ids, all its documents are compared.

        Raises:
            NotFoundError: there is no such document, or this library has no reviews.
            RateLimitedError: too many jobs are waiting.
        """
        ...

    def reviewed(self, job_id: str) -> Any:
        """Return the result of a review as plain values, or raise the reason for its failure.

        Raises:
            NotFoundError: as for `job`, and if it has not ended.
            KnowledgeError: it failed, or was cancelled.
        """
        ...

    def decisions(self, what: str, one: str, other: str) -> Any:
        """Return people's decisions about two documents (`engine.tracing.decisions`), for a `trace` or a `check`."""
        ...

    def page_image(self, document_id: str, page: int, passage: int | None = None, *, dpi: int = 110) -> bytes:
        """Draw a page of a document's original file as PNG, optionally with one of its passages marked.

        Args:
            document_id: which document.
            page: physical page from 1.
            passage: index of the passage.
            dpi: dots per inch.

        Raises:
            NotFoundError: there is no such document, page or passage, or its original is gone or not kept.
            InvalidInputError: it has no pages that can be drawn, or the original has changed since.
            UnreadableDocumentError: the file cannot be drawn.
        """
        ...

    def seen_by(self, rights: Rights) -> SharedLibrary:
        """Return the library as one user sees it: what the user may not reach is answered as if it did not exist."""
        ...

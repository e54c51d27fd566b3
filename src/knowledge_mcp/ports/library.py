"""PORTS of a library: single documents brought to named collections, by whoever may; addresses fetched for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Box
from knowledge_mcp.model.library import CollectionSummary, Deposit, Deposited, Fetched, IngestJob, LibraryDocument
from knowledge_mcp.model.query import HealthReport, SearchAnswer, SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.model.source import SourceItem


class PageDrawer(Protocol):
    """Draw pages of files, apart from this process."""

    def draw(self, item: SourceItem, page: int, boxes: Sequence[Box], words: str, dpi: int) -> tuple[int, int, bytes]:
        """Return width, height in pixels and the PNG of one page, counted from 1, with a passage marked on it.

        Args:
            item: the file.
            page: which page.
            boxes: where the passage stands; those of other pages are left out.
            words: coloured inside the boxes as far as they are found there; a box without any is, as a whole.
            dpi: dots per inch, fewer for sheets that would be too large.

        Raises:
            UnreadableDocumentError: the file cannot be opened, or has no such page.
        """
        ...


@runtime_checkable
class MarkedPages(Protocol):
    """Draw pages of the documents that are kept, where their files are at hand."""

    def marked_page(self, document_id: str, page: int, boxes: Sequence[Box], words: str) -> bytes:
        """Return the PNG of a page, counted from 1, with a passage marked as `PageDrawer` does.

        Raises:
            NotFoundError: there is no such document, or its file is gone, was never kept, or may not be read.
            InvalidInputError: it has no pages that can be drawn, or has changed since.
            UnreadableDocumentError: the file cannot be opened, or has no such page.
        """
        ...


class Fetcher(Protocol):
    """Fetch what an address names, from public places only."""

    def fetch(self, url: str, *, cancelled: Callable[[], bool] | None = None) -> Fetched:
        """Fetch one https address, redirects followed.

        Raises:
            InvalidInputError: the address is not allowed (scheme, place, redirect), or what it gives is too large or
                of a kind that cannot be read.
            NotFoundError: it answers 404 or 410.
            AuthError: it answers 401 or 403.
            ConnectionFailedError, TimedOutError, RateLimitedError: it cannot be had now.
        """
        ...


class Library(Protocol):
    """Keep documents in named collections: what the RAG surface and its REST service call, local or remote alike."""

    def collections(self) -> list[CollectionSummary]:
        """List all collections by name; `default` is always among them."""
        ...

    def drop_collection(self, collection: str) -> int:
        """Remove a collection with all it holds; returns how many documents went.

        Raises:
            NotFoundError: there is none of that name.
        """
        ...

    def deposit(
        self,
        deposit: Deposit,
        *,
        on_progress: Callable[[float, float | None, str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Deposited:
        """Take one document in; it is searchable, whole, when this returns. `on_progress(done, of, in words)`.

        The same document again changes nothing; another content under the same name replaces the earlier one in one
        step. Whatever stops it on the way leaves what was there before.

        Raises:
            InvalidInputError: the deposit, its collection's name, or the document cannot be accepted.
            KnowledgeError: fetching, embedding, storing.
        """
        ...

    def submit(self, deposit: Deposit) -> IngestJob:
        """Take one document in later: accepted once this returns, and done even if this process ends."""
        ...

    def job(self, job_id: str) -> IngestJob:
        """Tell how far an accepted one is; NotFoundError a week after its end."""
        ...

    def cancel_job(self, job_id: str) -> IngestJob:
        """Tell an accepted one to stop; nothing of it is kept. Errors as `job`."""
        ...

    def job_counts(self) -> Mapping[str, int]:
        """Count the accepted ones that are remembered, by state."""
        ...

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Find the best passages of one collection.

        Raises:
            NotFoundError: there is no such collection; names those that look alike. `default` may be empty.
        """
        ...

    def records(self, collection: str, document_ids: Collection[str] | None = None) -> list[DocumentRecord]:
        """List a collection's documents by id: all, or those of some ids that are there; errors as `search_in`."""
        ...

    def find(self, document_id: str) -> LibraryDocument:
        """Return a document whole, whichever collection it is in; NotFoundError where there is none."""
        ...

    def record(self, document_id: str) -> DocumentRecord:
        """Return a document's record, whichever collection it is in; NotFoundError where there is none."""
        ...

    def where(self, document_id: str) -> str:
        """Name the collection that holds a document; NotFoundError where there is none."""
        ...

    def remove_document(self, document_id: str) -> int:
        """Remove a document; returns how many passages went; NotFoundError where there is none."""
        ...

    def health(self) -> HealthReport:
        """Check every dependency now."""
        ...

    def warm_up(self) -> None:
        """Load what the first question would have to load."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


class SharedLibrary(Library, Protocol):
    """Serve many, each of whom may see some collections only."""

    def search_all(self, query: SearchQuery) -> SearchAnswer:
        """Find the best passages of all collections that are listed; each hit names its own.

        One that cannot be searched is named in `degraded`.

        Raises:
            KnowledgeError: none could be searched; that of the first.
        """
        ...

    def jobs(self) -> list[IngestJob]:
        """List the accepted ones that are remembered, the newest first."""
        ...

    def review(self, what: str, ids: Sequence[str], *, collection: str = "") -> IngestJob:
        """Hold documents against each other as a job: the one of the same question, where nothing changed since.

        Args:
            what: `trace`, `check` or `conflicts`.
            ids: of documents: the two that are traced, the document and the standard, or those in which conflicts are
                looked for.
            collection: for conflicts, all of whose documents are meant where none is named.

        Raises:
            NotFoundError: there is no such document, or this library does nothing of the kind.
            RateLimitedError: too many wait already.
        """
        ...

    def reviewed(self, job_id: str) -> Any:
        """Return what came of a review as plain values, or raise why it failed.

        Raises:
            NotFoundError: as `job`, and where it has not ended.
            KnowledgeError: it failed, or was cancelled.
        """
        ...

    def decisions(self, what: str, one: str, other: str) -> Any:
        """Give what people decided of two documents (`engine.tracing.decisions`), of a `trace` or a `check`."""
        ...

    def page_image(self, document_id: str, page: int, passage: int | None = None, *, dpi: int = 110) -> bytes:
        """Draw a page of a document's original file as PNG, where it is wanted with one of its passages marked.

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
        """Return the library as one sees it: what one may not reach is answered like what is not there."""
        ...

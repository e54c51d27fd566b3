"""Ports for answering: fusion of legs, reranking, and the knowledge base that every surface calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.evidence import QuoteAnswer, QuoteQuery, ReadAnswer, ReadQuery, ReferenceAnswer, ReferenceQuery
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import (
    HealthReport,
    Hit,
    LegHit,
    LegScore,
    LookupAnswer,
    RequirementAnswer,
    RequirementQuery,
    SearchAnswer,
    SearchQuery,
    Stats,
    Wording,
)
from knowledge_mcp.ports.reading import Source


class Fusion(Protocol):
    """Merge the legs of one search into one ranking."""

    def __call__(
        self, dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, weight: float, limit: int
    ) -> list[tuple[str, float, LegScore | None, LegScore | None]]:
        """List (chunk id, score 0..1, dense rank, lexical rank), best first; `weight` is the dense leg's share."""
        ...


class Reranker(Protocol):
    """Improve the order of the best hits; thread-safe."""

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Reorder all hits and replace their scores by the reranker's, 0..1.

        Raises:
            TimedOutError: the deadline (`time.monotonic()` seconds) has passed.
            KnowledgeError: it failed for another reason.
        """
        ...

    def warm_up(self) -> None:
        """Load what the first use needs; costs no money."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


class Synonyms(Protocol):
    """Know which words documents may use instead of those of a question; thread-safe."""

    @property
    def size(self) -> int:
        """Return the number of entries."""
        ...

    @property
    def unsearched(self) -> tuple[str, ...]:
        """List the phrases that can never be found in a question."""
        ...

    def wordings(self, question: str) -> tuple[Wording, ...]:
        """List the phrases of a question that have synonyms, in order; the longest one if two overlap."""
        ...

    def contains_phrase(self, text: str, phrase: str) -> bool:
        """Return whether a text contains a phrase, in any case and number."""
        ...


class Knowledge(Protocol):
    """A knowledge base: what every surface, command and service calls; a local engine or a remote one."""

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Find the best chunks."""
        ...

    def lookup(self, term: str, edition: str = "") -> LookupAnswer:
        """Find definitions of a term, or similar terms; `edition` as in `SearchQuery`."""
        ...

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """Find mandatory statements on a topic."""
        ...

    def stats(self) -> Stats:
        """Count what it contains."""
        ...

    def health(self) -> HealthReport:
        """Check every dependency now."""
        ...

    def documents(self) -> list[DocumentRecord]:
        """List all documents by id."""
        ...

    def document(self, document_id: str) -> DocumentRecord:
        """Return one record; NotFoundError suggests similar ids."""
        ...

    def document_text(self, document_id: str) -> str:
        """Return a document's canonical text."""
        ...

    def document_structure(self, document_id: str) -> DocumentStructure:
        """Return a document's sections and what was read from each page."""
        ...

    def document_chunks(self, document_id: str) -> list[Chunk]:
        """List a document's chunks by index."""
        ...

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        """Return one chunk and its citation."""
        ...

    def read(self, query: ReadQuery) -> ReadAnswer:
        """Read a clause, pages, a chunk with its neighbours, or a document; NotFoundError suggests similar ones."""
        ...

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        """Compare a quote with the documents word by word."""
        ...

    def references(self, query: ReferenceQuery) -> ReferenceAnswer:
        """List what a place refers to and what refers to it."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts as passages, in order; none may be blank. Nothing is stored."""
        ...

    def code_passages(self, text: str) -> list[tuple[Chunk, str]]:
        """List the passages of indexed repositories that share words with a text, best first, each with its location.

        Raises:
            ConfigError: code cannot be searched from here.
        """
        ...

    def ingest(
        self,
        source: Source,
        options: IngestOptions,
        *,
        on_event: Callable[[IngestEvent], None] | None = None,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Ingest what the source yields; `on_unreadable` decides once, before embedding, whether to go on."""
        ...

    def remove(self, document_id: str) -> int:
        """Remove a document; return the number of chunks removed; NotFoundError if there is none."""
        ...

    def relabel(self, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
        """Set a document's `family`, `edition` or `edition_status` by hand; an empty value undoes it.

        Later ingests of the same source keep it.

        Raises:
            NotFoundError: there is no such document.
            InvalidInputError: another name, or an invalid value.
        """
        ...

    def warm_up(self) -> None:
        """Load what the first query needs."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...

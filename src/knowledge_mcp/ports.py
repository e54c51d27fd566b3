"""PORTS: every Protocol that an outsider may implement, in terms of `model` only.

All are plain, synchronous and thread-safe unless said otherwise; all raise only `KnowledgeError`s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord, EmbeddingSpace, StoreStatistics
from knowledge_mcp.model.document import Document, DocumentType
from knowledge_mcp.model.ingest import (
    Finding,
    IngestEvent,
    IngestOptions,
    IngestReport,
    Inspection,
    SkippedFile,
)
from knowledge_mcp.model.ocr import OcrPage
from knowledge_mcp.model.query import (
    DefinitionHit,
    Filter,
    HealthReport,
    Hit,
    LegHit,
    LegResults,
    LegScore,
    LookupAnswer,
    RequirementAnswer,
    RequirementQuery,
    SearchAnswer,
    SearchQuery,
    Stats,
)
from knowledge_mcp.model.source import SourceItem

__all__ = [
    "Analyser",
    "Chunker",
    "Classifier",
    "Embedder",
    "Fusion",
    "Knowledge",
    "OcrEngine",
    "Reader",
    "Reranker",
    "Source",
    "Store",
    "TokenMeasure",
]


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
    """Read the words of a page image."""

    def read(self, png: bytes, *, language: str = "eng") -> OcrPage:
        """Recognise one PNG-encoded page image."""
        ...


class TokenMeasure(Protocol):
    """Measure text in the tokens of one embedding model."""

    @property
    def max_tokens(self) -> int:
        """Tell how many tokens of one text the model reads, special tokens not counted."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count tokens, special tokens not counted, nothing truncated."""
        ...

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each token's `[start, end)` in code points, nothing truncated."""
        ...


class Embedder(TokenMeasure, Protocol):
    """Turn texts into unit-norm vectors; the same text always gives the same bits."""

    @property
    def space(self) -> EmbeddingSpace:
        """Identify the space of the vectors."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed passages, in order; an empty or blank text is an `InvalidInputError`."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed one question."""
        ...

    def warm_up(self) -> None:
        """Load whatever the first call would have to load."""
        ...

    def close(self) -> None:
        """Free threads and memory; later calls are errors."""
        ...


class Classifier(Protocol):
    """Tell what kind of document it is where the document does not say."""

    def __call__(self, document: Document) -> DocumentType:
        """Classify by name, title and opening text."""
        ...


class Chunker(Protocol):
    """Cut a document into chunks; every chunk is a span of the canonical text, and no text is lost."""

    @property
    def version(self) -> str:
        """Name the chunker, its version and its settings; part of a record's pipeline fingerprint."""
        ...

    def chunk(self, document: Document, document_type: DocumentType, measure: TokenMeasure) -> list[Chunk]:
        """Cut, classify and describe every passage, in order. `document.id` is the final document id."""
        ...


class Analyser(Protocol):
    """Turn text into the terms of the lexical leg; one analyser serves all stores."""

    @property
    def version(self) -> str:
        """Name the analyser and its version; a store remembers it and re-indexes when it changes."""
        ...

    def document_terms(self, text: str) -> list[str]:
        """List all terms of a passage in order, with repetitions; terms hold only [0-9a-z_] or letters, no blanks."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """List the terms of a query, without repetitions; may be empty."""
        ...

    def term_key(self, term: str) -> str:
        """Normalise a defined term for exact look-up: case, accents, blanks, hyphens, plural."""
        ...


class Store(Protocol):
    """Keep collections of documents, chunks and vectors, and search them.

    What a finished call wrote is seen by every later call of any process on the same store.
    """

    @property
    def backend(self) -> str:
        """Name the kind of store: `sqlite`, `qdrant`, `chromadb`, `memory`."""
        ...

    @property
    def location(self) -> str:
        """Name the file or address, without any secret."""
        ...

    def ping(self) -> None:
        """Make one cheap round trip; raises ConnectionFailedError, TimedOutError or InternalError."""
        ...

    def close(self) -> None:
        """Free every handle; later calls are errors."""
        ...

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        """Create the collection, or return the existing one of the same space.

        Raises:
            SpaceMismatchError: it exists in another space; names both.
        """
        ...

    def collection(self, name: str) -> CollectionInfo | None:
        """Describe a collection, None where there is none of that name."""
        ...

    def collections(self) -> list[CollectionInfo]:
        """List all collections by name."""
        ...

    def drop_collection(self, name: str) -> bool:
        """Remove a collection with all it holds; False where there was none."""
        ...

    def stage(self, collection: str, document_id: str, generation: str, chunks: Sequence[EmbeddedChunk]) -> None:
        """Keep chunks of a coming generation; searches do not see them until `publish`. Idempotent per chunk id."""
        ...

    def publish(self, collection: str, record: DocumentRecord, text: str, generation: str) -> None:
        """Swap the document's visible chunks for the staged generation, store record and canonical text, in one step.

        Raises:
            InternalError: the staged chunks are not `record.chunk_count` in number (another writer discarded them).
        """
        ...

    def discard_staged(self, collection: str, document_id: str | None = None) -> int:
        """Drop staged chunks of one document or of all; returns how many went."""
        ...

    def delete_document(self, collection: str, document_id: str) -> int:
        """Remove a document and its chunks, staged ones too; returns visible chunks removed, 0 where there was none."""
        ...

    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        """Look up vectors already known in this collection, staged ones too, by `EmbeddedChunk.embedding_key`."""
        ...

    def owners_of_content(self, collection: str, content_hashes: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Tell which documents hold visible chunks with these content hashes; unknown hashes are left out."""
        ...

    def document(self, collection: str, document_id: str) -> DocumentRecord | None:
        """Return a document's record, None where there is none."""
        ...

    def documents(self, collection: str) -> list[DocumentRecord]:
        """List all records by id."""
        ...

    def document_text(self, collection: str, document_id: str) -> str | None:
        """Return the canonical text, None where there is no such document."""
        ...

    def document_chunks(self, collection: str, document_id: str) -> list[Chunk]:
        """List a document's visible chunks by index."""
        ...

    def chunks(self, collection: str, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return visible chunks in the order asked; unknown ids are left out."""
        ...

    def statistics(self, collection: str) -> StoreStatistics:
        """Count what a collection holds."""
        ...

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        """Rank visible chunks by cosine with the vector, by BM25 with the text, or both; filters apply before ranking.

        At most `limit` per leg. A leg is None exactly where its input is None; a chunk without any query term is no
        lexical hit. A leg that fails is reported in the result when the other one works, else raised.
        """
        ...

    def definitions(self, collection: str, term_key: str) -> list[Chunk]:
        """Return visible chunks that define the term (`Analyser.term_key` of term or alias), by document and index."""
        ...

    def defined_terms(self, collection: str) -> dict[str, str]:
        """Map every defined term's key to the term as printed."""
        ...

    def verify(self, collection: str, *, repair: bool = False) -> list[Finding]:
        """Check records against chunks, vectors and indexes; with `repair`, mend what can be mended without loss."""
        ...


class Fusion(Protocol):
    """Merge the legs of one search into one ranking."""

    def __call__(
        self, dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, weight: float, limit: int
    ) -> list[tuple[str, float, LegScore | None, LegScore | None]]:
        """List (chunk id, score 0..1, dense place, lexical place), best first; `weight` is the dense leg's share."""
        ...


class Reranker(Protocol):
    """Put the best hits in a better order."""

    def rerank(self, query: str, hits: Sequence[Hit], *, deadline: float) -> list[Hit]:
        """Reorder; `deadline` is `time.monotonic()` seconds, after which the order given stands."""
        ...


class Knowledge(Protocol):
    """One knowledge base: what every surface, command and service calls; local engine or remote one alike."""

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Find the best chunks."""
        ...

    def lookup(self, term: str) -> LookupAnswer:
        """Find definitions of a term, or terms like it."""
        ...

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """Find mandatory statements on a topic."""
        ...

    def stats(self) -> Stats:
        """Count what there is."""
        ...

    def health(self) -> HealthReport:
        """Check every dependency now."""
        ...

    def documents(self) -> list[DocumentRecord]:
        """List all documents by id."""
        ...

    def document(self, document_id: str) -> DocumentRecord:
        """Return one record; NotFoundError names ids that look alike."""
        ...

    def document_text(self, document_id: str) -> str:
        """Return a document's canonical text."""
        ...

    def document_chunks(self, document_id: str) -> list[Chunk]:
        """List a document's chunks by index."""
        ...

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        """Return one chunk and its citation."""
        ...

    def definitions_in(self, chunks: Iterable[Chunk]) -> list[DefinitionHit]:
        """List the definitions that stand in chunks, with citations."""
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
        """Ingest whatever the source yields; `on_unreadable` is asked once, before embedding, whether to go on."""
        ...

    def remove(self, document_id: str) -> int:
        """Remove a document; returns how many chunks went; NotFoundError where there is none."""
        ...

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Check the store against itself."""
        ...

    def warm_up(self) -> None:
        """Load what the first query would have to load."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...

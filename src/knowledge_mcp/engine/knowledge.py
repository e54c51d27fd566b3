"""LocalKnowledge: the use cases behind `ports.Knowledge`, in this process.

All but searching are imported when they are first used: together they take as long to load as all else of a command.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar

from knowledge_mcp.engine.core import documents, health
from knowledge_mcp.engine.core.base import Base, base_of
from knowledge_mcp.engine.core.documents import set_by_hand
from knowledge_mcp.engine.core.health import check_absence, sound_answer
from knowledge_mcp.engine.core.restricted import copy_with, restricted_base
from knowledge_mcp.engine.search import search
from knowledge_mcp.engine.search.cosine_unit import measure_once
from knowledge_mcp.engine.search.several import no_collection, search_several
from knowledge_mcp.engine.tracing.decisions import Reviews
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure
from knowledge_mcp.model.document import Box
from knowledge_mcp.model.errors import KnowledgeError, NotFoundError, is_noticing
from knowledge_mcp.model.evidence import (
    QuoteAnswer,
    QuoteQuery,
    QuoteVerdict,
    ReadAnswer,
    ReadQuery,
    ReferenceAnswer,
    ReferenceQuery,
)
from knowledge_mcp.model.ingest import (
    IngestEvent,
    IngestEventKind,
    IngestOptions,
    IngestReport,
    SkippedFile,
    SourceStatus,
)
from knowledge_mcp.model.query import (
    HealthReport,
    LookupAnswer,
    RequirementAnswer,
    RequirementQuery,
    SearchAnswer,
    SearchQuery,
    Stats,
)
from knowledge_mcp.model.rights import EVERYBODY, FULL_RIGHTS, Rights, names_one
from knowledge_mcp.ports import Source
from knowledge_mcp.support.workers import MadeOnce

if TYPE_CHECKING:
    from knowledge_mcp.engine.ingest.plan import Pipeline

T = TypeVar("T")

_MOST_CODE = 1_000
"""Maximum passages of one repository that mention something, as many as a search returns."""


class LocalKnowledge:
    """Answer from one collection of one store; thread-safe.

    Args:
        base: the collection.
        pipeline: reads and splits documents; made with the first ingest, and closed with this.
        health_threshold_ms: latency at which a working dependency counts as degraded.
        sources: lists the collection's registered sources, with their states.
        repositories: prefix of the collection names of indexed repositories; empty for none.
        is_inner: returns whether a collection has no searchable documents.
        draw: draws a page of a document with boxes and words marked, as PNG; None if it cannot be drawn.
    """

    def __init__(
        self,
        base: Base,
        pipeline: MadeOnce[Pipeline],
        *,
        health_threshold_ms: int = 500,
        sources: Callable[[], Sequence[SourceStatus]] = tuple,
        repositories: str = "",
        is_inner: Callable[[str], bool] | None = None,
        draw: Callable[[DocumentRecord, int, Sequence[Box], str], bytes] | None = None,
    ) -> None:
        self._is_inner = is_inner
        self._draw = draw
        self._repositories = repositories
        self._base = base
        self._sources = sources
        self._pipeline = pipeline
        self._health_threshold_ms = health_threshold_ms
        self._probe = health.EmbeddingProbe(base)
        self.rights = FULL_RIGHTS
        self.reviews: Reviews | None = None
        """Work that outlives a call, if set by the composition root; closed with this."""

    @property
    def collection(self) -> str:
        """Return the name of its own collection."""
        return self._base.collection

    def seen_by(self, rights: Rights) -> Self:
        """Return the knowledge base as a caller may see it: the rest is answered as if it did not exist."""
        base = restricted_base(self._base, rights)
        # counts of sources would reveal hidden documents
        return copy_with(self, _base=base, rights=rights, _sources=self._sources if base is self._base else tuple)

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Find the best chunks, in the collections that the query names, if any.

        Raises:
            NotFoundError: there is no such collection, or it must not be read; suggests similar names.
        """
        if query.collections:
            return search_several(self._base, self._select_collections(query.collections), query, by_edition=True)
        return sound_answer(
            self._base, lambda: search.search(self._base, query, by_edition=True), lambda each: each.hits
        )

    def collections(self) -> list[str]:
        """List the collections that may be searched, including its own."""
        own = self._base.collection
        others = self._base.store.collections() if self._is_inner is not None else ()
        outer = {each.name for each in others if self._is_inner is not None and not self._is_inner(each.name)}
        beside = {name for name in outer if names_one(self.rights.beside, name)}
        return sorted(filter(self.rights.may_read, {*beside, own}))

    def _select_collections(self, requested: Sequence[str]) -> list[str]:
        there = self.collections()
        for name in requested:
            if name not in {*there, EVERYBODY}:
                check_absence(self._base)
                raise no_collection(name, there)
        return there if EVERYBODY in requested else list(dict.fromkeys(requested))

    def _ask_owner(self, document_id: str | None, chunk_id: str | None, ask: Callable[[Base, str], T]) -> T:
        """Ask the own collection, and if that does not have a document or a passage, the one that does.

        A document of the own collection may also be named by its file name or title, if no other has the same.
        """
        try:
            return ask(self._base, document_id or "")
        except NotFoundError:
            for name in self.collections() if document_id or chunk_id else ():
                if name == self._base.collection:
                    continue
                other = self._base.store.open(name)
                if other.documents([document_id]) if document_id else other.chunks("id", [chunk_id or ""]):
                    return ask(base_of(self._base, name), document_id or "")
            known = documents.one_named(self._base, document_id) if document_id else None
            if known is None or known == document_id:
                check_absence(self._base)
                raise
            return ask(self._base, known)

    def lookup(self, term: str, edition: str = "") -> LookupAnswer:
        """Find definitions of a term, or similar terms."""
        from knowledge_mcp.engine.search import lookup

        return sound_answer(self._base, lambda: lookup.lookup(self._base, term, edition), lambda each: each.definitions)

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """Find mandatory statements on a topic."""
        from knowledge_mcp.engine.search import requirements

        return sound_answer(self._base, lambda: requirements.requirements(self._base, query), lambda each: each.hits)

    def stats(self) -> Stats:
        """Count what it contains."""
        counted = health.stats(self._base)
        try:
            if counted.status != "unavailable":
                named = (each for each in self.collections() if counted.documents or each != self.collection)
                counted = replace(counted, collections=tuple(named))
            return replace(counted, sources=tuple(self._sources()))
        except KnowledgeError as exc:
            return replace(counted, notes=(*counted.notes, exc.message))

    def health(self) -> HealthReport:
        """Check every dependency now."""
        return health.health(self._base, self._probe, threshold_ms=self._health_threshold_ms)

    def documents(self) -> list[DocumentRecord]:
        """List all documents by id; an ingest, which adds to them, may find none in a store that replaces another."""
        found = documents.documents(self._base)
        if not found and not is_noticing():
            check_absence(self._base)
        return found

    def document(self, document_id: str) -> DocumentRecord:
        """Return one record; NotFoundError suggests similar ids."""
        return self._ask_owner(document_id, None, documents.document)

    def document_text(self, document_id: str) -> str:
        """Return a document's canonical text."""
        return self._ask_owner(document_id, None, documents.document_text)

    def document_structure(self, document_id: str) -> DocumentStructure:
        """Return a document's sections and what was read from each page."""
        return self._ask_owner(document_id, None, documents.document_structure)

    def document_chunks(self, document_id: str) -> list[Chunk]:
        """List a document's chunks by index."""
        return self._ask_owner(document_id, None, documents.document_chunks)

    def chunk(self, chunk_id: str) -> tuple[Chunk, str]:
        """Return one chunk and its citation."""
        return self._ask_owner(None, chunk_id, lambda base, _: documents.chunk_by_id(base, chunk_id))

    def marked_page(self, document_id: str, page: int, boxes: Sequence[Box], words: str) -> bytes:
        """Draw a page with a passage marked (`ports.MarkedPages`)."""
        record = self.document(document_id)
        if self._draw is None:
            raise NotFoundError("This knowledge base cannot draw pages.", suggestion="Read the text instead.")
        return self._draw(record, page, boxes, words)

    def read(self, query: ReadQuery) -> ReadAnswer:
        """Read a clause, pages, a chunk with its neighbours, or a document; NotFoundError suggests similar ones."""
        from knowledge_mcp.engine.evidence import reading

        def ask(base: Base, document_id: str) -> ReadAnswer:
            with base.snapshot():
                return reading.read(base, replace(query, document_id=document_id or None))

        return self._ask_owner(query.document_id, query.chunk_id, ask)

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        """Compare a quote with the documents word by word."""
        from knowledge_mcp.engine.evidence import quotes

        def ask(base: Base, document_id: str) -> QuoteAnswer:
            with base.snapshot():
                return sound_answer(
                    base,
                    lambda: quotes.verify_quote(base, replace(query, document_id=document_id or None)),
                    lambda each: each.verdict is not QuoteVerdict.NOT_FOUND,
                )

        return self._ask_owner(query.document_id, None, ask)

    def references(self, query: ReferenceQuery) -> ReferenceAnswer:
        """List what a place refers to and what refers to it."""
        from knowledge_mcp.engine.evidence import references

        def ask(base: Base, document_id: str) -> ReferenceAnswer:
            asked = replace(query, document_id=document_id or None)
            with base.snapshot():
                return sound_answer(
                    base, lambda: references.references(base, asked), lambda each: each.outgoing or each.incoming
                )

        return self._ask_owner(query.document_id, query.chunk_id, ask)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts as passages, in order."""
        return self._base.embedder.embed_documents(list(texts))

    def code_passages(self, text: str) -> list[tuple[Chunk, str]]:
        """List passages of indexed repositories that share words with a text, best first, with their locations."""
        found: list[tuple[Chunk, str]] = []
        for info in self._base.store.collections() if self._repositories else ():
            if not info.name.startswith(self._repositories) or "." in info.name:  # names with a dot are others
                continue
            with suppress(NotFoundError):  # just deleted
                opened = self._base.store.open(info.name)
                legs = opened.search(vector=None, text=text, filter=None, limit=_MOST_CODE)
                chunks = opened.chunks("id", [hit.chunk_id for hit in legs.lexical or ()])
                found += [(chunk, _cite_lines(chunk)) for chunk in chunks]
        return found

    def ingest(
        self,
        source: Source,
        options: IngestOptions,
        *,
        on_event: Callable[[IngestEvent], None] | None = None,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Ingest what the source yields; without `on_unreadable`, unreadable files are skipped."""
        from knowledge_mcp.engine.ingest.facts import settle_editions
        from knowledge_mcp.engine.ingest.ingest import Ingest

        run = Ingest(
            self._base,
            self._pipeline(),
            options,
            on_event or (lambda _: None),
            cancelled or (lambda: False),
        )
        report = run.run(source, on_unreadable or (lambda _: True))
        editions = settle_editions(
            self._base, [each.record for each in report.documents if not each.unchanged], frozenset(options.pruned)
        )
        for record, sentence in editions:
            if on_event is not None:
                on_event(IngestEvent(IngestEventKind.EDITION, record.source_path, message=sentence))
        if self._base.blends and self._base.embedder.usage.requests:
            measure_once(self._base.embedder)  # for a service: no question should wait for it
        return replace(report, editions=(*report.editions, *(sentence for _, sentence in editions)))

    def remove(self, document_id: str) -> int:
        """Remove a document; return the number of chunks removed."""
        return documents.remove(self._base, document_id)

    def relabel(self, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
        """Set a document's edition data by hand."""
        return set_by_hand(self._base, document_id, labels)

    def warm_up(self) -> None:
        """Load the models and the store's search structures, as the first query would; costs no money."""
        if self.reviews is not None:
            self.reviews.warm_up()
        embedder = self._base.embedder
        self._base.warm_up()
        if self._base.exists():
            self._base.check_space()
            axis = struct.pack(f"<{embedder.space.dimensions}f", 1.0, *(0.0,) * (embedder.space.dimensions - 1))
            vector = embedder.embed_query("warm up") if embedder.price == 0.0 else axis
            self._base.opened.search(vector=vector, text="warm up", filter=None, limit=1)

    def close(self) -> None:
        """Free all resources; unfinished reviews are resumed by the next start."""
        if self.reviews is not None:
            self.reviews.close()
        if self._pipeline.made is not None:
            self._pipeline.made.close()
        self._base.close()


def _cite_lines(chunk: Chunk) -> str:
    lines = f", lines {chunk.lines[0]} to {chunk.lines[1]}" if chunk.lines is not None else ""
    return f"{chunk.document_id}{lines}"

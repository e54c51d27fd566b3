"""Documents that are traced and checked, either ingested or read temporarily; their demands and definitions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.core.citing import cite, cite_statement, named_lines
from knowledge_mcp.engine.evidence.outline import section_at
from knowledge_mcp.engine.search.requirements import group_statements, words_of
from knowledge_mcp.engine.tracing.conflicts import Meaning
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.model.chunk import Chunk, Definition, Modality, Statement
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure, OutlineEntry
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.lines import SourceLines
from knowledge_mcp.ports import Knowledge


@dataclass(frozen=True)
class ReadDocument:
    """One document.

    Attributes:
        name: its id, or the name of its file.
        text: its canonical text.
        structure: its sections and pages.
        chunks: its passages.
        record: its record, if it is ingested.
        metadata: its front matter or properties, as in `Document.metadata`.
    """

    name: str
    text: str
    structure: DocumentStructure = NO_STRUCTURE
    chunks: tuple[Chunk, ...] = ()
    record: DocumentRecord | None = None
    metadata: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def statements(self) -> list[tuple[Statement, Chunk]]:
        """The statements in order, each once, with the passage that contains it."""
        found = {each.span: (each, chunk) for chunk in reversed(self.chunks) for each in chunk.statements}
        return [found[span] for span in sorted(found)]

    @property
    def definitions(self) -> list[Definition]:
        """The definitions in order, each once."""
        found = {each.span: each for chunk in self.chunks for each in chunk.definitions}
        return [found[span] for span in sorted(found)]

    def section_at(self, place: int) -> OutlineEntry | None:
        """Return the innermost section that contains an offset."""
        return section_at(self.structure.sections, place)

    def chunk_at(self, place: int) -> Chunk | None:
        """Return the smallest passage that contains an offset."""
        around = [each for each in self.chunks if each.span.start <= place < each.span.end]
        return min(around, key=lambda each: len(each.span)) if around else None

    def heading_at(self, place: int) -> tuple[str, str]:
        """Return the number and the title of the innermost section that contains an offset; empty if there is none."""
        section = self.section_at(place)
        return (section.number or "", section.title) if section is not None else ("", "")

    def clause_of_passage(self, place: int) -> str:
        """Return the clause number of the smallest passage that contains an offset; empty if there is none."""
        chunk = self.chunk_at(place)
        return (chunk.clause_number or "") if chunk is not None else ""

    def pages_of(self, span: Span) -> tuple[str, ...]:
        """List the printed labels of the pages of a span."""
        exact = [each.label or str(each.number) for each in self.structure.pages if each.holds(span)]
        chunk = None if exact else self.chunk_at(span.start)
        return tuple(exact) if chunk is None else chunk.page_labels or tuple(map(str, chunk.page_numbers))

    @functools.cached_property
    def _source_lines(self) -> SourceLines:
        return SourceLines(self.text, self.structure.lines)

    def lines_of(self, span: Span) -> tuple[int, int] | None:
        """Return the lines of the file of a span, or else those of its passage; None if there are none."""
        chunk = self.chunk_at(span.start)
        return self._source_lines.of(span) or (chunk.lines if chunk is not None else None)

    def cited(self, span: Span) -> str:
        """Return the citation of a span, ready to paste."""
        chunk, lines = self.chunk_at(span.start), self.lines_of(span)
        if chunk is not None and self.record is not None:
            return cite(replace(chunk, lines=lines), self.record)
        pages, clause = self.pages_of(span), " ".join(self.heading_at(span.start)).strip()
        place = f"p. {pages[0]}" if pages else named_lines(lines) if lines else ""
        return ", ".join(part for part in (self.name, clause, place) if part)

    def cited_entry(self, entry: Statement | Definition) -> str:
        """Return the citation of a statement or a definition, with its own clause and lines."""
        chunk = self.chunk_at(entry.span.start)
        if chunk is None or self.record is None:
            return self.cited(entry.span)
        return cite_statement(entry, replace(chunk, lines=self.lines_of(entry.span)), self.record)


def read_ingested(knowledge: Knowledge, document_id: str) -> ReadDocument:
    """Read an ingested document.

    Raises:
        NotFoundError: there is none with this id.
    """
    record = knowledge.document(document_id)
    text, structure = knowledge.document_text(document_id), knowledge.document_structure(document_id)
    chunks = tuple(knowledge.document_chunks(document_id))
    return ReadDocument(document_id, text, structure, chunks, record, record.metadata)


def one_text(item: TraceItem) -> ReadDocument:
    """Convert one item of a list to a document."""
    return ReadDocument(item.citation if item.citation.endswith(item.id) else f"{item.citation}, {item.id}", item.words)


def groups_in(reading: ReadDocument) -> list[tuple[Sequence[Statement], Chunk]]:
    """List the statements of any force, grouped by requirement, each group with the passage of its first sentence."""
    holders = {statement.span: chunk for statement, chunk in reading.statements}
    groups = group_statements([statement for statement, _ in reading.statements])
    return [(group, holders[group[0].span]) for group in groups]


def requirements_in(reading: ReadDocument) -> list[tuple[Sequence[Statement], Chunk]]:
    """List the requirements, each with its sentences: groups with a requirement, and groups with an identifier."""
    return [
        (group, chunk)
        for group, chunk in groups_in(reading)
        if group[0].identifier or any(each.modality is Modality.REQUIREMENT for each in group)
    ]


def demands_in(reading: ReadDocument) -> Iterator[TraceItem]:
    """Yield the statements as items, in the order of `groups_in`, for the search for conflicts."""
    for group, chunk in groups_in(reading):
        first = group[0]
        own = first.identifier or first.clause_number or chunk.clause_number or ""
        named = own or reading.heading_at(first.span.start)[1]
        place = f"{reading.name}, {named}" if named else reading.name
        citation = place if reading.record is None else cite_statement(first, chunk, reading.record)
        yield TraceItem(own, "", words_of(group, reading.text), citation)


def meanings_in(reading: ReadDocument, key_of: Callable[[str], str]) -> Iterator[Meaning]:
    """Yield the definitions of terms, in the order of `definitions`; `key_of` returns one key for all spellings."""
    for each in reading.definitions:
        domain = f" <{each.domain}>" if each.domain else ""
        yield Meaning(f"{key_of(each.term)}{domain}", each.term, each.text, reading.cited_entry(each))

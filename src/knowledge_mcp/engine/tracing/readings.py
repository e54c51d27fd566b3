"""Documents as they are traced and checked: ingested, or read for the occasion; their items, demands and meanings."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine.core.citing import cite, cite_statement, named_lines
from knowledge_mcp.engine.search.requirements import group_statements, words_of
from knowledge_mcp.engine.tracing.conflicts import Meaning
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.model.chunk import Chunk, Definition, Modality, Statement
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure, OutlineEntry
from knowledge_mcp.model.document import RequirementItem, Span
from knowledge_mcp.model.lines import SourceLines
from knowledge_mcp.ports import Knowledge

HEADING = "Heading"
"""What an item is called that is the title of a section; ReqIF tools, and our reader, know that it obliges nobody."""


@dataclass(frozen=True)
class ReadDocument:
    """Hold one document.

    Attributes:
        name: its id, or the name of its file.
        text: its canonical text.
        structure: its sections and pages.
        chunks: its passages.
        record: where it is ingested.
    """

    name: str
    text: str
    structure: DocumentStructure = NO_STRUCTURE
    chunks: tuple[Chunk, ...] = ()
    record: DocumentRecord | None = None

    @functools.cached_property
    def statements(self) -> list[tuple[Statement, Chunk]]:
        """List what obliges, advises, permits or enables, in order, each once, with the passage that holds it."""
        found = {each.span: (each, chunk) for chunk in reversed(self.chunks) for each in chunk.statements}
        return [found[span] for span in sorted(found)]

    @property
    def definitions(self) -> list[Definition]:
        """List the definitions in order, each once."""
        found = {each.span: each for chunk in self.chunks for each in chunk.definitions}
        return [found[span] for span in sorted(found)]

    def section_at(self, place: int) -> OutlineEntry | None:
        """Return the innermost section that holds a place."""
        around = [each for each in self.structure.sections if each.span.start <= place < each.span.end]
        return max(around, key=lambda each: each.level) if around else None

    def chunk_at(self, place: int) -> Chunk | None:
        """Return the smallest passage that holds a place."""
        around = [each for each in self.chunks if each.span.start <= place < each.span.end]
        return min(around, key=lambda each: len(each.span)) if around else None

    def pages_of(self, span: Span) -> tuple[str, ...]:
        """List the printed labels of the pages that a span stands on."""
        exact = [each.label or str(each.number) for each in self.structure.pages if each.holds(span)]
        chunk = None if exact else self.chunk_at(span.start)
        return tuple(exact) if chunk is None else chunk.page_labels or tuple(map(str, chunk.page_numbers))

    @functools.cached_property
    def _source_lines(self) -> SourceLines:
        return SourceLines(self.text, self.structure.lines)

    def lines_of(self, span: Span) -> tuple[int, int] | None:
        """Return the lines of the file that a span stands on, else those of its passage; None where it has none."""
        chunk = self.chunk_at(span.start)
        return self._source_lines.of(span) or (chunk.lines if chunk is not None else None)

    def cited(self, span: Span) -> str:
        """Say where a span stands, as an engineer would paste it."""
        chunk, lines = self.chunk_at(span.start), self.lines_of(span)
        if chunk is not None and self.record is not None:
            return cite(replace(chunk, lines=lines), self.record)
        section, pages = self.section_at(span.start), self.pages_of(span)
        clause = f"{section.number or ''} {section.title}".strip() if section is not None else ""
        place = f"p. {pages[0]}" if pages else named_lines(lines) if lines else ""
        return ", ".join(part for part in (self.name, clause, place) if part)


def read_ingested(knowledge: Knowledge, document_id: str) -> ReadDocument:
    """Read an ingested document.

    Raises:
        NotFoundError: there is none of this id.
    """
    record = knowledge.document(document_id)
    text, structure = knowledge.document_text(document_id), knowledge.document_structure(document_id)
    return ReadDocument(document_id, text, structure, tuple(knowledge.document_chunks(document_id)), record)


def one_text(item: TraceItem) -> ReadDocument:
    """Take one item of a list for a document."""
    return ReadDocument(item.citation if item.citation.endswith(item.id) else f"{item.citation}, {item.id}", item.words)


def items_in(reading: ReadDocument) -> list[TraceItem]:
    """List what a requirement file declares, of any other document its requirements.

    Where it has none, its clauses are listed, and the whole text where it has neither.
    """
    title = reading.record.title if reading.record is not None else reading.name
    if reading.structure.items:
        return [declared_item(each, f"{title}, {each.id}") for each in reading.structure.items]
    clauses = [
        (group[0].clause_number or chunk.clause_number or "", group[0].identifier, words_of(group, reading.text))
        for group, chunk in requirements_in(reading)
    ]
    items = [(identifier or clause, "", words) for clause, identifier, words in clauses]
    if not items:
        items = [
            (each.number or "", each.title, each.span.of(reading.text))
            for each in reading.structure.sections
            if each.span.of(reading.text).strip()
        ]
    items_found = numbered(items or [("", title, reading.text)], reading.name)
    return (
        [replace(each, place=clause) for each, (clause, _, _) in zip(items_found, clauses, strict=True)]
        if clauses
        else items_found
    )


def declared_item(item: RequirementItem, citation: str) -> TraceItem:
    """Take an item of a requirement file for one that is traced."""
    links, kinds = tuple(link.target for link in item.links), tuple(link.kind for link in item.links)
    text = item.text or item.title or item.id
    return TraceItem(item.id, item.title, text, citation, links, item.attributes, item.level, item.kind, kinds)


def items_below_headings(reading: ReadDocument) -> list[TraceItem]:
    """List what a requirement file declares, in order, with the sections that have a title and are no items."""
    items, found = reading.structure.items, list[TraceItem]()
    begun = {each.span.start for each in items}
    taken_ids = {each.id for each in items}
    sections = [each for each in reading.structure.sections if each.span.start not in begun]
    places: list[str] = []  # of the sections around
    for item, declared in zip(items, items_in(reading), strict=True):
        while item.level and sections and sections[0].span.start < item.span.start:
            found.append(_heading(sections.pop(0), items, places, taken_ids))
        found.append(declared)
    if any(each.level for each in items):
        found += [_heading(each, items, places, taken_ids) for each in sections]
    return found


def _heading(
    section: OutlineEntry, items: Sequence[RequirementItem], places: list[str], taken_ids: set[str]
) -> TraceItem:
    """Take a section for an item; its place is what the levels of the items in it begin with."""
    inside = next((each.level for each in items if section.span.contains(each.span) and each.level), "")
    del places[section.level - 1 :]
    above = f"{places[-1]}." if places else ""
    places.append(".".join(inside.split(".")[: section.level]) if inside else f"{above}-")
    name = next(name for at in itertools.count(1) if (name := f"section-{at}") not in taken_ids)
    taken_ids.add(name)
    attributes = {"ReqIF.ChapterName": section.title}
    return TraceItem(name, "", "", "", (), attributes, places[-1], HEADING)


def groups_in(reading: ReadDocument) -> list[tuple[Sequence[Statement], Chunk]]:
    """List what has force, whatever that is: sentences that belong together, and the passage that holds the first."""
    holders = {statement.span: chunk for statement, chunk in reading.statements}
    groups = group_statements([statement for statement, _ in reading.statements])
    return [(group, holders[group[0].span]) for group in groups]


def requirements_in(reading: ReadDocument) -> list[tuple[Sequence[Statement], Chunk]]:
    """List the requirements, each with its sentences: those that oblige, and those that bear an identifier."""
    return [
        (group, chunk)
        for group, chunk in groups_in(reading)
        if group[0].identifier or any(each.modality is Modality.REQUIREMENT for each in group)
    ]


def demands_in(reading: ReadDocument) -> Iterator[TraceItem]:
    """Yield what has force, in the order of `groups_in`; for a search for conflicts."""
    for group, chunk in groups_in(reading):
        first = group[0]
        own = first.identifier or first.clause_number or chunk.clause_number or ""
        place = f"{reading.name}, {own}" if own else reading.name
        citation = place if reading.record is None else cite_statement(first, chunk, reading.record)
        yield TraceItem(own, "", words_of(group, reading.text), citation)


def meanings_in(reading: ReadDocument, key_of: Callable[[str], str]) -> Iterator[Meaning]:
    """Yield what terms are said to mean, in the order of `definitions`; `key_of` makes one key of all spellings."""
    name = reading.record.title if reading.record is not None else reading.name
    for each in reading.definitions:
        domain = f" <{each.domain}>" if each.domain else ""
        place = f"{name}, {each.clause_number}" if each.clause_number else name
        yield Meaning(f"{key_of(each.term)}{domain}", each.term, each.text, place)


def numbered(items: Sequence[tuple[str, str, str]], citation: str) -> list[TraceItem]:
    """Give items (id, title, text) ids: their own; where several have one, or one has none, a number behind it."""
    counts = Counter(name for name, _, _ in items)
    seen: Counter[str] = Counter()
    found: list[TraceItem] = []
    for name, title, text in items:
        seen[name] += 1
        own = name if name and counts[name] == 1 else f"{name}#{seen[name]}"
        found.append(TraceItem(own, title, text, f"{citation}, {name}" if name else citation))
    return found

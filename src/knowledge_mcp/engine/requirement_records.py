"""Requirements of a document as records: one per identifier, with all its words, as a list or a tool exchanges them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.cite import cite_statement
from knowledge_mcp.engine.wanted import while_wanted
from knowledge_mcp.model.chunk import Chunk, Modality, Statement
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.structure import NO_STRUCTURE, DocumentStructure

__all__ = ["RequirementRecord", "group_statements", "requirement_records", "words_of"]

_RANK = {Modality.REQUIREMENT: 3, Modality.RECOMMENDATION: 2, Modality.PERMISSION: 1, Modality.POSSIBILITY: 0}
_WHITE = re.compile(r"\s+")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BAR = re.compile(r"(?<!\\)\|")
_LINE = re.compile(r"\n")
_ITEM_LINE = re.compile(r"\n[ \t]*(?:[-*•–·▪]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])[ \t]")
_ASIDE = re.compile(
    r"\s[*_]*(?:Rationale|Justification|Discussion|Supplemental\s+Guidance|Guidance|Comments?|Remarks?|Verification"
    r"(?:\s+[Mm]ethods?)?|Acceptance\s+[Cc]riteria|Fit\s+[Cc]riteri(?:on|a)|Trace(?:ability|s)?|Source|NOTE(?:\s+\d+)?"
    r"|Note(?:\s+\d+)?|EXAMPLE|Example)[*_]*\s*:"
)


@dataclass(frozen=True, slots=True)
class RequirementRecord:
    """Describe one requirement of one document.

    Attributes:
        identifier: its own ("SRS-4.2.1"), else the number of its clause; empty where it has neither.
        explicit: whether the identifier is its own.
        text: all its sentences with their lead-in, blanks normalised.
        modality: its strongest force; negated: whether the sentence that has it is negated.
        clause: number of its clause, empty where there is none.
        path: numbers and titles of the sections that hold it, outermost first.
        page: printed label of its first page, empty where the format has none; page_index: that page from 0.
        document_id, document_title: of its document.
        citation: as an engineer would paste it.
        span: from its first sentence to its last, in the document's canonical text.
    """

    identifier: str
    explicit: bool
    text: str
    modality: Modality
    negated: bool
    clause: str
    path: tuple[str, ...]
    page: str
    page_index: int | None
    document_id: str
    document_title: str
    citation: str
    span: Span


def requirement_records(
    document: DocumentRecord,
    chunks: Sequence[Chunk],
    text: str,
    structure: DocumentStructure = NO_STRUCTURE,
    *,
    modalities: frozenset[Modality] | None = None,
) -> list[RequirementRecord]:
    """List the requirements of one document in order of place.

    Args:
        document: its record.
        chunks: all its passages.
        text: its canonical text.
        structure: its sections and pages, which tell place and page more exactly than a passage does.
        modalities: what counts besides requirements that bear an identifier of their own, which are listed whatever
            their force; mandatory statements where None.
    """
    wanted = modalities or frozenset({Modality.REQUIREMENT})
    holders: dict[Span, Chunk] = {}
    statements: dict[Span, Statement] = {}
    for chunk in while_wanted(chunks):
        for statement in chunk.statements:
            holders.setdefault(statement.span, chunk)
            statements.setdefault(statement.span, statement)
    ordered = [statements[span] for span in sorted(statements)]
    return [
        _record(document, group, holders[group[0].span], text, structure)
        for group in while_wanted(group_statements(ordered))
        if (group[0].identifier and modalities is None) or any(each.modality in wanted for each in group)
    ]


def group_statements(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Gather statements, in order of place, into requirements: neighbours with one identifier of their own are one."""
    group: list[Statement] = []
    for statement in statements:
        if group and (statement.identifier is None or statement.identifier != group[0].identifier):
            yield group
            group = []
        group.append(statement)
        if statement.identifier is None:
            yield group
            group = []
    if group:
        yield group


def words_of(group: Sequence[Statement], text: str) -> str:
    """Join the words of one requirement: its sentences, each lead-in once, and the paragraph's rest behind a label.

    Args:
        group: its statements in order of place.
        text: the document's canonical text.
    """
    first = group[0]
    if first.identifier is None:
        return first.text
    parts = [first.text]
    said = first.span.end
    if first.lead_in is None:
        said = _own_end(text, first.span.start, first.span.end)
        parts = [_WHITE.sub(" ", text[first.span.start : said]).strip()]
    for statement in group[1:]:
        if statement.span.start < said:
            continue
        stop = _own_end(text, statement.span.start, statement.span.end) if statement.lead_in is None else 0
        said = max(statement.span.end, stop)
        parts.append(_WHITE.sub(" ", text[statement.span.start : said]).strip())
    return " ".join(parts)


def _own_end(text: str, start: int, end: int) -> int:
    """Tell where the paragraph, item or cell of a sentence ends, or its rationale, note or example begins."""
    stops = [len(text)]
    line = text.rfind("\n", 0, start) + 1
    row = text.startswith("|", line)
    patterns = (_ASIDE, _BAR, _LINE) if row else (_ASIDE, _PARAGRAPH, _ITEM_LINE)
    for pattern in patterns:
        match = pattern.search(text, end)
        if match is not None:
            stops.append(match.start())
    return max(end, min(stops))


def _path(start: int, chunk: Chunk, structure: DocumentStructure) -> tuple[str, ...]:
    around = [section for section in structure.sections if section.span.start <= start < section.span.end]
    if not around:
        return chunk.section_hierarchy
    return tuple(f"{each.number} {each.title}".strip() if each.number else each.title for each in around)


def _page(start: int, chunk: Chunk, structure: DocumentStructure) -> tuple[str, int | None]:
    """Return printed label and index from 0 of the page that a sentence begins on."""
    for page in structure.pages:
        if page.span.start <= start < page.span.end:
            return page.label, page.number - 1
    label = chunk.page_labels[0] if chunk.page_labels else ""
    return label, chunk.page_numbers[0] - 1 if chunk.page_numbers else None


def _record(
    document: DocumentRecord, group: Sequence[Statement], chunk: Chunk, text: str, structure: DocumentStructure
) -> RequirementRecord:
    first = group[0]
    strongest = max(group, key=lambda each: _RANK[each.modality])
    clause = first.clause_number or chunk.clause_number or ""
    page, page_index = _page(first.span.start, chunk, structure)
    return RequirementRecord(
        identifier=first.identifier or clause,
        explicit=first.identifier is not None,
        text=words_of(group, text),
        modality=strongest.modality,
        negated=strongest.negated,
        clause=clause,
        path=_path(first.span.start, chunk, structure),
        page=page,
        page_index=page_index,
        document_id=document.id,
        document_title=document.title,
        citation=cite_statement(first, chunk, document),
        span=Span(first.span.start, max(each.span.end for each in group)),
    )

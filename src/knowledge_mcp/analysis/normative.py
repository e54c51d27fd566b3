"""Statements of a document: each sentence that obliges, advises, permits or enables, with what it inherits."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.analysis.clauses import SectionFacts, SectionRole, section_facts
from knowledge_mcp.analysis.identifiers import heading_identifier, requirement_identifier, table_identifier
from knowledge_mcp.analysis.modality import Convention, Force, detect_convention, force_of
from knowledge_mcp.analysis.sentences import sentence_spans
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import Block, BlockKind, Document, Span

__all__ = ["find_statements"]

_EXEMPT = frozenset(
    {BlockKind.NOTE, BlockKind.EXAMPLE, BlockKind.QUOTE, BlockKind.CODE, BlockKind.CAPTION, BlockKind.FOOTNOTE}
)
_NOTE_LIKE = re.compile(
    r"\s*(?:[-*•–]\s+)?[*_(\[]*(?:NOTES?(?:\s+\d+)?(?:\s+to\s+entry)?\b|Notes?(?:\s+\d+)?\s*[:.–—]|EXAMPLES?(?:\s+\d+)?\b"
    r"|Examples?(?:\s+\d+)?\s*[:.–—]|For example\b|e\.g\.)"
)
_ASIDE = re.compile(
    r"[*_(\[]*(?:(?P<note>NOTES?(?:\s+\d+)?\s*[:.–—]|Notes?(?:\s+\d+)?\s*[:–—])|For (?:example|instance)\b|E\.g\.)"
)
_LEADS = re.compile(r"(?:[:—][*_]*|\b(?:as follows|the following)\s*\.?)\Z", re.IGNORECASE)
_MARKER = re.compile(r"\s*(?:[-*+•–·▪]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})[.)])\s+")
_WHITE = re.compile(r"\s+")
_CELL = re.compile(r"(?<!\\)\|")
_RANK = {Modality.REQUIREMENT: 3, Modality.RECOMMENDATION: 2, Modality.PERMISSION: 1, Modality.POSSIBILITY: 0}


@dataclass(frozen=True, slots=True)
class _LeadIn:
    depth: int
    span: Span
    modality: Modality
    negated: bool
    words: str


def find_statements(
    document: Document,
    *,
    facts: SectionFacts | None = None,
    convention: Convention | None = None,
    exempt: Sequence[Span] = (),
) -> list[Statement]:
    """List all statements of a document in order.

    Notes, examples, quotations, code, captions, footnotes, headings and informative parts hold none. Nor do forewords,
    unnumbered introductions and definitions, except where capitals are used: those are written on purpose. A list item
    without force of its own has its lead-in's; one that goes on with the lead-in's sentence (small first letter)
    has the
    stronger. A statement without identifier of its own has its block's, else that of the heading or property table
    above it.

    Args:
        document: the document as read.
        facts: what its sections are; worked out when None.
        convention: how it marks force; worked out from the whole text when None.
        exempt: spans (sorted) in which no statement may begin, e.g. definitions.
    """
    facts = facts or section_facts(document)
    finder = _Finder(document, facts, convention or detect_convention(document.text), exempt)
    for block in document.blocks:
        finder.take(block)
    return finder.statements


class _Finder:
    def __init__(self, document: Document, facts: SectionFacts, convention: Convention, exempt: Sequence[Span]) -> None:
        self.document = document
        self.text = document.text
        self.facts = facts
        self.convention = convention
        self.statements: list[Statement] = []
        self._exempt = [] if convention.capitals else sorted(exempt)
        self._leads: list[_LeadIn] = []
        self._heading_ids: dict[int | None, str | None] = {None: None}

    def take(self, block: Block) -> None:
        if block.kind is BlockKind.HEADING:
            self._leads.clear()
            return
        if block.kind is BlockKind.TABLE:
            found = table_identifier(block.span.of(self.text))
            if found is not None:
                self._heading_ids[block.section] = found
        if block.kind in _EXEMPT or self._silent(block):
            return
        if block.kind is BlockKind.TABLE:
            self._take_table(block)
        else:
            self._take_prose(block)

    def _silent(self, block: Block) -> bool:
        if self.facts.is_informative(block.section):
            return True
        if self.facts.is_prefatory(block.section) and not self.convention.capitals:
            return True
        if self.facts.role(block.section) in {SectionRole.EXAMPLE, SectionRole.REFERENCES}:
            return True
        return _NOTE_LIKE.match(self.text, block.span.start, block.span.end) is not None

    def _is_exempt(self, span: Span) -> bool:
        position = bisect_right(self._exempt, Span(span.start, 1 << 60)) - 1
        return position >= 0 and self._exempt[position].end > span.start

    def _heading_id(self, section: int | None) -> str | None:
        if section not in self._heading_ids and section is not None:
            node = self.document.sections[section]
            found = heading_identifier(node.label)
            self._heading_ids[section] = found if found is not None else self._heading_id(node.parent)
        return self._heading_ids[section]

    def _take_prose(self, block: Block) -> None:
        item = block.kind is BlockKind.LIST_ITEM
        if item:
            while self._leads and self._leads[-1].depth >= block.depth:
                self._leads.pop()
        else:
            self._leads.clear()
        sentences = sentence_spans(self.text, block.span.start, block.span.end)
        lead = self._leads[-1] if self._leads and item else None
        identifier: str | None = None
        last: tuple[Span, Modality, bool] | None = None
        inherited_last = False
        for position, span in enumerate(sentences):
            words = span.of(self.text)
            aside = _ASIDE.match(words)
            if aside is not None:
                last = None
                if aside.group("note"):
                    break
                continue
            force = force_of(words, self.convention)
            leading = lead if position == 0 else None
            own = self._combine(words, force, leading)
            identifier = requirement_identifier(words) or identifier
            last = None
            if own is None:
                continue
            modality, negated, inherited = own
            last, inherited_last = (span, modality, negated), inherited
            if self._is_exempt(span) or (force is not None and _bare_lead(words, force)):
                continue
            self._add(span, modality, negated, block.section, identifier, lead if inherited else None)
        if last is not None and self._opens_list(last[0]):
            words = last[0].of(self.text)
            above = f"{lead.words} " if lead is not None and inherited_last else ""
            self._leads.append(_LeadIn(block.depth if item else -1, *last, above + words))

    def _opens_list(self, span: Span) -> bool:
        return _LEADS.search(span.of(self.text)) is not None

    def _combine(self, words: str, force: Force | None, lead: _LeadIn | None) -> tuple[Modality, bool, bool] | None:
        if lead is None:
            return None if force is None else (force.modality, force.negated, False)
        if force is None:
            return lead.modality, lead.negated, True
        marker = _MARKER.match(words)
        goes_on = words[marker.end() if marker else 0 :][:1].islower()
        if goes_on and _RANK[lead.modality] > _RANK[force.modality]:
            return lead.modality, lead.negated, True
        return force.modality, force.negated, False

    def _take_table(self, block: Block) -> None:
        self._leads.clear()
        start = block.span.start
        for row_number, line in enumerate(block.span.of(self.text).split("\n")):
            if row_number > 0 and line.strip(" |:-"):
                self._take_row(block, Span(start, start + len(line)), line)
            start += len(line) + 1

    def _take_row(self, block: Block, row: Span, line: str) -> None:
        if force_of(line, self.convention) is None:
            return
        cuts = [m.start() for m in _CELL.finditer(line)]
        bounds = list(zip([-1, *cuts], [*cuts, len(line)], strict=True))
        cells = [Span(row.start + a + 1, row.start + b) for a, b in bounds]
        identifier = next(
            (found for cell in cells if (found := heading_identifier(cell.of(self.text))) and len(cell) < 40), None
        )
        for cell in cells:
            for span in sentence_spans(self.text, cell.start, cell.end):
                force = force_of(span.of(self.text), self.convention)
                if force is not None and not self._is_exempt(span):
                    self._add(span, force.modality, force.negated, block.section, identifier, None)

    def _add(
        self,
        span: Span,
        modality: Modality,
        negated: bool,
        section: int | None,
        own_id: str | None,
        lead: _LeadIn | None,
    ) -> None:
        words = span.of(self.text)
        if lead is not None:
            words = f"{lead.words} {words}"
        self.statements.append(
            Statement(
                span=span,
                modality=modality,
                negated=negated,
                clause_number=self.facts.clause_number(section),
                text=_WHITE.sub(" ", words).strip(),
                identifier=own_id or self._heading_id(section),
                lead_in=lead.span if lead is not None else None,
            )
        )


def _bare_lead(words: str, force: Force) -> bool:
    """Tell whether nothing but punctuation follows the keyword: "The supplier shall:" says nothing by itself."""
    rest = words[force.end :].strip(" *_:—–-.,")
    return words.rstrip().endswith(":") and rest.lower() in {"", "not", "be", "also"}

"""Statements of a document: each sentence with normative force, with what it inherits.

If a file declares its requirements, the sentences of an item have its id, and an item without force is a weak
requirement.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.language.clauses import SectionFacts, SectionRole, recitals
from knowledge_mcp.language.force import RANK, Convention, Force, detect_convention, force_of
from knowledge_mcp.language.identifiers import (
    Labels,
    card_identifier,
    cell_label,
    detect_labels,
    heading_identifier,
    identifier_key,
    is_aside_header,
    is_below,
    is_card_name,
    is_card_of_requirement,
    is_void,
    own_end,
    requirement_identifier,
    stated_identifier,
    table_identifier,
    trailing_tag,
)
from knowledge_mcp.language.multilingual.force import NOTES
from knowledge_mcp.language.openings import commentary_label
from knowledge_mcp.language.requirements.weak import states_rules, with_weak
from knowledge_mcp.language.sentences import LEADS, row_cells, sentence_spans
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import Block, BlockKind, Document, Section, Span
from knowledge_mcp.support.checkpoints import check_each

_EXEMPT = frozenset(
    {BlockKind.NOTE, BlockKind.EXAMPLE, BlockKind.QUOTE, BlockKind.CODE, BlockKind.CAPTION, BlockKind.FOOTNOTE}
)
_NOTE_LIKE = re.compile(
    r"\s*(?:[-*•–]\s+)?[*_(\[]*(?:NOTES?(?:\s+\d+)?(?:\s+to\s+entry)?\b|Notes?(?:\s+\d+)?\s*[:.–—]|EXAMPLES?(?:\s+\d+)?\b"
    rf"|Examples?(?:\s+\d+)?\s*[:.–—]|For example\b|e\.g\.|{NOTES})"
)
_ASIDE = re.compile(
    r"[*_(\[]*(?:(?P<note>NOTES?(?:\s+\d+)?\s*[:.–—]|Notes?(?:\s+\d+)?\s*[:–—])|For (?:example|instance)\b|E\.g\."
    r"|Zum\s+Beispiel\b|Par\s+exemple\b|Por\s+ejemplo\b)"
)
_ILLUSTRATES = re.compile(r"\b(?:such\s+as|for\s+(?:example|instance)|e\.g\.)\W*\Z", re.IGNORECASE)
_MARKER = re.compile(r"\s*(?:[-*+•–·▪]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})[.)])\s+")
_PART = re.compile("[A-Z]")
"""What is printed before a part of a requirement in its card."""
_LEAST_WORDS = 3
"""Minimum words of a part that states something."""
_LONGEST_PROPERTY = 80
_LONGEST_LEAD = 4000
"""Maximum length of a lead-in's text that items inherit; its end is kept."""


@dataclass(frozen=True, slots=True)
class _LeadIn:
    depth: int
    span: Span
    modality: Modality
    negated: bool
    words: str
    identifier: str | None

    def above(self, item: Span, text: str, depth: int, identifier: str | None) -> _LeadIn:
        """Return the lead-in for the items below an item, which it qualifies even without a colon."""
        words = f"{self.words} {item.of(text)}"[-_LONGEST_LEAD:]
        return _LeadIn(depth, item, self.modality, self.negated, words, identifier)


def find_statements(
    document: Document,
    *,
    facts: SectionFacts | None = None,
    exempt: Sequence[Span] = (),
) -> list[Statement]:
    """List all statements of a document in order.

    Not searched are notes, examples, quotations, code, captions, footnotes and informative parts, and headings that are
    not sentences. Forewords, unnumbered introductions, definitions and paragraphs that begin with "For example" or
    "Note:" are searched only if capitals carry force, because those are written on purpose.

    - A list item without its own force inherits that of its lead-in, with the words of the items above it. One that
      continues the lead-in's sentence (lower-case first letter) has the stronger of both. Items after "such as:"
      inherit nothing.
    - A statement without its own identifier inherits that of its block, then the one that is alone above its block,
      then that of its lead-in, then that of the heading or property table above it.
    - The parts of a requirement's card ("Requirement 5" above rows "A", "B") without force are weak requirements.
    - If the document labels its requirements ("SRS 7 - ..."), a label makes the first sentence a requirement even
      without force, and "will" is a requirement after it.
    - Text after "Rationale:" in a paragraph is left out, and so are the recitals of acts.
    - Unless only capitals carry force, numbered items, steps and stories below a heading that announces requirements
      are weak requirements (`with_weak`).
    - If a file declares items, each has its statements, and one that states something without force is weak
      (`with_declared`).

    Args:
        document: the document as read.
        facts: the facts about its sections; derived if None.
        exempt: spans (sorted) in which no statement may start, e.g. definitions.
    """
    facts = facts or SectionFacts(document)
    reasons = recitals(document)
    exempt = [*(each for each in exempt if not any(one.contains(each) for one in reasons)), *reasons]
    finder = _Finder(document, facts, detect_convention(document.text), exempt)
    for block in check_each(document.blocks):
        finder.take(block)
    found = finder.statements
    if not finder.convention.capitals:
        found = with_weak(document, facts, found, exempt, finder.labels)
    return with_declared(document, facts, found)


class _Finder:
    def __init__(self, document: Document, facts: SectionFacts, convention: Convention, exempt: Sequence[Span]) -> None:
        self.document = document
        self.text = document.text
        self.facts = facts
        self.convention = convention
        self.labels: Labels = detect_labels(document, convention)
        self._labelled = convention if convention.capitals else replace(convention, will=True)
        self._seen: set[str] = set()
        self.statements: list[Statement] = []
        self._exempt = [] if convention.capitals else sorted(exempt)
        self._leads: list[_LeadIn] = []
        self._heading_ids: dict[int | None, str | None] = {None: None}
        if _is_titled_whole(document.sections):
            self._heading_ids[0] = None
        self._announced: str | None = None  # an identifier that is alone above its requirement
        self._below_label = False

    def take(self, block: Block) -> None:
        labelled, self._below_label = self._below_label, self._is_label(block)
        if labelled and block.kind is BlockKind.PARAGRAPH:
            return
        if block.kind is BlockKind.HEADING:
            self._leads.clear()
            self._announced = None
            words = block.span.of(self.text)
            if block.section is not None and self._states(words) and not self._silent(block):
                title = self.document.sections[block.section].title
                start = block.span.end - len(title) if words.endswith(title) else block.span.start
                self._take_prose(replace(block, span=Span(start, block.span.end)))
            return
        if block.kind is BlockKind.TABLE:
            found = table_identifier(block.span.of(self.text))
            if found is not None:
                self._heading_ids[block.section] = found
        short = block.span.of(self.text).strip() if len(block.span) <= _LONGEST_PROPERTY else ""
        if block.kind in {BlockKind.PARAGRAPH, BlockKind.CAPTION} and is_card_name(short):
            self._announced = short.strip(" *_`:.")
            return
        if block.kind in _EXEMPT or self._silent(block):
            return
        if block.kind is BlockKind.TABLE:
            self._take_table(block)
            return
        stated = stated_identifier(short) if short else None
        if stated is not None:
            self._heading_ids[block.section] = stated
        elif block.kind is BlockKind.PARAGRAPH and heading_identifier(short) == short != "":
            self._announced = short
        else:
            self._take_prose(block)
            self._announced = None

    def _is_label(self, block: Block) -> bool:
        """Return whether a block is only the label of the commentary below it."""
        return block.kind is BlockKind.NOTE and commentary_label(block.marker) == block.span.of(self.text).rstrip(" :.")

    def _states(self, heading: str) -> bool:
        """Return whether a heading has a sentence with force, or is the start of one: "3.2 The supplier shall:"."""
        force = force_of(heading, self.convention) if heading.endswith((".", ";", ":")) else None
        is_text = not heading.endswith(":") or ". " in heading.partition(" ")[2]  # after the number
        return force is not None and (is_text or _bare_lead(heading, force))

    def _silent(self, block: Block) -> bool:
        if self.facts.is_informative(block.section):
            return True
        if self.facts.is_prefatory(block.section) and not self.convention.capitals:
            return True
        if self.facts.role(block.section) in {SectionRole.EXAMPLE, SectionRole.REFERENCES}:
            return True
        if self.convention.capitals:
            return False
        return _NOTE_LIKE.match(self.text, block.span.start, block.span.end) is not None

    def _heading_id(self, section: int | None) -> str | None:
        if section not in self._heading_ids and section is not None:
            node = self.document.sections[section]
            found = heading_identifier(node.label) or self.labels.heading(node.label)
            self._heading_ids[section] = found if found is not None else self._heading_id(node.parent)
        return self._heading_ids[section]

    def _lead_of(self, block: Block) -> _LeadIn | None:
        """Close the lead-ins that end before a block, and return its lead-in."""
        depth = block.depth if block.kind is BlockKind.LIST_ITEM else -1
        while self._leads and self._leads[-1].depth >= depth:
            self._leads.pop()
        return self._leads[-1] if self._leads else None

    def _take_prose(self, block: Block) -> None:
        item = block.kind is BlockKind.LIST_ITEM
        lead = self._lead_of(block)
        stop = own_end(self.text, block.span.start, block.span.end)
        sentences = sentence_spans(self.text, block.span.start, stop)
        if not sentences:
            return
        label = self.labels.opening(sentences[0].of(self.text))
        convention = self.convention if label is None else self._labelled
        identifier = label or trailing_tag(sentences[-1].of(self.text)) or self._announced
        last: tuple[Span, Modality, bool] | None = None
        inherited_last = False
        for position, span in enumerate(check_each(sentences)):
            words = span.of(self.text)
            aside = None if self.convention.capitals else _ASIDE.match(words)
            if aside is not None:
                last = None
                if aside.group("note"):
                    break
                continue
            force = force_of(words, convention)
            own = self._combine(words, force, lead if position == 0 else None)
            if position == 0 and own is None:
                own = self._by_label(words, sentences, label, convention)
            identifier = (label if position == 0 else None) or requirement_identifier(words) or identifier
            last = None
            if own is None:
                continue
            modality, negated, inherited = own
            last, inherited_last = (span, modality, negated), inherited
            if span.starts_in(self._exempt) or (force is not None and _bare_lead(words, force)):
                continue
            own_identifier = identifier or (lead.identifier if lead is not None else None)
            self._add(span, modality, negated, block.section, own_identifier, lead if inherited else None)
        if label is not None:
            self._seen.add(label)
        own_identifier = identifier or (lead.identifier if lead is not None else None)
        if last is not None and self._opens_list(last[0]):
            words = last[0].of(self.text)
            above = f"{lead.words} " if lead is not None and inherited_last else ""
            lead = _LeadIn(block.depth if item else -1, *last, (above + words)[-_LONGEST_LEAD:], own_identifier)
        elif lead is not None:
            lead = lead.above(Span(sentences[0].start, sentences[-1].end), self.text, block.depth, own_identifier)
        self._leads += [lead] if lead is not None else []

    def _by_label(
        self, words: str, sentences: Sequence[Span], label: str | None, convention: Convention
    ) -> tuple[Modality, bool, bool] | None:
        """Make a first sentence a requirement because of its label, if no other sentence of its paragraph has force."""
        if label is None or label in self._seen or is_void(words, label) or self.labels.is_group(label, words):
            return None
        if any(force_of(span.of(self.text), convention) is not None for span in sentences[1:]):
            return None
        return Modality.REQUIREMENT, False, False

    def _opens_list(self, span: Span) -> bool:
        words = span.of(self.text)
        return LEADS.search(words) is not None and _ILLUSTRATES.search(words) is None

    def _combine(self, words: str, force: Force | None, lead: _LeadIn | None) -> tuple[Modality, bool, bool] | None:
        if lead is None:
            return None if force is None else (force.modality, force.negated, False)
        if force is None:
            return lead.modality, lead.negated, True
        marker = _MARKER.match(words)
        continues = words[marker.end() if marker else 0 :][:1].islower()
        if continues and RANK[lead.modality] > RANK[force.modality]:
            return lead.modality, lead.negated, True
        return force.modality, force.negated, False

    def _take_table(self, block: Block) -> None:
        self._leads.clear()
        start = block.span.start
        lines = block.span.of(self.text).split("\n")
        header = [cell.of(lines[0]) for cell in row_cells(0, lines[0])]
        card: str | None = None
        obliges = False
        for row_number, line in enumerate(check_each(lines)):
            cells = row_cells(start, line)
            words = [cell.of(self.text) for cell in cells[:2]]
            if (begun := card_identifier(words)) is not None:
                card, obliges = begun, is_card_of_requirement(words[0])
            if line.strip(" |:-") and (row_number > 0 or force_of(line, self.convention) is not None):
                known = len(self.statements)
                self._take_row(block, cells, header, card)
                if card is not None and obliges:
                    self._take_parts(block, cells, card, known)
            start += len(line) + 1

    def _take_parts(self, block: Block, cells: Sequence[Span], card: str, known: int) -> None:
        """Add the parts of a requirement that no word of force marks as weak ones: "B", "Requirement 5-2 The …".

        `known` is the number of statements before the row.
        """
        lettered = _PART.fullmatch(cells[0].of(self.text).strip(" *_`.)")) is not None
        parts: list[tuple[str, Span]] = []
        for cell in cells[1:] if lettered else cells:
            for span in sentence_spans(self.text, cell.start, cell.end):
                opened = None if lettered else requirement_identifier(span.of(self.text))
                if opened is not None or (lettered and not parts):
                    parts.append((opened or card, span))
                elif parts and parts[-1][1].end > cell.start:
                    parts[-1] = (parts[-1][0], Span(parts[-1][1].start, span.end))
        for identifier, span in parts:
            is_stated = any(span.contains(each.span) for each in self.statements[known:])
            if not is_stated and not span.starts_in(self._exempt) and len(span.of(self.text).split()) >= _LEAST_WORDS:
                self._add(span, Modality.REQUIREMENT, False, block.section, identifier, None)
                self.statements[-1] = replace(self.statements[-1], weak=True)
        self.statements[known:] = sorted(self.statements[known:], key=lambda each: each.span)

    def _take_row(self, block: Block, cells: Sequence[Span], header: Sequence[str], card: str | None) -> None:
        identifier, label = None, None
        for column, cell in enumerate(cells):
            words = cell.of(self.text)
            name = header[column] if column < len(header) else ""
            label = label or self.labels.opening(words.strip()) or cell_label(name, words, column == 0, self.labels)
            if identifier is None and len(cell) < 40:
                identifier = heading_identifier(words)
        convention = self.convention if label is None else self._labelled
        found = False
        own = _own_cells(cells, header)
        for cell in own:
            opened = None
            for span in sentence_spans(self.text, cell.start, own_end(self.text, cell.start, cell.end)):
                words = span.of(self.text)
                opened = requirement_identifier(words) or opened
                force = force_of(words, convention)
                if force is not None and not span.starts_in(self._exempt):
                    found = True
                    own_id = label or opened or identifier or card
                    if opened and label and is_below(identifier_key(opened), identifier_key(label)):
                        own_id = opened  # of a part: the label is in another cell
                    self._add(span, force.modality, force.negated, block.section, own_id, None)
        if label is not None:
            if not found and label not in self._seen and self.labels.knows(label):
                stating = [cell for name, cell in zip(header, cells, strict=False) if states_rules(name)]
                self._take_labelled(block, stating or own, label)
            self._seen.add(label)

    def _take_labelled(self, block: Block, cells: Sequence[Span], label: str) -> None:
        """Make the longest cell of a labelled row a requirement, if no cell has force."""
        longest = max(cells, key=len)
        spans = sentence_spans(self.text, longest.start, own_end(self.text, longest.start, longest.end))
        words = spans[0].of(self.text) if spans else ""
        if len(words.split()) >= 3 and not is_void(words, label if label in words else ""):
            self._add(Span(spans[0].start, spans[-1].end), Modality.REQUIREMENT, False, block.section, label, None)

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
                text=" ".join(words.split()),
                identifier=own_id or self._heading_id(section),
                lead_in=lead.span if lead is not None else None,
            )
        )


def _is_titled_whole(sections: Sequence[Section]) -> bool:
    """Return whether the first heading is the document's title: all others are below it, and some below those.

    An identifier there is the document's ("M-24-15"); a requirement in a file of its own has no parts of parts.
    """
    parents = {each.parent for each in sections[1:]}
    return None not in parents and len(parents) > 1


def _own_cells(cells: Sequence[Span], header: Sequence[str]) -> Sequence[Span]:
    """Leave out cells below "Rationale", "Verification" and similar, unless there are no others."""
    own = [cell for name, cell in zip(header, cells, strict=False) if not is_aside_header(name)]
    return [*own, *cells[len(header) :]] or cells


def _bare_lead(words: str, force: Force) -> bool:
    """Return whether only punctuation follows the keyword: "The supplier shall:" states nothing by itself."""
    rest = words[force.end :].strip(" *_:—–-.,")
    return words.rstrip().endswith(":") and rest.lower() in {"", "not", "be", "also"}


_BESIDE = frozenset({BlockKind.HEADING, BlockKind.NOTE})
"""Blocks of an item that are not part of its statement: its title, and its other attributes."""


def with_declared(document: Document, facts: SectionFacts, statements: Sequence[Statement]) -> list[Statement]:
    """Give statements the ids of the items that contain them, and add items that state something without force.

    Args:
        document: the document as read.
        facts: the facts about its sections.
        statements: those with words of force, in order.
    """
    items = sorted((each for each in document.items if len(each.span)), key=lambda each: each.span)
    if not items:
        return list(statements)
    starts = [each.span.start for each in items]

    def item_at(place: int) -> int | None:
        found = bisect_right(starts, place) - 1
        return found if found >= 0 and place < items[found].span.end else None

    holders = [item_at(each.span.start) for each in statements]
    named = [
        each if at is None else replace(each, identifier=items[at].id)
        for each, at in zip(statements, holders, strict=True)
    ]
    declared = set(holders)
    stated: dict[int, Span] = {}
    headings = {section.heading.start for section in document.sections}
    for block in check_each(document.blocks):
        at = None if block.kind in _BESIDE else item_at(block.span.start)
        if at is None or at in declared:
            continue
        item = items[at]
        if item.span.start in headings and not item.informative and item.text.strip():
            stated[at] = Span(stated.get(at, block.span).start, block.span.end)
    sections = [section.span.start for section in document.sections]
    for at, span in stated.items():
        clause = facts.clause_number(bisect_right(sections, span.start) - 1) if sections else None
        words = " ".join(span.of(document.text).split())
        named.append(Statement(span, Modality.REQUIREMENT, False, clause, words, items[at].id, weak=True))
    return sorted(named, key=lambda each: each.span)

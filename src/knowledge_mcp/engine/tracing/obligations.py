"""Obligations of a standard, one row each: what is demanded, its force, its condition, and its location."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from knowledge_mcp.engine.search.requirements import words_of
from knowledge_mcp.engine.tracing.links import TraceItem, is_withdrawn, own_ids
from knowledge_mcp.engine.tracing.readings import ReadDocument, requirements_in
from knowledge_mcp.engine.tracing.tabled import TabledRow, completed, rows_tabled, tables_named
from knowledge_mcp.language.demands import condition_of
from knowledge_mcp.language.force import RANK, Convention, detect_convention, force_of
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.quantities.bounds import Bound
from knowledge_mcp.language.quantities.measures import stems_in
from knowledge_mcp.language.sentences import BLANK_LINE, cell_texts, is_row, line_around, row_cells, sentence_spans
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.document import Span
from knowledge_mcp.support.checkpoints import check_each

_NOTE = re.compile(
    r"[ \t>*_(\[-]{0,6}(?:(?:NOTE|EXAMPLE)S?\b|(?:Note|Example)s?(?:[ ]\d{1,3})?(?:[ ]to entry)?[ ]?[:.–—\])*_-])"
)


class ObligationKind(StrEnum):
    """Whether a sentence is binding: always, under its condition, or never, in a note or an informative part."""

    OBLIGATION = "obligation"
    CONDITIONAL = "conditional"
    INFORMATIVE = "informative"


@dataclass(frozen=True, slots=True)
class RowObligation:
    """What makes a table row an obligation.

    Attributes:
        about: words that other rows do not have; evidence contains at least one of them, and all that are figures.
        bound: the bound of its numbers that do not state one themselves.
        stated_by: the text of the obligation that refers to the table.
    """

    about: str
    bound: Bound
    stated_by: str


@dataclass(frozen=True, slots=True)
class Obligation:
    """One obligation.

    Attributes:
        id: its identifier or clause, followed by a number if several have it; unique in its standard.
        text: its text with its lead-in.
        force: None if it has no word of force, in a list of requirements.
        negated: "shall not".
        condition: the words that decide whether it applies; empty if it always does.
        clause: number of its clause; empty if there is none.
        title: of its section.
        citation: its location.
        tabled: what makes it one if it is a table row; otherwise None.
    """

    id: str
    text: str
    force: Modality | None
    negated: bool
    kind: ObligationKind
    condition: str
    clause: str
    title: str
    citation: str
    tabled: RowObligation | None = None


def obligations_in(reading: ReadDocument) -> list[Obligation]:
    """List the obligations of a document, in order, and similar sentences in informative parts; ids may be repeated.

    The rows of a table with limits are obligations if a requirement refers to the table.
    """
    stated = sorted(_stated(reading), key=lambda pair: pair[0])
    located = [*stated, *_tabled(reading, [each for _, each in stated]), *_informative(reading)]
    return [each for _, each in sorted(located, key=lambda pair: pair[0])]


def obligations_of_items(items: Sequence[TraceItem]) -> list[Obligation]:
    """Convert each item of a list of requirements to an obligation; a withdrawn one is not binding."""
    convention = detect_convention("\n".join(each.text for each in items))
    obligations: list[Obligation] = []
    for each in items:
        cells = list(each.attributes.items())
        own = next((place for place, (_, cell) in enumerate(cells) if cell.strip() == each.text), len(cells))
        text = completed(each.text, cells[own + 1 :])
        force, negated, condition = _forces(text, convention)
        kind = ObligationKind.CONDITIONAL if condition else ObligationKind.OBLIGATION
        kind = ObligationKind.INFORMATIVE if is_withdrawn(each) else kind
        clause = next((value for name, value in each.attributes.items() if name.lower() == "clause"), "")
        obligations.append(
            Obligation(each.id, text, force, negated, kind, condition, clause, each.title, each.citation)
        )
    return obligations


def _stated(reading: ReadDocument) -> Iterator[tuple[int, Obligation]]:
    for group, chunk in check_each(requirements_in(reading)):
        strongest = max(group, key=lambda each: RANK[each.modality])
        condition = condition_of(strongest.text)
        first = group[0]
        clause = first.clause_number or chunk.clause_number or ""
        section = reading.section_at(first.span.start)
        yield (
            first.span.start,
            Obligation(
                id=first.identifier or clause,
                text=completed(words_of(group, reading.text), _cells_behind(reading.text, group[-1].span.end)),
                force=strongest.modality,
                negated=strongest.negated,
                kind=ObligationKind.CONDITIONAL if condition else ObligationKind.OBLIGATION,
                condition=condition,
                clause=clause,
                title=section.title if section is not None else chunk.section_title,
                citation=reading.cited_entry(first),
            ),
        )


def _tabled(reading: ReadDocument, stated: Sequence[Obligation]) -> Iterator[tuple[int, Obligation]]:
    """Yield the rows of tables that requirements refer to, each row with the sentence that fits it best."""
    language = detect_convention(reading.text).language
    named: dict[str, list[tuple[Bound, Obligation]]] = {}
    for each in check_each(stated):
        for table, bound in tables_named(each.text, language).items() if each.force is Modality.REQUIREMENT else ():
            named.setdefault(table, []).append((bound, each))
    known = [statement.span for statement, _ in reading.statements]
    for table, sentences in named.items():
        for row in rows_tabled(reading.text, table, language or language_of(reading.text)):
            if not any(map(row.span.overlaps, known)):
                bound, stated_by = _sentence_on(row, sentences)
                tabled = RowObligation(row.about, bound if row.bound is Bound.EXACT else row.bound, stated_by.text)
                clause, title = reading.heading_at(row.span.start)
                where = reading.cited(row.span)
                made = replace(stated_by, id=row.name, text=row.text, clause=clause, title=title, citation=where)
                yield row.span.start, replace(made, tabled=tabled)


def _sentence_on(row: TabledRow, sentences: Sequence[tuple[Bound, Obligation]]) -> tuple[Bound, Obligation]:
    """Choose the sentence about a row by its words; if none of several fits, the first one, without a limit."""
    about = stems_in(row.about)
    best = max(sentences, key=lambda pair: len(about & stems_in(pair[1].text)))
    is_on = len(sentences) == 1 or about & stems_in(best[1].text)
    return best if is_on else (Bound.EXACT, best[1])


def _cells_behind(text: str, place: int) -> list[tuple[str, str]]:
    """List the cells after an offset of a row, each with its header; none if the offset is not in a row."""
    around = line_around(text, place, place)
    start, line = around.start, around.of(text)
    if not is_row(line):
        return []
    first = text.rfind("\n\n", 0, start) + 2 if "\n\n" in text[:start] else 0
    heads = cell_texts(text[first:start].lstrip("\n").partition("\n")[0])
    behind = [(at, cell) for at, cell in enumerate(row_cells(start, line)) if cell.start >= place]
    return [(heads[at] if at < len(heads) else "", cell.of(text).strip()) for at, cell in behind]


def _informative(reading: ReadDocument) -> Iterator[tuple[int, Obligation]]:
    """Yield sentences that would be binding if they were not in a note, an example or an informative part."""
    convention = detect_convention(reading.text)
    known = [statement.span for statement, _ in reading.statements]
    for span in check_each(_silent(reading)):
        for sentence in sentence_spans(reading.text, span.start, span.end):
            words = sentence.of(reading.text)
            force = force_of(words, convention)
            if force is None or force.modality is not Modality.REQUIREMENT or any(map(sentence.overlaps, known)):
                continue
            clause, title = reading.heading_at(sentence.start)
            clause = clause or reading.clause_of_passage(sentence.start)
            text = " ".join(words.split())
            kind, citation = ObligationKind.INFORMATIVE, reading.cited(sentence)
            yield (
                sentence.start,
                Obligation(
                    clause, text, force.modality, force.negated, kind, condition_of(text), clause, title, citation
                ),
            )


def _silent(reading: ReadDocument) -> list[Span]:
    """List the informative sections, and the paragraphs elsewhere that are notes or examples, without overlap."""
    spans: list[Span] = []
    for section in reading.structure.sections:
        if section.informative and not (spans and spans[-1].contains(section.span)):
            spans.append(section.span)
    parts = list(spans)
    start = 0
    for end in [*(match.end() for match in BLANK_LINE.finditer(reading.text)), len(reading.text)]:
        paragraph = Span(start, end)
        if _NOTE.match(reading.text, start, end) and not any(map(paragraph.overlaps, parts)):
            spans.append(paragraph)
        start = end
    return sorted(spans)


def _forces(text: str, convention: Convention) -> tuple[Modality | None, bool, str]:
    """Return the strongest force of a text, whether it is negated, and the condition of its sentence."""
    best, condition = None, ""
    for span in sentence_spans(text):
        sentence = span.of(text)
        force = force_of(sentence, convention)
        if force is not None and (best is None or RANK[force.modality] > RANK[best.modality]):
            best, condition = force, condition_of(sentence)
    return (best.modality, best.negated, condition) if best is not None else (None, False, condition_of(text))


def numbered_obligations(obligations: Sequence[Obligation]) -> list[Obligation]:
    """Give each obligation a unique id."""
    ids = own_ids(each.id for each in obligations)
    return [replace(each, id=own) for each, own in zip(obligations, ids, strict=True)]

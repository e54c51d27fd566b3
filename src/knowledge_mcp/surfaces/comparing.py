"""Comparisons of documents for the tools and the REST service: changes, checks, conflicts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from knowledge_mcp.engine.changes.comparing import Comparisons
from knowledge_mcp.engine.tracing.checking import CheckReport, EvidenceSearch, Standard, checked_against, marked
from knowledge_mcp.engine.tracing.conflicts import Conflict, Meaning, conflicting_definitions, conflicts
from knowledge_mcp.engine.tracing.decisions import RowMark
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.readings import ReadDocument, demands_in, meanings_in
from knowledge_mcp.language.multilingual.force import FORCEFUL
from knowledge_mcp.language.multilingual.recognition import LANGUAGE_NAMES
from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError


@functools.cache
def comparisons() -> Comparisons:
    """Return the comparisons of editions that this process has made."""
    from knowledge_mcp.lexical.analyser import EnglishAnalyser

    return Comparisons(EnglishAnalyser().document_terms)


def standard_of(
    name: str, parts: Sequence[ReadDocument | TraceItem], *, suggestion: str = "Name a document with requirements."
) -> Standard:
    """Take documents and items of lists for one standard.

    Args:
        name: of the standard, for messages.
        parts: what is demanded.
        suggestion: what to do where nothing is.

    Raises:
        InvalidInputError: there are no obligations.
    """
    standard = Standard.of(name, parts)
    if not standard.obligations:
        known = ", ".join(sorted(LANGUAGE_NAMES[code] for code in ("en", *FORCEFUL)))
        raise InvalidInputError(
            f"There are no obligations in {name}.",
            suggestion=f'{suggestion} Obligations ("shall", "must") are recognised in {known}.',
        )
    return standard


def check_against(
    standard: Standard,
    document: Sequence[ReadDocument | TraceItem],
    seek: EvidenceSearch,
    records: Sequence[DocumentRecord],
    marks: Sequence[RowMark],
) -> CheckReport:
    """Hold a document against a standard.

    Args:
        standard: what is demanded.
        document: what is checked.
        seek: rates sentences.
        records: of documents whose editions may be newer than those referred to.
        marks: what a person said of rows.
    """
    from knowledge_mcp.lexical.analyser import EnglishAnalyser

    analyser = EnglishAnalyser()
    report = checked_against(standard, document, seek, analyser.document_terms, analyser.term_key, records)
    return marked(report, marks)


def conflicts_in(readings: Iterable[ReadDocument], count: int, progress: Progress) -> tuple[list[Conflict], int]:
    """Find what contradicts or doubles what within and across documents, and terms that are defined in two ways.

    Args:
        readings: of the documents.
        count: how many these are.
        progress: called after each, and while sentences are compared.

    Returns:
        The conflicts, and how many sentences were compared.

    Raises:
        InvalidInputError: nothing in them demands or defines anything.
    """
    from knowledge_mcp.lexical.analyser import EnglishAnalyser

    analyser = EnglishAnalyser()
    demands: list[TraceItem] = []
    meanings: list[Meaning] = []
    for number, reading in enumerate(readings, 1):
        demands += demands_in(reading)
        meanings += meanings_in(reading, analyser.term_key)
        progress(100 * number / (count + 1), 100, f"{number} of {count} documents read")
    if not demands and not meanings:
        raise InvalidInputError(
            "There are no requirements or definitions in it.", suggestion="Name documents with requirements."
        )

    def compared(done: int, of: int) -> None:
        progress(100 * (count + done / of) / (count + 1), 100, f"{done} of {of} sentences compared")

    found = [*conflicts(demands, analyser.document_terms, compared), *conflicting_definitions(meanings)]
    return found, len(demands)

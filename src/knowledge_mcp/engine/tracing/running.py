"""A whole check: what a standard demands, defines and refers to, compared with the parts of a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.tracing.checking import CheckReport, Seeks, check
from knowledge_mcp.engine.tracing.checks import EditionsKnown, terms_otherwise
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.obligations import (
    Obligation,
    numbered_obligations,
    obligations_in,
    obligations_of_items,
)
from knowledge_mcp.engine.tracing.readings import ReadDocument, meanings_in, one_text
from knowledge_mcp.model.collection import DocumentRecord


@dataclass(frozen=True, slots=True)
class Standard:
    """Hold what is demanded, and the documents that it stands in.

    Attributes:
        name: as it was given.
        obligations: one row each, each id once.
        readings: the documents whole; empty for a list of requirements.
    """

    name: str
    obligations: tuple[Obligation, ...]
    readings: tuple[ReadDocument, ...]

    @classmethod
    def of(cls, name: str, parts: Sequence[ReadDocument | TraceItem]) -> Standard:
        """Take documents and items of lists for one standard."""
        readings = tuple(each for each in parts if isinstance(each, ReadDocument))
        obligations = [each for reading in readings for each in obligations_in(reading)]
        obligations += obligations_of_items([each for each in parts if isinstance(each, TraceItem)])
        return cls(name, tuple(numbered_obligations(obligations)), readings)


def checked_against(
    standard: Standard,
    document: Sequence[ReadDocument | TraceItem],
    seek: Seeks,
    terms: Callable[[str], Sequence[str]],
    key_of: Callable[[str], str],
    records: Sequence[DocumentRecord],
) -> CheckReport:
    """Hold a document against a standard.

    Args:
        standard: what is demanded.
        document: its parts.
        seek: rates sentences.
        terms: cuts a text into terms.
        key_of: makes one key of a term's spellings.
        records: of all ingested documents, whose editions may be newer than those referred to.
    """
    parts = [each if isinstance(each, ReadDocument) else one_text(each) for each in document]
    meanings = [each for reading in standard.readings for each in meanings_in(reading, key_of)]
    titles = [reading.record.title if reading.record is not None else reading.name for reading in standard.readings]
    text = "\n\n".join(reading.text for reading in standard.readings)
    editions = EditionsKnown(records, text or "\n".join(each.text for each in standard.obligations), "\n".join(titles))
    return check(standard.obligations, parts, seek, terms, editions, terms_otherwise(meanings, parts, key_of))

"""Citations: name a passage so that an engineer can find it in the printed document."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from knowledge_mcp.engine.core.base import Records
from knowledge_mcp.engine.core.editions import edition_of_record
from knowledge_mcp.language.openings import number_once
from knowledge_mcp.model.chunk import Chunk, Definition, Statement, text_key
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure, file_name_of
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.evidence import Excerpt, Locator
from knowledge_mcp.model.lines import SourceLines
from knowledge_mcp.model.query import Hit
from knowledge_mcp.model.source import MEDIA_TYPES, WORKBOOKS

_SHEETS = frozenset(MEDIA_TYPES[extension] for extension in {".csv", *WORKBOOKS})
"""Media types whose lines are rows of a sheet."""
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Bidirectional control characters: one in a title or file name would show the rest reversed."""
_BRACKETS = str.maketrans("[]", "()")
"""Only the file is in square brackets: a title or heading could otherwise name another one."""


def cite(chunk: Chunk, record: DocumentRecord | None) -> str:
    """Cite a chunk by title, edition, clause and title, and page, lines or rows, with its file.

    If printed page numbers differ from those of the file, both are given. A title that is stated only by the file's
    front matter or properties, but not by its text, is marked as claimed.

    Example: `Weather stations (2nd edition), 5.3.1 Wind load, p. 12 [weather.pdf]`.
    """
    return _join(chunk, record, section_of(chunk))


def cited(hit: Hit) -> Hit:
    """Return a hit with its citation."""
    return hit if hit.citation else dataclasses.replace(hit, citation=cite(hit.chunk, hit.record))


def cite_statement(statement: Statement | Definition, chunk: Chunk, record: DocumentRecord | None) -> str:
    """Cite the clause of one statement or definition, like `cite` for its chunk, and the need that it is part of."""
    is_elsewhere = statement.clause_number not in {None, chunk.clause_number}
    clause = (statement.clause_number or "") if is_elsewhere else section_of(chunk)
    is_need = record is not None and record.media_type == MEDIA_TYPES[".rst"]
    need = statement.identifier if is_need and isinstance(statement, Statement) else None
    return _join(chunk, record, clause, need or "")


def section_of(chunk: Chunk) -> str:
    """Name a chunk's section; one without a number follows its numbered enclosing section, if any."""
    section = chunk.section_hierarchy[-1] if chunk.section_hierarchy else chunk.section_title
    number = chunk.clause_number
    if number and not _names(section, number):
        above = next((each for each in reversed(chunk.section_hierarchy) if _names(each, number)), "")
        section = f"{above}, {section}" if above and section else f"{number} {chunk.section_title}".strip()
    return number_once(section)


def _join(chunk: Chunk, record: DocumentRecord | None, clause: str, item: str = "") -> str:
    parts = [_title(chunk, record), clause, item, _place(chunk, "row" if _has_rows(record) else "line")]
    joined = ", ".join(part for part in parts if part).translate(_BRACKETS)
    return TURNING.sub("", joined + _origin(chunk.source_path, record))


def _origin(source: str, record: DocumentRecord | None) -> str:
    """Return the file, or the site and page, in brackets."""
    name = record.file_name if record is not None else file_name_of(source)
    if source.startswith(("http://", "https://")):
        name = f"{urlsplit(source).netloc}/{name}".rstrip("/")
    parts = [name] if name else []
    if record is not None and record.claims("title"):
        parts.append("title claimed")
    return f" [{', '.join(parts)}]" if parts else ""


def _names(clause: str, number: str) -> bool:
    return clause.split(" ", 1)[0].rstrip(".") == number


def _title(chunk: Chunk, record: DocumentRecord | None) -> str:
    edition = edition_of_record(record) if record is not None else ""
    if not edition or edition in chunk.document_title:
        return chunk.document_title
    return f"{chunk.document_title} ({edition})"


def _has_rows(record: DocumentRecord | None) -> bool:
    return record is not None and record.media_type in _SHEETS


def _place(chunk: Chunk, unit: str) -> str:
    numbers = tuple(str(number) for number in chunk.page_numbers)
    labels = chunk.page_labels or numbers
    if labels and not (labels[0] and labels[-1]):
        return f"{_pages(numbers)} of the file"
    if labels:
        printed = f"p. {labels[0]}" if len(labels) == 1 else f"pp. {labels[0]}-{labels[-1]}"
        if numbers in {(), labels}:
            return printed
        return f"{printed} ({_pages(numbers)} of the file)"
    return named_lines(chunk.lines, unit) if chunk.lines else ""


def named_lines(lines: tuple[int, int], unit: str = "line") -> str:
    """Write first and last line: "line 3", "lines 3-5"."""
    first, last = lines
    return f"{unit} {first}" if first == last else f"{unit}s {first}-{last}"


def _pages(numbers: Sequence[str]) -> str:
    return f"page {numbers[0]}" if len(numbers) == 1 else f"pages {numbers[0]}-{numbers[-1]}"


def printed_labels(place: Locator | Chunk) -> Sequence[str]:
    """Return the printed labels of pages where they differ from the numbers."""
    return place.page_labels if place.page_labels != tuple(map(str, place.page_numbers)) else ()


def passage(
    records: Records,
    document_id: str,
    text: str,
    span: Span,
    chunks: Sequence[Chunk],
    structure: DocumentStructure = NO_STRUCTURE,
) -> Excerpt:
    """Cut a passage out of a document with its location.

    Args:
        records: provide the document's record for the citation.
        document_id: the document.
        text: its whole canonical text.
        span: what to cut out; may cover several chunks.
        chunks: the document's chunks, in any order; those with the span give pages, labels, boxes, lines, section.
        structure: if it has pages or lines, they are exactly those of the span; otherwise those of its chunks.

    Raises:
        DamagedError: a chunk with the span does not match the text at its position.
    """
    overlapping = _overlapping_chunks(span, chunks)
    for each in overlapping:
        if each.span.of(text) != each.content:
            why = "The passage differs from the canonical text at its location."
            raise DamagedError.of("passage", document_id, each.id, why=why)
    labels = _labels(span, overlapping, structure)
    known = [chunk.lines for chunk in overlapping if chunk.lines is not None]
    around = (min(first for first, _ in known), max(last for _, last in known)) if known else None
    locator = Locator(
        document_id=document_id,
        span=span,
        content_hash=text_key(span.of(text)),
        page_numbers=tuple(labels),
        page_labels=tuple(labels.values()),
        boxes=tuple(
            dict.fromkeys(box for chunk in overlapping for box in chunk.boxes if not labels or box.page in labels),
        ),
        lines=SourceLines(text, structure.lines).of(span) or around,
    )
    return Excerpt(span.of(text), locator, _citation(locator, overlapping, records.get(document_id)))


def _overlapping_chunks(span: Span, chunks: Sequence[Chunk]) -> list[Chunk]:
    """List the chunks with the span, in reading order: only the smallest one that contains it all, if there is one.

    A span of whitespace between two chunks, or an empty one, belongs to the last chunk that begins before it.
    """
    whole = [chunk for chunk in chunks if chunk.span.contains(span)]
    if whole:
        return [min(whole, key=lambda chunk: (len(chunk.span), chunk.index))]
    overlapping = [chunk for chunk in chunks if chunk.span.overlaps(span)]
    if not overlapping:
        overlapping = sorted((chunk for chunk in chunks if chunk.span.start <= span.start), key=_start)[-1:]
    return sorted(overlapping, key=_start)


def _start(chunk: Chunk) -> tuple[int, int]:
    return chunk.span.start, chunk.index


def _labels(span: Span, overlapping: Sequence[Chunk], structure: DocumentStructure) -> dict[int, str]:
    """Map each physical page of the span to its printed label, in order."""
    exact = {page.number: page.label for page in structure.pages if page.holds(span)}
    if exact:
        return exact
    pages: dict[int, str] = {}
    for chunk in overlapping:
        labels = chunk.page_labels or tuple(str(number) for number in chunk.page_numbers)
        pages.update(zip(chunk.page_numbers, labels, strict=True))
    return dict(sorted(pages.items()))


def _citation(locator: Locator, overlapping: Sequence[Chunk], record: DocumentRecord | None) -> str:
    """Cite the clause in which the span begins, with all of the span's pages or lines."""
    if not overlapping:
        return f"{record.title}{_origin(record.source_path, record)}" if record is not None else locator.document_id
    located = dataclasses.replace(
        overlapping[0], page_numbers=locator.page_numbers, page_labels=locator.page_labels, lines=locator.lines
    )
    return cite(located, record)

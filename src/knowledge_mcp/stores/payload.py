"""Chunks, records and spaces as compact JSON text, and back; the same text for equal values."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus, EmbeddingSpace
from knowledge_mcp.model.document import Anchor, Box, Reference, ReferenceKind, Span
from knowledge_mcp.model.structure import NO_STRUCTURE, DocumentStructure, OutlineEntry, PageCoverage

__all__ = [
    "chunk_from_json",
    "chunk_to_json",
    "record_from_json",
    "record_to_json",
    "space_from_json",
    "space_to_json",
    "structure_from_json",
    "structure_to_json",
]

_SIMPLE = tuple(
    field.name
    for field in fields(Chunk)
    if field.name not in {"span", "chunk_type", "lines", "links", "statements", "definitions", "boxes"}
)
_REMEMBERED = 1024
"""Texts that need not be parsed again: one search reads the same chunks up to three times, the next one often some."""

_OF_A_CHUNK = frozenset(field.name for field in fields(Chunk))
_OF_A_RECORD = tuple(field.name for field in fields(DocumentRecord))
_NO_VALUE: dict[str, Any] = {"section_hierarchy": (), "clause_number": None, "parent_chunk_id": None}
"""Fields of a chunk that need a value, which is not written where it is this one."""

_TUPLES = frozenset({"section_hierarchy", "page_numbers", "page_labels", "references", "lines"})
_CHUNK_TYPES = {each.value: each for each in ChunkType}


def chunk_to_json(chunk: Chunk) -> str:
    """Write a chunk."""
    data: dict[str, Any] = {name: getattr(chunk, name) for name in _SIMPLE}
    data["span"] = _span(chunk.span)
    data["chunk_type"] = chunk.chunk_type.value
    if chunk.lines is not None:
        data["lines"] = chunk.lines
    if chunk.links:
        data["links"] = [[link.text, link.kind.value, link.target, *_span(link.span)] for link in chunk.links]
    if chunk.statements:
        data["statements"] = [
            [
                *_span(each.span),
                each.modality.value,
                each.negated,
                each.clause_number,
                each.text,
                each.identifier,
                None if each.lead_in is None else _span(each.lead_in),
            ]
            for each in chunk.statements
        ]
    if chunk.definitions:
        data["definitions"] = [_listed(each) for each in chunk.definitions]
    if chunk.boxes:
        data["boxes"] = [[box.page, box.left, box.top, box.right, box.bottom] for box in chunk.boxes]
    return _dump({name: value for name, value in data.items() if value not in ((), None)})


@functools.lru_cache(_REMEMBERED)
def chunk_from_json(text: str) -> Chunk:
    """Read a chunk; equal texts give one and the same, which nobody can change."""
    data: dict[str, Any] = _NO_VALUE | json.loads(text)
    for name in data.keys() - _OF_A_CHUNK:  # a later version may write more
        del data[name]
    data["span"] = Span(*data["span"])
    data["chunk_type"] = _CHUNK_TYPES[data["chunk_type"]]
    for name in data.keys() & _TUPLES:
        data[name] = tuple(data[name])
    for name in data.keys() & _PARTS.keys():
        data[name] = tuple(map(_PARTS[name], data[name]))
    return Chunk(**data)


def record_to_json(record: DocumentRecord) -> str:
    """Write a document's record."""
    return _dump({name: getattr(record, name) for name in _OF_A_RECORD})


@functools.lru_cache(_REMEMBERED)
def record_from_json(text: str) -> DocumentRecord:
    """Read a document's record, as `chunk_from_json` does."""
    whole: dict[str, Any] = json.loads(text)
    data = {name: value for name, value in whole.items() if name in _OF_A_RECORD}  # a later version may write more
    data["status"] = DocumentStatus(data["status"])
    data["metadata"] = tuple((name, value) for name, value in data["metadata"])
    data["warnings"] = tuple(data["warnings"])
    return DocumentRecord(**data)


def structure_to_json(structure: DocumentStructure) -> str:
    """Write a document's structure; empty text for an empty one."""
    if structure == NO_STRUCTURE:
        return ""
    anchors = {"anchors": [[each.name, each.place] for each in structure.anchors]} if structure.anchors else {}
    return _dump(
        {
            "sections": [
                [each.level, each.number, each.title, *_span(each.span), each.page, each.informative]
                for each in structure.sections
            ],
            "pages": [
                [
                    each.number,
                    each.label,
                    *_span(each.span),
                    each.method,
                    each.characters,
                    each.tables,
                    each.figures,
                    each.note,
                ]
                for each in structure.pages
            ],
            **anchors,
        }
    )


def structure_from_json(text: str) -> DocumentStructure:
    """Read a document's structure."""
    if not text:
        return NO_STRUCTURE
    data: dict[str, list[list[Any]]] = json.loads(text)
    return DocumentStructure(
        sections=tuple(
            OutlineEntry(level, number, title, Span(start, end), page, informative)
            for level, number, title, start, end, page, informative in data["sections"]
        ),
        pages=tuple(
            PageCoverage(number, label, Span(start, end), method, characters, tables, figures, note)
            for number, label, start, end, method, characters, tables, figures, note in data["pages"]
        ),
        anchors=tuple(Anchor(name, place) for name, place in data.get("anchors", ())),
    )


def space_to_json(space: EmbeddingSpace) -> str:
    """Write an embedding space."""
    return _dump(asdict(space))


@functools.lru_cache(_REMEMBERED)
def space_from_json(text: str) -> EmbeddingSpace:
    """Read an embedding space."""
    return EmbeddingSpace(**json.loads(text))


def _statement(data: list[Any]) -> Statement:
    start, end, modality, negated, clause_number, text, identifier, lead_in = data
    return Statement(
        span=Span(start, end),
        modality=Modality(modality),
        negated=negated,
        clause_number=clause_number,
        text=text,
        identifier=identifier,
        lead_in=None if lead_in is None else Span(*lead_in),
    )


def _link(data: list[Any]) -> Reference:
    text, kind, target, start, end = data
    return Reference(text=text, kind=ReferenceKind(kind), target=target, span=Span(start, end))


def _box(data: list[Any]) -> Box:
    return Box(*data)


def _listed(definition: Definition) -> list[Any]:
    """Write a definition; notes and origin only where there are any, so that others are what they were before."""
    listed = [
        definition.term,
        definition.text,
        *_span(definition.span),
        definition.aliases,
        definition.clause_number,
        definition.domain,
    ]
    return [*listed, definition.notes, definition.origin] if definition.notes or definition.origin else listed


def _definition(data: list[Any]) -> Definition:
    term, text, start, end, aliases, clause_number, domain, *more = data
    notes, origin = more or ((), "")
    return Definition(
        term=term,
        text=text,
        span=Span(start, end),
        aliases=tuple(aliases),
        clause_number=clause_number,
        domain=domain,
        notes=tuple(notes),
        origin=origin,
    )


def _span(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _dump(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


_PARTS: Mapping[str, Callable[[list[Any]], object]] = {
    "links": _link,
    "statements": _statement,
    "definitions": _definition,
    "boxes": _box,
}
"""How a chunk's lists of parts are read."""

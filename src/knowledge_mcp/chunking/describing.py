"""Pieces to chunks: what each says of itself, whoever cut it: ids, places, statements, references, parents."""

from __future__ import annotations

import hashlib
import uuid
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from knowledge_mcp.analysis.clauses import SectionFacts
from knowledge_mcp.analysis.definitions import find_definitions
from knowledge_mcp.analysis.normative import find_statements
from knowledge_mcp.analysis.references import document_references, is_named
from knowledge_mcp.chunking.headers import HeadingPaths
from knowledge_mcp.chunking.kinds import chunk_type_of
from knowledge_mcp.chunking.passages import Piece
from knowledge_mcp.chunking.places import LinePlaces, PagePlaces, pages_of
from knowledge_mcp.model.chunk import Chunk, Definition, Modality, Statement
from knowledge_mcp.model.document import Document, Reference, Span
from knowledge_mcp.support.checkpoints import checked

__all__ = ["CHUNK_NAMESPACE", "CONTEXT_JOIN", "described"]

CHUNK_NAMESPACE = uuid.UUID("6f1d7c0e-2b0a-5d55-9a3e-6c7d3f0b8e21")
"""Namespace of all chunk ids."""

CONTEXT_JOIN = 2
"""Tokens kept free for what a tokenizer may make of the blank line between context and content."""


def described(
    document: Document, document_type: str, facts: SectionFacts, paths: HeadingPaths, pieces: Sequence[Piece]
) -> list[Chunk]:
    """Describe every piece of a document, in order."""
    writer = _Writer(document, document_type, facts, paths, _find(document, facts))
    chunks = [writer.write(index, piece) for index, piece in enumerate(checked(pieces))]
    return _with_parents(document, pieces, chunks)


class _Placed(Protocol):
    @property
    def span(self) -> Span: ...


_P = TypeVar("_P", bound=_Placed)


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold the facts of one document, each list in order of place, with the starts to search it by."""

    statements: tuple[list[Statement], list[int]]
    definitions: tuple[list[Definition], list[int]]
    references: tuple[list[Reference], list[int]]


def _find(document: Document, facts: SectionFacts) -> _Found:
    definitions = find_definitions(document, facts=facts)
    statements = find_statements(document, facts=facts, exempt=[d.span for d in definitions])
    return _Found(_indexed(statements), _indexed(definitions), _indexed(document_references(document)))


def _indexed(items: list[_P]) -> tuple[list[_P], list[int]]:
    return items, [item.span.start for item in items]


def _inside(found: tuple[list[_P], list[int]], span: Span) -> Sequence[_P]:
    items, starts = found
    return items[bisect_left(starts, span.start) : bisect_left(starts, span.end)]


class _Writer:
    """Write the chunks of one document."""

    def __init__(
        self,
        document: Document,
        document_type: str,
        facts: SectionFacts,
        paths: HeadingPaths,
        found: _Found,
    ) -> None:
        self._document = document
        self._type = document_type
        self._facts = facts
        self._paths = paths
        self._found = found
        self._line_places = LinePlaces(document.text)
        self._page_places = PagePlaces(document.pages)
        self._labels = {page.number: page.label for page in document.pages}
        self._seen: dict[tuple[str, str], int] = {}

    def write(self, index: int, piece: Piece) -> Chunk:
        """Describe one piece; parents are filled in later."""
        document = self._document
        section = piece.passage.section
        content = piece.span.of(document.text)
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        statements = _inside(self._found.statements, piece.span)
        definitions = _inside(self._found.definitions, piece.span)
        links = _inside(self._found.references, piece.span)
        pages = pages_of(self._page_places, piece)
        path = self._paths.context(section)[0]
        return Chunk(
            id=self._id(section, digest),
            document_id=document.id,
            document_title=document.title,
            document_type=self._type,
            index=index,
            content=content,
            content_hash=digest,
            context="\n".join(part for part in (path, piece.resume) if part),
            token_count=piece.tokens,
            span=piece.span,
            section_hierarchy=self._paths.hierarchy(section),
            section_title=document.sections[section].title if section is not None else "",
            clause_number=self._facts.clause_number(section),
            parent_chunk_id=None,
            chunk_type=chunk_type_of(piece, document.text, self._facts, statements, definitions),
            normative=any(s.modality is Modality.REQUIREMENT for s in statements),
            source_path=document.source_uri,
            page_numbers=pages,
            page_labels=tuple(self._labels.get(page, str(page)) for page in pages),
            lines=self._line_places.of(piece),
            references=tuple(dict.fromkeys(link.target for link in links if is_named(link))),
            links=tuple(links),
            statements=tuple(statements),
            definitions=tuple(definitions),
        )

    def _id(self, section: int | None, digest: str) -> str:
        """Derive the id from document, place, content, and how often that content stood in that place before."""
        place = self._paths.place(section)
        ordinal = self._seen.get((place, digest), 0)
        self._seen[place, digest] = ordinal + 1
        name = "\x1e".join((self._document.id, place, digest, str(ordinal)))
        return str(uuid.uuid5(CHUNK_NAMESPACE, name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")))


def _with_parents(document: Document, pieces: Sequence[Piece], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Link each chunk to the one that opens the section around it."""
    openers: dict[int, int] = {}
    for index, piece in enumerate(checked(pieces)):
        for block in piece.blocks:
            section = block.section
            while section is not None and section not in openers:
                openers[section] = index
                section = document.sections[section].parent
    linked: list[Chunk] = []
    for index, (piece, chunk) in enumerate(zip(pieces, chunks, strict=True)):
        section = piece.passage.section
        while section is not None and openers.get(section, index) >= index:
            section = document.sections[section].parent
        linked.append(chunk if section is None else replace(chunk, parent_chunk_id=chunks[openers[section]].id))
    return linked

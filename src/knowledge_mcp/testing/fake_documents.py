"""What FakeKnowledge holds: documents described in a few words, laid out as text and cut into chunks."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.document import Reference, ReferenceKind, Span

__all__ = ["SAMPLE", "FakeDocument", "Passage", "build", "from_text", "sha256"]


@dataclass(frozen=True, slots=True)
class Passage:
    """Describe one chunk of a fake document.

    A `term` makes it a definition, mandatory text makes it normative, "see 5.3" and "ISO 9001" are references.
    """

    clause: str
    heading: str
    text: str
    kind: ChunkType = ChunkType.GUIDANCE
    term: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class FakeDocument:
    """Describe one fake document."""

    id: str
    title: str
    passages: tuple[Passage, ...]
    document_type: str = "standard"
    source_path: str = ""


SAMPLE = (
    FakeDocument(
        "example-standard",
        "Example Standard for Widget Engineering",
        (
            Passage(
                "3.1",
                "widget",
                "widget: smallest part of a system that can be replaced.",
                ChunkType.DEFINITION,
                "widget",
            ),
            Passage(
                "5.3.1",
                "Verification planning",
                "The supplier shall keep a verification plan for every widget.",
                ChunkType.REQUIREMENT,
                page=7,
            ),
            Passage("5.3.2", "Records", "Verification records shall not be discarded.", ChunkType.REQUIREMENT, page=8),
            Passage(
                "5.30", "Advice", "A plan should name the people who carry it out.", ChunkType.RECOMMENDATION, page=9
            ),
        ),
    ),
    FakeDocument(
        "example-handbook",
        "Example Handbook of Reviews",
        (
            Passage("2", "Reviews", "A review of the verification plan finds faults early.", ChunkType.OVERVIEW),
            Passage("4.1", "Conduct", "The review board must record its decisions.", ChunkType.REQUIREMENT, page=3),
        ),
        document_type="handbook",
    ),
)
"""Two small documents."""


def build(document: FakeDocument) -> tuple[str, list[Chunk]]:
    """Lay the passages one after another, and describe each as a chunk."""
    text = ""
    chunks: list[Chunk] = []
    for index, passage in enumerate(document.passages):
        text += f"{passage.clause} {passage.heading}\n".lstrip()
        span = Span(len(text), len(text) + len(passage.text))
        text += passage.text + "\n\n"
        chunks.append(_chunk(document, passage, index, span))
    return text, chunks


def _chunk(document: FakeDocument, passage: Passage, index: int, span: Span) -> Chunk:
    mandatory = re.search(r"\b(shall|must)\b", passage.text) is not None
    clause = passage.clause or None
    statement = Statement(
        span, Modality.REQUIREMENT, re.search(r"\b(shall|must) not\b", passage.text) is not None, clause, passage.text
    )
    links = tuple(_links(passage.text, span.start))
    definition = Definition(passage.term, passage.text.partition(": ")[2] or passage.text, span, (), clause)
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document.id}/{index}/{passage.text}")),
        document_id=document.id,
        document_title=document.title,
        document_type=document.document_type,
        index=index,
        content=passage.text,
        content_hash=sha256(passage.text),
        context=f"{document.title} > {passage.heading}",
        token_count=len(passage.text.split()),
        span=span,
        section_hierarchy=(f"{passage.clause} {passage.heading}".strip(),),
        section_title=passage.heading,
        clause_number=clause,
        parent_chunk_id=None,
        chunk_type=passage.kind,
        normative=mandatory,
        source_path=document.source_path,
        page_numbers=(passage.page,),
        page_labels=(str(passage.page),),
        references=tuple(dict.fromkeys(link.target for link in links)),
        links=links,
        statements=(statement,) if mandatory else (),
        definitions=(definition,) if passage.term else (),
    )


def _links(text: str, start: int) -> Iterator[Reference]:
    for match in re.finditer(r"\bsee (?P<clause>\d+(?:\.\d+)*)|\b(?P<document>(?:ISO|IEEE|RFC) \d+(?::\d{4})?)", text):
        kind = ReferenceKind.CLAUSE if match.group("clause") else ReferenceKind.DOCUMENT
        target = match.group("clause") or match.group("document")
        yield Reference(match.group(), kind, target, Span(start + match.start(), start + match.end()))


def from_text(name: str, uri: str, text: str) -> FakeDocument:
    """Make a document of plain text, one passage a paragraph."""
    stem = name.rpartition(".")[0] or name
    slug = re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-")
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    return FakeDocument(slug, stem, tuple(Passage("", stem, part) for part in paragraphs), "custom", uri)


def sha256(text: str) -> str:
    """Hash text."""
    return hashlib.sha256(text.encode()).hexdigest()

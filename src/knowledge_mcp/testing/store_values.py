"""Chunks, vectors and records for tests of stores: small, simple, and the same in every run."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, EmbeddedChunk, Modality, Statement, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, EmbeddingSpace, OutlineEntry, PageCoverage
from knowledge_mcp.model.document import Box, DeclaredLink, Reference, ReferenceKind, RequirementItem, Span
from knowledge_mcp.model.lines import LineRun

SPACE = EmbeddingSpace(provider="local", model="made-for-tests", dimensions=16, variant="fake", pooling="mean")
"""Embedding space of all vectors made here."""


def unit_vector(seed: str, dimensions: int = SPACE.dimensions) -> Vector:
    """Return the vector of a seed; different seeds give unrelated directions."""
    dice = random.Random(seed)
    components = [dice.gauss(0.0, 1.0) for _ in range(dimensions)]
    norm = math.sqrt(sum(each * each for each in components))
    return struct.pack(f"<{dimensions}f", *(each / norm for each in components))


@dataclass(frozen=True)
class SamplePassage:
    """The fields of a chunk that matter in a test; all others are derived.

    Attributes:
        text: its content.
        direction: seed of its vector; empty for the text itself.
        id: its id; empty for one derived from document, position and text.
        terms: what it defines, each as (term, aliases …).
    """

    text: str
    direction: str = ""
    id: str = ""
    document_type: str = "standard"
    chunk_type: ChunkType = ChunkType.GUIDANCE
    normative: bool = False
    clause_number: str | None = None
    terms: tuple[tuple[str, ...], ...] = ()
    context: str = ""


def embedded(document_id: str, passages: Sequence[SamplePassage | str]) -> list[EmbeddedChunk]:
    """Create a document's chunks with their vectors."""
    made: list[EmbeddedChunk] = []
    start = 0
    for index, each in enumerate(passages):
        passage = SamplePassage(each) if isinstance(each, str) else each
        digest = hashlib.sha256(f"{document_id}/{index}/{passage.text}".encode()).hexdigest()
        span = Span(start, start + len(passage.text))
        start = span.end + 1
        chunk = Chunk(
            id=passage.id or f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}",
            document_id=document_id,
            document_title=f"Title of {document_id}",
            document_type=passage.document_type,
            index=index,
            content=passage.text,
            content_hash=hashlib.sha256(passage.text.encode()).hexdigest(),
            context=passage.context,
            token_count=len(passage.text.split()),
            span=span,
            section_hierarchy=("5 Requirements",),
            section_title="Requirements",
            clause_number=passage.clause_number,
            parent_chunk_id=None,
            chunk_type=passage.chunk_type,
            normative=passage.normative,
            source_path=f"/documents/{document_id}.md",
            definitions=tuple(
                Definition(term=names[0], text=passage.text, span=span, aliases=tuple(names[1:]))
                for names in passage.terms
            ),
        )
        key = hashlib.sha256(f"{chunk.embedding_text}{passage.direction}".encode()).hexdigest()
        made.append(EmbeddedChunk(chunk, unit_vector(passage.direction or passage.text), key))
    return made


def full_chunk(document_id: str) -> EmbeddedChunk:
    """Create a chunk in which all fields have values, including unusual characters."""
    text = "The supplier shall verify »ünïcode« — 東京 🎉\n| a | b |\n\tsee 5.3.1."
    chunk = Chunk(
        id="0f0e0d0c-0b0a-5908-8706-050403020100",
        document_id=document_id,
        document_title='A "title"',
        document_type="handbook",
        index=0,
        content=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        context="5 Requirements › 5.3 Verification",
        token_count=17,
        span=Span(3, 3 + len(text)),
        section_hierarchy=("5 Requirements", "5.3 Verification"),
        section_title="Verification",
        clause_number="5.3",
        parent_chunk_id="0f0e0d0c-0b0a-5908-8706-050403020101",
        chunk_type=ChunkType.REQUIREMENT,
        normative=True,
        source_path="/documents/a b.pdf",
        page_numbers=(4, 5),
        page_labels=("iv", "1"),
        lines=(12, 14),
        references=("5.3.1",),
        links=(Reference("see 5.3.1", ReferenceKind.CLAUSE, "5.3.1", Span(40, 49)),),
        statements=(
            Statement(
                Span(3, 20), Modality.REQUIREMENT, False, "5.3", "The supplier shall verify", "REQ-12", Span(0, 2)
            ),
            Statement(Span(21, 30), Modality.PERMISSION, True, None, "may not"),
        ),
        definitions=(
            Definition(
                "verification", "proof", Span(5, 9), ("V&V", "check"), "3.1.4", "systems", ("Note 1: a",), "ISO 1, 3.2"
            ),
            Definition("widget", "thing", Span(9, 14)),
        ),
        boxes=(Box(4, 72.0, 640.25, 523.5, 771.125), Box(5, 72.0, 56.0, 301.7, 80.1)),
    )
    return EmbeddedChunk(chunk, unit_vector("full"), "e" * 64)


def full_structure() -> DocumentStructure:
    """Create a structure in which each field has a value, and each optional field is also empty once."""
    return DocumentStructure(
        sections=(
            OutlineEntry(1, None, "Vorwort »ünïcode« 東京 🎉", Span(0, 40)),
            OutlineEntry(1, "5", 'Requirements \\ "quoted"\n\u2028', Span(41, 900), page=4),
            OutlineEntry(2, "5.3.1.2", "", Span(60, 60), page=4),
            OutlineEntry(1, "A", "Annex", Span(901, 1000), page=5, informative=True, line=77),
        ),
        pages=(
            PageCoverage(1, "iv", Span(0, 0), "none", 0, note="Nothing on it could be read: is Tesseract installed?"),
            PageCoverage(
                4, "1", Span(0, 900), "text_layer", 742, tables=2, figures=1, runs=(Span(0, 400), Span(500, 900))
            ),
            PageCoverage(5, "", Span(901, 1000), "ocr", 90, figures=3, note="Read with a confidence of 61."),
        ),
        items=(
            RequirementItem(
                "R-1",
                "Halt »ü«",
                "It shall\nhalt.",
                "1.10",
                "REQUIREMENT",
                {"STATUS": 'a, "b"', "東京": "\u2028"},
                (DeclaredLink("R-2", "Parent"), DeclaredLink("elsewhere")),
                7,
                True,
                Span(41, 900),
            ),
            RequirementItem("R-2", "", ""),
        ),
        original="eJwDAAAAAAE=",
        lines=(LineRun(Span(0, 40), 1, 3), LineRun(Span(41, 900), 9, 9)),
    )


def structure(sections: int, *, pages: int = 1) -> DocumentStructure:
    """Create a structure of `sections` sections, spread over `pages` pages; other numbers give other structures."""
    return DocumentStructure(
        sections=tuple(
            OutlineEntry(
                level=1 + number % 4,
                number=f"{1 + number // 100}.{number % 100}",
                title=f"Section {number} of {sections}, about as long as headings are",
                span=Span(100 * number, 100 * number + 99),
                page=1 + number * pages // max(1, sections),
            )
            for number in range(sections)
        ),
        pages=tuple(
            PageCoverage(number, str(number), Span(500 * number, 500 * number + 499), "text_layer", 400, number % 3)
            for number in range(1, 1 + pages)
        ),
    )


def record(document_id: str, chunks: Sequence[EmbeddedChunk], *, sha256: str = "0" * 64) -> DocumentRecord:
    """Create the record for these chunks."""
    return DocumentRecord(
        id=document_id,
        title=f"Title of {document_id}",
        document_type="standard",
        source_path=f"/documents/{document_id}.md",
        sha256=sha256,
        pipeline="p",
        size=1000,
        pages=3,
        chunk_count=len(chunks),
        token_count=sum(each.chunk.token_count for each in chunks),
        embedding_model=SPACE.label,
        created_at="2026-01-01T00:00:00+00:00",
        updated_at="2026-01-02T00:00:00+00:00",
        media_type="text/markdown",
        metadata=(("edition", "2"), ("author", "Ä. Ö.")),
        warnings=("Page 3 was empty.",),
    )


def without_check_sums(text: str) -> str:
    """Serialise a record or chunk as programs did before check sums existed."""
    values = json.loads(text)
    values.pop("sum", None)
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))

"""Boxes of chunks: they hold every word of the chunk, whoever cut it; and old documents get them without embedding."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from knowledge_mcp.chunking.prose.describing import with_boxes
from knowledge_mcp.chunking.prose.recursive import RecursiveChunker
from knowledge_mcp.chunking.prose.sections import ClauseChunker, ContextualChunker
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.model.document import Block, BlockKind, Box, Document, Span
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Chunker
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.support.workers import MadeOnce
from tests.engine.world import World
from tests.fakes.documents import Part, PieceMeasure, build_document
from tests.readers.in_process import InProcessSandbox
from tests.readers.page_words import LAYOUTS, PageWord, holds, layout, page_words
from tests.readers.pdf_files import item_of

CHUNKERS: Sequence[Callable[[], Chunker]] = (ClauseChunker, ContextualChunker, RecursiveChunker)
Reading = tuple[Document, tuple[PageWord, ...]]
MEASURES = (PieceMeasure(max_tokens=60), PieceMeasure(max_tokens=400))


@pytest.fixture(scope="module")
def readings() -> dict[str, Reading]:
    """Read every layout once."""
    reader = PdfReader(sandbox=InProcessSandbox())
    return {name: (reader.read(item_of(layout(name))), page_words(layout(name))) for name in LAYOUTS}


@pytest.mark.requirement("A-REQ-DATA-001")
@pytest.mark.parametrize("make", CHUNKERS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_word_of_a_chunk_lies_inside_its_boxes(
    readings: dict[str, Reading], name: str, make: Callable[[], Chunker]
) -> None:
    document, words = readings[name]
    for measure in MEASURES:
        chunks = make().chunk(document, "standard", measure)
        assert chunks
        for chunk in chunks:
            spelled = set(re.findall(r"[a-z]{7}", chunk.content.lower()))
            outside = [
                word
                for word in words
                if word.text.lower() in spelled and not any(holds(box, word.box) for box in chunk.boxes)
            ]
            assert outside == []
            assert {box.page for box in chunk.boxes} == set(chunk.page_numbers)


def test_a_chunk_of_one_column_does_not_cover_the_other(
    readings: dict[str, Reading],
) -> None:
    document, _ = readings["columns"]
    chunks = ClauseChunker().chunk(document, "standard", MEASURES[0])
    narrow = [box for chunk in chunks for box in chunk.boxes if box.bottom - box.top > 100]
    assert narrow
    assert all(box.right - box.left < 300 for box in narrow)


def placed(*boxes: tuple[float, float, float, float]) -> tuple[Box, ...]:
    """Give a chunk's boxes where its blocks have these."""
    parts = [Part(BlockKind.PARAGRAPH, f"Words of block {number}.", page=1) for number in range(len(boxes))]
    document = build_document(parts)
    blocks = tuple(
        dataclasses.replace(block, boxes=(Box(1, *box),)) for block, box in zip(document.blocks, boxes, strict=True)
    )
    chunks = RecursiveChunker().chunk(dataclasses.replace(document, blocks=blocks), "guide", PieceMeasure())
    (chunk,) = chunks
    return chunk.boxes


def test_blocks_that_follow_one_another_down_a_column_are_one_box() -> None:
    assert placed((72, 90, 150, 105), (72, 110, 520, 160), (86, 165, 500, 230)) == (Box(1, 72, 90, 520, 230),)


def test_what_stands_apart_or_beside_is_a_box_of_its_own() -> None:
    assert len(placed((72, 90, 520, 105), (72, 400, 520, 460))) == 2
    assert len(placed((72, 300, 280, 700), (310, 90, 520, 300))) == 2


def test_a_heading_over_two_columns_does_not_make_one_box_of_both() -> None:
    heading, left, right = (72.0, 90.0, 520.0, 105.0), (72.0, 115.0, 280.0, 700.0), (310.0, 115.0, 520.0, 700.0)
    assert placed(heading, left, right) == (Box(1, *heading), Box(1, *left), Box(1, *right))


def test_of_a_block_over_pages_only_the_chunks_own_pages_count() -> None:
    document = build_document([Part(BlockKind.PARAGRAPH, "First half. Second half.", page=1)])
    boxes = (Box(1, 72, 700, 520, 800), Box(2, 72, 90, 520, 140))
    block = Block(BlockKind.PARAGRAPH, Span(0, len(document.text)), pages=(1, 2), boxes=boxes)
    held = dataclasses.replace(document, blocks=(block,))
    (chunk,) = RecursiveChunker().chunk(document, "guide", PieceMeasure())
    assert with_boxes(held, [dataclasses.replace(chunk, page_numbers=(2,))])[0].boxes == boxes[1:]
    assert with_boxes(held, [dataclasses.replace(chunk, page_numbers=(1, 2))])[0].boxes == boxes
    assert with_boxes(held, [dataclasses.replace(chunk, page_numbers=(3,))])[0].boxes == boxes


# ---- documents of an earlier version --------------------------------------------------------------------------------


class _Earlier(PdfReader):
    """The reader as it was before it knew boxes."""

    @property
    def version(self) -> str:
        return "pdf-1"

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        document = super().read(item, progress)
        return dataclasses.replace(
            document, blocks=tuple(dataclasses.replace(block, boxes=()) for block in document.blocks)
        )


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_a_document_of_an_earlier_version_gets_its_boxes_without_being_embedded_again(tmp_path: Path) -> None:
    (tmp_path / "plain.pdf").write_bytes(layout("plain"))
    world = World(tmp_path)

    def ingest(reader: PdfReader) -> tuple[int, int]:
        pipeline = Pipeline({"application/pdf": reader}, ClauseChunker(), DocumentClassifier())
        knowledge = LocalKnowledge(world.base, MadeOnce(lambda: pipeline))
        (done,) = knowledge.ingest(FileSource(tmp_path), IngestOptions()).documents
        return done.embedded, done.reused

    embedded, _ = ingest(_Earlier(sandbox=InProcessSandbox()))
    assert embedded > 2
    assert not any(chunk.boxes for chunk in world.knowledge.document_chunks("plain"))
    assert ingest(PdfReader(sandbox=InProcessSandbox())) == (0, embedded)
    assert all(chunk.boxes for chunk in world.knowledge.document_chunks("plain"))

"""Twice the blocks take about twice the steps, whatever the blocks are; and cutting stops where it is told to."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from knowledge_mcp.chunking.code.chunker import CodeChunker
from knowledge_mcp.chunking.prose.recursive import RecursiveChunker
from knowledge_mcp.chunking.prose.sections import ClauseChunker, ContextualChunker
from knowledge_mcp.cli.knowledge.inspect import LightMeasure
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.model.document import BlockKind, Document, HeadingSource, Reference, ReferenceKind
from knowledge_mcp.model.errors import UnreadableDocumentError
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Chunker
from knowledge_mcp.readers.shared import assembly
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.support.checkpoints import watch_for_stop

Fill = Callable[[DocumentBuilder, int], None]

ITEM = SourceItem("file:///x.md", "x.md", "text/markdown", 1, "0" * 64, lambda: io.BytesIO(b"x"))
CHUNKERS: tuple[Chunker, ...] = (ClauseChunker(), ContextualChunker(), RecursiveChunker(), CodeChunker())
SIZE = 150
MOST = 2.5


def heading(builder: DocumentBuilder, title: str, level: int = 2, number: str | None = None) -> None:
    builder.heading(title, level=level, source=HeadingSource.MARKUP, number=number)


def many(kind: BlockKind, words: str, opening: str = "The system shall do the following:", depths: int = 1) -> Fill:
    """Make many blocks of one kind under one heading; `{}` is the number of each."""

    def fill(builder: DocumentBuilder, size: int) -> None:
        builder.block(BlockKind.PARAGRAPH, opening)
        for number in range(size):
            builder.block(kind, words.replace("{}", str(number)), depth=number % depths)

    return fill


def giant(kind: BlockKind, words: str, joint: str = "\n", head: str = "") -> Fill:
    """Make one block of many parts."""

    def fill(builder: DocumentBuilder, size: int) -> None:
        text = head + joint.join(words.replace("{}", str(number)) for number in range(10 * size))
        builder.block(kind, text, lines=(1, 1 + text.count("\n")))

    return fill


def headings(number: str | None, body: str, step: int = 0) -> Fill:
    def fill(builder: DocumentBuilder, size: int) -> None:
        for place in range(size):
            heading(builder, f"Title {place}", 2 + place * step // size, number and number.replace("{}", str(place)))
            builder.block(BlockKind.PARAGRAPH, body)

    return fill


def terms(builder: DocumentBuilder, size: int) -> None:
    for place in range(size):
        heading(builder, "Terms and definitions", 2, str(place))
        heading(builder, f"term {place}", 3, f"{place}.1")
        builder.block(BlockKind.PARAGRAPH, f"machine that moves {place} litres of water")
        builder.block(BlockKind.NOTE, "Note 1 to entry: it is so.")


def pages(builder: DocumentBuilder, size: int) -> None:
    for place in range(size):
        builder.block(BlockKind.PARAGRAPH, f"Cash {place} 1,200 3,400 5,600", pages=(place + 1,))
    numbers = tuple(range(size + 1, 2 * size + 1))
    builder.block(BlockKind.PARAGRAPH, "words " * 20 * size, pages=numbers, breaks=[120 * k for k in range(1, size)])


def known_references(builder: DocumentBuilder, size: int) -> None:
    for _ in range(size):
        span = builder.block(BlockKind.PARAGRAPH, "see 5.3.1 for this")
        assert span is not None
        builder.reference(Reference("see 5.3.1", ReferenceKind.CLAUSE, "5.3.1", span))


def code_below_an_example(builder: DocumentBuilder, size: int) -> None:
    builder.block(BlockKind.EXAMPLE, "EXAMPLE It is so.")
    many(BlockKind.CODE, "x = {}")(builder, 8 * size)


SHAPES: dict[str, Fill] = {
    "list items": many(BlockKind.LIST_ITEM, "item number {} stands here"),
    "nested list items": many(BlockKind.LIST_ITEM, "item number {} stands here and:", depths=9),
    "items of a JSON file": many(BlockKind.LIST_ITEM, "key{}: value {}", opening="data"),
    "paragraphs": many(BlockKind.PARAGRAPH, "The pump shall start {} times, see clause 5.{}."),
    "same paragraphs": many(BlockKind.PARAGRAPH, "the same words"),
    "notes": many(BlockKind.NOTE, "NOTE {} It shall be so."),
    "examples": many(BlockKind.EXAMPLE, "EXAMPLE {} It is so."),
    "captions": many(BlockKind.CAPTION, "Table {} Of words"),
    "quotations": many(BlockKind.QUOTE, "quoted {}"),
    "footnotes": many(BlockKind.FOOTNOTE, "foot {}"),
    "tables": many(BlockKind.TABLE, "| a | b |\n| --- | --- |\n| {} | It shall be so. |"),
    "blocks of code": many(BlockKind.CODE, "value_{} = compute(value, {}, of_more_words)"),
    "labels": many(BlockKind.PARAGRAPH, "SRS {} - The payload shall be kept."),
    "code below an example": code_below_an_example,
    "rows": giant(BlockKind.TABLE, "| R-{} | It shall start. |", head="| id | text |\n| --- | --- |\n"),
    "rows of a glossary": giant(BlockKind.TABLE, "| t{} | a pump |", head="| term | definition |\n| --- | --- |\n"),
    "columns": giant(BlockKind.TABLE, "| c{} ", joint=""),
    "lines of code": giant(BlockKind.CODE, "x = {}"),
    "lines": giant(BlockKind.PARAGRAPH, "line {} has words"),
    "a giant line": giant(BlockKind.PARAGRAPH, "word", joint=" "),
    "a giant word": giant(BlockKind.PARAGRAPH, "words", joint=""),
    "sentences": giant(BlockKind.PARAGRAPH, "It shall be {}.", joint=" "),
    "a sentence of keywords": giant(BlockKind.PARAGRAPH, "shall may", joint=" "),
    "abbreviations": giant(BlockKind.PARAGRAPH, "e.g.", joint=" "),
    "headings": headings(None, "Words."),
    "numbered headings": headings("5.{}", "Words."),
    "headings without text": headings(None, ""),
    "numbered headings without text": headings("5.{}", ""),
    "headings ever deeper": headings("5.{}", "", step=10),
    "terms": terms,
    "pages": pages,
    "references that are known": known_references,
}


def built(fill: Fill, size: int) -> Document:
    builder = DocumentBuilder()
    heading(builder, "Document", 1)
    fill(builder, size)
    return builder.build(ITEM)


def steps(work: Callable[[], object]) -> int:
    """Count the calls, of Python's functions and of others, that work takes."""
    counted = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> None:
        nonlocal counted
        counted += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def growth(work: Callable[[int], object]) -> float:
    """Tell how many times the steps twice the size takes; a few hundred steps are for what is done once."""
    work(SIZE)
    return steps(lambda: work(2 * SIZE)) / (steps(lambda: work(SIZE)) + 300)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_blocks_take_twice_the_steps(shape: str) -> None:
    fill = SHAPES[shape]
    documents = {size: built(fill, size) for size in (SIZE, 2 * SIZE)}
    assert growth(lambda size: built(fill, size)) < MOST
    assert growth(lambda size: DocumentClassifier()(documents[size])) < MOST
    grown = {chunker.version: _growth_of(chunker, documents) for chunker in CHUNKERS}
    assert {version: ratio for version, ratio in grown.items() if ratio >= MOST} == {}


def _growth_of(chunker: Chunker, documents: dict[int, Document]) -> float:
    return growth(lambda size: chunker.chunk(documents[size], "standard", LightMeasure()))


def test_steps_that_grow_with_the_square_are_noticed() -> None:
    assert growth(lambda size: [len(str(place)) for place in range(size * size)]) > MOST


class StopError(Exception):
    """What ends the work in these tests."""


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda chunker: chunker.version.split("/")[0])
@pytest.mark.parametrize("shape", ["list items", "a giant line", "lines of code", "headings without text"])
def test_cutting_stops_soon_after_it_is_told_to(shape: str, chunker: Chunker) -> None:
    document = built(SHAPES[shape], SIZE)
    asked = 0

    def count() -> None:
        nonlocal asked
        asked += 1

    with watch_for_stop(count, every=0.0):
        whole = steps(lambda: chunker.chunk(document, "standard", LightMeasure()))
    looks = asked

    def stop_half_way() -> None:
        nonlocal asked
        asked += 1
        if asked >= looks // 2:
            raise StopError

    asked = 0

    def stopped() -> None:
        with pytest.raises(StopError), watch_for_stop(stop_half_way, every=0.0):
            chunker.chunk(document, "standard", LightMeasure())

    assert looks >= 4
    assert steps(stopped) < whole


def test_a_document_of_more_text_than_the_limit_is_refused_by_name_of_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(assembly, "MOST_TEXT", 2_000_000)
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "word " * 400_001)
    with pytest.raises(UnreadableDocumentError, match="more than 2 million characters") as caught:
        builder.build(ITEM)
    assert caught.value.reason == "too_large"

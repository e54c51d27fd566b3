"""What an ingest keeps of a document's sections and pages, and when it reads a document again for it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.engine.ingest import plan
from knowledge_mcp.engine.ingest.facts import structure_of
from knowledge_mcp.model.collection import NO_STRUCTURE, OutlineEntry
from knowledge_mcp.model.document import BlockKind, Document, HeadingSource, Page, Span
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.testing.store_search import structure_of as kept_structure_of
from knowledge_mcp.testing.store_search import text_of
from tests.engine.world import PUMPS, World

ITEM = SourceItem("/d.pdf", "d.pdf", "application/pdf", 1, "0" * 64, lambda: io.BytesIO(b""))


def paged() -> Document:
    """Make a document on five pages: prose that runs on, tables, captions, a blank page and one that nothing read."""
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "Before the first heading.", pages=[1])
    builder.heading("Requirements", level=1, number="5", source=HeadingSource.OUTLINE, pages=[1])
    builder.block(BlockKind.PARAGRAPH, "One part.\nThe other part.", pages=[1, 2], breaks=[10])
    builder.heading("Power", level=2, number="5.1", source=HeadingSource.OUTLINE, pages=[2])
    builder.block(BlockKind.CAPTION, "Table 1 – Loads", pages=[2], marker="Table 1")
    builder.block(BlockKind.TABLE, "| a | b |\n| - | - |\n| 1 | 2 |", pages=[2, 3])
    builder.block(BlockKind.CAPTION, "Figure 2 – Wiring", pages=[3], marker="Figure 2")
    builder.block(BlockKind.CAPTION, "Fig. 3: Panel", pages=[3])
    builder.block(BlockKind.PARAGRAPH, "Figure 4 is in another document.", pages=[3])
    builder.page(4, "iv", method="blank")
    builder.page(5, "v", method="none", note="Nothing on it could be read.")
    builder.heading("Forms", level=1, number="A", source=HeadingSource.OUTLINE, informative=True, pages=[3])
    return builder.build(ITEM)


def test_a_section_is_kept_with_number_span_and_the_page_of_its_heading() -> None:
    document = paged()
    sections = structure_of(document).sections
    assert [(each.level, each.number, each.title, each.page, each.informative) for each in sections] == [
        (1, "5", "Requirements", 1, False),
        (2, "5.1", "Power", 2, False),
        (1, "A", "Forms", 3, True),
    ]
    assert [each.span for each in sections] == [each.span for each in document.sections]


def test_a_heading_before_the_first_page_that_a_text_marks_is_on_none() -> None:
    builder = DocumentBuilder()
    builder.heading("Deploying", level=1, source=HeadingSource.MARKUP)
    builder.heading("Going back", level=2, source=HeadingSource.MARKUP, pages=[2])
    assert [each.page for each in structure_of(builder.build(ITEM)).sections] == [None, 2]


def test_pages_tell_how_they_were_read_and_what_stands_on_them() -> None:
    document = paged()
    pages = structure_of(document).pages
    assert [(each.number, each.label, each.method, each.tables, each.figures) for each in pages] == [
        (1, "1", "text_layer", 0, 0),
        (2, "2", "text_layer", 1, 0),
        (3, "3", "text_layer", 0, 2),
        (4, "iv", "blank", 0, 0),
        (5, "v", "none", 0, 0),
    ]
    assert [each.characters for each in pages[3:]] == [0, 0]
    assert pages[4].note == "Nothing on it could be read."
    assert pages[0].span == document.pages[0].span
    assert pages[0].characters == len("".join("Before the first heading. 5 Requirements One part.".split()))


def test_a_heading_whose_block_names_no_page_lies_on_the_page_that_its_text_is_in() -> None:
    document = paged()
    bare = replace(document, blocks=tuple(replace(block, pages=()) for block in document.blocks))
    assert [each.page for each in structure_of(bare).sections] == [1, 2, 3]
    lost = replace(bare, pages=(Page(1, "1", Span(0, 3)),))
    assert [each.page for each in structure_of(lost).sections] == [1, 1, 1], "none reaches so far"
    assert [each.page for each in structure_of(replace(bare, pages=())).sections] == [None, None, None]


def test_a_text_without_headings_and_pages_has_no_structure() -> None:
    builder = DocumentBuilder()
    builder.block(BlockKind.PARAGRAPH, "Just this.")
    assert structure_of(builder.build(ITEM)) == NO_STRUCTURE


def test_an_ingest_keeps_the_sections_of_what_it_read(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"pumps.md": PUMPS})
    (record,) = world.store.open("kb").documents()
    kept = kept_structure_of(world.store.open("kb"), record.id)
    assert kept is not None
    text = text_of(world.store.open("kb"), record.id)
    assert text is not None
    assert kept.pages == ()
    assert [(each.level, each.number, each.title) for each in kept.sections][:4] == [
        (1, None, "Pumping stations"),
        (2, "1", "Scope"),
        (2, "2", "Terms and definitions"),
        (3, "2.1", "outage"),
    ]
    alarms = next(each for each in kept.sections if each.number == "3.2")
    assert isinstance(alarms, OutlineEntry)
    assert alarms.span.of(text).startswith("3.2 Alarms")
    assert alarms.span.of(text).endswith("planned outage.")


def test_what_was_ingested_before_there_were_structures_is_read_again_and_not_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    world.write("pumps.md", PUMPS)
    with monkeypatch.context() as older:
        older.setattr(plan, "STRUCTURE_VERSION", "none yet")
        world.ingest()
    (record,) = world.store.open("kb").documents()
    chunks = world.store.open("kb").chunks("document", [record.id])
    (again,) = world.ingest().documents
    assert (again.unchanged, again.embedded, again.reused) == (False, 0, len(chunks))
    kept = kept_structure_of(world.store.open("kb"), record.id)
    assert kept is not None
    assert kept.sections
    assert world.store.open("kb").chunks("document", [record.id]) == chunks
    (third,) = world.ingest().documents
    assert third.unchanged

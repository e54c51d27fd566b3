"""The chunker of the RAG library: sections together, chapters apart, headings as context, tables whole."""

from __future__ import annotations

import pytest

from knowledge_mcp.chunking.prose.sections import ContextualChunker
from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.model.errors import ConfigError
from tests.fakes.documents import Part, PieceMeasure, build_document
from tests.readers.test_markdown_structure import read

WIDE = PieceMeasure(max_tokens=8192)
NARROW = PieceMeasure(max_tokens=256)
SENTENCE = "The grey pump hums all day long in its room. "
"""Eleven tokens."""


def head(title: str, level: int = 1, number: str | None = None) -> Part:
    return Part(BlockKind.HEADING, title, level, number)


def text(sentences: int, page: int | None = None) -> Part:
    return Part(BlockKind.PARAGRAPH, (SENTENCE * sentences).strip(), page=page)


def cut(document: Document, measure: PieceMeasure = WIDE, most: int = 800) -> list[Chunk]:
    return ContextualChunker(most).chunk(document, "guide", measure)


def of(*parts: Part, measure: PieceMeasure = WIDE, most: int = 800) -> list[Chunk]:
    return cut(build_document(parts, title="Pump Guide"), measure, most)


@pytest.mark.requirement("D-REQ-7.1")
def test_headings_are_the_context_of_each_chunk() -> None:
    chunks = of(head("Care"), head("Oil", 2), text(60), head("Water", 2), text(60))
    assert [chunk.context for chunk in chunks] == ["Pump Guide > Care > Oil", "Pump Guide > Care > Water"]
    assert [chunk.section_hierarchy for chunk in chunks] == [("Care", "Oil"), ("Care", "Water")]
    assert chunks[0].embedding_text.startswith("Pump Guide > Care > Oil\n\nCare\n\nOil\n\nThe grey pump")


@pytest.mark.requirement("D-REQ-7.1")
def test_small_neighbours_of_one_section_become_one_chunk_cited_by_what_is_around_them() -> None:
    chunks = of(
        head("Care", 1, "3"), text(2), head("Oil", 2), text(3), head("Water", 2), text(3),
        head("Faults", 1, "4"), text(2),
    )  # fmt: skip
    assert [(chunk.clause_number, chunk.section_title) for chunk in chunks] == [("3", "Care"), ("4", "Faults")]
    assert "Oil" in chunks[0].content
    assert "Water" in chunks[0].content


def test_numbered_clauses_are_never_mixed_so_that_each_is_cited_by_its_own_number() -> None:
    chunks = of(
        head("Care", 1, "3"), text(2), head("Oil", 2, "3.1"), text(3), head("Water", 2, "3.2"), text(3),
        head("Faults", 1, "4"), text(2),
    )  # fmt: skip
    assert [chunk.clause_number for chunk in chunks] == ["3", "3.1", "3.2", "4"]


def test_what_stands_deepest_is_joined_first() -> None:
    chunks = of(
        head("Care"), head("Oil", 2), text(28), head("Water", 2), text(5), head("Hot", 3), text(20), head("Cold", 3),
        text(20),
    )  # fmt: skip
    assert [chunk.section_title for chunk in chunks] == ["Oil", "Water"]
    assert "Cold" in chunks[1].content


def test_chapters_are_never_mixed_however_small_they_are() -> None:
    chunks = of(*(part for title in "ABC" for part in (head(title), text(1))))
    assert [chunk.section_title for chunk in chunks] == ["A", "B", "C"]
    below_a_title = of(head("Guide"), text(1), *(part for title in "ABC" for part in (head(title, 2), text(1))))
    assert [chunk.section_title for chunk in below_a_title] == ["Guide", "A", "B", "C"]


def test_informative_parts_and_references_keep_to_themselves() -> None:
    chunks = of(
        head("Rules"), head("Words", 2), text(2), head("References", 2), text(2),
        Part(BlockKind.HEADING, "Hints", 2, informative=True), text(2),
    )  # fmt: skip
    assert [chunk.section_title for chunk in chunks] == ["Words", "References", "Hints"]
    assert chunks[1].chunk_type is ChunkType.REFERENCE


@pytest.mark.parametrize(("measure", "most", "least"), [(NARROW, 256, 150), (WIDE, 800, 500)])
def test_size_follows_what_the_model_reads(measure: PieceMeasure, most: int, least: int) -> None:
    chunks = of(head("Care"), *(text(9) for _ in range(40)), measure=measure)
    assert len(chunks) > 4
    for chunk in chunks:
        assert measure.count_tokens(chunk.embedding_text) <= most + (0 if measure is NARROW else 10)
        assert chunk.token_count >= least


def test_parts_of_a_long_section_share_whole_sentences() -> None:
    first, second, *_ = of(head("Care"), text(200))
    assert second.span.start < first.span.end
    shared = second.content[: first.span.end - second.span.start].strip()
    assert shared.startswith("The grey pump")
    assert shared.endswith(".")
    assert WIDE.count_tokens(shared) <= 100


@pytest.mark.requirement("D-REQ-7.1")
def test_a_table_that_fits_is_whole_and_a_longer_one_repeats_its_header() -> None:
    def table(rows: int) -> Part:
        lines = ["| Size | Load |", "| --- | --- |", *(f"| DN {n} | {n} kN |" for n in range(rows))]
        return Part(BlockKind.TABLE, "\n".join(lines))

    whole = of(head("Loads"), text(50), table(20), text(20), most=600)
    holding = [chunk for chunk in whole if "DN 0 " in chunk.content]
    assert len(holding) == 1
    assert "DN 19 " in holding[0].content
    parts = of(head("Loads"), table(200), most=400)
    assert len(parts) > 3
    assert all(part.chunk_type is ChunkType.TABLE for part in parts)
    assert parts[0].content.startswith("Loads\n\n| Size | Load |")
    for part in parts[1:]:
        assert part.content.startswith("| DN ")
        assert part.content.endswith("|")
        assert part.context.endswith("| Size | Load |")


@pytest.mark.requirement("D-REQ-7.4")
def test_each_chunk_keeps_the_pages_that_markers_give() -> None:
    source = "\n\n".join(
        [
            "# Deck",
            *(
                f"<!-- page {n} -->\n\n## Slide {n}\n\n{SENTENCE * 3}\n<!-- page {n + 1} -->\n{SENTENCE * 40}"
                for n in (2, 7)
            ),
        ]
    )
    chunks = cut(read(source), NARROW)
    pages = {(chunk.section_title, chunk.page_numbers) for chunk in chunks}
    assert pages == {("Slide 2", (2, 3)), ("Slide 2", (3,)), ("Slide 7", (7, 8)), ("Slide 7", (8,))}
    assert all(chunk.page_labels == tuple(map(str, chunk.page_numbers)) for chunk in chunks)


def test_a_text_without_headings_is_cut_by_its_paragraphs() -> None:
    chunks = of(*(text(9) for _ in range(30)))
    assert len(chunks) > 2
    assert {chunk.context for chunk in chunks} == {"Pump Guide"}
    assert all(chunk.content.startswith("The grey") and chunk.content.endswith(".") for chunk in chunks)


def test_statements_are_found_as_in_standards() -> None:
    (chunk,) = of(head("Rules"), Part(BlockKind.PARAGRAPH, "The pump shall stop. It may hum."))
    assert chunk.normative
    assert len(chunk.statements) == 2


def test_a_document_without_text_gives_no_chunks() -> None:
    assert of() == []


def test_impossible_sizes_are_refused_and_the_version_names_the_size() -> None:
    for most in (63, 8001):
        with pytest.raises(ConfigError, match=str(most)):
            ContextualChunker(most)
    assert ContextualChunker().version == "contextual/15 max=800"
    assert ContextualChunker(400).version != ContextualChunker().version

"""What the chunker makes of the forms that standards have."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from itertools import pairwise

import pytest

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.model.chunk import Chunk, ChunkType, Modality
from knowledge_mcp.model.document import BlockKind, Document, DocumentType, Page, Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.support.events import EVENT_FIELDS
from tests.fakes.documents import Part, PieceMeasure, build_document

_WIDE = PieceMeasure(max_tokens=8192)


def _heading(text: str, number: str | None = None, level: int = 1, *, informative: bool = False) -> Part:
    return Part(BlockKind.HEADING, text, level, number, informative)


def _text(text: str, page: int | None = None) -> Part:
    return Part(BlockKind.PARAGRAPH, text, page=page)


def _item(text: str, depth: int = 0) -> Part:
    return Part(BlockKind.LIST_ITEM, text, depth=depth)


def _cut(*parts: Part, measure: PieceMeasure = _WIDE, title: str = "ISO 999 Pumps") -> list[Chunk]:
    return _chunks(build_document(parts, title=title), measure)


def _chunks(document: Document, measure: PieceMeasure = _WIDE) -> list[Chunk]:
    return ClauseChunker(50, 200, 20).chunk(document, DocumentType.STANDARD, measure)


def _sentences(count: int, words: str = "grey pumps hum all day") -> str:
    return " ".join(f"Now {words} {number}." for number in range(count))


# ---- sizes


@pytest.mark.requirement("A-REQ-INGEST-005")
def test_defaults_are_those_of_the_specification() -> None:
    assert ClauseChunker().version == "clauses/26 min=200 max=800 overlap=100"


@pytest.mark.requirement("A-REQ-INGEST-005")
def test_all_problems_with_sizes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        ClauseChunker(40, 100, 501)
    for words in ("CHUNK_SIZE_MIN is 40", "CHUNK_SIZE_MAX is 100", "CHUNK_OVERLAP is 501", "is not less than"):
        assert words in caught.value.message


@pytest.mark.requirement("A-REQ-INGEST-005")
@pytest.mark.parametrize("sizes", [(50, 200, 49), (500, 2000, 499), (200, 800, 0)])
def test_sizes_at_the_ends_of_their_ranges_are_taken(sizes: tuple[int, int, int]) -> None:
    assert ClauseChunker(*sizes).version.endswith(f"min={sizes[0]} max={sizes[1]} overlap={sizes[2]}")


@pytest.mark.requirement("A-REQ-INGEST-005")
@pytest.mark.parametrize("sizes", [(100, 800, 100), (500, 400, 0), (501, 800, 0), (50, 2001, 0), (50, 200, -1)])
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ConfigError):
        ClauseChunker(*sizes)


def test_a_cap_by_the_model_is_logged_once_per_document(caplog: pytest.LogCaptureFixture) -> None:
    parts = [_heading("Loads", "5"), _text(_sentences(90)), _heading("Heat", "6"), _text(_sentences(90))]
    with caplog.at_level(logging.INFO, "knowledge_mcp.chunking"):
        _cut(*parts, measure=PieceMeasure(max_tokens=96))
    (record,) = [r for r in caplog.records if r.getMessage() == "chunk_size_capped"]
    fields = getattr(record, EVENT_FIELDS)
    assert (fields["document_id"], fields["configured_max"]) == ("sample", 200)
    assert fields["effective_max"] < 96
    caplog.clear()
    with caplog.at_level(logging.INFO, "knowledge_mcp.chunking"):
        _cut(*parts, measure=_WIDE)
    assert caplog.records == []


# ---- joints


def test_small_clauses_stay_apart() -> None:
    chunks = _cut(_heading("Loads", "5.1"), _text("It is grey."), _heading("Heat", "5.2"), _text("It is cold."))
    assert [(c.clause_number, c.content) for c in chunks] == [
        ("5.1", "5.1 Loads\n\nIt is grey."),
        ("5.2", "5.2 Heat\n\nIt is cold."),
    ]


def test_short_sections_with_headings_of_their_own_stay_apart_and_are_cited_each() -> None:
    parts = [part for n in range(12) for part in (_heading(f"Part {n}", level=2), _text(f"It is number {n}."))]
    chunks = _cut(_heading("Parts"), _text("They are these."), *parts)
    assert [c.section_title for c in chunks] == ["Parts", *(f"Part {n}" for n in range(12))]
    assert [c.content for c in chunks[1:]] == [f"Part {n}\n\nIt is number {n}." for n in range(12)]


def test_short_sections_under_guessed_headings_are_merged_and_cited_by_the_section_around_them() -> None:
    parts = [part for n in range(12) for part in (_heading(f"Part {n}", level=2), _text(_sentences(2)))]
    document = build_document([_heading("Parts"), _text(_sentences(2)), *parts])
    guessed = tuple(
        replace(section, confidence=0.6 if section.parent is not None else 1.0) for section in document.sections
    )
    chunks = ClauseChunker(50, 200, 20).chunk(replace(document, sections=guessed), "standard", _WIDE)
    assert 1 < len(chunks) < 13
    assert {c.section_title for c in chunks} == {"Parts"}


def test_unnumbered_sections_are_not_merged_into_another_chapter() -> None:
    chunks = _cut(
        _heading("One"), _heading("Deep", level=2), _text("It is grey."), _heading("Two"), _text("It is cold.")
    )
    assert len(chunks) == 2


def test_a_heading_without_text_goes_with_what_it_opens() -> None:
    (chunk,) = _cut(_heading("Requirements", "5"), _heading("Loads", "5.1", 2), _text("It is grey."))
    assert chunk.content.startswith("5 Requirements\n\n5.1 Loads")
    assert (chunk.clause_number, chunk.section_title) == ("5.1", "Loads")
    assert chunk.section_hierarchy == ("5 Requirements", "5.1 Loads")


def test_empty_clauses_go_with_the_clause_around_them_and_stay_alone_where_there_is_none() -> None:
    chunks = _cut(
        _heading("Plans", "5"),
        _text("This section has the parts below."),
        _heading("Tests", "5.1", 2),
        _heading("Costs", "5.2", 2),
        _heading("Reserved", "6"),
        _heading("Heat", "7"),
        _text("It is cold."),
    )
    assert [c.clause_number for c in chunks] == ["5", "6", "7"]
    assert chunks[0].content.endswith("5.1 Tests\n\n5.2 Costs")


def test_a_long_clause_is_cut_into_even_parts_that_share_whole_sentences() -> None:
    chunks = _cut(_heading("Loads", "5"), _text(_sentences(50)))
    assert len(chunks) >= 2
    assert max(c.token_count for c in chunks) - min(c.token_count for c in chunks) < 80
    for first, second in pairwise(chunks):
        assert second.span.start < first.span.end
        assert second.content.startswith("Now ")
        assert second.parent_chunk_id == chunks[0].id


def test_a_cut_table_keeps_whole_rows_and_carries_its_header_and_caption_as_context() -> None:
    rows = "\n".join(f"| pump {n} | {n} kg of grey iron |" for n in range(60))
    table = f"| Part | Weight |\n| --- | --- |\n{rows}"
    chunks = _cut(_heading("Loads", "5"), Part(BlockKind.CAPTION, "Table 3 — Weights"), Part(BlockKind.TABLE, table))
    assert len(chunks) > 2
    assert "Table 3 — Weights\n\n| Part | Weight |" in chunks[0].content
    assert not chunks[0].cut_from
    for chunk in chunks[1:]:
        assert chunk.cut_from == "Table 3 — Weights\n| Part | Weight |"
        assert chunk.context.endswith(f"\n{chunk.cut_from}")
        assert chunk.chunk_type is ChunkType.TABLE
        assert all(line.startswith("| pump") and line.endswith("|") for line in chunk.content.split("\n"))
    assert "".join(c.content for c in chunks).count("| pump 17 |") == 1


_CAPTION = Part(BlockKind.CAPTION, "Table 3 — Weights")
_LONG = "Table 3 — Weights of all the grey pumps in use for longer than a year " + "and more " * 20


@pytest.mark.parametrize(
    ("above", "called"),
    [
        ((_CAPTION, _text("[kg, kilogram; nd, not determined.]"), _text("Day 1 Day 7")), "Table 3 — Weights\n"),
        ((_CAPTION, _text("Pumps are grey."), _text("Day 1")), ""),
        ((_CAPTION, _text("Day 1"), _text("Day 7"), _text("Day 9")), ""),
        ((Part(BlockKind.CAPTION, "Figure 3 — The pump"), _text("Day 1")), ""),
        ((_text("Pumps are grey. They weigh, by number:"),), "They weigh, by number:\n"),
        ((_heading("Weights, by number:", "5.1", 2),), ""),
        ((Part(BlockKind.CAPTION, _LONG),), "Table 3 — Weights of all the grey pumps in use for longer"),
    ],
)
def test_rows_of_a_cut_table_carry_what_it_is_called(above: tuple[Part, ...], called: str) -> None:
    rows = "\n".join(f"| pump {n} | {n} kg of grey iron |" for n in range(60))
    chunks = _cut(_heading("Loads", "5"), *above, Part(BlockKind.TABLE, f"| Part | Weight |\n| --- | --- |\n{rows}"))
    assert chunks[-1].cut_from.startswith(called or "| Part")
    assert chunks[-1].cut_from.endswith("| Part | Weight |")


@pytest.mark.parametrize(
    ("items", "count"), [(("a. Only water.", "b. Only air."), 2), (("c. Only water.",), 0), (("1. Water.",), 0)]
)
def test_items_that_the_cells_of_a_cut_table_cite_are_its_notes(items: tuple[str, ...], count: int) -> None:
    rows = "\n".join(f"| pump {n}ᵃ | {n}ᵇ kg/m¹ of grey iron |" for n in range(60))
    notes = [Part(BlockKind.LIST_ITEM, item, marker=item[:2]) for item in items]
    chunks = _cut(_heading("Loads", "5"), Part(BlockKind.TABLE, f"| Part | Weight |\n| --- | --- |\n{rows}"), *notes)
    assert chunks[0].cut_from.split("\n")[:count] == list(items[:count])
    assert len(chunks) > 2
    assert bool(chunks[0].cut_from) == bool(count)


def test_a_note_below_a_cut_table_goes_with_all_its_rows() -> None:
    rows = "\n".join(f"| pump {n}ᵃ | {n} kg of grey iron |" for n in range(60))
    foot = "| ¹ Not for use in tunnels. |  |"
    chunks = _cut(
        _heading("Loads", "5"),
        Part(BlockKind.TABLE, f"| Part | Weight |\n| --- | --- |\n{rows}\n{foot}"),
        _text("a Valid for water only."),
        _text("ᵇ⁾ Valid for air only."),
        Part(BlockKind.NOTE, "NOTE It may be more."),
        _text("The pumps are grey."),
        _text("b Not of the table."),
    )
    assert len(chunks) > 2
    notes = ["¹ Not for use in tunnels.", "a Valid for water only.", "ᵇ⁾ Valid for air only.", "NOTE It may be more."]
    assert chunks[0].cut_from.split("\n") == notes
    assert all(chunk.cut_from.split("\n") == [*notes, "| Part | Weight |"] for chunk in chunks[1:-1])
    assert all(note in chunks[-1].content for note in notes)
    assert chunks[-1].cut_from == "| Part | Weight |"


def test_an_item_cut_off_carries_the_item_that_it_stands_below() -> None:
    items = [_item(f"{n}) the grey pump number {n} is in use for longer than a year;", depth=1) for n in range(40)]
    lead = _text("A valve shall be provided where:")
    chunks = _cut(_heading("Supply", "4"), lead, _item("a) the vessel can be exposed to fire, and"), *items)
    assert len(chunks) > 1
    expected = "A valve shall be provided where:\na) the vessel can be exposed to fire, and"
    assert all(chunk.cut_from == expected for chunk in chunks[1:])


def test_items_cut_off_from_their_lead_in_carry_it_as_context() -> None:
    items = [_item(f"{n}) keep record {n} of all the grey pumps in use;") for n in range(40)]
    chunks = _cut(_heading("Supply", "4"), _text("The supplier shall:"), *items)
    assert len(chunks) > 1
    assert "The supplier shall:" in chunks[0].content
    for chunk in chunks[1:]:
        assert chunk.context.endswith("\nThe supplier shall:")
        assert "supplier" not in chunk.content
        assert chunk.normative


def test_code_is_cut_between_lines() -> None:
    code = "\n".join(f"    run({n}, pump)" for n in range(80))
    chunks = _cut(_heading("Code", "5"), _text("Run this:"), Part(BlockKind.CODE, f"start\n{code}"))
    assert len(chunks) > 1
    assert all(c.content.endswith(")") for c in chunks)
    assert all(c.content.startswith("    run(") for c in chunks[1:])


def test_a_sentence_longer_than_a_chunk_is_cut_between_words() -> None:
    words = " ".join(f"word{n}" for n in range(400))
    chunks = _cut(_heading("Loads", "5"), _text(words))
    assert " ".join(c.content for c in chunks).split() == ["5", "Loads", *words.split()]


# ---- what a chunk says of itself


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_the_context_is_the_path_from_the_title_down() -> None:
    (chunk,) = _cut(_heading("Requirements", "5"), _heading("Loads", "5.3", 2), _text("It is grey."))
    assert chunk.context == "ISO 999 Pumps > 5 Requirements > 5.3 Loads"
    assert chunk.embedding_text == f"{chunk.context}\n\n{chunk.content}"


def test_a_long_path_loses_its_middle_first() -> None:
    parts = [_heading(f"level {n} of many words about pumps", ".".join("1" * n), n) for n in range(1, 9)]
    chunk = _cut(*parts, _text("It is grey."))[-1]
    assert chunk.context.startswith("ISO 999 Pumps > ")
    assert chunk.context.endswith("1.1.1.1.1.1.1.1 level 8 of many words about pumps")
    assert _WIDE.count_tokens(chunk.context) <= 48


@pytest.mark.requirement("CLARIFY-004")
def test_a_hierarchy_of_more_than_six_levels_is_cut_and_logged_and_the_clause_number_is_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parts = [_heading(f"L{n}", ".".join("1" * n), n) for n in range(1, 9)]
    with caplog.at_level(logging.INFO, "knowledge_mcp.chunking"):
        chunk = _cut(*parts, _text("It is grey."), _heading("End", "2"), _text("It ends."))[0]
    assert chunk.clause_number == "1.1.1.1.1.1.1.1"
    assert chunk.section_hierarchy == tuple(f"{'.'.join('1' * n)} L{n}" for n in range(1, 7))
    assert chunk.section_title == "L8"
    (record,) = [r for r in caplog.records if r.getMessage() == "section_hierarchy_truncated"]
    assert getattr(record, EVENT_FIELDS)["document_id"] == "sample"
    assert record.levelno == logging.INFO


@pytest.mark.requirement("A-REQ-DATA-002")
@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((_heading("Bibliography"), _text("RFC 9000 shall be read.")), ChunkType.REFERENCE),
        (
            (_heading("Terms", "3"), _heading("pump", "3.1", 2), _text("thing that must move water")),
            ChunkType.DEFINITION,
        ),
        ((_heading("Loads", "5"), Part(BlockKind.EXAMPLE, "EXAMPLE It must hum.")), ChunkType.EXAMPLE),
        ((_heading("Loads", "5"), Part(BlockKind.TABLE, "| a | b |\n| --- | --- |\n| c | d |")), ChunkType.TABLE),
        ((_heading("Loads", "5"), Part(BlockKind.CAPTION, "Figure 3 — The pump")), ChunkType.FIGURE),
        ((_heading("Loads", "5"), _text("It shall hum. It should be grey.")), ChunkType.REQUIREMENT),
        ((_heading("Loads", "5"), _text("It should be grey. It may hum.")), ChunkType.RECOMMENDATION),
        ((_heading("Annex B Hints", informative=True), _text("It shall hum.")), ChunkType.ANNEX),
        ((_heading("Scope", "1"), _text("This is about pumps.")), ChunkType.OVERVIEW),
        ((_heading("Loads", "5"), _text("It may hum.")), ChunkType.GUIDANCE),
    ],
)
def test_chunks_are_classified_by_place_and_content(parts: tuple[Part, ...], kind: ChunkType) -> None:
    (chunk,) = _cut(*parts)
    assert chunk.chunk_type is kind
    assert chunk.normative is (kind is ChunkType.REQUIREMENT)


@pytest.mark.requirement("A-REQ-DATA-005")
def test_a_chunk_is_normative_by_its_mandatory_statements_only() -> None:
    note = Part(BlockKind.NOTE, "NOTE It must hum.")
    assert not _cut(_heading("Loads", "5"), _text("It should hum."), note)[0].normative
    chunk = _cut(_heading("Loads", "5"), _text("It shall hum. It may be grey."), note)[0]
    assert chunk.normative
    assert [s.modality for s in chunk.statements] == [Modality.REQUIREMENT, Modality.PERMISSION]


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_pages_and_their_labels_come_from_the_blocks() -> None:
    document = build_document([_heading("Loads", "5"), _text("It is grey.", 3), _text("It hums.", 4)])
    labelled = replace(document, pages=tuple(replace(page, label=f"p-{page.number}") for page in document.pages))
    (chunk,) = _chunks(labelled)
    assert (chunk.page_numbers, chunk.page_labels) == ((3, 4), ("p-3", "p-4"))


def test_a_part_of_a_block_has_the_pages_and_lines_of_that_part_only() -> None:
    rows = [f"| pump {n} | grey iron |" for n in range(60)]
    document = build_document([Part(BlockKind.TABLE, "\n".join(["| a | b |", "| --- | --- |", *rows]))])
    middle = document.text.index("| pump 30 ")
    document = replace(
        document,
        blocks=(replace(document.blocks[0], pages=(1, 2)),),
        pages=(Page(1, "1", Span(0, middle)), Page(2, "2", Span(middle, len(document.text)))),
    )
    chunks = _chunks(document)
    assert chunks[0].page_numbers == (1,)
    assert chunks[-1].page_numbers == (2,)
    assert chunks[0].lines is not None
    assert chunks[0].lines[0] == 1
    assert chunks[-1].lines is not None
    assert chunks[-1].lines[1] == 62
    assert chunks[-1].lines[0] > 30


@pytest.mark.requirement("A-REQ-DATA-001")
def test_a_parent_is_the_chunk_that_opens_the_section_around() -> None:
    chunks = _cut(
        _heading("Requirements", "5"),
        _text("It is grey."),
        _heading("Loads", "5.1", 2),
        _text("It is heavy."),
        _heading("Heat", "6"),
        _text("It is cold."),
    )
    assert [c.parent_chunk_id for c in chunks] == [None, chunks[0].id, None]


@pytest.mark.requirement("A-REQ-DATA-001")
def test_ids_are_uuids_that_keep_through_new_chapter_titles_and_differ_for_equal_text() -> None:
    first = _cut(_heading("Old", "5"), _text("A."), _heading("Loads", "5.1", 2), _text("It hums."))
    second = _cut(_heading("New", "5"), _text("A."), _heading("Loads", "5.1", 2), _text("It hums."))
    assert first[0].id != second[0].id
    assert first[1].id == second[1].id
    assert uuid.UUID(first[1].id).version == 5
    twins = _cut(_heading("Loads", "5"), _text("It hums."), _heading("Loads", "5"), _text("It hums."))
    assert twins[0].content_hash == twins[1].content_hash
    assert twins[0].id != twins[1].id


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_references_are_unique_normal_forms_with_their_places() -> None:
    (chunk,) = _cut(_heading("Loads", "5"), _text("See clause 6.1 and Table 2. Clause 6.1 holds. RFC 9000 too."))
    assert chunk.references == ("6.1", "Table 2", "RFC 9000")
    assert len(chunk.links) == 4


def test_references_of_the_format_join_those_of_the_text_and_anchors_are_links_only() -> None:
    document = build_document([_heading("Loads", "5"), _text("See Appendix B, or the drawing, or the site.")])
    start = document.text.index("Appendix")
    known = (
        Reference("Appendix B", ReferenceKind.ANNEX, "Appendix B", Span(start, start + 10)),
        Reference("drawing", ReferenceKind.LINK, "#drawing", Span(start + 19, start + 26)),
        Reference("site", ReferenceKind.LINK, "https://example.org/", Span(start + 35, start + 39)),
    )
    (chunk,) = _chunks(replace(document, references=known))
    assert chunk.references == ("Annex B", "https://example.org/")
    assert [link.target for link in chunk.links] == ["Annex B", "#drawing", "https://example.org/"]


def test_text_that_no_block_holds_is_not_lost() -> None:
    document = build_document([_heading("Loads", "5"), _text("It is grey."), _text("It hums.")])
    holed = replace(document, blocks=(document.blocks[0], document.blocks[2]))
    assert "It is grey." in "".join(c.content for c in _chunks(holed))
    assert [c.content for c in _chunks(replace(document, blocks=()))] == [document.text]


def test_a_document_without_text_has_no_chunks() -> None:
    assert _cut() == []

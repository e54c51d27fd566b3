"""Pages of figures under one line of print: every piece of them knows that line, and none mixes two of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.headings import Headlines
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import BlockKind, Document, DocumentType
from tests.fakes.documents import Part, PieceMeasure, build_document, documents
from tests.machine import examples

_TITLE = "Statement of Harbour Dues (in thousands)"


def _table(first: int, last: int) -> str:
    rows = "\n".join(
        f"| Berth fees of quay {number} | {number * 17} | {number * 19} |" for number in range(first, last)
    )
    return f"| Dues | 2021 | 2022 |\n| --- | --- | --- |\n{rows}"


def _prose(count: int) -> str:
    return " ".join(f"The pilots met on quay {number} and spoke of the weather." for number in range(count))


def _text(words: str, page: int | None = 1) -> Part:
    return Part(BlockKind.PARAGRAPH, words, page=page)


def _heading(words: str, page: int | None = 1, level: int = 1, number: str | None = None) -> Part:
    return Part(BlockKind.HEADING, words, level, number, page=page)


def _cut(*parts: Part, tokens: int = 96) -> list[Chunk]:
    document = build_document(parts, title="Harbour Report")
    return ClauseChunker(50, 200, 20).chunk(document, DocumentType.REPORT, PieceMeasure(max_tokens=tokens))


def _over(document: Document, words: str) -> str:
    return Headlines(document).over(document.text.index(words))


def _is_told(chunk: Chunk, title: str) -> bool:
    return title in chunk.content or title in chunk.context


def test_every_piece_of_a_page_of_figures_tells_under_what_it_stands() -> None:
    chunks = _cut(
        _heading("Opinion of the auditors"),
        _text(_prose(12)),
        _text(_TITLE, 2),
        Part(BlockKind.TABLE, _table(1, 9), page=2),
        _text("Other dues", 2),
        Part(BlockKind.TABLE, _table(9, 20), page=2),
    )
    figures = [chunk for chunk in chunks if "| Berth" in chunk.content]
    assert len(figures) > 3
    assert all(_is_told(chunk, _TITLE) for chunk in figures)
    assert not any(_is_told(chunk, _TITLE) for chunk in chunks if "pilots" in chunk.content)


def test_the_first_piece_below_a_heading_of_the_page_tells_it_too() -> None:
    first, *others = _cut(
        _text(_TITLE),
        Part(BlockKind.TABLE, _table(1, 3), page=1),
        _heading("Northern Quays"),
        Part(BlockKind.TABLE, _table(3, 14), page=1),
    )
    assert _TITLE in first.content
    assert len(others) > 1
    assert all(_TITLE in chunk.cut_from for chunk in others)


def test_a_headline_begins_a_chunk() -> None:
    chunks = _cut(
        _heading("Opinion of the auditors"),
        _text(_prose(12)),
        _text("Signed on the quay", 1),
        _text(_TITLE, 2),
        Part(BlockKind.TABLE, _table(1, 9), page=2),
    )
    (first,) = [chunk for chunk in chunks if _TITLE in chunk.content]
    assert first.content.startswith(_TITLE)
    assert "| Berth" in first.content


def test_a_title_is_not_left_behind_by_its_table() -> None:
    parts = [_text(_prose(count)) for count in (1, 2, 3)]
    for before in parts:
        chunks = _cut(before, _text("Quays and Their Dues"), Part(BlockKind.TABLE, _table(1, 12), page=1))
        (holder,) = [chunk for chunk in chunks if "Quays and Their Dues" in chunk.content]
        assert "| Dues | 2021 | 2022 |" in holder.content


def test_a_headline_ends_with_its_page() -> None:
    document = build_document(
        [
            _text(_TITLE),
            Part(BlockKind.TABLE, _table(1, 3), page=1),
            _text("Notes on the dues of the year 2022 follow here.", 2),
        ]
    )
    assert _over(document, "| Berth fees of quay 2") == _TITLE
    assert _over(document, "Notes on the dues") == ""


def test_the_line_right_above_a_table_is_reported_with_the_headline_of_the_page() -> None:
    document = build_document(
        [
            _text(_TITLE),
            Part(BlockKind.TABLE, _table(1, 3), page=1),
            _text("Southern Quays Only"),
            Part(BlockKind.TABLE, _table(3, 5), page=1),
        ]
    )
    assert _over(document, "| Berth fees of quay 4") == f"{_TITLE}\nSouthern Quays Only"


def test_a_heading_that_another_one_follows_at_once_keeps_what_that_one_took() -> None:
    chunks = _cut(
        _heading("Statement of Dues"),
        _heading("(in thousands, but for ships)"),
        _text("2022 2021"),
        Part(BlockKind.TABLE, _table(1, 14), page=1),
    )
    figures = [chunk for chunk in chunks if "| Berth" in chunk.content]
    assert len(figures) > 1
    assert all(_is_told(chunk, "Statement of Dues") for chunk in figures)


def test_a_headline_of_a_heading_ends_with_the_next_one_beside_it() -> None:
    document = build_document(
        [
            _heading("Statement of Dues"),
            _heading("(in thousands)"),
            Part(BlockKind.TABLE, _table(1, 3), page=1),
            _heading("Ships"),
            _text("Twelve came."),
        ]
    )
    assert _over(document, "| Berth fees of quay 2") == "Statement of Dues"
    assert _over(document, "Twelve came") == ""


@pytest.mark.parametrize(
    "line",
    [
        "The harbour master reports what was paid.",
        "the dues of all quays",
        "Dues",
        "2019 2020 2021 2022",
        "Dues were paid by:",
        " ".join(["Harbour Quays"] * 12),
    ],
)
def test_a_line_that_is_no_title_is_no_headline(line: str) -> None:
    document = build_document([_text(line), Part(BlockKind.TABLE, _table(1, 3), page=1)])
    assert _over(document, "| Berth fees of quay 2") == ""


def test_a_title_over_text_is_no_headline() -> None:
    document = build_document([_text("Quays and Their Dues"), _text(_prose(3)), _text("It ends in 1 2 3 days.")])
    assert _over(document, "It ends") == ""


def test_rows_that_no_reader_took_for_a_table_count_as_one() -> None:
    document = build_document([_text(_TITLE), _text("Berth fees 17 19 21"), _text("Pilots 4 5 6")])
    assert _over(document, "Pilots") == _TITLE


def test_a_heading_with_a_number_is_no_headline() -> None:
    document = build_document(
        [
            _heading("Quay Dues Reserved", number="4.1"),
            _heading("Ship Dues", number="4.2"),
            Part(BlockKind.TABLE, _table(1, 3), page=1),
        ]
    )
    assert _over(document, "| Berth fees of quay 2") == ""


def test_documents_without_pages_have_no_headlines() -> None:
    document = build_document([_text(_TITLE, None), Part(BlockKind.TABLE, _table(1, 3))])
    assert _over(document, "| Berth fees of quay 2") == ""


@settings(max_examples=examples(60), deadline=None)
@given(document=documents(), place=st.integers(0, 400))
def test_a_headline_stands_above_what_it_is_told_of(document: Document, place: int) -> None:
    found = Headlines(document).over(place)
    above = " ".join(document.text[:place].split())
    assert all(line in above for line in found.split("\n"))

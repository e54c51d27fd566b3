"""Rows that are cut off from the top of their table: they are read with what names their columns and their group."""

from __future__ import annotations

import pytest

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import BlockKind, DocumentType
from tests.fakes.documents import Part, PieceMeasure, build_document

_RULE = "| --- | --- | --- |"


def _cut(*parts: Part) -> list[Chunk]:
    document = build_document(parts, title="Harbour Report")
    chunks = ClauseChunker(50, 200, 20).chunk(document, DocumentType.REPORT, PieceMeasure(max_tokens=120))
    assert len(chunks) > 2
    return chunks


def _heading(words: str, page: int | None = 1) -> Part:
    return Part(BlockKind.HEADING, words, 1, None, page=page)


def _text(words: str, page: int | None = 1) -> Part:
    return Part(BlockKind.PARAGRAPH, words, page=page)


def _table(*rows: str, page: int | None = 1) -> Part:
    return Part(BlockKind.TABLE, "\n".join((rows[0], _RULE, *rows[1:])), page=page)


def _dues(count: int = 30) -> list[str]:
    return [
        f"| Berth fees of quay {number} | {number * 17},{number}00 | {number * 19},000 |" for number in range(1, count)
    ]


def test_rows_carry_the_years_and_units_that_the_page_prints_above_their_table() -> None:
    chunks = _cut(
        _heading("Harbour dues"),
        _text("(in thousands)"),
        _text("Years ended June 30, 2021 2022"),
        _table(*_dues()),
    )
    names = "(in thousands)\nYears ended June 30, 2021 2022"
    assert all(chunk.cut_from == names for chunk in chunks[1:])
    assert chunks[0].content.endswith("|"), "the years stay with the first rows"
    assert "2021 2022" in chunks[0].content


@pytest.mark.parametrize("first", ["| Pilots | $ 17 | $ 19 |", "| Pilots | 1,700 | 19 |", "| Pilots | (17) | 19 |"])
def test_a_first_row_of_amounts_is_a_row_and_no_header(first: str) -> None:
    chunks = _cut(_heading("Harbour dues"), _table(first, *_dues()))
    assert all("Pilots" not in chunk.context for chunk in chunks)


def test_rows_that_no_reader_took_for_a_table_carry_the_years_above_them() -> None:
    rows = [_text(f"Berth fees of quay {number} {number * 17} {number * 19}") for number in range(1, 40)]
    chunks = _cut(_heading("Harbour dues"), _text("(in thousands)"), _text("2021 2022"), *rows)
    assert all(chunk.cut_from == "(in thousands)\n2021 2022" for chunk in chunks[1:])
    prose = [_text(f"The fees of quay {number} were 17 and of others 19.") for number in range(1, 40)]
    chunks = _cut(_heading("Harbour dues"), _text("(in thousands)"), _text("2021 2022"), *prose)
    assert not any(chunk.cut_from for chunk in chunks)


def test_a_remark_in_brackets_far_above_names_no_columns() -> None:
    above = (_text("(Former name, if changed)"), _text("Dues"))
    chunks = _cut(_heading("Harbour dues"), *above, _table("| Quay | Fees | Paid |", *_dues()))
    assert chunks[-1].cut_from == "| Quay | Fees | Paid |"


@pytest.mark.parametrize(
    "above",
    ["The fees were last raised in 2021.", "Fees are due (see clause 3):", "The quay was built", "(in thousands"],
)
def test_what_names_no_columns_leaves_the_first_row_their_header(above: str) -> None:
    chunks = _cut(_heading("Loads"), _text(above), _table("| Diameter (mm) | 100 | 200 |", *_dues()))
    assert chunks[-1].cut_from.endswith("| Diameter (mm) | 100 | 200 |")


def test_years_of_another_page_or_section_name_no_columns() -> None:
    fees = _table("| Quay | Fees | Paid |", *_dues(), page=2)
    for between in (_text("Fees and what was paid", 2), _heading("Fees", 2)):
        chunks = _cut(_heading("Harbour dues"), _text("2021 2022"), between, fees)
        assert chunks[-1].cut_from == "| Quay | Fees | Paid |"


def test_a_second_table_of_the_page_has_the_same_columns() -> None:
    second = _table("| Tugs | 17 | 19 |", "| Lines | 1 | 2 |")
    parts = [_heading("Harbour dues"), _text("2021 2022"), _table(*_dues()), _text("Other dues"), second]
    last = _cut(*parts, _text("These are the dues of the harbour. " * 30))
    (holding,) = [chunk for chunk in last if "| Tugs" in chunk.content]
    assert "2021 2022" in holding.cut_from


def test_a_header_of_two_rows_is_carried_whole() -> None:
    top, years = "|  | Years ended | June 30 |", "| (in thousands) | 2021 | 2022 |"
    chunks = _cut(_heading("Harbour dues"), _table(top, years, *_dues()))
    assert all(chunk.cut_from == f"{top}\n{years}" for chunk in chunks[1:])
    founded = "| Founded | 1921 | 1922 |"
    chunks = _cut(_heading("Quays"), _table("| Quay | East | West |", founded, *_dues()))
    assert all(chunk.cut_from == "| Quay | East | West |" for chunk in chunks[1:])


def test_rows_carry_the_group_that_they_stand_in_until_its_total() -> None:
    rows = _dues(60)
    table = _table("| Dues | 2021 | 2022 |", "| Ships: |  |  |", *rows[:20], "| Total ships | 7 | 9 |", *rows[20:])
    chunks = _cut(_heading("Harbour dues", None), table)
    for chunk in chunks[1:]:
        first = int(chunk.content.split("quay ")[1].split(" ")[0]) if chunk.content.startswith("| Berth") else 99
        assert chunk.cut_from == ("| Dues | 2021 | 2022 |\nShips:" if first <= 20 else "| Dues | 2021 | 2022 |")
    assert any(chunk.cut_from.endswith("Ships:") for chunk in chunks)

"""Short columns that an OCR engine read straight across: cut apart where they are prose, left alone where rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.readers.pdf.recognised.layout import order_by_column
from tests.ocr.pages import LETTER

BESIDE = (
    "In the valley the hay was late that year,",
    "and rain fell on every second day, so that",
    "the mowers waited in the barns and mended",
    "their rakes, while the old men told of",
)
THIRD = (
    "Barges went down with slate and came up",
    "with coal, eleven of them in a good week,",
    "and the lock was never without a boat in",
    "it from the first thaw to the last.",
)
LETTER_WIDTH, HEIGHT, PITCH = 20, 30, 60


def words_at(text: str, left: int, row: int, *, blank: int = LETTER_WIDTH) -> list[list[Any]]:
    words: list[list[Any]] = []
    for word in text.split():
        right = left + LETTER_WIDTH * len(word)
        words.append([word, 95.0, left, PITCH * row, right, PITCH * row + HEIGHT, row, 0])
        left = right + blank
    return words


def across(*columns: Sequence[str], width: int = 1000) -> list[list[list[Any]]]:
    """Set columns side by side, and read each row straight across."""
    rows = max(map(len, columns))
    lines: list[list[list[Any]]] = []
    for row in range(rows):
        line = [
            word
            for at, column in enumerate(columns)
            if row < len(column)
            for word in words_at(column[row], at * width, row)
        ]
        lines.append(line)
    return lines


def read(lines: Sequence[list[list[Any]]]) -> list[str]:
    return [" ".join(word[0] for word in line) for line in order_by_column(lines)]


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_short_columns_are_read_one_after_the_other(rows: int) -> None:
    assert read(across(LETTER[:rows], BESIDE[:rows])) == [*LETTER[:rows], *BESIDE[:rows]]


def test_three_columns_are_read_one_after_the_other() -> None:
    assert read(across(LETTER[:4], BESIDE, THIRD)) == [*LETTER[:4], *BESIDE, *THIRD]


def test_each_column_has_a_block_of_its_own() -> None:
    lines = list(order_by_column(across(LETTER[:3], BESIDE[:3], THIRD[:3])))
    blocks: list[float] = [line[0][7] for line in lines]
    assert all(word[7] == block for line, block in zip(lines, blocks, strict=True) for word in line)
    assert blocks == sorted(blocks)
    assert [blocks.count(block) for block in sorted(set(blocks))] == [3, 3, 3]


@pytest.mark.parametrize(("left", "right"), [(7, 3), (3, 4)])
def test_the_longer_column_continues_where_the_shorter_one_ends(left: int, right: int) -> None:
    assert read(across(LETTER[:left], BESIDE[:right])) == [*LETTER[:left], *BESIDE[:right]]


def test_what_stands_above_and_below_the_columns_stays_there() -> None:
    head = words_at("The record of the mill and of the ford, set down by the keeper of both", 0, -2)
    foot = words_at("Both were copied by the clerk before the feast of the harvest that year", 0, 9)
    lines = [head, *across(LETTER[:3], BESIDE[:3]), foot]
    printed = read(lines)
    assert printed[0].startswith("The record")
    assert printed[1:7] == [*LETTER[:3], *BESIDE[:3]]
    assert printed[7].startswith("Both were")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(
            ("Name of the applicant:", "Address of the site:", "Date of the visit:"),
            ("the keeper of the mill", "the old mill by the ford", "the third day of spring"),
            id="form",
        ),
        pytest.param(
            ("name of the one who asks for it", "where it is", "on which day"),
            ("the keeper of the mill", "the old mill by the ford", "the third day of spring"),
            id="form without colons",
        ),
        pytest.param(("Oats", "Barley", "Wheat"), ("14 bushels", "11 bushels", "9 bushels"), id="table"),
        pytest.param(
            ("Oats from the upper field", "Barley of the lower field", "Wheat of the mill field"),
            ("Sold in the spring market", "Kept for the mill house", "Sent to the ferry inn"),
            id="table of phrases",
        ),
    ],
)
def test_rows_of_a_table_stay_rows(left: Sequence[str], right: Sequence[str]) -> None:
    lines = across(left, right)
    assert read(lines) == [" ".join(word[0] for word in line) for line in lines]


def test_lines_that_are_driven_wide_are_no_columns() -> None:
    lines = [words_at(text, 0, row, blank=90) for row, text in enumerate(LETTER)]
    assert read(lines) == list(LETTER)


def test_lines_far_from_each_other_are_no_columns() -> None:
    lines = across(LETTER[:3], BESIDE[:3])
    for row, line in enumerate(lines):
        for word in line:
            word[3], word[5] = word[3] + 400 * row, word[5] + 400 * row
    assert read(lines) == [" ".join(word[0] for word in line) for line in lines]


def test_words_that_stand_out_of_order_are_no_columns() -> None:
    lines = [line[::-1] for line in across(LETTER[:3], BESIDE[:3])]
    assert read(lines) == [" ".join(word[0] for word in line) for line in lines]


boxes = st.tuples(st.integers(0, 900), st.integers(0, 400), st.integers(0, 200), st.integers(0, 40))
texts = st.sampled_from(["ford", "the", "mill,", "Keeper", "14", "end.", "by-"])
some_words = st.lists(st.tuples(texts, boxes), min_size=1, max_size=9)


@given(st.lists(some_words, max_size=7))
def test_no_word_is_lost_or_comes_twice(page: list[list[tuple[str, tuple[int, int, int, int]]]]) -> None:
    lines = [
        [[text, 90.0, x, y, x + width, y + height, row, 0] for text, (x, y, width, height) in line]
        for row, line in enumerate(page)
    ]
    before = sorted(tuple(word[:7]) for line in lines for word in line)
    parted = list(order_by_column(lines))
    assert sorted(tuple(word[:7]) for line in parted for word in line) == before
    assert all(parted)

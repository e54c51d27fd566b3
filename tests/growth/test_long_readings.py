"""Reading a table or a page takes twice the steps for twice the cells or lines, however many there are."""

from __future__ import annotations

from typing import Any

import pytest
from liteparse.types import TextItem

from knowledge_mcp.readers.pdf import bands
from knowledge_mcp.readers.pdf import lines as lines_of_pages
from knowledge_mcp.readers.shared.richtext import RichText
from tests.growth.counting import lines
from tests.readers.docx_files import p, read_docx, run, table


def test_a_row_with_more_cells_than_a_table_can_have_is_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    extend = RichText.extend
    copied: list[int] = []

    def counted(self: RichText, other: RichText, **named: Any) -> None:
        copied[-1] += len(other)
        extend(self, other, **named)

    monkeypatch.setattr(RichText, "extend", counted)
    for size in (300, 600):
        copied.append(0)
        cells = "".join(f"<w:tc>{p(run(f'c{number}'))}</w:tc>" for number in range(size))
        text = read_docx(table(f"<w:tr>{cells}</w:tr>", f"<w:tr>{cells}</w:tr>")).text
        assert f"c{size - 2} c{size - 1}" in text
    assert copied[1] < 2.6 * copied[0]


def test_lines_printed_over_each_other_take_steps_in_proportion() -> None:
    def rows(size: int) -> None:
        items = [TextItem(text="ab", x=72, y=60 + 700 * at / size, width=7, height=6) for at in range(size)]
        assert len(lines_of_pages.rows_of(items)) == 1

    once, twice = (lines(lambda size=size: rows(size), lines_of_pages) for size in (600, 1200))
    assert once > 600
    assert twice < 2.6 * once


def test_texts_side_by_side_take_steps_in_proportion() -> None:
    """A page of cards, then labels of which every second has no value, so that hundreds of tables could begin."""

    def read(size: int) -> None:
        items: list[TextItem] = []
        for at in range(size):
            words = (("Access", "Water"), ("Rain is held in", "Heat is taken by"), ("basins of reeds.", "two pumps."))[
                at % 3
            ]
            both = zip((72, 300), words, strict=True) if at % 7 else ((72, "A title"),)
            items += [TextItem(text=text, x=x, y=60 + 12 * at, width=90, height=9) for x, text in both]
        assert bands.bands_of(items)

    once, twice = (lines(lambda size=size: read(size), bands) for size in (700, 1400))
    assert once > 700
    assert twice < 2.6 * once

"""Texts side by side on a part of a page: columns and cards are read one by one, labels and values are rows."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pytest

from knowledge_mcp.model.document import BlockKind
from tests.readers.pdf_files import HEIGHT, LEFT, Sheet, sheet
from tests.readers.pdf_tables import read, tables
from tests.readers.shown import texts

_INTRODUCTION = (
    "This statement explains the principles that were applied to the layout of the site, to its",
    "buildings and to the routes through it.",
)
_LAYOUT = "Buildings are placed along the edges, so that a quiet court is formed in the middle of the site."
_SCALE = "No building exceeds four storeys. Heights fall to two storeys towards the terraces on the lane."
_LOOK = "Brick is used for all elevations that face a street, and the balconies are recessed into them."
_BESIDE = (
    "The site lies at the western edge of the town and has been vacant since the depot closed. It is flat."
    " Its soil is clay.",
    "To the east, terraces of two storeys face the lane. They are built of a red brick that is typical here.",
)


def _wrapped(text: str, width: int, mark: str = "") -> list[str]:
    return textwrap.wrap(text, width, initial_indent=mark, subsequent_indent="  " if mark else "")


def _columns(pages: Sheet, columns: Sequence[Sequence[str]], step: float, titles: Sequence[str] = ()) -> None:
    """Write columns next to each other, each `step` further right, under their titles."""
    top = bottom = pages.y
    for at, lines in enumerate(columns):
        pages.y = top
        x = LEFT + at * step
        if titles:
            pages.line(titles[at], x=x, font="Helvetica-Bold", step=24)
        for line in lines:
            pages.line(line.strip(), x=x + 8 * line.startswith("  "), step=12)
        bottom = max(bottom, pages.y)
    pages.y = bottom + 12


def _begun() -> Sheet:
    pages = sheet()
    pages.heading("1 Principles", 15)
    pages.paragraph(*_INTRODUCTION)
    return pages


def _ended(pages: Sheet) -> list[str]:
    pages.paragraph("The drawings show how the principles were applied to each of the buildings on the site, and")
    paragraphs = texts(read(pages))
    return paragraphs[paragraphs.index(" ".join(_INTRODUCTION)) + 1 : -1]


def test_cards_are_read_one_by_one() -> None:
    pages = _begun()
    names = ["Layout", "Scale", "Appearance"]
    _columns(pages, [_wrapped(text, 28) for text in (_LAYOUT, _SCALE, _LOOK)], 160, names)
    assert [text for text in _ended(pages) if text not in names] == [_LAYOUT, _SCALE, _LOOK]


def test_items_of_cards_keep_their_order() -> None:
    pages = _begun()
    items = [("Two new links lead to the path along the river.", "All entrances are level and have a canopy."),
             ("Rain water is held in basins that are planted with reeds.", "Floors are set above the flood level."),
             ("Heat is taken from the river by two pumps.", "Roofs carry panels, and the sheds turf.")]  # fmt: skip
    columns = [[line for item in some for line in _wrapped(item, 26, "• ")] for some in items]
    _columns(pages, columns, 160, ["Access", "Water", "Energy"])
    found = texts(read(pages), BlockKind.LIST_ITEM)
    assert found == [f"• {item}" for some in items for item in some]


def test_columns_below_an_introduction() -> None:
    pages = _begun()
    _columns(pages, [_wrapped(text, 42) for text in _BESIDE], 250)
    assert _ended(pages) == list(_BESIDE)


_FORM = [
    ("Applicant", "Mill Lane Developments Ltd"),
    ("Agent", "Hart and Sons of the Old Exchange, who also act for the owner of the land to the north of the site"),
    ("Description of works", "Demolition of two sheds and erection of 84 dwellings with parking and a new link to it"),
    ("Site area", "1.8 hectares"),
]
_TERMS = [
    (
        "affordable home for rent",
        "a dwelling that is let at a rent of not more than eighty per cent of the local rent",
    ),
    ("design event for fluvial flooding", "a flood that has a chance of one in a hundred of occurring in any one year"),
]


@pytest.mark.parametrize("rows", [_FORM, _TERMS], ids=["form", "terms"])
@pytest.mark.parametrize("space", [0, 6])
def test_labels_and_values_are_rows(rows: Sequence[tuple[str, str]], space: float) -> None:
    pages = _begun()
    for label, value in rows:
        _columns(pages, [_wrapped(label, 25), _wrapped(value, 60)], 160)
        pages.y += space - 12
    pages.y += 24
    pages.paragraph("The drawings show how the principles were applied to each of the buildings on the site, and")
    (found,) = tables(read(pages))
    assert [tuple(row) for row in found] == rows


def test_columns_in_rounded_boxes() -> None:
    pages = _begun()
    for at in range(3):
        pages.canvas.roundRect(LEFT - 6 + at * 160, HEIGHT - pages.y - 90, 148, 108, 6)
    names = ["Step 1", "Step 2", "Step 3"]
    _columns(pages, [_wrapped(text, 27) for text in (_LAYOUT, _SCALE, _LOOK)], 160, names)
    assert [text for text in _ended(pages) if text not in names] == [_LAYOUT, _SCALE, _LOOK]


def test_a_section_below_columns_begins_after_both() -> None:
    pages = sheet()
    pages.heading("4 Background", 16)
    _columns(pages, [_wrapped(text, 42) for text in (_BESIDE[0] * 2, _BESIDE[1])], 250)
    pages.heading("5 Contacts", 16)
    _columns(pages, [_wrapped(text, 42) for text in (_BESIDE[1], _BESIDE[0])], 250)
    text = read(pages).text
    assert text.index("It is flat") < text.index("To the east") < text.index("5 Contacts") < text.rindex("To the east")


def test_the_title_of_a_box_stays_with_its_text() -> None:
    pages = sheet()
    pages.heading("1 Principles", 15)
    top = pages.y
    pages.at(430, top + 6, "Fees", size=8, font="Helvetica-Bold")
    box = ("The fee for a householder", "application is paid through", "the portal, which adds a", "charge of its own.")
    for at, line in enumerate(box):
        pages.at(430, top + 29 + at * 11, line, size=8)
    for line in _wrapped(f"{_LAYOUT} {_SCALE} {_LOOK} {_LAYOUT}", 62):
        pages.line(line, step=13)
    text = read(pages).text
    assert "Fees" in text
    assert f"{_LAYOUT} {_SCALE} {_LOOK} {_LAYOUT}" in text


def test_numbers_that_hang_before_their_texts_are_no_labels() -> None:
    pages = _begun()
    for number, text in (("1.1", _LAYOUT), ("1.2", _SCALE), ("1.3", _LOOK)):
        _columns(pages, [[number], _wrapped(text, 70)], 40)
    document = read(pages)
    assert tables(document) == []


def test_wide_labels_with_values_of_one_line_are_rows() -> None:
    pages = _begun()
    for _ in range(4):
        pages.paragraph(*_INTRODUCTION)
    rows = [("Name of the applicant or agent", "Mill Lane Developments Ltd, Corn Street"),
            ("Address of the site and the ward", "Former depot at Mill Lane, North ward"),
            ("Description of works proposed", "Demolition of two sheds and a new link"),
            ("Supporting documents sent", "Flood risk assessment, heritage statement")]  # fmt: skip
    for label, value in rows:
        pages.at(LEFT, pages.y, label, font="Helvetica-Bold")
        pages.line(value, x=LEFT + 200, step=16)
    pages.paragraph("The drawings show how the principles were applied to each of the buildings on the site, and")
    assert tables(read(pages)) == [[list(row) for row in rows]]

"""Documents in two languages: side by side, on facing pages, one behind the other; each is read by itself."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Sequence

import pytest

from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet
from tests.readers.two_languages import ENGLISH, FRENCH, Clause, clauses_of

RIGHT = 310.0
Lines = list[tuple[str, str]]
"""Lines and their fonts."""


def lines_of(clauses: Sequence[Clause], width: int) -> Lines:
    lines: Lines = []
    for number, title, text in clauses:
        lines += [
            (f"{number} {title}", "Helvetica-Bold"),
            *((each, "Helvetica") for each in textwrap.wrap(text, width)),
        ]
    return lines


def put(pages: Sheet, lines: Lines, left: float = LEFT) -> None:
    """Print lines from the top of a page."""
    pages.y = 90.0
    for text, font in lines:
        pages.y += 8 if font == "Helvetica-Bold" else 0
        pages.line(text, x=left, font=font)


def side_by_side() -> Sheet:
    """Set a language in each column, over pages that end in the middle of a sentence."""
    pages = sheet()
    columns = [lines_of(clauses, 40) for clauses in (ENGLISH, FRENCH)]
    for start in range(0, max(map(len, columns)), 12):
        if start:
            pages.next_page()
        for left, lines in zip((LEFT, RIGHT), columns, strict=True):
            put(pages, lines[start : start + 12], left)
    return pages


_TERMS = (
    (
        "pump",
        "machine that moves a liquid by adding energy to it",
        "pompe",
        "machine qui déplace un liquide par l'énergie",
    ),
    ("head", "energy that is added to the liquid per unit of its weight", "hauteur", "énergie par unité de son poids"),
    (
        "flow rate",
        "volume of the liquid that passes in unit time",
        "débit",
        "volume du liquide qui passe par unité de temps",
    ),
    (
        "duty point",
        "flow and head for which the pump is ordered",
        "régime",
        "débit et hauteur pour lesquels elle est choisie",
    ),
    (
        "seal",
        "part that keeps the liquid in where the shaft goes out",
        "joint",
        "pièce qui retient le liquide dans le corps",
    ),
)


def test_terms_of_two_languages_that_are_level_row_by_row_are_no_table_and_not_woven_into_each_other() -> None:
    pages = sheet()
    for number, (term, meaning, *others) in enumerate(_TERMS, 1):
        rows: list[list[tuple[str, str]]] = []
        for words, text in ((term, meaning), tuple(others)):
            lines = [(f"3.{number}", "Helvetica-Bold"), (words, "Helvetica-Bold")]
            rows.append([*lines, *((line, "Helvetica") for line in textwrap.wrap(text, 34))])
        top = pages.y
        for left, lines in zip((LEFT, RIGHT), rows, strict=True):
            pages.y = top
            for text, font in lines:
                pages.line(text, x=left, font=font)
        pages.y = top + 13 * max(map(len, rows)) + 8

    words = " ".join(read_pdf(pages).text.split())

    sides = [[f"3.{number} {one[side]} {one[side + 1]}" for number, one in enumerate(_TERMS, 1)] for side in (0, 2)]
    assert words == " ".join(itertools.chain.from_iterable(sides))


def on_facing_pages() -> Sheet:
    """Set French on left pages and English on right ones."""
    pages = sheet()
    languages = [lines_of(clauses, 80) for clauses in (FRENCH, ENGLISH)]
    for start in range(0, max(map(len, languages)), 7):
        for lines in languages:
            if lines[start : start + 7]:
                put(pages, lines[start : start + 7])
                pages.next_page()
    return pages


def one_behind_the_other() -> Sheet:
    pages = sheet()
    put(pages, lines_of(ENGLISH, 80))
    pages.next_page()
    put(pages, lines_of(FRENCH, 80))
    return pages


@pytest.mark.parametrize("pages", [side_by_side, on_facing_pages, one_behind_the_other])
def test_each_language_is_read_by_itself(pages: Callable[[], Sheet]) -> None:
    found = clauses_of(read_pdf(pages()))
    assert sorted(found) == sorted([*ENGLISH, *FRENCH])
    assert [each for each in found if each in ENGLISH] == list(ENGLISH)
    assert [each for each in found if each in FRENCH] == list(FRENCH)


def test_a_page_holds_what_is_printed_on_it_of_both_languages() -> None:
    document = read_pdf(side_by_side())
    first = document.pages[0]
    words = " ".join(run.of(document.text) for run in first.runs)
    assert "1 Scope" in words
    assert "1 Domaine" in words
    assert "4 Records" not in words
    assert "4 Relevés" not in words


def test_languages_whose_numbers_differ_are_one_document() -> None:
    pages = sheet()
    put(pages, lines_of(ENGLISH, 80))
    pages.next_page()
    put(pages, lines_of([(f"{7 + place}", title, text) for place, (_, title, text) in enumerate(FRENCH)], 80))
    assert [each.number for each in read_pdf(pages).sections] == [
        *(number for number, _, _ in ENGLISH), *(str(number) for number in range(7, 13)),
    ]  # fmt: skip


def test_a_summary_in_another_language_is_none_of_two_languages() -> None:
    pages = sheet()
    put(pages, lines_of(ENGLISH, 80))
    pages.next_page()
    put(pages, lines_of([("", "Résumé", FRENCH[0][2])], 80))
    found = clauses_of(read_pdf(pages))
    assert found[: len(ENGLISH)] == list(ENGLISH)

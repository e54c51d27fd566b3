"""Documents in two languages: side by side, on facing pages, one behind the other; each is read by itself."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, Sheet, item_of, sheet

RIGHT = 310.0
Clause = tuple[str, str, str]
"""Number, title and text."""
ENGLISH: Sequence[Clause] = (
    ("1", "Scope", "This part applies to the pumps that are used in the wells of a town and to all of their pipes."),
    (
        "2",
        "Pipes",
        "The pipes shall be tested by the maker before they are laid in the ground, and the records of the tests "
        "shall be kept with those of the well for as long as there is water in it.",
    ),
    ("2.1", "Steel", "Pipes of steel shall not be in contact with those of another metal, if they are in the ground."),
    (
        "2.2",
        "Joints",
        "The joints shall be made by a person who has been trained by the maker of the pipes. They should be seen "
        "from the gate of the well, so that what is lost there is found by those who are near.",
    ),
    ("3", "Pumps", "A pump shall be stopped by hand from the outside of the house that it is in."),
    ("4", "Records", "What was done to a pump shall be written in the book which is kept at the well."),
)
FRENCH: Sequence[Clause] = (
    ("1", "Domaine", "La présente partie est applicable aux pompes qui sont utilisées dans les puits d'une ville."),
    (
        "2",
        "Tuyaux",
        "Les tuyaux doivent être essayés par le fabricant avant la pose dans le sol, et les relevés de ces essais "
        "doivent être conservés avec ceux du puits aussi longtemps que l'eau est présente dans ce puits.",
    ),
    ("2.1", "Acier", "Les tuyaux en acier ne doivent pas être en contact avec ceux d'un autre métal dans le sol."),
    (
        "2.2",
        "Joints",
        "Les joints doivent être réalisés par une personne qui a été formée par le fabricant de ces tuyaux. Il "
        "convient que les joints soient vus depuis la porte du puits, afin que la perte soit trouvée par les voisins.",
    ),
    ("3", "Pompes", "Une pompe doit être arrêtée à la main depuis l'extérieur de la maison dans laquelle elle est."),
    ("4", "Relevés", "Les travaux sur une pompe doivent être inscrits dans le livre qui est conservé près du puits."),
)
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


def read(pages: Sheet) -> Document:
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))


def clauses_of(document: Document) -> list[Clause]:
    """List the sections with the text of each above those below it."""
    found: list[Clause] = []
    for section in document.sections:
        below = [each.span.start for each in document.sections if each.span.start > section.span.start]
        end = min([*below, section.span.end])
        found.append((section.number or "", section.title, " ".join(document.text[section.heading.end : end].split())))
    return found


@pytest.mark.parametrize("pages", [side_by_side, on_facing_pages, one_behind_the_other])
def test_each_language_is_read_by_itself(pages: Callable[[], Sheet]) -> None:
    found = clauses_of(read(pages()))
    assert sorted(found) == sorted([*ENGLISH, *FRENCH])
    assert [each for each in found if each in ENGLISH] == list(ENGLISH)
    assert [each for each in found if each in FRENCH] == list(FRENCH)


def test_a_page_holds_what_is_printed_on_it_of_both_languages() -> None:
    document = read(side_by_side())
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
    assert [each.number for each in read(pages).sections] == [
        *(number for number, _, _ in ENGLISH), *(str(number) for number in range(7, 13)),
    ]  # fmt: skip


def test_a_summary_in_another_language_is_none_of_two_languages() -> None:
    pages = sheet()
    put(pages, lines_of(ENGLISH, 80))
    pages.next_page()
    put(pages, lines_of([("", "Résumé", FRENCH[0][2])], 80))
    found = clauses_of(read(pages))
    assert found[: len(ENGLISH)] == list(ENGLISH)

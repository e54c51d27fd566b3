"""Bookmarks and contents that say less, or other things, than the pages."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.engine import Bookmark
from knowledge_mcp.readers.pdf.headings.candidates import body_of
from knowledge_mcp.readers.pdf.headings.numbered import detect_headings
from knowledge_mcp.readers.pdf.headings.outline import merge_headings, outline_headings
from knowledge_mcp.readers.shared.layout import Table
from tests.readers.pdf_files import Sheet, read_pdf, sheet
from tests.readers.sheets import PROSE, Sheets


def shown(document: Document) -> list[tuple[str, int]]:
    return [(section.label, section.level) for section in document.sections]


def prose(pages: Sheet) -> None:
    pages.paragraph(*["The recorder keeps every sample that it takes until an operator has read it, and"] * 3)


def test_items_that_a_file_names_are_no_chapters_of_its_numbering() -> None:
    made = Sheets()
    entries: list[Bookmark] = []
    for name in ("Summary of it all:", "Advice for members:"):
        made.line(name, bold=True, font="Arial-Bold", gap=10)
        made.prose()
        entries.append(Bookmark(name, 1, 1, None))
    for item in ("1) That the plan is adopted at once.", "2) That the officer may correct it."):
        made.line(item, gap=6)
        entries.append(Bookmark(item, 1, 1, None))
    made.turn()
    for number, name in enumerate(("Background", "Options", "Views", "Costs"), 1):
        made.line(f"{number}. {name} of the plan", bold=True, font="Arial-Bold", gap=10)
        for part in (1, 2):
            made.line(f"{number}.{part} The {PROSE}.", gap=6)
    named = outline_headings(entries, made.pages)
    merged = merge_headings(named, detect_headings(made.pages, body_of(made.pages), numbered_only=True), made.pages)
    assert [(each.number, each.title) for each in merged][-4:] == [
        ("1", "Background of the plan"),
        ("2", "Options of the plan"),
        ("3", "Views of the plan"),
        ("4", "Costs of the plan"),
    ]
    assert [each.title for each in merged][:3] == [
        "Summary of it all:",
        "Advice for members:",
        "That the plan is adopted at once.",
    ]


def test_bookmarks_below_contents_and_of_their_entries_are_those_of_the_text_beside_them() -> None:
    pages = sheet()
    parts = ("Foundations of it", "Admission to it", "Award of it")
    pages.heading("Inhaltsverzeichnis", bookmark=0)
    for count, name in enumerate(parts):
        pages.heading(f"{'I' * (count + 1)}. {name}", 10, bookmark=1)
        for number in (1, 2):
            pages.line(f"§ {2 * count + number} Rule {'abcdefgh'[2 * count + number] * 3} of it")
    for count, name in enumerate(parts):
        pages.next_page()
        pages.heading(f"{'I' * (count + 1)}. {name}", bookmark=1)
        for number in (1, 2):
            pages.heading(f"§ {2 * count + number} Rule {'abcdefgh'[2 * count + number] * 3} of it", 10)
            prose(pages)
    assert shown(read_pdf(pages)) == [
        ("Inhaltsverzeichnis", 1),
        *(
            entry
            for count, name in enumerate(parts)
            for entry in (
                (f"{'I' * (count + 1)} {name}", 1),
                *((f"{2 * count + number} Rule {'abcdefgh'[2 * count + number] * 3} of it", 1) for number in (1, 2)),
            )
        ),
    ]


_TOPICS = ("Acceptance", "Access", "Builds", "Contracts", "Databases", "Evaluation", "Firmware", "Licences")
_MARKED = {1: "ABE", 2: "C", 4: "ADEF", 6: "BCDEF", 7: "F"}


def test_a_matrix_of_clauses_after_the_contents_is_a_table_and_no_contents() -> None:
    pages = sheet()
    pages.heading("Contents")
    for number, topic in enumerate(_TOPICS, 1):
        pages.line(f"5.{number} {topic} {'.' * 60} {number + 2}")
    pages.next_page()
    pages.grid(
        [
            ["Topic", *"ABCDEF"],
            *(
                [f"5.{number} {topic}", *("•" if form in _MARKED.get(number, "") else "" for form in "ABCDEF")]
                for number, topic in enumerate(_TOPICS, 1)
            ),
        ],
        [160, 30, 30, 30, 30, 30, 30],
    )
    pages.next_page()
    for number, topic in enumerate(_TOPICS, 1):
        pages.heading(f"5.{number} {topic}")
        prose(pages)
    document = read_pdf(pages)
    assert "| 5.4 Contracts | • |  |  | • | • | • |" in document.text
    assert shown(document)[-8:] == [(f"5.{number} {topic}", 2) for number, topic in enumerate(_TOPICS, 1)]


@pytest.mark.parametrize(
    ("sign", "printed"), [("\uf09f", "▪"), ("\uf0fc", "✓"), ("\uf0b3", "≥"), ("\uf09f x", "\uf09f x"), ("X", "X")]
)
def test_the_only_sign_of_a_cell_is_shown_though_its_font_is_not_known(sign: str, printed: str) -> None:
    assert Table(1, [["Topic", "A"], ["Access", sign]], []).markdown()[-1] == f"| Access | {printed} |"

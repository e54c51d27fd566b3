"""What a document is called: scraps are no titles, those who agree win, and the file's name is what is left."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.titles import TitleCandidate, TitleSource, choose_title, plain_name, without_site

TEXT = "The harbour crane standard tells how harbour cranes are inspected. " + " ".join(
    f"{first}{second}a" for first in "bcdfghklmn" for second in "bcdfghklmnprst"
)


def chosen(*candidates: tuple[TitleSource, str], name: str = "some_file-2.pdf", ocr: bool = False) -> str:
    return choose_title([TitleCandidate(text, source, ocr) for source, text in candidates], name, TEXT)


@pytest.mark.parametrize(
    "scrap",
    [
        "says,",
        "crane",
        "0-e-el-k- 5.A.:01.6e.e.",
        "Date: 0 ot July",
        "The crane is",
        "(Version 1.3)",
        "| | —— 12",
        "xq zrtk wvb",
        "USR0 USR1 USR2",
        "Untitled-1",
        "Cover Page (front)",
        "Microsoft Word - final.doc",
        "Adobe Photoshop PDF",
        "Layout 1",
        "INTERNATIONAL STANDARD",
        "Norme internationale",
        "AMENDMENT 1",
        "FAX",
        "Official Journal of the European Union",
        "Amtsblatt der Europäischen Union",
        "REGULATIONS",
    ],
)
def test_scraps_give_way_to_the_name_of_the_file_in_plain_form(scrap: str) -> None:
    assert chosen((TitleSource.LARGEST, scrap), (TitleSource.STATED, scrap)) == "some file-2"


def test_one_word_that_was_recognised_on_a_scan_is_no_title_but_a_printed_one_is() -> None:
    assert chosen((TitleSource.LARGEST, "Harbour"), ocr=True) == "some file-2"
    assert chosen((TitleSource.LARGEST, "Harbour Cranes"), ocr=True) == "Harbour Cranes"
    assert chosen((TitleSource.LARGEST, "Harbour")) == "Harbour"


def test_a_label_that_was_recognised_is_no_designation() -> None:
    assert chosen((TitleSource.LARGEST, "LOW 22.5.m3/h"), ocr=True) == "some file-2"
    assert chosen((TitleSource.LARGEST, "MIL-STD-498"), ocr=True) == "MIL-STD-498"


def test_the_number_of_a_part_stands_before_the_title_of_its_data_sheet_unless_that_has_it() -> None:
    part, words = (TitleSource.LARGEST, "LM317"), "Adjustable voltage regulator"
    assert chosen(part, (TitleSource.SMALLER, words)) == f"LM317 {words}"
    assert chosen(part, (TitleSource.SMALLER, f"{words} LM317")) == f"{words} LM317"
    assert chosen((TitleSource.SMALLER, "LM317"), (TitleSource.LARGEST, words)) == words


def test_a_property_that_the_text_bears_out_wins_over_print_and_one_of_another_document_does_not() -> None:
    printed = (TitleSource.LARGEST, "Inspected Cranes")
    assert chosen((TitleSource.STATED, "Harbour Crane Standard"), printed) == "Harbour Crane Standard"
    assert chosen((TitleSource.STATED, "Quarterly Marmalade Report"), printed) == "Inspected Cranes"
    assert chosen((TitleSource.STATED, "crane_final_v3"), printed) == "Inspected Cranes"


def test_a_property_that_a_template_left_is_no_title() -> None:
    assert chosen((TitleSource.STATED, "Harbour crane standard template"), (TitleSource.HEADING, "Inspection")) != (
        "Harbour crane standard template"
    )
    assert choose_title(
        [TitleCandidate("Crane template", TitleSource.STATED)], "a.pdf", f"{TEXT} This template is"
    ) == ("Crane template")


def test_abbreviations_of_a_property_are_written_as_the_text_does() -> None:
    stated = [TitleCandidate("Crane Inspection Format (Cif) Version 2", TitleSource.STATED)]
    known = f"Crane inspection\nFormat (CIF) version 2 {TEXT}"
    assert choose_title(stated, "cif.pdf", known) == "Crane Inspection Format (CIF) Version 2"
    assert choose_title(stated, "cif.pdf", known.upper()) == "Crane Inspection Format (Cif) Version 2"


def test_candidates_that_agree_win_over_one_that_stands_alone() -> None:
    found = chosen(
        (TitleSource.LARGEST, "National Harbour Board"),
        (TitleSource.SMALLER, "Inspection of Cranes"),
        (TitleSource.HEADING, "Inspection of Cranes"),
        (TitleSource.RUNNING, "Inspection of Cranes"),
    )
    assert found == "Inspection of Cranes"


def test_a_standard_is_called_by_designation_and_title() -> None:
    title = (TitleSource.LARGEST, "Harbour Cranes")
    for designation in ("ISO 12345:2019", "MIL-STD-498", "NIST SP 800-207", "EN ISO 9001:2015", "DI-IPSC-81435"):
        assert chosen(title, (TitleSource.SMALLER, designation)) == f"{designation} Harbour Cranes"
    dated = (TitleSource.STATED, "MIL-STD-498 5 Dec 94 (PDF version 7/1/95)")
    assert chosen(dated, title) == "MIL-STD-498 Harbour Cranes"
    assert chosen(dated) == "MIL-STD-498"
    assert chosen(title, (TitleSource.SMALLER, "DECEMBER 1994")) == "Harbour Cranes"
    assert chosen((TitleSource.STATED, "ISO 12345 Harbour Cranes"), (TitleSource.RUNNING, "ISO 12345")) == (
        "ISO 12345 Harbour Cranes"
    )


def test_what_hangs_on_a_title_is_left_out() -> None:
    assert chosen((TitleSource.STATED, "- Harbour Cranes –")) == "Harbour Cranes"


def test_a_file_s_name_is_put_plainly() -> None:
    assert plain_name("crane_report_v2.pdf") == "crane report v2"
    assert plain_name("800-63b usability.docx") == "800-63b usability"
    assert plain_name(".hidden") == ".hidden"


@pytest.mark.parametrize("mark", ["1)", "¹", "†", "*", "12)"])
def test_the_mark_of_a_footnote_is_no_part_of_a_title(mark: str) -> None:
    assert chosen((TitleSource.LARGEST, f"Harbour crane standard{mark}")) == "Harbour crane standard"


@pytest.mark.parametrize("designation", ["ISO 1234:2015/Amd 1:2020", "ISO/IEC 1234-2:2015/Cor.2", "EN 1234:2015/AMD 1"])
def test_an_amendment_is_called_by_its_whole_designation(designation: str) -> None:
    found = chosen((TitleSource.LARGEST, "Harbour crane standard"), (TitleSource.STATED, designation))
    assert found == f"{designation} Harbour crane standard"


def test_a_projects_name_above_the_title_and_in_the_running_line_is_not_the_title() -> None:
    project = "PROJECT PHOENIX"
    places = [(place, project) for place in (TitleSource.SMALLER, TitleSource.HEADING, TitleSource.RUNNING)]
    assert chosen((TitleSource.LARGEST, "Safe Lifting of Containers"), *places) == "Safe Lifting of Containers"
    assert chosen(*places) == project


def test_a_heading_in_small_print_on_the_cover_does_not_speak_for_itself() -> None:
    once = [(TitleSource.SMALLER, "Chapter of cranes"), (TitleSource.HEADING, "Chapter of cranes")]
    assert chosen((TitleSource.LARGEST, "Safe Lifting of Containers"), *once) == "Safe Lifting of Containers"


LETTERS = (
    "NORTH HARBOUR\n\nMEMORANDUM\n\nTO: J. Miller FROM: A. Warden DATE: 14 March 1978 SUBJECT: Tests of crane No. 7",
    "An: Herrn Müller\nVon: A. Warden\nDatum: 14.3.1978\nBetreff: Tests of crane No. 7\nSeiten: 2",
    "Fax: 0171 555\nRe: Tests of crane No. 7\nTo: J. Miller\nFrom: A. Warden\nThe crane is old.",
)


@pytest.mark.parametrize("letter", LETTERS)
def test_a_letter_is_called_by_its_subject(letter: str) -> None:
    head = TitleCandidate("NORTH HARBOUR", TitleSource.LARGEST)
    assert choose_title([head], "scan.pdf", letter) == "Tests of crane No. 7"
    assert choose_title([head], "scan.pdf", "Subject: the crane. To: be tested.\nIt is old.") == "NORTH HARBOUR"


@pytest.mark.parametrize(
    ("title", "left"),
    [
        ("Crane safety | ACME", "Crane safety"),
        ("ACME - Guides – Crane safety", "Crane safety"),
        ("ISO 4309 | Crane safety", "ISO 4309 | Crane safety"),
        ("Crane safety | Brakes", "Crane safety | Brakes"),
        ("Crane-safety", "Crane-safety"),
    ],
)
def test_the_name_of_the_site_is_no_part_of_a_pages_title(title: str, left: str) -> None:
    assert without_site(title, ["Crane  safety", "Brakes"]) == left

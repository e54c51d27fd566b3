"""Terms clauses and glossaries give the same definitions as PDF, Word and Markdown, and nothing beyond them."""

from __future__ import annotations

import hashlib
import io
import re

import pytest

from benchmarks.glossary_files import as_docx, as_markdown, as_pdf
from benchmarks.glossary_forms import NUMBERED, PLAIN, Entry, Form, made_abbreviations, made_entries
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.pdf_files import Sheet, item_of, sheet

ENTRIES = made_entries(26, seed=7)
NAMES = [form.name for form in NUMBERED]
_FORMS = {form.name: form for form in (*NUMBERED, *PLAIN)}


def _pdf(form: Form, entries: list[Entry]) -> Document:
    return _read_pdf(as_pdf(form, entries))


def _read(pages: Sheet) -> Document:
    return _read_pdf(pages.done())


def _read_pdf(data: bytes) -> Document:
    reader = PdfReader(sandbox=InProcessSandbox())
    try:
        return reader.read(item_of(data))
    finally:
        reader.close()


def _docx(form: Form, entries: list[Entry], *, typed: bool = False) -> Document:
    return DocxReader(sandbox=HERE).read(item_of(as_docx(form, entries, typed=typed), "sample.docx"))


def _markdown(text: str) -> Document:
    data = text.encode()
    item = SourceItem(
        "memory:a.md", "a.md", "text/markdown", len(data), hashlib.sha256(data).hexdigest(), lambda: io.BytesIO(data)
    )
    return MarkdownReader(sandbox=HERE).read(item)


def _told(document: Document) -> list[tuple[str, str, tuple[str, ...], str | None, str | None, tuple[str, ...], str]]:
    """Say what the definitions are, their places in the text left aside."""
    return [
        (
            each.term,
            each.text,
            each.aliases,
            each.clause_number,
            each.domain,
            tuple(_plain(note) for note in each.notes),
            _plain(each.origin),
        )
        for each in find_definitions(document)
    ]


def _plain(text: str) -> str:
    """Print dashes alike, and leave out what opens a list's item: each format has its own."""
    return re.sub(r"(?<=[:;]) - ", " ", text.replace("—", "-").replace("•", "-"))


def _names(found: list[Definition]) -> dict[str, set[str]]:
    return {each.term: set(each.aliases) for each in found}


@pytest.mark.requirement("A-REQ-INGEST-003")
@pytest.mark.parametrize("name", NAMES)
def test_a_terms_clause_gives_every_term_with_its_whole_definition_as_pdf_word_and_markdown(name: str) -> None:
    form = _FORMS[name]
    document = _pdf(form, ENTRIES)
    found = find_definitions(document)
    defined = [entry for entry in ENTRIES if entry.words]
    assert {each.term: each.text for each in found} == {entry.terms[0]: entry.words for entry in defined}
    names = _names(found)
    for entry in defined:
        assert {*entry.terms[1:], *entry.deprecated} <= names[entry.terms[0]]
    assert [each.origin for each in found] == [entry.source for entry in defined]
    assert [len(each.notes) for each in found] == [len(entry.notes) + bool(entry.example) for entry in defined]
    assert [each.domain or "" for each in found] == [entry.domain for entry in defined]
    printed = _told(document)
    assert _told(_markdown(as_markdown(form, ENTRIES))) == printed
    assert _told(_docx(form, ENTRIES)) == printed
    assert _told(_docx(form, ENTRIES, typed=True)) == printed


@pytest.mark.parametrize("name", ["ISO", "ISO, groups", "IEV", "deep"])
def test_an_entry_is_a_section_with_its_number_and_its_term(name: str) -> None:
    form = _FORMS[name]
    documents = [_pdf(form, ENTRIES), _docx(form, ENTRIES), _markdown(as_markdown(form, ENTRIES))]
    labels = [[(each.number, each.title) for each in document.sections if each.number] for document in documents]
    assert labels[0] == labels[1]
    assert labels[0] == [label for label in labels[2] if label[1] != "A document"]
    assert ENTRIES[0].terms[0] in {title for _, title in labels[0]}


@pytest.mark.parametrize("name", [form.name for form in PLAIN if form.layout in {"run-in", "list", "hanging"}])
def test_glossaries_without_numbers_give_every_term(name: str) -> None:
    form = _FORMS[name]
    expected = {entry.terms[0]: entry.words for entry in ENTRIES if entry.words}
    for document in (_pdf(form, ENTRIES), _docx(form, ENTRIES), _markdown(as_markdown(form, ENTRIES))):
        assert {each.term: each.text.rstrip(".") for each in find_definitions(document)} == expected


@pytest.mark.parametrize("name", [form.name for form in PLAIN if form.layout == "columns"])
def test_columns_without_rules_are_a_table_whose_rows_may_wrap(name: str) -> None:
    form = _FORMS[name]
    entries = made_abbreviations(30) if name.startswith("abbr") else ENTRIES
    expected = {entry.terms[0]: entry.words for entry in entries if entry.words}
    for document in (_pdf(form, entries), _docx(form, entries), _markdown(as_markdown(form, entries))):
        assert {each.term: each.text for each in find_definitions(document)} == expected


def test_an_abbreviation_is_another_name_of_what_it_stands_for() -> None:
    text = (
        "# A document\n\n## 3 Terms and abbreviations\n\n### 3.1 Terms and definitions\n\n#### 3.1.1\n\n"
        "remote gauge register\n\nregister that is read from afar\n\n### 3.2 Abbreviated terms\n\n"
        "| Kgr | remote gauge register |\n| --- | --- |\n| FLT | forward lattice token |\n"
    )
    names = _names(find_definitions(_markdown(text)))
    assert names["remote gauge register"] == {"Kgr"}
    assert names["Kgr"] == {"remote gauge register"}


@pytest.mark.parametrize("name", [form.name for form in PLAIN if form.layout == "index"])
def test_an_index_defines_nothing(name: str) -> None:
    form = _FORMS[name]
    for document in (_pdf(form, ENTRIES), _docx(form, ENTRIES), _markdown(as_markdown(form, ENTRIES))):
        assert find_definitions(document) == []


@pytest.mark.parametrize("below", ["3.2 Abbreviated terms", "4 Requirements"])
def test_an_entry_ends_where_its_clause_ends(below: str) -> None:
    text = (
        "# A document\n\n## 3 Terms\n\n### 3.1\n\nsluice\n\ngate that holds water\n\nNote 1 to entry: It is heavy.\n\n"
        f"The gates of a canal are drawn in Figure 2.\n\n## {below}\n\nA sluice shall be shut at night.\n"
    )
    (only,) = find_definitions(_markdown(text))
    assert (only.text, only.notes) == ("gate that holds water", ("Note 1 to entry: It is heavy.",))


def test_numbers_alone_outside_of_terms_clauses_open_nothing() -> None:
    document = _markdown("# Changes\n\n## 1.2\n\nfaster search\n\nindex kept in memory\n\n## 1.1\n\nfirst\n\nrelease\n")
    assert find_definitions(document) == []
    assert [each.number for each in document.sections] == [None, None, None]


def _clause() -> Sheet:
    """Begin a document in the print of a standard, with full lines that show how wide it is set."""
    pages = sheet()
    pages.heading("1 Scope")
    pages.paragraph("This document sets requirements for recorders that take samples unattended, wherever they", "are.")
    pages.heading("2 Terms and definitions")
    return pages


def _entry(pages: Sheet, number: str, *terms: str, words: str) -> None:
    for bold in (number, terms[0]):
        pages.line(bold, font="Helvetica-Bold")
    for line in (*terms[1:], words):
        pages.line(line)
    pages.y += 8


def test_parts_of_an_entry_are_distinguished_on_the_page() -> None:
    pages = _clause()
    _entry(pages, "2.1", "recorder", "DEPRECATED: sampler", "<metering>", words="instrument that is either:")
    pages.paragraph("a) portable; or", "b) fixed.", x=90)
    pages.line("Note 1 to entry: These count as fixed:", size=9)
    pages.paragraph("— those in walls;", "— those in wells.", x=90)
    pages.paragraph("[SOURCE: ISO 9999:2020, 3.1.2]")
    _entry(pages, "2.2", "store", words="memory of a recorder")
    (recorder, store) = find_definitions(_read(pages))
    assert (recorder.text, recorder.domain) == ("instrument that is either: a) portable; or b) fixed.", "metering")
    assert (recorder.aliases, recorder.origin) == (("sampler",), "ISO 9999:2020, 3.1.2")
    assert [_plain(note) for note in recorder.notes] == [
        "Note 1 to entry: These count as fixed: those in walls; those in wells."
    ]
    assert (store.term, store.text) == ("store", "memory of a recorder")


def test_an_entry_takes_nothing_of_what_is_printed_around_it() -> None:
    pages = _clause()
    pages.paragraph("— ISO Online browsing platform: available at https://www.iso.org/obp")
    _entry(pages, "2.1", "store", words="memory of a recorder")
    pages.paragraph("The terms above are used throughout, and Figure 1 shows how they belong together in a plant.")
    pages.heading("3 Requirements")
    pages.paragraph("The recorder shall keep all samples.")
    (only,) = find_definitions(_read(pages))
    assert (only.term, only.text, only.aliases) == ("store", "memory of a recorder", ())


def test_an_entry_that_only_points_at_another_gives_that_one_its_names() -> None:
    pages = _clause()
    _entry(pages, "2.1", "log", "DEPRECATED: diary", words="See store (2.2).")
    _entry(pages, "2.2", "store", words="memory of a recorder")
    (only,) = find_definitions(_read(pages))
    assert (only.term, only.aliases) == ("store", ("log", "diary"))


def test_a_page_may_begin_with_the_number_of_an_entry() -> None:
    pages = _clause()
    _entry(pages, "2.1", "recorder", words="instrument for samples")
    pages.next_page()
    _entry(pages, "2.2", "store", words="memory of an instrument")
    pages.next_page()
    _entry(pages, "2.3", "operator", words="reader of what is stored")
    pages.heading("3 Requirements")
    pages.next_page()
    pages.paragraph("The recorder shall keep all samples.")
    assert [each.clause_number for each in find_definitions(_read(pages))] == ["2.1", "2.2", "2.3"]


_VOCABULARY = (
    ("999-01-01", "isolating switch", "switch that isolates a circuit from its supply", "sectionneur, m",
     "interrupteur qui isole un circuit de son alimentation", "de Trennschalter, m", "es seccionador"),
    ("999-01-02", "earth conductor", "conductor that connects a part to earth", "conducteur de terre, m",
     "conducteur qui relie une partie à la terre", "de Erdungsleiter, m", "es conductor de tierra"),
)  # fmt: skip


def test_an_entry_in_several_languages_says_what_the_first_one_says() -> None:
    pages = sheet()
    pages.heading("999-01 General terms")
    for number, term, *others in _VOCABULARY:
        pages.paragraph(number, font="Helvetica-Bold")
        pages.paragraph(term, font="Helvetica-Bold")
        for line in others:
            pages.paragraph(line)
    text = "# Vocabulary\n\n## 999-01 General terms\n\n"
    for number, *lines in _VOCABULARY:
        text += f"### {number}\n\n" + "".join(f"{line}\n\n" for line in lines)
    expected = [(number, term, words) for number, term, words, *_ in _VOCABULARY]
    for document in (_read(pages), _markdown(text)):
        assert [(each.clause_number, each.term, each.text) for each in find_definitions(document)] == expected


def test_small_words_that_are_codes_too_do_not_end_a_definition() -> None:
    text = "# 3 Terms and definitions\n\n## 3.1\n\nlog\n\nrecord that lists:\n\nno more than the events\n"
    (found,) = find_definitions(_markdown(text))
    assert found.text == "record that lists: no more than the events"


def test_run_in_terms_are_entries_after_a_number_that_is_missing_or_names_a_sign() -> None:
    words = {"3.1": "gauge", "3.2": "·", "3.3": "valve", "3.6": "ledger", "3.7": "relay"}
    text = "# A document\n\n## 3 Definitions\n\n"
    text += "\n\n".join(f"**{number} {term}:** A thing that {term}s are made of." for number, term in words.items())
    found = {each.clause_number: each.term for each in find_definitions(_markdown(text))}
    assert found == {number: term for number, term in words.items() if term != "·"}

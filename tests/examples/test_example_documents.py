"""The committed example documents are those that the script builds, and what they cite is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from examples.build import HANDBOOK, STANDARD, build
from examples.source_text import ItemKind, read_source_text
from knowledge_mcp.model.document import Document, DocumentType
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.readers.docx_files import file_item
from tests.readers.in_process import HERE

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DOCUMENTS = EXAMPLES / "documents"
GUIDE = "quality-control-guide.md"
CITED = re.compile(r"FSC (?P<document>4100|4110|4120)(?::2025)?,(?: clause)? (?P<clause>\d+(?:\.\d+)*|[A-Z]\.\d+)")


def pdf_pages(path: Path) -> list[tuple[str, str]]:
    """List each page's label and text."""
    opened: Any = pypdfium2.PdfDocument(path)
    with opened as document:
        return [
            (str(document.get_page_label(index)), str(document[index].get_textpage().get_text_bounded()))
            for index in range(len(document))
        ]


def clauses() -> dict[str, set[str]]:
    """Collect the clause numbers of each document."""
    standard = read_source_text(EXAMPLES / "sources" / "standard.txt")
    handbook = DocxReader(sandbox=HERE).read(file_item(DOCUMENTS / HANDBOOK))
    guide = MarkdownReader(sandbox=HERE).read(file_item(DOCUMENTS / GUIDE))
    return {
        "4100": {item.number for item in standard.items if item.kind in {ItemKind.HEADING, ItemKind.ANNEX}},
        "4110": numbers(handbook),
        "4120": numbers(guide),
    }


def numbers(document: Document) -> set[str]:
    return {section.number for section in document.sections if section.number}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both documents again."""
    folder = tmp_path_factory.mktemp("examples")
    build(folder)
    return folder


def test_the_committed_pdf_has_the_pages_and_words_of_a_fresh_build(rebuilt: Path) -> None:
    committed = pdf_pages(DOCUMENTS / STANDARD)
    assert committed == pdf_pages(rebuilt / STANDARD)
    assert [label for label, _ in committed] == ["i", "ii", "iii", "iv", *(str(n) for n in range(1, 11))]


def test_the_committed_docx_reads_like_a_fresh_build(rebuilt: Path) -> None:
    committed = DocxReader(sandbox=HERE).read(file_item(DOCUMENTS / HANDBOOK))
    fresh = DocxReader(sandbox=HERE).read(file_item(rebuilt / HANDBOOK))
    assert committed.text == fresh.text
    assert committed.sections == fresh.sections
    assert committed.references == fresh.references


def test_two_builds_are_equal_byte_for_byte(rebuilt: Path, tmp_path: Path) -> None:
    for path in build(tmp_path):
        assert path.read_bytes() == (rebuilt / path.name).read_bytes()


def test_every_clause_that_one_document_cites_of_another_exists() -> None:
    known = clauses()
    texts = [path.read_text("utf-8") for path in (EXAMPLES / "sources").glob("*.txt")]
    texts += [(DOCUMENTS / GUIDE).read_text("utf-8"), (EXAMPLES / "README.md").read_text("utf-8")]
    cited = [match.group("document", "clause") for text in texts for match in CITED.finditer(" ".join(text.split()))]
    assert len(cited) > 20
    assert [(document, clause) for document, clause in cited if clause not in known[document]] == []


def test_the_clauses_of_the_standard_go_four_levels_deep_and_stand_in_the_pdf() -> None:
    text = " ".join(" ".join(page.split()) for _, page in pdf_pages(DOCUMENTS / STANDARD))
    standard = read_source_text(EXAMPLES / "sources" / "standard.txt")
    headings = [f"{item.number} {item.text}" for item in standard.items if item.kind is ItemKind.HEADING]
    assert max(heading.split()[0].count(".") for heading in headings) == 3
    assert [heading for heading in headings if heading not in text] == []


def test_the_handbook_and_the_guide_say_who_they_are() -> None:
    handbook = DocxReader(sandbox=HERE).read(file_item(DOCUMENTS / HANDBOOK))
    guide = MarkdownReader(sandbox=HERE).read(file_item(DOCUMENTS / GUIDE))
    assert (handbook.id, handbook.document_type) == ("fsc-4110", DocumentType.HANDBOOK)
    assert (guide.id, guide.document_type) == ("fsc-4120", DocumentType.GUIDE)
    assert handbook.warnings == ()
    assert guide.warnings == ()
    assert {r.target for r in handbook.references} >= {"Table 1", "4.3", "3.1"}

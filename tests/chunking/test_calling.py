"""What a document is called before its passages: its title, and what of its file's name its first lines confirm."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.headings import title_with_file_name
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.model.document import BlockKind, Document, DocumentType
from tests.fakes.documents import Part, PieceMeasure, build_document

_OPENING = (
    "Report of the Harbour Master for the year ended 31 December 2021, Form 7-B, filed by Quays and Sons Ltd. HM2100"
)


def _document(source: str, title: str, text: str = _OPENING) -> Document:
    parts = [Part(BlockKind.PARAGRAPH, text), Part(BlockKind.HEADING, "Dues"), Part(BlockKind.PARAGRAPH, "Ships pay.")]
    return replace(build_document(parts, title=title), source_uri=source)


@pytest.mark.parametrize(
    ("source", "title", "name"),
    [
        ("file:///library/HARBOURMASTER_2021_7B.pdf", "Annual Report", "Harbour Master 2021 7-B: Annual Report"),
        ("/library/harbour%20master.pdf", "Annual Report", "Harbour Master: Annual Report"),
        ("https://example.org/harbour-2021.html?page=3", "Annual Report", "Harbour 2021: Annual Report"),
        ("/library/quays-2021.pdf", "Quays", "2021: Quays"),
        ("/library/harbour.pdf", "", "Harbour"),
        ("/library/HM2100.pdf", "Typical Quay", "HM2100: Typical Quay"),
        ("/library/hm2100_ds_v2.pdf", "Typical Quay", "HM2100: Typical Quay"),
    ],
)
def test_words_of_the_file_that_the_first_lines_confirm_stand_before_the_title(
    source: str, title: str, name: str
) -> None:
    assert title_with_file_name(_document(source, title)) == name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/library/hmp-1153.md", "HMP 1153: Dues"),
        ("/library/HMP-DUES-0007.md", "HMP 0007: Dues"),
        ("/library/hmp1153_2020-draft3.md", "HMP 1153: Dues"),
        ("/library/quay-1153.md", "Quay: Dues"),
        ("/library/1153-hmp.md", "HMP: Dues"),
        ("/library/hmp-final-1153.md", "HMP: Dues"),
        ("/library/img-1153.md", "Dues"),
        ("/library/HARBOURFEES_1153.md", "HARBOUR FEES: Dues"),
    ],
)
def test_the_number_of_a_series_that_the_text_abbreviates_needs_no_confirmation(source: str, name: str) -> None:
    text = "HARBOUR FEES: This HMP says what ships pay at a Quay."
    assert title_with_file_name(_document(source, "Dues", text)) == name


@pytest.mark.parametrize(
    "source",
    [
        "/library/d000123.md",
        "/library/2021.pdf",
        "/library/final_copy_of_scan.pdf",
        "/library/southern-2021.pdf",
        "/library/annual_report.pdf",
        "/library/filed_by.pdf",
        "/library/bour.pdf",
        "/library/7b.pdf",
        "/library/HM21.pdf",
        "",
    ],
)
def test_what_is_not_confirmed_or_says_nothing_new_leaves_the_title_alone(source: str) -> None:
    assert title_with_file_name(_document(source, "Annual  Report")) == "Annual Report"


def test_before_a_long_title_stand_also_the_words_that_it_has() -> None:
    title = "Report to the Board of Trade and of the Sea on All Dues by the Harbour Master"
    assert title_with_file_name(_document("/library/harbourmaster-2021.pdf", title)) == f"Harbour Master 2021: {title}"
    assert title_with_file_name(_document("/library/harbourmaster.pdf", title)) == title


def test_only_the_first_lines_confirm() -> None:
    text = f"{'Ships come and go. ' * 400}The Harbour Master."
    assert title_with_file_name(_document("/library/harbour.pdf", "Annual Report", text)) == "Annual Report"


def test_every_passage_is_embedded_with_what_its_document_is_called() -> None:
    document = _document("/library/HARBOURMASTER_2021.pdf", "Annual Report")
    chunks = ClauseChunker().chunk(document, DocumentType.REPORT, PieceMeasure(max_tokens=256))
    assert all(chunk.embedding_text.startswith("Harbour Master 2021: Annual Report") for chunk in chunks)
    assert {chunk.document_title for chunk in chunks} == {"Annual Report"}


@settings(deadline=None)
@given(source=st.text(max_size=30), title=st.text(max_size=30), text=st.text(min_size=1, max_size=60))
def test_the_title_is_always_kept(source: str, title: str, text: str) -> None:
    assert title_with_file_name(_document(source, title, text)).endswith(" ".join(title.split()))

"""What sections are, and what kind of document they make."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.model.document import BlockKind, DocumentType
from tests.fakes.documents import Part, build_document


def _heading(text: str, number: str | None = None, level: int = 1, *, informative: bool = False) -> Part:
    return Part(BlockKind.HEADING, text, level, number, informative)


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("Scope", SectionRole.OVERVIEW),
        ("Introduction", SectionRole.OVERVIEW),
        ("Table of Contents", SectionRole.OVERVIEW),
        ("Normative references", SectionRole.REFERENCES),
        ("Bibliography", SectionRole.REFERENCES),
        ("Referenced documents", SectionRole.REFERENCES),
        ("Terms and definitions", SectionRole.DEFINITIONS),
        ("KMR - Glossaire", SectionRole.DEFINITIONS),
        ("Glossar der Anlage", SectionRole.DEFINITIONS),
        ("Terms, definitions and abbreviated terms", SectionRole.DEFINITIONS),
        ("Conventions and Terminology", SectionRole.DEFINITIONS),
        ("GLOSSARY", SectionRole.DEFINITIONS),
        ("List of acronyms", SectionRole.ABBREVIATIONS),
        ("Symbols and abbreviated terms", SectionRole.ABBREVIATIONS),
        ("Example 2: pumps", SectionRole.EXAMPLE),
        ("Loads", SectionRole.BODY),
        ("Term", SectionRole.BODY),
        ("Terms", SectionRole.DEFINITIONS),
        ("Scope of supply", SectionRole.BODY),
        ("Reference voltage", SectionRole.BODY),
    ],
)
def test_titles_tell_what_a_section_is_for(title: str, role: SectionRole) -> None:
    assert SectionFacts(build_document([_heading(title)])).role(0) is role


def test_sections_without_a_telling_title_have_their_parents_role_force_and_clause() -> None:
    facts = SectionFacts(
        build_document(
            [
                _heading("Terms", "3"),
                _heading("widget", "3.1", 2),
                _heading("Remark", None, 3),
                _heading("Annex A (informative) Hints", None, informative=True),
                _heading("More", "A.1", 2),
            ]
        )
    )
    assert facts.roles == [SectionRole.DEFINITIONS] * 3 + [SectionRole.ANNEX] * 2
    assert [facts.is_informative(each.index) for each in facts.sections] == [False, False, False, True, True]
    assert [facts.clause_number(i) for i in range(5)] == ["3", "3.1", "3.1", None, "A.1"]


def test_a_section_with_a_letter_after_numbered_ones_is_an_annex() -> None:
    facts = SectionFacts(build_document([_heading("Loads", "5"), _heading("Mapping", "A")]))
    assert facts.role(1) is SectionRole.ANNEX
    assert SectionFacts(build_document([_heading("Overview of pumps", "A")])).role(0) is SectionRole.BODY


@pytest.mark.requirement("A-REQ-DATA-003")
@pytest.mark.parametrize(
    ("title", "name", "kind"),
    [
        ("ISO/IEC/IEEE 99999 Life cycle", "iso-99999", DocumentType.STANDARD),
        ("MIL-STD-999 Pumps", "mil_std_999", DocumentType.STANDARD),
        ("Systems Engineering Handbook", "handbook", DocumentType.HANDBOOK),
        ("Guide to Pumps", "pump-guide", DocumentType.GUIDE),
        ("Pump Control Requirements Specification", "srs", DocumentType.SPECIFICATION),
        ("Annual Report on Pumps", "report_2024", DocumentType.REPORT),
        ("Information Security Policy", "policy", DocumentType.POLICY),
        ("Letter to a friend", "letter", DocumentType.CUSTOM),
    ],
)
def test_documents_are_classified_by_title_and_name(title: str, name: str, kind: DocumentType) -> None:
    body = Part(BlockKind.PARAGRAPH, "Some words.")
    assert DocumentClassifier()(build_document([body], document_id=name, title=title)).kind == kind


def test_a_text_full_of_obligations_is_a_specification() -> None:
    body = Part(BlockKind.PARAGRAPH, "The pump shall stop. " * 40)
    assert DocumentClassifier()(build_document([body], title="Pumps")).kind == DocumentType.SPECIFICATION


@pytest.mark.requirement("A-REQ-INGEST-004")
def test_what_the_document_says_of_itself_wins() -> None:
    document = build_document([Part(BlockKind.PARAGRAPH, "Some words.")], title="ISO 999 Standard")
    assert DocumentClassifier()(replace(document, document_type=DocumentType.REPORT)).kind == DocumentType.REPORT
    assert DocumentClassifier()(replace(document, metadata=(("document_type", "Guide"),))).kind == DocumentType.GUIDE

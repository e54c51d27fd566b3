"""Cross-references are found where they stand and reduced to one normal form."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.references import document_references, find_references
from knowledge_mcp.model.document import BlockKind, ReferenceKind
from knowledge_mcp.testing.documents import Part, build_document


@pytest.mark.requirement("A-REQ-INGEST-003")
@pytest.mark.parametrize(
    ("text", "kind", "targets"),
    [
        ("as said, see 5.3.1 for more", ReferenceKind.CLAUSE, ["5.3.1"]),
        ("clause 5.3 holds", ReferenceKind.CLAUSE, ["5.3"]),
        ("Section 7 holds", ReferenceKind.CLAUSE, ["7"]),
        ("under § 4.2", ReferenceKind.CLAUSE, ["4.2"]),
        ("under §3.19.13,", ReferenceKind.CLAUSE, ["3.19.13"]),
        ("clauses 5.3, 5.4 and 6 hold", ReferenceKind.CLAUSE, ["5.3", "5.4", "6"]),
        ("Table 4 lists", ReferenceKind.TABLE, ["Table 4"]),
        ("see Table A.2.", ReferenceKind.TABLE, ["Table A.2"]),
        ("in Figure 2-1", ReferenceKind.FIGURE, ["Figure 2-1"]),
        ("see Fig. 3", ReferenceKind.FIGURE, ["Figure 3"]),
        ("Annex B lists", ReferenceKind.ANNEX, ["Annex B"]),
        ("Appendix C.1 lists", ReferenceKind.ANNEX, ["Annex C.1"]),
        ("IEEE 29148:2018, 6.2 says", ReferenceKind.DOCUMENT, ["IEEE 29148:2018 6.2"]),
        ("ISO/IEC/IEEE 15288:2023 says", ReferenceKind.DOCUMENT, ["ISO/IEC/IEEE 15288:2023"]),
        ("ISO 9001:2015, clause 8.1 says", ReferenceKind.DOCUMENT, ["ISO 9001:2015 8.1"]),
        ("RFC 9000 says", ReferenceKind.DOCUMENT, ["RFC 9000"]),
        ("as in [RFC9000].", ReferenceKind.DOCUMENT, ["RFC 9000"]),
        ("Section 4.1 of [RFC9000]", ReferenceKind.DOCUMENT, ["RFC 9000 4.1"]),
        ("NIST SP 800-53 Rev. 5 says", ReferenceKind.DOCUMENT, ["NIST SP 800-53 Rev. 5"]),
        ("SP 800-63B says", ReferenceKind.DOCUMENT, ["NIST SP 800-63B"]),
        ("FIPS 140-3 says", ReferenceKind.DOCUMENT, ["FIPS 140-3"]),
        ("MIL-STD-498 says", ReferenceKind.DOCUMENT, ["MIL-STD-498"]),
        ("MIL-STD-810G says", ReferenceKind.DOCUMENT, ["MIL-STD-810G"]),
        ("BCP 14 says", ReferenceKind.DOCUMENT, ["BCP 14"]),
    ],
)
def test_references_have_one_normal_form(text: str, kind: ReferenceKind, targets: list[str]) -> None:
    found = find_references(text)
    assert [reference.target for reference in found] == targets
    assert {reference.kind for reference in found} == {kind}
    for reference in found:
        assert " ".join(reference.span.of(text).split()) == reference.text


@pytest.mark.parametrize(
    "text",
    [
        "a gap of 5.3 mm",
        "version 1.2 is out",
        "see the drawing",
        "by 2.5 %",
        "tables and figures",
        "in 2024",
        "the table 's edge",
        "IENISO 9001",
    ],
)
def test_ordinary_numbers_are_no_references(text: str) -> None:
    assert find_references(text) == []


def test_a_document_holds_no_references_in_headings_code_and_own_labels() -> None:
    document = build_document(
        [
            Part(BlockKind.HEADING, "Annex B Records"),
            Part(BlockKind.CODE, "see 5.3.1"),
            Part(BlockKind.CAPTION, "Table 3 — Loads of clause 5.2"),
            Part(BlockKind.PARAGRAPH, "Values: see Table 3."),
        ]
    )
    assert [reference.target for reference in document_references(document)] == ["5.2", "Table 3"]


def test_long_runs_of_organisations_take_no_long_time() -> None:
    assert find_references("ISO/IEC " * 20_000) == []

"""Cross-references are found where they stand and reduced to one normal form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge_mcp.language.references import document_references, find_references
from knowledge_mcp.model.document import Anchor, BlockKind, Reference, ReferenceKind, Span
from tests.fakes.documents import Part, build_document


@pytest.mark.requirement("A-REQ-INGEST-003")
@pytest.mark.parametrize(
    ("text", "kind", "targets"),
    [
        ("as said, see 5.3.1 for more", ReferenceKind.CLAUSE, ["5.3.1"]),
        ("clause 5.3 holds", ReferenceKind.CLAUSE, ["5.3"]),
        ("Section 7 holds", ReferenceKind.CLAUSE, ["7"]),
        ("Sec. 7 holds", ReferenceKind.CLAUSE, ["7"]),
        ("as Secs. 4.1 and 4.2 say", ReferenceKind.CLAUSE, ["4.1", "4.2"]),
        ("by [FIPS140-3] and [SP800-53]", ReferenceKind.DOCUMENT, ["FIPS 140-3", "NIST SP 800-53"]),
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
        ("as in FSC 4110:2025, 2.2.", ReferenceKind.DOCUMENT, ["FSC 4110:2025 2.2"]),
        ("Table 2 of ACME-STD-123:2020", ReferenceKind.DOCUMENT, ["ACME-STD-123:2020 Table 2"]),
        ("RFC 9000 says", ReferenceKind.DOCUMENT, ["RFC 9000"]),
        ("as in [RFC9000].", ReferenceKind.DOCUMENT, ["RFC 9000"]),
        ("Section 4.1 of [RFC9000]", ReferenceKind.DOCUMENT, ["RFC 9000 4.1"]),
        ("NIST SP 800-53 Rev. 5 says", ReferenceKind.DOCUMENT, ["NIST SP 800-53 Rev. 5"]),
        ("SP 800-63B says", ReferenceKind.DOCUMENT, ["NIST SP 800-63B"]),
        ("FIPS 140-3 says", ReferenceKind.DOCUMENT, ["FIPS 140-3"]),
        ("MIL-STD-498 says", ReferenceKind.DOCUMENT, ["MIL-STD-498"]),
        ("MIL-STD-810G says", ReferenceKind.DOCUMENT, ["MIL-STD-810G"]),
        ("BCP 14 says", ReferenceKind.DOCUMENT, ["BCP 14"]),
        ("Section 6 of QUIC-TLS says", ReferenceKind.DOCUMENT, ["QUIC-TLS 6"]),
        ("{{Section 4.9.1 of QUIC-TLS}}", ReferenceKind.DOCUMENT, ["QUIC-TLS 4.9.1"]),
        ("see {{QUIC-TLS}}, Section 6.", ReferenceKind.DOCUMENT, ["QUIC-TLS 6"]),
        ("as in [QUIC-TLS], Appendix A.1.", ReferenceKind.DOCUMENT, ["QUIC-TLS Annex A.1"]),
        ("Section 7 of HTTP/2 lists", ReferenceKind.DOCUMENT, ["HTTP/2 7"]),
        ("Section 5 of TLS.", ReferenceKind.DOCUMENT, ["TLS 5"]),
        ("Section 3 in [12]", ReferenceKind.DOCUMENT, ["[12] 3"]),
        ("RFC 3339 Appendix A says", ReferenceKind.DOCUMENT, ["RFC 3339 Annex A"]),
        ("RFC 9000, Section 5.1 says", ReferenceKind.DOCUMENT, ["RFC 9000 5.1"]),
        ("Sections 3 and 4 of RFC 9000", ReferenceKind.DOCUMENT, ["RFC 9000 3", "RFC 9000 4"]),
        ("Figure 3 of RFC 9110 shows", ReferenceKind.DOCUMENT, ["RFC 9110 Figure 3"]),
        ("see 4.2 of ISO 9001", ReferenceKind.DOCUMENT, ["ISO 9001 4.2"]),
        ("Section 3 of the Act applies", ReferenceKind.DOCUMENT, ["the Act 3"]),
        ("paragraph 4 of that Directive", ReferenceKind.DOCUMENT, ["the Directive 4"]),
        ("Annex I to Regulation (EU) 2016/679", ReferenceKind.DOCUMENT, ["Regulation (EU) 2016/679 Annex I"]),
        ("section 5 of the Design Handbook", ReferenceKind.DOCUMENT, ["Design Handbook 5"]),
        ("Section 3 of this Act applies", ReferenceKind.CLAUSE, ["3"]),
        ("Section 5 of this document", ReferenceKind.CLAUSE, ["5"]),
        ("Section 4 of HTTP requests", ReferenceKind.CLAUSE, ["4"]),
        ("clause 5 of Annex B", ReferenceKind.ANNEX, ["Annex B"]),
        ("Article 6(1), point (a), applies", ReferenceKind.CLAUSE, ["6"]),
        ("Articles 12 to 22 and Article 34", ReferenceKind.CLAUSE, ["12", "22", "34"]),
        ("Sentence 3.1.5.7.(3) and Article 3.2.2.51.", ReferenceKind.CLAUSE, ["3.1.5.7", "3.2.2.51"]),
        ("Sentences 4.1.6.2.(5) and (6)", ReferenceKind.CLAUSE, ["4.1.6.2"]),
        ("§ 25.1309(a) applies", ReferenceKind.CLAUSE, ["25.1309"]),
        ("Section 1003.2.1 and Section R302.5", ReferenceKind.CLAUSE, ["1003.2.1", "R302.5"]),
        ("clause 52.212-4 and clause UG-27(c)", ReferenceKind.CLAUSE, ["52.212-4", "UG-27"]),
        ("Subsection 3.2.6. and section 12a", ReferenceKind.CLAUSE, ["3.2.6", "12a"]),
        ("paragraph 6.11.8. of UN Regulation No. 48", ReferenceKind.DOCUMENT, ["UN Regulation No. 48 6.11.8"]),
        ("section 7 (1) (b) of the Act", ReferenceKind.DOCUMENT, ["the Act 7"]),
        ("Article 5 of Regulation (EU) No 182/2011", ReferenceKind.DOCUMENT, ["Regulation (EU) No 182/2011 5"]),
        ("Directive 2001/83/EC says", ReferenceKind.DOCUMENT, ["Directive 2001/83/EC"]),
        ("Article 114 TFEU says", ReferenceKind.DOCUMENT, ["TFEU 114"]),
        ("29 U.S.C. § 1001 says", ReferenceKind.DOCUMENT, ["29 U.S.C. 1001"]),
        ("42 U.S.C. 7412 and 5 USC 552a say", ReferenceKind.DOCUMENT, ["42 U.S.C. 7412", "5 U.S.C. 552a"]),
        ("under 40 CFR part 60, and 14 C.F.R. § 25.1309(a)", ReferenceKind.DOCUMENT, ["40 CFR 60", "14 CFR 25.1309"]),
        ("under 49 CFR 571.108", ReferenceKind.DOCUMENT, ["49 CFR 571.108"]),
        ("S-100 Part 17, clause 17-4.1", ReferenceKind.DOCUMENT, ["S-100 Part 17 17-4.1"]),
        ("Parts 1 to 4 of ISO 10848", ReferenceKind.DOCUMENT, ["ISO 10848"]),
        ("[ISO14977:1996], §4.19", ReferenceKind.DOCUMENT, ["ISO14977:1996 4.19"]),
        ("ECSS-Q-ST-80 clauses 5.2", ReferenceKind.DOCUMENT, ["ECSS-Q-ST-80 5.2"]),
        ("3GPP TS 23.501, clause 5.3", ReferenceKind.DOCUMENT, ["3GPP TS 23.501 5.3"]),
        ("NFPA 13 and CAN/ULC-S101", ReferenceKind.DOCUMENT, ["NFPA 13", "CAN/ULC-S101"]),
        ("API RP 14C and API 650", ReferenceKind.DOCUMENT, ["API RP 14C", "API 650"]),
        ("AS/NZS 3000 and JIS B 0001", ReferenceKind.DOCUMENT, ["AS/NZS 3000", "JIS B 0001"]),
        ("Annex III applies", ReferenceKind.ANNEX, ["Annex III"]),
        ("Table 4.1.6.2.-B gives", ReferenceKind.TABLE, ["Table 4.1.6.2.-B"]),
        ("Table R301.2 gives", ReferenceKind.TABLE, ["Table R301.2"]),
        ("as CS 25.1309(b)(2) requires", ReferenceKind.DOCUMENT, ["CS 25.1309"]),
        ("see CS 25.21, and FAR 52.212-4", ReferenceKind.DOCUMENT, ["CS 25.21", "FAR 52.212-4"]),
        ("AMC 25.1309 §7 and AMC1 CAT.GEN.100", ReferenceKind.DOCUMENT, ["AMC 25.1309 7", "AMC1 CAT.GEN.100"]),
        ("AC 25.1309-1A, AMC 20-115D, CS-25", ReferenceKind.DOCUMENT, ["AC 25.1309-1A", "AMC 20-115D", "CS-25"]),
        ("Part 21.A.91 and see CAT.OP.MPA.150(b)", ReferenceKind.CLAUSE, ["21.A.91", "CAT.OP.MPA.150"]),
        ("under 145.A.50(a) and under 5.3.1", ReferenceKind.CLAUSE, ["145.A.50", "5.3.1"]),
        ("clause 5.2 a) 3) and see 5.2.1 b)", ReferenceKind.CLAUSE, ["5.2", "5.2.1"]),
        ("clause 8.4.2(1)P", ReferenceKind.CLAUSE, ["8.4.2"]),
        ("EN 1990:2002, 6.4.3.2(3)P says", ReferenceKind.DOCUMENT, ["EN 1990:2002 6.4.3.2"]),
        ("EN 1990:2002 6.4.3.2(3) says", ReferenceKind.DOCUMENT, ["EN 1990:2002 6.4.3.2"]),
        ("EN 1992-1-1:2004+A1:2014, 3.1.2(4)", ReferenceKind.DOCUMENT, ["EN 1992-1-1:2004 3.1.2"]),
        ("DIN EN ISO 13849-1:2016-06, 4.5.4", ReferenceKind.DOCUMENT, ["DIN EN ISO 13849-1:2016 4.5.4"]),
        ("EN 1990, Annex A1", ReferenceKind.DOCUMENT, ["EN 1990 Annex A1"]),
        ("EN 1993-1-1:2005, Table 3.1", ReferenceKind.DOCUMENT, ["EN 1993-1-1:2005 Table 3.1"]),
        ("14 CFR § 25.1309(b)", ReferenceKind.DOCUMENT, ["14 CFR 25.1309"]),
        ("Annex NA.2 and Annex A1", ReferenceKind.ANNEX, ["Annex NA.2", "Annex A1"]),
    ],
)
def test_references_have_one_normal_form(text: str, kind: ReferenceKind, targets: list[str]) -> None:
    found = find_references(text)
    assert [reference.target for reference in found] == targets
    assert {reference.kind for reference in found} == {kind}
    for reference in found:
        assert " ".join(reference.span.of(text).split()) == reference.text


@pytest.mark.parametrize(
    "text", ["cast iron EN-GJL-250 or EN-GJS-400-15", "plates of EN AW-6082 T6", "EN AC-43000", "a thread ISO M12"]
)
def test_materials_and_threads_are_no_documents(text: str) -> None:
    assert find_references(text) == []


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("see clauses 4 to 7", ["4", "7", "5", "6"]),
        ("Clauses 5.3 to 5.6 apply", ["5.3", "5.6", "5.4"]),  # there is no 5.5
        ("in accordance with 5.3 and 5.6", ["5.3", "5.6"]),
        ("sections 1 through 3 of ISO 9001", ["ISO 9001 1", "ISO 9001 3", "ISO 9001 2"]),
        ("Clauses 4.1 to 5.6 apply", ["4.1", "5.6"]),
        ("see Sections 4–7", ["4", "7", "5", "6"]),
        ("Clauses 5.3—5.6 apply", ["5.3", "5.6", "5.4"]),
        ("Annexes A–D apply", ["Annex A", "Annex D", "Annex B", "Annex C"]),
        ("See Annexes B and C", ["Annex B", "Annex C"]),
        ("Tables 3 to 5", ["Table 3", "Table 5", "Table 4"]),
        ("Figs. 2 and 3", ["Figure 2", "Figure 3"]),
        ("Tables A.1, A.2 and B.3", ["Table A.1", "Table A.2", "Table B.3"]),
        ("Tables 3 and 4 of ISO 9001", ["ISO 9001 Table 3", "ISO 9001 Table 4"]),
        ("In Annex A, I say what Table 3, 20 kg and Table 7 and 5 mm mean", ["Annex A", "Table 3", "Table 7"]),
    ],
)
def test_a_range_refers_to_the_clauses_between_its_ends(text: str, targets: list[str]) -> None:
    clauses = {"4", "5", "6", "7", "4.1", "5.3", "5.4", "5.6"}
    assert [each.target for each in find_references(text, clauses=clauses)] == targets


def test_annexes_in_german_and_french_are_listed() -> None:
    found = find_references("Die Anhänge A bis C gelten, siehe auch die Tabellen 1 und 2.", language="de")
    assert [each.target for each in found] == ["Annex A", "Annex C", "Annex B", "Table 1", "Table 2"]
    found = find_references("Les annexes A et B s'appliquent.", language="fr")
    assert [each.target for each in found] == ["Annex A", "Annex B"]


def test_places_in_italian_and_portuguese_are_found() -> None:
    found = find_references("Vedere Tabella 1, il Prospetto 2 e gli allegati A e B; cfr. punto 4.2.", language="it")
    assert [each.target for each in found] == ["Table 1", "Table 2", "Annex A", "Annex B", "4.2"]
    found = find_references("Ver Quadro 3, o Anexo A, a seção 4.2 e 5.1 da norma.", language="pt")
    assert [each.target for each in found] == ["Table 3", "Annex A", "4.2", "5.1"]


def test_tables_may_be_counted_in_roman_numerals() -> None:
    found = find_references("Assign a category of table II (see TABLE IV). The table I made shows more.")
    assert [each.target for each in found] == ["Table II", "Table IV"]


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
        "PORT 8080:2100 and MAC 10:1234",
        "REST API 3.1 and API 2",
        "Note 3 to entry: see there",
        "section 2024 opens",
        "Part 3 of the series",
        "Requirements 2.7_reply",
        "AB 12:2025x",
        "costs CS 25.50",
        "version CS 25.1 and Photoshop CS 6.0",
        "at AC 110-240 V",
        "a GM 2.5 engine",
        "the part number 21.A.91-3",
        "see 192.168.10.1",
        "to 10.20.30.40",
        "by 4.2.1 or later",
        "21.A.91 in a text without such clauses",
    ],
)
def test_ordinary_numbers_are_no_references(text: str) -> None:
    assert find_references(text) == []


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("as required in 4.2, the guard", ["4.2"]),
        ("the requirements of 4.2 apply", ["4.2"]),
        ("complies with 4.2 and 4.3", ["4.2", "4.3"]),
        ("introduced in 4.2", []),
        ("in 9.9 nothing stands", []),
        ("a value of 4.2", []),
        ("from 4.3 to 4.2", []),
        ("in 4.2 mm steps", []),
    ],
)
def test_a_number_with_one_dot_is_a_reference_where_it_is_a_clause(text: str, targets: list[str]) -> None:
    found = find_references(text, clauses={"4.2", "4.3"})
    assert [reference.target for reference in found] == targets
    assert find_references(text) == []


def test_numbers_of_codes_are_references_wherever_the_document_has_them() -> None:
    clauses = {"CS 25.1309", "CS 25.21", "21.A.91", "21.A.91(a)", "CAT.GEN.100", "AMC1 25.21", "5.2", "4.2A"}
    text = "CS 25.1309(b), CS 25.21, 21.A.91(a)(1) and CAT.GEN.100 apply; AMC1 25.21 (§3) explains 5.2 at 4.2A."
    found = find_references(text, clauses=clauses)
    expected = {"CS 25.1309", "CS 25.21", "21.A.91(a)", "CAT.GEN.100", "AMC1 25.21"}
    assert {each.target for each in found} - {"3"} == expected
    assert [each.text for each in found if each.target == "21.A.91(a)"] == ["21.A.91(a)(1)"]
    assert [each.target for each in find_references("AMC1 25.21, paragraph 3", clauses=clauses)] == ["AMC1 25.21"]


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("as in ISO 9001, Table 3 shows", ["ISO 9001", "Table 3"]),
        ("ISO 9001, Figure 3 gives", ["ISO 9001", "Figure 3"]),
        ("see ISO 9001, Table 3.", ["ISO 9001 Table 3"]),
        ("see ISO 9001 Figure 3 and Table 4", ["ISO 9001 Figure 3", "Table 4"]),
    ],
)
def test_a_table_after_a_document_is_its_own_unless_it_is_the_subject(text: str, targets: list[str]) -> None:
    assert [each.target for each in find_references(text)] == targets


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("Part 3, Chapter 3 and rule 3.1", ["3", "3", "3.1"]),
        ("Part 3: Guide to the tests", []),
        ("Part 9 and Chapter 9", []),
        ("Note A-3.1(1) explains", ["A-3.1(1)"]),
        ("Article 3.1.(1) and Sentence 3.1.(2)", ["3.1", "3.1.(2)"]),
    ],
)
def test_a_part_and_what_is_in_brackets_are_referred_to_where_the_document_has_such_a_clause(
    text: str, targets: list[str]
) -> None:
    found = find_references(text, clauses={"3", "3.1", "3.1.(2)", "A-3.1(1)"})
    assert [reference.target for reference in found] == targets


def test_a_paragraph_counts_within_its_article_where_there_are_articles() -> None:
    text = "Measures of paragraph 2 and of paragraph 1 of Article 2 are taken; Article 1, paragraph 2 applies."
    parts = [Part(BlockKind.HEADING, f"Article {n} Measures", level=1, number=str(n)) for n in (1, 2)]
    law = build_document([*parts, Part(BlockKind.PARAGRAPH, text)])
    named = [replace(each, heading=Span(each.heading.start + 2, each.heading.end)) for each in law.sections]
    law = replace(law, sections=tuple(named))
    assert [(each.target, each.text) for each in document_references(law)] == [
        ("2", "Article 2"),
        ("1", "Article 1, paragraph 2"),
    ]
    rules = build_document(
        [
            Part(BlockKind.HEADING, "1 Scope", level=1, number="1"),
            Part(BlockKind.HEADING, "2 Tests", level=1, number="2"),
            Part(BlockKind.PARAGRAPH, "The tests of paragraph 2 apply."),
        ]
    )
    assert [each.target for each in document_references(rules)] == ["2"]


def test_links_to_files_of_the_writers_machine_are_left_out() -> None:
    document = build_document([Part(BlockKind.PARAGRAPH, "See Article 3.2 and the guide.")])
    links = (
        Reference("Article 3.2", ReferenceKind.LINK, "file:///E:/codes/code.htm#es1", Span(4, 15)),
        Reference("guide", ReferenceKind.LINK, "https://example.org/guide", Span(24, 29)),
    )
    found = document_references(replace(document, references=links))
    assert [each.target for each in found] == ["3.2", "https://example.org/guide"]


def test_links_in_braces_lead_to_the_places_of_their_names() -> None:
    text = "See {{limits}}, (#limits) and {{elsewhere}}."
    document = replace(build_document([Part(BlockKind.PARAGRAPH, text)]), anchors=(Anchor("limits", 0),))
    found = [(reference.target, reference.span.of(document.text)) for reference in document_references(document)]
    assert found == [("#limits", "{{limits}}"), ("#limits", "(#limits)")]


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


def test_code_refers_to_clauses_by_their_sign_only() -> None:
    document = build_document(
        [
            Part(BlockKind.HEADING, "3.14 Runs", level=1, number="3.14"),
            Part(BlockKind.CODE, '"runs": [  # see 3.14, \u00a73.14 and \u00a79.9\n  {{limits}}'),
        ]
    )
    document = replace(document, anchors=(Anchor("limits", 0),))
    assert [(each.target, each.text) for each in document_references(document)] == [("3.14", "\u00a73.14")]


def test_long_runs_of_organisations_take_no_long_time() -> None:
    assert find_references("ISO/IEC " * 20_000) == []

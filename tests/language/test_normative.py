"""Statements of whole documents: what is exempt, what list items inherit, whose identifier they carry."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import BlockKind, Span
from tests.fakes.documents import Part, build_document


def _heading(text: str, number: str | None = None, *, level: int = 1, informative: bool = False) -> Part:
    return Part(BlockKind.HEADING, text, level, number, informative)


def _text(text: str) -> Part:
    return Part(BlockKind.PARAGRAPH, text)


def _item(text: str, depth: int = 0) -> Part:
    return Part(BlockKind.LIST_ITEM, text, depth=depth)


def _found(*parts: Part) -> list[Statement]:
    return find_statements(build_document(parts))


@pytest.mark.requirement("A-REQ-DATA-005")
def test_each_sentence_with_force_is_a_statement_of_its_clause() -> None:
    found = _found(
        _heading("Loads", "5"),
        _heading("Static", "5.3", level=2),
        _text("The frame shall carry 5 kN. It is grey. It should be light."),
    )
    assert [(s.text, s.modality, s.clause_number) for s in found] == [
        ("The frame shall carry 5 kN.", Modality.REQUIREMENT, "5.3"),
        ("It should be light.", Modality.RECOMMENDATION, "5.3"),
    ]


@pytest.mark.requirement("A-REQ-DATA-005")
def test_a_heading_that_is_a_sentence_states_what_it_says_and_may_lead_to_items() -> None:
    found = _found(
        _heading("The frame shall carry 5 kN.", "5"),
        _heading("What the frame must carry", "6"),
        _heading("Words that shall be used:", "7"),
        _heading("The buyer must pay. Words used here:", "7.1", level=2),
        _heading("The supplier shall:", "8"),
        _item("keep records; and"),
        _item("report faults."),
    )
    assert [(s.text, s.clause_number) for s in found] == [
        ("The frame shall carry 5 kN.", "5"),
        ("The buyer must pay.", "7.1"),
        ("The supplier shall: keep records; and", "8"),
        ("The supplier shall: report faults.", "8"),
    ]


@pytest.mark.requirement("A-REQ-DATA-005")
@pytest.mark.parametrize(
    "kind", [BlockKind.NOTE, BlockKind.EXAMPLE, BlockKind.QUOTE, BlockKind.CODE, BlockKind.CAPTION, BlockKind.FOOTNOTE]
)
def test_notes_examples_quotations_and_code_state_nothing(kind: BlockKind) -> None:
    assert _found(_heading("Loads", "5"), Part(kind, "The frame shall carry 5 kN.")) == []


@pytest.mark.requirement("A-REQ-DATA-005")
def test_informative_annexes_forewords_and_bibliographies_state_nothing() -> None:
    shall = _text("The frame shall carry 5 kN.")
    assert _found(_heading("Annex B Hints", "B", informative=True), _heading("More", "B.1", level=2), shall) == []
    assert _found(_heading("Foreword"), shall) == []
    assert _found(_heading("Bibliography"), shall) == []
    assert len(_found(_heading("Annex A Tests", "A"), shall)) == 1


def test_paragraphs_that_call_themselves_note_or_example_state_nothing() -> None:
    assert _found(_text("NOTE 1 The frame shall be grey."), _text("Example: the frame must be grey.")) == []
    assert len(_found(_text("The frame shall be grey. NOTE: it must be light. For example, it must float."))) == 1


def test_capitals_in_a_note_or_example_are_written_on_purpose() -> None:
    declared = _text('The key words "MUST" and "MAY" are to be interpreted as described in BCP 14.')
    words = "For example, a small pump may hum. A pump MUST rest. For instance, it MUST stop. Note: it MAY hum."
    assert [each.text for each in _found(declared, _text(words))] == [
        "A pump MUST rest.",
        "For instance, it MUST stop.",
        "Note: it MAY hum.",
    ]


def test_list_items_inherit_the_force_and_the_words_of_their_lead_in() -> None:
    found = _found(
        _heading("Supply", "4"),
        _text("The frame is grey. The supplier shall:"),
        _item("a) keep records;"),
        _item("b) not sell them;"),
        _text("Nothing else matters."),
        _item("an item of nothing"),
    )
    assert [s.text for s in found] == [
        "The supplier shall: a) keep records;",
        "The supplier shall: b) not sell them;",
    ]
    assert all(s.modality is Modality.REQUIREMENT for s in found)
    assert all(s.lead_in is not None for s in found)


def test_nested_items_inherit_from_the_item_above_and_a_lead_in_with_content_counts_itself() -> None:
    found = _found(
        _text("The report should contain the following parts:"),
        _item("tests, which shall list:"),
        _item("dates;", depth=1),
        _item("results;", depth=1),
        _item("prices."),
    )
    assert [(s.modality, s.text) for s in found] == [
        (Modality.RECOMMENDATION, "The report should contain the following parts:"),
        (Modality.REQUIREMENT, "tests, which shall list:"),
        (Modality.REQUIREMENT, "tests, which shall list: dates;"),
        (Modality.REQUIREMENT, "tests, which shall list: results;"),
        (Modality.RECOMMENDATION, "The report should contain the following parts: prices."),
    ]


def test_an_item_under_an_item_that_inherits_carries_the_whole_chain_of_lead_ins() -> None:
    found = _found(_text("The supplier shall:"), _item("a) keep:"), _item("1) letters;", depth=1))
    assert [s.text for s in found] == ["The supplier shall: a) keep:", "The supplier shall: a) keep: 1) letters;"]


def test_an_item_below_another_carries_its_condition_whatever_that_ends_with() -> None:
    found = _found(
        _text("A relief valve shall be provided where:"),
        _item("a) the vessel can be exposed to fire, and"),
        _item("1) its wetted area exceeds 2.5 m²; or", depth=1),
        _item("2) its contents are toxic:", depth=1),
        _item("i) in any enclosed space.", depth=2),
        _item("b) the supply can exceed the limit."),
    )
    lead = "A relief valve shall be provided where:"
    assert [s.text for s in found] == [
        lead,
        f"{lead} a) the vessel can be exposed to fire, and",
        f"{lead} a) the vessel can be exposed to fire, and 1) its wetted area exceeds 2.5 m²; or",
        f"{lead} a) the vessel can be exposed to fire, and 2) its contents are toxic:",
        f"{lead} a) the vessel can be exposed to fire, and 2) its contents are toxic: i) in any enclosed space.",
        f"{lead} b) the supply can exceed the limit.",
    ]


def test_an_item_that_continues_with_the_sentence_keeps_the_stronger_force() -> None:
    found = _found(_text("The pump shall:"), _item("- show an alarm that can be muted;"), _item("- Users may mute it."))
    assert [s.modality for s in found] == [Modality.REQUIREMENT, Modality.PERMISSION]


@pytest.mark.parametrize("end", ["such as:", "for example:", "e.g.:"])
def test_items_that_only_illustrate_inherit_nothing(end: str) -> None:
    found = _found(_text(f"The guard may keep things, {end}"), _item("- keys;"), _item("- a lamp, which shall be lit."))
    assert [s.modality for s in found] == [Modality.PERMISSION, Modality.REQUIREMENT]


def test_a_note_between_items_does_not_end_the_list() -> None:
    found = _found(
        _text("The pump shall:"), _item("a) stop;"), Part(BlockKind.NOTE, "NOTE It may hum."), _item("b) cool down.")
    )
    assert len(found) == 2


@pytest.mark.parametrize(
    ("sentence", "identifier"),
    [
        ("[REQ-12] The pump shall stop.", "REQ-12"),
        ("SRS-4.2.1 The pump shall stop.", "SRS-4.2.1"),
        ("AC-2(3): The pump shall stop.", "AC-2(3)"),
        ("R1.2 The pump shall stop.", "R1.2"),
        ("The pump shall stop [REQ-12].", "REQ-12"),
        ("SRS 7 - The pump shall stop.", "SRS 7"),
        ("Table 7 - The pump shall stop.", None),
        ("ISO 9001: The pump shall stop.", None),
        ("**REQ-7**: The pump shall stop.", "REQ-7"),
        ("A-REQ-INGEST-001: The pump shall stop.", "A-REQ-INGEST-001"),
        ("ISO-9000 The pump shall stop.", None),
        ("The pump shall follow [RFC9000].", None),
        ("The pump shall stop [M-19-17].", None),
        ("Non-RFC6570 Pumps shall stop.", None),
        ("T1 lines shall stop.", None),
        ("The pump shall stop.", None),
    ],
)
def test_explicit_identifiers_are_recognised_and_other_documents_are_not(sentence: str, identifier: str | None) -> None:
    (statement,) = _found(_text(sentence))
    assert statement.identifier == identifier


def test_a_statement_takes_the_identifier_of_its_heading_or_property_table() -> None:
    (control,) = _found(_heading("AC-2 ACCOUNTS"), _text("The clerk shall list accounts."))
    assert control.identifier == "AC-2"
    (row,) = _found(
        _heading("Formats", "3.1"),
        Part(BlockKind.TABLE, "| Field | Value |\n| --- | --- |\n| **ID** | A-REQ-9 |"),
        _text("The pump shall stop."),
    )
    assert row.identifier == "A-REQ-9"


def test_a_row_of_a_requirements_table_is_a_statement_with_the_rows_identifier() -> None:
    table = "| Id | Text |\n| --- | --- |\n| F-1 | The pump shall stop. |\n| F-2 | It hums. |"
    (statement,) = _found(_heading("List", "3"), Part(BlockKind.TABLE, table))
    assert (statement.text, statement.identifier) == ("The pump shall stop.", "F-1")


def test_no_statement_begins_in_an_exempt_span() -> None:
    document = build_document([_text("Record: a thing that must be kept. The clerk shall keep it.")])
    assert [s.text for s in find_statements(document, exempt=[Span(0, 34)])] == ["The clerk shall keep it."]


@pytest.mark.parametrize(
    ("opening", "formula", "stated"),
    [
        ("Whereas:", _text("HAVE ADOPTED THIS REGULATION:"), 1),
        ("in Erwägung nachstehender Gründe:", _heading("Pumpen", "1"), 1),
        ("Whereas:", _text("The rest is kept."), 2),
        ("Before this, whereas:", _text("HAVE ADOPTED THIS REGULATION:"), 2),
    ],
)
def test_the_reasons_of_an_act_state_nothing_up_to_its_first_article(opening: str, formula: Part, stated: int) -> None:
    found = _found(_text(opening), _text("(1) Pumps must be safe."), formula, _text("The pump shall stop."))
    assert len(found) == stated


def test_capitals_have_force_in_introductions_and_definitions_too() -> None:
    parts = [
        _heading("Introduction"),
        _text("The key words “MUST” are to be interpreted as in BCP 14. Clients MUST wait."),
    ]
    document = build_document(parts)
    found = find_statements(document, exempt=[Span(0, len(document.text))])
    assert [s.text for s in found] == ["Clients MUST wait."]
    assert _found(_heading("Introduction"), _text("Clients must wait.")) == []

"""Requirements without a word of force: recognised by the heading above them, whole, with their number, and marked."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.requirements.kinds import requirement_kind
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import BlockKind
from tests.fakes.documents import Part, build_document


def _heading(text: str, level: int = 1, number: str | None = None) -> Part:
    return Part(BlockKind.HEADING, text, level, number)


def _text(text: str) -> Part:
    return Part(BlockKind.PARAGRAPH, text)


def _item(text: str, depth: int = 0) -> Part:
    return Part(BlockKind.LIST_ITEM, text, depth=depth)


def _found(*parts: Part) -> list[Statement]:
    return find_statements(build_document(parts))


def _weak(*parts: Part) -> list[tuple[str | None, str]]:
    return [(each.identifier, each.text) for each in _found(*parts) if each.weak]


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    ("heading", "item", "number"),
    [
        ("Functional requirements", "1. The clerk scans the label.", "1"),
        ("Non-functional requirements", "(2) Answers arrive in two seconds.", "2"),
        ("Requirements for the yard", "2.1.3 The clerk scans the label.", "2.1.3"),
        ("Requirements", "FR-7 The clerk scans the label.", "FR-7"),
        ("User requirements (draft)", "R3: The clerk scans the label.", "R3"),
        ("User stories", "• As a clerk, I want to scan labels so that goods are found.", None),
        ("User stories", "US-3: As an auditor I need to see all entries.", "US-3"),
        ("Use case: Loading", "1. The clerk opens the order.", "1"),
        ("Alternative flow", "2a. The clerk closes the order.", "2a"),
        ("Main success scenario", "• The clerk opens the order.", None),
        ("Anforderungen", "4. Der Fahrer erhält eine Liste.", "4"),
    ],
)
def test_items_below_a_heading_of_requirements_are_weak_requirements(
    heading: str, item: str, number: str | None
) -> None:
    for part in (_item(item), _text(item)) if number else (_item(item),):
        (found,) = _found(_heading(heading), part)
        assert (found.identifier, found.text, found.modality) == (number, item, Modality.REQUIREMENT)
        assert found.weak


@pytest.mark.parametrize(
    "heading",
    [
        "Introduction", "Rationale", "Open questions", "Verification of requirements", "Requirements analysis",
        "Overview of requirements", "Non-requirements", "Terms and definitions", "Examples", "Actors",
    ],
)  # fmt: skip
def test_items_below_other_headings_are_none(heading: str) -> None:
    assert _found(_heading(heading), _item("1. The clerk scans the label.")) == []
    assert _found(_heading("Requirements"), _heading(heading, 2), _item("1. The clerk scans the label.")) == []


def test_what_has_no_number_a_name_or_a_question_is_none() -> None:
    heading = _heading("Functional requirements")
    assert _found(heading, _text("The yard has two gates."), _item("• The yard has two gates.")) == []
    assert _found(heading, _item("1. Performance"), _item("2. Who is the clerk?"), _item("3. Not used so far.")) == []


def test_an_item_is_taken_whole_with_the_items_below_it() -> None:
    found = _weak(
        _heading("Functional requirements"),
        _item("1. The clerk logs in: "),
        _item("• by card", 1),
        _item("• by key", 1),
        _item("2. The clerk scans the label. A copy is kept. Rationale: it was asked for."),
    )
    assert found == [
        ("1", "1. The clerk logs in: • by card • by key"),
        ("2", "2. The clerk scans the label. A copy is kept."),
    ]


def test_a_label_of_a_use_case_announces_steps_and_another_ends_them() -> None:
    found = _weak(
        _heading("Loading"),
        _text("Actor: Clerk"),
        _text("Flow of events:"),
        _item("1. The clerk opens the order."),
        _text("Postconditions:"),
        _item("1. The order is open now."),
    )
    assert found == [("1", "1. The clerk opens the order.")]


def test_can_alone_is_no_force_below_such_a_heading_and_may_is() -> None:
    found = _found(_heading("Requirements"), _item("1. Users can reset keys."), _item("2. Users may reset keys."))
    assert [(each.modality, each.weak) for each in found] == [
        (Modality.REQUIREMENT, True),
        (Modality.PERMISSION, False),
    ]


def test_where_most_is_obliged_in_words_the_other_items_oblige_nobody() -> None:
    shall = [_item(f"{n}. The gate shall close in {n} seconds.") for n in range(1, 4)]
    parts = [_heading("Requirements"), *shall, _item("4. The gates are green.")]
    assert _weak(*parts) == []
    assert _weak(*parts, _item("5. As a guest, I want a map.")) == [("5", "5. As a guest, I want a map.")]


def test_where_capitals_carry_the_force_nothing_else_does() -> None:
    said = _text("The key words MUST and SHOULD are to be interpreted as described in RFC 2119. It MUST stop.")
    assert _weak(said, _heading("Requirements"), _item("1. The clerk scans the label.")) == []


def test_an_item_whose_second_sentence_obliges_is_one_requirement_from_its_first_word() -> None:
    found = _found(_heading("Requirements"), _item("1. Export of orders. The file shall be UTF-8."))
    assert [(each.identifier, each.weak) for each in found] == [("1", True), ("1", False)]


@pytest.mark.parametrize("dot", [".", ""])
def test_requirements_numbered_as_clauses_are_taken_with_what_stands_below_them(dot: str) -> None:
    found = _weak(
        _heading("Functional requirements", 1, "2"),
        _heading("The clerk scans the label.", 2, "2.1"),
        _heading(f"The driver sees a list{dot}", 2, "2.2"),
        _text("It is kept."),
        _heading("Appendix", 1, "3"),
    )
    assert found == [("2.1", "2.1 The clerk scans the label."), ("2.2", "2.2 The driver sees a list. It is kept.")]


def test_headings_that_are_titles_are_no_requirements() -> None:
    parts = [_heading("Interface requirements", 1, "2"), _heading("Ports of the outer gate", 2, "2.1")]
    assert _found(*parts, _text("They are green.")) == []


def test_rows_with_an_identifier_or_a_story_are_taken_by_their_columns() -> None:
    table = (
        "| No. | Requirement | Source |\n| --- | --- | --- |\n| 4 | Duties of all clerks |\n"
        "| 4.1 | The clerk scans labels. | Guild of clerks |\n| 4.2 | The clerk counts boxes. |"
    )
    stories = (
        "| ID | As a | I want | so that |\n| --- | --- | --- | --- |\n| U1 | clerk | to scan labels | they are known |"
    )
    found = _weak(_heading("Requirements"), Part(BlockKind.TABLE, table), Part(BlockKind.TABLE, stories))
    assert found == [
        ("4.1", "The clerk scans labels."),
        ("4.2", "The clerk counts boxes."),
        ("U1", "As a clerk, I want to scan labels, so that they are known"),
    ]
    assert _weak(_heading("History"), Part(BlockKind.TABLE, table)) == []


@pytest.mark.parametrize(
    ("head", "opening", "counted"),
    [
        ("# | Description | Level", "Verify that", 3),
        ("Nr. | Beschreibung | Stufe", "Prüfen Sie, dass", 3),
        ("Control Identifier | Control Text | Level", "It is known that", 3),
        ("ID | Requirement | Level", "It is known that", 3),
        ("Test ID | Requirement | Level", "It is known that", 0),
        ("ID | Description | Expected result", "Verify that", 0),
        ("# | Description | Level", "It is known that", 0),
    ],
)
def test_rows_of_catalogues_and_of_what_to_verify_are_requirements_below_any_heading(
    head: str, opening: str, counted: int
) -> None:
    rows = "".join(f"| 1.{number} | {opening} pump {number} can stop. | 2 |\n" for number in (1, 2, 3))
    table = f"| {head} |\n| --- | --- | --- |\n{rows}| 1.4 | Withdrawn, see number three. | 2 |"
    found = _found(_heading("Pumps of the yard", number="1"), Part(BlockKind.TABLE, table))
    demands = [each for each in found if each.modality is Modality.REQUIREMENT]
    assert [each.identifier for each in demands] == ["1.1", "1.2", "1.3"][:counted]


def test_the_title_of_a_group_is_no_requirement() -> None:
    parts = [_text("R1: Labels of all boxes"), _item("R1.1: The clerk scans labels."), _item("R1.2: The clerk counts.")]
    assert [name for name, _ in _weak(_heading("Requirements"), *parts)] == ["R1.1", "R1.2"]


def test_identifiers_within_one_paragraph_part_it() -> None:
    found = _weak(_heading("Requirements"), _text("FR-1 The clerk scans. A copy is kept. FR-2 The driver sees a list."))
    assert found == [("FR-1", "FR-1 The clerk scans. A copy is kept."), ("FR-2", "FR-2 The driver sees a list.")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The system shall export all orders.", "functional"),
        ("The gate shall be available 99 % of the time.", "quality"),
        ("The system shall display the list within 2 seconds.", "functional and quality"),
        ("The lamp hums.", "functional"),
    ],
)
def test_the_words_tell_what_kind_a_requirement_is_of(text: str, kind: str) -> None:
    assert requirement_kind(text).value == kind

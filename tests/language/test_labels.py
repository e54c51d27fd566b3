"""Labels that a document gives its requirements: trusted where they recur, and what they make of a sentence."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.force import PLAIN
from knowledge_mcp.language.identifiers import (
    Labels,
    cell_label,
    detect_labels,
    heading_identifier,
    identifier_key,
    is_identifier,
    is_void,
    own_end,
    requirement_identifier,
    table_identifier,
)
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import BlockKind
from tests.fakes.documents import Part, build_document


def _text(text: str) -> Part:
    return Part(BlockKind.PARAGRAPH, text)


def _found(*parts: Part) -> list[Statement]:
    return find_statements(build_document(parts))


_THREE = (_text("PMP 1 - The pump shall stop."), _text("PMP 2 - The pump shall hum."), _text("PMP 3 - It shall rest."))


@pytest.mark.parametrize(
    ("texts", "families"),
    [
        (["PMP 1 - It shall stop.", "PMP 2 - It shall hum.", "PMP 3 - It rests."], {"PMP"}),
        (["PMP1 The pump shall stop.", "PMP2 The pump shall hum.", "PMP3 The pump rests."], {"PMP"}),
        (["[P-REQ-1] It must stop.", "[P-REQ-2] It must hum.", "[P-REQ-3] It must rest."], {"P-REQ"}),
        (["PMP 1 - It shall stop.", "PMP 2 - It shall hum."], set[str]()),
        (["PMP 1 - It stops.", "PMP 2 - It hums.", "PMP 3 - It shall rest."], set[str]()),
        (["Article 1 The pump shall stop.", "Article 2 It shall hum.", "Article 3 It shall rest."], set[str]()),
        (["Artikel 1 - Es muss gehen.", "Artikel 2 - Es muss halten.", "Artikel 3 - Es muss ruhen."], set[str]()),
        (["Table 1 - It shall stop.", "Table 2 - It shall hum.", "Table 3 - It shall rest."], set[str]()),
        (["PMP 1 The pump shall stop.", "PMP 2 The pump shall hum.", "PMP 3 The pump shall rest."], set[str]()),
    ],
)
def test_a_family_of_labels_recurs_at_the_head_of_sentences_that_oblige(texts: list[str], families: set[str]) -> None:
    assert detect_labels(build_document([_text(words) for words in texts]), PLAIN).families == families


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_a_label_makes_a_sentence_a_requirement_that_says_so_by_no_word() -> None:
    found = _found(*_THREE, _text("PMP 4 - The oil is kept in a tank. The tank is grey."))
    assert [(s.identifier, s.text, s.modality) for s in found][3:] == [
        ("PMP 4", "PMP 4 - The oil is kept in a tank.", Modality.REQUIREMENT)
    ]


def test_a_label_obliges_with_will_and_leaves_permissions_what_they_are() -> None:
    found = _found(*_THREE, _text("PMP 4 - The pump will cool down."), _text("PMP 5 - The pump may be blue."))
    assert [s.modality for s in found][3:] == [Modality.REQUIREMENT, Modality.PERMISSION]
    assert _found(_text("The pump will cool down. It is grey. It is old. It is loud.")) == []


@pytest.mark.parametrize(
    "words",
    ["PMP 4 - Void, see PMP 9", "PMP 4 - deleted", "PMP 4-6 >> satisfies UR 1", "PMP 4 >> satisfies UR 1", "PMP 4 - 9"],
)
def test_void_labels_ranges_and_traces_require_nothing(words: str) -> None:
    assert len(_found(*_THREE, _text(words))) == 3


def test_the_title_of_a_group_of_labels_is_no_requirement() -> None:
    parts = [
        _text("R1: Pumps"),
        _text("R1.1: The pump stops."),
        _text("R1.2: It must hum."),
        _text("R1.3: It shall rest."),
    ]
    assert [each.identifier for each in _found(*parts)] == ["R1.1", "R1.2", "R1.3"]
    assert _found(_text("R1: Pumps are kept."), *parts[1:])[0].identifier == "R1"


def test_a_label_that_returns_in_a_list_of_changes_makes_no_second_requirement() -> None:
    assert len(_found(*_THREE, Part(BlockKind.HEADING, "Changes"), _text("PMP 2 - added the colour of the lamp"))) == 3


def test_items_below_a_labelled_lead_in_bear_its_label() -> None:
    item = Part(BlockKind.LIST_ITEM, "- oil;")
    found = _found(*_THREE, _text("PMP 4 - The pump shall report the following:"), item)
    assert [(s.identifier, s.lead_in is not None) for s in found][3:] == [("PMP 4", False), ("PMP 4", True)]


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    ("table", "identifiers"),
    [
        ("| Req. ID | Text |\n| --- | --- |\n| 4.1 | The pump shall stop. |\n| 4.2 | It must hum. |", ["4.1", "4.2"]),
        ("| Requirement |\n| --- |\n| PM1 The pump shall stop. |\n| PM2 It must hum. |\n| PM3 It rests well. |",
         ["PM1", "PM2", "PM3"]),
        ("| No. | Text | Risk |\n| --- | --- | --- |\n| PM1 | It shall stop. | low |\n| PM2 | It must hum. | high |\n"
         "| PM3 | The oil is kept in a tank | low |", ["PM1", "PM2", "PM3"]),
        ("| Control ID | Text | Test ID |\n| --- | --- | --- |\n| 4.1 | The pump shall stop. | 7 |", ["4.1"]),
        ("| ref_id | Text |\n| --- | --- |\n| op.pl.2 | The pump shall stop. |", ["op.pl.2"]),
        ("| Text | Test ID |\n| --- | --- |\n| The pump shall stop. | 7 |", [None]),
        ("| **Requirement 1** | /req/yard/stop |\n| --- | --- |\n| A | The pump shall stop. |\n| B | It must hum. |\n"
         "| Permission 2 | /per/yard |\n| A | It may rest. |\n| Requirement 3 | Oil |\n| A | It shall be kept. |",
         ["/req/yard/stop", "/req/yard/stop", "/per/yard", "Requirement 3"]),
        ("| REQUIREMENT 4 |  |\n| --- | --- |\n| STATEMENT | The pump shall stop. |", ["REQUIREMENT 4"]),
        ("| Requirement 4 | /req/yard/stop The pump shall stop. |", ["/req/yard/stop"]),
        ("| Requirement class 4 |  |\n| --- | --- |\n| All | Requirement 4-1 The pump shall stop. It must hum. |",
         ["Requirement 4-1", "Requirement 4-1"]),
        ("| No. | Text |\n| --- | --- |\n| Section 2 | The pump shall stop. |", [None]),
        ("| Part | Rule |\n| --- | --- |\n| V2 | The valve shall close. |", [None]),
        ("| Outcome | Rule |\n| --- | --- |\n| PU.RN-01: Pumps run. | PU.RN-01.1: A pump shall run. It must hum. |",
         ["PU.RN-01.1", "PU.RN-01.1"]),
        ("| Outcome | Rule |\n| --- | --- |\n| RN-1: It must run. | RN-1.1: A pump shall run. |\n"
         "| RN-2: It must hum. | RN-2.1: A pump shall hum. |\n| RN-3: It must rest. | RN-3.1: A pump shall rest. |",
         ["RN-1", "RN-1.1", "RN-2", "RN-2.1", "RN-3", "RN-3.1"]),
        ("| Req. ID | Text |\n| --- | --- |\n| A-4 | B-7: The pump shall stop. |", ["A-4"]),
    ],
)  # fmt: skip
def test_rows_bear_the_identifier_of_their_column_or_cell(table: str, identifiers: list[str | None]) -> None:
    assert [s.identifier for s in _found(Part(BlockKind.TABLE, table))] == identifiers


def test_parts_of_the_card_of_a_requirement_without_force_are_weak() -> None:
    rows = ("Requirement 3 | /req/yard/stop", "Condition | The yard has a gate.", "A | The pump SHALL stop.",
            "B | The lamp is red then.", "Statement | Requirement 3-2 The horn is heard then. It hums.",
            "Permission 4 | /per/yard", "A | The lamp hums then.")  # fmt: skip
    found = _found(Part(BlockKind.TABLE, "\n".join(f"| {row} |" for row in rows)))
    assert [(s.identifier, s.text, s.weak) for s in found] == [
        ("/req/yard/stop", "The pump SHALL stop.", False),
        ("/req/yard/stop", "The lamp is red then.", True),
        ("Requirement 3-2", "Requirement 3-2 The horn is heard then. It hums.", True),
    ]


@pytest.mark.parametrize(
    ("sentence", "identifier"),
    [
        ("Requirement 5-2 The server shall stop.", "Requirement 5-2"),
        ("PERMISSION 12: “Stop” may be heard.", "PERMISSION 12"),
        ("Requirement 5 applies to all pumps and shall be met.", None),
        ("Requirement 5 SHALL be met.", None),
    ],
)
def test_a_kind_and_a_number_before_a_sentence_are_its_identifier(sentence: str, identifier: str | None) -> None:
    assert requirement_identifier(sentence) == identifier


@pytest.mark.parametrize("kind", [BlockKind.PARAGRAPH, BlockKind.CAPTION])
def test_a_line_with_only_kind_and_number_names_the_requirement_below_it(kind: BlockKind) -> None:
    found = _found(Part(kind, "Requirement 17"), _text("The pump shall stop."), _text("It shall hum."))
    assert [s.identifier for s in found] == ["Requirement 17", None]


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    "line", ["ID: REQ-5", "- **Identifier**: REQ-5", "Requirement ID: `REQ-5`", "Req. No: [REQ-5]"]
)
def test_a_line_of_properties_names_the_identifier_of_what_follows(line: str) -> None:
    kind = BlockKind.LIST_ITEM if line.startswith("-") else BlockKind.PARAGRAPH
    heading = Part(BlockKind.HEADING, "Stopping", 1)
    (statement,) = _found(heading, Part(kind, line), _text("The pump shall stop."))
    assert statement.identifier == "REQ-5"


@pytest.mark.parametrize(
    ("line", "identifier"),
    [("identifier: /req/core/stop-op", "/req/core/stop-op"), ("Tag: /stop", None), ("ID: /", None)],
)
def test_a_property_may_be_a_path(line: str, identifier: str | None) -> None:
    (statement,) = _found(Part(BlockKind.PARAGRAPH, line), _text("The pump shall stop."))
    assert statement.identifier == identifier


def test_a_tag_behind_the_last_sentence_names_its_paragraph() -> None:
    found = _found(_text("The pump shall stop. It shall hum. [REQ-5]"), _text("It shall rest. [ISO-9000]"))
    assert [s.identifier for s in found] == ["REQ-5", "REQ-5", None]


@pytest.mark.parametrize(("deepest", "named"), [(2, "M-24-15"), (3, None)])
def test_an_identifier_above_the_whole_document_is_not_that_of_its_requirements(
    deepest: int, named: str | None
) -> None:
    heads = [Part(BlockKind.HEADING, text, level) for text, level in (("Paths", 2), ("Agencies", deepest))]
    (found,) = _found(
        Part(BlockKind.HEADING, "M-24-15 Pumps", 1), *heads, Part(BlockKind.PARAGRAPH, "The pump shall stop.")
    )
    assert found.identifier == named


def test_headings_of_one_family_name_what_stands_below_them() -> None:
    parts: list[Part] = []
    for number in range(1, 4):
        parts += [Part(BlockKind.HEADING, f"FR{number}: Stopping", 2), _text("The pump shall stop.")]
    assert [s.identifier for s in _found(*parts)] == ["FR1", "FR2", "FR3"]
    assert _found(*parts[:2])[0].identifier is None


def test_headings_of_modules_and_their_requirements_differ_in_a_letter() -> None:
    """In catalogues of modules, "KIT.1.A2" is the second requirement of the module "KIT.1"."""
    parts: list[Part] = []
    for module in ("KIT.1", "KIT.2.1", "KIT.3"):
        parts += [Part(BlockKind.HEADING, f"{module} Kettles", 1), _text("The following shall be met.")]
        for count in (1, 2):
            parts += [Part(BlockKind.HEADING, f"{module}.A{count} Lids (B) [Cook]", 2), _text("A lid shall be closed.")]
    names = [each.identifier for each in _found(*parts)]
    assert names[:4] == ["KIT.1", "KIT.1.A1", "KIT.1.A2", "KIT.2.1"]
    assert names[4:6] == ["KIT.2.1.A1", "KIT.2.1.A2"]


def test_headings_above_numbered_clauses_name_no_requirement() -> None:
    parts: list[Part] = []
    for number in range(101, 104):
        clause = Part(BlockKind.HEADING, f"{number}.1 Purpose", 2, number=f"{number}.1")
        parts += [Part(BlockKind.HEADING, f"TASK {number}", 1), clause, _text("The maker shall keep a log.")]
    assert [s.identifier for s in _found(*parts)] == [None, None, None]


@pytest.mark.parametrize("label", ["Rationale:", "**Rationale**:", "Verification method:", "Source:", "Discussion:"])
def test_the_reasons_behind_a_requirement_are_no_part_of_it(label: str) -> None:
    (statement,) = _found(_text(f"The pump shall stop {label} A pump that must run on shall be feared."))
    assert statement.text == "The pump shall stop"


def test_a_paragraph_of_reasons_alone_states_nothing() -> None:
    words = "The source of water shall be clean."
    assert own_end(words, 0, len(words)) == len(words)
    assert _found(_text("One."), _text("Rationale: the pump must stop.")) == []


def test_a_label_with_nothing_behind_it_is_void() -> None:
    assert is_void("PMP 4", "PMP 4")
    assert not is_void("PMP 4 - The oil is kept.", "PMP 4")


@pytest.mark.parametrize("name", ["SW/001", "SW:1", "PRÜ-1", "ТР-12", "#12", "SYS-PUMP-STOP", "SRS_4.2-1"])
def test_a_code_below_the_head_id_is_one_whatever_it_is_made_of(name: str) -> None:
    none = Labels(frozenset())
    assert cell_label("Req. ID", name, first=True, labels=none) == name
    assert cell_label("Reference", name, first=True, labels=none) is None
    assert table_identifier(f"| ID | {name} |\n| Text | The pump shall stop. |") == name


def test_identifiers_have_letters_of_any_script() -> None:
    assert requirement_identifier("[PRÜ-1] Die Pumpe muss anhalten.") == "PRÜ-1"
    assert requirement_identifier("ТР-12: Насос должен остановиться.") == "ТР-12"
    assert identifier_key("PRÜ-01") == ("prü", "1")
    assert identifier_key("PRÄ-1") != identifier_key("PRÜ-1")
    assert requirement_identifier("größe-1 Die Pumpe muss anhalten.") is None


def test_a_raised_figure_or_a_fraction_in_an_identifier_is_no_number() -> None:
    assert identifier_key("FR-2¹") == ("fr", "2", "¹")
    assert identifier_key("FR-½") == ("fr", "½")


def test_the_number_of_a_place_is_no_identifier_in_any_language() -> None:
    assert not any(
        map(is_identifier, ("Paragraph-3", "Abb.3", "Annex-2", "Tabelle-4", "Artículo-5", "Niveau-1", "Stufe-3"))
    )
    assert all(map(is_identifier, ("NF-12", "PUMP-A-3", "ABB-3", "Rule-5", "SEC-7")))


def test_the_number_of_a_clause_of_an_annex_names_no_requirement() -> None:
    named = [
        heading_identifier(label) for label in ("D-1.7.2 Plaster", "A-9.8.8.3.(1) Height", "AC-2 USERS", "R-1.2 Log")
    ]
    assert named == [None, None, "AC-2", "R-1.2"]


def test_a_labelled_row_without_a_word_of_force_is_whole_and_is_its_text() -> None:
    rows = [f"| LID-{number} | Lids of the kettle | a. Shut it; b. Lock it. See why. |" for number in (1, 2, 3, 4)]
    rows += [f"| LID-{number} | Lids | Steam shall be let out. |" for number in (5, 6, 7, 8)]
    table = "\n".join(
        ["| Control ID | Name of it in all of the kitchens | Control Text |", "| --- | --- | --- |", *rows]
    )
    found = _found(Part(BlockKind.TABLE, table))
    assert [(each.identifier, each.text) for each in found][3:5] == [
        ("LID-4", "a. Shut it; b. Lock it. See why."),
        ("LID-5", "Steam shall be let out."),
    ]

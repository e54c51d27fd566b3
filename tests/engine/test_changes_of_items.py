"""What requirement files declare: each item is a clause of its own, with its links, whatever it says now."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.changes.aligning import align
from knowledge_mcp.engine.changes.clauses import Edition, EditionPart, edition_of
from knowledge_mcp.engine.changes.differences import ClauseChange, changes_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import OutlineEntry
from knowledge_mcp.model.document import DeclaredLink, RequirementItem, Span
from tests.engine.test_changes import compared
from tests.engine.test_changes_of_names import changed_names

Item = tuple[str, str, str, str]
"""Id, title, links with commas, and words."""
PUMP = ("SW-1", "Start", "SYS-1", "Start the pump when the level in the well is high.")
HORN = ("SW-2", "Horn", "SYS-2, SYS-4", "Sound the horn when the pump has failed.")


def edition(*items: Item) -> Edition:
    """Make an edition of a page whose only heading stands above its items, as sphinx-needs has them."""
    text, found = "Software\n\n", list[RequirementItem]()
    for name, title, links, words in items:
        start = len(text)
        text += f"{name}: {title}\n\nlinks: {links}\n\n{words}\n\n"
        declared = tuple(DeclaredLink(each) for each in links.split(", "))
        found.append(RequirementItem(name, title, words, links=declared, span=Span(start, len(text) - 2)))
    section = OutlineEntry(1, None, "Software", Span(0, len(text)), line=1)
    return edition_of("page", [EditionPart("page.rst", text, [section], (), "Software", found)])


def changed(old: list[Item], new: list[Item]) -> list[ClauseChange]:
    before, after = edition(*old), edition(*new)
    return changes_of(align(before, after, EnglishAnalyser().document_terms), before, after)


def test_an_item_without_a_heading_is_a_clause_and_its_links_are_references() -> None:
    moved = ("SW-2", "Horn", "SYS-2, SYS-7", HORN[3])
    lamp = ("SW-3", "Lamp", "SYS-3", "Light the lamp when the door is open.")
    found = changed([PUMP, HORN], [PUMP, moved, lamp])
    became = {each.link.new.number: each.link.kind.value for each in found if each.link.new is not None}
    assert became == {"": "same", "SW-1": "same", "SW-2": "edited", "SW-3": "added"}
    (horn,) = (each for each in found if each.link.kind.value == "edited")
    assert [(each.name, each.before, each.after) for each in horn.changes] == [("reference", "SYS-4", "SYS-7")]


def test_other_words_under_the_same_identifier_are_one_change() -> None:
    old = "## SYS-2 Alarm\n\nThe controller shall raise an alarm above 6 bar.\n\nSTATUS: Draft\n"
    new = "## SYS-2 Alarm\n\nOperators must be told by a lamp of too high a pressure.\n\nSTATUS: Approved\n"
    frame = "# Pumps\n\nAll pumps of the station are meant.\n\n{}"
    (found,) = (each.changes for each in compared(frame.format(old), frame.format(new)) if each.changes)
    assert [(each.name, each.before, each.after) for each in found] == [
        (
            "requirement rewritten",
            "The controller shall raise an alarm above 6 bar.",
            "Operators must be told by a lamp of too high a pressure.",
        ),
        ("words", "Draft", "Approved"),
    ]


def test_one_of_several_demands_that_went_is_no_rewriting() -> None:
    kept = "## SYS-2 Alarm\n\nThe horn shall sound for 5 s. {}\n"
    old, new = (kept.format(each) for each in ("Operators must be told by a lamp.", "The bell shall be mute."))
    names = [change.name for each in compared(f"# A\n\nB.\n\n{old}", f"# A\n\nB.\n\n{new}") for change in each.changes]
    assert names == ["requirement added", "requirement withdrawn"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The tank has a volume of 89,2 l and no lid.", "The tank has a volume of 89,20 l and no lid."),
        ("The rate of the plan is 2 for all users.", "The rate of the plan is 2.00 for all users."),
        ("The hash of a file is made by SHA-256 here.", "The hash of a file is made by SHA256 here."),
        ("- implements[1].standard: the list of controls", "- implements[2].standard: the list of controls"),
        ("A folder SHOULDhave a list of 3 files.", "A folder SHOULD have a list of 3 files."),
        (
            "A unit is revoked as in requirement WU_Revocation 18.",
            "A unit is revoked as in requirement WURevocation_18.",
        ),
    ],
)
def test_zeros_lost_blanks_and_numbers_of_names_are_words(old: str, new: str) -> None:
    assert {name for name, _, _ in changed_names(old, new)} == {"words"}
    assert {name for name, _, _ in changed_names(new, old)} == {"words"}


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [
        ("The mass is 1.000 kg in all.", "The mass is 1 kg in all.", "1.000 kg", "1 kg"),
        ("The protocol has number 2.1 in all.", "The protocol has number 2.10 in all.", "2.1", "2.10"),
        ("Cabinets shall have at least IP54 inside.", "Cabinets shall have at least IP65 inside.", "IP54", "IP65"),
        ("The supply is 24 V DC for all.", "The supply is 24 V AC for all.", "24 V DC", "24 V AC"),
        ("The supply is 24 VDC for all.", "The supply is 24 VAC for all.", "24 VDC", "24 VAC"),
    ],
)
def test_other_numbers_ratings_and_currents_are_reported(old: str, new: str, was: str, now: str) -> None:
    assert changed_names(old, new) == [("number", was, now)]


def test_a_demand_that_a_longer_row_took_up_is_not_withdrawn() -> None:
    head = "| Id | Demand |\n|---|---|\n"
    kept = "The unit shall log each transaction with its date, partner and result, and keep them for at least a year."
    went = "The unit shall let its user delete any entry of the log."
    old = f"| D_06 | {kept} {went} |"
    new = f"| D_06 | {kept} |\n| D_06a | {went} Before it does so, it shall say what follows from that for its user. |"
    assert "requirement withdrawn" not in {name for name, _, _ in changed_names(head + old, head + new)}


def test_a_row_that_says_that_it_is_empty_is_withdrawn() -> None:
    head, old = "| Id | Demand |\n|---|---|\n", "| W_10 | The unit shall prove that it holds the keys. |"
    for gone in ("Empty (moved to Topic 18)", "Empty. Note: See W_12a.", "Deleted. See 4.5."):
        names = {name for name, _, _ in changed_names(head + old, f"{head}| W_10 | {gone} |")}
        assert names == {"requirement withdrawn"}, gone


def test_requirements_that_are_numbered_again_are_followed_by_what_they_say() -> None:
    table = "# Pumps\n\nAll pumps.\n\n## Rules\n\n| ID | Rule |\n| --- | --- |\n{}"
    demands = (
        "The controller SHOULD record each start of the pump in its log",
        "The motor MUST stop within 5 s when the door of the cabinet is opened",
        "The horn MUST sound as long as the level in the well is too high",
        "The cover MUST be locked as long as the shaft of the mixer turns",
    )
    old = "".join(f"| P_{number}0 | {words} |\n" for number, words in enumerate(demands, 1))
    new = "".join(f"| P_{number}0 | {words} |\n" for number, words in enumerate((*demands[1:3], demands[0]), 1))
    found = [change for each in compared(table.format(old), table.format(new)) for change in each.changes]
    assert [(each.name, each.before, each.after) for each in found] == [
        ("requirement withdrawn", f"| P_40 | {demands[3]} |", ""),
        ("words", "P_10", "P_30"),
        ("words", "P_20", "P_10"),
        ("words", "P_30", "P_20"),
    ]


def test_a_requirement_keeps_its_number_if_no_other_one_says_the_same() -> None:
    """Twins of which both changed are not exchanged, and names that are no numbers stay those of their rows."""
    table = "# Pumps\n\nAll pumps.\n\n## Rules\n\n| ID | Rule |\n| --- | --- |\n{}"
    twin = "| {} | The {} door of the cabinet MUST close within {} s after the motor stopped |\n"
    old = twin.format("P_10", "left", 5) + twin.format("P_20", "right", 8)
    new = twin.format("P_10", "left", 8) + twin.format("P_20", "right", 5)
    found = [change for each in compared(table.format(old), table.format(new)) for change in each.changes]
    assert [(each.name, each.before, each.after) for each in found] == [
        ("number", "5 s", "8 s"),
        ("number", "8 s", "5 s"),
    ]
    named = "| {} | The longest time in seconds that the pump waits for the {} |\n"
    old = named.format("open", "valve to open") + named.format("close", "valve to close")
    new = named.format("open", "valve to close") + named.format("close", "valve to open")
    found = [change for each in compared(table.format(old), table.format(new)) for change in each.changes]
    assert [(each.row, each.before, each.after) for each in found] == [
        ("open", "open", "close"),
        ("close", "close", "open"),
    ]

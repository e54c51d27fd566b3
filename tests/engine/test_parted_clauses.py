"""Editions that were put in another order: clauses in parts, numbers that all changed, headings that say little."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from tests.engine.test_changes import became, compared, heading_of

_PARTS = {
    "Scope": "This code is about cranes that stand on quays and lift loads of ships into the yard behind them.",
    "Motivation": "Cranes that swing in a gale have killed people on deck, which no older code tried to prevent.",
    "History": "Work began when three harbours lost their cranes in one winter and asked makers for advice.",
}


def links(changes: list[ClauseChange]) -> set[tuple[str, str, str]]:
    """Tell what became of clauses, with both headings."""
    sides = [(each.link.kind.value, each.link.old, each.link.new) for each in changes]
    return {(kind, old.heading if old else "", new.heading if new else "") for kind, old, new in sides}


def test_a_clause_of_which_only_parts_are_left_is_split_into_them() -> None:
    before = "# Code\n\n## 1 Introduction\n\n" + "\n\n".join(_PARTS.values())
    after = "# Code\n\n" + "\n\n".join(f"## {head}\n\n{text}" for head, text in _PARTS.items())
    found = links(compared(before, after))
    assert {("split", "Introduction", head) for head in _PARTS} <= found
    assert not {kind for kind, _, _ in found} & {"added", "removed"}


def test_a_heading_that_stands_above_the_part_its_text_went_to_is_a_part_too() -> None:
    text = " ".join(_PARTS.values())
    found = links(compared(f"# Code\n\n## Wind\n\n{text}", f"# Code\n\n## Wind\n\n### Gales\n\n{text}"))
    assert {("split", "Wind", "Wind"), ("split", "Wind", "Gales")} <= found
    back = links(compared(f"# Code\n\n## Wind\n\n### Gales\n\n{text}", f"# Code\n\n## Wind\n\n{text}"))
    assert {("merged", "Wind", "Wind"), ("merged", "Gales", "Wind")} <= back


def test_numbers_join_nothing_where_most_clauses_have_other_ones() -> None:
    nouns = ["ladder", "winch", "anchor", "hatch", "siren", "davit"]
    said = {
        noun: f"Each {noun} shall be greased by its {noun} master in week {place}." for place, noun in enumerate(nouns)
    }

    def written(order: list[str]) -> str:
        return "# Code\n\n" + "\n\n".join(
            f"## PAM-{n} {noun.title()}s\n\n{said[noun]}" for n, noun in enumerate(order, 1)
        )

    said["torch"] = "Torches are kept dry in a locker at the bow."
    found = compared(written(nouns), written([*nouns[2:], "torch"]))
    assert became(found)["Ladders"] == ("removed", "")
    assert became(found)["Torchs"] == ("added", "Torchs")


def test_a_heading_of_one_common_word_joins_no_clauses_that_say_other_things_elsewhere() -> None:
    before = "# Code\n\n## Beacons\n\n### Configuration\n\nBeacons blink thrice.\n\n## Pumps\n\nPumps drain holds."
    after = "# Code\n\n## Pumps\n\nPumps drain holds.\n\n### Configuration\n\nAn operator chooses strokes by hand."
    found = links(compared(before, after))
    assert ("removed", "Configuration", "") in found
    assert ("added", "", "Configuration") in found


def test_a_heading_alone_is_neither_merged_nor_split() -> None:
    before = "# Code\n\n## Lamps of the bow\n\n## Ropes\n\nRopes are coiled by hand after each voyage of the ship."
    after = "# Code\n\n## Ropes\n\nRopes are coiled by hand after each voyage of the ship, below the lamps of the bow."
    assert ("removed", "Lamps of the bow", "") in links(compared(before, after))


def test_headings_without_words_belong_together_where_what_they_hold_does() -> None:
    text = "\n\n".join(f"#### Part {head}\n\n{said}" for head, said in _PARTS.items())
    before = f"# Code\n\n## Duty of harbours\n\n### Crane\n\n{text}"
    after = f"# Code\n\n## Duty of harbours\n\n### Lifting machines\n\n{text}"
    assert ("renamed", "Crane", "Lifting machines") in links(compared(before, after))
    assert LinkKind.MOVED.value not in {kind for kind, _, _ in links(compared(before, after))}


def test_a_requirement_that_stands_in_another_clause_is_not_withdrawn() -> None:
    old = (
        "# Code\n\n## 1 Alarms\n\nAn alarm shall be heard in all rooms of the house. Call points shall be provided at "
        "each exit.\n\n## 2 Power\n\nBatteries shall last for one whole day without the mains.\n"
    )
    moved = (
        old.replace(" Call points shall be provided at each exit.", "")
        + "\nCall points shall be provided at each exit.\n"
    )
    names = [(each.name, each.before or each.after) for found in compared(old, moved) for each in found.changes]
    points = "Call points shall be provided at each exit."
    assert names == [("words", points), ("requirement moved", points)]
    gone = old.replace(" Call points shall be provided at each exit.", "")
    assert [each.name for found in compared(old, gone) for each in found.changes] == ["requirement withdrawn"]


@pytest.mark.parametrize(
    ("order", "moved"), [("ABCDE", ""), ("BACDE", "B"), ("BCDEA", "A"), ("ADBCE", "D"), ("EABCD", "E")]
)
def test_what_stands_in_another_order_below_one_heading_has_moved_and_no_more_of_it_than_has(
    order: str, moved: str
) -> None:
    steps = {
        "A": "Open the valve by hand.",
        "B": "Fill the tank with water.",
        "C": "Start the pump.",
        "D": "Wait for the lamp to glow.",
        "E": "Close the gate at night.",
    }
    old, new = (
        "# Start-up\n" + "".join(f"\n## Step {name}\n\n{steps[name]}\n" for name in given) for given in ("ABCDE", order)
    )
    found = [heading_of(each) for each in compared(old, new) if each.link.kind is LinkKind.MOVED]
    assert found == [f"Step {name}" for name in moved]

"""Requirements that moved and changed, were split or merged are told with both texts; others are not paired."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.changes.side_by_side import side_by_side
from tests.engine.test_changes import compared

HOME = "Casings are made of cast iron and are painted after the test of the pump."
AWAY = "Results of tests are kept in the files of the maker for a long time."


def _document(home: str, away: str) -> str:
    return f"# Pumps\n\n## 1 Materials\n\n{HOME} {home}\n\n## 2 Tests\n\n{AWAY} {away}\n"


def _told(old: tuple[str, str], new: tuple[str, str]) -> list[tuple[str, str, str, str]]:
    found = compared(_document(*old), _document(*new))
    return [(each.name, each.before, each.after, each.elsewhere) for change in found for each in change.changes]


BOLTS = "Bolts shall be made of stainless steel and be tightened to 40 Nm."


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        (BOLTS, BOLTS, []),
        (BOLTS, BOLTS.replace("40", "50"), [("number", "40 Nm", "50 Nm")]),
        (BOLTS, BOLTS.replace("shall", "should"), [("force", "shall", "should")]),
        (
            "The maker shall provide a certificate of the material of every casing.",
            "A certificate of the material of each casing shall be provided by the maker.",
            [],
        ),
        (
            BOLTS,
            BOLTS.replace(".", ", unless they are glued."),
            [("requirement narrowed", "", "unless they are glued")],
        ),
    ],
)
def test_a_requirement_in_another_clause_has_moved_and_its_changes_are_told(
    was: str, now: str, changes: list[tuple[str, str, str]]
) -> None:
    found = _told((was, ""), ("", now))
    assert ("words", was, "", "2 Tests") in found
    assert ("requirement moved", was, now, "1 Materials") in found
    assert [each[:3] for each in found if each[0] not in {"words", "requirement moved"}] == changes


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("The valve shall be tested at a pressure of 10 bar.", "The hose shall be tested at a pressure of 10 bar."),
        ("The pump P-1 shall be filled with clean oil.", "The pump P-2 shall be filled with clean oil."),
        ("Doors of the plant shall be locked at night.", "Doors of the plant shall not be locked at night."),
        ("The pump shall be painted.", "The pump shall be emptied."),
    ],
)
def test_another_rule_is_not_paired(was: str, now: str) -> None:
    assert {name for name, *_ in _told((was, ""), ("", now))} == {"requirement added", "requirement withdrawn"}


def test_of_twins_nobody_knows_which_one_moved() -> None:
    twins = "The left gate shall close the inlet of the tank. The right gate shall close the inlet of the tank."
    found = _told((twins, ""), ("", "The gate shall close the inlet of the tank."))
    assert "requirement moved" not in {name for name, *_ in found}


WHOLE = "The pump shall have a relief valve that opens at 6 bar and a gauge with a white dial."
VALVE = "The pump shall have a relief valve that opens at 6 bar."
GAUGE = "The pump shall have a gauge with a white dial."


def test_a_requirement_that_became_two_is_split_and_the_reverse_is_merged() -> None:
    assert [each[0] for each in _told((WHOLE, ""), (f"{VALVE} {GAUGE}", ""))] == ["requirement split"]
    assert [each[0] for each in _told((f"{VALVE} {GAUGE}", ""), (WHOLE, ""))] == ["requirement merged"]


def test_a_part_in_another_clause_is_named_on_both_sides() -> None:
    found = _told((WHOLE, ""), (VALVE, GAUGE))
    assert found == [
        ("requirement split", WHOLE, f"{VALVE} … {GAUGE}", "2 Tests"),
        ("words", "", GAUGE, "1 Materials"),
    ]
    assert [each[0] for each in _told((VALVE, GAUGE), (WHOLE, ""))] == ["requirement merged", "words"]


def test_a_limit_that_changed_when_a_requirement_was_split_is_told() -> None:
    found = _told((WHOLE, ""), (VALVE.replace("6", "8"), GAUGE))
    assert ("number", "6 bar", "8 bar", "") in found
    assert "requirement split" in {name for name, *_ in found}


def test_both_parts_of_a_split_requirement_are_marked_side_by_side() -> None:
    (change,) = [each for each in compared(_document(WHOLE, ""), _document(f"{VALVE} {GAUGE}", "")) if each.changes]
    marked = " ".join(text for _, row in side_by_side(change) for text, is_new in row if is_new)
    assert "The pump shall have" in marked


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("The client shall check the key of the server.", "The server shall check the key of the client."),
        ("The panel shall be easy to learn by new staff.", "The panel shall be easy to use by new staff."),
        ("A non-urgent call shall name floor and cabin.", "An urgent call shall name floor and cabin."),
        ("This value shall be a list of whole numbers.", "This value shall be a sorted list of whole numbers."),
    ],
)
def test_requirements_of_one_pattern_are_not_paired(was: str, now: str) -> None:
    assert {name for name, *_ in _told((was, ""), ("", now))} == {"requirement added", "requirement withdrawn"}


CHECK = "Verify that bolts of stainless steel are tightened with a calibrated wrench"


def _catalogue(*rows: str, columns: str) -> str:
    return "\n".join(("", "", columns, "| --- " * columns.count(" | ") + "| --- |", *rows))


def test_rows_that_say_what_to_verify_are_requirements_whatever_their_number_and_columns() -> None:
    old = _catalogue(f"| 1.1.1 | {CHECK}. (C6) | x | x | 521 |", columns="| # | Description | L1 | L2 | CWE |")
    new = _catalogue(f"| 7.2.4 | {CHECK}. | 1 |", columns="| # | Description | Level |")
    found = [each for each in _told((old, ""), ("", new)) if "Verify" in f"{each[1]}{each[2]}"]
    assert [(name, elsewhere) for name, _, _, elsewhere in found] == [
        ("words", "2 Tests"),
        ("requirement moved", "1 Materials"),
    ]
    assert [name for name, *_ in _told((old, ""), ("", "")) if name != "words"] == ["requirement withdrawn"]


@pytest.mark.parametrize(
    ("was", "now", "are_one"),
    [
        (
            "Locks of doors that lead outside are closed for 12 hours of each night, which the guard notes in a book.",
            "Locks of doors that lead outside are closed for 8 hours although alarms that nobody heard shorten them.",
            True,
        ),
        (
            "Locks of doors are closed for 12 hours of each night, which the guard notes in a book.",
            "Locks of gates beside the river stay open because boats that nobody announced have to get in.",
            False,
        ),
    ],
)
def test_sentences_that_begin_alike_are_one_rewritten(was: str, now: str, are_one: bool) -> None:
    found = _told((was, ""), (now, ""))
    assert any(each[1] and each[2] for each in found) is are_one

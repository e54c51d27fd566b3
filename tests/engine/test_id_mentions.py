"""Which items a text names: nearly as they are written, in lists and ranges, and what it says it does not meet."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from knowledge_mcp.engine.tracing import id_mentions
from knowledge_mcp.engine.tracing.id_mentions import ItemNames, NamedItems

SYSTEM = {name: name for name in [*(f"SYS-{number}" for number in range(1, 25)), "SYS-12a", "SYS-12b", "SYS-1.2"]}


def named(text: str, *names: str, own: tuple[str, ...] = ()) -> NamedItems:
    """Ask for the names of one set in a text of the other."""
    sides = [{name: name for name in names} if names else SYSTEM, {name: name for name in own}]
    return ItemNames(sides).in_text(text, 0)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("SYS-1", "SYS-1"),
        ("SYS-001, sys_2, SYS 3, SYS4 and SYS\u20115", "SYS-1 SYS-2 SYS-3 SYS-4 SYS-5"),
        ("SYS-10, 11, 12.", "SYS-10 SYS-11 SYS-12"),
        ("SYS-18 and 19", "SYS-18 SYS-19"),
        ("SYS-20-22", "SYS-20 SYS-21 SYS-22"),
        ("SYS-7..SYS-9; SYS-13/14", "SYS-7 SYS-8 SYS-9 SYS-13 SYS-14"),
        ("SYS-2, 4-6", "SYS-2 SYS-4 SYS-5 SYS-6"),
        ("SYS-12a, b", "SYS-12a SYS-12b"),
        ("SYS-13 rev B", "SYS-13"),
        ("def test_sys_12_stops():", "SYS-12"),
        ("The pump stops (SYS-3).The horn sounds.", "SYS-3"),
        ("SYS-1.2", "SYS-1.2"),
    ],
)
def test_ids_are_known_as_people_write_them(text: str, ids: str) -> None:
    assert named(text).meant == set(ids.split())


@pytest.mark.parametrize(
    "text",
    ["TC-SYS-1", "SYS-1-TC", "SYS-2.7", "SYS-1a", "XSYS-1", "SYS-99", "sys 3", "my_sys_12_count", "SYS-1-9-4", "1"],
)
def test_what_only_looks_alike_is_another_id(text: str) -> None:
    assert not named(text).meant


def test_a_number_that_counts_something_is_no_id() -> None:
    assert named("SYS-3 and 5 others").meant == {"SYS-3"}
    assert named("SYS-3, 4.5 V").meant == {"SYS-3"}


def test_a_name_of_the_own_set_is_no_range_and_no_variant_of_another() -> None:
    assert named("SYS-1-2", own=("SYS-1-2",)).meant == set()
    assert named("REQ-01 and REQ-1", "REQ-1", "REQ-01").meant == {"REQ-1", "REQ-01"}
    assert named("REQ-001", "REQ-1", "REQ-01").meant == set()


def test_ids_of_any_make_are_names() -> None:
    assert named("AC-2(1), AC-3", "AC-2", "AC-2(1)", "AC-3").meant == {"AC-2(1)", "AC-3"}
    assert named("#12, #13", "#12", "#13").meant == {"#12", "#13"}
    assert named("Meets SYS-PUMP-STOP", "SYS-PUMP-STOP").meant == {"SYS-PUMP-STOP"}
    assert named("REQ 12", "REQ 1", "REQ 12").meant == {"REQ 12"}
    assert named("PRÜ-12", "PRÜ-1", "PRÜ-12").meant == {"PRÜ-12"}
    assert named("within 3 days", "3", "Stop").meant == set()


def test_a_path_from_a_root_is_a_name_as_written() -> None:
    paths = ("/req/core/start", "/req/core/start-op", "/req/core")
    assert named("| Requirement | /req/core/start |", *paths).meant == {"/req/core/start"}
    assert named("satisfies /req/core/start-op.", *paths).meant == {"/req/core/start-op"}
    for other in ("/req/core/stop", "/req/core/start-op-2", "/conf/req/core/start", "req core start"):
        assert not named(f"| Requirement | {other} |", *paths).meant


def test_numbers_alone_are_ids_in_lists_of_links_only() -> None:
    names = ItemNames([{"1001": "1001", "1002": "1002"}, {}])
    assert names.in_text("1001", 0).meant == set()
    assert names.in_list("1001; 1002", 0) == {"1001", "1002"}


@pytest.mark.parametrize(
    ("text", "meant", "denied"),
    [
        ("SYS-2 (not covered)", "", "SYS-2"),
        ("SYS-3 is out of scope of this software.", "", "SYS-3"),
        ("SYS-5 and SYS-6 are still open.", "", "SYS-5 SYS-6"),
        ("SYS-5, SYS-6 (TBD)", "SYS-5", "SYS-6"),
        ("No requirement of SYS-7 is implemented here.", "", "SYS-7"),
        ("It conflicts with SYS-9, but meets SYS-8.", "SYS-8", "SYS-9"),
        ("This does not fulfil SYS-11 or SYS-12.", "", "SYS-11 SYS-12"),
        ("SYS-4 has been withdrawn.", "", "SYS-4"),
        ("Requirement no. SYS-3: deleted records are kept.", "SYS-3", ""),
        ("SYS-4 (partially)", "SYS-4", ""),
        ("TBD: SYS-4", "", "SYS-4"),
        ("Meets SYS-4, which replaces SYS-6.", "SYS-4", "SYS-6"),
        ("Meets SYS-3; see also SYS-7.", "SYS-3", "SYS-7"),
    ],
)
def test_what_a_text_says_it_does_not_meet_is_denied(text: str, meant: str, denied: str) -> None:
    found = named(text)
    assert (found.meant, found.denied) == (set(meant.split()), set(denied.split()))


def test_an_id_of_hundreds_of_parts_is_followed_from_no_place_of_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    key = vars(id_mentions)["_key"]

    def counted(tokens: Iterable[str]) -> id_mentions.Key:
        nonlocal looked_at
        looked_at += 1
        return key(tokens)

    monkeypatch.setattr(id_mentions, "_key", counted)
    assert named("1." * 2000 + "1 and SYS-3", ".".join(["1"] * 400), "SYS-3").meant == {"SYS-3"}
    assert looked_at < 40 * 2000

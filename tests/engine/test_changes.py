"""Two editions are aligned clause by clause, and what changed inside is told by what it means."""

from __future__ import annotations

import re

import pytest

from knowledge_mcp.engine.changes.aligning import LinkKind, align, in_common
from knowledge_mcp.engine.changes.clauses import Edition, EditionPart, edition_of
from knowledge_mcp.engine.changes.differences import ChangeType, ClauseChange, TextChange, changes_of, side_by_side
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import OutlineEntry
from knowledge_mcp.model.document import Span

_HEADING = re.compile(r"^(#+) (?:((?:\d+\.)*\d+|[A-Z]+-\d+(?:\(\d+\))?) )?(.*)$", re.MULTILINE)

OLD = """# Press Standard

## 1 Scope

This standard covers presses with a force of up to 500 kN that are loaded by hand.

## 2 Guards

The guard should stop the slide within 200 ms of being opened. Guards are painted yellow.

## 3 Controls

Two-hand controls shall be 600 mm apart, see clause 2. The operator may lock them.

### 3.1 Reset

A reset button shall be out of reach of the danger zone and stand out from other buttons.

## 4 Noise

The noise of an idle press at the operator's ear shall not exceed 85 dB.

## 5 Marking

Every press bears the maker's name, its year and its greatest force on a plate of metal.
"""


def edition(text: str, name: str = "standard.md") -> Edition:
    """Read a text whose headings are Markdown's."""
    found = list(_HEADING.finditer(text))
    sections = [
        OutlineEntry(
            level=len(match[1]),
            number=match[2],
            title=match[3],
            span=Span(
                match.start(),
                next((each.start() for each in found[place + 1 :] if len(each[1]) <= len(match[1])), len(text)),
            ),
        )
        for place, match in enumerate(found)
    ]
    lines = {entry.span.start: text.count("\n", 0, entry.span.start) + 1 for entry in sections}
    return edition_of(name, [EditionPart(name, text, sections, (), lines.get)])


def compared(old: str, new: str) -> list[ClauseChange]:
    before, after = edition(old), edition(new)
    return changes_of(align(before, after, EnglishAnalyser().document_terms), before, after)


def became(found: list[ClauseChange]) -> dict[str, tuple[str, str]]:
    """Map each old clause's heading to what it became, and to which heading; new ones by theirs."""
    return {
        (each.link.old or each.link.new).heading: (  # type: ignore[union-attr]  # one of the two is there
            each.link.kind.value,
            each.link.new.heading if each.link.new else "",
        )
        for each in found
    }


def inside(found: list[ClauseChange]) -> list[tuple[str, str, str]]:
    return [(change.kind.value, change.before, change.after) for each in found for change in each.changes]


def test_an_edition_is_the_same_as_itself() -> None:
    found = compared(OLD, OLD)
    assert {each.link.kind for each in found} == {LinkKind.SAME}
    assert inside(found) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("guard should stop", "guard shall stop", ("force", "should", "shall")),
        ("shall not exceed", "should not exceed", ("force", "shall not", "should not")),
        ("may lock", "shall not lock", ("force", "may", "shall not")),
        ("within 200 ms", "within 150 ms", ("number", "200 ms", "150 ms")),
        ("600 mm apart", "60 cm apart", ("number", "600 mm", "60 cm")),
        ("up to 500 kN", "up to 50 kN", ("number", "500 kN", "50 kN")),
        ("painted yellow", "painted orange", ("words", "yellow.", "orange.")),
    ],
)
def test_a_change_is_told_by_what_it_means_and_once(before: str, after: str, expected: tuple[str, str, str]) -> None:
    found = compared(OLD, OLD.replace(before, after))
    assert inside(found) == [expected]
    assert sum(each.link.kind is LinkKind.EDITED for each in found) == 1


def test_a_sign_that_changed_alone_is_a_changed_limit() -> None:
    found = compared(OLD.replace("not exceed 85", "be ≤ 85"), OLD.replace("not exceed 85", "be ≥ 85"))
    assert inside(found) == [("number", "≤ 85 dB", "≥ 85 dB")]


def test_inserted_clauses_renumber_those_behind_them_and_references_follow() -> None:
    new = OLD.replace(
        "## 2 Guards", "## 2 Terms\n\nA slide is the part that moves up and down in its ways.\n\n## 3 Guards"
    )
    new = (
        new.replace("## 3 Controls", "## 4 Controls")
        .replace("### 3.1", "### 4.1")
        .replace("see clause 2", "see clause 3")
    )
    new = new.replace("## 4 Noise", "## 5 Noise").replace("## 5 Marking", "## 6 Marking")
    found = compared(OLD, new)
    assert became(found) == {
        "Press Standard": ("same", "Press Standard"),
        "Scope": ("same", "Scope"),
        "Terms": ("added", "Terms"),
        "Guards": ("renumbered", "Guards"),
        "Controls": ("renumbered", "Controls"),
        "Reset": ("renumbered", "Reset"),
        "Noise": ("renumbered", "Noise"),
        "Marking": ("renumbered", "Marking"),
    }
    assert [change for change in inside(found) if change[0] != "words"] == []


def test_a_reference_that_is_led_elsewhere_is_told() -> None:
    found = compared(OLD, OLD.replace("see clause 2", "see clause 4"))
    assert [kind for kind, _, _ in inside(found)] == ["words"]  # no passages, so no references: the words changed


def test_clauses_are_renamed_moved_removed_and_added() -> None:
    new = OLD.replace("## 4 Noise", "## 4 Sound emission").replace("### 3.1 Reset", "## 6 Reset")
    cut = new.index("## 5 Marking")
    new = new[:cut] + "## 7 Disposal\n\nOil is drained into closed vessels before a machine is taken apart for scrap.\n"
    found = became(compared(OLD, new))
    assert found["Noise"] == ("renamed", "Sound emission")
    assert found["Reset"] == ("moved", "Reset")
    assert found["Marking"] == ("removed", "")
    assert found["Disposal"] == ("added", "Disposal")


def test_a_clause_that_was_taken_up_into_another_is_merged_and_one_that_came_out_of_another_is_split() -> None:
    reset = "A reset button shall be out of reach of the danger zone and stand out from other buttons."
    merged = OLD.replace(f"### 3.1 Reset\n\n{reset}\n\n", "").replace("may lock them.", f"may lock them. {reset}")
    forward, backward = compared(OLD, merged), compared(merged, OLD)
    assert (LinkKind.MERGED, "Reset", "Controls") in [
        (each.link.kind, each.link.old.heading, each.link.new.heading)
        for each in forward
        if each.link.old and each.link.new
    ]
    assert (LinkKind.SPLIT, "Controls", "Reset") in [
        (each.link.kind, each.link.old.heading, each.link.new.heading)
        for each in backward
        if each.link.old and each.link.new
    ]


def test_a_note_tells_where_a_withdrawn_clause_went() -> None:
    old = "# Controls\n\n## AC-1 Policy\n\nA policy is kept and told to all.\n\n"
    old += "## AC-2 Accounts\n\nAccounts are listed by name.\n"
    new = old.replace("Accounts are listed by name.", "[Withdrawn: Incorporated into AC-1.]")
    found = [each.link for each in compared(old, new) if each.link.kind is not LinkKind.SAME]
    assert [(link.kind, link.old and link.old.number, link.new and link.new.number) for link in found] == [
        (LinkKind.MERGED, "AC-2", "AC-1")
    ]


def test_obligations_that_came_and_went_are_told() -> None:
    new = OLD.replace("Guards are painted yellow.", "Guards are painted yellow. Guards shall be made of steel sheet.")
    changes = [change for each in compared(OLD, new) for change in each.changes]
    assert changes == [
        TextChange(
            ChangeType.WORDS,
            "",
            "Guards shall be made of steel sheet.",
            "",
            "Guards shall be made of steel sheet.",
            "added",
        )
    ]


def test_both_sides_hold_every_word_of_their_edition() -> None:
    new = OLD.replace("should stop", "shall stop").replace("painted yellow", "painted bright orange")
    for each in compared(OLD, new):
        rows = list(side_by_side(each.link))
        for side, clause in ((0, each.link.old), (1, each.link.new)):
            words = " ".join(text for row in rows for text, _ in row[side]).split()
            assert words == (clause.text.split() if clause else [])


def test_unrelated_texts_have_nothing_in_common() -> None:
    other = "# Bread\n\n## 1 Dough\n\nKnead flour, water and salt until the dough no longer sticks to the hands.\n"
    assert in_common(edition(OLD), edition(other)) == 0.0
    assert in_common(edition(OLD), edition(OLD)) == 1.0

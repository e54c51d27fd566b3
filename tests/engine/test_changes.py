"""Two editions are aligned clause by clause, and what changed inside is reported by its meaning."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest

from knowledge_mcp.engine.changes.aligning import align
from knowledge_mcp.engine.changes.clauses import Edition, EditionPart, edition_of
from knowledge_mcp.engine.changes.differences import ClauseChange, changes_of
from knowledge_mcp.engine.changes.kinds import ChangeType, LinkKind, TextChange
from knowledge_mcp.engine.changes.side_by_side import side_by_side
from knowledge_mcp.engine.changes.wording import in_common
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
    return edition_of(name, [part_of(text, name)])


def part_of(text: str, name: str) -> EditionPart:
    """Read a file of an edition."""
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
            line=text.count("\n", 0, match.start()) + 1,
            informative="(informative)" in match[3] or "(informative)" in text[: match.start()].rpartition("\n# ")[2],
        )
        for place, match in enumerate(found)
    ]
    return EditionPart(name, text, sections, (), sections[0].title if sections else name)


def compared(old: str, new: str) -> list[ClauseChange]:
    before, after = edition(old), edition(new)
    return changes_of(align(before, after, EnglishAnalyser().document_terms), before, after)


def heading_of(change: ClauseChange) -> str:
    """Return the heading of the old clause, of an added one its own."""
    clause = change.link.old or change.link.new
    assert clause is not None
    return clause.heading


def became(found: list[ClauseChange]) -> dict[str, tuple[str, str]]:
    """Map each old clause's heading to what it became, and to which heading; new ones by theirs."""
    return {
        heading_of(each): (
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
        ("600 mm apart", "60 cm apart", ("words", "600 mm", "60 cm")),
        ("600 mm apart", "70 cm apart", ("number", "600 mm", "70 cm")),
        ("up to 500 kN", "up to 50 kN", ("number", "500 kN", "50 kN")),
        ("painted yellow", "painted orange", ("words", "yellow.", "orange.")),
    ],
)
def test_a_change_is_reported_by_what_it_means_and_once(
    before: str, after: str, expected: tuple[str, str, str]
) -> None:
    found = compared(OLD, OLD.replace(before, after))
    assert inside(found) == [expected]
    assert sum(each.link.kind is LinkKind.EDITED for each in found) == 1


def test_a_sign_that_changed_alone_is_a_changed_limit() -> None:
    found = compared(OLD.replace("not exceed 85", "be ≤ 85"), OLD.replace("not exceed 85", "be ≥ 85"))
    assert inside(found) == [("number", "≤ 85 dB", "≥ 85 dB")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "Doors MAY open and SHOULD then stay open.",
            "Doors SHOULD open and MUST then stay open.",
            [("force", "MAY", "SHOULD"), ("force", "SHOULD", "MUST")],
        ),
        (
            "Locks hold for 5 minutes at 3 bar when the door is shut.",
            "Locks hold for 5 hours at 4 bar when the door is shut.",
            [("number", "5 minutes", "5 hours"), ("number", "3 bar", "4 bar")],
        ),
        ("Bolts bear 8 Nm in every frame.", "Bolts bear 8 kNm in every frame.", [("number", "8 Nm", "8 kNm")]),
        ("Taps give 20 l/min in each room.", "Taps give 20 l/s in each room.", [("number", "20 l/min", "20 l/s")]),
        (
            "Replies arrive in 4 calendar days if all agree.",
            "Replies arrive in 4 business days if all agree.",
            [("number", "4 calendar days", "4 business days")],
        ),
        ("Doors are 5 m wide in all halls.", "Doors are 5 metres wide in all halls.", [("words", "m", "metres")]),
        ("Fans draw 5 mW when idle at night.", "Fans draw 5 MW when idle at night.", [("number", "5 mW", "5 MW")]),
        ("Doors MUST open outwards.", "Doors must open outwards.", [("force", "MUST", "must")]),
        ("Readers should consult the guide.", "Readers may consult the guide.", [("force", "should", "may")]),
        ("Tanks hold 15 000 litres of fuel.", "Tanks hold 20 000 litres of fuel.", [("number", "15 000", "20 000")]),
        ("Tanks hold 15 000 litres of fuel.", "Tanks hold 15000 litres of fuel.", [("words", "15 000", "15000")]),
        (
            "| 25 | 2.6 | 600 |\n| 50 | 2.9 | 600 |\n| 80 | 3.2 | 500 |",
            "| 25 | 2.6 | 600 |\n| 50 | 3.2 | 600 |\n| 90 | 3.2 | 500 |",
            [("number", "2.9", "3.2"), ("words", "80", "90")],
        ),
        ("Code U+000A ends a line of text.", "Code U+000B ends a line of text.", [("words", "U+000A", "U+000B")]),
    ],
)
def test_words_of_force_and_numbers_are_compared_where_they_stand(
    old: str, new: str, expected: list[tuple[str, str, str]]
) -> None:
    rest = "\n\n".join(f"Gate {name} MUST close and SHALL lock." for name in ("one", "two", "three", "four", "five"))
    assert inside(compared(f"# Doors\n\n{rest}\n\n{old}\n", f"# Doors\n\n{rest}\n\n{new}\n")) == expected


def test_force_is_read_in_the_language_of_the_editions() -> None:
    old = "# Türen\n\nDie Tür muss nach 5 Minuten schließen. Das Schloss darf in der Nacht nicht öffnen.\n"
    new = (
        old.replace("muss", "soll")
        .replace("darf in der Nacht nicht", "darf in der Nacht")
        .replace("Minuten", "Stunden")
    )
    found = inside(compared(old, new))
    result = [("force", "muss", "soll"), ("force", "darf … nicht", "darf"), ("number", "5 Minuten", "5 Stunden")]
    assert found == result, "each once, and the word that denies with its verb"


def test_joined_and_cut_sentences_change_neither_force_nor_limits() -> None:
    apart = "# Doors\n\nEach door shall close within 5 s. The lock should hold it for 9 s."
    joined = "# Doors\n\nEach door shall close within 5 s, and the lock should hold it for 9 s."
    for old, new in ((apart, joined), (joined, apart)):
        found = compared(old, new)
        assert {kind for kind, _, _ in inside(found)} == {"words"}
        assert not any(change.requirement for each in found for change in each.changes)
    stronger = inside(compared(apart, joined.replace("should", "shall")))
    assert stronger[0] == ("force", "should", "shall")


def test_a_sign_that_changed_beside_other_changes_is_reported_and_the_clause_is_edited() -> None:
    old = OLD.replace("not exceed 85", "be ≤ 85")
    new = old.replace("≤", "≥").replace("of an idle press", "of an idle machine")
    assert ("number", "≤ 85 dB", "≥ 85 dB") in inside(compared(old, new))
    alone = compared(old, old.replace("≤", "≥"))
    assert became(alone)["Noise"] == ("edited", "Noise")


def test_a_long_clause_is_compared_sentence_by_sentence() -> None:
    old = "# Parts\n\n" + " ".join(f"Part p{number} should hold {number} kg." for number in range(500))
    assert inside(compared(old, old.replace("should", "shall"))) == [("force", "should", "shall")] * 500


def test_what_changed_inside_a_clause_that_was_merged_or_split_is_reported_with_its_link() -> None:
    reset = "A reset button shall be out of reach of the danger zone and stand out from other buttons."
    weaker = reset.replace("shall", "should")
    merged = OLD.replace(f"### 3.1 Reset\n\n{reset}\n\n", "").replace("may lock them.", f"may lock them. {weaker}")
    for old, new, kind, change in (
        (OLD, merged, LinkKind.MERGED, ("force", "shall", "should")),
        (merged, OLD, LinkKind.SPLIT, ("force", "should", "shall")),
    ):
        found = compared(old, new)
        assert inside([each for each in found if each.link.kind is kind]) == [change]
        assert inside(found) == [change]


def test_a_removed_clause_is_not_joined_with_a_new_one_for_the_words_all_clauses_share() -> None:
    limits = [
        (name, number) for number, name in enumerate(("valves", "pumps", "gates", "motors", "hoists", "drums"), 7)
    ]

    def text(rows: list[tuple[str, int]]) -> str:
        return "# Parts\n\n" + "\n\n".join(
            f"## {place} Limits of {name}\n\nThe operator shall inspect the {name} every {number} days and record the "
            f"result in the log of the plant."
            for place, (name, number) in enumerate(rows, 1)
        )

    found = became(compared(text(limits), text([*limits[:2], *limits[3:], ("tanks", 99)])))
    assert found["Limits of gates"] == ("removed", "")
    assert found["Limits of tanks"] == ("added", "Limits of tanks")


def test_a_note_that_stays_a_note_is_the_same() -> None:
    text = "# Controls\n\n## AC-1 Policy\n\nA policy is kept.\n\n## AC-2 Accounts\n\n[Withdrawn: Now in AC-1.]\n"
    assert became(compared(text, text))["Accounts"] == ("same", "Accounts")


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


def test_a_reference_that_is_led_elsewhere_is_reported() -> None:
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


def test_obligations_that_came_and_went_are_reported() -> None:
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
        rows = list(side_by_side(each))
        for side, clause in ((0, each.link.old), (1, each.link.new)):
            words = " ".join(text for row in rows for text, _ in row[side]).split()
            assert words == (clause.text.split() if clause else [])


def test_unrelated_texts_have_nothing_in_common() -> None:
    other = "# Bread\n\n## 1 Dough\n\nKnead flour, water and salt until the dough no longer sticks to the hands.\n"
    assert in_common(edition(OLD), edition(other)) == 0.0
    assert in_common(edition(OLD), edition(OLD)) == 1.0


GUARDS = "Guards of slides are bolted to the frame, and a worn guard is replaced before the next shift begins."
CABLES = "Cables that leave the cabinet run in ducts of steel which drain the oil they collect."


@pytest.mark.parametrize(
    "note",
    [
        "Void", "(void)", "[Withdrawn]", "Deleted.", "This clause has been deleted.", "Not used.",
        "Reserved for future use.",
        "This page is intentionally left blank.", "Deleted by Amendment 1.", "(weggefallen)", "Entfällt.",
    ],
)  # fmt: skip
@pytest.mark.parametrize("in_heading", [False, True])
def test_a_word_in_place_of_a_withdrawn_clause_is_neither_a_clause_nor_a_change(note: str, in_heading: bool) -> None:
    old = f"{OLD}\n## 6 Cables\n\n{CABLES}\n"
    new = f"{OLD}\n## 6 {note}\n" if in_heading else f"{OLD}\n## 6 Cables\n\n{note}\n"
    found = compared(old, new)
    assert became(found)["Cables"] == ("removed", "")
    assert sum(each.link.kind is not LinkKind.SAME for each in found) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Deleted records shall be kept for five years.",
        "Removed parts are put into a box.",
        "Reserved bits are zero.",
        "Void spaces are filled with foam.",
        "Deleted.\n\nThe operator wears gloves.",
        "Withdrawn tools must be marked.",
    ],
)  # fmt: skip
def test_a_clause_that_opens_with_such_a_word_is_a_clause(text: str) -> None:
    found = compared(OLD, f"{OLD}\n## 6 Records\n\n{text}\n")
    assert became(found)["Records"] == ("added", "Records")


def test_a_void_number_hides_no_clause_that_has_another_number_now() -> None:
    old = f"{OLD}\n## 6 Guards of slides\n\n{GUARDS}\n\n## 7 Cables\n\n{CABLES}\n"
    new = f"{OLD}\n## 6 Void\n\n## 7 Guards of slides\n\n{GUARDS}\n\n## 8 Cables\n\n{CABLES}\n"
    found = became(compared(old, new))
    assert found["Guards of slides"] == ("renumbered", "Guards of slides")
    assert found["Cables"] == ("renumbered", "Cables")


def test_where_a_withdrawn_clause_went_is_read_from_its_heading_too() -> None:
    old = f"{OLD}\n## 6 Cables\n\n{CABLES}\n"
    for note in ("6 Cables [Withdrawn: incorporated into 3.1]", "6 Cables\n\nThis clause has been merged into 3.1."):
        assert became(compared(old, f"{OLD}\n## {note}\n"))["Cables"] == ("merged", "Reset")


def test_a_clause_that_was_taken_up_in_other_words_is_merged_and_one_that_was_not_is_removed() -> None:
    ducts = "Steel ducts hold every cable outside of the cabinet, and collected oil can drain."
    old = f"{OLD}\n## 6 Cables\n\n{CABLES}\n"
    new = OLD.replace("The noise of an idle press at", f"{ducts} The noise of an idle press at")
    assert became(compared(old, new))["Cables"] == ("merged", "Noise")
    assert became(compared(old, OLD))["Cables"] == ("removed", "")
    other = OLD.replace(
        "The noise of an idle press at", "A fan of steel is no part of the press. The noise of an idle press at"
    )
    assert became(compared(old, other))["Cables"] == ("removed", "")
    links = [(each.link.kind.value, each.link.new) for each in compared(new, old)]
    assert [new.heading for kind, new in links if kind == "split" and new is not None] == ["Cables"]


def test_clauses_that_stand_in_a_very_long_one_are_looked_for_there_once() -> None:
    words = [f"w{(place * 7919) % 9001}" for place in range(40_000)]
    lost = "\n\n".join(f"## {at + 2} Lost {at}\n\n{' '.join(words[at * 90 : at * 90 + 60])}" for at in range(150))
    everything = f"# Book\n\n## 1 Everything\n\n{' '.join(words)}\n"
    begun = time.process_time()
    found = align(edition(f"{everything}\n{lost}\n"), edition(everything), EnglishAnalyser().document_terms)
    assert time.process_time() - begun < 8  # 25 seconds where its words are cut into runs again for each of them
    assert Counter(link.kind for link in found) == {LinkKind.SAME: 2, LinkKind.REMOVED: 150}


_GENERAL = "{} objects tell a reader what was found, and where it stands."


def test_twins_that_each_stay_as_they_are_are_found_where_they_moved() -> None:
    twin = "Whoever reads a document keeps what it does not know, and writes it again as it was.\n"
    old = (
        f"{OLD}\n## 6 Files\n\nFiles are of text.\n\n### 6.1 General\n\n{twin}\n## 7 Nets\n\n### 7.1 General\n\n{twin}"
    )
    new = f"{OLD}\n## 6 Files\n\nFiles are of text.\n\n### 6.1 General\n\n{twin}".replace(
        "## 5 Marking", f"## 5 General\n\n{twin}\n## 6 Marking"
    ).replace("## 6 Files", "## 7 Files")
    found = compared(old, new)
    kinds = Counter(each.link.kind for each in found if heading_of(each) == "General")
    assert kinds == {LinkKind.SAME: 1, LinkKind.MOVED: 1}
    assert became(found)["Nets"] == ("removed", "")


def test_clauses_that_all_documents_have_are_found_beside_their_neighbours() -> None:
    parts = ("Edge", "Node", "Graph", "Run", "Tool")
    old = "# Model\n" + "".join(
        f"\n## {at} {part}\n\n### {at}.1 General\n\n{_GENERAL.format(part)}\n\n### {at}.2 {part} id\n\n"
        f"The {part} id is text of {at}7 signs.\n\n### {at}.3 {part} kind\n\n"
        f"The {part} kind is a word of a list that {part} users agree on.\n"
        for at, part in enumerate(parts, 1)
    )
    new = old.replace(
        "## 1 Edge\n", "## 1 Edge\n\n## 1 Conformity\n\nSuppliers declare what they have chosen.\n"
    ).replace(
        _GENERAL.format("Edge"),
        f"Suppliers say which of these they need. {_GENERAL.format('Edge')} Others are left out.",
    )
    kinds = {each.link.kind for each in compared(old, new) if heading_of(each) == "General"}
    assert kinds == {LinkKind.MOVED, LinkKind.SAME}


def test_a_clause_is_split_off_the_one_that_had_most_of_its_words() -> None:
    rule = "A value is right against this word where it is right against {} of the schemas that stand in its list"
    words = ("every one", "just one")
    old = "# Words\n" + "".join(
        f"\n## {at} {name} of\n\nThe value of this word is a list. {rule.format(name)}.\n"
        for at, name in enumerate(words, 1)
    )
    new = "# Words\n" + "".join(
        f"\n## {2 * at - 1} {name} of\n\nThe value of this word is a list.\n"
        f"\n## {2 * at} Meaning for {name}\n\n{rule.format(name)}.\n"
        for at, name in enumerate(words, 1)
    )
    split = [
        (each.link.old.heading, each.link.new.heading)
        for each in compared(old, new)
        if each.link.kind is LinkKind.SPLIT and each.link.old and each.link.new
    ]
    assert split == [(f"{name} of", f"Meaning for {name}") for name in words]


@pytest.mark.parametrize("label", ["EXAMPLE 1:", "NOTE 4 –", "Beispiel 2:"])
def test_the_number_of_an_example_is_no_limit(label: str) -> None:
    rule = "Readers keep the value of this word as it was written for all later readers."
    old = OLD.replace("Every press bears", f"{rule} Every press bears")
    new = OLD.replace("Every press bears", f"{label} all of it {rule[0].lower()}{rule[1:]} Every press bears")
    assert [change for change in inside(compared(old, new)) if change[0] == "number"] == []


def test_data_that_is_printed_is_compared_line_by_line() -> None:
    data = '{\n  "cpu": {\n    "shares": 1024,\n    "quota": 900\n  },\n  "ids": {\n    "size": 7\n  }\n}'
    edited = data.replace('    "quota": 900\n', '    "burst": 4000,\n    "quota": 500\n')
    found = inside(
        compared(
            OLD.replace("Every press", f"{data}\n\nEvery press"), OLD.replace("Every press", f"{edited}\n\nEvery press")
        )
    )
    assert found == [("number", "900", "500"), ("words", "", '"burst": 4000,')]

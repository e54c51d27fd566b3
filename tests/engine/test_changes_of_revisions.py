"""What revised specifications do to their clauses and sentences, and what of it is a change."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.changes.aligning import align
from knowledge_mcp.engine.changes.clauses import Edition, edition_of
from knowledge_mcp.engine.changes.comparing import must_be_editions
from knowledge_mcp.engine.changes.differences import ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InvalidInputError
from tests.engine.test_changes import became, compared, edition, heading_of, inside, part_of

_SPEC = """# Crane Protocol

## Scope

{}

## Hooks

A hook MUST carry the load that is stamped on it and SHOULD be painted red.
"""


def _changes(old: str, new: str) -> list[tuple[str, str, str]]:
    return inside(compared(_SPEC.format(old), _SPEC.format(new)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "Crane makers MAY put further hooks on a trolley of the crane.",
            "Further hooks MAY be put on a trolley of the crane.",
            [],
        ),
        (
            "Crane makers MAY put further hooks on a trolley of the crane.",
            "Further hooks SHOULD be put on a trolley of the crane.",
            [("force", "MAY", "SHOULD")],
        ),
        (
            "In heavy wind the crane at the quay stops within 30 s.",
            "Within 30 s the crane at the quay stops in heavy wind.",
            [],
        ),
        (
            "A crane lifts 5 kg and lowers 10 kg of goods from ships.",
            "A crane lifts 10 kg and lowers 5 kg of goods from ships.",
            [("number", "5 kg", "10 kg"), ("number", "10 kg", "5 kg")],
        ),
        (
            "Slots for hooks are 3, 5, 8, 13, 21 and 34 on the rail of the crane.",
            "Slots for hooks are 2, 3, 5, 8, 13, 21 and 34 on the rail of the crane.",
            [("number", "", "2")],
        ),
        (
            "A brake MUST not slip when the crane is loaded.",
            "A brake MUST NOT slip when the crane is loaded.",
            [],
        ),
    ],
)
def test_what_only_moved_in_a_sentence_is_no_change(old: str, new: str, expected: list[tuple[str, str, str]]) -> None:
    assert [each for each in _changes(old, new) if each[0] != "words"] == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The brake[^1] holds the load for a day.", "The brake[^2] holds the load for a day."),
        ("The brake¹ holds the load for a day.", "The brake² holds the load for a day."),
        ("The brake 1) holds the load for a day.", "The brake 2) holds the load for a day."),
        ("The brake holds the load, see issue 12.", "The brake holds the load, see issue 417."),
        ("The brake holds the load [[CRANE10-1]] for a day.", "The brake holds the load [[CRANE11-2]] for a day."),
        ("The brake holds loads as FIPS 140-2 says.", "The brake holds loads as FIPS 140-3 says."),
        ("The brake holds loads as Sec. 4 says.", "The brake holds loads as Sec. 5 says."),
        ("The brake holds as Sections 4 and 5 apply.", "The brake holds as Sections 4 and 6 apply."),
        ("Copyright © 2019 Crane Makers of the harbour.", "Copyright © 2024 Crane Makers of the harbour."),
        (
            "The brake has to know the load, the rope and the hook.",
            "The brake has to know (1) the load, (2) the rope and (3) the hook.",
        ),
    ],
)
def test_marks_and_names_are_no_limits(old: str, new: str) -> None:
    assert "number" not in {kind for kind, _, _ in _changes(old, new)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The brake[^1] holds the load for a day.", "The brake[^2] holds the load for a day."),
        ("The brake¹ holds the load for a day.", "The brake² holds the load for a day."),
    ],
)
def test_the_mark_of_a_footnote_that_counts_on_is_no_change_at_all(old: str, new: str) -> None:
    assert _changes(old, new) == []


def test_a_month_is_no_permission() -> None:
    text = "# Rules\n\n## Start\n\nThese rules of the harbour hold from {} on for all. Users may lift and shall pay.\n"
    found = inside(compared(text.format("May 25, 2018"), text.format("November 16, 2020")))
    assert found == [("number", "May 25, 2018", "November 16, 2020")]


def test_the_edition_in_the_name_of_a_document_is_no_limit() -> None:
    text = "# Crane Rules (CRR) {0}\n\n## Use\n\nWhoever uses CRR {0} lifts {1} at most, and CRR 1.0 is left alone.\n"
    found = inside(compared(text.format("2.1", "4.1 t"), text.format("2.2", "4.3 t")))
    assert [each for each in found if each[0] == "number"] == [("number", "4.1 t", "4.3 t")]


def test_references_stay_where_the_new_edition_prints_no_numbers() -> None:
    old = "# Rules\n\n## 4 Hooks\n\nHooks are red, see clause 5.\n\n## 5 Ropes\n\nRopes are made of steel wire.\n"
    new = old.replace("## 4 ", "## ").replace("## 5 ", "## ")
    assert inside(compared(old, new)) == []


def test_a_heading_that_kept_its_place_takes_its_clause_though_the_text_was_written_again() -> None:
    old = (
        "# Rules\n\n## Reading\n\nReaders keep signs.\n\n## Parsing\n\nFiles are cut at commas that no quote holds.\n"
        "\n## Writing\n\nWriters put a comma between two values.\n"
    )
    new = old.replace(
        "## Parsing\n\nFiles are cut at commas that no quote holds.", "## Parsing (obsolete)\n\nNot in use."
    )
    assert became(compared(old, new))["Parsing"] == ("renamed", "Parsing (obsolete)")


def test_another_clause_in_the_same_place_is_another() -> None:
    old = (
        "# Rules\n\n## Reading\n\nReaders keep signs.\n\n## Parsing\n\nFiles are cut at commas that no quote holds.\n"
        "\n## Writing\n\nWriters put a comma between two values.\n"
    )
    new = old.replace("## Parsing\n\nFiles are cut at commas that no quote holds.", "## Colours\n\nHooks are red.")
    found = became(compared(old, new))
    assert (found["Parsing"], found["Colours"]) == (("removed", ""), ("added", "Colours"))


def test_a_heading_that_stayed_above_the_part_its_text_went_to_is_a_part() -> None:
    units = "Lengths are given in metres, masses in tonnes and times in seconds, each with its sign behind the number."
    old = f"# Rules\n\n## Units\n\n{units}\n\n## Hooks\n\nHooks are red.\n"
    new = f"# Rules\n\n## Units\n\nThis part is new.\n\n### Table of units\n\n{units}\n\n## Hooks\n\nHooks are red.\n"
    links = [
        (each.link.kind, each.link.new.heading if each.link.new else "")
        for each in compared(old, new)
        if heading_of(each) == "Units"
    ]
    assert sorted(links) == [(LinkKind.SPLIT, "Table of units"), (LinkKind.SPLIT, "Units")]


def _folder(files: dict[str, str]) -> Edition:
    return edition_of("folder", [part_of(text, name) for name, text in files.items()])


def test_a_file_that_moved_to_another_folder_is_the_same_file_though_a_twin_stands_beside_it() -> None:
    terms = "# {}\n\n## Payment\n\nThe {} pays in advance.{}\n\n## Privacy\n\nNobody reads what the {} keeps.\n"
    firm, person = (("Terms for firms", "firm"), ("Terms for persons", "person"))
    old = {
        "firms.md": terms.format(firm[0], firm[1], "", firm[1]),
        "persons.md": terms.format(person[0], person[1], "", person[1]),
    }
    more = " It may pay later where it has a contract in writing, of which both hold a copy."
    new = {
        "terms/firms.md": terms.format("Agreement", "party", more, "party"),
        "terms/persons.md": old["persons.md"],
    }
    before, after = _folder(old), _folder(new)
    links = align(before, after, EnglishAnalyser().document_terms)
    went = {(each.old.file, each.new.file) for each in links if each.old and each.new}
    assert went == {("firms.md", "terms/firms.md"), ("persons.md", "terms/persons.md")}
    assert {each.kind for each in links} <= {LinkKind.SAME, LinkKind.EDITED, LinkKind.RENAMED}


def test_editions_in_two_languages_are_refused() -> None:
    code = "## Code\n\n" + "\n".join(f"    crane.lift({each}).turn({each}).stop()" for each in range(9))
    english = f"# Kran\n\n## Use\n\nThe hook of the crane is to be greased before it is used by anyone.\n\n{code}\n"
    german = f"# Kran\n\n## Use\n\nDer Haken des Krans ist zu fetten, bevor er von jemandem benutzt wird.\n\n{code}\n"
    with pytest.raises(InvalidInputError, match=r"in English and .* in German"):
        must_be_editions(edition(english), edition(german))
    must_be_editions(edition(english), edition(german), anyway=True)
    must_be_editions(edition(english), edition(english.replace("before", "ere")))


LINK = "A link in a message SHALL conform to the syntax of the grammar in the annex of the notation"


def test_a_demand_that_a_sentence_lost_or_gained_beside_what_it_kept_is_withdrawn_or_added() -> None:
    rest = "\n\n".join(f"Gate {name} MUST close and SHALL lock." for name in ("one", "two", "three", "four", "five"))
    limit = "with the restriction that the destination SHALL be a positive integer with a meaning given below."
    old, new = (f"# Links\n\n{rest}\n\n{text}\n" for text in (f"{LINK}, {limit}", f"{LINK}."))

    def told(before: str, after: str) -> list[tuple[str, str, str]]:
        return [
            (change.name, change.before, change.after) for each in compared(before, after) for change in each.changes
        ]

    assert told(old, new) == [("requirement withdrawn", f"notation, {limit}", "notation.")]
    assert told(new, old) == [("requirement added", "notation.", f"notation, {limit}")]
    also = f"{LINK}, which is a rather long text that gives no further rules but tells all about its history."
    assert [name for name, _, _ in told(new, f"# Links\n\n{rest}\n\n{also}\n")] == ["words"]


def test_a_kept_demand_that_lost_its_condition_is_not_rewritten() -> None:
    rest = "\n\n".join(f"Gate {name} MUST close and SHALL lock." for name in ("one", "two", "three", "four", "five"))
    whole = (
        "If the peer has offered the feature before and the feature was then accepted by both sides of the channel, "
        "the node MUST send one field s."
    )
    old, new = (f"# Fields\n\n{rest}\n\nREQ-7: {text}\n" for text in (whole, "The node MUST send one field s."))
    (change,) = [change for each in compared(old, new) for change in each.changes]
    assert (change.name, change.requirement) == ("requirement widened", "widened")


def parts_of(machine: str, last: str, text: str) -> str:
    parts = (
        ("name", f"The name of a {machine} is a string of at most nine letters."),
        ("load", f"The load is a number in tonnes that the hook of the {machine} bears."),
        (last, text),
    )
    return f"## {machine}\n\n" + "".join(f"### {name} property\n\n{words}\n\n" for name, words in parts)


def test_headings_that_share_what_all_beside_them_share_are_not_one_clause_renamed() -> None:
    def log(added: str) -> str:
        bag, message = "MAY contain a property named properties whose value is a bag.", "describes the message sent."
        own = {
            machine: ("request", f"A {machine} MAY contain a property named request that {message}")
            if machine == added
            else ("properties", f"A {machine} {bag}")
            for machine in ("crane", "hoist", "winch", "lift")
        }
        return "# Log\n\n" + "".join(parts_of(machine, *last) for machine, last in own.items())

    found = {(each.link.kind.value, label(each)) for each in compared(log(""), log("hoist"))}
    assert {each for each in found if each[0] != "same"} == {
        ("removed", "properties property"),
        ("added", "request property"),
    }


def test_a_chapter_without_text_between_the_same_chapters_keeps_most_of_its_heading() -> None:
    def rules(word: str, below: str) -> str:
        titles = ("Know your duties", "Assign the responsibility for the compliance of licences", "Review the content")
        bodies = ("Duties are listed in a table.\n", below, "Content is reviewed by two persons.\n")
        return "# R\n\n" + "\n".join(
            f"## {word}{place}: {title}\n\n{body}"
            for place, (title, body) in enumerate(zip(titles, bodies, strict=True), 1)
        )

    old = rules("G", "### Liaison\n\nA liaison is named by the board.\n\n### Roles\n\nThe roles are given.\n")
    new = rules("Goal ", "### Tasks\n\nEvery task has an owner in writing.\n")
    found = {(each.link.kind.value, label(each)) for each in compared(old, new)}
    assert ("renamed", "Goal 2: Assign the responsibility for the compliance of licences") in found


def label(change: ClauseChange) -> str:
    clause = change.link.new or change.link.old
    return clause.label if clause is not None else ""

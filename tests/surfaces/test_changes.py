"""The tools for editions: what changed and what it touches, over the real engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.changes import impact
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.surfaces.standards import SURFACE
from tests.engine.world import World
from tests.surfaces.calling import answer_of

OLD = """# ACME 100:2018 Lifts

## 1 Terms and definitions

### 1.1 landing door

door that closes the well of a lift

## 2 Doors

The landing door should close within 5 s. The lock is tested as the maker of the door says.

## 3 Ropes

Ropes are greased with oil that is free of acid once a year.

## 4 Pits

The pit shall be dry and lit whenever somebody works in it.
"""
NEW = (
    OLD.replace("100:2018", "100:2023")
    .replace("should close within 5 s", "shall close within 4 s")
    .replace("## 4 Pits", "## 4 Buffers\n\nA buffer shall stand in every pit below the car.\n\n## 5 Pits")
)
USER = """# Hoist manual

## 1 Doors

Each door shall be built as ACME 100, clause 2, demands of doors.

## 2 Ropes

The rope is cared for as ACME 100:2018, clause 3, says.

## 3 All

Hoists shall comply with ACME 100:2018.
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Hold two editions, and a document that refers to them."""
    return World(tmp_path).holding(
        {
            "lifts-2018.md": OLD,
            "lifts-2023.md": NEW,
            "manual.md": USER,
            "poem.md": "# Poems 3\n\nThe river sleeps beneath a silver moon while owls recite forgotten songs.\n",
        }
    )


def ask(world: World, name: str, **arguments: Any) -> dict[str, Any]:
    return answer_of(SURFACE, name, world.knowledge, **arguments)


def test_what_changed_is_listed_by_weight_with_both_citations(world: World) -> None:
    answer = ask(world, "knowledge_changes", document="ACME 100")
    assert (answer["old"]["document_id"], answer["new"]["document_id"]) == ("lifts-2018", "lifts-2023")
    first = answer["changes"][0]
    assert first["became"] == "edited"
    assert first["old"] == "ACME 100:2018 Lifts, 2 Doors, line 9 [lifts-2018.md]"
    assert first["new"] == "ACME 100:2023 Lifts, 2 Doors, line 9 [lifts-2023.md]"
    assert [(each["kind"], each["from"], each["to"]) for each in first["changes"]] == [
        ("force", "should", "shall"),
        ("number", "5 s", "4 s"),
    ]
    assert {each["became"] for each in answer["changes"]} >= {"edited", "added", "renumbered"}
    named_once = "ACME 100:2018 Lifts, line 1 [lifts-2018.md]"
    assert named_once in {each.get("old") for each in answer["changes"]}


def test_changes_are_narrowed_by_clause_and_kind_and_paged(world: World) -> None:
    doors = ask(world, "knowledge_changes", document="lifts-2023", clause="2")
    assert doors["total"] == 1
    numbers = ask(world, "knowledge_changes", document="lifts-2018", kinds=["number"])
    assert [change["kind"] for each in numbers["changes"] for change in each["changes"]] == ["number"]
    added = ask(world, "knowledge_changes", document="lifts-2018", kinds=["requirements_added"])
    assert [(each["became"], each["changes"][0]["requirement"]) for each in added["changes"]] == [("added", "added")]
    both = ask(world, "knowledge_changes", document="lifts-2018", kinds=["number", "added"])
    result = {each["became"]: [change["kind"] for change in each["changes"]] for each in both["changes"]}
    assert result == {"edited": ["number"], "added": ["words"]}, "an added clause is shown whole"
    page = ask(world, "knowledge_changes", document="lifts-2018", limit=1)
    assert page["next_cursor"] == 1
    after = ask(world, "knowledge_changes", document="lifts-2018", limit=1, cursor=1)
    assert after["changes"] != page["changes"]
    for tool in ("knowledge_changes", "knowledge_impact"):
        with pytest.raises(InvalidInputError, match="The cursor 99 is beyond the last of"):
            ask(world, tool, document="lifts-2018", cursor=99)
    assert "There are no changes" in ask(world, "knowledge_changes", document="lifts-2018", clause="3")["message"]
    with pytest.raises(InvalidInputError, match="Unknown kind of change: 'colour'") as refused:
        ask(world, "knowledge_changes", document="lifts-2018", kinds=["colour"])
    assert "requirements_added, requirements_withdrawn, requirements_split" in refused.value.suggestion


def test_definitions_weigh_more_than_new_requirements_and_these_more_than_clauses_with_other_numbers(
    tmp_path: Path,
) -> None:
    newer = NEW.replace("closes the well of a lift", "closes the well of a lift while the car is away")
    answer = ask(
        World(tmp_path).holding({"a-2018.md": OLD, "a-2023.md": newer}), "knowledge_changes", document="ACME 100"
    )
    first = [each["changes"][0] if "changes" in each else each for each in answer["changes"]]
    result = [each.get("requirement") or each.get("kind") or each["became"] for each in first]
    assert result == ["force", "definition", "added", "renamed", "renumbered"]


def test_a_clause_that_is_in_neither_edition_is_refused_and_not_called_unchanged(world: World) -> None:
    with pytest.raises(NotFoundError, match="Neither edition has a clause '99'") as refused:
        ask(world, "knowledge_changes", document="lifts-2018", clause="99")
    assert "knowledge_outline" in refused.value.suggestion


def test_editions_are_named_by_label_or_id(world: World) -> None:
    named = ask(world, "knowledge_changes", document="ACME 100", **{"from": "2018", "to": "2023"})
    assert named["changes"]
    back = ask(world, "knowledge_changes", document="ACME 100", **{"from": "lifts-2023", "to": "lifts-2018"})
    assert back["old"]["document_id"] == "lifts-2023"
    with pytest.raises(NotFoundError, match="no edition '1999'"):
        ask(world, "knowledge_changes", document="ACME 100", **{"from": "1999"})


def test_what_cannot_be_compared_is_refused_with_the_reason(world: World) -> None:
    with pytest.raises(InvalidInputError, match="only edition"):
        ask(world, "knowledge_changes", document="poem")
    with pytest.raises(InvalidInputError, match="with itself"):
        ask(world, "knowledge_changes", document="lifts-2018", **{"from": "2018", "to": "2018"})
    with pytest.raises(InvalidInputError, match="not editions of the same document: 0% in common"):
        ask(world, "knowledge_changes", document="poem", **{"from": "manual", "to": "poem"})
    with pytest.raises(NotFoundError, match="no document 'nothing'"):
        ask(world, "knowledge_changes", document="nothing")


def test_two_languages_are_no_editions_to_be_compared(world: World) -> None:
    world.write("lifts-de.md", "# ACME 100:2024 Aufzüge\n\n## 2 Türen\n\nDie Tür muss nach vier Sekunden zu sein.\n")
    world.ingest()
    with pytest.raises(InvalidInputError, match="in two languages: lifts-2018 in English and lifts-de in German"):
        ask(world, "knowledge_changes", document="lifts-2018", to="lifts-de")


def test_impact_names_who_refers_to_what_changed_and_tells_dated_from_undated(world: World) -> None:
    answer = ask(world, "knowledge_impact", document="ACME 100")
    places = {each["citation"].split(", ")[1]: each for each in answer["touched"]}
    doors = places["1 Doors"]
    assert (doors["document_id"], doors["kind"], doors["clause"]) == ("manual", "requirement", "2")
    assert "dated" not in doors
    assert doors["change"]["changes"][0] == {
        "kind": "force",
        "from": "should",
        "to": "shall",
        "old_text": "The landing door should close within 5 s.",
        "new_text": "The landing door shall close within 4 s.",
    }
    assert places["3 All"]["dated"] == "2018"
    assert "change" not in places["3 All"]
    assert "2 Ropes" not in places
    assert answer["untouched"] == 1


@pytest.mark.parametrize(
    ("reference", "clause"),
    [
        ("ACME 100:2018, 2.1", "2.1"),
        ("clause 2.1 of ACME 100", "2.1"),
        ("Section 2.1 of the ACME 100:2018", "2.1"),
        ("ACME 100, 2.1 m", ""),
        ("ACME 100, 2 of them", ""),
    ],
)
def test_the_clause_of_a_reference_is_read_before_and_behind_the_name(
    tmp_path: Path, reference: str, clause: str
) -> None:
    world = World(tmp_path)
    lock = "\n### 2.1 Lock\n\nThe lock shall hold the door against {} N.\n\n## 3 Ropes"
    world.write("lifts-2018.md", OLD.replace("\n## 3 Ropes", lock.format(300)))
    world.write("lifts-2023.md", NEW.replace("\n## 3 Ropes", lock.format(400)))
    world.write("manual.md", f"# Hoist manual\n\n## 1 Doors\n\nEach lock shall be built as {reference} demands.\n")
    world.ingest()
    (touched,) = ask(world, "knowledge_impact", document="ACME 100")["touched"]
    assert touched.get("clause", "") == clause
    assert ("change" in touched) == bool(clause)


def test_impact_looks_through_what_others_say_not_through_the_editions_themselves(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(impact, "_PAGE", 3)
    monkeypatch.setattr(impact, "_MOST", 3)
    own = "\n\n".join(f"## {number} ACME 100\n\nACME 100 is ACME 100." for number in range(6, 12))
    world.write("lifts-2023.md", f"{NEW}\n{own}\n")
    world.ingest()
    answer = ask(world, "knowledge_impact", document="ACME 100")
    assert len(answer["touched"]) == 2
    assert "degraded" not in answer


def test_impact_of_what_nobody_refers_to_says_so(world: World) -> None:
    world.write("v1/tool.md", "# Tool guide\n\n## 1 Use\n\nThe tool shall be held with both hands at all times.\n")
    world.write("v2/tool.md", "# Tool guide\n\n## 1 Use\n\nThe tool shall be held with one hand at all times.\n")
    world.ingest()
    answer = ask(world, "knowledge_impact", document="Tool guide")
    assert answer["message"] == "No other document and no indexed code refers to what changed."
    assert answer["touched"] == []


CODE = """# Timers of the doors

DOOR = 5 # seconds, ACME 100:2018, clause 2

ROPE = 365 # days, ACME 100, clause 3

covers REQ-PIT-7, but not REQ-PIT-70

LIGHT = True # REQ-PIT-8 is as it was
"""


def test_code_of_indexed_repositories_is_touched_too(tmp_path: Path) -> None:
    world = World(tmp_path / "docs", repositories="repo_")
    pits = "\n## 9 Light\n\nREQ-PIT-7: The pit shall have {} lamps.\n\nREQ-PIT-8: The lamp shall be white.\n"
    world.write("acme-2018.md", OLD + pits.format(2))
    world.write("acme-2023.md", NEW + pits.format(3))
    world.ingest()
    World(tmp_path / "code", store=world.store, collection="repo_lift").holding({"timers.md": CODE})
    shadow = World(tmp_path / "code", store=world.store, collection="repo_lift.next")
    shadow.ingest()
    answer = ask(world, "knowledge_impact", document="ACME 100")
    result = [(each["reference"], each["text"]) for each in answer["touched"] if each["kind"] == "code"]
    assert result == [
        ("ACME 100:2018, clause 2", "DOOR = 5 # seconds, ACME 100:2018, clause 2"),
        ("REQ-PIT-7", "covers REQ-PIT-7, but not REQ-PIT-70"),
    ]
    assert answer["touched"][0]["citation"].startswith("timers, lines ")
    assert answer["untouched"] == 1, "the clause on ropes did not change"


def test_a_definition_that_came_or_says_what_is_possible_is_reported_once(tmp_path: Path) -> None:
    old = "# ACME 300:2018 Pumps\n\n## 1 Terms and definitions\n\n### 1.1 Terms of operation\n\n{}\n"
    terms = ["**duty pump**: pump that runs", "**standby pump**: pump that waits for a fault"]
    world = World(tmp_path)
    world.write("pumps-2018.md", old.format("\n\n".join(terms)))
    new = [f"{terms[0]} or cannot be stopped", terms[1], "**booster pump**: pump that raises the pressure"]
    world.write("pumps-2023.md", old.replace("2018", "2023").format("\n\n".join(new)))
    world.ingest()

    clauses = ask(world, "knowledge_changes", document="ACME 300")["changes"]
    found = [each for clause in clauses for each in clause.get("changes", ())]

    assert [(each["kind"], each.get("from", ""), each["to"]) for each in found] == [
        ("definition", "pump that runs", "pump that runs or cannot be stopped"),
        ("definition", "", "pump that raises the pressure"),
    ]


STATED = "---\ntitle: Policy\nstatus: {}\nversion: {}\nowner: J. Doe\n{}---\n\n# Policy\n\nDoors shall be shut.\n"


def test_what_documents_state_about_themselves_is_compared_by_field(tmp_path: Path) -> None:
    world = World(tmp_path).holding(
        {
            "policy-1.md": STATED.format("draft", "1.0", "reviewer: K. Poe\n"),
            "policy-2.md": STATED.format("approved", "1.1", "effective_date: 2024-05-01\n"),
        }
    )
    pair = {"document": "policy-2", "from": "policy-1", "to": "policy-2"}
    answer = ask(world, "knowledge_changes", **pair)
    (edited,) = answer["changes"]
    assert {tuple(each.get(key, "") for key in ("kind", "from", "to", "new_text")) for each in edited["changes"]} == {
        ("property", "draft", "approved", "status: approved"),
        ("property", "1.0", "1.1", "version: 1.1"),
        ("property", "K. Poe", "", ""),
        ("property", "", "2024-05-01", "effective_date: 2024-05-01"),
    }
    assert answer["summary"]["property"] == 4
    assert ask(world, "knowledge_changes", kinds=["property"], **pair)["total"] == 1


def test_properties_are_not_compared_if_one_edition_states_none(tmp_path: Path) -> None:
    plain = "# Policy\n\nDoors shall be shut.\n"
    world = World(tmp_path).holding({"policy-1.md": plain, "policy-2.md": STATED.format("approved", "1.1", "")})
    assert not ask(world, "knowledge_changes", document="policy-2", **{"from": "policy-1", "to": "policy-2"})["total"]


def test_the_sentence_that_defines_a_new_term_is_reported_as_its_definition_alone(tmp_path: Path) -> None:
    old = "# Doors\n\n## Terminology\n\nThe words are those of the house that the doors are built for.\n"
    new = f'{old}\nThe term "side door" refers to a door beside the gate of a house.\n'
    world = World(tmp_path).holding({"doors-1.md": old, "doors-2.md": new})
    answer = ask(world, "knowledge_changes", document="doors-2", **{"from": "doors-1", "to": "doors-2"})
    assert [change["kind"] for each in answer["changes"] for change in each["changes"]] == ["definition"]

"""Requirements that say the same are reported once, and a topic without requirements is reported as such."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.model.query import RequirementQuery
from knowledge_mcp.surfaces.standards.passages import doubt_about_topic
from tests.engine.world import World

RULE = "Each password shall be changed every 90 days by the user who owns the account."
OTHER = RULE.replace("90", "30")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Write one rule into three documents, and another number and two identifiers beside it."""
    made = World(tmp_path)
    for name in ("first", "second", "third"):
        made.write(f"{name}.md", f"# The {name} policy\n\n## 1 Accounts\n\n{RULE}\n")
    made.write("other.md", f"# The other policy\n\n## 1 Accounts\n\n{OTHER}\n")
    made.write(
        "ids.md", "# List\n\nREQ-1 The log shall be kept for a year.\n\nREQ-2 The log shall be kept for a year.\n"
    )
    made.ingest()
    return made


def test_the_same_rule_of_three_documents_is_one_result_that_names_the_others(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("changing a password"))
    rules = [hit for hit in answer.hits if "password" in hit.statement.text]
    assert sorted(hit.statement.text for hit in rules) == sorted([RULE, OTHER])
    (folded,) = [hit for hit in rules if hit.also_in]
    assert folded.statement.text == RULE
    named = " ".join((folded.citation, *folded.also_in))
    assert all(f"The {name} policy" in named for name in ("first", "second", "third"))


def test_requirements_with_identifiers_of_their_own_are_never_one(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("how long is the log kept"))
    assert {"REQ-1", "REQ-2"} <= {hit.statement.identifier for hit in answer.hits}


def test_folding_leaves_as_many_results_as_there_are(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("changing a password", limit=2))
    assert len(answer.hits) == 2
    assert answer.more
    every = world.knowledge.requirements(RequirementQuery("changing a password", limit=50))
    assert len(every.hits) > 2
    assert not every.more


@pytest.mark.parametrize("topic", ["logging of events", "REQ-1", "clause 4"])
def test_pages_give_each_requirement_once_and_all_of_them(world: World, topic: str) -> None:
    clauses = [f"## 4.{at} Unit {at}\n\nUnit {at} shall log events of kind {at * 7}.\n" for at in range(1, 131)]
    world.write("long.md", "# Events\n\n## 4 Units\n\n" + "\n".join(clauses))
    world.ingest()
    pages: list[str] = []
    offset = 0
    while True:
        answer = world.knowledge.requirements(RequirementQuery(topic, limit=30, offset=offset))
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)
        pages += [f"{hit.statement.identifier} {hit.statement.text}" for hit in answer.hits]
        if not answer.more:
            break
        assert len(answer.hits) == 30
        offset += 30
    assert len(pages) == len(set(pages))
    assert sum("log events" in each for each in pages) == 130
    assert not world.knowledge.requirements(RequirementQuery(topic, offset=len(pages))).hits


def test_a_topic_that_no_result_says_a_word_of_is_reported(world: World) -> None:
    about = world.knowledge.requirements(RequirementQuery("password"))
    assert about.said
    assert doubt_about_topic("password", about) == ("", [])
    nothing = world.knowledge.requirements(RequirementQuery("noise"))
    assert nothing.hits
    assert not nothing.said
    message, suggestions = doubt_about_topic("noise", nothing)
    assert message == "No requirement contains a word of 'noise'; these are the closest in meaning."
    assert suggestions

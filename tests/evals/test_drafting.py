"""Drafts come from definitions, requirements and headings, keep their names, and what they came from answers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.evals import Draft, QuestionOptions, ask_set, draft_questions, drafts_as_jsonl, open_set
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.query import SearchMode
from tests.engine.world import World
from tests.evals.making import show_nothing


@pytest.fixture(scope="module")
def drafts(world: World) -> list[Draft]:
    """Draft about both."""
    return draft_questions(world.knowledge)


def test_each_kind_of_passage_gives_its_kind_of_question(drafts: list[Draft]) -> None:
    asked = {(draft.kind, draft.question, draft.clause) for draft in drafts}
    assert ("definition", "What does “outage” mean?", "2.1") in asked
    assert ("requirement", "Alarms: what must the controller do?", "3.2") in asked
    assert ("requirement", "Care: what must be done with each valve?", "2") in asked
    assert ("heading", "What does Valve guide say about “Choosing a valve”?", "1") in asked
    assert not [draft for draft in drafts if "woken" in (draft.quote or "") or "Scope" in draft.question]


def test_drafts_are_the_same_each_time_and_named_by_what_they_ask(world: World, drafts: list[Draft]) -> None:
    assert draft_questions(world.knowledge) == drafts
    assert len({draft.id for draft in drafts}) == len(drafts)
    only = draft_questions(world.knowledge, documents=["valves"])
    assert only
    assert {draft.id for draft in only} < {draft.id for draft in drafts}


def test_a_limit_spreads_over_the_document(world: World, drafts: list[Draft]) -> None:
    few = draft_questions(world.knowledge, per_kind=1)
    kinds = [(draft.document, draft.kind) for draft in few]
    assert len(set(kinds)) == len(kinds)
    assert set(few) <= set(drafts)


def test_an_unknown_document_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        draft_questions(world.knowledge, documents=["gone"])


def test_a_file_of_drafts_can_be_asked_and_says_that_nobody_has_read_it(
    world: World, drafts: list[Draft], tmp_path: Path
) -> None:
    path = tmp_path / "drafts.jsonl"
    path.write_text(drafts_as_jsonl(drafts))
    chosen = open_set(path)
    assert len(chosen.questions) == len(drafts)
    assert all(each.draft for each in chosen.questions)
    found = ask_set(world.knowledge, chosen, QuestionOptions(SearchMode.KEYWORD), progress=show_nothing)
    assert found.measures["R@100"].mean > 0.9
    assert "nobody has read" in found.notes[0]

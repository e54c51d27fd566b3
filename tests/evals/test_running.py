"""A set goes through ingest and search of a real engine, and what comes back is measured and checked."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from knowledge_mcp.evals import AnswerPlace, EvalSet, Question, QuestionOptions, ask_set, ingest_set, open_set
from knowledge_mcp.evals.judging import CitationCheck
from knowledge_mcp.evals.measures import abstention, signals_of
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentStructure, OutlineEntry
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import Hit, LegScore, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.sources.files import FileSource
from tests.engine.world import World
from tests.evals.making import beir, hit, passage, show_nothing

CORPUS = {
    "a": "Each valve shall be turned once a year by its keeper.",
    "b": "The station shall run on battery for eight hours.",
    "c": "Grease is applied to the stem of a gate.",
    "d": "",
}
QUERIES = {"q1": "how often is a valve turned", "q2": "hours of battery", "q3": "who applies grease to the stem"}


def test_a_set_is_ingested_from_memory_asked_and_measured(tmp_path: Path) -> None:
    chosen = open_set(beir(tmp_path / "water", CORPUS, QUERIES, ["q1 a 1", "q2 b 1", "q3 c 1"]))
    knowledge = World(tmp_path).knowledge
    reported: list[tuple[str, int, int]] = []

    def tell(step: str, done: int, total: int) -> None:
        reported.append((step, done, total))

    report = ingest_set(knowledge, chosen, None, tell)
    found = ask_set(knowledge, chosen, QuestionOptions(), tell, ingested=report)
    assert found.measures["Success@1"].mean == 1
    assert (found.documents, found.questions, found.unanswerable) == (3, 3, 0)
    assert all(row.first == 1 and row.ms is not None and row.ms > 0 for row in found.rows.values())
    assert found.citations["text"].value == 1
    assert "1 document could not be ingested" in found.notes[0]
    assert found.notes[-1] == "No constant of ranking was chosen with a set of this name."
    assert reported[-1] == ("Asking water (hybrid)", 3, 3)
    assert {step for step, _, _ in reported} == {"Ingesting water", "Asking water (hybrid)"}


def test_held_back_questions_are_distinguished_by_the_signals(tmp_path: Path) -> None:
    folder = beir(tmp_path / "water", CORPUS, QUERIES, ["q1 a 1", "q2 b 1", "q3 c 1"])
    chosen = open_set(folder, hold_back=0.34)
    knowledge = World(tmp_path).knowledge
    ingest_set(knowledge, chosen, None, show_nothing)
    found = ask_set(knowledge, chosen, QuestionOptions(), show_nothing)
    assert found.unanswerable == 1
    assert {each.signal for each in found.abstentions} >= {"score", "cosine", "bm25"}
    assert max(each.area for each in found.abstentions) == 1
    unanswerable = next(each.id for each in chosen.questions if each.unanswerable)
    assert found.rows[unanswerable].values == ()


def test_questions_of_ones_own_are_asked_of_the_present_base(world: World) -> None:
    questions = (
        Question(
            "alarm",
            "how fast is an outage reported",
            (AnswerPlace("pumps.md", clause="3.2", quote="within one minute"),),
        ),
        Question("care", "how often is a valve turned", (AnswerPlace("Valve guide", clause="2"),)),
        Question("lost", "how often is a valve turned", (AnswerPlace("gone"),)),
    )
    found = ask_set(
        world.knowledge, EvalSet("mine", "questions", questions), QuestionOptions(SearchMode.KEYWORD), show_nothing
    )
    assert found.rows["alarm"].first == found.rows["care"].first == 1
    assert found.rows["lost"].first is None
    assert found.ingest_seconds is None
    assert found.notes == ("Questions expect 1 document not in the knowledge base: gone.",)
    assert found.citations["expected"].value == 1
    assert found.citations["clause"].checked > 0
    assert found.citations["clause"].value == 1


def test_the_weight_changes_the_ranking_only_where_it_is_given(world: World) -> None:
    assert QuestionOptions(weight=0.25).query("x", 10).weight == 0.25
    assert QuestionOptions().query("x", 10) == SearchQuery("x")
    assert len(QuestionOptions().query("x" * 5000, 10).text) == 2000


def test_nothing_to_ask_and_nothing_ingested_are_errors(world: World, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no question"):
        ask_set(world.knowledge, EvalSet("none", "questions", ()), QuestionOptions(), show_nothing)
    (tmp_path / "empty.md").write_text("")
    with pytest.raises(InvalidInputError, match="could be ingested") as caught:
        ingest_set(World(tmp_path).knowledge, EvalSet("none", "questions", ()), FileSource(tmp_path), show_nothing)
    assert "empty.md" in caught.value.details


def _moved(chunk: Chunk, steps: int) -> Chunk:
    return dataclasses.replace(chunk, span=Span(chunk.span.start + steps, chunk.span.end + steps))


def test_a_citation_that_points_beside_its_text_is_counted_as_wrong(world: World) -> None:
    chunks = world.knowledge.document_chunks(world.knowledge.documents()[0].id)
    check = CitationCheck(world.knowledge)
    moved, other = _moved(chunks[4], 3), dataclasses.replace(chunks[2], clause_number="9.9")
    check.note(Question("q", "?", ()), [hit(chunks[0]), hit(moved), hit(other), hit(chunks[0])], {})
    assert (check.shares["text"].right, check.shares["text"].checked) == (2, 3)
    assert (check.shares["clause"].right, check.shares["clause"].checked) == (2, 3)
    assert "not in clause 9.9" in "".join(check.wrong)


def test_a_citation_whose_passage_begins_with_the_title_of_its_document_is_right(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Pumps\n\n1 Scope\n\nThis is about pumps."
    structure = DocumentStructure((OutlineEntry(1, "1", "Scope", Span(7, len(text))),))
    monkeypatch.setattr(world.knowledge, "document_text", {"pumps": text}.__getitem__)
    monkeypatch.setattr(world.knowledge, "document_structure", {"pumps": structure}.__getitem__)
    check = CitationCheck(world.knowledge)
    check.note(Question("q", "?", ()), [hit(passage("pumps", text, clause="1"))], {})
    assert (check.shares["clause"].right, check.shares["clause"].checked) == (1, 1)


def test_a_quote_found_in_another_clause_than_expected_is_counted_as_wrong(world: World) -> None:
    check = CitationCheck(world.knowledge)
    words = "run on battery"
    places = (
        AnswerPlace(quote=words, clause="3.1"),
        AnswerPlace(quote=words, clause="3.2"),
        AnswerPlace(quote="never", clause="3"),
    )
    hits = [hit(chunk) for chunk in world.knowledge.document_chunks("pumps")]
    check.note(Question("q", "?", places), hits, {})
    assert (check.shares["expected"].right, check.shares["expected"].checked) == (1, 2)
    assert "its place is another" in check.wrong[0]


def test_signals_are_the_best_of_their_kind_and_nought_without_hits() -> None:
    chunk = passage("a")
    hits = (Hit(chunk, 0.9, "", LegScore(3, 0.2), LegScore(1, 7.5)), Hit(chunk, 0.5, "", LegScore(1, 0.6), None))
    assert signals_of(SearchAnswer(hits, SearchMode.HYBRID, 1)) == {"score": 0.9, "cosine": 0.6, "bm25": 7.5}
    assert signals_of(SearchAnswer((), SearchMode.HYBRID, 1)) == {"score": 0.0, "cosine": 0.0, "bm25": 0.0}


def test_the_threshold_lets_nearly_all_answerable_questions_through() -> None:
    right = [{"score": number / 100} for number in range(100)]
    wrong = [{"score": 0.03}] * 3 + [{"score": 0.5}]
    (found,) = abstention(right, wrong)
    assert found.answered >= 0.95
    assert found.declined == 0.75
    assert abstention(right, []) == ()
    assert abstention([], wrong) == ()

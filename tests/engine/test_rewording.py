"""Questions in words that the documents do not use: other words are also searched for, and reported."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from knowledge_mcp.engine.search import search
from knowledge_mcp.engine.search.requirements import requirements
from knowledge_mcp.engine.search.search import added_synonyms, with_synonyms
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.lexical.synonyms import SynonymList
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import Equals, Filter, LegResults, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.overridden import OverriddenStore
from tests.engine.world import PUMPS, VALVES, World

LIST = """
blackout => outage
accumulator => battery
duty pump => working pump
"""


def reworded(world: World, list_text: str = LIST) -> World:
    """Give a world's base a list of synonyms."""
    world.base = dataclasses.replace(world.base, synonyms=SynonymList(world.base.analyser, {"list": list_text}))
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two documents, and a list of synonyms."""
    made = World(tmp_path).holding({"pumps.md": PUMPS, "valves.md": VALVES})
    return reworded(made)


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.SEMANTIC])
def test_words_that_no_document_uses_are_asked_for_in_others(world: World, mode: SearchMode) -> None:
    query = SearchQuery("when is a blackout reported", mode=mode, limit=1)
    answer = search.search(world.base, query)
    assert answer.also_asked == ("outage",)
    assert "outage" in answer.hits[0].chunk.content
    assert answer.answerability is None


def test_a_search_by_words_asks_for_exactly_these(world: World) -> None:
    for query in (SearchQuery("blackout", mode=SearchMode.KEYWORD), SearchQuery("blackout", weight=0.0)):
        answer = search.search(world.base, query)
        assert (answer.hits, answer.also_asked) == ((), ())


def test_a_search_that_is_left_with_words_alone_asks_for_the_other_ones_too(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    world = World(tmp_path, embedder=embedder).holding({"pumps.md": PUMPS})
    embedder.failure = ConnectionFailedError("The service is away.")
    answer = search.search(reworded(world).base, SearchQuery("blackout"))
    assert (answer.mode, answer.also_asked) == (SearchMode.KEYWORD, ("outage",))
    assert "outage" in answer.hits[0].chunk.content


def test_requirements_on_a_topic_are_looked_for_in_other_words_too(world: World) -> None:
    answer = requirements(world.base, RequirementQuery("reporting a blackout"))
    assert answer.also_asked == ("outage",)
    assert "outage" in answer.hits[0].statement.text
    assert requirements(world.base, RequirementQuery("3.1", limit=1)).also_asked == ()


def test_words_that_the_documents_use_are_left_alone(world: World) -> None:
    query = SearchQuery("what is a duty pump")
    answer = search.search(world.base, query)
    assert answer.also_asked == ()
    plain = search.search(dataclasses.replace(world.base, synonyms=None), query)
    assert [(hit.chunk.id, hit.score) for hit in answer.hits] == [(hit.chunk.id, hit.score) for hit in plain.hits]


def test_a_phrase_that_few_of_many_passages_say_counts_as_unused(tmp_path: Path) -> None:
    world = World(tmp_path)
    sections = "\n\n".join(
        f"## {n} Part {n}\n\nValve {n} shall be turned once a year by its owner." for n in range(1, 600)
    )
    world.write("many.md", f"# Valves\n\n{sections}\n\n## 600 Accumulator\n\nThe accumulator is charged.\n")
    world.ingest()
    reworded(world)
    assert added_synonyms(world.base, SearchQuery("accumulator")) == ("battery",)
    assert added_synonyms(world.base, SearchQuery("accumulator", filter=Equals("document_id", "many"))) == ()


def test_under_a_filter_only_what_it_leaves_counts(world: World) -> None:
    found = {each.id for each in world.knowledge.documents()}
    (pumps,) = (each for each in found if "pump" in each)
    (valves,) = found - {pumps}
    query = SearchQuery("the duty pump")
    assert added_synonyms(world.base, dataclasses.replace(query, filter=Equals("document_id", pumps))) == ()
    assert added_synonyms(world.base, dataclasses.replace(query, filter=Equals("document_id", valves))) == (
        "working pump",
    )


def test_phrases_come_once_in_the_order_of_the_question_and_not_without_end(world: World) -> None:
    many = ", ".join(f"word{n}" for n in range(40))
    reworded(world, f"blackout => outage, battery\naccumulator => battery, cell\nfault => {many}\n")
    assert added_synonyms(world.base, SearchQuery("accumulator at a blackout")) == ("battery", "cell", "outage")
    assert len(added_synonyms(world.base, SearchQuery("a fault"))) == 16
    reworded(world, "".join(f"said{n} => other{n}\n" for n in range(20)))
    question = " ".join(f"said{n}" for n in range(20))
    assert added_synonyms(world.base, SearchQuery(question)) == tuple(f"other{n}" for n in range(8))


def test_both_legs_are_asked_for_the_question_and_the_other_words() -> None:
    assert with_synonyms("a blackout", ()) == "a blackout"
    assert with_synonyms("a blackout", ("outage", "power cut")) == "a blackout\noutage\npower cut"


class Mute(OverriddenStore):
    """A store without a leg of words, or without an answer."""

    def __init__(self, *, fails: bool) -> None:
        super().__init__(EnglishAnalyser())
        self._fails = fails

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        """Answer or fail as told."""
        if self._fails:
            raise ConnectionFailedError("The store is away.")
        return LegResults(dense=None, lexical=None, lexical_error="no words here")


@pytest.mark.parametrize("fails", [False, True])
def test_where_nobody_knows_what_the_documents_use_nothing_is_added(world: World, fails: bool) -> None:
    mute = Mute(fails=fails)
    mute.create_collection(world.base.collection, world.base.embedder.space)
    base = dataclasses.replace(world.base, store=mute)
    assert added_synonyms(base, SearchQuery("a blackout")) == ()


def test_without_a_list_nothing_is_asked_of_the_store(world: World) -> None:
    mute = Mute(fails=True)
    base = dataclasses.replace(world.base, store=mute, synonyms=None)
    assert added_synonyms(base, SearchQuery("a blackout")) == ()

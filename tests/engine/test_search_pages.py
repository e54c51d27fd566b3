"""Pages of a search, put together, are one answer: no hit twice, none left out, however large the pages are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.query import Filter, Hit, LegResults, SearchMode, SearchQuery
from tests.engine.overridden import OverriddenStore
from tests.engine.world import World

PARTS = 140


class Approximate(OverriddenStore):
    """A store that finds other nearest passages if more are requested, as those do that compare no vector whole."""

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        legs = super().search(collection, vector=vector, text=text, filter=filter, limit=2 * limit)
        found = [hit for place, hit in enumerate(legs.dense or ()) if limit > 100 or place % 5]
        dense = None if legs.dense is None else tuple(found[:limit])
        return replace(legs, dense=dense, lexical=None if legs.lexical is None else legs.lexical[:limit])


QUESTIONS = (
    "clause 4",
    "REQ-7",
    "how are the valves of a pump tested",
    'what says "leak test" of valves',
    "the relief valve is tested before use",
    "leak test",
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Write a standard of many alike clauses, with an index, a glossary and a second document about the same."""
    return _written(World(tmp_path_factory.mktemp("pages")))


def _written(made: World) -> World:
    words = ("pump", "valve", "pipe", "seal", "motor", "sensor", "tank")
    clauses = [
        f"## 4.{at} The {words[at % 7]} of line {at}\n\nREQ-{at} The {words[at % 7]} of line {at} shall pass a "
        f"{'leak test' if at % 3 else 'test of leaks'} of {at * 3} min. The relief valve is tested "
        f"{'before use' if at % 5 else 'once a year'}, see {words[(at * 3) % 7]} {at + 1}.\n"
        for at in range(1, PARTS + 1)
    ]
    entries = "\n".join(
        f"- {words[at % 7]}, leak test, {at}, {at + 3}, {at + 9}, {at * 2}, {at * 3}" for at in range(90)
    )
    terms = "\n\n".join(f"**leak test**: trial {at} that shows whether a {words[at % 7]} is tight" for at in range(5))
    made.write("lines.md", f"# Lines\n\n## 3 Terms\n\n{terms}\n\n## 4 Tests\n\n" + "\n".join(clauses))
    made.write("index.md", f"# Handbook\n\n## Index\n\n{entries}\n")
    made.ingest()
    return made


def _pages(world: World, query: SearchQuery, size: int) -> Iterator[Hit]:
    offset = 0
    while True:
        answer = world.knowledge.search(replace(query, limit=size, offset=offset))
        yield from answer.hits
        offset += size
        if not answer.more:
            return


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize("text", QUESTIONS)
def test_pages_of_any_size_are_one_answer(world: World, text: str, mode: SearchMode, fold: bool) -> None:
    query = SearchQuery(text, mode=mode, fold=fold)
    whole = [hit.chunk.id for hit in _pages(world, query, 100)]
    assert whole
    assert len(set(whole)) == len(whole)
    for size, first in ((7, 56), (30, None)):
        hits = list(islice(_pages(world, query, size), first))
        assert [hit.chunk.id for hit in hits] == whole[:first]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_pages_of_legs_weighed_by_rank_are_one_answer(world: World, weight: float) -> None:
    query = SearchQuery(QUESTIONS[2], weight=weight)
    assert [hit.chunk.id for hit in _pages(world, query, 13)] == [hit.chunk.id for hit in _pages(world, query, 100)]


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.SEMANTIC])
def test_pages_from_a_store_that_approximates_are_one_answer(tmp_path: Path, mode: SearchMode) -> None:
    world = _written(World(tmp_path, store=Approximate(EnglishAnalyser())))
    for text in QUESTIONS[2:]:
        hits = list(islice(_pages(world, SearchQuery(text, mode=mode), 30), 150))
        assert len({hit.chunk.id for hit in hits}) == len(hits) > 100
        once = world.knowledge.search(SearchQuery(text, mode=mode, limit=100)).hits
        assert [hit.chunk.id for hit in hits[: len(once)]] == [hit.chunk.id for hit in once]


def test_what_lies_behind_many_that_say_the_same_is_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    for at in range(60):
        world.write(
            f"copy{at}.md", f"# Copy {at}\n\n## 1 Keys\n\nThe key of the pump room shall hang beside the door.\n"
        )
    world.write("other.md", "# Other\n\n## 1 Keys\n\nKeys are kept in a locked cabinet of the pump house.\n")
    world.ingest()
    answer = world.knowledge.search(SearchQuery("the key of the pump room", limit=2, fold=True))
    assert [hit.chunk.document_id for hit in answer.hits][1:] == ["other"]
    assert len(answer.hits[0].also_in) == 59
    one_each = world.knowledge.search(SearchQuery("the key of the pump room", limit=50, per_document=1))
    assert len({hit.chunk.document_id for hit in one_each.hits}) == len(one_each.hits) == 50
    assert one_each.more

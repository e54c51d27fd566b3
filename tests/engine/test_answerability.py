"""An answer says how likely it answers: estimated from both legs, only in the calibrated space."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.engine.search.answerability import CALIBRATIONS, SIGNALS, Calibration, calibration_of, signals
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.model.query import Equals, LegHit, SearchMode, SearchQuery
from knowledge_mcp.surfaces.answers import in_words
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.world import PUMPS, VALVES, World

CALIBRATED = next(iter(CALIBRATIONS))


class Calibrated(HashingEmbedder):
    """Claims the space that was calibrated."""

    @property
    def space(self) -> EmbeddingSpace:
        """Return the first calibrated space, with some file of weights."""
        return dataclasses.replace(CALIBRATED, weights="0" * 64)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents in the calibrated space."""
    return World(tmp_path_factory.mktemp("world"), embedder=Calibrated(dimensions=CALIBRATED.dimensions)).holding(
        {"pumps.md": PUMPS, "valves.md": VALVES}
    )


def legs(*scores: float) -> list[LegHit]:
    """Make a leg."""
    return [LegHit(f"c{number}", score) for number, score in enumerate(scores)]


def test_the_signals_are_cosine_words_their_leads_and_agreement() -> None:
    dense = legs(0.8, *(0.7 - place / 100 for place in range(12)))
    lexical = [*legs(9.0, 8.0), *(LegHit(f"x{place}", 5.0 - place / 10) for place in range(12))]
    found = dict(zip(SIGNALS, signals(dense, lexical, terms=3, chunks=1000), strict=True))
    assert found["cosine"] == 0.8
    assert found["cosine_lead"] == pytest.approx(0.8 - 0.62)
    assert 0.2 < found["words"] < 0.5
    assert found["words_lead"] == pytest.approx((9.0 - 4.3) / 9.0)
    assert found["agreement"] == 0.2


def test_without_a_word_in_common_the_words_say_nothing() -> None:
    found = dict(zip(SIGNALS, signals(legs(0.3), [], terms=2, chunks=1), strict=True))
    assert (found["words"], found["words_lead"], found["agreement"]) == (0.0, 0.0, 0.0)
    assert found["cosine_lead"] == 0.0


@given(st.lists(st.floats(-50, 50), min_size=len(SIGNALS), max_size=len(SIGNALS)))
def test_an_estimate_is_a_probability_whatever_the_signals(values: list[float]) -> None:
    for model in (*CALIBRATIONS.values(), Calibration((100.0,) * len(SIGNALS), -1e6)):
        assert 0.0 <= model.probability(values) <= 1.0


def test_every_calibration_has_a_weight_for_each_signal_and_trusts_cosine_and_words() -> None:
    for model in CALIBRATIONS.values():
        weights = dict(zip(SIGNALS, model.weights, strict=True))
        assert weights["cosine"] > 0
        assert weights["words"] > 0


def test_the_default_model_is_calibrated_and_another_is_not() -> None:
    space = LocalEmbedder().space
    assert calibration_of(space) is not None
    assert calibration_of(dataclasses.replace(space, model="another")) is None
    assert calibration_of(dataclasses.replace(space, variant="fp32")) is None
    assert calibration_of(dataclasses.replace(space, query_prefix="query: ")) is None


def test_a_question_that_the_documents_answer_is_likelier_answered_than_one_they_do_not(world: World) -> None:
    held = world.knowledge.search(SearchQuery("how many hours shall the station run on battery")).answerability
    foreign = world.knowledge.search(SearchQuery("who won the chess tournament in Reykjavik")).answerability
    assert held is not None
    assert foreign is not None
    assert 0.0 <= foreign < held <= 1.0


def test_the_estimate_is_of_the_question_not_of_how_much_of_the_answer_is_shown(world: World) -> None:
    queries = [
        SearchQuery("battery of the station", limit=limit, fold=fold) for limit in (1, 100) for fold in (False, True)
    ]
    assert len({world.knowledge.search(query).answerability for query in queries}) == 1


@pytest.mark.parametrize(
    "query",
    [
        SearchQuery("battery of the station", mode=SearchMode.KEYWORD),
        SearchQuery("battery of the station", mode=SearchMode.SEMANTIC),
        SearchQuery("battery of the station", weight=0.0),
        SearchQuery("battery of the station", offset=2),
        SearchQuery("clause 3.1"),
        SearchQuery("What is an outage?"),
        SearchQuery('Where are "unattended pumping stations" treated?'),
        SearchQuery("?!"),
        SearchQuery("battery", filter=Equals("document_id", "gone")),
    ],
    ids=[
        "words alone",
        "meaning alone",
        "a weight",
        "a later page",
        "a name alone",
        "a term that is defined",
        "quoted words that a passage says",
        "no words",
        "nothing found",
    ],
)
def test_where_the_estimate_would_be_made_up_there_is_none(world: World, query: SearchQuery) -> None:
    assert world.knowledge.search(query).answerability is None


def test_a_single_word_that_is_said_is_no_question_and_one_that_nothing_says_is_unlikely(world: World) -> None:
    assert world.knowledge.search(SearchQuery("pump")).answerability is None
    unsaid = world.knowledge.search(SearchQuery("helicopter")).answerability
    assert unsaid is not None
    assert in_words(unsaid) == "unlikely"


def test_another_space_gives_no_estimate(tmp_path: Path) -> None:
    other = World(tmp_path).holding({"pumps.md": PUMPS})
    assert other.knowledge.search(SearchQuery("battery of the station")).answerability is None


def test_a_leg_that_failed_gives_no_estimate(tmp_path: Path) -> None:
    embedder = Calibrated(dimensions=CALIBRATED.dimensions)
    broken = World(tmp_path, embedder=embedder).holding({"pumps.md": PUMPS})
    embedder.failure = ConnectionFailedError("The service is away.")
    answer = broken.knowledge.search(SearchQuery("battery of the station"))
    assert answer.degraded
    assert answer.hits
    assert answer.answerability is None

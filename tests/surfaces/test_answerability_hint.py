"""The estimate that an answer is one travels to whoever asked: over both surfaces, over REST, to a remote client."""

from __future__ import annotations

import dataclasses
import json

import pytest

from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.remote.answers import FoundPassages
from knowledge_mcp.remote.client import RemoteLibrary
from knowledge_mcp.remote.values import codec_of
from knowledge_mcp.surfaces.answers import in_words
from knowledge_mcp.surfaces.rag import SURFACE as RAG
from knowledge_mcp.surfaces.standards import SURFACE as STANDARDS
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE, KEY, rest_service
from tests.surfaces.calling import answer_of


class SureKnowledge(FakeKnowledge):
    """Says of each answer what it is told to."""

    said: float | None = 0.7345

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Search, and say it."""
        return dataclasses.replace(super().search(query), answerability=self.said)


class SureLibrary(FakeLibrary):
    """Says of each answer what it is told to."""

    said: float | None = 0.7345

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Search, and say it."""
        return dataclasses.replace(super().search_in(collection, query), answerability=self.said)


def test_a_search_of_standards_tells_the_estimate_and_only_where_there_is_one() -> None:
    knowledge = SureKnowledge()
    assert answer_of(STANDARDS, "knowledge_search", knowledge, query="verification plan")["answerability"] == "likely"
    knowledge.said = None
    assert "answerability" not in answer_of(STANDARDS, "knowledge_search", knowledge, query="verification plan")
    assert "answerability" not in answer_of(STANDARDS, "knowledge_keyword_search", FakeKnowledge(), query="plan")


def test_a_search_of_the_library_tells_it_too() -> None:
    library = SureLibrary()
    library.deposit(Deposit(filename="pumps.md", text="A pump moves water."))
    assert answer_of(RAG, "search", library, query="pump")["answerability"] == "likely"
    library.said = None
    assert "answerability" not in answer_of(RAG, "search", library, query="pump")


@pytest.mark.parametrize(
    ("estimate", "word"),
    [(0.0, "unlikely"), (0.33, "unlikely"), (0.34, "uncertain"), (0.66, "uncertain"), (1.0, "likely")],
)
def test_an_assistant_gets_a_word_not_digits(estimate: float, word: str) -> None:
    assert in_words(estimate) == word


@pytest.mark.parametrize("said", [None, 0.0, 0.25, 1.0])
def test_it_travels_with_the_engines_values(said: float | None) -> None:
    answer = SearchAnswer((), SearchMode.HYBRID, 3, answerability=said)
    codec = codec_of(SearchAnswer)
    assert codec.decode(json.loads(json.dumps(codec.encode(answer)))) == answer


def test_it_comes_over_rest() -> None:
    library = SureLibrary()
    library.deposit(Deposit(filename="pumps.md", text="A pump moves water."))
    with rest_service(library) as url:
        remote = RemoteLibrary(url, KEY, policy=AT_ONCE)
        try:
            assert remote.search_in("default", SearchQuery("pump")).answerability == 0.73
            library.said = None
            assert remote.search_in("default", SearchQuery("pump")).answerability is None
        finally:
            remote.close()


def test_a_remote_library_reads_it_and_an_older_service_has_none() -> None:
    assert FoundPassages.read({"results": [], "answerability": 0.25}).value(SearchMode.HYBRID).answerability == 0.25
    assert FoundPassages.read({"results": []}).value(SearchMode.HYBRID).answerability is None

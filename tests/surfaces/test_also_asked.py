"""What was asked for beside a question travels to whoever asked: over both surfaces, over REST, to a remote client."""

from __future__ import annotations

import dataclasses
import json

from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import RequirementAnswer, RequirementQuery, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.remote.answers import FoundPassages
from knowledge_mcp.remote.client import RemoteLibrary
from knowledge_mcp.remote.values import codec_of
from knowledge_mcp.surfaces.rag import SURFACE as RAG
from knowledge_mcp.surfaces.standards import SURFACE as STANDARDS
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE, KEY, rest_service
from tests.surfaces.calling import answer_of

SAID = ("net sales", "cost of sales")


class WordyKnowledge(FakeKnowledge):
    """Asks for more than it was told."""

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Search, and say so."""
        return dataclasses.replace(super().search(query), also_asked=SAID)

    def requirements(self, query: RequirementQuery) -> RequirementAnswer:
        """Look for requirements, and say so."""
        return dataclasses.replace(super().requirements(query), also_asked=SAID)


class WordyLibrary(FakeLibrary):
    """Asks for more than it was told."""

    said: tuple[str, ...] = SAID

    def search_in(self, collection: str, query: SearchQuery) -> SearchAnswer:
        """Search, and say so."""
        return dataclasses.replace(super().search_in(collection, query), also_asked=self.said)


def test_both_surfaces_tell_it_and_only_where_there_is_something() -> None:
    library = WordyLibrary()
    library.deposit(Deposit(filename="pumps.md", text="A pump moves water."))
    assert answer_of(STANDARDS, "knowledge_search", WordyKnowledge(), query="plan")["also_asked"] == [*SAID]
    assert "also_asked" not in answer_of(STANDARDS, "knowledge_search", FakeKnowledge(), query="plan")
    assert answer_of(STANDARDS, "knowledge_requirements", WordyKnowledge(), topic="plan")["also_asked"] == [*SAID]
    assert "also_asked" not in answer_of(STANDARDS, "knowledge_requirements", FakeKnowledge(), topic="plan")
    assert answer_of(RAG, "search", library, query="pump")["also_asked"] == [*SAID]
    assert "also_asked" not in answer_of(RAG, "search", FakeLibrary(), query="pump")


def test_it_travels_with_the_engines_values() -> None:
    codec = codec_of(SearchAnswer)
    for said in ((), SAID):
        answer = SearchAnswer((), SearchMode.HYBRID, 3, also_asked=said)
        assert codec.decode(json.loads(json.dumps(codec.encode(answer)))) == answer


def test_it_comes_over_rest_and_an_older_service_has_none() -> None:
    library = WordyLibrary()
    library.deposit(Deposit(filename="pumps.md", text="A pump moves water."))
    with rest_service(library) as url:
        remote = RemoteLibrary(url, KEY, policy=AT_ONCE)
        try:
            assert remote.search_in("default", SearchQuery("pump")).also_asked == SAID
            library.said = ()
            assert remote.search_in("default", SearchQuery("pump")).also_asked == ()
        finally:
            remote.close()
    assert FoundPassages.read({"results": []}).value(SearchMode.HYBRID).also_asked == ()

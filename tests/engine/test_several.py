"""One question to several collections: a list or all, paged, filtered and held back as one collection is."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.engine.search.several import search_several
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict, ReadQuery
from knowledge_mcp.model.ingest import IngestOptions, SkippedFile
from knowledge_mcp.model.query import Equals, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.model.rights import ALLOWED, Rights
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.transports.rest.engine import restrict_engine
from knowledge_mcp.transports.shared.keys import Key
from tests.engine.world import World
from tests.ranking.test_rerank import Backwards
from tests.remote.serving import KEY as REMOTE_KEY
from tests.remote.serving import rest_service

PUMPS = "# Pumps\n\n## 1 Power\n\nThe valve of the pump shall run on battery for eight hours.\n"


class ForBoard(FileSource):
    """Files that are for one group."""

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield them, each with its label."""
        for item in super().items():
            yield dataclasses.replace(item, labels=((ALLOWED, "board"),)) if isinstance(item, SourceItem) else item


@pytest.fixture
def both(tmp_path: Path) -> tuple[World, World]:
    """Open two collections of one store, `kb` and `plant`, with one document each; the embedder counts."""
    kb = World(tmp_path / "kb")
    plant = World(tmp_path / "plant", store=kb.store, embedder=kb.embedder, collection="plant")
    kb.write("pumps.md", PUMPS)
    kb.write("same.md", "# Same\n\nA valve that is shut is locked.\n")
    plant.write("same.md", "# Same\n\nA valve that is shut is locked.\n")
    for number in range(8):
        plant.write(f"valve-{number}.md", f"# Valve {number}\n\nThe valve {'of steel ' * number}has number {number}.\n")
    kb.ingest()
    plant.ingest()
    kb.knowledge = LocalKnowledge(kb.base, kb.knowledge._pipeline, is_inner=lambda name: name == "journal")  # pyright: ignore[reportPrivateUsage]
    kb.store.create_collection("journal", kb.embedder.space)
    return kb, plant


def asked(world: World, text: str, limit: int = 10, **more: object) -> list[tuple[str, str]]:
    """Name collection and document of each hit."""
    found = world.knowledge.search(SearchQuery(text, limit, **{"collections": ("*",), **more}))  # pyright: ignore[reportArgumentType]
    return [(hit.collection, hit.chunk.document_id) for hit in found.hits]


def test_all_or_some_are_searched_and_each_hit_names_its_collection(both: tuple[World, World]) -> None:
    kb, _ = both
    assert kb.knowledge.stats().collections == ("kb", "plant")
    assert {name for name, _ in asked(kb, "valve")} == {"kb", "plant"}
    assert {name for name, _ in asked(kb, "valve", collections=("plant",))} == {"plant"}
    assert asked(kb, "run on battery for eight hours")[0] == ("kb", "pumps")
    assert kb.knowledge.search(SearchQuery("valve")).hits[0].collection == ""


def test_a_collection_that_is_not_there_is_reported_beside_all_too(both: tuple[World, World]) -> None:
    with pytest.raises(NotFoundError, match="Collection not found: plants"):
        both[0].knowledge.search(SearchQuery("valve", collections=("*", "plants")))


def test_a_store_that_does_not_answer_is_reported_by_the_totals(
    both: tuple[World, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, _ = both

    def fail(*_: object) -> NoReturn:
        raise ConnectionFailedError("The store is away.")

    monkeypatch.setattr(kb.store, "collections", fail)
    result = kb.knowledge.stats()
    assert (result.status, result.collections, result.notes) == ("unavailable", (), ("The store is away.",))


def test_the_question_is_embedded_once(both: tuple[World, World]) -> None:
    kb, _ = both
    embedder = kb.embedder
    assert isinstance(embedder, HashingEmbedder)
    before = embedder.usage.requests
    asked(kb, "valve of steel")
    assert embedder.usage.requests - before <= 1


def test_what_stands_in_two_collections_is_reported_once(both: tuple[World, World]) -> None:
    kb, _ = both
    found = kb.knowledge.search(SearchQuery("a shut valve is locked", fold=True, collections=("*",)))
    first = found.hits[0]
    assert first.chunk.document_id == "same"
    assert len(first.also_in) == 1
    assert [hit.chunk.document_id for hit in found.hits].count("same") == 1


def test_a_collection_that_says_no_word_of_the_question_keeps_what_is_near_in_meaning(
    both: tuple[World, World],
) -> None:
    kb, _ = both
    found = kb.knowledge.search(SearchQuery("steel", 50, collections=("*",)))
    assert ({hit.collection for hit in found.hits}, found.note) == ({"kb", "plant"}, "")
    nobody = kb.knowledge.search(SearchQuery("zebra", 50, collections=("*",)))
    assert "No passage contains a word of the question" in nobody.note


def test_an_identifier_is_missed_only_where_no_collection_has_it(both: tuple[World, World]) -> None:
    kb, plant = both
    plant.write("rule.md", "# Rule\n\nREQ-5 The valve of steel shall be shut.\n")
    plant.ingest()
    found = kb.knowledge.search(SearchQuery("Do REQ-5 or REQ-6 speak of a valve?", collections=("*",)))
    assert [note.partition(" ")[0] for note in found.notes] == ["REQ-6"]
    quoted = kb.knowledge.search(SearchQuery('REQ-6 "run on battery"', collections=("*",)))
    assert {hit.collection for hit in quoted.hits} == {"kb"}


def test_pages_follow_each_other_without_gap_or_repetition(both: tuple[World, World]) -> None:
    kb, _ = both
    whole = asked(kb, "valve of steel", 50)
    paged = [hit for at in range(0, len(whole), 3) for hit in asked(kb, "valve of steel", 3, offset=at)]
    assert (paged, len(whole)) == (whole, 11)
    last = kb.knowledge.search(SearchQuery("valve of steel", 3, offset=9, collections=("*",)))
    before = kb.knowledge.search(SearchQuery("valve of steel", 3, offset=6, collections=("*",)))
    assert (before.more, last.more) == (True, False)


def test_filters_and_bounds_hold_in_each(both: tuple[World, World]) -> None:
    kb, _ = both
    assert {name for _, name in asked(kb, "valve", filter=Equals("document_id", "same"))} == {"same"}
    assert {name for name, _ in asked(kb, "valve", filter=Equals("normative", value=True))} == {"kb"}
    assert {
        mode for mode in SearchMode if asked(kb, "run on battery for eight hours", mode=mode)[0] == ("kb", "pumps")
    } == set(SearchMode)


def test_a_name_that_is_not_there_is_an_error_that_names_others(both: tuple[World, World]) -> None:
    kb, _ = both
    for name in ("plan", "journal"):
        with pytest.raises(NotFoundError, match="Collection not found") as result:
            asked(kb, "valve", collections=("kb", name))
        assert "journal" not in result.value.suggestion
    assert "plant" in result.value.suggestion


def test_what_may_not_be_read_is_not_there(both: tuple[World, World]) -> None:
    kb, plant = both
    own = kb.knowledge.seen_by(Rights(beside=("engine:standards",)))
    unknown = {}
    for knowledge in (own, kb.knowledge.seen_by(Rights(read=("kb",)))):
        assert knowledge.collections() == ["kb"]
        assert {hit.collection for hit in knowledge.search(SearchQuery("valve", collections=("*",))).hits} == {"kb"}
        for name in ("plant", "nowhere"):
            with pytest.raises(NotFoundError) as result:
                knowledge.search(SearchQuery("valve", collections=(name,)))
            unknown[name] = (result.value.message.replace(name, ""), result.value.suggestion)
        assert unknown["plant"] == unknown["nowhere"]
        with pytest.raises(NotFoundError):
            knowledge.document_text("valve-1")
    plant.write("secret.md", "# Secret\n\nThe valve is hidden.\n")
    plant.knowledge.ingest(ForBoard(plant.folder, patterns=("secret.md",)), IngestOptions())
    for groups, sees in ((("staff",), False), (("board",), True)):
        seen = kb.knowledge.seen_by(Rights(groups=groups))
        found = seen.search(SearchQuery("the valve is hidden", 50, collections=("*",)))
        assert ("secret" in {hit.chunk.document_id for hit in found.hits}) is sees
        assert {hit.collection for hit in found.hits} == {"kb", "plant"}


def test_what_a_hit_names_can_be_read_on(both: tuple[World, World]) -> None:
    kb, _ = both
    (hit,) = kb.knowledge.search(SearchQuery("number 3", 1, collections=("plant",))).hits
    chunk, citation = kb.knowledge.chunk(hit.chunk.id)
    assert (chunk, citation) == (hit.chunk, hit.citation)
    read = kb.knowledge.read(ReadQuery(chunk_id=hit.chunk.id))
    assert hit.chunk.content in "".join(each.text for each in read.passages)
    quote = kb.knowledge.verify_quote(QuoteQuery(hit.chunk.content, hit.chunk.document_id))
    assert quote.verdict is QuoteVerdict.EXACT
    with pytest.raises(NotFoundError):
        kb.knowledge.document("nothing-of-the-kind")


def test_one_that_cannot_be_searched_is_reported(both: tuple[World, World]) -> None:
    kb, _ = both
    kb.store.create_collection("other", dataclasses.replace(kb.embedder.space, model="another"))
    found = kb.knowledge.search(SearchQuery("run on battery for eight hours", collections=("*",)))
    assert found.hits[0].chunk.document_id == "pumps"
    assert any("other could not be searched" in each for each in found.degraded)
    with pytest.raises(Exception, match="another"):
        kb.knowledge.search(SearchQuery("run on battery for eight hours", collections=("other",)))


def test_the_reranker_orders_the_best_of_all(both: tuple[World, World]) -> None:
    kb, _ = both
    reranker = Backwards()
    query = SearchQuery("valve of steel", 3)
    plain = search_several(kb.base, ["kb", "plant"], dataclasses.replace(query, limit=11))
    found = search_several(dataclasses.replace(kb.base, reranker=reranker), ["kb", "plant"], query)
    assert reranker.seen == 11
    assert [hit.chunk.id for hit in found.hits] == [hit.chunk.id for hit in reversed(plain.hits)][:3]


def test_an_engine_behind_the_service_searches_beside_its_own_only_what_the_key_may_read(
    both: tuple[World, World],
) -> None:
    kb, _ = both
    for read, names in (
        (("engine:standards",), {"kb"}),
        (("engine:*", "pl*"), {"kb", "plant"}),
        (("*",), {"kb", "plant"}),
    ):
        found = restrict_engine(Key("limited", read), kb.knowledge).search(SearchQuery("valve", 20, collections=("*",)))
        assert {hit.collection for hit in found.hits} == names


def test_the_tool_takes_a_list_or_all_and_pages_within_its_budget(both: tuple[World, World]) -> None:
    kb, _ = both
    (tool,) = (each for each in SURFACE.tools if each.name == "knowledge_search")

    def answer(**more: object) -> dict[str, Any]:
        request = parse(tool.request, {"query": "valve of steel", **more})
        return tool.run(kb.knowledge, request).model_dump(mode="json", exclude_unset=True)

    whole = answer(collections="*", n_results=20)
    assert {each["collection"] for each in whole["results"]} == {"kb", "plant"}
    assert "collection" not in answer()["results"][0]
    seen: list[str] = []
    cursor = 0
    while not seen or cursor:
        page = answer(collections=["kb", "plant"], max_tokens=400, cursor=cursor)
        seen += [each["id"] for each in page["results"]]
        cursor = page.get("next_cursor", 0)
    assert seen == [each["id"] for each in whole["results"]]
    per_document = answer(collections="*", document_id=["same"], max_per_document=1)
    assert [each["source"]["document_id"] for each in per_document["results"]] == ["same"]
    excluded = answer(collections=["kb"], document_id=["valve-1"])
    assert "without them there are matches" in excluded["message"]


def test_a_service_that_is_too_old_is_reported_and_not_taken_at_its_word(both: tuple[World, World]) -> None:
    kb, _ = both

    class Old:
        def search(self, query: SearchQuery) -> SearchAnswer:
            return kb.knowledge.search(dataclasses.replace(query, collections=()))

    query = SearchQuery("valve", collections=("*",))
    for engine, fails in ((Old(), True), (kb.knowledge, False)):
        with rest_service(engines={"standards": cast("Knowledge", engine)}) as url:
            remote = RemoteKnowledge(url, REMOTE_KEY, "standards")
            with (
                contextlib.closing(remote),
                pytest.raises(ConfigError, match="one collection") if fails else contextlib.nullcontext(),
            ):
                assert remote.search(query) == kb.knowledge.search(query)

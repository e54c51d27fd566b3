"""What the console shows over REST: pictures, outlines, changes, traces, jobs, and one search over all collections."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import httpx
import pytest

from knowledge_mcp.testing.library import FakeLibrary
from knowledge_mcp.transports.rest.app import build_rest_app, living
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.rest.world import KEY, Options, World, make_world

pytestmark = pytest.mark.anyio

OLD = """<!-- page 1 -->

# 1 Crossing

A zebra should cross within 5 minutes. It looks to the left and to the right before it steps on the road.

## 1.1 Waiting

It may wait at the kerb until the last lorry of the convoy has gone by.
"""
NEW = OLD.replace("should", "shall").replace("5 minutes", "3 minutes")


async def two(world: World) -> tuple[str, str]:
    """Take two editions in; returns their ids."""
    old = await world.bring(OLD, filename="old.md", collection="team")
    new = await world.bring(NEW, filename="new.md", collection="team")
    return old["doc_id"], new["doc_id"]


async def test_a_page_comes_as_a_picture_and_one_that_is_not_there_is_404() -> None:
    async with make_world() as world:
        old, _ = await two(world)
        answer = await world.client.get(f"/documents/{old}/pages/1", params={"passage": 0})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        assert answer.headers["cache-control"] == "private, no-store"
        assert answer.content.startswith(b"\x89PNG")
        for path, status in (("2", 404), ("1?passage=99", 404), ("x", 422), ("1?dpi=9999", 422), ("1?mark=1", 422)):
            gone = await world.client.get(f"/documents/{old}/pages/{path}")
            assert gone.status_code == status, path
            assert gone.json()["detail"]


async def test_no_search_waits_behind_pictures() -> None:
    let = threading.Event()

    def before(step: str) -> None:
        if step == "page_image":
            assert let.wait(20)

    async with make_world(before=before) as world:
        old, _ = await two(world)
        statuses: list[int] = []

        async def ask() -> None:
            statuses.append((await world.client.get(f"/documents/{old}/pages/1")).status_code)

        async with anyio.create_task_group() as tasks:
            for _ in range(20):  # more than there are threads for searches
                tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            answer = await world.client.post("/search", json={"query": "zebra", "everywhere": True})
            assert answer.status_code == 200
            assert statuses == []
            let.set()
        assert statuses == [200] * 20


async def test_an_outline_names_the_passage_that_each_section_begins_in() -> None:
    async with make_world() as world:
        old, _ = await two(world)
        answer = (await world.client.get(f"/documents/{old}/outline")).json()
        assert [(each["title"], each["page"], each["passage"]) for each in answer["sections"]] == [
            ("Crossing", 1, 0),
            ("Waiting", 1, 1),
        ]


async def test_changes_stand_side_by_side_with_their_passages() -> None:
    async with make_world() as world:
        old, new = await two(world)
        answer = (await world.client.get("/changes", params={"old": old, "new": new})).json()
        assert answer.get("total") == 1, answer
        (clause,) = answer["clauses"]
        assert clause["old"]["passage"] == 0
        assert {"force", "number"} <= set(clause["kinds"])
        before, after = clause["rows"][0]
        assert "should" in "".join(text for text, changed in before if changed)
        assert "shall" in "".join(text for text, changed in after if changed)
        same = await world.client.get("/changes", params={"old": old, "new": old})
        assert (same.status_code, same.json()["error"]) == (422, "validation_error")
        none = await world.client.get("/changes", params={"old": old, "new": new, "offset": 5})
        assert (none.json()["total"], none.json()["clauses"]) == (1, [])


def _alike(
    sources: Sequence[str], targets: Sequence[str], least: float
) -> tuple[list[tuple[int, int, float]], float, bool]:
    """Propose a link where two texts share their first word."""
    del least
    found = [
        (one, other, 0.9)
        for one, source in enumerate(sources)
        for other, target in enumerate(targets)
        if source.split()[:2] == target.split()[:2]
    ]
    return found, 0.5, len(targets) > 1


async def test_a_trace_tells_links_gaps_and_where_they_stand() -> None:
    library = FakeLibrary()
    app = build_rest_app(
        KnowledgeProvider(lambda: library), KeyRing(KEY), options=Options(), version="9", linker=lambda: _alike
    )
    headers = {"Authorization": f"Bearer {KEY}"}
    transport = httpx.ASGITransport(app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
        living(app),
    ):
        world = World(library, app, client)
        old = (await world.bring(OLD, filename="old.md"))["doc_id"]
        other = (await world.bring("# 1 Crossing\n\nA zebra is seen.\n", filename="b.md"))["doc_id"]
        answer = (await client.get("/trace", params={"from": old, "to": other})).json()
        assert answer["from"]["doc_id"] == old
        assert "nothing" in answer["warning"]
        assert answer["links"], answer
        assert {each["verdict"] for each in answer["links"]} == {"likely"}
        assert answer["links"][0]["from"]["passage"] == 0
        traced = {each["from"]["id"] for each in answer["links"]}
        assert traced.isdisjoint(each["id"] for each in answer["gaps"]["from"])


async def test_without_a_linker_nothing_is_traced_and_that_is_told() -> None:
    async with make_world() as world:
        old, new = await two(world)
        answer = await world.client.get("/trace", params={"from": old, "to": new})
        assert (answer.status_code, answer.json()["detail"]) == (404, "This service traces nothing.")


async def test_jobs_are_listed_the_newest_first() -> None:
    async with make_world() as world:
        for name in ("a.md", "b.md"):
            body = {"text": OLD, "metadata": {"filename": name}, "wait": False}
            assert (await world.client.post("/ingest", json=body)).status_code == 202
        listed = (await world.client.get("/jobs")).json()["jobs"]
        assert [each["source"] for each in listed] == ["b.md", "a.md"]


async def test_one_search_asks_all_collections_and_names_the_one_of_each_result() -> None:
    async with make_world(degraded=("Words only.",)) as world:
        await world.bring("# 1 Zebras\n\nA zebra crosses the road.\n", collection="animals")
        await world.bring("# 1 Roads\n\nThe road is closed.\n\nNobody crosses.\n", collection="roads")
        body = {"query": "zebra crosses the road", "everywhere": True, "top_k": 2}
        answer = (await world.client.post("/search", json=body)).json()
        assert answer["collection"] == "*"
        assert [each["metadata"]["collection"] for each in answer["results"]] == ["animals", "roads"]
        scores = [each["score"] for each in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        assert (answer["total"], answer["degraded"]) == (2, ["Words only."])
        assert answer["searched_documents"] == 2


async def test_what_two_collections_hold_alike_is_shown_once() -> None:
    async with make_world() as world:
        for name in ("animals", "copies"):
            await world.bring("# 1 Zebras\n\nA zebra crosses the road in the morning.\n", collection=name)
        for fold, count in ((True, 1), (False, 2)):
            body = {"query": "zebra", "everywhere": True, "fold": fold}
            answer = (await world.client.post("/search", json=body)).json()
            assert len(answer["results"]) == count

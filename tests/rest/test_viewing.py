"""What the console shows over REST: pictures, outlines, changes, traces, conflicts, jobs, one search over all."""

from __future__ import annotations

import functools
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from knowledge_mcp.engine.jobs import jobs
from knowledge_mcp.engine.library.service import LibraryService
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.ranking.linking import EvidenceFinder
from knowledge_mcp.support.checkpoints import checkpoint, watch_for_stop
from knowledge_mcp.surfaces.viewing import run_review
from knowledge_mcp.transports.rest.executor import MAX_VIEWS
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.engine.shelf import Shelf, ended
from tests.engine.test_tracing import embed
from tests.rest.world import KEY, World, keys_file, make_world

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


ONE = "# 1 Crossing\n\nA zebra shall cross within 5 minutes.\n\nA horse shall wait.\n"
OTHER = "# 1 Crossing\n\nA zebra shall cross within 8 minutes.\n\nA cow shall not wait.\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Yield a shelf; its services are closed."""
    shelf = Shelf(tmp_path)
    yield shelf
    for service in shelf.services:
        service.close()


@pytest.fixture
def service(shelf: Shelf) -> LibraryService:
    """Return a library that traces and checks."""
    return open_service(shelf)


def open_service(shelf: Shelf, held: Callable[[], object] = bool) -> LibraryService:
    """Open the library as a process does; `held` is called before anything is held against anything."""

    def work(library: Any, request: Mapping[str, Any], line: Call) -> dict[str, Any]:
        with watch_for_stop(lambda: stop(line)):
            held()
        finder = EvidenceFinder(EnglishAnalyser().document_terms, embed)
        return run_review(library, request, line, lambda: _alike, lambda: finder)

    return shelf.open(holds_against=work)


def stop(line: Call) -> None:
    """End what was told to stop."""
    if line.cancelled():
        raise CancelledError("stopped")


async def test_a_trace_tells_links_gaps_and_where_they_stand(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        old = (await world.bring(OLD, filename="old.md"))["doc_id"]
        other = (await world.bring("# 1 Crossing\n\nA zebra is seen.\n", filename="b.md"))["doc_id"]
        answer = (await world.client.get("/trace", params={"from": old, "to": other})).json()
        assert answer["from"]["doc_id"] == old
        assert "unrelated" in answer["warning"]
        assert answer["links"], answer
        assert {each["verdict"] for each in answer["links"]} == {"likely"}
        assert answer["links"][0]["from"]["passage"] == 0
        traced = {each["from"]["id"] for each in answer["links"]}
        assert traced.isdisjoint(each["id"] for each in answer["gaps"]["from"])


async def test_a_trace_that_takes_long_is_a_job_that_ends_without_its_client(shelf: Shelf) -> None:
    let = threading.Event()
    async with make_world(service=open_service(shelf, let.wait)) as world:
        one, other = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]
        accepted = await world.client.get("/trace", params={"from": one, "to": other, "wait": 0})
        assert accepted.status_code == 202
        job = accepted.json()["job_id"]
        again = await world.client.get("/trace", params={"from": one, "to": other, "wait": 0})
        assert (again.status_code, again.json()["job_id"]) == (202, job)
        [listed] = (await world.client.get("/jobs")).json()["jobs"]
        assert (listed["job_id"], listed["kind"], listed["documents"]) == (job, "trace", [one, other])
        let.set()
        answer = await world.client.get("/trace", params={"from": one, "to": other})
        assert answer.status_code == 200
        assert answer.json()["links"]
        response = (await world.client.get(f"/jobs/{job}")).json()
        assert (response["state"], response["progress"]["done"]) == ("done", 100.0)


async def test_nobody_waits_behind_those_who_wait_for_a_trace(shelf: Shelf) -> None:
    let = threading.Event()
    service = open_service(shelf, let.wait)
    async with make_world(service=service) as world:
        one, other = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]
        asked = {"from": one, "to": other}
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_VIEWS + 1):
                tasks.start_soon(functools.partial(world.client.get, "/trace", params=asked))
            with anyio.fail_after(20):
                for _ in range(10):
                    changes = await world.client.get("/changes", params={"old": one, "new": other})
                    assert changes.status_code == 200
            later = service.submit(Deposit("default", "later.md", ONE))
            assert ended(service, later.id).state == "done"
            let.set()


async def test_so_many_comparisons_wait_and_no_more(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MOST_WAITING", 1)
    let = threading.Event()
    async with make_world(service=open_service(shelf, let.wait)) as world:
        ids = [(await world.bring(f"{ONE}\n\n{number}", filename=f"{number}.md"))["doc_id"] for number in range(4)]
        asked = [{"from": one, "to": other, "wait": "0"} for one, other in itertools.permutations(ids, 2)][:4]
        answer = [(await world.client.get("/trace", params=each)).status_code for each in asked]
        let.set()
    assert answer == [202, 202, 202, 429]


async def test_a_trace_that_was_cancelled_says_so_and_is_begun_again(shelf: Shelf) -> None:
    let = threading.Event()

    def held() -> None:
        while not let.wait(0.01):
            checkpoint()

    service = open_service(shelf, held)
    async with make_world(service=service) as world:
        one, other = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]
        asked = {"from": one, "to": other}
        job = (await world.client.get("/trace", params={**asked, "wait": 0})).json()["job_id"]
        assert (await world.client.delete(f"/jobs/{job}")).status_code == 200
        assert ended(service, job).state == "cancelled"
        let.set()
        assert (await world.client.get("/trace", params=asked)).status_code == 200


def test_a_trace_whose_process_ended_is_done_by_the_next(shelf: Shelf) -> None:
    let = threading.Event()

    def held() -> None:
        while not let.wait(0.01):
            checkpoint()

    first = open_service(shelf, held)
    ids = [first.deposit(Deposit("default", f"{len(text)}.md", text)).document_id for text in (ONE, OTHER)]
    job = first.review("trace", ids)
    first._jobs.close(0.0)  # pyright: ignore[reportPrivateUsage] - the store is the next one's too
    let.set()
    second = open_service(shelf)
    second.warm_up()
    assert ended(second, job.id).state == "done"
    assert second.review("trace", ids).id == job.id
    assert second.reviewed(job.id)["links"]


async def test_what_a_person_decides_of_links_is_respected_and_can_be_taken_back(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        one, other = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]

        async def decide(accepted: bool | None) -> dict[str, Any]:
            pair = {"source_item": "1#1", "target_item": "1#1", "accepted": accepted}
            answer = await world.client.post("/trace/decisions", json={"from": one, "to": other, **pair})
            assert answer.json() == {"decided": accepted is not None}
            return (await world.client.get("/trace", params={"from": one, "to": other})).json()

        plain = (await world.client.get("/trace", params={"from": one, "to": other})).json()
        assert [(each["verdict"], each["accepted"]) for each in plain["links"]] == [("likely", False)]
        accepted = await decide(True)
        assert [(each["verdict"], each["accepted"]) for each in accepted["links"]] == [("declared", True)]
        rejected = await decide(False)
        assert rejected["links"] == []
        assert [(each["from"]["id"], each["to"]["id"]) for each in rejected["rejected"]] == [("1#1", "1#1")]
        assert await decide(None) == plain


async def test_a_check_quotes_evidence_and_keeps_marks(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        standard, document = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]
        asked = {"document": document, "standard": standard}
        answer = (await world.client.get("/check", params=asked)).json()
        first, second = answer["rows"]
        assert (first["verdict"], first["quotes"][0]["quote"]) == ("partial", "A zebra shall cross within 8 minutes.")
        assert first["quotes"][0]["passage"] == 0
        assert first["checks"][0] == "limit not met: at most 5 minutes / within 8 minutes"
        assert answer["summary"]["obligation"] == 2
        mark = {"row": second["row"], "requirement": second["requirement"], "note": "no horses"}
        response = await world.client.post("/check/marks", json={**asked, **mark, "mark": "not-applicable"})
        assert response.json() == {"decided": 1}
        marked = (await world.client.get("/check", params=asked)).json()
        assert [(each["kind"], each["mark"], each["note"]) for each in marked["rows"]] == [
            ("obligation", "", ""),
            ("not-applicable", "not-applicable", "no horses"),
        ]
        wrong = await world.client.post("/check/marks", json={**asked, **mark, "mark": "met"})
        assert (wrong.status_code, "not-applicable" in wrong.json()["detail"]) == (422, True)
        gone = await world.client.get("/check", params={"document": document, "standard": "0" * 16})
        assert gone.status_code == 404


async def test_conflicts_are_reported_with_both_places_by_kind_and_in_pages(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        result = ("A zebra shall cross the road within 5 minutes.", "A zebra shall cross the road within 8 minutes.")
        texts = [f"# 1 Roads\n\n{text}\n\nA horse shall wait at the gate.\n" for text in result]
        first, second = [(await world.bring(text, filename=f"{n}.md"))["doc_id"] for n, text in enumerate(texts)]
        answer = (await world.client.get("/conflicts", params={"document": [first, second]})).json()
        assert (answer["documents"], answer["compared"], answer["total"]) == (2, 4, 2)
        assert answer["summary"] == {"limit": 1, "duplicate": 1}
        limit, duplicate = answer["conflicts"]
        assert (limit["why"], duplicate["also_in"]) == ("at most 5 minutes and at most 8 minutes", [])
        for side, document, text in ((limit["one"], first, result[0]), (limit["other"], second, result[1])):
            assert (side["doc_id"], side["text"], side["collection"]) == (document, text, "default")
            held = (await world.client.get(f"/documents/{document}")).json()["chunks"][side["passage"]]
            assert text in held["text"]
        whole = {"collection": "default", "kind": "duplicate"}
        kept = (await world.client.get("/conflicts", params=whole)).json()
        assert ([each["kind"] for each in kept["conflicts"]], kept["total"]) == (["duplicate"], 1)
        page = (await world.client.get("/conflicts", params={"collection": "default", "limit": 1, "offset": 1})).json()
        assert (page["total"], page["conflicts"]) == (2, [duplicate])
        jobs = (await world.client.get("/jobs")).json()["jobs"]
        assert [each["kind"] for each in jobs] == ["conflicts"] * 2
        assert [each["documents"] for each in jobs] == [[], [first, second]]


async def test_conflicts_of_a_collection_are_those_of_current_editions(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        editions = {2018: 5, 2023: 8}
        for year, minutes in editions.items():
            text = f"# ACME 100:{year} Roads\n\n## 1 Horses\n\nA zebra shall cross the road within {minutes} minutes.\n"
            await world.bring(text, filename=f"roads-{year}.md")
        whole = (await world.client.get("/conflicts", params={"collection": "default"})).json()
        assert (whole["documents"], whole["total"]) == (1, 0)
        assert whole["omitted"] == "1 older edition is omitted; give an edition's id to include it."
        ids = [each["doc_id"] for each in (await world.client.get("/documents?collection=default")).json()["documents"]]
        named = (await world.client.get("/conflicts", params={"document": ids})).json()
        assert (named["total"], named.get("omitted", "")) == (1, "")


async def test_conflicts_of_nothing_say_what_to_do(service: LibraryService) -> None:
    async with make_world(service=service) as world:
        plain = (await world.bring("# 1 Roads\n\nA zebra is seen.\n", filename="plain.md"))["doc_id"]
        for params, status, words in (
            ({}, 422, "no requirements or definitions"),
            ({"document": plain}, 422, "no requirements or definitions"),
            ({"document": "0" * 16}, 404, "Document not found"),
            ({"collection": "none"}, 404, "none"),
        ):
            answer = await world.client.get("/conflicts", params=params)
            assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text


async def test_who_may_only_read_decides_nothing(service: LibraryService, tmp_path: Path) -> None:
    names = {"keys": [{"name": "reader", "key": "reader-key", "read": ["*"], "write": []}]}
    ring = KeyRing(KEY, keys_file(tmp_path, json.dumps(names)))
    async with make_world(keys=ring, service=service) as world:
        one, other = [(await world.bring(text, filename=f"{len(text)}.md"))["doc_id"] for text in (ONE, OTHER)]
        pair = {"source_item": "1#1", "target_item": "1#1", "accepted": True}
        headers = {"Authorization": "Bearer reader-key"}
        asked = {"from": one, "to": other}
        assert (await world.client.get("/trace", params=asked, headers=headers)).status_code == 200
        answer = await world.client.post("/trace/decisions", json={**asked, **pair}, headers=headers)
        assert answer.status_code == 403
        assert service.decisions("trace", one, other).links() == {}


async def test_where_nothing_is_traced_that_is_reported(shelf: Shelf) -> None:
    async with make_world(service=shelf.open()) as world:
        old, new = await two(world)
        answer = await world.client.get("/trace", params={"from": old, "to": new})
        assert (answer.status_code, answer.json()["detail"]) == (404, "This service has no trace.")


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

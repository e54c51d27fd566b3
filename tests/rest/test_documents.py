"""The REST service over its documents: taking in, searching, listing, reading, removing."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.errors import ConnectionFailedError, NotFoundError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.query import And, Equals, Hit, In, Prefix, SearchMode
from knowledge_mcp.transports.rest.answers import passage, result
from tests.rest.world import DEPLOYING, World, events, make_world

pytestmark = pytest.mark.anyio

PAGE = "https://docs.example.com/guide.md"
INGESTED = {
    "status", "doc_id", "chunks", "collection", "title", "source", "pages", "unchanged", "replaced", "embedded",
    "reused", "warnings",
}  # fmt: skip


async def settled(world: World, job_id: str) -> dict[str, Any]:
    """Ask for a job until it is settled."""
    while True:
        job: dict[str, Any] = (await world.client.get(f"/jobs/{job_id}")).json()
        if job["state"] not in {"queued", "running"}:
            return job


@pytest.mark.requirement("D-REQ-11.1")
@pytest.mark.requirement("D-REQ-4.1")
async def test_a_text_is_taken_into_the_collection_that_it_names() -> None:
    async with make_world() as world:
        done = await world.bring(filename="deploy.md", collection="ops", author="Ada", reviewed=True, revision=3)
        assert set(done) == INGESTED
        assert (done["status"], done["chunks"], done["collection"], done["pages"]) == ("ingested", 2, "ops", 2)
        assert (done["title"], done["source"], done["unchanged"]) == ("Deploying", "deploy.md", False)
        (deposit,) = world.library.deposits
        assert (deposit.collection, deposit.filename, deposit.text) == ("ops", "deploy.md", DEPLOYING)
        assert dict(deposit.metadata) == {"author": "Ada", "reviewed": "true", "revision": "3"}
        again = await world.bring(filename="deploy.md", collection="ops")
        assert again["unchanged"]
        assert again["doc_id"] == done["doc_id"]
        changed = await world.bring("Something else.", filename="deploy.md", collection="ops")
        assert changed["replaced"]
        assert changed["doc_id"] == done["doc_id"]


@pytest.mark.requirement("D-REQ-4.4")
async def test_a_text_that_names_no_collection_goes_to_default() -> None:
    async with make_world() as world:
        assert (await world.bring())["collection"] == "default"
        answer = await world.client.post("/ingest", json={"text": "Only a text."})
        assert answer.json()["collection"] == "default"
        assert [deposit.filename for deposit in world.library.deposits] == ["", ""]


@pytest.mark.requirement("D-REQ-11.2")
@pytest.mark.requirement("D-REQ-2.3")
@pytest.mark.requirement("D-REQ-2.4")
async def test_an_address_is_fetched_and_taken_in_or_the_answer_says_why_not() -> None:
    gone = "https://docs.example.com/gone"
    down = "https://docs.example.com/down"
    web = {PAGE: DEPLOYING, down: ConnectionFailedError("docs.example.com does not answer.")}
    async with make_world(web=web) as world:
        request = {"url": PAGE, "collection": "web", "metadata": {"team": "ops", "filename": "renamed.md"}}
        done = (await world.client.post("/ingest_url", json=request)).json()
        assert (done["status"], done["chunks"], done["collection"]) == ("ingested", 2, "web")
        deposit = world.library.deposits[0]
        assert (deposit.url, deposit.filename, deposit.metadata) == (PAGE, "renamed.md", (("team", "ops"),))
        for url, status, words in ((gone, 404, "answers 404"), (down, 503, "does not answer")):
            answer = await world.client.post("/ingest_url", json={"url": url})
            assert answer.status_code == status
            assert words in answer.json()["detail"]
        for url in ("http://docs.example.com", "file:///etc/passwd", "https://", "https://a b"):
            assert (await world.client.post("/ingest_url", json={"url": url})).status_code == 422


async def test_a_file_is_taken_in_with_its_name_its_type_and_its_metadata() -> None:
    async with make_world() as world:
        fields = {"collection": "files", "metadata": json.dumps({"author": "Ada", "pages": 3}), "force": "true"}
        files = {"file": ("../notes/Überblick.md", DEPLOYING.encode(), "text/html")}
        answer = await world.client.post("/ingest_file", files=files, data=fields)
        assert answer.status_code == 200, answer.text
        assert answer.json()["chunks"] == 2
        plain = {"file": ("README", b"Read me.", "text/plain; charset=utf-8")}
        assert (await world.client.post("/ingest_file", files=plain)).status_code == 200
        first, second = world.library.deposits
        assert (first.collection, first.filename, first.content) == ("files", "Überblick.md", DEPLOYING.encode())
        assert first.media_type is None, "the name says it better"
        assert (first.force, dict(first.metadata)) == (True, {"author": "Ada", "pages": "3"})
        assert (second.collection, second.media_type) == ("default", "text/plain")


async def test_a_large_file_is_taken_in_whole_and_its_temporary_file_goes_with_it() -> None:
    async with make_world() as world:
        content = b"A paragraph of some length. " * 100_000
        answer = await world.client.post("/ingest_file", files={"file": ("long.txt", content)})
        assert answer.status_code == 200
        assert world.library.deposits[0].content == content


@pytest.mark.parametrize(
    ("files", "data", "message"),
    [
        ({}, {"file": "no file"}, "a file is required"),
        ({"file": ("a.md", b"x")}, {"collection": "no good"}, "collection"),
        ({"file": ("a.md", b"x")}, {"wait": "perhaps"}, "wait"),
        ({"file": ("a.md", b"x")}, {"colour": "red"}, "colour"),
        ({"file": ("a.md", b"x")}, {"metadata": "{"}, "metadata"),
        ({"file": ("a.md", b"x")}, {"metadata": "[1]"}, "metadata"),
        ({"file": ("a.md", b"x")}, {"metadata": '{"a": {"b": 1}}'}, "metadata"),
        ({"file": ("a.md", b"x")}, {"metadata": '{"a": 1, "a": 2}'}, "twice"),
        ({"file": ("a.md", b"x")}, {"collection": ["a", "b"]}, "occurs twice"),
        ({"other": ("a.md", b"x")}, {}, "a file is required"),
    ],
)
async def test_a_form_that_is_wrong_is_refused_by_the_name_of_its_field(
    files: dict[str, Any], data: dict[str, Any], message: str
) -> None:
    async with make_world() as world:
        parts = files or {"unused": (None, "x")}
        answer = await world.client.post("/ingest_file", files=parts, data=data)
        assert answer.status_code == 422
        assert message in answer.json()["detail"]
        assert world.library.deposits == []


async def test_a_form_that_cannot_be_read_is_refused() -> None:
    async with make_world() as world:
        two = [("file", ("a.md", b"x")), ("file", ("b.md", b"y"))]
        assert (await world.client.post("/ingest_file", files=two)).status_code == 400
        for content_type, body, status in (
            ("multipart/form-data", b"x", 400),
            ("multipart/form-data; boundary=b", b"--x--", 400),
            ("application/x-www-form-urlencoded", b"file=x", 415),
            ("application/json", b"{}", 415),
        ):
            answer = await world.client.post("/ingest_file", content=body, headers={"Content-Type": content_type})
            assert answer.status_code == status, (content_type, answer.text)


async def test_a_form_that_breaks_off_is_refused_with_all_that_came_of_it() -> None:
    part = "--b\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n"
    form = part.format('"file"; filename="a.md"', "x") + part.format('"collection"', "alpha") + "--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    async with make_world() as world:
        for left in (3, 6, 20, 90):  # without the whole end, the collection would be taken as not given
            answer = await world.client.post("/ingest_file", content=form[:-left].encode(), headers=headers)
            assert (answer.status_code, "is incomplete" in answer.json()["detail"]) == (400, True)
        assert world.library.deposits == []
        assert (await world.client.post("/ingest_file", content=form.encode(), headers=headers)).status_code == 200
        assert world.library.deposits[0].collection == "alpha"


async def test_a_document_that_cannot_be_read_is_reported_with_its_reason() -> None:
    async with make_world() as world:
        answer = await world.client.post("/ingest_file", files={"file": ("a.md", b"\xff\xfe")})
        assert answer.status_code == 422
        assert (answer.json()["reason"], answer.json()["source"]) == ("corrupted", "a.md")
    unknown = UnreadableDocumentError("No.", reason=UnreadableReason.UNSUPPORTED, source="x")
    async with make_world(web={PAGE: unknown}) as world:
        assert (await world.client.post("/ingest_url", json={"url": PAGE})).status_code == 415


async def test_jobs_are_listed_in_parts_and_counted_whole() -> None:
    async with make_world() as world:
        body = {"text": DEPLOYING, "metadata": {"filename": "a.md"}, "wait": False}
        asked = [(await world.client.post("/ingest", json=body)).json()["job_id"] for _ in range(5)]
        first = (await world.client.get("/jobs", params={"limit": 2})).json()
        rest = (await world.client.get("/jobs", params={"limit": 1000, "offset": 2})).json()
        assert (first["total"], rest["total"]) == (5, 5)
        assert [job["job_id"] for job in (*first["jobs"], *rest["jobs"])] == asked[::-1]
        assert (await world.client.get("/jobs", params={"limit": 0})).status_code == 422


async def test_an_ingestion_that_nobody_waits_for_is_a_job_to_ask_after(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    go = threading.Event()

    def before(method: str) -> None:
        if method == "work":
            assert go.wait(30)

    async with make_world(before=before, web={PAGE: NotFoundError("The page is gone.")}) as world:
        request = {"text": DEPLOYING, "metadata": {"filename": "deploy.md"}, "wait": False}
        accepted = await world.client.post("/ingest", json=request)
        assert accepted.status_code == 202
        assert set(accepted.json()) == {"status", "job_id"}
        job_id = accepted.json()["job_id"]
        job = (await world.client.get(f"/jobs/{job_id}")).json()
        assert job["state"] in {"queued", "running"}
        assert job["source"] == "deploy.md"
        assert "result" not in job
        other = (await world.client.post("/ingest_url", json={"url": PAGE, "wait": False})).json()["job_id"]
        third = (await world.client.post("/ingest", json=request)).json()["job_id"]
        stopped = await world.client.delete(f"/jobs/{third}")
        assert stopped.json()["state"] == "cancelled"
        go.set()
        done = await settled(world, job_id)
        assert done["state"] == "done"
        assert set(done["result"]) == INGESTED
        assert (await world.client.delete(f"/jobs/{job_id}")).json()["state"] == "done"
        assert [each["job_id"] for each in events(caplog, "job_cancelled")] == [third], "not what had ended"
        failed = await settled(world, other)
        assert (failed["state"], failed["error"]["detail"]) == ("failed", "The page is gone.")
        assert (await world.client.get("/jobs/0000000000000000")).status_code == 404
        assert (await world.client.get("/jobs/..%2Fx")).status_code == 404


@pytest.mark.requirement("D-REQ-11.3")
@pytest.mark.requirement("D-REQ-3.3")
@pytest.mark.requirement("D-REQ-4.3")
async def test_a_search_finds_passages_of_its_collection_with_where_they_stand() -> None:
    async with make_world() as world:
        done = await world.bring(filename="deploy.md", collection="ops", author="Ada")
        await world.bring("Roll back the carpet.", filename="carpet.md", collection="home")
        asked = {"query": "roll back", "collection": "ops"}
        answer = (await world.client.post("/search", json=asked)).json()
        assert (answer["query"], answer["collection"], answer["mode"]) == ("roll back", "ops", "hybrid")
        assert answer["total"] == len(answer["results"]) == 2
        first = answer["results"][0]
        assert (first["text"], first["score"]) == ("Roll back when a probe fails.", 1.0)
        about = first["metadata"]
        assert (about["source"], about["filename"], about["page"], about["pages"]) == ("deploy.md", "deploy.md", 2, [2])
        assert (about["doc_id"], about["chunk_index"], about["collection"]) == (done["doc_id"], 1, "ops")
        assert (about["title"], about["section"], about["clause_number"]) == ("Deploying", "Going back", "1.1")
        assert about["document_metadata"] == {"author": "Ada", "filename": "deploy.md"}
        assert about["citation"] == "Deploying, 1.1 Going back, p. 2"
        assert answer["results"][1]["metadata"]["page"] is None
        assert {"below_min_score", "degraded"} & set(answer) == set()


async def test_a_passage_says_what_it_was_cut_off_from_where_it_was() -> None:
    async with make_world() as world:
        done = await world.bring(collection="ops")
        whole, cut = world.library.find(done["doc_id"]).chunks
        cut = replace(cut, context="Deploying > Going back\nTable 3\n| Case | Flow (kg/h) |")
        for chunk, answer in ((whole, None), (cut, "Table 3\n| Case | Flow (kg/h) |")):
            assert passage(chunk, "ops", None).metadata.cut_from == answer
            assert result(Hit(chunk, 0.5, "x"), "ops", None).metadata.cut_from == answer
        assert "cut_from" not in passage(whole, "ops", None).model_dump(exclude_unset=True)["metadata"]


@pytest.mark.requirement("D-REQ-3.5")
async def test_a_search_that_finds_nothing_is_an_empty_list() -> None:
    async with make_world() as world:
        answer = await world.client.post("/search", json={"query": "anything"})
        assert answer.status_code == 200
        assert (answer.json()["results"], answer.json()["total"]) == ([], 0)
        assert answer.json()["note"] == "default contains no documents."
        unknown = await world.client.post("/search", json={"query": "anything", "collection": "nowhere"})
        assert unknown.status_code == 404


async def test_a_search_that_could_not_look_everywhere_does_not_say_that_there_is_nothing() -> None:
    async with make_world(degraded=("ops could not be searched.",)) as world:
        answer = (await world.client.post("/search", json={"query": "anything", "everywhere": True})).json()
        assert (answer["results"], answer["degraded"], "note" in answer) == ([], ["ops could not be searched."], False)


@pytest.mark.requirement("D-REQ-3.4")
async def test_a_search_gives_five_results_unless_told_and_never_more_than_fifty() -> None:
    async with make_world() as world:
        await world.bring("\n\n".join(f"Paragraph {number} on rollouts." for number in range(80)))
        for asked, count in (({}, 5), ({"top_k": 1}, 1), ({"top_k": 50}, 50)):
            answer = (await world.client.post("/search", json={"query": "rollouts", **asked})).json()
            assert len(answer["results"]) == count
        for wrong in (0, 51, -1, 10**30, "5", 5.5, True, None):
            answer = await world.client.post("/search", json={"query": "rollouts", "top_k": wrong})
            assert answer.status_code == 422
            assert answer.json()["detail"].startswith("top_k: ")


async def test_a_search_passes_on_its_mode_weight_and_filters() -> None:
    async with make_world(degraded=("The keyword leg failed.",)) as world:
        await world.bring()
        filters = {
            "document_id": ["a", "b"], "document_type": "report", "chunk_type": "table", "normative": True,
            "clause_number": "5.3",
        }  # fmt: skip
        asked = {"query": "roll out", "mode": "semantic", "weight": 0, "filters": filters, "top_k": 7}
        assert (await world.client.post("/search", json=asked)).json()["degraded"] == ["The keyword leg failed."]
        await world.client.post("/search", json={"query": "x", "filters": {"document_id": "a"}})
        await world.client.post("/search", json={"query": "x", "filters": {}})
        (_, query), (_, single), (_, none) = world.library.queries
        assert (query.text, query.limit, query.mode, query.weight) == ("roll out", 7, SearchMode.SEMANTIC, 0)
        assert query.filter == And(
            (
                Equals("document_type", "report"),
                Equals("chunk_type", ChunkType.TABLE),
                Equals("normative", value=True),
                In("document_id", ("a", "b")),
                Prefix("clause_number", "5.3"),
            )
        )
        assert single.filter == Equals("document_id", "a")
        assert none.filter is None


async def test_results_below_the_score_asked_for_are_left_out_and_counted() -> None:
    async with make_world() as world:
        await world.bring()
        answer = (await world.client.post("/search", json={"query": "roll back", "min_score": 0.9})).json()
        assert (answer["total"], answer["below_min_score"]) == (1, 1)


@pytest.mark.requirement("D-REQ-11.4")
@pytest.mark.requirement("D-REQ-4.2")
async def test_collections_are_listed_with_their_numbers_of_documents() -> None:
    async with make_world() as world:
        await world.bring(filename="a.md", collection="ops")
        await world.bring(filename="b.md", collection="ops")
        answer = (await world.client.get("/collections")).json()
        assert answer["total"] == 2
        assert [(each["name"], each["doc_count"]) for each in answer["collections"]] == [("default", 0), ("ops", 2)]
        assert answer["collections"][1]["chunk_count"] == 4
        page = (await world.client.get("/collections", params={"limit": 1, "offset": 1})).json()
        assert ([each["name"] for each in page["collections"]], page["total"]) == (["ops"], 2)
        gone = await world.client.delete("/collections/ops")
        assert gone.json() == {"status": "deleted", "collection": "ops", "documents": 2}
        assert (await world.client.delete("/collections/ops")).status_code == 404


async def test_documents_are_listed_by_title_in_pages_and_by_a_part_of_their_name() -> None:
    async with make_world() as world:
        for title in ("beta", "Alpha", "gamma"):
            await world.bring(f"On {title}.", filename=f"{title}.md", collection="ops", title=title)
        listed = (await world.client.get("/documents", params={"collection": "ops"})).json()
        assert [each["title"] for each in listed["documents"]] == ["Alpha", "beta", "gamma"]
        page = await world.client.get("/documents", params={"collection": "ops", "limit": 1, "offset": 2})
        assert ([each["title"] for each in page.json()["documents"]], page.json()["total"]) == (["gamma"], 3)
        some = await world.client.get("/documents", params={"collection": "ops", "name_contains": "ALPHA.MD"})
        (found,) = some.json()["documents"]
        assert (found["filename"], found["chunks"], found["status"], found["collection"]) == (
            "Alpha.md", 1, "ready", "ops",
        )  # fmt: skip
        assert (await world.client.get("/documents", params={"collection": "nowhere"})).status_code == 404
        for wrong in ({"limit": 0}, {"limit": "many"}, {"offset": -1}, {"offset": 10**30}, {"page": 1}):
            assert (await world.client.get("/documents", params=wrong)).status_code == 422


@pytest.mark.requirement("D-REQ-11.5")
@pytest.mark.requirement("D-REQ-5.2")
async def test_a_document_comes_whole_with_its_passages_in_order() -> None:
    async with make_world() as world:
        done = await world.bring(filename="deploy.md", collection="ops", author="Ada")
        whole = (await world.client.get(f"/documents/{done['doc_id']}", params={"text": "true"})).json()
        assert [each["text"] for each in whole["chunks"]] == [
            "Roll out one replica at a time.",
            "Roll back when a probe fails.",
        ]
        assert (whole["source"], whole["filename"], whole["collection"]) == ("deploy.md", "deploy.md", "ops")
        assert (whole["metadata"]["author"], whole["chunk_count"], whole["pages"]) == ("Ada", 2, 2)
        for each in whole["chunks"]:
            start, end = each["metadata"]["span"]
            assert whole["text"][start:end] == each["text"]
            assert "citation" not in each["metadata"]
        part = (await world.client.get(f"/documents/{done['doc_id']}", params={"limit": 1, "offset": 1})).json()
        assert [each["metadata"]["chunk_index"] for each in part["chunks"]] == [1]
        assert part["chunk_count"] == 2
        assert "text" not in part
        gone = await world.client.delete(f"/documents/{done['doc_id']}")
        assert gone.json() == {"status": "deleted", "doc_id": done["doc_id"], "chunks": 2}
        assert (await world.client.get(f"/documents/{done['doc_id']}")).status_code == 404


@pytest.mark.requirement("D-REQ-5.3")
@pytest.mark.parametrize("document_id", ["abc123", "0" * 16, "%00", "a%20b", "é", "x" * 300, "..%5Cx"])
async def test_an_unknown_id_is_a_document_not_found(document_id: str) -> None:
    async with make_world() as world:
        for method in ("GET", "DELETE"):
            answer = await world.client.request(method, f"/documents/{document_id}")
            assert answer.status_code == 404
            assert answer.json()["error"] == "not_found"

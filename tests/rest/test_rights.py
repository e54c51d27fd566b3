"""Who may do what: no key, a wrong one, and keys that are limited to some collections."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from knowledge_mcp.model.rights import Rights
from knowledge_mcp.transports.rest.engine import restrict_engine
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from tests.rest.world import DEPLOYING, KEY, World, events, keys_file, make_world

pytestmark = pytest.mark.anyio

ROUTES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/ingest", {"json": {"text": "x"}}),
    ("POST", "/ingest_url", {"json": {"url": "https://a.example"}}),
    ("POST", "/ingest_file", {"files": {"file": ("a.md", b"x")}}),
    ("POST", "/search", {"json": {"query": "x"}}),
    ("GET", "/collections", {}),
    ("DELETE", "/collections/ops", {}),
    ("GET", "/documents", {}),
    ("GET", "/documents/0123456789abcdef", {}),
    ("DELETE", "/documents/0123456789abcdef", {}),
    ("GET", "/jobs/0123456789abcdef", {}),
    ("DELETE", "/jobs/0123456789abcdef", {}),
    ("GET", "/jobs", {}),
    ("GET", "/documents/0123456789abcdef/outline", {}),
    ("GET", "/documents/0123456789abcdef/pages/1", {}),
    ("GET", "/changes", {}),
    ("GET", "/impact", {}),
    ("GET", "/trace", {}),
    ("POST", "/trace/decisions", {"json": {}}),
    ("GET", "/check", {}),
    ("GET", "/conflicts", {}),
    ("POST", "/check/marks", {"json": {}}),
    ("GET", "/metrics", {}),
    ("GET", "/openapi.json", {}),
    ("POST", "/engine/standards/search", {"json": {}}),
    ("POST", "/mcp", {"json": {}}),
    ("GET", "/nowhere", {}),
    ("POST", "/health", {}),
    ("OPTIONS", "/search", {}),
]
OPEN = ["/health", "/ready", "/", "/console/console.js"]
LIMITED = {
    "keys": [
        {"name": "ci", "key": "ci-key", "read": ["docs", "project-*"], "write": ["project-*"]},
        {"name": "writer", "key": "writer-key", "read": [], "write": ["docs"]},
    ]
}


@pytest.mark.requirement("D-REQ-6.1")
@pytest.mark.requirement("D-REQ-11.7")
@pytest.mark.requirement("D-REQ-11.8")
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic dXNlcjpw", KEY])
async def test_without_a_key_every_route_but_the_open_ones_answers_401(header: str | None) -> None:
    async with make_world(key=None) as world:
        headers = {"Authorization": header} if header is not None else {}
        for method, path, more in ROUTES:
            answer = await world.client.request(method, path, headers=headers, **more)
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert answer.json()["error"] == "unauthorized"
        for path in OPEN:
            assert (await world.client.get(path, headers=headers)).status_code == 200
            assert (await world.client.head(path, headers=headers)).status_code == 200
        assert world.library.deposits == []


@pytest.mark.requirement("D-REQ-6.2")
@pytest.mark.requirement("D-REQ-11.8")
@pytest.mark.parametrize("header", ["Bearer wrong", f"Bearer {KEY}x", f"Bearer {KEY.upper()}", "Bearer schl\xfcssel"])
async def test_with_a_wrong_key_every_route_but_the_open_ones_answers_403(header: str) -> None:
    async with make_world(key=None) as world:
        headers = {"Authorization": header.encode("latin-1")}
        for method, path, more in ROUTES:
            answer = await world.client.request(method, path, headers=headers, **more)  # pyright: ignore[reportArgumentType] - httpx takes bytes as values, too
            assert (answer.status_code, answer.json()["error"]) == (403, "forbidden"), (method, path)


@pytest.mark.requirement("D-REQ-6.3")
@pytest.mark.parametrize("header", [f"Bearer {KEY}", f"bearer {KEY}", f"Bearer  {KEY} "])
async def test_with_the_right_key_a_request_is_served(header: str) -> None:
    async with make_world(key=None) as world:
        answer = await world.client.get("/collections", headers={"Authorization": header})
        assert answer.status_code == 200


async def test_two_keys_at_once_are_refused() -> None:
    async with make_world(key=None) as world:
        headers = [("Authorization", f"Bearer {KEY}"), ("Authorization", f"Bearer {KEY}")]
        assert (await world.client.get("/collections", headers=headers)).status_code == 403


@pytest.mark.requirement("D-REQ-6.6")
async def test_where_no_key_is_configured_everybody_is_served() -> None:
    async with make_world(keys=KeyRing(), key=None) as world:
        assert (await world.bring())["status"] == "ingested"
        assert (await world.client.get("/collections", headers={"Authorization": "Bearer any"})).status_code == 200


async def filled(world: World) -> dict[str, str]:
    """Fill three collections by a key that may; returns the document's id by collection."""
    owner = {"Authorization": f"Bearer {KEY}"}
    ids: dict[str, str] = {}
    for name in ("docs", "project-a", "secret"):
        body = {"text": DEPLOYING, "metadata": {"collection": name, "filename": "deploy.md"}}
        ids[name] = (await world.client.post("/ingest", json=body, headers=owner)).json()["doc_id"]
    return ids


async def test_a_key_reads_and_writes_only_what_its_patterns_name(tmp_path: Path) -> None:
    ring = KeyRing(KEY, keys_file(tmp_path, json.dumps(LIMITED)))
    async with make_world(keys=ring, key="ci-key") as world:
        ids = await filled(world)
        client = world.client
        readable, writable = {"docs", "project-a"}, {"project-a"}
        listed = (await client.get("/collections")).json()
        assert {each["name"] for each in listed["collections"]} == readable
        assert listed["total"] == 2
        for name, ident in ids.items():
            reads = 200 if name in readable else 404
            writes = 200 if name in writable else 403
            removes = writes if name in readable else 404
            asked = {"query": "roll", "collection": name}
            assert (await client.post("/search", json=asked)).status_code == reads
            assert (await client.get("/documents", params={"collection": name})).status_code == reads
            assert (await client.get(f"/documents/{ident}")).status_code == reads
            text = {"text": "x", "metadata": {"collection": name}}
            assert (await client.post("/ingest", json=text)).status_code == writes
            files = {"file": ("a.md", b"x")}
            assert (await client.post("/ingest_file", files=files, data={"collection": name})).status_code == writes
            url = {"url": "https://a.example/x", "collection": name}
            assert (await client.post("/ingest_url", json=url)).status_code == (404 if writes == 200 else 403)
            assert (await client.delete(f"/documents/{ident}")).status_code == removes
            assert (await client.delete(f"/collections/{name}")).status_code == removes


NAMED: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/ingest", {"json": {"text": "x", "metadata": {"collection": "<name>"}}}),
    ("POST", "/ingest_url", {"json": {"url": "https://a.example", "collection": "<name>"}}),
    ("POST", "/ingest_file", {"files": {"file": ("a.md", b"x")}, "data": {"collection": "<name>"}}),
    ("POST", "/search", {"json": {"query": "roll", "collection": "<name>"}}),
    ("GET", "/collections", {}),
    ("DELETE", "/collections/<name>", {}),
    ("GET", "/documents", {"params": {"collection": "<name>"}}),
    ("GET", "/documents/<document>", {}),
    ("DELETE", "/documents/<document>", {}),
    ("GET", "/jobs/<job>", {}),
    ("DELETE", "/jobs/<job>", {}),
    ("GET", "/jobs", {}),
    ("POST", "/search", {"json": {"query": "roll", "everywhere": True}}),
    ("GET", "/documents/<document>/outline", {}),
    ("GET", "/documents/<document>/pages/1", {}),
    ("GET", "/documents/<document>/pages/1", {"params": {"passage": "0"}}),
    ("GET", "/changes", {"params": {"old": "<document>", "new": "<document>"}}),
    ("GET", "/changes", {"params": {"old": "<readable>", "new": "<document>"}}),
    ("GET", "/changes", {"params": {"old": "<document>", "new": "<readable>", "kinds": "force"}}),
    ("GET", "/changes", {"params": {"old": "<readable>", "new": "<document>", "kinds": "colour"}}),
    ("GET", "/impact", {"params": {"old": "<readable>", "new": "<document>"}}),
    ("GET", "/trace", {"params": {"from": "<document>", "to": "<document>"}}),
    (
        "POST",
        "/trace/decisions",
        {"json": {"from": "<document>", "to": "<document>", "source_item": "1", "target_item": "2", "accepted": True}},
    ),
    ("GET", "/check", {"params": {"document": "<document>", "standard": "<document>"}}),
    ("GET", "/conflicts", {"params": {"document": "<document>"}}),
    ("GET", "/conflicts", {"params": {"collection": "<collection>"}}),
    (
        "POST",
        "/check/marks",
        {"json": {"document": "<document>", "standard": "<document>", "row": "1", "requirement": "x", "mark": ""}},
    ),
]
"""Every route that takes the name of a collection, a document or a job, or lists them."""
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rest.md").read_text(encoding="utf-8")
NOT_NAMED = {"/health", "/ready", "/metrics", "/openapi.json"}
ABSENT = {"<name>": "secreu", "<document>": "0123456789abcdee", "<job>": "fedcba9876543210"}


def put(value: Any, names: dict[str, str]) -> Any:
    """Fill the places in a request."""
    if isinstance(value, str):
        for place, name in names.items():
            value = value.replace(place, name)
        return value
    return {key: put(each, names) for key, each in value.items()} if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType]


def seen_of(answer: Any, names: dict[str, str]) -> tuple[int, str, dict[str, str]]:
    """Tell all that a client sees of an answer, with the names it asked for taken out."""
    text, headers = answer.text.replace(answer.headers["x-request-id"], "<id>"), dict(answer.headers)
    for place, name in names.items():
        text = text.replace(name, place)
    for varies in ("x-request-id", "content-length"):
        del headers[varies]
    return answer.status_code, text, headers


@pytest.mark.parametrize("key", ["ci-key", "writer-key"])
async def test_what_a_key_may_not_read_is_answered_like_what_is_not_there(tmp_path: Path, key: str) -> None:
    ring = KeyRing(KEY, keys_file(tmp_path, json.dumps(LIMITED)))
    steps: list[str] = []
    async with make_world(keys=ring, before=steps.append) as world:
        published = (await world.client.get("/openapi.json")).json()["paths"]
        known = {path.split("<")[0] for _, path, _ in NAMED}
        assert {path.split("{")[0] for path in published} - NOT_NAMED == known, "ask it in NAMED, or say NOT_NAMED"
        assert [path for path in published if f" {path}`" not in PAGE] == [], "say in docs/rest.md what it does"
        ids = await filled(world)
        body = {"text": "y", "metadata": {"collection": "secret"}, "wait": False}
        job = (await world.client.post("/ingest", json=body)).json()["job_id"]
        foreign = {"<name>": "secret", "<document>": ids["secret"], "<job>": job}
        readable = {"<readable>": ids["docs"]}
        headers = {"Authorization": f"Bearer {key}"}
        for method, path, more in NAMED:
            seen: list[Any] = []
            for names in (foreign, ABSENT):
                del steps[:]
                answer = await world.client.request(
                    method, put(path, names), headers=headers, **put(more, names | readable)
                )
                seen.append((seen_of(answer, names), [step for step in steps if step != "work"]))
            assert seen[0] == seen[1], (method, path)
            assert "secret" not in seen[1][0][1], (method, path)


@pytest.mark.parametrize(
    ("read", "write", "shown"),
    [
        (["docs"], [], False), (["docs"], ["docs"], False), ([], ["docs"], False), ([], ["*"], False),
        (["d*", "?*"], ["*"], False), (["*"], ["docs"], False), (["*"], [], False), (["*"], ["*"], True),
        ([], [], True),
    ],
)  # fmt: skip
async def test_figures_of_all_collections_are_for_administrators_and_for_a_key_that_touches_none_as_prometheus_does(
    tmp_path: Path, read: list[str], write: list[str], shown: bool
) -> None:
    content = {"keys": [{"name": "k", "key": "k-key", "read": read, "write": write}]}
    async with make_world(keys=KeyRing(KEY, keys_file(tmp_path, json.dumps(content))), key="k-key") as world:
        before = await world.client.get("/metrics")
        await filled(world)
        answer = await world.client.get("/metrics")
        assert answer.status_code == (200 if shown else 403)
        assert ("rag_api_ingests_total" in answer.text) == shown
        if not shown:
            assert seen_of(answer, {}) == seen_of(before, {})


@pytest.mark.parametrize("wait", [True, False])
async def test_a_key_that_may_only_write_is_not_told_what_was_there_before(tmp_path: Path, *, wait: bool) -> None:
    ring = KeyRing(KEY, keys_file(tmp_path, json.dumps(LIMITED)))
    blind = {"Authorization": "Bearer writer-key"}
    async with make_world(keys=ring, key=None) as world:
        owner = {"Authorization": f"Bearer {KEY}"}
        place = {"collection": "docs", "filename": "gate.md"}
        body: dict[str, Any] = {"text": "The gate opens at six.", "metadata": place}
        seen_of: list[dict[str, Any]] = []
        for text in ("The gate opens at six.", "The gate opens at seven."):
            answer = await world.client.post("/ingest", json=body, headers=owner)
            assert answer.status_code == 200
            answer = await world.client.post("/ingest", json={**body, "text": text, "wait": wait}, headers=blind)
            found = answer.json()
            while "job_id" in found and "result" not in found:
                found = (await world.client.get(f"/jobs/{found['job_id']}", headers=blind)).json()
            seen_of.append(found.get("result", found))
        for each in seen_of:
            assert (each["unchanged"], each["replaced"], each["reused"]) == (False, False, 0)
            assert each["embedded"] == each["chunks"]


async def test_a_job_is_shown_to_readers_and_writers_and_stopped_by_writers_of_its_collection(tmp_path: Path) -> None:
    ring = KeyRing(KEY, keys_file(tmp_path, json.dumps(LIMITED)))
    async with make_world(keys=ring) as world:
        expected = {
            ("docs", "ci-key"): (200, 403), ("docs", "writer-key"): (200, 200),
            ("secret", "ci-key"): (404, 404), ("secret", "writer-key"): (404, 404),
        }  # fmt: skip
        for (name, key), (shown, stopped) in expected.items():
            body = {"text": "x", "metadata": {"collection": name}, "wait": False}
            job = (await world.client.post("/ingest", json=body)).json()["job_id"]
            headers = {"Authorization": f"Bearer {key}"}
            assert (await world.client.get(f"/jobs/{job}", headers=headers)).status_code == shown
            assert (await world.client.delete(f"/jobs/{job}", headers=headers)).status_code == stopped


@pytest.mark.requirement("D-REQ-9.4")
async def test_a_refused_key_is_logged_with_address_method_and_path_but_never_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with make_world(key=None) as world:
        await world.client.post("/search", json={"query": "x"}, headers={"Authorization": "Bearer guessed-secret"})
        await world.client.get("/collections")
        wrong, missing = events(caplog, "authentication_failed")
        assert (wrong["reason"], wrong["client"], wrong["method"], wrong["path"]) == (
            "wrong", "192.0.2.7", "POST", "/search",
        )  # fmt: skip
        assert missing["reason"] == "missing"
        assert "guessed-secret" not in caplog.text + repr([vars(record) for record in caplog.records])
        figures = (await world.client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})).text
        assert 'rag_api_authentication_failures_total{reason="wrong"} 1.0' in figures


@pytest.mark.parametrize(
    ("read", "code"),
    [(["engine:standards"], False), (["engine:*"], True), (["engine:standards", "repo_pumps"], True)],
)
async def test_an_engine_shows_the_code_of_no_repository_that_its_key_may_not_read(
    read: list[str], *, code: bool
) -> None:
    shown: list[Rights] = []
    service = SimpleNamespace(collection="kb", seen_by=shown.append)
    restrict_engine(Key("limited", tuple(read), (), ()), service)
    (rights,) = shown
    assert [rights.may_read(name) for name in ("kb", "repo_pumps", "docs")] == [True, code, False]

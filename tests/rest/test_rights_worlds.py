"""Random worlds: with a limited key, a service with forbidden things looks like one without them."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.library.service import LibraryService
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.rights import ALLOWED, admits
from knowledge_mcp.ranking.linking import EvidenceFinder, Linker, embed_as_matrix
from knowledge_mcp.surfaces.contract import load_surfaces
from knowledge_mcp.surfaces.viewing import run_review
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.transports.mcp.tools import ToolRunner
from knowledge_mcp.transports.rest.app import build_rest_app, run_app
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider, KnowledgeProviders
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended
from tests.machine import examples
from tests.rest.world import Options, keys_file

TEXTS = (PUMPS, VALVES, "# Fires\n\nA valve of the sprinkler stays open.\n")
COLLECTIONS = ("docs", "docs-2", "secret", "secreu", "project-a", "project-b", "default")
PATTERNS = ("docs", "docs*", "project-?", "secre[tu]", "s*", "*-a", "default", "engine:*")
GROUPS = ("legal", "board", "*")
FILES = ("a.md", "b.md", "c.md")
NEW = "new.md"
"""A file that no world holds from the start."""
NOWHERE = ("0123456789abcdee", "fedcba9876543210")
"""A document and a job that are in no world."""
ROUTES = (
    "POST /ingest", "POST /ingest_url", "POST /ingest_file", "POST /search", "GET /collections",
    "DELETE /collections/{name}", "GET /documents", "GET /documents/{doc_id}", "DELETE /documents/{doc_id}",
    "GET /jobs/{job_id}", "DELETE /jobs/{job_id}", "GET /jobs", "GET /metrics", "GET /documents/{doc_id}/outline",
    "GET /documents/{doc_id}/pages/{page}", "GET /changes", "GET /impact", "GET /trace",
    "POST /trace/decisions", "GET /check", "POST /check/marks", "GET /conflicts",
)  # fmt: skip
OPEN = ("GET /health", "GET /ready")
"""What is answered to everybody, and holds nothing of anybody's."""
(RAG,) = load_surfaces(["rag"])
TOOLS = tuple(f"rag {tool.name}" for tool in RAG.tools)

ANALYSER = EnglishAnalyser()
EMBED = embed_as_matrix(HashingEmbedder().embed_documents)

_VARIES = re.compile(r'\\?"(job_id|request_id|latency_ms|created_at|updated_at|ingested_at)\\?": ?(\\?"[^"]*"|[\d.]+)')

Place = tuple[str, str]
"""A collection and a file name in it."""
Held = tuple[str, str]
"""A text, and the groups that it is for, empty for everybody."""


@dataclass(frozen=True)
class RestCall:
    """One call: a route or tool, and what it names: a collection, places of two documents, the number of a job."""

    route: str
    collection: str
    place: Place
    other: Place
    job: int
    is_near: bool
    wait: bool


@dataclass
class Made:
    """A world: its library, a client of its service, its tools, and the ids of what it holds."""

    service: LibraryService
    client: httpx.AsyncClient
    key: Key
    runner: ToolRunner
    documents: dict[Place, str] = field(default_factory=dict[Place, str])
    jobs: dict[int, str] = field(default_factory=dict[int, str])


def _patterns(least: int, *more: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from((*PATTERNS, *more)), min_size=least, max_size=3, unique=True).map(tuple)


KEYS = st.builds(
    Key,
    st.just("limited"),
    _patterns(0, "*"),
    _patterns(1),
    st.lists(st.sampled_from(GROUPS), max_size=2, unique=True).map(tuple),
)
PLACES = st.tuples(st.sampled_from(COLLECTIONS), st.sampled_from(FILES))
ALLOWED_GROUPS = st.sampled_from(("", "", "legal", "board", "board, legal"))
HOLDINGS = st.dictionaries(PLACES, st.tuples(st.sampled_from(TEXTS), ALLOWED_GROUPS), min_size=2, max_size=7)
JOBS = st.lists(st.tuples(st.sampled_from(COLLECTIONS), ALLOWED_GROUPS), max_size=2)
ASKS = st.lists(
    st.builds(
        RestCall, st.sampled_from(ROUTES + TOOLS), st.sampled_from(COLLECTIONS), PLACES, PLACES, st.integers(0, 2),
        st.booleans(), st.booleans(),
    ),
    min_size=6,
    max_size=14,
)  # fmt: skip


@contextlib.asynccontextmanager
async def made(
    folder: Path, key: Key, holdings: dict[Place, Held], jobs: Sequence[Held], only: bool
) -> AsyncGenerator[Made]:
    """Make a world: with all that it is to hold, or only with what the key may reach."""

    def kept(collection: str, allowed: str) -> bool:
        is_reached = key.may_read(collection) or key.may_write(collection)
        return not only or (is_reached and admits(allowed, frozenset(key.groups)))

    linker = Linker(ANALYSER.document_terms, EMBED)
    finder = EvidenceFinder(ANALYSER.document_terms, EMBED)
    service = Shelf(folder).open(holds_against=partial(run_review, linker=lambda: linker, finder=lambda: finder))
    limits = {"read": key.read, "write": key.write, "groups": key.groups}
    ring = KeyRing(
        "owner-key", keys_file(folder, json.dumps({"keys": [{"name": "limited", "key": "k-key", **limits}]}))
    )
    app = build_rest_app(KnowledgeProvider(lambda: service), ring, options=Options(), version="9.9.9")
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    headers = {"Authorization": "Bearer k-key"}
    runner = ToolRunner(KnowledgeProviders(lambda _: service, ["rag"]))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
        run_app(app),
    ):
        world = Made(service, client, key, runner)
        for (collection, name), (text, allowed) in holdings.items():
            if kept(collection, allowed):
                done = service.deposit(Deposit(collection, name, text, metadata=_labels(allowed)))
                world.documents[collection, name] = done.document_id
        for number, (collection, allowed) in enumerate(jobs):
            if kept(collection, allowed):
                deposit = Deposit(collection, f"job-{number}.md", TEXTS[0], metadata=_labels(allowed))
                world.jobs[number] = ended(service, service.submit(deposit).id).id
        yield world


def _labels(allowed: str) -> tuple[tuple[str, str], ...]:
    return ((ALLOWED, allowed),) if allowed else ()


def request(ask: RestCall, world: Made, other: Made) -> tuple[str, str, dict[str, Any]]:
    """Make the request; what this world does not hold is asked for by the id that it has in the other one."""

    def named(place: Place) -> str:
        ident = world.documents.get(place) or other.documents.get(place, NOWHERE[0])
        return ident[:-1] + ("0" if ident[-1] != "0" else "1") if ask.is_near else ident

    document, second = named(ask.place), named(ask.other)
    job = world.jobs.get(ask.job) or other.jobs.get(ask.job, NOWHERE[1])
    name, wait = ask.collection, ask.wait
    text = {"text": TEXTS[ask.job], "metadata": {"collection": name, "filename": written(ask, world, other)}}
    url = {"url": "https://a.example/x", "collection": name, "wait": wait}
    question = {"query": "valve station", "collection": name}
    searches = [question, {**question, "filters": {"doc_id": document}}, {"query": "valve station", "everywhere": True}]
    upload = {"files": {"file": (NEW, TEXTS[ask.job].encode())}, "data": {"collection": name}}
    found: dict[str, dict[str, Any]] = {
        "POST /ingest": {"json": {**text, "wait": wait}}, "POST /ingest_url": {"json": url},
        "POST /ingest_file": upload, "POST /search": {"json": searches[ask.job]},
        "GET /documents": {"params": {"collection": name}},
        "GET /changes": {"params": {"old": document, "new": second}},
        "GET /impact": {"params": {"old": document, "new": second}},
        "GET /trace": {"params": {"from": document, "to": second}},
        "POST /trace/decisions": {
            "json": {"from": document, "to": second, "source_item": "1", "target_item": "1", "accepted": wait}
        },
        "GET /check": {"params": {"document": document, "standard": second}},
        "GET /conflicts": {"params": {"collection": name} if wait else {"document": [document, second]}},
        "POST /check/marks": {
            "json": {"document": document, "standard": second, "row": "1", "requirement": "It shall.", "mark": ""}
        },
        "rag search": {**question, **({"doc_id": [document]} if wait else {})},
        "rag ingest_url": {"uri": "https://a.example/x", "collection": name, "wait": wait},
        "rag list_collections": {}, "rag get_document": {"doc_id": document, "include_text": wait},
        "rag ingest_url_status": {"job_id": job}, "rag cancel_ingest_url": {"job_id": job},
    }  # fmt: skip
    method, _, path = ask.route.partition(" ")
    return method, path.format(name=name, doc_id=document, job_id=job, page=1), found.get(ask.route, {})


def written(ask: RestCall, world: Made, other: Made) -> str:
    """Name the file that is written: none that is hidden, whose name can be found to be taken by writing it."""
    place = (ask.collection, ask.place[1])
    return ask.place[1] if (place in world.documents) == (place in other.documents) else NEW


async def shown(ask: RestCall, world: Made, other: Made) -> tuple[int, str, dict[str, str]]:
    """Ask, wait for what was begun, and tell all that a client sees but ids of jobs and requests, and times."""
    method, path, more = request(ask, world, other)
    if method == "rag":
        tool = next(each for each in RAG.tools if each.name == path)
        result = await world.runner.call(RAG, tool, more, None, key=world.key)
        answer = httpx.Response(200, json=result.model_dump(mode="json"))
        response: dict[str, Any] = result.structured_content or {}
        begun = str(response.get("job_id", "")) if path == "ingest_url" else ""
    else:
        answer = await world.client.request(method, path, **more)
        begun = answer.json()["job_id"] if answer.status_code == 202 else ""
    if begun:
        await anyio.to_thread.run_sync(ended, world.service, begun)
    text = _VARIES.sub(r'"\1":0', answer.text)
    for ident in world.jobs.values():
        text = text.replace(ident, "<job>")
    for ident in other.jobs.values():
        text = text.replace(ident, "<job>")
    headers = {name: each for name, each in answer.headers.items() if name not in {"x-request-id", "content-length"}}
    return answer.status_code, text, headers


def compare_worlds(key: Key, holdings: dict[Place, Held], jobs: list[Held], asks: list[RestCall]) -> None:
    """Ask a world and the same one without what the key may not reach; an AssertionError names what differs."""

    async def compare(folder: str, other: str) -> None:
        async with (
            made(Path(folder), key, holdings, jobs, only=False) as whole,
            made(Path(other), key, holdings, jobs, only=True) as reachable,
        ):
            for ask in asks:
                assert await shown(ask, whole, reachable) == await shown(ask, reachable, whole), ask

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        anyio.run(compare, folder, other)


WORLDS = given(key=KEYS, holdings=HOLDINGS, jobs=JOBS, asks=ASKS)
"""Draws worlds, and calls of them, for `compare_worlds`."""
DRAWING = settings(
    max_examples=examples(12),
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.slow
def test_a_limited_key_cannot_tell_a_world_with_forbidden_things_from_one_without() -> None:
    DRAWING(WORLDS(compare_worlds))()


@pytest.mark.anyio
async def test_every_route_is_among_those_that_are_compared() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with made(Path(folder), Key("limited"), {}, [], only=False) as world:
            paths = (await world.client.get("/openapi.json")).json()["paths"]
    published = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert published == {*ROUTES, *OPEN}

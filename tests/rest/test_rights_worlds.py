"""Random worlds: with a limited key, a service that holds forbidden things cannot be told from one without them."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.library.desk import LibraryDesk
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.transports.rest.app import build_rest_app, living
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended
from tests.rest.world import Options, keys_file

TEXTS = (PUMPS, VALVES, "# Fires\n\nA valve of the sprinkler stays open.\n")
COLLECTIONS = ("docs", "docs-2", "secret", "secreu", "project-a", "project-b", "default")
PATTERNS = ("docs", "docs*", "project-?", "secre[tu]", "s*", "*-a", "default", "engine:*")
FILES = ("a.md", "b.md", "c.md")
NOWHERE = ("0123456789abcdee", "fedcba9876543210")
"""A document and a job that are in no world."""

_VARIES = re.compile(r'"(job_id|request_id|latency_ms|created_at|updated_at|ingested_at)": ?("[^"]*"|[\d.]+)')

Place = tuple[str, str]
"""A collection and a file name in it."""


@dataclass(frozen=True)
class Ask:
    """One call: a route, and what it names: a collection, a place of a document, the number of a job."""

    route: int
    collection: str
    place: Place
    job: int
    is_near: bool
    wait: bool


@dataclass
class Made:
    """A world: its library, a client of its service, and the ids of what it holds."""

    desk: LibraryDesk
    client: httpx.AsyncClient
    documents: dict[Place, str] = field(default_factory=dict[Place, str])
    jobs: dict[int, str] = field(default_factory=dict[int, str])


KEYS = st.builds(
    Key,
    st.just("limited"),
    st.lists(st.sampled_from(PATTERNS), max_size=3, unique=True).map(tuple),
    st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=3, unique=True).map(tuple),
)
PLACES = st.tuples(st.sampled_from(COLLECTIONS), st.sampled_from(FILES))
HOLDINGS = st.dictionaries(PLACES, st.sampled_from(TEXTS), min_size=2, max_size=7)
JOBS = st.lists(st.sampled_from(COLLECTIONS), max_size=2)
ASKS = st.lists(
    st.builds(
        Ask, st.integers(0, 17), st.sampled_from(COLLECTIONS), PLACES, st.integers(0, 2), st.booleans(), st.booleans()
    ),
    min_size=6,
    max_size=14,
)


@contextlib.asynccontextmanager
async def made(
    folder: Path, key: Key, holdings: dict[Place, str], jobs: Sequence[str], only: bool
) -> AsyncGenerator[Made]:
    """Make a world: with all that it is to hold, or only with what the key may reach."""

    def kept(collection: str) -> bool:
        return not only or key.may_read(collection) or key.may_write(collection)

    desk = Shelf(folder).open()
    content = {"keys": [{"name": "limited", "key": "k-key", "read": key.read, "write": key.write}]}
    ring = KeyRing("owner-key", keys_file(folder, json.dumps(content)))
    app = build_rest_app(KnowledgeProvider(lambda: desk), ring, options=Options(), version="9.9.9")
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    headers = {"Authorization": "Bearer k-key"}
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
        living(app),
    ):
        world = Made(desk, client)
        for (collection, name), text in holdings.items():
            if kept(collection):
                world.documents[collection, name] = desk.deposit(Deposit(collection, name, text)).document_id
        for number, collection in enumerate(jobs):
            if kept(collection):
                world.jobs[number] = ended(desk, desk.submit(Deposit(collection, "job.md", TEXTS[0])).id).id
        yield world


def request(ask: Ask, world: Made, other: Made) -> tuple[str, str, dict[str, Any]]:
    """Make the request; what this world does not hold is asked for by the id that it has in the other one."""
    missing = NOWHERE[0]
    document = world.documents.get(ask.place) or other.documents.get(ask.place, missing)
    if ask.is_near:
        document = document[:-1] + ("0" if document[-1] != "0" else "1")
    job = world.jobs.get(ask.job) or other.jobs.get(ask.job, NOWHERE[1])
    name, wait = ask.collection, ask.wait
    text = {"text": TEXTS[ask.job], "metadata": {"collection": name, "filename": ask.place[1]}, "wait": wait}
    url = {"url": "https://a.example/x", "collection": name, "wait": wait}
    question = {"query": "valve station", "collection": name}
    upload = {"files": {"file": ("a.md", TEXTS[ask.job].encode())}, "data": {"collection": name}}
    routes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/ingest", {"json": text}), ("POST", "/ingest_url", {"json": url}), ("POST", "/ingest_file", upload),
        ("POST", "/search", {"json": question}), ("GET", "/collections", {}), ("DELETE", f"/collections/{name}", {}),
        ("GET", "/documents", {"params": {"collection": name}}), ("GET", f"/documents/{document}", {}),
        ("DELETE", f"/documents/{document}", {}), ("GET", f"/jobs/{job}", {}), ("DELETE", f"/jobs/{job}", {}),
        ("GET", "/metrics", {}), ("POST", "/search", {"json": {**question, "filters": {"doc_id": document}}}),
        ("POST", "/search", {"json": {"query": "valve station", "everywhere": True}}), ("GET", "/jobs", {}),
        ("GET", f"/documents/{document}/outline", {}), ("GET", f"/documents/{document}/pages/1", {}),
        ("GET", "/changes", {"params": {"old": document, "new": document}}),
    ]  # fmt: skip
    return routes[ask.route]


async def told(ask: Ask, world: Made, other: Made) -> tuple[int, str, dict[str, str]]:
    """Ask, wait for what was begun, and tell all that a client sees but ids of jobs and requests, and times."""
    method, path, more = request(ask, world, other)
    answer = await world.client.request(method, path, **more)
    if answer.status_code == 202:
        await anyio.to_thread.run_sync(ended, world.desk, answer.json()["job_id"])
    text = _VARIES.sub(r'"\1":0', answer.text)
    for ident in world.jobs.values():
        text = text.replace(ident, "<job>")
    for ident in other.jobs.values():
        text = text.replace(ident, "<job>")
    headers = {name: each for name, each in answer.headers.items() if name not in {"x-request-id", "content-length"}}
    return answer.status_code, text, headers


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(key=KEYS, holdings=HOLDINGS, jobs=JOBS, asks=ASKS)
def test_a_limited_key_cannot_tell_a_world_with_forbidden_things_from_one_without(
    key: Key, holdings: dict[Place, str], jobs: list[str], asks: list[Ask]
) -> None:
    async def compare(folder: str, other: str) -> None:
        async with (
            made(Path(folder), key, holdings, jobs, only=False) as whole,
            made(Path(other), key, holdings, jobs, only=True) as reachable,
        ):
            for ask in asks:
                assert await told(ask, whole, reachable) == await told(ask, reachable, whole), ask

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        anyio.run(compare, folder, other)

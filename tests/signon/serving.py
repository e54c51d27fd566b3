"""A knowledge base with documents for some groups, served over MCP on this machine, and clients of it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.rights import ALLOWED
from knowledge_mcp.sources.files import FileSource, LabelledSource
from knowledge_mcp.transports.mcp.http import build_app
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.shared.admission import ProtectedResource
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.engine.world import PUMPS, VALVES, World
from tests.transports.in_thread import serving


def restricted_world(folder: Path) -> World:
    """Ingest pumps for everybody, and valves for legal alone."""
    world = World(folder)
    for name, text, groups in (("pumps.md", PUMPS, ""), ("valves.md", VALVES, "legal")):
        path = world.write(f"{name[:-3]}/{name}", text)
        source: Any = FileSource(path.parent, patterns=("*.md",))
        if groups:
            source = LabelledSource(source, ((ALLOWED, groups),))
        world.knowledge.ingest(source, IngestOptions())
    return world


@contextlib.contextmanager
def served_world(
    world: World, keys: KeyRing, resource_of: Callable[[str], ProtectedResource] | None = None
) -> Generator[str]:
    """Serve a world; gives the address of `/mcp`, which `resource_of` is told before."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    server = build_server(lambda _: world.knowledge, ["standards"], version="9.9.9")
    app = build_app(server, keys=keys, resource=resource_of(url) if resource_of is not None else None)
    with serving(app, listening=listener):
        yield url


@contextlib.asynccontextmanager
async def client_of(url: str, token: str = "", *, mode: Any = "auto", auth: Any = None) -> AsyncGenerator[Client]:
    """Connect the SDK's client with a token, or with what gets one."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, auth=auth, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client

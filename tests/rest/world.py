"""A small world to test the REST service in: a library in memory, keys, and a client that asks the app itself."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import APIRouter
from starlette.types import ASGIApp

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.settings import Settings
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.transports.rest.app import RestService, build_rest_app, run_app
from knowledge_mcp.transports.shared.admission import ProtectedResource
from knowledge_mcp.transports.shared.audit import AuditLog
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.fakes.library import FakeLibrary

KEY = "correct-horse-battery"
DEPLOYING = """\
# 1 Deploying

Roll out one replica at a time.

<!-- page 2 -->

## 1.1 Going back

Roll back when a probe fails.
"""


class Options(Settings):
    """Settings of the service."""

    rag_max_upload_bytes: int = 64 * 1024 * 1024
    allowed_origins: tuple[str, ...] = ("https://app.example",)


@dataclass
class World:
    """The app, what stands behind it, and a client of it."""

    library: FakeLibrary
    app: RestService
    client: httpx.AsyncClient
    log: list[logging.LogRecord] = field(default_factory=list[logging.LogRecord])

    async def bring(self, text: str = DEPLOYING, **metadata: Any) -> dict[str, Any]:
        """Take a text in; returns the answer."""
        answer = await self.client.post("/ingest", json={"text": text, "metadata": metadata})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@contextlib.asynccontextmanager
async def make_world(
    *,
    keys: KeyRing | None = None,
    key: str | None = KEY,
    options: Options | None = None,
    web: Mapping[str, str | bytes | KnowledgeError] | None = None,
    before: Callable[[str], None] | None = None,
    degraded: tuple[str, ...] = (),
    mcp_app: ASGIApp | None = None,
    resource: ProtectedResource | None = None,
    audit: AuditLog | None = None,
    service: SharedLibrary | None = None,
    engine_router: APIRouter | None = None,
) -> AsyncGenerator[World]:
    """Start the app over a library in memory, without a network; its lifespan is that of the block.

    Args:
        keys: of the service; one with all rights unless told.
        key: that the client shows, None for none.
        options: of the service.
        web, before, degraded: as `FakeLibrary` takes them.
        service: instead of a library in memory.
        mcp_app, resource, audit, engine_router: as the service takes them.
    """
    library = FakeLibrary(web=web, before=before, degraded=degraded)
    app = build_rest_app(
        KnowledgeProvider[SharedLibrary](lambda: service or library),
        keys or KeyRing(KEY),
        options=options or Options(),
        version="9.9.9",
        mcp_app=mcp_app,
        resource=resource,
        audit=audit,
        engine_router=engine_router,
    )
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=True, client=("192.0.2.7", 5555))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, timeout=30) as client,
        run_app(app),
    ):
        yield World(library, app, client)


def events(log: Any, name: str) -> list[dict[str, Any]]:
    """List the fields of the log events of one name."""
    found = [record for record in log.records if record.getMessage() == name]
    return [getattr(record, EVENT_FIELDS) for record in found]


def keys_file(folder: Path, text: str) -> Path:
    """Write a file of keys."""
    path = folder / "keys.json"
    path.write_text(text)
    path.chmod(0o600)
    return path

"""A library to run the tools over: in this process, and the same one behind the REST service."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

import pytest

from knowledge_mcp.model.errors import ConnectionFailedError, TimedOutError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.ports import Library
from knowledge_mcp.remote.client import RemoteLibrary
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE, KEY, rest_service

GUIDE = """\
# 1 Signing in

<!-- page 1 -->

Authentication is by a bearer token that is sent with each request.

<!-- page 2 -->

## 1.1 Tokens

A token is rotated every month; an old token is refused.
"""
PAGE = "https://docs.example.com/guide.html"
WEB = {
    PAGE: GUIDE,
    "https://slow.example.com/": TimedOutError("The page takes too long.", suggestion="Try later."),
    "https://down.example.com/": ConnectionFailedError("The site cannot be reached."),
}


@dataclass
class LibraryUnderTest:
    """What the tools run over, and what really holds the documents."""

    library: Library
    held: FakeLibrary


class Swapped:
    """A library whose place each test's own one takes, so that one server does for all."""

    def __init__(self) -> None:
        self.held = FakeLibrary()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.held, name)


@pytest.fixture(scope="module")
def remotely() -> Generator[tuple[Swapped, RemoteLibrary]]:
    """Serve one library after the other."""
    swapped = Swapped()
    with (
        rest_service(cast("FakeLibrary", swapped)) as url,
        closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote,
    ):
        yield swapped, remote


@pytest.fixture(params=["local", "remote"])
def service(request: pytest.FixtureRequest, remotely: tuple[Swapped, RemoteLibrary]) -> Generator[LibraryUnderTest]:
    """Make a library with one document in `project-alpha` and an empty `default`."""
    held = FakeLibrary(web=WEB)
    held.deposit(Deposit("project-alpha", "guide.md", GUIDE, metadata=(("author", "Ann"),)))
    swapped, remote = remotely
    swapped.held = held
    yield LibraryUnderTest(held if request.param == "local" else remote, held)
    held.close()

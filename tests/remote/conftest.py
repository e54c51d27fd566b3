"""What the tests of the remote client share."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import pytest

from knowledge_mcp.model.library import Deposit
from knowledge_mcp.remote.client import RemoteLibrary
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE, KEY, rest_service

PUMPS = """\
# 1 Pumps

<!-- page 1 -->

The pump starts when the valve is open.

<!-- page 2 -->

## 1.1 Maintenance

A pump is greased twice a year; the valve is not.
"""
FIRES = "# Fires\n\nA fire door stays shut.\n\nThe valve of the sprinkler stays open."


@dataclass
class Both:
    """A library, and the same one as a client on another machine sees it."""

    local: FakeLibrary
    remote: RemoteLibrary
    url: str


@pytest.fixture(scope="module")
def both() -> Generator[Both]:
    """Serve a library of three documents in two collections; tests leave them as they are."""
    local = FakeLibrary(degraded=("The lexical leg was slow.",))
    local.deposit(Deposit(filename="pumps.md", text=PUMPS, metadata=(("source", "shelf/pumps.md"), ("author", "Ann"))))
    local.deposit(Deposit(filename="Fire brigade.md", text=FIRES))
    local.deposit(Deposit("project-alpha", "pumps.md", PUMPS))
    with rest_service(local) as url:
        remote = RemoteLibrary(url, KEY, policy=AT_ONCE)
        try:
            yield Both(local, remote, url)
        finally:
            remote.close()

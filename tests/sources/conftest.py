"""A small web of sites for the tests of what is fetched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sources.web_site import World, world_in


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Serve it for all tests of one file."""
    with world_in(tmp_path_factory.mktemp("web")) as world:
        yield world


@pytest.fixture
def world(opened: World) -> World:
    """Give it with nothing on it."""
    opened.forget()
    return opened

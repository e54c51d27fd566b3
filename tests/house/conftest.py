"""What the rules of the house share: each file of the project is parsed once, and forgotten after these tests."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.house.source import forget


@pytest.fixture(scope="package", autouse=True)
def _forget_the_trees() -> Generator[None]:
    """Free the trees of the whole project: the other tests of this process need not carry them."""
    yield
    forget()

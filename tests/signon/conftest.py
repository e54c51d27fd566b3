"""What the tests of signing on share."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.signon.issuer import TestIssuer


@pytest.fixture
def issuer() -> Generator[TestIssuer]:
    """Run an issuer on this machine."""
    with TestIssuer() as running:
        yield running

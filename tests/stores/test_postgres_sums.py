"""Shares of postings are added up alike whether their keys follow one another or lie far apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.stores.postgres.search import summed


@pytest.mark.parametrize("apart", [1, 1_000])
@given(st.lists(st.tuples(st.integers(5, 60), st.floats(0.001, 9)), max_size=40))
def test_shares_are_added_up_by_key(apart: int, found: list[tuple[int, float]]) -> None:
    expected: dict[int, float] = {}
    for key, share in found:
        expected[key * apart] = expected.get(key * apart, 0.0) + share
    keys, sums = summed(
        np.array([key * apart for key, _ in found], np.int64), np.array([share for _, share in found], np.float64)
    )
    assert dict(zip(keys.tolist(), sums.tolist(), strict=True)) == expected
    assert keys.tolist() == sorted(expected)

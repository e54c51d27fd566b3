"""Cutting what is too much for one call."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.support.batches import batches, grouped


def test_parts_are_as_large_as_they_may_be_and_nothing_gives_none() -> None:
    assert list(batches(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(batches(list[str](), 2)) == []


@given(st.lists(st.integers(0, 9)), st.integers(1, 4), st.integers(1, 12))
def test_groups_stay_within_limits_and_none_could_take_the_next_one(sizes: list[int], most: int, room: int) -> None:
    found = list(grouped(sizes, (most, room), lambda size: (1, size), lambda size: size))
    assert [size for group in found for size in group] == sizes
    for group in found:
        assert len(group) == len(set(group)) <= most
        assert sum(group) <= room or len(group) == 1
    for group, following in itertools.pairwise(found):
        larger = [*group, following[0]]
        assert len(larger) > most or sum(larger) > room or following[0] in group

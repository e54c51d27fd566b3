"""Numbers of things are said as people say them."""

from __future__ import annotations

import pytest

from knowledge_mcp.support.wording import how_many, list_first


@pytest.mark.parametrize(
    ("number", "names", "said"),
    [
        (0, ("chunk",), "0 chunks"),
        (1, ("chunk",), "1 chunk"),
        (2, ("chunk",), "2 chunks"),
        (1, ("entry is", "entries are"), "1 entry is"),
        (12_000, ("entry is", "entries are"), "12,000 entries are"),
    ],
)
def test_a_single_thing_is_not_reported_in_the_plural(number: int, names: tuple[str, ...], said: str) -> None:
    assert how_many(number, *names) == said


@pytest.mark.parametrize(
    ("words", "said"), [([], ""), (["A"], "A"), (["A", "B"], "A; B"), (["A", "B", "C", "D"], "A; B and 2 more")]
)
def test_the_first_of_many_are_listed_and_the_others_counted(words: list[str], said: str) -> None:
    assert list_first(words, 2, "; ") == said

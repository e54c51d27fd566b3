"""Typing errors between two words: as few as lead from one to the other, and a swap is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.engine.search.lookup import letters_apart, typing_errors_within


@pytest.mark.parametrize(
    ("first", "second", "errors"),
    [
        ("valve", "valve", 0),
        ("valve", "vlave", 1),
        ("valve", "vale", 1),
        ("valve", "valves", 1),
        ("valve", "walve", 1),
        ("valve", "vlavee", 2),
        ("outage", "uotgae", 2),
        ("pump", "lamp", 2),
        ("pump", "plumber", None),
        ("abcd", "badc", 2),
        ("valve", "", None),
        ("blocker", "bloecr", 2),
    ],
)
def test_two_swapped_letters_are_one_error(first: str, second: str, errors: int | None) -> None:
    assert typing_errors_within(first, second, 2) == errors
    assert typing_errors_within(second, first, 2) == errors


def one_error(word: str, alphabet: str) -> set[str]:
    """List what one typing error makes of a word."""
    made = {word[:i] + word[i + 1 :] for i in range(len(word))}
    made |= {word[:i] + letter + word[i:] for i in range(len(word) + 1) for letter in alphabet}
    made |= {word[:i] + letter + word[i + 1 :] for i in range(len(word)) for letter in alphabet}
    return made | {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_the_count_is_the_least_number_of_errors_that_lead_from_one_to_the_other(first: str, second: str) -> None:
    once = one_error(first, "abc")
    reached = 0 if first == second else 1 if second in once else None
    if reached is None and any(second in one_error(word, "abc") for word in once):
        reached = 2
    assert typing_errors_within(first, second, 2) == reached
    assert typing_errors_within(first, second, 1) == (reached if reached != 2 else None)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_letters_apart_are_counted_whatever_their_order(first: str, second: str) -> None:
    assert letters_apart(first, second) == letters_apart("".join(sorted(first)), second) == letters_apart(second, first)
    assert letters_apart(first, first[::-1]) == 0

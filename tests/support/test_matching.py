"""What two sequences have in common: as the standard library finds it, in a number of steps that has an end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest

from knowledge_mcp.support.matching import BoundedMatcher


class Counted(str):
    """A word that counts how often any of its kind is looked up."""

    __slots__ = ()
    looked_up = 0

    def __hash__(self) -> int:
        Counted.looked_up += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


def counted(words: Sequence[str]) -> list[Counted]:
    return [Counted(word) for word in words]


@pytest.mark.parametrize("letters", ["ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz"])
def test_texts_of_a_usual_length_are_compared_as_the_standard_library_does(letters: str) -> None:
    dice = random.Random(7)
    for _ in range(40):
        one, other = (dice.choices(letters, k=dice.randrange(60)) for _ in range(2))
        plain = SequenceMatcher(None, one, other, autojunk=False)
        assert BoundedMatcher(one, other).get_opcodes() == plain.get_opcodes()


def test_texts_with_one_word_in_common_everywhere_take_steps_that_grow_with_their_length() -> None:
    looked_up: list[int] = []
    for count in (1500, 3000):
        one, other = (counted([word for n in range(count) for word in ("a", f"{mark}{n}")]) for mark in "xy")
        Counted.looked_up = 0
        codes = BoundedMatcher(one, other).get_opcodes()
        looked_up.append(Counted.looked_up)
        assert "".join(one[place] for _, a, b, *_ in codes for place in range(a, b)) == "".join(one)
    assert looked_up[1] < 3 * looked_up[0]


def test_what_begins_and_ends_alike_is_found_however_often_its_words_stand_there() -> None:
    one, other = ["a"] * 9000, [*["a"] * 5000, "b", *["a"] * 3999]
    equal = [code for code in BoundedMatcher(one, other).get_opcodes() if code[0] == "equal"]
    assert equal == [("equal", 0, 5000, 0, 5000), ("equal", 5001, 9000, 5001, 9000)]

"""What two sequences have in common, in a number of steps that is linear in their length, whatever their content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)
_LEAST, _EACH = 50_000, 500
"""Maximum steps of a comparison: a constant, plus a number for each item of both sequences. Two edited pages of a
standard, 1,000 words each, take 30 per item. A million steps are about a tenth of a second.
"""


class BoundedMatcher(SequenceMatcher[_T]):
    """Compare two sequences like `SequenceMatcher`, without its heuristics, and with a limit on its steps.

    For each run that it finds, `SequenceMatcher` looks at every pair of equal items again: two texts in which every
    second word is "a" and the others differ take hours. Here the most frequent items start no run if they alone would
    take half of the steps. Once the steps are spent, only equal items at both ends of a stretch are still found; what
    lies between is reported as replaced, which is coarse but correct.
    """

    def __init__(self, one: Sequence[_T], other: Sequence[_T]) -> None:
        super().__init__(None, one, other, autojunk=False)
        self._one, self._other = one, other
        self._places: dict[_T, list[int]] = vars(self)["b2j"]  # positions of items in the other
        self._left = _LEAST + _EACH * (len(one) + len(other))
        self._leave_out_frequent()
        self._costs = [0, *accumulate(1 + len(self._places.get(item, ())) for item in one)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Find the longest equal run of two stretches, or one at their edges once the steps are spent."""
        ahi, bhi = len(self._one) if ahi is None else ahi, len(self._other) if bhi is None else bhi
        cost = self._costs[ahi] - self._costs[alo]
        if cost <= self._left:
            self._left -= cost
            found = super().find_longest_match(alo, ahi, blo, bhi)
            if found.size:
                return found
        return self._at_the_edges(alo, ahi, blo, bhi)

    def _leave_out_frequent(self) -> None:
        pairs = {item: count * len(self._places.get(item, ())) for item, count in Counter(self._one).items()}
        steps = sum(pairs.values())
        for item in sorted(pairs, key=lambda item: -pairs[item]):
            if steps <= self._left // 2:
                break
            steps -= pairs[item]
            del self._places[item]

    def _at_the_edges(self, alo: int, ahi: int, blo: int, bhi: int) -> Match:
        most = min(ahi - alo, bhi - blo)
        same = next((step for step in range(most) if self._one[alo + step] != self._other[blo + step]), most)
        if same:
            return Match(alo, blo, same)
        same = next((step for step in range(most) if self._one[ahi - 1 - step] != self._other[bhi - 1 - step]), most)
        return Match(ahi - same, bhi - same, same)

"""Finds bags of words contained in others with few additional words, without comparing all pairs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_LEAF = 8
"""Maximum bags in a leaf, which are compared one by one; 4 and 16 take as long on 100,000 synthetic sentences."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _Node:
    ending: Sequence[int]
    branches: Mapping[str, _Node | Sequence[int]]


class ContainedBags:
    """Finds which of many bags a bag contains, with a minimum share of its weight.

    Bags are kept in a tree by their words, the rarest first. On the way down, a word may be skipped as long as the
    skipped words are not too heavy, so only branches are followed that may lead to a stored bag.
    """

    def __init__(self, bags: Sequence[frozenset[str]], weights: Mapping[str, float]) -> None:
        """Build the tree from distinct bags and the weight of each word."""
        self._bags, self._weights = bags, weights
        self._totals = [math.fsum(weights[word] for word in bag) for bag in bags]
        self._tree = self._parted([(place, self._rarest(bag)) for place, bag in enumerate(bags)], 0)

    def _rarest(self, bag: frozenset[str]) -> list[str]:
        return sorted(bag, key=lambda word: (-self._weights[word], word))

    def _parted(self, bags: Sequence[tuple[int, list[str]]], depth: int) -> _Node | Sequence[int]:
        if len(bags) <= _LEAF:
            return [place for place, _ in bags]
        ending = [place for place, words in bags if len(words) == depth]
        parts: dict[str, list[tuple[int, list[str]]]] = defaultdict(list)
        for place, words in bags:
            if len(words) > depth:
                parts[words[depth]].append((place, words))
        return _Node(ending, {word: self._parted(part, depth + 1) for word, part in parts.items()})

    def within(self, bag: frozenset[str], lacking: float) -> Iterator[int]:
        """Yield the indexes of the bags that lack at least one word of this one and have no others.

        Args:
            bag: the words; each has a weight.
            lacking: maximum total weight of the words that a bag lacks.
        """
        words = self._rarest(bag)
        lightest = math.fsum(self._weights[word] for word in words) - lacking - _ROUNDING
        left = [(self._tree, 0, lacking + _ROUNDING)]
        while left:
            node, start, spare = left.pop()
            is_node = isinstance(node, _Node)
            for place in node.ending if is_node else node:
                if self._totals[place] >= lightest and self._bags[place] < bag:
                    yield place
            if not is_node:
                continue
            for at in range(start, len(words)):
                branch = node.branches.get(words[at])
                if branch is not None:
                    left.append((branch, at + 1, spare))
                spare -= self._weights[words[at]]
                if spare < 0:
                    break

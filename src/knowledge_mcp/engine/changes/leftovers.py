"""Join the clauses that the rounds left: by their very words, by runs of words, by headings, by the place between."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.sides import ClausePairs, EditionSide
from knowledge_mcp.engine.changes.wording import plain, words_of

_HALF, _QUARTER = 0.5, 0.25
"""Shares of the shorter and the longer clause's runs of words that are enough for a pair without other evidence."""
_NOTHING = 0.1
"""Likeness below which two texts have next to nothing in common."""


class Leftovers:
    """Join what is left of two editions.

    Args:
        old, new: the editions.
        runs: by the places of both, shares of the longer and the shorter clause's own runs of words.
        may_join: tells, by their places, whether notes leave two clauses free.
        is_telling: tells, by its place in the old edition, whether a heading names its subject by rare words.
    """

    def __init__(
        self,
        old: EditionSide,
        new: EditionSide,
        runs: Mapping[tuple[int, int], tuple[float, float]],
        may_join: Callable[[int, int], bool],
        is_telling: Callable[[int], bool],
    ) -> None:
        self._old, self._new, self._runs = old, new, runs
        self._may_join, self._is_telling = may_join, is_telling

    def join(self, pairs: ClausePairs) -> None:
        """Join in what order the evidence is good."""
        for found in (self._of_same_words, self._by_runs, self._by_headings, self._by_gaps):
            for one, other in found(pairs):
                if one not in pairs.forward and other not in pairs.backward and self._may_join(one, other):
                    pairs.join(one, other)

    def _left(self, pairs: ClausePairs) -> tuple[list[Clause], list[Clause]]:
        return (
            [clause for clause in self._old.clauses if clause.index not in pairs.forward],
            [clause for clause in self._new.clauses if clause.index not in pairs.backward],
        )

    def _of_same_words(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield what has the very same words, as twins have that each moved elsewhere.

        What every chapter says is not taken from a chapter that is gone to one that is new.
        """
        olds, news = (
            _once(clauses, lambda clause: _said(clause) if words_of(clause.text) else None)
            for clauses in self._left(pairs)
        )
        said = Counter(_said(clause) for side in (self._old, self._new) for clause in side.clauses)
        for words, one in olds.items():
            other = news.get(words)
            if other is None:
                continue
            is_above_joined = one.parent is None or other.parent is None
            is_above_joined = is_above_joined or one.parent in pairs.forward or other.parent in pairs.backward
            if is_above_joined or said[words] <= 2:
                yield one.index, other.index

    def _by_runs(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield what shares runs of words that no other clause has: a quarter of the longer, half of the shorter."""
        found = [
            (-longer, one, other)
            for (one, other), (longer, shorter) in self._runs.items()
            if longer > _QUARTER or shorter > _HALF
        ]
        yield from ((one, other) for _, one, other in sorted(found))

    def _by_headings(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield what has a telling heading that is left once on either side, if no text speaks against it."""
        olds, news = (
            _once(clauses, lambda clause: (plain(clause.heading),) if plain(clause.heading) else None)
            for clauses in self._left(pairs)
        )
        for head, one in olds.items():
            if head in news and self._is_telling(one.index):
                words = self._old.cosine(one.index, self._new, news[head].index)
                if words is None or words >= _NOTHING:
                    yield one.index, news[head].index

    def _by_gaps(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield what stands between the same joined clauses, as many on either side, one heading in the other's."""
        gaps, others = _gaps(self._old, pairs.forward), _gaps(self._new, pairs.backward)
        for (above, before, behind), left in gaps.items():
            if above is not None and above not in pairs.forward:
                continue
            right = others.get((pairs.there(above), pairs.there(before), pairs.there(behind)), [])
            if len(left) != len(right):
                continue
            for one, other in zip(left, right, strict=True):
                terms, others_terms = self._old.titles[one], self._new.titles[other]
                if terms and others_terms and (terms <= others_terms or others_terms <= terms):
                    yield one, other


def _once(clauses: Iterable[Clause], key: Callable[[Clause], tuple[str, ...] | None]) -> dict[tuple[str, ...], Clause]:
    """Map keys that one clause alone has to it."""
    found: defaultdict[tuple[str, ...], list[Clause]] = defaultdict(list)
    for clause in clauses:
        name = key(clause)
        if name is not None and not clause.is_only_a_note:
            found[name].append(clause)
    return {name: same[0] for name, same in found.items() if len(same) == 1}


def _said(clause: Clause) -> tuple[str, ...]:
    return plain(clause.heading), *words_of(clause.text)


_Gap = tuple[int | None, int | None, int | None]


def _gaps(side: EditionSide, joined: Mapping[int, int]) -> dict[_Gap, list[int]]:
    """Map the clause above, and the joined ones before and behind below it, to what is left between them."""
    below: defaultdict[tuple[str, int | None], list[int]] = defaultdict(list)
    for clause in side.clauses:
        below[clause.file if clause.parent is None else "", clause.parent].append(clause.index)
    found: dict[_Gap, list[int]] = {}
    for (_, above), places in below.items():
        before: int | None = None
        between: list[int] = []
        for place in (*places, None):
            if place is not None and place not in joined:
                between.append(place)
                continue
            if between and (above, before, place) != (None, None, None):
                found[above, before, place] = between
            before, between = place, []
    return found

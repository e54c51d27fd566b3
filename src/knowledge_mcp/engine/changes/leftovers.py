"""Joins the clauses that the rounds left: by equal words, n-grams, headings, and position between joined clauses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.sides import ClausePairs, EditionSide
from knowledge_mcp.engine.changes.wording import plain, words_of

_HALF, _QUARTER = 0.5, 0.25
"""Minimum shares of the shorter and the longer clause's n-grams for a pair without other evidence."""
_NOTHING = 0.1
"""Similarity below which two texts have almost nothing in common."""


class Leftovers:
    """Joins the remaining clauses of two editions.

    Args:
        old, new: the editions.
        runs: by the indexes of both, shares of the longer and the shorter clause's unique n-grams.
        may_join: returns, by their indexes, whether no note prevents joining two clauses.
        has_rare_words: returns, by its index in the old edition, whether a heading names its subject with rare words.
    """

    def __init__(
        self,
        old: EditionSide,
        new: EditionSide,
        runs: Mapping[tuple[int, int], tuple[float, float]],
        may_join: Callable[[int, int], bool],
        has_rare_words: Callable[[int], bool],
    ) -> None:
        self._old, self._new, self._runs = old, new, runs
        self._may_join, self._has_rare_words = may_join, has_rare_words

    def join(self, pairs: ClausePairs) -> None:
        """Join clauses, starting with the strongest evidence."""
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
        """Yield clauses with exactly the same words, such as duplicates that each moved elsewhere.

        Text that every chapter repeats is not matched between a removed chapter and a new one.
        """
        olds, news = (
            _once(clauses, lambda clause: _words_of_clause(clause) if words_of(clause.text) else None)
            for clauses in self._left(pairs)
        )
        counts = Counter(_words_of_clause(clause) for side in (self._old, self._new) for clause in side.clauses)
        for words, one in olds.items():
            other = news.get(words)
            if other is None:
                continue
            is_above_joined = one.parent is None or other.parent is None
            is_above_joined = is_above_joined or one.parent in pairs.forward or other.parent in pairs.backward
            if is_above_joined or counts[words] <= 2:
                yield one.index, other.index

    def _by_runs(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield clauses that share n-grams no other clause has: a quarter of the longer, or half of the shorter."""
        found = [
            (-longer, one, other)
            for (one, other), (longer, shorter) in self._runs.items()
            if longer > _QUARTER or shorter > _HALF
        ]
        yield from ((one, other) for _, one, other in sorted(found))

    def _by_headings(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield clauses with a distinctive heading that remains once on each side, unless their texts contradict it."""
        olds, news = (
            _once(clauses, lambda clause: (plain(clause.heading),) if plain(clause.heading) else None)
            for clauses in self._left(pairs)
        )
        for head, one in olds.items():
            if head in news and self._has_rare_words(one.index):
                words = self._old.cosine(one.index, self._new, news[head].index)
                if words is None or words >= _NOTHING:
                    yield one.index, news[head].index

    def _by_gaps(self, pairs: ClausePairs) -> Iterator[tuple[int, int]]:
        """Yield clauses between the same joined clauses, as many on each side, whose headings are alike.

        One is inside the other, or they differ in fewer words than they share. Words of most headings beside them, as
        in "name property" and "kind property", do not count.
        """
        gaps, others = _gaps(self._old, pairs.forward), _gaps(self._new, pairs.backward)
        below: defaultdict[int | None, list[Collection[str]]] = defaultdict(list)
        for clause in self._old.clauses:
            below[clause.parent].append(self._old.titles[clause.index])
        usual = {above: _usual_words(titles) for above, titles in below.items()}
        for (above, before, behind), left in gaps.items():
            if above is not None and above not in pairs.forward:
                continue
            right = others.get((pairs.there(above), pairs.there(before), pairs.there(behind)), [])
            if len(left) != len(right):
                continue
            for one, other in zip(left, right, strict=True):
                terms, others_terms = self._old.titles[one], self._new.titles[other]
                shared = terms & others_terms
                is_alike = shared in {terms, others_terms} or len(shared) > len(terms ^ others_terms)
                if is_alike and shared - usual[above]:
                    yield one, other


def _usual_words(titles: Collection[Collection[str]]) -> frozenset[str]:
    """Return the words of most of some headings, of three and more."""
    counts = Counter(word for title in titles for word in title)
    return frozenset(word for word, count in counts.items() if len(titles) > 2 and 2 * count > len(titles))


def _once(clauses: Iterable[Clause], key: Callable[[Clause], tuple[str, ...] | None]) -> dict[tuple[str, ...], Clause]:
    """Map each key that only one clause has to this clause."""
    found: defaultdict[tuple[str, ...], list[Clause]] = defaultdict(list)
    for clause in clauses:
        name = key(clause)
        if name is not None and not clause.is_only_a_note:
            found[name].append(clause)
    return {name: same[0] for name, same in found.items() if len(same) == 1}


def _words_of_clause(clause: Clause) -> tuple[str, ...]:
    return plain(clause.heading), *words_of(clause.text)


_Gap = tuple[int | None, int | None, int | None]


def _gaps(side: EditionSide, joined: Mapping[int, int]) -> dict[_Gap, list[int]]:
    """Map the parent, and the joined siblings before and after, to the remaining clauses between them."""
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

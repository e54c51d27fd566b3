"""Data for the alignment: each edition with the weighted terms of its clauses, and the joined pairs."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.wording import RARE, plain
from knowledge_mcp.support.checkpoints import check_each

_CANDIDATES = 12

Terms = Callable[[str], Sequence[str]]


class EditionSide:
    """The weighted terms of one edition's clauses."""

    def __init__(self, clauses: Sequence[Clause], terms: Terms) -> None:
        self.clauses = clauses
        self.counts = [Counter(terms(clause.text)) for clause in check_each(clauses)]
        self.titles = [frozenset(terms(clause.heading)) for clause in clauses]
        self.heads = [_own_head(clause, clauses) for clause in clauses]
        self.heads_like = Counter(self.heads)
        self.siblings = Counter(
            (clause.file, clause.parent, head) for clause, head in zip(clauses, self.heads, strict=True)
        )
        self.tops = Counter(clause.file for clause in clauses if clause.parent is None and clause.level)
        self.paths: list[tuple[str, ...]] = []
        for place, clause in enumerate(clauses):  # without the document's title, which contains the edition
            above = self.paths[clause.parent] if clause.parent is not None else ()
            self.paths.append(() if self.is_title(place) else (*above, plain(clause.heading)))
        self.weights: list[dict[str, float]] = []
        self.lengths: list[float] = []
        self.by_term: defaultdict[str, list[int]] = defaultdict(list)
        for place, counted in enumerate(self.counts):
            for term in counted:
                self.by_term[term].append(place)

    def weigh(self, rarity: Mapping[str, float]) -> None:
        for counted in self.counts:
            weights = {term: (1 + math.log(count)) * rarity[term] for term, count in counted.items()}
            self.weights.append(weights)
            self.lengths.append(math.sqrt(sum(weight * weight for weight in weights.values())))

    def most_alike(self, weights: Mapping[str, float]) -> list[int]:
        """List the clauses that share most of a text's rare terms, in reading order."""
        found: defaultdict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            places = self.by_term.get(term, ())
            if len(places) <= RARE:
                for place in places:
                    found[place] += weight * self.weights[place][term] / self.lengths[place]
        return sorted(heapq.nlargest(_CANDIDATES, found, key=lambda place: (found[place], -place)))

    def cosine(self, place: int, other: EditionSide, there: int) -> float | None:
        """Return the cosine similarity of two clauses' terms; None if neither has any."""
        weights, others = self.weights[place], other.weights[there]
        if not weights and not others:
            return None
        if not weights or not others:
            return 0.0
        if len(weights) > len(others):
            weights, others = others, weights
        shared = sum(weight * others[term] for term, weight in weights.items() if term in others)
        return shared / (self.lengths[place] * other.lengths[there])

    def usual(self, place: int) -> float:
        """Return a clause's similarity to the most similar other clause of its own edition."""
        near = (other for other in self.most_alike(self.weights[place]) if other != place)
        return max((self.cosine(place, self, other) or 0.0 for other in near), default=0.0)

    def vocabulary(self, place: int) -> frozenset[str]:
        """Return the terms of a clause's text and heading."""
        return self.titles[place].union(self.counts[place])

    def is_title(self, place: int) -> bool:
        """Return whether a clause is its document's title, or the text before its first heading."""
        clause = self.clauses[place]
        if clause.level == 0 or clause.parent is not None:
            return clause.level == 0
        is_first = place == 0 or self.clauses[place - 1].file != clause.file
        return self.tops[clause.file] == 1 or (is_first and not clause.text)

    def is_at_top(self, clause: Clause) -> bool:
        """Return whether a clause has no parent, or only its document's title."""
        return clause.parent is None or self.is_title(clause.parent)

    def is_only_sibling(self, place: int) -> bool:
        clause = self.clauses[place]
        return self.siblings[clause.file, clause.parent, self.heads[place]] == 1


def rarity_of(texts: Sequence[Iterable[str]]) -> dict[str, float]:
    """Weight terms by how few of the texts contain them."""
    frequency = Counter(term for text in texts for term in text)
    return {term: math.log(1 + len(texts) / count) for term, count in frequency.items()}


def _own_head(clause: Clause, clauses: Sequence[Clause]) -> str:
    """Return the normalised heading, without the parent's heading if it repeats that."""
    head = plain(clause.heading)
    above = plain(clauses[clause.parent].heading) if clause.parent is not None else ""
    return head.removeprefix(f"{above} ") if above else head


class ClausePairs:
    """The joined pairs of old and new clauses."""

    def __init__(self, old: Sequence[Clause], new: Sequence[Clause]) -> None:
        self._old, self._new = old, new
        self.forward: dict[int, int] = {}
        self.backward: dict[int, int] = {}
        self._went: Counter[tuple[int | None, int | None]] | None = None
        self._below: defaultdict[int | None, list[int]] = defaultdict(list)
        for clause in old:
            self._below[clause.parent].append(clause.index)
        self._count_below = Counter(clause.parent for clause in new)

    def join(self, one: int, other: int) -> None:
        """Join an old clause with a new one, by their indexes; neither may be joined yet."""
        self.forward[one] = other
        self.backward[other] = one
        self._went = None

    def part(self, one: int) -> None:
        """Separate an old clause from its new one."""
        del self.backward[self.forward.pop(one)]
        self._went = None

    def there(self, one: int | None) -> int | None:
        """Return the new clause joined with an old one, by their indexes; None if there is none."""
        return None if one is None else self.forward.get(one)

    def items_in_order(self) -> Iterator[tuple[Clause, Clause]]:
        """Yield the pairs in the order of the new edition."""
        for one, other in sorted(self.forward.items(), key=lambda pair: pair[1]):
            yield self._old[one], self._new[other]

    def share_below(self, one: int, other: int) -> float:
        """Return the share of the direct children of two clauses that are joined with each other."""
        below = self._below.get(one, ())
        partners = [self._new[self.forward[each]] for each in below if each in self.forward]
        joined = sum(partner.parent == other for partner in partners)
        return joined / max(len(below), self._count_below[other], 1)

    def neighbours_went(self, one: Clause, other: Clause) -> bool:
        """Return whether most siblings of the one are joined with siblings of the other."""
        if one.parent is None or other.parent is None:
            return False
        if self._went is None:
            self._went = Counter(
                (self._old[place].parent, self._new[partner].parent) for place, partner in self.forward.items()
            )
        went = self._went[one.parent, other.parent] - (self.forward.get(one.index) == other.index)
        return 2 * went > len(self._below[one.parent]) - 1 > 0

    def hold(self, one: Clause, other: Clause, files: Mapping[str, str]) -> bool:
        """Return whether the parents of two clauses are joined, or both are at the top of the same document."""
        if one.parent is None or other.parent is None:
            return one.parent is other.parent and files.get(one.file, one.file) == other.file
        return self.forward.get(one.parent) == other.parent

"""Which clauses of two editions are joined, and what that says of those around them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from knowledge_mcp.engine.changes.clauses import Clause


class ClausePairs:
    """Hold which old clause is joined with which new one."""

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
        """Join an old clause with a new one, by their places; neither is joined yet."""
        self.forward[one] = other
        self.backward[other] = one
        self._went = None

    def part(self, one: int) -> None:
        """Part an old clause from the new one that it is joined with."""
        del self.backward[self.forward.pop(one)]
        self._went = None

    def there(self, one: int | None) -> int | None:
        """Tell which new clause an old one is joined with, by their places; None where there is none."""
        return None if one is None else self.forward.get(one)

    def items_in_order(self) -> Iterator[tuple[Clause, Clause]]:
        """Yield the pairs in the order of the new edition."""
        for one, other in sorted(self.forward.items(), key=lambda pair: pair[1]):
            yield self._old[one], self._new[other]

    def share_below(self, one: int, other: int) -> float:
        """Tell which share of the clauses right below two are joined with each other."""
        below = self._below.get(one, ())
        partners = [self._new[self.forward[each]] for each in below if each in self.forward]
        joined = sum(partner.parent == other for partner in partners)
        return joined / max(len(below), self._count_below[other], 1)

    def neighbours_went(self, one: Clause, other: Clause) -> bool:
        """Tell whether most clauses beside the one, below the same clause, are joined with such beside the other."""
        if one.parent is None or other.parent is None:
            return False
        if self._went is None:
            self._went = Counter(
                (self._old[place].parent, self._new[partner].parent) for place, partner in self.forward.items()
            )
        went = self._went[one.parent, other.parent] - (self.forward.get(one.index) == other.index)
        return 2 * went > len(self._below[one.parent]) - 1 > 0

    def hold(self, one: Clause, other: Clause, files: Mapping[str, str]) -> bool:
        """Tell whether the clauses above two are joined, or both stand at the top of the same document."""
        if one.parent is None or other.parent is None:
            return one.parent is other.parent and files.get(one.file, one.file) == other.file
        return self.forward.get(one.parent) == other.parent

"""One edition as it is compared: the weighted terms of its clauses, their headings and where they stand."""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.wording import RARE, plain
from knowledge_mcp.support.checkpoints import check_each

_CANDIDATES = 12

Terms = Callable[[str], Sequence[str]]


class EditionSide:
    """Hold the weighted terms of one edition's clauses."""

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
        for place, clause in enumerate(clauses):  # without the document's title, which says the edition
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
        """List the clauses that share most of a text's weightier terms, in reading order."""
        found: defaultdict[int, float] = defaultdict(float)
        for term, weight in weights.items():
            places = self.by_term.get(term, ())
            if len(places) <= RARE:
                for place in places:
                    found[place] += weight * self.weights[place][term] / self.lengths[place]
        return sorted(heapq.nlargest(_CANDIDATES, found, key=lambda place: (found[place], -place)))

    def cosine(self, place: int, other: EditionSide, there: int) -> float | None:
        """Tell how many words two clauses have in common; None where neither has any."""
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
        """Tell how much a clause has in common with the clause of its own edition that is most like it."""
        near = (other for other in self.most_alike(self.weights[place]) if other != place)
        return max((self.cosine(place, self, other) or 0.0 for other in near), default=0.0)

    def vocabulary(self, place: int) -> frozenset[str]:
        """Return the terms of a clause's text and of its heading."""
        return self.titles[place].union(self.counts[place])

    def is_title(self, place: int) -> bool:
        """Tell whether a clause is its document's title, or what stands before its first heading."""
        clause = self.clauses[place]
        if clause.level == 0 or clause.parent is not None:
            return clause.level == 0
        is_first = place == 0 or self.clauses[place - 1].file != clause.file
        return self.tops[clause.file] == 1 or (is_first and not clause.text)

    def is_at_top(self, clause: Clause) -> bool:
        """Tell whether nothing stands above a clause, or only its document's title."""
        return clause.parent is None or self.is_title(clause.parent)

    def is_only_sibling(self, place: int) -> bool:
        clause = self.clauses[place]
        return self.siblings[clause.file, clause.parent, self.heads[place]] == 1


def rarity_of(texts: Sequence[Iterable[str]]) -> dict[str, float]:
    """Weigh terms by how few of the texts have them."""
    frequency = Counter(term for text in texts for term in text)
    return {term: math.log(1 + len(texts) / count) for term, count in frequency.items()}


def _own_head(clause: Clause, clauses: Sequence[Clause]) -> str:
    """Return a heading as it is compared, without the heading above it where it repeats that."""
    head = plain(clause.heading)
    above = plain(clauses[clause.parent].heading) if clause.parent is not None else ""
    return head.removeprefix(f"{above} ") if above else head

"""How probable it is that two texts of two sets belong together, from words, meanings, and the rest of the sets.

A cosine means little by itself: some texts are near to everything. So each is told in standard deviations of its row
and of its column, and these are added. One slope turns the sum into a probability, and the sets themselves say how many
links to expect: about as many as there are items. Both were checked with whole sets left out
(`python -m benchmarks.tracing`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.support.checkpoints import checked, checkpoint

__all__ = ["Linker", "cut_of", "probabilities", "ratings"]

Matrix = NDArray[np.float32]
_SLOPE = 0.4
"""Log-odds for one standard deviation; fitted on five of six public sets at a time it is .35 to .5."""
_PIECE = 60
"""Words of a piece of a long text, whose best one counts beside the whole."""
_MOST_PIECES = 200
_BLOCK = 512
_WORD = re.compile(r"[A-Za-z0-9_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Terms = Callable[[str], Sequence[str]]
Embed = Callable[[Sequence[str]], Matrix]


class Linker:
    """Propose links between two lists of texts.

    Args:
        terms: turns text into terms, as `Analyser.document_terms`.
        embed: turns texts into unit vectors, shape (texts, dimensions).
    """

    def __init__(self, terms: Terms, embed: Embed) -> None:
        self._terms, self._embed = terms, embed

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[list[tuple[int, int, float]], float]:
        """Return the pairs whose probability is at least `least` times the one to cut at, best first, and that."""
        if not sources or not targets:
            return [], 1.0
        chances = probabilities(ratings(sources, targets, self._terms, self._embed))
        threshold = cut_of(chances)
        rows, columns = np.nonzero(chances >= least * threshold)
        found = sorted(
            ((int(row), int(column), float(chances[row, column])) for row, column in zip(rows, columns, strict=True)),
            key=lambda pair: (-pair[2], pair[0], pair[1]),
        )
        return found, threshold


def ratings(sources: Sequence[str], targets: Sequence[str], terms: Terms, embed: Embed) -> Matrix:
    """Rate all pairs, shape (sources, targets): the sum of standard scores by row and by column of three cosines.

    Pairs without any term in common are rated -inf: nothing could be shown that speaks for them.
    """
    ours, theirs = [_parted(text) for text in sources], [_parted(text) for text in targets]
    shared = _words(ours, theirs, terms)
    rated = _standard(shared)
    here, there = embed(ours), embed(theirs)
    rated += _standard(here @ there.T)
    rated += _standard(_best_pieces(here, theirs, there, embed))
    rated[shared == 0] = -np.inf
    return rated


def probabilities(rated: Matrix) -> Matrix:
    """Turn ratings into probabilities that add up to the number of items, at most to a third of the pairs rated."""
    odds = rated * np.float32(_SLOPE)
    wanted = min(sum(rated.shape), int(np.isfinite(rated).sum()) / 3)
    low, high = -60.0, 60.0
    for _ in range(40):
        checkpoint()
        middle = (low + high) / 2
        total = sum(float(_chance(odds[at : at + _BLOCK] + middle).sum()) for at in range(0, len(odds), _BLOCK))
        low, high = (middle, high) if total < wanted else (low, middle)
    return _chance(odds + np.float32((low + high) / 2))


def cut_of(chances: Matrix) -> float:
    """Return the probability to cut at, so that the F1 to be expected is greatest."""
    ordered = np.sort(chances, axis=None)[::-1]
    hits = np.cumsum(ordered, dtype=np.float64)
    expected = 2 * hits / (np.arange(1, len(ordered) + 1) + hits[-1])
    return float(ordered[int(expected.argmax())])


def _chance(odds: Matrix) -> Matrix:
    return (1 / (1 + np.exp(-odds))).astype(np.float32, copy=False)


def _standard(cosines: Matrix) -> Matrix:
    """Add each pair's standard scores by row and by column."""
    total = np.zeros_like(cosines)
    for axis in (0, 1):
        total += (cosines - cosines.mean(axis, keepdims=True)) / (cosines.std(axis, keepdims=True) + np.float32(1e-6))
    return total


def _parted(text: str) -> str:
    """Put the parts of identifiers behind them: "maxRetries" is read as "maxRetries max Retries" too."""
    return _WORD.sub(lambda match: " ".join([match.group(), *_parts(match.group())]), text)


def _parts(word: str) -> list[str]:
    parts = _PARTS.findall(word)
    capital = any(one.islower() and other.isupper() for one, other in pairwise(word))
    return parts if len(parts) > 1 and (capital or "_" in word) else []


def _words(sources: Sequence[str], targets: Sequence[str], terms: Terms) -> Matrix:
    """Return the TF-IDF cosines of all pairs."""
    bags = [[Counter(terms(text)) for text in checked(texts)] for texts in (sources, targets)]
    frequency = Counter(term for side in bags for bag in side for term in bag)
    count = len(sources) + len(targets)
    rarity = {term: np.log1p(count / times) for term, times in frequency.items()}
    postings: dict[str, tuple[list[int], list[float]]] = {}
    for place, weights in enumerate(_unit(bag, rarity) for bag in bags[1]):
        for term, weight in weights.items():
            rows, values = postings.setdefault(term, ([], []))
            rows.append(place)
            values.append(weight)
    arrays = {term: (np.array(rows), np.array(values, np.float32)) for term, (rows, values) in postings.items()}
    cosines = np.zeros((len(sources), len(targets)), np.float32)
    for row, bag in enumerate(checked(bags[0])):
        for term, weight in _unit(bag, rarity).items():
            if term in arrays:
                places, values = arrays[term]
                cosines[row, places] += np.float32(weight) * values
    return cosines


def _unit(bag: Counter[str], rarity: dict[str, float]) -> dict[str, float]:
    weights = {term: (1 + np.log(times)) * rarity[term] for term, times in bag.items()}
    length = np.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: float(weight / length) for term, weight in weights.items()}


def _best_pieces(here: Matrix, targets: Sequence[str], there: Matrix, embed: Embed) -> Matrix:
    """Return for each pair the cosine of the target's best piece; a short target is its only one."""
    cosines = here @ there.T
    for place, text in enumerate(checked(targets)):
        words = text.split()
        if len(words) > _PIECE:
            pieces = [" ".join(words[at : at + _PIECE]) for at in range(0, len(words), _PIECE)][:_MOST_PIECES]
            cosines[:, place] = (here @ embed(pieces).T).max(axis=1)
    return cosines

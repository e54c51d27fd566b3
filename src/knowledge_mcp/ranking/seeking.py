"""How probable it is that a sentence of a document says what is demanded, and which of its sentences say it best.

Two numbers tell: how much of the demand's words a sentence has, rare ones counting more, and how near their embeddings
are. Both are absolute, so that a document that has nothing to do with a demand has no evidence for it. The same three
constants hold for all documents: `python -m benchmarks.checking` fits them with each set left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.support.checkpoints import checked

Matrix = NDArray[np.float32]
ODDS = (-3.86, 2.28, 5.35)
"""Log-odds at zero, for all of the demand's words, and for a cosine of one: fitted on all sets by the benchmark, which
also shows how they move with any one left out."""

Terms = Callable[[str], Sequence[str]]
Embed = Callable[[Sequence[str]], Matrix]


class Seeker:
    """Find the sentences that say what is demanded.

    Args:
        terms: turns text into terms, as `Analyser.document_terms`.
        embed: turns texts into unit vectors, shape (texts, dimensions).
    """

    def __init__(self, terms: Terms, embed: Embed) -> None:
        self._terms, self._embed = terms, embed

    def __call__(self, wanted: Sequence[str], sentences: Sequence[str], most: int) -> list[list[tuple[int, float]]]:
        """Return for each wanted text the places of the best sentences with their probability, best first."""
        if not wanted or not sentences:
            return [[] for _ in wanted]
        start, words, near = ODDS
        found: list[list[tuple[int, float]]] = []
        for share, cosine in zip(*shares(wanted, sentences, self._terms, self._embed), strict=True):
            order = np.argsort(-(share + cosine), kind="stable")[:most]
            chances = 1 / (1 + np.exp(-(start + words * share[order] + near * cosine[order])))
            found.append([(int(place), float(chance)) for place, chance in zip(order, chances, strict=True)])
        return found


def shares(wanted: Sequence[str], sentences: Sequence[str], terms: Terms, embed: Embed) -> tuple[Matrix, Matrix]:
    """Tell of all pairs the share of the wanted words that a sentence has, and the cosine; shape (wanted, sentences).

    A word counts by the logarithm of how rare it is among the sentences; one that is in none counts most.
    """
    postings: dict[str, list[int]] = {}
    for place, sentence in enumerate(checked(sentences)):
        for term in set(terms(sentence)):
            postings.setdefault(term, []).append(place)
    count = len(sentences) + 1
    had = np.zeros((len(wanted), len(sentences)), np.float32)
    for row, text in enumerate(checked(wanted)):
        weights = {term: float(np.log(count / (len(postings.get(term, ())) + 0.5))) for term in Counter(terms(text))}
        total = sum(weights.values()) or 1.0
        for term, weight in weights.items():
            had[row, postings.get(term, [])] += np.float32(weight / total)
    return had, embed(list(wanted)) @ embed(list(sentences)).T

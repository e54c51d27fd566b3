"""The probability that two texts of two sets belong together, and that a sentence says what is demanded.

A cosine alone means little, because some texts are close to everything. So a pair is rated by how much closer it is
than the nearest neighbours of its row and column on average (cross-domain similarity local scaling, Conneau et al.
2018). Long texts also have more links than short ones at the same closeness. A logistic regression on these two, with
the same three parameters for all sets, gives the probability, from which the expected number of links follows. The
parameters are fitted by `python -m benchmarks.tracing`, with each set left out.

A sentence is rated by two numbers: the share of the demand's words in it, weighted by rarity, and the cosine of the
embeddings. Both are absolute, so a document that has nothing to do with a demand has no evidence for it. The same three
parameters hold for all documents: `python -m benchmarks.checking` fits them with each set left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.checkpoints import check_each, checkpoint

Matrix = NDArray[np.float32]
ODDS = (-3.86, 2.28, 5.35)
"""Intercept of the log-odds, and their weights of the share of words and of the cosine. Fitted on all sets by the
benchmark, which also shows how they move with each one left out.
"""

Terms = Callable[[str], Sequence[str]]
Embed = Callable[[Sequence[str]], Matrix]


class EvidenceFinder:
    """Finds the sentences that say what is demanded.

    Args:
        terms: turns text into terms, as `Analyser.document_terms`.
        embed: turns texts into unit vectors, shape (texts, dimensions).
    """

    def __init__(self, terms: Terms, embed: Embed) -> None:
        self._terms, self._embed = terms, embed

    def __call__(self, queries: Sequence[str], sentences: Sequence[str], most: int) -> list[list[tuple[int, float]]]:
        """Return for each query the indexes of the `most` best sentences with their probabilities, best first."""
        if not queries or not sentences:
            return [[] for _ in queries]
        start, words, near = ODDS
        found: list[list[tuple[int, float]]] = []
        for share, cosine in shares(queries, sentences, self._terms, self._embed):
            order = np.argsort(-(share + cosine), kind="stable")[:most]
            chances = 1 / (1 + np.exp(-(start + words * share[order] + near * cosine[order])))
            found.append([(int(place), float(chance)) for place, chance in zip(order, chances, strict=True)])
        return found


_PAIRS_AT_ONCE = 10_000_000
"""Pairs of demand and sentence held at a time, 80 MB; a standard and a long report have 100 million pairs."""


def shares(
    queries: Sequence[str], sentences: Sequence[str], terms: Terms, embed: Embed
) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield for each query the share of its words in each sentence, and the cosines, both of shape (sentences,).

    Words are weighted by inverse document frequency over the sentences; a word that occurs in none has the largest
    weight.
    """
    postings: dict[str, list[int]] = {}
    for place, sentence in enumerate(check_each(sentences)):
        for term in set(terms(sentence)):
            postings.setdefault(term, []).append(place)
    count = len(sentences) + 1
    query_vectors, sentence_vectors = embed(list(queries)), embed(list(sentences)).T
    step = max(_PAIRS_AT_ONCE // len(sentences), 1)
    for first in check_each(range(0, len(queries), step)):
        cosines = query_vectors[first : first + step] @ sentence_vectors
        for text, cosine in zip(queries[first : first + step], cosines, strict=True):
            own = dict.fromkeys(terms(text))
            weights = {term: float(np.log(count / (len(postings.get(term, ())) + 0.5))) for term in own}
            total = sum(weights.values()) or 1.0
            had = np.zeros(len(sentences), np.float32)
            for term, weight in weights.items():
                had[postings.get(term, [])] += np.float32(weight / total)
            yield had, cosine


WEIGHTS = (-3.89, 0.391, 0.415)
"""Intercept of the log-odds, and their weights of closeness and of the logarithm of both texts' numbers of terms.
Fitted on all six public sets by `python -m benchmarks.tracing`, which also shows how little they move with each one
left out.
"""
RELATED = 0.44
"""Half way between the smallest value of two sets that belong together (.48) and the largest of two that do not (.40),
over all pairs of the public sets, with the default model: `python -m benchmarks.tracing --crossed`.
"""
_NEAREST = 6
"""Number of neighbours that a pair is compared with; 4 to 8 give about the same result."""
_WORDS = 0.5
"""Weight of the cosine of words relative to that of character n-grams, which partly measure the same; 0 to 1 give
nearly the same result.
"""
_RUN = 5
"""Length of the character n-grams; 4 gives about the same result, 3 a worse one."""
_MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Odd multiplier, so that no character is lost when the hash overflows."""
_PIECE = 60
"""Words per piece of a long text, whose best piece counts in addition to the whole; 30 to 60 give about the same
result.
"""
_MOST_PIECES = 200
_BLOCK = 512
MOST_PROPOSED = 500_000
"""Proposed links at once, each with its evidence, 2 kB: made items have a hundredth of their pairs (1,500 by 1,500)."""
MOST_PAIRS = 50_000_000
"""Twice the pairs of 5,000 by 5,000 items, which take 450 MiB: `python -m benchmarks.tracing --size 5000`."""
_LEAST = 0.01
"""Less probable pairs cannot be above the cut; only their sum matters for it."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close all pairs are.

    Attributes:
        nearer: how much closer each pair is than its neighbours, shape (sources, targets); -inf if the texts share no
            term, because then nothing could be shown as evidence.
        sizes: log(1 + number of distinct terms) of each source, and of each target.
        median: median cosine of the items with their nearest item on the other side; the larger of the two sides.
    """

    nearer: Matrix
    sizes: tuple[Matrix, Matrix]
    median: float


_AT_ONCE = 256


def embed_as_matrix(embed: Callable[[Sequence[str]], Sequence[bytes]]) -> Embed:
    """Return a function that embeds texts in batches and stacks the vectors into a matrix."""

    def all_of(texts: Sequence[str]) -> Matrix:
        slices = (list(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE))
        return np.stack([np.frombuffer(vector, "<f4") for part in check_each(slices) for vector in embed(part)])

    return all_of


class Linker:
    """Proposes links between two lists of texts.

    Args:
        terms: turns text into terms, as `Analyser.document_terms`.
        embed: turns texts into unit vectors, shape (texts, dimensions).
    """

    def __init__(self, terms: Terms, embed: Embed) -> None:
        self._terms, self.embed = terms, embed

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[list[tuple[int, int, float]], float, bool]:
        """Return proposed links.

        Args:
            sources, targets: the texts.
            least: fraction of the cut-off probability that a pair must reach.

        Returns:
            The pairs (source, target, probability), best first; the probability from which a link is likely; and
            whether the two lists are about the same subject at all, because ratings are relative to the two lists.

        Raises:
            InvalidInputError: there are too many pairs, or too many that may belong together.
        """
        if not sources or not targets:
            return [], 1.0, True
        if len(sources) * len(targets) > MOST_PAIRS:
            raise InvalidInputError(
                f"{len(sources)} items and {len(targets)} make more than {MOST_PAIRS} pairs, the most to rate at once.",
                suggestion="Trace a part at a time: a chapter, a folder, a document.",
            )
        rated = self.closeness(sources, targets)
        chances = probabilities(ratings(rated))
        cut = cut_of(chances)
        alike = chances >= max(least * cut, _LEAST)
        if np.count_nonzero(alike) > MOST_PROPOSED:
            raise InvalidInputError(
                f"More than {MOST_PROPOSED:,} pairs of the items are alike: most of them differ in a few words only.",
                suggestion="Trace a part at a time, or leave out what repeats one text, such as rows of a table.",
            )
        rows, columns = np.nonzero(alike)
        values = chances[rows, columns]
        order = np.lexsort((columns, rows, -values))
        pairs = [(int(rows[each]), int(columns[each]), float(values[each])) for each in order]
        return pairs, likely_from(chances, cut), rated.median >= RELATED

    def closeness(self, sources: Sequence[str], targets: Sequence[str]) -> Closeness:
        """Return the ratings from which probabilities are computed, see the function `closeness`."""
        return closeness(sources, targets, self._terms, self.embed)


def ratings(rated: Closeness) -> Matrix:
    """Return the log-odds that each pair belongs together, shape (sources, targets); overwrites `nearer`."""
    start, near, long = (np.float32(each) for each in WEIGHTS)
    odds = rated.nearer
    odds *= near
    odds += start + long * rated.sizes[0][:, None]
    odds += long * rated.sizes[1][None, :]
    return odds


def closeness(sources: Sequence[str], targets: Sequence[str], terms: Terms, embed: Embed) -> Closeness:
    """Compute the closeness of all pairs: the sum of four standardised cosines, relative to their neighbours."""
    ours, theirs = [add_identifier_parts(text) for text in sources], [add_identifier_parts(text) for text in targets]
    numbers: dict[str, int] = {}
    bags = [_bags(map(terms, texts), numbers) for texts in (ours, theirs)]
    total = _cosines(*bags)
    without_common_words = total == 0
    _standardise(total)
    total *= _WORDS
    runs = _cosines(*([_runs(text) for text in check_each(texts)] for texts in (ours, theirs)))
    _standardise(runs)
    total += runs
    del runs
    here, there = embed(ours), embed(theirs)
    cosines = here @ there.T
    median = max(float(np.median(cosines.max(axis))) for axis in (0, 1))
    best = _best_pieces(cosines.copy(), (here, there), (ours, theirs), embed)
    for each in (cosines, best):
        _standardise(each)
        total += each
    del cosines, best
    checkpoint()
    near = [_nearest(total, axis) for axis in (0, 1)]
    total *= 2
    total -= near[0]
    total -= near[1]
    total[without_common_words] = -np.inf
    sizes = [np.log1p(np.array([len(bag.keys) for bag in side], np.float32)) for side in bags]
    return Closeness(total, (sizes[0], sizes[1]), median)


def probabilities(rated: Matrix) -> Matrix:
    """Convert log-odds into probabilities."""
    found = np.empty_like(rated)
    for at in range(0, len(rated), _BLOCK):
        checkpoint()
        with np.errstate(over="ignore"):  # 1 / (1 + inf) is 0, as intended
            found[at : at + _BLOCK] = 1 / (1 + np.exp(-rated[at : at + _BLOCK]))
    return found


def cut_of(chances: Matrix) -> float:
    """Return the cut-off probability that maximises the expected F1; 1 if no pair is probable."""
    ordered = np.sort(chances[chances >= _LEAST])[::-1]
    if not ordered.size:
        return 1.0
    hits = np.cumsum(ordered, dtype=np.float64)
    expected = 2 * hits / (np.arange(1, len(ordered) + 1) + float(chances.sum(dtype=np.float64)))
    return float(ordered[int(expected.argmax())])


def likely_from(chances: Matrix, cut: float) -> float:
    """Return the probability from which a link is likely: the cut, or 1 if there is probably no link at all.

    Among a few items that have nothing in common, some pair is always the best. The expected F1 of proposing it is then
    smaller than the probability that proposing none is right.
    """
    candidates = chances[chances >= _LEAST].astype(np.float64)
    with np.errstate(divide="ignore"):  # a pair with probability 1 makes "no link" impossible
        none = np.exp(np.log1p(-candidates).sum())
    accepted = candidates[candidates >= cut]
    all_hits = accepted.size + float(chances.sum(dtype=np.float64))
    expected = 2 * accepted.sum() / all_hits if all_hits else 0.0
    return 1.0 if none > expected else cut


def _standardise(cosines: Matrix) -> None:
    """Standardise cosines in place: subtract their mean and divide by their standard deviation."""
    cosines -= cosines.mean(dtype=np.float64)
    cosines /= np.sqrt(np.vdot(cosines, cosines) / cosines.size) + np.float32(1e-6)


def _nearest(rated: Matrix, axis: int) -> Matrix:
    """Return the mean of the largest values of each row (axis 1) or column (axis 0), shaped to be subtracted."""
    most = min(_NEAREST, rated.shape[axis])
    lines = rated if axis else rated.T
    blocks = [
        np.partition(lines[at : at + _BLOCK], -most, axis=1)[:, -most:].mean(1) for at in range(0, len(lines), _BLOCK)
    ]
    means = np.concatenate(blocks)
    return means[:, None] if axis else means[None, :]


def add_identifier_parts(text: str) -> str:
    """Append the parts of identifiers: "maxRetries" becomes "maxRetries max Retries"."""
    return _WORD.sub(lambda match: " ".join([match.group(), *_parts(match.group())]), text)


def _parts(word: str) -> list[str]:
    parts = _PARTS.findall(word)
    capital = any(one.islower() and other.isupper() for one, other in pairwise(word))
    return parts if len(parts) > 1 and (capital or "_" in word) else []


@dataclass(frozen=True, slots=True)
class _Bag:
    """The distinct parts of a text as sorted numbers, and their counts."""

    keys: NDArray[np.uint64]
    times: NDArray[np.int64]


def _bags(texts: Iterable[Sequence[str]], numbers: dict[str, int]) -> list[_Bag]:
    """Create bags of terms; `numbers` maps terms to numbers, and new terms are added."""
    found: list[_Bag] = []
    for terms in check_each(texts):
        keys = np.array([numbers.setdefault(term, len(numbers)) for term in terms], np.uint64)
        found.append(_Bag(*np.unique(keys, return_counts=True)))
    return found


def _runs(text: str) -> _Bag:
    """Create the bag of character n-grams, including spaces: "logged in" and "logging" have "logg" in common."""
    signs = np.frombuffer(" ".join(text.lower().split()).encode("utf-32-le", "replace"), "<u4").astype(np.uint64)
    count = max(len(signs) - _RUN + 1, 0)
    keys = np.zeros(count, np.uint64)
    for place in range(_RUN):
        keys = keys * _MIXING + signs[place : place + count]
    return _Bag(*np.unique(keys, return_counts=True))


def _cosines(sources: Sequence[_Bag], targets: Sequence[_Bag]) -> Matrix:
    """Return the TF-IDF cosines of all pairs."""
    known, frequency = np.unique(np.concatenate([bag.keys for bag in (*sources, *targets)]), return_counts=True)
    rarity = np.log1p((len(sources) + len(targets)) / frequency)

    def weights(bag: _Bag) -> NDArray[np.float64]:
        found = (1 + np.log(bag.times)) * rarity[np.searchsorted(known, bag.keys)]
        return found / (np.linalg.norm(found) or 1.0)

    keys = np.concatenate([bag.keys for bag in targets])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    rows = np.repeat(np.arange(len(targets), dtype=np.int32), [len(bag.keys) for bag in targets])[order]
    values = np.concatenate([weights(bag) for bag in targets]).astype(np.float32)[order]
    cosines = np.zeros((len(sources), len(targets)), np.float32)
    for row, bag in enumerate(check_each(sources)):
        first, last = (np.searchsorted(keys, bag.keys, side) for side in ("left", "right"))
        lengths = last - first
        places: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(
            first - np.cumsum(lengths) + lengths, lengths
        )
        products = values[places] * np.repeat(weights(bag), lengths)
        cosines[row] = np.bincount(rows[places], products, len(targets))
    return cosines


def _best_pieces(
    cosines: Matrix, vectors: tuple[Matrix, Matrix], texts: tuple[Sequence[str], Sequence[str]], embed: Embed
) -> Matrix:
    """Raise each pair's cosine to that of the best piece of either text with the whole other text."""
    for side, lines in ((1, cosines.T), (0, cosines)):
        others = vectors[1 - side]
        for place, text in enumerate(check_each(texts[side])):
            words = text.split()
            if len(words) > _PIECE:
                pieces = [" ".join(words[at : at + _PIECE]) for at in range(0, len(words), _PIECE)][:_MOST_PIECES]
                np.maximum(lines[place], (others @ embed(pieces).T).max(axis=1), out=lines[place])
    return cosines

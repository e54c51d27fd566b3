"""How probable it is that two texts of two sets belong together, and that a sentence says what is demanded.

A cosine means little by itself: some texts are near to everything. So a pair is told by how much nearer it is than the
nearest few of its row and of its column are on average (cross-domain similarity local scaling, Conneau et al. 2018).
And a long text has more links than a short one, however near. A logistic regression over these two, with the same three
numbers for all sets, gives the probability: how many links to expect follows from it. `python -m benchmarks.tracing`
fits the numbers with each set left out.

Of a sentence two numbers tell: how much of the demand's words it has, rare ones counting more, and how near the
embeddings are. Both are absolute, so that a document that has nothing to do with a demand has no evidence for it. The
same three constants hold for all documents: `python -m benchmarks.checking` fits them with each set left out.
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

    def __call__(self, queries: Sequence[str], sentences: Sequence[str], most: int) -> list[list[tuple[int, float]]]:
        """Return for each query the places of the best sentences with their probability, best first."""
        if not queries or not sentences:
            return [[] for _ in queries]
        start, words, near = ODDS
        found: list[list[tuple[int, float]]] = []
        for share, cosine in shares(queries, sentences, self._terms, self._embed):
            order = np.argsort(-(share + cosine), kind="stable")[:most]
            chances = 1 / (1 + np.exp(-(start + words * share[order] + near * cosine[order])))
            found.append([(int(place), float(chance)) for place, chance in zip(order, chances, strict=True)])
        return found


_SOUGHT_AT_ONCE = 10_000_000
"""Pairs of a demand and a sentence that are held at a time, 80 MB: a standard and a long report have 100 million."""


def shares(
    queries: Sequence[str], sentences: Sequence[str], terms: Terms, embed: Embed
) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield for each query the share of its words in each sentence, and the cosines; shape (sentences,).

    A word counts by the logarithm of how rare it is among the sentences; one that is in none counts most.
    """
    postings: dict[str, list[int]] = {}
    for place, sentence in enumerate(check_each(sentences)):
        for term in set(terms(sentence)):
            postings.setdefault(term, []).append(place)
    count = len(sentences) + 1
    asked, said = embed(list(queries)), embed(list(sentences)).T
    step = max(_SOUGHT_AT_ONCE // len(sentences), 1)
    for first in check_each(range(0, len(queries), step)):
        cosines = asked[first : first + step] @ said
        for text, cosine in zip(queries[first : first + step], cosines, strict=True):
            own = dict.fromkeys(terms(text))
            weights = {term: float(np.log(count / (len(postings.get(term, ())) + 0.5))) for term in own}
            total = sum(weights.values()) or 1.0
            had = np.zeros(len(sentences), np.float32)
            for term, weight in weights.items():
                had[postings.get(term, [])] += np.float32(weight / total)
            yield had, cosine


WEIGHTS = (-3.89, 0.391, 0.415)
"""Log-odds at zero, for one unit of closeness, and for one of the logarithm of both texts' terms: fitted on all six
public sets by `python -m benchmarks.tracing`, which also shows how little they move with any one left out."""
RELATED = 0.44
"""Half way between the least that two sets have which belong together (.48) and the most of two that do not (.40), of
all pairs of the public sets, with the default model: `python -m benchmarks.tracing --crossed`."""
_NEAREST = 6
"""Neighbours that a pair is compared with; 4 to 8 do alike."""
_WORDS = 0.5
"""What the cosine of words counts beside that of runs of letters, which is half the same; 0 to 1 do nearly alike."""
_RUN = 5
"""Letters of a run; 4 does alike, 3 worse."""
_MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no letter of a run is lost when its number wraps around."""
_PIECE = 60
"""Words of a piece of a long text, whose best one counts beside the whole; 30 to 60 do alike."""
_MOST_PIECES = 200
_BLOCK = 512
MOST_PAIRS = 50_000_000
"""Twice what 5,000 by 5,000 items make, which take 450 MiB: `python -m benchmarks.tracing --size 5000`."""
_LEAST = 0.01
"""Pairs less probable than that cannot be above the cut; only their sum counts for it."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Rated:
    """Hold the ratings of all pairs.

    Attributes:
        nearer: how much nearer than its neighbours each pair is, shape (sources, targets); -inf where no term is
            shared, as nothing could be shown that speaks for it.
        sizes: logarithm of one more than the different terms of each source, and of each target.
        median: cosine that half of the items have with the nearest of the other side, seen from the better side.
    """

    nearer: Matrix
    sizes: tuple[Matrix, Matrix]
    median: float


_AT_ONCE = 256


def embed_as_matrix(embed: Callable[[Sequence[str]], Sequence[bytes]]) -> Embed:
    """Make a matrix of the vectors that an embedder gives; it is asked for some texts at a time."""

    def all_of(texts: Sequence[str]) -> Matrix:
        slices = (list(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE))
        return np.stack([np.frombuffer(vector, "<f4") for part in check_each(slices) for vector in embed(part)])

    return all_of


class Linker:
    """Propose links between two lists of texts.

    Args:
        terms: turns text into terms, as `Analyser.document_terms`.
        embed: turns texts into unit vectors, shape (texts, dimensions).
    """

    def __init__(self, terms: Terms, embed: Embed) -> None:
        self._terms, self.embed = terms, embed

    def __call__(
        self, sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[list[tuple[int, int, float]], float, bool]:
        """Return the pairs whose probability is at least `least` times the one to cut at, best first, and that.

        Last comes whether the two are about the same thing at all: the ratings of pairs are relative to the two sets.
        """
        if not sources or not targets:
            return [], 1.0, True
        if len(sources) * len(targets) > MOST_PAIRS:
            raise InvalidInputError(
                f"{len(sources)} items and {len(targets)} make more than {MOST_PAIRS} pairs, which are rated at once.",
                suggestion="Trace a part at a time: a chapter, a folder, a document.",
            )
        rated = self.closeness(sources, targets)
        chances = probabilities(ratings(rated))
        cut = cut_of(chances)
        rows, columns = np.nonzero(chances >= max(least * cut, _LEAST))
        values = chances[rows, columns]
        order = np.lexsort((columns, rows, -values))
        pairs = [(int(rows[each]), int(columns[each]), float(values[each])) for each in order]
        return pairs, likely_from(chances, cut), rated.median >= RELATED

    def closeness(self, sources: Sequence[str], targets: Sequence[str]) -> Rated:
        """Tell what the probabilities come from, as the function of that name does."""
        return closeness(sources, targets, self._terms, self.embed)


def ratings(rated: Rated) -> Matrix:
    """Return the log-odds that each pair belongs together, shape (sources, targets), in the place of `nearer`."""
    start, near, long = (np.float32(each) for each in WEIGHTS)
    odds = rated.nearer
    odds *= near
    odds += start + long * rated.sizes[0][:, None]
    odds += long * rated.sizes[1][None, :]
    return odds


def closeness(sources: Sequence[str], targets: Sequence[str], terms: Terms, embed: Embed) -> Rated:
    """Tell how near all pairs are: four cosines, each in standard deviations, beside those of their neighbours."""
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
    return Rated(total, (sizes[0], sizes[1]), median)


def probabilities(rated: Matrix) -> Matrix:
    """Turn log-odds into probabilities."""
    found = np.empty_like(rated)
    for at in range(0, len(rated), _BLOCK):
        checkpoint()
        with np.errstate(over="ignore"):  # 1 / (1 + inf) is the 0 that is meant
            found[at : at + _BLOCK] = 1 / (1 + np.exp(-rated[at : at + _BLOCK]))
    return found


def cut_of(chances: Matrix) -> float:
    """Return the probability to cut at, so that the F1 to be expected is greatest; 1 where no pair is probable."""
    ordered = np.sort(chances[chances >= _LEAST])[::-1]
    if not ordered.size:
        return 1.0
    hits = np.cumsum(ordered, dtype=np.float64)
    expected = 2 * hits / (np.arange(1, len(ordered) + 1) + float(chances.sum(dtype=np.float64)))
    return float(ordered[int(expected.argmax())])


def likely_from(chances: Matrix, cut: float) -> float:
    """Return the probability from which on a link is likely: the cut, or 1 where probably there is no link at all.

    Of a few items that have nothing in common, some pair is always the best; the F1 to be expected of naming it is less
    than the probability that naming none is right.
    """
    candidates = chances[chances >= _LEAST].astype(np.float64)
    with np.errstate(divide="ignore"):  # a pair that is certain leaves no chance that there is none
        none = np.exp(np.log1p(-candidates).sum())
    accepted = candidates[candidates >= cut]
    all_hits = accepted.size + float(chances.sum(dtype=np.float64))
    expected = 2 * accepted.sum() / all_hits if all_hits else 0.0
    return 1.0 if none > expected else cut


def _standardise(cosines: Matrix) -> None:
    """Turn cosines into standard deviations from their mean, in place."""
    cosines -= cosines.mean(dtype=np.float64)
    cosines /= np.sqrt(np.vdot(cosines, cosines) / cosines.size) + np.float32(1e-6)


def _nearest(rated: Matrix, axis: int) -> Matrix:
    """Return the mean of the highest of each row (1) or column (0), to be taken from the matrix."""
    most = min(_NEAREST, rated.shape[axis])
    lines = rated if axis else rated.T
    blocks = [
        np.partition(lines[at : at + _BLOCK], -most, axis=1)[:, -most:].mean(1) for at in range(0, len(lines), _BLOCK)
    ]
    means = np.concatenate(blocks)
    return means[:, None] if axis else means[None, :]


def add_identifier_parts(text: str) -> str:
    """Put the parts of identifiers behind them: "maxRetries" is read as "maxRetries max Retries" too."""
    return _WORD.sub(lambda match: " ".join([match.group(), *_parts(match.group())]), text)


def _parts(word: str) -> list[str]:
    parts = _PARTS.findall(word)
    capital = any(one.islower() and other.isupper() for one, other in pairwise(word))
    return parts if len(parts) > 1 and (capital or "_" in word) else []


@dataclass(frozen=True, slots=True)
class _Bag:
    """Hold the different parts of a text as numbers in order, and how often each stands there."""

    keys: NDArray[np.uint64]
    times: NDArray[np.int64]


def _bags(texts: Iterable[Sequence[str]], numbers: dict[str, int]) -> list[_Bag]:
    """Make bags of terms; `numbers` has one for each and gets those of new ones."""
    found: list[_Bag] = []
    for terms in check_each(texts):
        keys = np.array([numbers.setdefault(term, len(numbers)) for term in terms], np.uint64)
        found.append(_Bag(*np.unique(keys, return_counts=True)))
    return found


def _runs(text: str) -> _Bag:
    """Make the bag of all runs of letters, blanks in them: "logged in" and "logging" have "logg" in common."""
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
    """Raise each pair's cosine to that of the best piece of either text with the whole of the other."""
    for side, lines in ((1, cosines.T), (0, cosines)):
        others = vectors[1 - side]
        for place, text in enumerate(check_each(texts[side])):
            words = text.split()
            if len(words) > _PIECE:
                pieces = [" ".join(words[at : at + _PIECE]) for at in range(0, len(words), _PIECE)][:_MOST_PIECES]
                np.maximum(lines[place], (others @ embed(pieces).T).max(axis=1), out=lines[place])
    return cosines

"""Measure `knowledge trace`: links found at its own threshold, their order, and how true its probabilities are.

Usage: `python -m benchmarks.tracing [--data FOLDER] [--size N]`

Every set below `$KNOWLEDGE_EVAL_DATA/trace` (else `../shared/data/trace`, told loudly where there are none) is traced
with one configuration. P, R and F1 are over all pairs at the product's own threshold; `best F1` is that of the
best threshold in hindsight. MAP is the mean over the items that have links. `error` is the mean distance between
probabilities and the share that is right, in ten bins, over the pairs of .05 and more; `expected` is how many links
the probabilities add up to, for one that there is.

The second table leaves one set out at a time: its numbers come from the others alone. The last row of it fits all sets,
which is what `ranking/linking.py` holds. The third has the plain ways, TF-IDF (log tf, Porter2, parts of identifiers)
and BM25 (k1 .9, b .4): in hindsight, and cut where the mean F1 over the other sets is best.

`--crossed` prints the cosine that tells whether two sets have to do with each other, of all pairs of sets.
`--size` measures time and memory over that many made items on each side instead.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp import wiring
from knowledge_mcp.engine.tracing.links import TraceItem, trace
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking import linking
from knowledge_mcp.settings import load_settings

Scores = NDArray[np.float64]
_COUNTED = 0.05
_BINS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold one set: both sides, and which pairs are links, shape (sources, targets)."""

    name: str
    sources: tuple[TraceItem, ...]
    targets: tuple[TraceItem, ...]
    right: NDArray[np.bool_]


def judged(folder: Path) -> Judged:
    """Read one set."""
    sides = [_items(folder / name) for name in ("queries.jsonl", "corpus.jsonl")]
    places = [{each.id: place for place, each in enumerate(side)} for side in sides]
    right = np.zeros((len(sides[0]), len(sides[1])), bool)
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        source, target, grade = line.split("\t")
        if int(grade) > 0:
            right[places[0][source], places[1][target]] = True
    return Judged(folder.name, sides[0], sides[1], right)


def _items(path: Path) -> tuple[TraceItem, ...]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return tuple(TraceItem(row["_id"], row.get("title", ""), row["text"], row["_id"]) for row in rows)


# ---- measures


def precision_recall(found: NDArray[np.bool_], right: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return precision, recall and F1 over all pairs."""
    hits = float((found & right).sum())
    precision, recall = hits / max(found.sum(), 1), hits / max(right.sum(), 1)
    return precision, recall, 2 * hits / max(found.sum() + right.sum(), 1)


def best_f1(scores: Scores, right: NDArray[np.bool_]) -> float:
    """Return the best F1 of any threshold."""
    order = np.argsort(-scores, axis=None, kind="stable")
    hits = np.cumsum(right.ravel()[order])
    return float((2 * hits / (np.arange(1, hits.size + 1) + right.sum())).max())


def mean_average_precision(scores: Scores, right: NDArray[np.bool_]) -> float:
    """Return the mean over the sources that have links."""
    found: list[float] = []
    for row, hits in zip(scores, right, strict=True):
        if hits.any():
            ordered = hits[np.argsort(-row, kind="stable")]
            ranks = np.flatnonzero(ordered) + 1
            found.append(float((np.arange(1, len(ranks) + 1) / ranks).mean()))
    return float(np.mean(found))


def calibration_error(chances: Scores, right: NDArray[np.bool_]) -> float:
    """Return the mean distance between probability and share of links, bins weighted by their pairs."""
    kept, hits = chances[chances >= _COUNTED], right[chances >= _COUNTED]
    bins = np.minimum((kept * _BINS).astype(int), _BINS - 1)
    return sum(abs(float(kept[bins == each].sum() - hits[bins == each].sum())) for each in range(_BINS)) / max(
        kept.size, 1
    )


# ---- plain ways


def by_cosine(one: Judged) -> Scores:
    """Rate pairs by the cosine of TF-IDF vectors."""
    bags = _bags(one)
    frequency = Counter(term for side in bags for bag in side for term in bag)
    count = sum(map(len, bags))
    sides = [[_unit(bag, frequency, count) for bag in side] for side in bags]
    return _products(sides[0], sides[1])


def by_bm25(one: Judged) -> Scores:
    """Rate pairs by BM25."""
    bags = _bags(one)
    frequency = Counter(term for bag in bags[1] for term in bag)
    lengths = [bag.total() for bag in bags[1]]
    mean, count = sum(lengths) / len(lengths), len(lengths)
    weights = [
        {
            term: math.log(1 + (count - frequency[term] + 0.5) / (frequency[term] + 0.5))
            * times
            * 1.9
            / (times + 0.9 * (0.6 + 0.4 * length / mean))
            for term, times in bag.items()
        }
        for bag, length in zip(bags[1], lengths, strict=True)
    ]
    return _products([dict.fromkeys(bag, 1.0) for bag in bags[0]], weights)


def _bags(one: Judged) -> list[list[Counter[str]]]:
    terms = EnglishAnalyser().document_terms
    return [
        [Counter(terms(linking.add_identifier_parts(each.words))) for each in side]
        for side in (one.sources, one.targets)
    ]


def _unit(bag: Counter[str], frequency: Counter[str], count: int) -> dict[str, float]:
    weights = {term: (1 + math.log(times)) * math.log1p(count / frequency[term]) for term, times in bag.items()}
    length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def _products(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]) -> Scores:
    return np.array([[sum(w * b.get(t, 0.0) for t, w in a.items()) for b in theirs] for a in ours])


# ---- leaving one out


@dataclass(frozen=True, slots=True)
class Told:
    """Hold the product's features of a set: 1, closeness and sizes, shape (pairs, 3)."""

    columns: Scores
    right: NDArray[np.bool_]

    def chances(self, weights: Scores) -> Scores:
        """Return probabilities, shape (sources, targets)."""
        shown = np.isfinite(self.columns[:, 1])
        odds = np.where(shown[:, None], self.columns, 0) @ weights
        return np.where(shown, 1 / (1 + np.exp(-odds)), 0).reshape(self.right.shape)


def measured(one: Judged, linker: linking.Linker) -> Told:
    """Measure all pairs of a set."""
    rated = linker.closeness([each.words for each in one.sources], [each.words for each in one.targets])
    sizes = rated.sizes[0][:, None] + rated.sizes[1][None, :]
    columns = np.stack([np.ones(sizes.size), rated.nearer.ravel(), sizes.ravel()], 1)
    return Told(columns.astype(np.float64), one.right)


def fitted(sets: Sequence[Told]) -> Scores:
    """Fit the regression by Newton's method; the links of each set weigh as much as those of any other."""
    kept = [np.isfinite(each.columns[:, 1]) for each in sets]
    columns = np.concatenate([each.columns[here] for each, here in zip(sets, kept, strict=True)])
    right = np.concatenate([each.right.ravel()[here] for each, here in zip(sets, kept, strict=True)])
    weights = np.concatenate([np.full(here.sum(), 1 / one.right.sum()) for one, here in zip(sets, kept, strict=True)])
    found = np.zeros(columns.shape[1])
    for _ in range(40):
        chances = 1 / (1 + np.exp(-(columns @ found)))
        slope = columns.T @ (weights * (right - chances))
        bend = (columns * (weights * chances * (1 - chances))[:, None]).T @ columns
        found += np.linalg.solve(bend, slope)
    return found


# ---- sets that have nothing to do with each other


def print_crossed(sets: Sequence[Judged], linker: linking.Linker) -> None:
    """Print the median of the nearest cosines, first of the sets as they are, then of each with the others' targets."""
    for is_own in (True, False):
        for one in sets:
            found = [
                (linker.closeness(_texts(one.sources), _texts(other.targets)).median, other.name)
                for other in sets
                if (other is one) == is_own
            ]
            print(one.name, *(f"{name} {median:.2f}" for median, name in sorted(found, reverse=True)), sep="; ")


def _texts(items: Sequence[TraceItem]) -> list[str]:
    return [each.words for each in items]


# ---- size


def sized(linker: linking.Linker, count: int) -> str:
    """Trace made items: forty words each, of a vocabulary of 4,000 with a long tail."""
    dice = random.Random(7)
    words = ["".join(dice.choices("abcdefghijklmnoprstuvw", k=dice.randint(4, 9))) for _ in range(4000)]
    shares = [1 / (place + 10) for place in range(len(words))]
    sides = [
        [
            TraceItem(f"{name}-{place}", "", " ".join(dice.choices(words, shares, k=40)) + ".", name)
            for place in range(count)
        ]
        for name in ("from", "to")
    ]
    began, used = time.perf_counter(), time.process_time()
    found = trace(sides[0], sides[1], linker)
    spent, used = time.perf_counter() - began, time.process_time() - used
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cost = f"{spent:.0f} s ({used:.0f} s of processor), {most:.0f} MiB at most"
    return f"{count} × {count} items: {cost}, {len(found.links)} links"


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    options.add_argument("--size", type=int)
    options.add_argument("--crossed", action="store_true")
    asked = options.parse_args()
    linker = wiring.build_linker(load_settings())
    if asked.size:
        print(sized(linker, asked.size))
        return
    if not (asked.data / "trace").is_dir():
        print(f"SKIPPED: there is no {asked.data / 'trace'}.")
        return
    sets = [judged(path) for path in sorted((asked.data / "trace").iterdir())]
    if asked.crossed:
        print_crossed(sets, linker)
        return
    pairs = [measured(one, linker) for one in sets]
    print("| set | P | R | F1 | best F1 | MAP | error | expected |\n|---|---|---|---|---|---|---|---|")
    rows = [_row(each, np.array(linking.WEIGHTS)) for each in pairs]
    for one, row in zip(sets, rows, strict=True):
        print(f"| {one.name} | {_cells(row)} |")
    print(f"| mean | {_cells(np.mean(rows, 0))} |\n")
    print(
        "| left out | P | R | F1 | best F1 | MAP | error | expected | fitted |\n|---|---|---|---|---|---|---|---|---|"
    )
    rows.clear()
    for place, one in enumerate(sets):
        weights = fitted([each for other, each in enumerate(pairs) if other != place])
        rows.append(_row(pairs[place], weights))
        print(f"| {one.name} | {_cells(rows[-1])} | {_cells(weights)} |")
    print(f"| mean | {_cells(np.mean(rows, 0))} | all sets: {_cells(fitted(pairs))} |\n")
    _print_plain(sets)


def _row(one: Told, weights: Scores) -> Scores:
    chances = one.chances(weights)
    found = chances >= linking.cut_of(chances.astype(np.float32))
    ordered = (best_f1(chances, one.right), mean_average_precision(chances, one.right))
    expected = chances.sum() / one.right.sum()
    return np.array([*precision_recall(found, one.right), *ordered, calibration_error(chances, one.right), expected])


def _cells(values: Scores) -> str:
    return " | ".join(f"{each:.3f}" for each in values)


def _print_plain(sets: Sequence[Judged]) -> None:
    print("| set | TF-IDF best F1 | F1, cut of others | MAP | BM25 best F1 | F1 | MAP |\n|---|---|---|---|---|---|---|")
    scores = [[way(one) for one in sets] for way in (by_cosine, by_bm25)]
    columns: list[list[tuple[float, float, float]]] = []
    for found in scores:
        cuts = np.quantile(np.concatenate([each.ravel() for each in found]), np.linspace(0.5, 0.9995, 200))
        table = np.array(
            [
                [precision_recall(each >= cut, one.right)[2] for cut in cuts]
                for one, each in zip(sets, found, strict=True)
            ]
        )
        columns.append(
            [
                (
                    best_f1(each, one.right),
                    float(table[place, int(np.delete(table, place, 0).mean(0).argmax())]),
                    mean_average_precision(each, one.right),
                )
                for place, (one, each) in enumerate(zip(sets, found, strict=True))
            ]
        )
    for place, one in enumerate(sets):
        print(f"| {one.name} | {_cells(np.array([*columns[0][place], *columns[1][place]]))} |")


if __name__ == "__main__":
    main()

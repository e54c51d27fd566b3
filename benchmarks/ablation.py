"""What each part of ranking is worth: nDCG@10 on labelled sets, one row for each change of one part.

Usage: `python -m benchmarks.ablation [SET …] [--data FOLDER] [--work FOLDER] [--parts PART …] [--json FILE]`

Sets are BEIR folders below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`; without the folder the script says so and
ends. Readers, chunkers, local model, analyser, BM25's formula and fusion are the product's own (`benchmarks.prepared`);
`--work` keeps what was embedded. A document counts at the place of its best chunk; gain is 2^g - 1. `*` marks a set
below its better leg by more than .01. The last rows choose lambda on all sets but one and measure it on that one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.prepared import SCORED, Prepared, prepare
from benchmarks.retrieval import ndcg
from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.engine.search import blending
from knowledge_mcp.language.names import WEIGHT_OF_PROSE, asks_for_symbol, weight_of_words
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.stores.shared.ranking import K1, B, inverse_frequency, term_counts

DEPTH = 100
LAMBDAS = (2.0, 2.8, 3.5, blending.WORDS, 5.0, 6.0)

Floats = NDArray[np.float64]
Ranking = list[tuple[int, float]]
"""Chunks by their place, with scores."""

Method = Callable[["Bench", int], Ranking]


@dataclass
class Bench:
    """Hold one set with the scores of both legs for every question and chunk."""

    prepared: Prepared
    dense: NDArray[np.float32]
    lexical: NDArray[np.float32]
    terms: list[int]
    known: dict[str, float] = field(default_factory=dict[str, float])

    def legs(self, question: int, depth: int = DEPTH) -> tuple[list[LegHit], list[LegHit]]:
        """Return both legs as a store would; ids are places, with as many digits as it takes."""
        return _leg(self.dense[question], depth), [
            hit for hit in _leg(self.lexical[question], depth) if hit.score > 0.0
        ]

    def in_full(self, question: int) -> float:
        """Return the words' greatest sum as the engine estimates it."""
        return blending.words_in_full(self.terms[question], len(self.prepared.chunks))

    def measure(self, method: Method) -> float:
        """Return the mean nDCG@10 of a method."""
        total = 0.0
        for number, (key, _) in enumerate(self.prepared.questions):
            ranked = sorted(method(self, number), key=lambda hit: (-hit[1], self.prepared.chunks[hit[0]].id))
            names = dict.fromkeys(
                self.prepared.documents[int(self.prepared.owners[place])] for place, _ in ranked[:DEPTH]
            )
            total += ndcg(list(names), dict(self.prepared.grades[key]))
        return total / len(self.prepared.questions)


def bench_of(
    prepared: Prepared, analyser: EnglishAnalyser, *, context: bool = True, k1: float = K1, b: float = B
) -> Bench:
    """Score every chunk for every question by both legs."""
    texts = [chunk.embedding_text if context else chunk.content for chunk in prepared.chunks]
    counts = [term_counts(analyser.document_terms(text)) for text in texts]
    lengths = np.array([sum(each.values()) for each in counts], float)
    norms = k1 * (1.0 - b + b * lengths / (lengths.mean() or 1.0))
    postings: dict[str, tuple[list[int], list[int]]] = {}
    for place, each in enumerate(counts):
        for term, count in each.items():
            places, numbers = postings.setdefault(term, ([], []))
            places.append(place)
            numbers.append(count)
    asked = [analyser.query_terms(text) for _, text in prepared.questions]
    lexical = np.zeros((len(asked), len(texts)), np.float32)
    for row, terms in enumerate(asked):
        for term in terms:
            places, numbers = postings.get(term, ([], []))
            share = np.array(numbers, float)
            lexical[row, places] += inverse_frequency(len(texts), len(places)) * share / (share + norms[places])
    words = [len(analyser.query_words(text)) for _, text in prepared.questions]
    return Bench(prepared, prepared.asked @ prepared.vectors.T, lexical, words)


def _leg(scores: NDArray[np.float32], depth: int) -> list[LegHit]:
    best = np.argpartition(-scores, depth)[:depth] if depth < len(scores) else np.arange(len(scores))
    best = best[np.argsort(-scores[best], kind="stable")]
    return [LegHit(str(place), float(scores[place])) for place in best.tolist()]


# ---- methods


def one_leg(bench: Bench, question: int, *, lexical: bool) -> Ranking:
    """Rank by one leg."""
    return [(int(hit.chunk_id), hit.score) for hit in bench.legs(question)[lexical]]


def by_ranks(bench: Bench, question: int, *, weight: float, constant: int | None = None) -> Ranking:
    """Fuse by reciprocal ranks, the product's own where the constant is its own."""
    dense, lexical = bench.legs(question)
    if constant is None:
        return [(int(hit[0]), hit[1]) for hit in fuse(dense, lexical, weight, DEPTH)]
    scores: dict[int, float] = {}
    for leg, share in ((dense, weight), (lexical, 1.0 - weight)):
        for rank, hit in enumerate(leg, start=1):
            scores[int(hit.chunk_id)] = scores.get(int(hit.chunk_id), 0.0) + share / (constant + rank)
    return list(scores.items())


def by_distribution(bench: Bench, question: int, *, weight: float, least_to_most: bool = False) -> Ranking:
    """Fuse scores laid between three deviations around the mean of each leg, or between its least and its most."""
    dense, lexical = bench.legs(question)
    scores: dict[int, float] = {}
    for leg, share in ((dense, weight), (lexical, 1.0 - weight)):
        found = np.array([hit.score for hit in leg], float)
        if not len(found):
            continue
        low, width = found.mean() - 3.0 * found.std(), 6.0 * found.std()
        if least_to_most:
            low, width = found.min(), np.ptp(found)
        laid = np.clip((found - low) / (width or 1.0), 0.0, 1.0)
        for hit, score in zip(leg, laid.tolist(), strict=True):
            scores[int(hit.chunk_id)] = scores.get(int(hit.chunk_id), 0.0) + share * score
    return list(scores.items())


def blended(bench: Bench, question: int, *, words: float = blending.WORDS, depth: int = DEPTH) -> Ranking:
    """Blend by scores as the engine does, once."""
    dense, lexical = bench.legs(question, depth)
    in_full = bench.in_full(question) * blending.WORDS / words
    ranked = blending.blend(dense, lexical, in_full, DEPTH, cut=len(lexical) >= depth)
    return [(int(hit[0]), hit[1]) for hit in ranked]


def fed_back(
    bench: Bench, question: int, *, examples: int = 2, added: float = 0.6, words: float = blending.WORDS
) -> Ranking:
    """Blend, move the question towards the best passages, and blend again."""
    best = [place for place, _ in blended(bench, question, words=words)[:examples]]
    scores = _moved(bench, question, best, added)
    lexical = bench.legs(question)[1]
    in_full = bench.in_full(question) * blending.WORDS / words
    ranked = blending.blend(_leg(scores, DEPTH), lexical, in_full, DEPTH, cut=len(lexical) >= DEPTH)
    return [(int(hit[0]), hit[1]) for hit in ranked]


def of_code(bench: Bench, question: int, *, feeds_back: bool = True) -> Ranking:
    """Add words to meaning as the search of repositories does; with feedback for questions that name what they mean."""
    text = bench.prepared.questions[question][1]
    first = _with_words(bench, question, bench.dense[question])
    if not feeds_back or asks_for_symbol(text) or weight_of_words(text) <= WEIGHT_OF_PROSE:
        return first
    best = [place for place, _ in sorted(first, key=lambda hit: (-hit[1], hit[0]))[:2]]
    return _with_words(bench, question, _moved(bench, question, best, 0.6))


def _with_words(bench: Bench, question: int, meaning: NDArray[np.float32]) -> Ranking:
    lexical = bench.legs(question)[1]
    worth = weight_of_words(bench.prepared.questions[question][1]) / bench.in_full(question)
    unseen = lexical[-1].score if len(lexical) >= DEPTH else 0.0
    said = {int(hit.chunk_id): hit.score for hit in lexical}
    places = dict.fromkeys(int(hit.chunk_id) for hit in (*_leg(meaning, DEPTH), *lexical))
    return [(place, float(meaning[place]) + worth * said.get(place, unseen)) for place in places]


def _moved(bench: Bench, question: int, best: Sequence[int], added: float) -> NDArray[np.float32]:
    moved = bench.prepared.asked[question] + added * bench.prepared.vectors[list(best)].mean(axis=0)
    return bench.prepared.vectors @ (moved / np.linalg.norm(moved))


def chosen(bench: Bench, question: int, *, feeds_back: bool = True) -> Ranking:
    """Rank as the product does: repositories by their own search, documents with feedback."""
    return of_code(bench, question, feeds_back=feeds_back) if bench.prepared.is_code else fed_back(bench, question)


def with_neighbours(bench: Bench, question: int, *, share: float) -> Ranking:
    """Add a share of the better neighbour's score, where that was found too."""
    ranked = dict(blended(bench, question))
    owners = bench.prepared.owners
    return [
        (
            place,
            score
            + share
            * max(
                (ranked.get(near, 0.0) for near in (place - 1, place + 1) if _is_near(owners, place, near)), default=0.0
            ),
        )
        for place, score in ranked.items()
    ]


def _is_near(owners: NDArray[np.int64], place: int, near: int) -> bool:
    return 0 <= near < len(owners) and bool(owners[near] == owners[place])


METHODS: dict[str, dict[str, Method]] = {
    "fusion": {
        "dense leg": partial(one_leg, lexical=False),
        "lexical leg": partial(one_leg, lexical=True),
        "ranks .7 k=60 (as specified)": partial(by_ranks, weight=0.7),
        "ranks .5 k=60": partial(by_ranks, weight=0.5),
        "ranks .5 k=10": partial(by_ranks, weight=0.5, constant=10),
        "distribution .5": partial(by_distribution, weight=0.5),
        "distribution .7": partial(by_distribution, weight=0.7),
        "least to most .5": partial(by_distribution, weight=0.5, least_to_most=True),
        "blend": blended,
        "blend, then feedback": fed_back,
        "as the product, code without feedback": partial(chosen, feeds_back=False),
        "as the product": chosen,
    },
    "lambda": {f"blend, lambda {words:g}": partial(blended, words=words) for words in LAMBDAS},
    "depth": {f"blend, depth {depth}": partial(blended, depth=depth) for depth in (20, 50, 200, 400)},
    "feedback": {
        f"feedback of {examples}, weight {added:g}": partial(fed_back, examples=examples, added=added)
        for examples, added in ((1, 0.3), (1, 0.6), (2, 0.3), (2, 1.0), (3, 0.6), (5, 0.6))
    },
    "neighbours": {f"neighbours {share:g}": partial(with_neighbours, share=share) for share in (0.1, 0.3)},
}
"""Ways to rank, by what they change."""

LEXICAL: dict[str, Callable[[Prepared], Bench]] = {
    "no stemming": lambda prepared: bench_of(prepared, EnglishAnalyser(stemming=False)),
    "stop words kept": lambda prepared: bench_of(prepared, EnglishAnalyser(stop_words=frozenset())),
    "words without headings": lambda prepared: bench_of(prepared, EnglishAnalyser(), context=False),
    "k1 .9 b .4": lambda prepared: bench_of(prepared, EnglishAnalyser(), k1=0.9),
    "k1 1.2 b .75": lambda prepared: bench_of(prepared, EnglishAnalyser(), b=0.75),
}
"""Changes of the lexical leg, each blended as the product does."""


def row(label: str, benches: Sequence[Bench], values: Sequence[float]) -> None:
    """Print one row."""
    cells = [
        f"{value:.4f}{'*' if value < bench.known['better leg'] - 0.01 else ''}"
        for bench, value in zip(benches, values, strict=True)
    ]
    print(f"| {label} | {' | '.join(cells)} | {sum(values) / len(values):.4f} |", flush=True)


def leave_one_out(benches: Sequence[Bench]) -> list[float]:
    """Choose lambda on all other sets and measure it on each."""
    grid = [[bench.measure(partial(blended, words=words)) for words in LAMBDAS] for bench in benches]
    result: list[float] = []
    for held in range(len(benches)):
        means = [
            math.fsum(grid[each][at] for each in range(len(benches)) if each != held) for at in range(len(LAMBDAS))
        ]
        result.append(grid[held][means.index(max(means))])
    return result


def main() -> None:
    """Measure the parts named on the sets named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SCORED))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--work", type=Path, help="keep what was read and embedded here")
    parser.add_argument("--parts", nargs="*", default=[*METHODS, "lexical", "held out"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    results: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        embedder = LocalEmbedder(threads=1)
        sets = [prepare(options.data, name, options.work or Path(temporary), embedder) for name in options.sets]
        embedder.close()
    benches = [bench_of(prepared, EnglishAnalyser()) for prepared in sets]
    for bench in benches:
        bench.known["better leg"] = max(bench.measure(partial(one_leg, lexical=leg)) for leg in (False, True))
    print(f"| ranking | {' | '.join(Path(each.name).name for each in sets)} | mean |")
    print(f"|{'---|' * (len(sets) + 2)}")
    for part in options.parts:
        for label, method in METHODS.get(part, {}).items():
            results[label] = [bench.measure(method) for bench in benches]
            row(label, benches, results[label])
    for label, make in LEXICAL.items() if "lexical" in options.parts else ():
        results[label] = [make(prepared).measure(chosen) for prepared in sets]
        row(label, benches, results[label])
    if "held out" in options.parts:
        results["lambda of the other sets"] = leave_one_out(benches)
        row("lambda of the other sets", benches, results["lambda of the other sets"])
    if options.json:
        options.json.write_text(json.dumps({"sets": options.sets, "results": results}, indent=1))


if __name__ == "__main__":
    main()

"""Calibrate and judge `answerability`: how surely the scores of a search tell whether it found an answer.

Usage: `python -m benchmarks.answerability [SET …] [--data FOLDER] [--keep FOLDER] [--rows FILE] [--plot FILE]`

Sets are BEIR folders below `$KNOWLEDGE_EVAL_DATA`, else `../shared/data`. Each is ingested below `--keep` with the
default model. Each question is asked twice through the product's own search: as it is, and with every document that is
judged relevant to it held back. It counts as answered where one of the ten best hits is of a relevant document; held
back, it never is. (Documents that answer and were never judged make some of the held-back ones wrong.) Held-back
documents are hidden from the store's hits, so that a set is embedded once; they still count in the statistics of words.

Every set has the same weight in the fit. What is told of a set was fitted without it; the last lines are the model of
all, for `engine/search/answerability.py`. It is fitted on searches fused by ranks, as the standards surface fuses
them, and judged on those fused by scores too. `--rows` keeps the signals, so that a second run fits and draws only.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.product import environment
from knowledge_mcp.engine.core.base import Base, counts_of
from knowledge_mcp.engine.search import answerability, search
from knowledge_mcp.evals import EvalSet, ingest_set, open_set
from knowledge_mcp.evals.measures import Reliability, reliability
from knowledge_mcp.evals.plots import STYLE, Point, reliability_diagram
from knowledge_mcp.language.names import names_in_question
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.query import Filter, Hit, LegResults, SearchQuery
from knowledge_mcp.ports import Collection as StoreCollection
from knowledge_mcp.ports import Store
from knowledge_mcp.settings import Settings, load_settings
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.surfaces.answers import in_words
from knowledge_mcp.wiring import build_base, build_knowledge
from tests.growth.counting import WrappedHandle

DEFAULT_SETS = (
    "ir/cranfield",
    "ir/medline",
    "ir/scifact",
    "qa/mtrag-un",
    "qa/xquad-en",
    "trace/obj2control-nist80053",
    "trace/req2req-cm1-nasa",
    "trace/req2req-gannt",
    "trace/req2req-warc",
)
_FITTED = "ranks"
"""Fusion of the searches that models are fitted on; the signals are those of the legs, whatever fuses them."""
_RIDGE = 1e-3
_STEPS = 100

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one search: what it showed, and whether its ten best hits held an answer."""

    set: str
    question: str
    fusion: str
    held_back: bool
    answered: bool
    signals: tuple[float, ...]


class HeldBack:
    """A store of which some documents cannot be found; everything else is the store's own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.hidden: frozenset[str] = frozenset()
        self.legs: LegResults | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def hide(self, collection: str, documents: Collection[str]) -> None:
        """Hide these documents, and no others."""
        opened = self._store.open(collection)
        self.hidden = frozenset(chunk.id for each in documents for chunk in opened.chunks("document", [each]))

    def open(self, name: str) -> StoreCollection:
        """Give a handle that finds what is not hidden."""
        return cast("StoreCollection", _Handle(self, self._store.open(name)))


class _Handle(WrappedHandle):
    def __init__(self, store: HeldBack, wrapped: StoreCollection) -> None:
        super().__init__(wrapped)
        self._store = store

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        """Search as `Collection.search`; the store keeps the first answer with both legs in `legs`."""
        hidden = self._store.hidden
        found = self.wrapped.search(vector=vector, text=text, filter=filter, limit=limit + len(hidden))
        legs = {name: getattr(found, name) for name in ("dense", "lexical")}
        kept = {
            name: None if leg is None else tuple(hit for hit in leg if hit.chunk_id not in hidden)[:limit]
            for name, leg in legs.items()
        }
        found = dataclasses.replace(found, **kept)
        if self._store.legs is None and vector is not None and text is not None:
            self._store.legs = found
        return found


@contextmanager
def opened(chosen: EvalSet, work: Path) -> Generator[Base]:
    """Ingest a set below `work`, and open what searches it."""
    work.mkdir(parents=True, exist_ok=True)
    settings: Settings = load_settings(environ=environment(work)).model_copy(update={"collection": "evaluation"})
    knowledge = build_knowledge(settings)
    files = None if chosen.files is None else FileSource(chosen.files.absolute(), patterns=chosen.patterns)
    ingest_set(knowledge, chosen, files, tell_nobody)
    knowledge.close()
    base = build_base(settings)
    try:
        yield base
    finally:
        base.embedder.close()
        base.store.close()


def collect(name: str, folder: Path, work: Path) -> list[Row]:
    """Ask a set's questions, with and without their documents, by both kinds of fusion."""
    chosen = open_set(folder)
    with opened(chosen, work) as base:
        return [
            row
            for fusion in ("ranks", "scores")
            for row in ask(name, chosen, dataclasses.replace(base, blends=fusion == "scores"), fusion)
        ]


def tell_nobody(step: str, done: int, total: int) -> None:
    """Ignore the events of an ingest."""
    del step, done, total


def ask(name: str, chosen: EvalSet, base: Base, fusion: str) -> list[Row]:
    """Ask every question as it is, and once more where it has documents that can be held back."""
    ids = ids_by_key(chosen, base)
    rows: list[Row] = []
    for question in chosen.questions:
        right = {each for place in question.places for each in ids.get(place.document or "", ())}
        for hidden in (False, True):
            found = look(base, question.text, right if hidden else (), lambda hit, right=right: _is_of(hit, right))
            if found is not None:
                rows.append(Row(name, question.id, fusion, hidden, not hidden and found[1], found[0]))
    return rows


def ids_by_key(chosen: EvalSet, base: Base) -> dict[str, list[str]]:
    """List the documents' ids by their key in the set."""
    ids: dict[str, list[str]] = defaultdict(list)
    for record in base.store.open(base.collection).documents():
        ids[chosen.keys.get(record.source_path, "")].append(record.id)
    return ids


def look(
    base: Base, text: str, hidden: Collection[str], is_right: Callable[[Hit], bool]
) -> tuple[tuple[float, ...], bool] | None:
    """Search without some documents; returns the signals and whether a hit is right, None if that is unknown."""
    text = text[:2000]
    store = HeldBack(base.store)
    store.hide(base.collection, hidden)
    answer = search.search(dataclasses.replace(base, store=cast("Store", store)), SearchQuery(text, fold=True))
    terms, legs = len(base.analyser.query_terms(text)), store.legs
    if not terms or names_in_question(text).alone or legs is None or not legs.dense or legs.lexical is None:
        return None
    chunks = counts_of(base.store.open(base.collection)).chunks
    return answerability.signals(legs.dense, legs.lexical, terms, chunks), any(map(is_right, answer.hits))


def _is_of(hit: Hit, documents: Collection[str]) -> bool:
    return hit.chunk.document_id in documents


def fitted(rows: Sequence[Row]) -> answerability.Calibration:
    """Fit a logistic model by Newton's method, every set weighing the same, with a slight pull towards zero."""
    sizes = defaultdict[str, int](int)
    for row in rows:
        sizes[row.set] += 1
    values: Floats = np.array([row.signals for row in rows], dtype=np.float64)
    middle, spread = values.mean(axis=0), values.std(axis=0)
    inputs: Floats = np.hstack([(values - middle) / spread, np.ones((len(rows), 1))])
    outcomes: Floats = np.array([row.answered for row in rows], dtype=np.float64)
    weights: Floats = np.array([len(rows) / len(sizes) / sizes[row.set] for row in rows])
    found: Floats = np.zeros(len(answerability.SIGNALS) + 1, dtype=np.float64)
    pull: Floats = _RIDGE * len(rows) * np.append(np.ones(len(answerability.SIGNALS)), 0.0)
    for _ in range(_STEPS):
        chances: Floats = 1.0 / (1.0 + np.exp(-inputs @ found))
        slope: Floats = inputs.T @ (weights * (outcomes - chances)) - pull * found
        bend: Floats = (inputs * (weights * chances * (1.0 - chances))[:, None]).T @ inputs + np.diag(pull)
        step: Floats = np.asarray(np.linalg.solve(bend, slope), dtype=np.float64)
        found = found + step
        if float(np.abs(step).max()) < 1e-9:
            break
    plain: list[float] = (found[:-1] / spread).tolist()
    shift = sum(weight * mean for weight, mean in zip(plain, middle.tolist(), strict=True))
    return answerability.Calibration(tuple(plain), float(found[-1]) - shift)


def held_out(rows: Sequence[Row], fusion: str) -> dict[str, list[tuple[float, bool]]]:
    """Estimate every search of a set by a model of all other sets; pairs of estimate and outcome by set."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for name in dict.fromkeys(row.set for row in rows if row.fusion == fusion):
        model = fitted([row for row in rows if row.set != name and row.fusion == _FITTED])
        mine = [row for row in rows if row.set == name and row.fusion == fusion]
        found[name] = [(model.probability(row.signals), row.answered) for row in mine]
    return found


def judged(pairs: Sequence[tuple[float, bool]]) -> Reliability:
    """Judge pairs of estimate and outcome."""
    return reliability([estimate for estimate, _ in pairs], [outcome for _, outcome in pairs])


def print_table(found: Mapping[str, Sequence[tuple[float, bool]]]) -> None:
    """Print one line for each set, and one for all."""
    print("| set held out | searches | answered | mean estimate | area under ROC | Brier (base) | calibration error |")
    print("|---|---|---|---|---|---|---|")
    everything = [pair for pairs in found.values() for pair in pairs]
    for name, pairs in (*found.items(), ("all", everything)):
        result = judged(pairs)
        share = sum(outcome for _, outcome in pairs) / len(pairs)
        mean = sum(estimate for estimate, _ in pairs) / len(pairs)
        print(
            f"| {name} | {result.count} | {share:.2f} | {mean:.2f} | {result.area:.3f} "
            f"| {result.brier:.3f} ({result.base_brier:.3f}) | {result.error:.3f} |"
        )


def print_words(found: Mapping[str, Sequence[tuple[float, bool]]]) -> None:
    """Print how often each word that an assistant is told comes true, and of how many searches it was said."""
    words = ("unlikely", "uncertain", "likely")
    print("| set held out | " + " | ".join(words) + " |")
    print("|---|---|---|---|")
    everything = [pair for pairs in found.values() for pair in pairs]
    for name, pairs in (*found.items(), ("all", everything)):
        cells: list[str] = []
        for word in words:
            so = [outcome for estimate, outcome in pairs if in_words(estimate) == word]
            cells.append(f"{sum(so) / len(so):.2f} of {len(so)}" if so else "–")
        print(f"| {name} | {' | '.join(cells)} |")


def draw(found: Mapping[str, Sequence[tuple[float, bool]]], path: Path) -> None:
    """Write the reliability diagram as an SVG file that stands alone."""
    large = {name: pairs for name, pairs in found.items() if len(pairs) >= 200}
    everything = [pair for pairs in found.values() for pair in pairs]
    series = {"all": judged(everything), **{name.rsplit("/")[-1]: judged(pairs) for name, pairs in large.items()}}
    points = {
        name: [Point(each.estimated, each.happened, each.low, each.high, each.count) for each in result.bins]
        for name, result in series.items()
    }
    figure = reliability_diagram(
        points, across="estimated by a model of all other sets", up="share that was answered",
        caption="Reliability of answerability, each set held out",
    )  # fmt: skip
    svg = figure[figure.index("<svg") : figure.index("</svg>")]
    opening, rest = svg.split(">", 1)
    style = "\n".join(line for line in STYLE.splitlines() if not line.startswith(("body", "main", "h1", "h3", ".wide")))
    path.write_text(
        f'{opening} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>'
        f'<rect width="100%" height="100%" style="fill: var(--paper)"/>{rest}</svg>\n',
        encoding="utf-8",
    )


def kept_rows(file: Path) -> list[Row]:
    """Read what `--rows` kept; empty where there is no file yet."""
    if not file.is_file():
        return []
    result = [Row(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
    return [dataclasses.replace(each, signals=tuple(each.signals)) for each in result]


def main() -> None:
    """Collect what is not kept yet, fit, judge, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(DEFAULT_SETS))
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KNOWLEDGE_EVAL_DATA", "../shared/data")))
    parser.add_argument("--keep", type=Path, help="ingest here and keep it")
    parser.add_argument("--rows", type=Path, help="keep the signals of all searches in this file")
    parser.add_argument("--plot", type=Path, help="write the reliability diagram here")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
        return
    rows = [] if options.rows is None else kept_rows(options.rows)
    known = {row.set for row in rows}
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.sets:
            if name not in known:
                rows += collect(name, options.data / name, (options.keep or Path(temporary)) / name.replace("/", "-"))
                print(f"{name}: {sum(row.set == name for row in rows)} searches", file=sys.stderr, flush=True)
                if options.rows is not None:
                    options.rows.write_text(json.dumps([dataclasses.asdict(row) for row in rows]), encoding="utf-8")
    rows = [row for row in rows if row.set in options.sets]
    for fusion in ("ranks", "scores"):
        print(f"\nFused by {fusion}:\n")
        found = held_out(rows, fusion)
        print_table(found)
        print()
        print_words(found)
    if options.plot is not None:
        draw(held_out(rows, _FITTED), options.plot)
    model = fitted([row for row in rows if row.fusion == _FITTED])
    print("\nModel of all sets:\n")
    for name, weight in zip(answerability.SIGNALS, model.weights, strict=True):
        print(f"{name:>14} {weight:+.3f}")
    print(f"{'constant':>14} {model.constant:+.3f}")


if __name__ == "__main__":
    main()

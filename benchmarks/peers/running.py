"""Run one peer: build its index of a set, ask every question, time both; the same code for all, the product included.

What a peer must offer is small: for each of its ways to be set up, a function that takes a set in and gives back a
search. `main` is the command line of a peer's file; without `--into` it prints what it found.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

from benchmarks.peers.encoder import Encoder, Runtime
from benchmarks.peers.sets import JudgedSet, data_folder, ndcg, read_set

TOP = 10
"""Passages that the timed search asks for."""
DEEP = 100
"""Passages that the judged search asks for, each leg as many, so that ten documents come of it."""

TIMED = 100
"""Most questions of a set that are timed, evenly taken from all; every question is judged."""

_WARM = ("Valve {} is opened by turning its wheel to the left.", "how is a valve opened")


@dataclass(frozen=True, slots=True)
class Shop:
    """Hold what a build may use.

    Attributes:
        encoder: the model, loaded.
        folder: empty, or what another way of the same peer left there.
        keeps: whether an ingest may be used by another way.
        start: called where a build has to load a model of its own first, sets the clock of its ingest back.
    """

    encoder: Encoder
    folder: Path
    keeps: bool
    start: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Engine:
    """Hold an index that can be asked.

    Attributes:
        search: question and number of passages in, the documents of the passages out, best first, repeated where
            several passages of one were found.
        texts: gives the texts that were embedded for the index; None where the shop's encoder knows them.
        close: frees it.
    """

    search: Callable[[str, int], list[str]]
    texts: Callable[[], list[str]] | None = None
    close: Callable[[], object] = lambda: None


Build = Callable[[JudgedSet, Shop], Engine]


@dataclass(frozen=True, slots=True)
class Peer:
    """Name a peer, what it needs (pinned), and the ways in which it is set up.

    Attributes:
        name, requirements, ways: as said.
        asks_only: ways that take in as the first one does; their ingest is not timed again.
    """

    name: str
    requirements: tuple[str, ...]
    ways: Mapping[str, Build]
    asks_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answers:
    """Hold what one way of a peer answered on one set: ten documents a question, milliseconds of wall and processor."""

    peer: str
    way: str
    set: str
    documents: int
    rankings: Mapping[str, Sequence[str]]
    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]


@dataclass(frozen=True, slots=True)
class Ingest:
    """Hold what taking in one set cost: seconds of wall and processor, and of the model alone on the same texts."""

    peer: str
    way: str
    set: str
    documents: int
    texts: int
    wall_s: float
    cpu_s: float
    bare_wall_s: float
    bare_cpu_s: float


@dataclass(slots=True)
class _Clock:
    wall: float = 0.0
    cpu: float = 0.0

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not below `share` of all."""
    return sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]


def answers(peer: Peer, way: str, chosen: JudgedSet, shop: Shop) -> Answers:
    """Build one way and ask it every question, one after another."""
    engine = peer.ways[way](chosen, shop)
    for text in list(chosen.questions.values())[:3]:
        engine.search(text, TOP)
    rankings: dict[str, list[str]] = {}
    spent: list[tuple[float, float]] = []
    step = -(-len(chosen.questions) // TIMED)
    for number, (key, text) in enumerate(chosen.questions.items()):
        if number % step == 0:
            shop.encoder.timed = True
            clock = _Clock()
            engine.search(text, TOP)
            spent.append(clock.read())
        shop.encoder.timed = False
        rankings[key] = list(dict.fromkeys(engine.search(text, DEEP)))[:10]
    engine.close()
    wall, cpu = ([1000 * each[place] for each in spent] for place in (0, 1))
    return Answers(peer.name, way, chosen.name, len(chosen.documents), rankings, wall, cpu)


def ingest(peer: Peer, way: str, chosen: JudgedSet, shop: Shop) -> Ingest:
    """Time one build with everything re-embedded, and the model alone on the texts that were embedded for it."""
    shop.encoder.seen.clear()
    clock = _Clock()
    engine = peer.ways[way](chosen, replace(shop, start=clock.start))
    wall, cpu = clock.read()
    texts = list(dict.fromkeys(shop.encoder.seen if engine.texts is None else engine.texts()))
    engine.close()
    clock = _Clock()
    if texts:
        shop.encoder.bare(texts)
    bare_wall, bare_cpu = clock.read() if texts else (0.0, 0.0)
    return Ingest(
        peer.name, way, chosen.name, len(chosen.documents), len(texts), wall, cpu, bare_wall, bare_cpu
    )  # fmt: skip


def unlike_pins(requirements: Sequence[str]) -> list[str]:
    """List the distributions that are not installed in the version that is pinned, each with what is there."""
    found: list[str] = []
    for requirement in requirements:
        name, _, version = requirement.partition("==")
        name = re.sub(r"\[.*\]", "", name)
        try:
            there = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            there = "nothing"
        if there != version:
            found.append(f"{requirement}, but {there} is installed")
    return found


def main(peer: Peer) -> None:
    """Run the command line of one peer."""
    parser = argparse.ArgumentParser(description=f"Measure {peer.name} on labelled sets.")
    parser.add_argument("sets", nargs="*", default=["ir/cranfield"], metavar="SET")
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--ways", nargs="+", choices=list(peer.ways), default=list(peer.ways))
    parser.add_argument("--kept", type=Path, help="file of vectors, to embed no text twice")
    parser.add_argument("--runtime", choices=get_args(Runtime), default="product", help="how the weights are run")
    parser.add_argument("--ingest", action="store_true", help="time the ingest, and ask nothing")
    parser.add_argument("--into", type=Path, help="folder for the results, a file a set, for the runner")
    parser.add_argument("--turn", type=int, default=0, help="number of the round of ingest, for the file's name")
    parser.add_argument("--requirements", action="store_true", help="print the pinned packages and end")
    options = parser.parse_args()
    if options.requirements:
        print("\n".join(peer.requirements))
        return
    if wrong := unlike_pins(peer.requirements):
        print(f"note: {peer.name}: {'; '.join(wrong)}", file=sys.stderr)
    if not options.data.is_dir():
        sys.exit(f"SKIPPED: no labelled sets in {options.data}; set KNOWLEDGE_EVAL_DATA")
    with tempfile.TemporaryDirectory() as temporary:
        for chosen, results in _run(peer, options, Path(temporary)):
            if options.into is None:
                _print(results, chosen)
            else:
                file = result_file(options.into, peer, chosen.name, options.turn if options.ingest else None)
                file.write_text(json.dumps([asdict(each) for each in results]), encoding="utf-8")


def result_file(folder: Path, peer: Peer, name: str, turn: int | None = None) -> Path:
    """Name the file of a peer's answers on a set, or of a round of its ingest."""
    kind = "answers" if turn is None else f"ingest-{turn}"
    return folder / f"{kind} {name.replace('/', '-')} {peer.name}.json"


def _run(peer: Peer, options: argparse.Namespace, work: Path) -> Iterator[tuple[JudgedSet, Sequence[Answers | Ingest]]]:
    """Measure set by set; the libraries are loaded before, by a build of a few lines, so that no import is timed."""
    encoder = Encoder(None if options.ingest else options.kept, options.runtime)
    warm = _warm_set(_folder(work))
    for way in options.ways:
        engine = peer.ways[way](warm, Shop(encoder, _folder(work), keeps=False))
        engine.search(_WARM[1], TOP)
        engine.close()
    for name in options.sets:
        chosen, shared = read_set(options.data, name), _folder(work)
        if options.ingest:
            timed = [way for way in options.ways if way not in peer.asks_only]
            yield chosen, [ingest(peer, way, chosen, Shop(encoder, _folder(work), keeps=False)) for way in timed]
        else:
            yield chosen, [answers(peer, way, chosen, Shop(encoder, shared, keeps=True)) for way in options.ways]
    encoder.close()


def _warm_set(folder: Path) -> JudgedSet:
    """Write and read a set of a few lines."""
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tw1\t1\n", encoding="utf-8")
    rows = [json.dumps({"_id": f"w{number}", "text": _WARM[0].format(number)}) for number in range(20)]
    (folder / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": _WARM[1]}), encoding="utf-8")
    return read_set(folder.parent, folder.name)


def _folder(work: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=work))


def _print(results: Sequence[Answers | Ingest], chosen: JudgedSet) -> None:
    for each in results:
        head = f"{each.peer}, {each.way}, {each.set}:"
        if isinstance(each, Ingest):
            alone = f", {each.wall_s / each.bare_wall_s:.2f} times the model alone" if each.bare_wall_s else ""
            print(f"{head} {each.documents / each.wall_s:.0f} documents/s{alone}", flush=True)
            continue
        gains = [ndcg(ranking, chosen.grades[key]) for key, ranking in each.rankings.items()]
        print(
            f"{head} nDCG@10 {sum(gains) / len(gains):.4f}, a search {percentile(each.wall_ms, 0.5):.1f} ms (p50), "
            f"{percentile(each.wall_ms, 0.95):.1f} ms (p95)",
            flush=True,
        )

"""Measure the local embedder: throughput, query latency, closeness of int8 to float32, sameness of bits, memory.

    python benchmarks/embedding.py                    made-up texts of about 240 tokens
    python benchmarks/embedding.py --texts FILE       one text a line
    python benchmarks/embedding.py --memory 5000      also embed so many texts and watch the memory

Absolute numbers depend on the machine and on what else runs there: compare the lines of one run. `cpu-s` is the
process's CPU time, which other processes disturb least.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.embedders.local.model_config import Variant
from knowledge_mcp.embedders.local.model_files import fetch
from knowledge_mcp.testing.embedders import cosine

VARIANTS: tuple[Variant, ...] = ("int8", "fp32")
WORDS = (
    "the supplier shall verify each requirement of clause before delivery and record its result in a report that "
    "names inspector date method equipment temperature pressure tolerance software interface configuration baseline "
    "change review audit risk hazard safety integrity level validation evidence traceability stakeholder operator"
).split()
QUERIES = 100


def main() -> None:
    """Run what the command line asks for and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="file with one text a line")
    parser.add_argument("--count", type=int, default=200, help="texts to embed in each measurement")
    parser.add_argument("--memory", type=int, default=0, help="texts to embed while watching the memory")
    chosen = parser.parse_args()
    lines = chosen.texts.read_text(encoding="utf-8").splitlines() if chosen.texts else _made_up(chosen.count)
    texts = [line for line in lines if line.strip()][: chosen.count]
    fetch(variants=VARIANTS)
    console = Console(width=110)
    console.print(_speed(texts))
    console.print(_sameness(texts))
    if chosen.memory:
        console.print(_memory((texts * (chosen.memory // len(texts) + 1))[: chosen.memory]))


def _made_up(count: int) -> list[str]:
    chance = random.Random(5)
    return [" ".join(chance.choices(WORDS, k=chance.randint(150, 215))) for _ in range(count)]


def _speed(texts: Sequence[str]) -> Table:
    table = Table("variant", "way", "texts/s", "texts/cpu-s", "query p50 ms", title=f"{len(texts)} texts")
    for variant in VARIANTS:
        for threads in (1, 2):
            embedder = LocalEmbedder(variant=variant, threads=threads)
            embedder.warm_up()
            rates = _rates(lambda embedder=embedder: embedder.embed_documents(texts), len(texts))
            latency = f"{_query_latency(embedder, texts):.1f}"
            table.add_row(variant, f"one text at a time, {threads} thread(s)", *rates, latency)
            embedder.close()
    return table


def _rates(work: Callable[[], object], count: int) -> tuple[str, str]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return f"{count / (time.perf_counter() - wall):.1f}", f"{count / (time.process_time() - cpu):.1f}"


def _query_latency(embedder: LocalEmbedder, texts: Sequence[str]) -> float:
    taken: list[float] = []
    for number in range(QUERIES):
        query = " ".join(texts[number % len(texts)].split()[:9])
        started = time.perf_counter()
        embedder.embed_query(query)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def _sameness(texts: Sequence[str]) -> Table:
    table = Table("what", "value", title="the vectors")
    small, exact = (LocalEmbedder(variant=variant, threads=4) for variant in VARIANTS)
    alone = [small.embed_documents([text])[0] for text in texts]
    with ThreadPoolExecutor(3) as crowd:
        together = list(crowd.map(small.embed_documents, [texts, texts[::-1], texts]))
    same = together[0] == alone == together[1][::-1] == together[2]
    near = [cosine(a, b) for a, b in zip(alone, exact.embed_documents(texts), strict=True)]
    table.add_row("same bits alone and in three crowds of 4 threads", "yes" if same else "NO")
    table.add_row("cosine of int8 to fp32, mean", f"{statistics.mean(near):.4f}")
    table.add_row("cosine of int8 to fp32, least", f"{min(near):.4f}")
    small.close()
    exact.close()
    return table


def _memory(texts: Sequence[str]) -> Table:
    table = Table("texts embedded", "RSS above start, MB", title="memory, int8, 2 threads")
    process = psutil.Process()
    embedder = LocalEmbedder(threads=2)
    start = process.memory_info().rss
    embedder.warm_up()
    for done in range(0, len(texts) + 1, 1000):
        table.add_row(str(done), f"{(process.memory_info().rss - start) / 1e6:.0f}")
        embedder.embed_documents(texts[done : done + 1000])
    embedder.close()
    return table


if __name__ == "__main__":
    main()

"""Work out the memory, disk, nodes and money of a Qdrant cluster for a number of chunks; the table of docs/sizing.md.

Usage: `python -m benchmarks.sizing [--chunks 10e6 1e9] [--gb-month 6] [--node 128]`

Nothing is measured here: these are the formulas of docs/sizing.md.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

OVERHEAD = 1.5
"""What Qdrant's documentation adds to bare vectors for graph, ids, deleted points and segments being rebuilt."""
LINKS = 16 * 2 * 4 * 1.1
"""Bytes of HNSW links a point: m = 16, two ways on the lowest layer, four bytes each, a tenth more for those above."""
SPARSE = 80 * 8
"""Bytes of the lexical leg a chunk: about 80 distinct terms, a four-byte id and a four-byte weight."""
PAYLOAD = 3_000
"""Bytes of text, its places and the indexed fields a chunk; on disk."""
USABLE = 0.75
"""Share of a node's memory that the collection may fill; the rest is for queries, merging and the system."""
BYTES = {"none": 4.0, "scalar": 1.0, "binary": 1 / 8}


@dataclass(frozen=True)
class Cluster:
    """Hold one row: gigabytes of memory and disk for all replicas, nodes, shards, USD a month and USD to embed once."""

    chunks: int
    dimensions: int
    quantization: str
    memory_gb: float
    disk_gb: float
    nodes: int
    shards: int
    monthly_usd: float
    embedding_usd: float


def cluster(
    chunks: int,
    dimensions: int,
    quantization: str,
    *,
    replicas: int,
    node_gb: float,
    gb_month: float,
    tokens: int = 200,
    price: float = 0.0,
) -> Cluster:
    """Apply the formulas: full vectors in memory without quantization, else on disk with the small copies in memory."""
    held = chunks * dimensions * BYTES[quantization] * OVERHEAD + chunks * (LINKS + SPARSE)
    stored = chunks * (dimensions * 4 + (0 if quantization == "none" else dimensions * BYTES[quantization]) + PAYLOAD)
    stored += chunks * (LINKS + SPARSE)
    memory, disk = held * replicas / 1e9, stored * replicas / 1e9
    nodes = max(replicas, math.ceil(memory / (node_gb * USABLE)))
    # two shards a node, so that a node more can take some over
    shards = max(1, math.ceil(2 * nodes / replicas))
    money = nodes * node_gb * gb_month
    return Cluster(chunks, dimensions, quantization, memory, disk, nodes, shards, money, chunks * tokens * price / 1e6)


def table(rows: list[Cluster]) -> str:
    """Write rows as Markdown."""
    lines = [
        "| chunks | dimensions | quantization | memory | disk | nodes | shards | USD a month | USD to embed once |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines.extend(
        f"| {row.chunks:,} | {row.dimensions} | {row.quantization} | {row.memory_gb:,.0f} GB | {row.disk_gb:,.0f} GB | "
        f"{row.nodes} | {row.shards} | {row.monthly_usd:,.0f} | {row.embedding_usd:,.0f} |"
        for row in rows
    )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The memory, disk, nodes and money of a Qdrant cluster, on paper.")
    parser.add_argument("--chunks", type=float, nargs="+", default=[10e6, 1e9])
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--node", type=float, default=128, help="gigabytes of memory of one node")
    parser.add_argument("--gb-month", type=float, default=6, help="USD for a gigabyte of memory a month, CPU included")
    options = parser.parse_args()
    models = {384: 0.0, 1536: 0.02, 3072: 0.13}
    print(
        table(
            [
                cluster(
                    int(chunks), dimensions, quantization, replicas=options.replicas, node_gb=options.node,
                    gb_month=options.gb_month, price=price,
                )
                for chunks in options.chunks
                for dimensions, price in models.items()
                for quantization in (("none", "scalar") if dimensions < 1000 else ("none", "scalar", "binary"))
            ]
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()

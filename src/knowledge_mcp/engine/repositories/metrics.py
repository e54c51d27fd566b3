"""Persistent counts and durations: of searches, embeddings and indexing (C 9.4).

They are collected in memory and added to one JSON file under a lock, from time to time and when the service closes.
"""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from knowledge_mcp.support.files import write_atomically
from knowledge_mcp.support.locks import hold_lock

BUCKETS = (10.0, 25.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2500.0, 5000.0, 10000.0, 60000.0, 600000.0)
"""Upper bounds of the histograms' buckets, in milliseconds."""

COUNTERS: Mapping[str, str] = {
    "queries_total": "Semantic search queries",
    "query_errors_total": "Semantic search queries that failed",
    "embeddings_generated": "Embeddings generated",
    "indexing_files_processed": "Files read and embedded while indexing",
    "indexing_runs_total": "Indexing runs",
}
HISTOGRAMS: Mapping[str, str] = {
    "query_duration_ms": "Query response time",
    "embedding_duration_ms": "Embedding generation time, per batch",
    "indexing_duration_ms": "Indexing time, per run",
}
_PAUSE = 2.0
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Histogram:
    """Count values by bucket; the last bucket has no upper bound."""

    count: int = 0
    sum: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def observe(self, value: float) -> None:
        """Count one value."""
        self.count += 1
        self.sum += value
        self.buckets[next((place for place, end in enumerate(BUCKETS) if value <= end), len(BUCKETS))] += 1

    def merge(self, other: Histogram) -> None:
        """Add another's counts."""
        self.count += other.count
        self.sum += other.sum
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]

    def quantile(self, share: float) -> float | None:
        """Estimate a quantile by the upper bound of its bucket; None if nothing was counted."""
        if not self.count:
            return None
        target, seen = math.ceil(share * self.count), 0
        for place, count in enumerate(self.buckets):
            seen += count
            if seen >= target:
                return BUCKETS[place] if place < len(BUCKETS) else math.inf
        return math.inf


@dataclass(slots=True)
class Snapshot:
    """All counts at one moment."""

    counters: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0.0))
    histograms: dict[str, Histogram] = field(default_factory=lambda: {name: Histogram() for name in HISTOGRAMS})

    def merge(self, other: Snapshot) -> None:
        """Add another's counts."""
        for name, value in other.counters.items():
            self.counters[name] = self.counters.get(name, 0.0) + value
        for name, histogram in other.histograms.items():
            self.histograms.setdefault(name, Histogram()).merge(histogram)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "counters": {name: round(value) for name, value in self.counters.items()},
            "histograms": {
                name: {"count": each.count, "sum": round(each.sum, 3), "buckets": each.buckets}
                for name, each in self.histograms.items()
            },
        }

    def as_prometheus(self) -> str:
        """Return the counts in Prometheus' text format."""
        lines: list[str] = []
        for name, text in COUNTERS.items():
            lines += [f"# HELP pk_mcp_{name} {text}.", f"# TYPE pk_mcp_{name} counter"]
            lines.append(f"pk_mcp_{name} {round(self.counters.get(name, 0.0))}")
        for name, text in HISTOGRAMS.items():
            histogram, seen = self.histograms.get(name, Histogram()), 0
            lines += [f"# HELP pk_mcp_{name} {text}.", f"# TYPE pk_mcp_{name} histogram"]
            for place, count in enumerate(histogram.buckets):
                seen += count
                end = f"{BUCKETS[place]:g}" if place < len(BUCKETS) else "+Inf"
                lines.append(f'pk_mcp_{name}_bucket{{le="{end}"}} {seen}')
            lines += [f"pk_mcp_{name}_sum {histogram.sum:.3f}", f"pk_mcp_{name}_count {histogram.count}"]
        return "\n".join(lines) + "\n"


class Metrics:
    """Count, and add the counts to a file. Thread- and process-safe; never raises.

    Args:
        folder: the data folder.
        locks: folder of the locks.
        clock: seconds.
    """

    def __init__(self, folder: Path, locks: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = folder / "metrics.json"
        self._locks = locks
        self._clock = clock
        self._lock = threading.Lock()
        self._pending = Snapshot()
        self._is_pending = False
        self._flushed = clock()

    def count(self, name: str, by: float = 1.0) -> None:
        """Add to a counter."""
        with self._lock:
            self._pending.counters[name] += by
            self._is_pending = True

    def observe(self, name: str, milliseconds: float) -> None:
        """Count a duration."""
        with self._lock:
            self._pending.histograms[name].observe(milliseconds)
            self._is_pending = True

    def settle(self) -> None:
        """Write the counts, unless this was just done."""
        if self._clock() - self._flushed >= _PAUSE:
            self.flush()

    def flush(self) -> None:
        """Write the counts."""
        with self._lock:
            if not self._is_pending:
                return
            mine, self._pending, self._is_pending = self._pending, Snapshot(), False
            self._flushed = self._clock()
        try:
            with hold_lock(self._locks, "metrics.json"):
                total = self._read()
                total.merge(mine)
                write_atomically(self._path, json.dumps(total.as_json()).encode(), private=True)
        except OSError as exc:
            _logger.warning("metrics could not be written: %s", exc.strerror or type(exc).__name__)
            with self._lock:
                mine.merge(self._pending)
                self._pending, self._is_pending = mine, True

    def snapshot(self) -> Snapshot:
        """Return all counts so far, of this process and others."""
        self.flush()
        return self._read()

    def _read(self) -> Snapshot:
        snapshot = Snapshot()
        try:
            content = cast("dict[str, Any]", json.loads(self._path.read_text(encoding="utf-8")))
            counters = {str(name): float(value) for name, value in content["counters"].items()}
            histograms: dict[str, Histogram] = {}
            for name, each in content["histograms"].items():
                buckets = [int(count) for count in each["buckets"]]
                if len(buckets) == len(BUCKETS) + 1:
                    histograms[str(name)] = Histogram(int(each["count"]), float(each["sum"]), buckets)
        except FileNotFoundError:
            return snapshot
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
            _logger.warning("metrics.json cannot be read; counting starts again: %s", type(exc).__name__)
            return snapshot
        snapshot.merge(Snapshot(counters, histograms))
        return snapshot

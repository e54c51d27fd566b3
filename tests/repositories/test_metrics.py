"""Counts that survive the process, whoever counts at the same time, and whatever becomes of their file."""

from __future__ import annotations

import math
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.engine.repositories.metrics import BUCKETS, Histogram, Metrics


def test_what_two_processes_count_is_added_up(tmp_path: Path) -> None:
    one, other = Metrics(tmp_path, tmp_path / "locks"), Metrics(tmp_path, tmp_path / "locks")
    one.count("queries_total")
    other.count("queries_total", 2)
    other.observe("query_duration_ms", 70)
    one.flush()
    assert other.snapshot().counters["queries_total"] == 3
    assert Metrics(tmp_path, tmp_path / "locks").snapshot().histograms["query_duration_ms"].count == 1


def test_nothing_is_lost_where_many_count_and_write_at_once(tmp_path: Path) -> None:
    def work() -> None:
        metrics = Metrics(tmp_path, tmp_path / "locks")
        for _ in range(20):
            metrics.count("queries_total")
            metrics.flush()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Metrics(tmp_path, tmp_path / "locks").snapshot().counters["queries_total"] == 80


def test_a_damaged_file_is_counted_again_and_no_search_fails_for_it(tmp_path: Path) -> None:
    for content in ("{broken", "[]", '{"counters": {"queries_total": "x"}, "histograms": {}}'):
        (tmp_path / "metrics.json").write_text(content)
        metrics = Metrics(tmp_path, tmp_path / "locks")
        metrics.count("queries_total")
        assert metrics.snapshot().counters["queries_total"] == 1


def test_counts_are_written_now_and_then_and_not_at_each_search(tmp_path: Path) -> None:
    now = [0.0]
    metrics = Metrics(tmp_path, tmp_path / "locks", clock=lambda: now[0])
    metrics.count("queries_total")
    metrics.settle()
    assert not (tmp_path / "metrics.json").exists()
    now[0] = 3.0
    metrics.settle()
    assert (tmp_path / "metrics.json").exists()


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_quantile_is_the_end_of_the_bucket_that_holds_it(values: list[float]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    assert histogram.count == sum(histogram.buckets) == len(values)
    for share in (0.01, 0.5, 0.95, 1.0):
        true = sorted(values)[math.ceil(share * len(values)) - 1]
        result = histogram.quantile(share)
        assert result is not None
        assert result >= true
        assert result == min((end for end in BUCKETS if end >= true), default=math.inf)

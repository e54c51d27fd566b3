"""What the runner prints: quality, differences to the product, times, ingest, each as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.peers.running import Answers, Ingest, percentile
from benchmarks.peers.sets import ndcg
from knowledge_mcp.evals.measures import LEVEL, difference, holm

NEAR = 0.01
"""How far the product may lie behind on a set."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Hold one way of a peer on one set: nDCG@10 by question, milliseconds of each search by wall and processor."""

    label: str
    set: str
    documents: int
    values: Mapping[str, float]
    wall_ms: Sequence[float]
    cpu_ms: Sequence[float]

    @property
    def ndcg(self) -> float:
        """Give the mean."""
        return mean(self.values.values())


def scored(found: Answers, grades: Mapping[str, Mapping[str, int]]) -> Scored:
    """Score the rankings of one way on one set."""
    values = {key: ndcg(ranking, grades[key]) for key, ranking in found.rankings.items()}
    return Scored(f"{found.peer}, {found.way}", found.set, found.documents, values, found.wall_ms, found.cpu_ms)


def quality_table(rows: Sequence[Scored], ours: str) -> list[str]:
    """Show nDCG@10 by way and set, with its mean; `+` where `ours` is better than chance explains, `-` where worse.

    By random signs of the differences of single questions, all comparisons of the table adjusted together (Holm).
    """
    sets, ways = _axes(rows)
    cells = {(row.label, row.set): row for row in rows}
    marks = _marks(cells, ways, sets, ours)
    best = {name: max(cells[way, name].ndcg for way in ways) for name in sets}
    lines = _head(["nDCG@10", *(_short(name) for name in sets), "mean"])
    for way in ways:
        shown = [_cell(cells[way, name].ndcg, best[name]) + marks.get((way, name), "") for name in sets]
        lines.append(_line([way, *shown, f"{mean(cells[way, name].ndcg for name in sets):.3f}"]))
    return lines


def verdicts(rows: Sequence[Scored], ours: str) -> list[str]:
    """Count for each other way the sets on which `ours` is ahead, at most `NEAR` behind, and further behind."""
    sets, ways = _axes(rows)
    cells = {(row.label, row.set): row.ndcg for row in rows}
    lines = _head([f"{ours} against", "ahead", f"behind by up to {NEAR}", "behind by more", "least", "where"])
    for way in ways:
        if way == ours:
            continue
        gaps = {name: cells[ours, name] - cells[way, name] for name in sets}
        ahead = sum(gap > 0 for gap in gaps.values())
        far = sum(gap < -NEAR for gap in gaps.values())
        worst = min(gaps, key=lambda name: gaps[name])
        counts = [f"{ahead} of {len(sets)}", str(len(sets) - ahead - far), str(far)]
        lines.append(_line([way, *counts, f"{gaps[worst]:+.3f}", _short(worst)]))
    return lines


def latency_table(rows: Sequence[Scored]) -> list[str]:
    """Show p50 and p95 of a search by way and set, and the processor's median over all questions."""
    sets, ways = _axes(rows)
    cells = {(row.label, row.set): row for row in rows}
    lines = _head(["ms a search, p50 / p95", *(_short(name) for name in sets), "processor ms, median"])
    for way in ways:
        times = [cells[way, name].wall_ms for name in sets]
        shown = [f"{percentile(each, 0.5):.1f} / {percentile(each, 0.95):.1f}" for each in times]
        spent = median(value for name in sets for value in cells[way, name].cpu_ms)
        lines.append(_line([way, *shown, f"{spent:.1f}"]))
    return lines


def ingest_table(rows: Sequence[Ingest]) -> list[str]:
    """Show the median round of each way: documents a second, and time beside the model alone on the same texts."""
    rounds: dict[str, list[Ingest]] = {}
    for row in rows:
        rounds.setdefault(f"{row.peer}, {row.way}", []).append(row)
    heads = ["ingest", "documents/s", "documents/processor-s", "passages", "time ÷ model", "processor time ÷ model"]
    lines = _head(heads)
    for way, some in rounds.items():
        count = some[0].documents
        cells = [f"{count / median(each.wall_s for each in some):.0f}"]
        cells += [f"{count / median(each.cpu_s for each in some):.0f}", str(some[0].texts or count)]
        if some[0].texts:
            cells.append(f"{median(each.wall_s / each.bare_wall_s for each in some):.2f}")
            cells.append(f"{median(each.cpu_s / each.bare_cpu_s for each in some):.2f}")
        else:
            cells += ["no model", "no model"]
        lines.append(_line([way, *cells]))
    return lines


def _marks(
    cells: Mapping[tuple[str, str], Scored], ways: Sequence[str], sets: Sequence[str], ours: str
) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for way in ways:
        for name in sets if way != ours else ():
            mine, other = cells[ours, name].values, cells[way, name].values
            result = difference([other[key] for key in mine], list(mine.values()))
            found[way, name] = (result.mean, result.p)
    adjusted = holm([p for _, p in found.values()])
    return {
        place: " +" if gap > 0 else " -"
        for (place, (gap, _)), p in zip(found.items(), adjusted, strict=True)
        if p < 1 - LEVEL
    }


def _axes(rows: Sequence[Scored]) -> tuple[list[str], list[str]]:
    """List sets and ways in the order in which they come."""
    return list(dict.fromkeys(row.set for row in rows)), list(dict.fromkeys(row.label for row in rows))


def _cell(value: float, best: float) -> str:
    return f"**{value:.3f}**" if value == best else f"{value:.3f}"


def _short(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _head(cells: Sequence[str]) -> list[str]:
    return [_line(cells), "|" + "---|" * len(cells)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

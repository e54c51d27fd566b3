"""Plots of an evaluation as inline SVG, without scripts, libraries or external resources; the page sets the colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 14, 40
_SERIES = 6
"""Number of classes `s0` … in the style sheet that colour series."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """A mean with its interval; `series` chooses the colour."""

    label: str
    mean: float
    low: float
    high: float
    series: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """A value from zero, with a tooltip."""

    value: float
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate (`across`) and what happened (`up`), with the interval of the latter and the number of cases."""

    across: float
    up: float
    low: float
    high: float
    count: int


def whiskers(rows: Sequence[Whisker], *, low: float = 0.0, high: float = 1.0, caption: str = "") -> str:
    """Draw one line per row, with a dot and its interval, on one axis from `low` to `high`."""
    left, step = 190, 24
    height = _TOP + step * len(rows) + _BOTTOM
    scale = _Scale(low, high, left, WIDTH - 70)
    parts = [*_vertical_grid(scale, height - _BOTTOM)]
    if low < 0 < high:
        parts.append(
            f'<line class="zero" x1="{scale.at(0):.1f}" x2="{scale.at(0):.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>'
        )
    for number, row in enumerate(rows):
        y = _TOP + step * (number + 0.5)
        colour = f"s{row.series % _SERIES}"
        title = f"{row.label}: {row.mean:.4f} [{row.low:.4f}, {row.high:.4f}]"
        parts.append(
            f'<g class="{colour}"><title>{escape(title)}</title>'
            f'<line class="whisker" x1="{scale.at(row.low):.1f}" x2="{scale.at(row.high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="dot" cx="{scale.at(row.mean):.1f}" cy="{y}" r="4.5"/></g>'
            f'<text class="end" x="{left - 10}" y="{y + 4}">{escape(_cut(row.label, 28))}</text>'
            f'<text x="{WIDTH - 60}" y="{y + 4}">{row.mean:{"+.3f" if low < 0 else ".3f"}}</text>'
        )
    return _svg(height, parts, caption)


def curves(series: Mapping[str, Mapping[int, float]], caption: str) -> str:
    """Draw the share of right places over the number of results looked at, on a logarithmic axis."""
    height = 280
    depths = sorted({depth for line in series.values() for depth in line})
    across_scale = _Scale(0, math.log(max(depths[-1], 2)), _LEFT, WIDTH - 170)
    up_scale = _Scale(0, 1, height - _BOTTOM, _TOP)
    parts = [*_horizontal_grid(up_scale, WIDTH - 170)]
    for depth in depths:
        x = across_scale.at(math.log(depth))
        parts.append(f'<text class="mid" x="{x:.1f}" y="{height - _BOTTOM + 16}">{depth}</text>')
    for number, (name, line) in enumerate(series.items()):
        points = [(across_scale.at(math.log(depth)), up_scale.at(value), depth, value) for depth, value in line.items()]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
        parts.append(f'<g class="s{number % _SERIES}"><polyline class="line" points="{path}"/>')
        parts.extend(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{escape(name)}, {depth}: {value:.3f}</title></circle>"
            for x, y, depth, value in points
        )
        parts.append("</g>")
    parts += _legend(list(series), WIDTH - 155, _TOP + 8) if len(series) > 1 else []
    parts += _titles("results looked at", "share of right places", height, right=WIDTH - 170)
    return _svg(height, parts, caption)


def bars(values: Sequence[Bar], *, across: str, up: str, low: float = 0.0, high: float = 1.0, caption: str = "") -> str:
    """Draw a bar for each value, side by side; if `low` is negative, wins and losses have their own colours."""
    height = 220
    scale = _Scale(low, high, height - _BOTTOM, _TOP)
    room = WIDTH - _LEFT - _RIGHT
    width = room / max(len(values), 1)
    parts = [*_horizontal_grid(scale, WIDTH - _RIGHT)]
    for number, bar in enumerate(values):
        top, end = scale.at(max(bar.value, 0)), scale.at(min(bar.value, 0))
        colour = "s0" if low >= 0 else "win" if bar.value > 0 else "loss"
        gap = 0.15 * width if width > 3 else 0.0
        parts.append(
            f'<rect class="{colour} fill" x="{_LEFT + number * width + gap / 2:.2f}" y="{top:.1f}" '
            f'width="{max(width - gap, 0.4):.2f}" height="{max(end - top, 0.6):.1f}">'
            f"<title>{escape(bar.hint)}</title></rect>"
        )
    zero = scale.at(0)
    parts.append(f'<line class="zero" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}"/>')
    parts += _titles(across, up, height)
    return _svg(height, parts, caption)


def histogram(
    series: Mapping[str, Sequence[float]], *, across: str, marks: Mapping[str, float] | None = None, caption: str = ""
) -> str:
    """Draw overlaid histograms, each in shares of its own series; `marks` are labelled vertical lines."""
    height = 240
    everything = [value for values in series.values() for value in values]
    low, high = _round_range(min(everything), max(everything))
    across_scale = _Scale(low, high, _LEFT, WIDTH - 170)
    bins = 30
    shares = {name: _shares(values, low, high, bins) for name, values in series.items()}
    top = max(max(each) for each in shares.values())
    up_scale = _Scale(0, top * 1.1, height - _BOTTOM, _TOP)
    parts = [*_horizontal_grid(up_scale, WIDTH - 170, percent=True)]
    parts.extend(
        f'<text class="mid" x="{across_scale.at(tick):.1f}" y="{height - _BOTTOM + 16}">{_number(tick)}</text>'
        for tick in _ticks(low, high)
    )
    width = (across_scale.end - across_scale.start) / bins
    for number, (name, each) in enumerate(shares.items()):
        for place, share in enumerate(each):
            if share:
                y = up_scale.at(share)
                parts.append(
                    f'<rect class="s{number % _SERIES} fill see-through" x="{_LEFT + place * width:.1f}" y="{y:.1f}" '
                    f'width="{width - 0.6:.1f}" height="{height - _BOTTOM - y:.1f}">'
                    f"<title>{escape(name)}: {share:.1%}</title></rect>"
                )
    for line, (name, value) in enumerate((marks or {}).items()):
        x = across_scale.at(min(max(value, low), high))
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>')
        parts.append(f'<text class="small" x="{x + 4:.1f}" y="{_TOP + 10 + 13 * line}">{escape(name)}</text>')
    parts += _legend(list(series), WIDTH - 155, _TOP + 8) if len(series) > 1 else []
    parts += _titles(across, "share", height, right=WIDTH - 170)
    return _svg(height, parts, caption)


def steps(series: Mapping[str, Sequence[float]], *, across: str, caption: str = "") -> str:
    """Draw the cumulative distribution of each series on a logarithmic axis."""
    height = 260
    everything = [max(value, 1e-3) for values in series.values() for value in values]
    low, high = math.floor(math.log10(min(everything))), math.ceil(math.log10(max(everything)))
    scale = _Scale(low, max(high, low + 1), _LEFT, WIDTH - 170)
    up_scale = _Scale(0, 1, height - _BOTTOM, _TOP)
    parts = [*_horizontal_grid(up_scale, WIDTH - 170)]
    for power in range(low, max(high, low + 1) + 1):
        for factor in (1, 2, 5):
            at = power + math.log10(factor)
            if at <= scale.high + 1e-9:
                x = scale.at(at)
                parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{height - _BOTTOM}"/>')
                parts.append(
                    f'<text class="mid" x="{x:.1f}" y="{height - _BOTTOM + 16}">{_number(factor * 10.0**power)}</text>'
                )
    for number, (name, values) in enumerate(series.items()):
        ordered = sorted(values)
        points = [
            (scale.at(math.log10(max(value, 1e-3))), up_scale.at((rank + 1) / len(ordered)))
            for rank, value in enumerate(ordered)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f'<polyline class="line s{number % _SERIES}" points="{path}"><title>{escape(name)}</title></polyline>'
        )
    parts += _legend(list(series), WIDTH - 155, _TOP + 8)
    parts += _titles(across, "share of searches", height, right=WIDTH - 170)
    return _svg(height, parts, caption)


def reliability_diagram(series: Mapping[str, Sequence[Point]], *, across: str, up: str, caption: str = "") -> str:
    """Draw points in 0..1 and the diagonal of perfect calibration; the area of a dot shows its count."""
    height, side = 420, 420 - _TOP - _BOTTOM
    across_scale, up_scale = _Scale(0, 1, _LEFT, _LEFT + side), _Scale(0, 1, height - _BOTTOM, _TOP)
    parts = [*_horizontal_grid(up_scale, _LEFT + side), *_vertical_grid(across_scale, height - _BOTTOM)]
    parts.append(
        f'<line class="mark" x1="{_LEFT}" y1="{height - _BOTTOM}" x2="{_LEFT + side}" y2="{_TOP}"/>'
        f'<text class="small" x="{_LEFT + 6}" y="{_TOP + 14}">dashed: what it should be</text>'
    )
    most = max((point.count for points in series.values() for point in points), default=1)
    for number, (name, points) in enumerate(series.items()):
        at = [(across_scale.at(each.across), up_scale.at(each.up), each) for each in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in at)
        parts.append(f'<g class="s{number % _SERIES}"><polyline class="line" points="{path}"/>')
        for x, y, each in at:
            title = f"{name}: estimated {each.across:.2f}, happened {each.up:.2f} of {each.count}"
            parts.append(
                f'<line class="whisker see-through" x1="{x:.1f}" x2="{x:.1f}" '
                f'y1="{up_scale.at(each.low):.1f}" y2="{up_scale.at(each.high):.1f}"/>'
                f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{2 + 4 * math.sqrt(each.count / most):.1f}">'
                f"<title>{escape(title)}</title></circle>"
            )
        parts.append("</g>")
    parts += _legend(list(series), _LEFT + side + 24, _TOP + 8) if len(series) > 1 else []
    parts += _titles(across, up, height, right=_LEFT + side)
    return _svg(height, parts, caption)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values from `low`..`high` to coordinates from `start`..`end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / ((self.high - self.low) or 1.0)


def _svg(height: float, parts: Sequence[str], caption: str) -> str:
    label = escape(caption, quote=True)
    svg = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _vertical_grid(scale: _Scale, bottom: float) -> list[str]:
    parts: list[str] = []
    for tick in _ticks(scale.low, scale.high):
        x = scale.at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="mid" x="{x:.1f}" y="{bottom + 16}">{_number(tick)}</text>')
    return parts


def _horizontal_grid(scale: _Scale, right: float, *, percent: bool = False) -> list[str]:
    parts: list[str] = []
    for tick in _ticks(scale.low, scale.high):
        y = scale.at(tick)
        label = f"{tick:.0%}" if percent else _number(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{label}</text>')
    return parts


def _titles(across: str, up: str, height: float, *, right: float = WIDTH - _RIGHT) -> list[str]:
    middle = (_LEFT + right) / 2
    upright = (height - _BOTTOM + _TOP) / 2
    return [
        f'<text class="mid small" x="{middle:.0f}" y="{height - 6:.0f}">{escape(across)}</text>',
        f'<text class="mid small" transform="translate(12 {upright:.0f}) rotate(-90)">{escape(up)}</text>',
    ]


def _legend(names: Sequence[str], x: float, y: float) -> list[str]:
    return [
        f'<g class="s{number % _SERIES}">'
        f'<rect class="fill" x="{x}" y="{y + 20 * number - 9}" width="11" height="11"/></g>'
        f'<text class="small" x="{x + 17}" y="{y + 20 * number}">{escape(_cut(name, 22))}</text>'
        for number, name in enumerate(names)
    ]


def _shares(values: Sequence[float], low: float, high: float, bins: int) -> list[float]:
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int(bins * (value - low) / ((high - low) or 1.0)))] += 1
    return [count / len(values) for count in counts]


def _round_range(low: float, high: float) -> tuple[float, float]:
    step = _step(high - low)
    return math.floor(low / step) * step, math.ceil(high / step + 1e-9) * step


def _step(room: float) -> float:
    """Choose a step of 1, 2 or 5 times a power of ten that divides a range into about five parts."""
    rough = (room or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough - 1e-12)


def _ticks(low: float, high: float) -> list[float]:
    step = _step(high - low)
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:.10g}" if abs(value) > 1e-12 else "0"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d2430; --soft: #5b6675; --rule: #d9dee5; --grid: #e8ebf0;
  --s0: #1f6feb; --s1: #c2410c; --s2: #15803d; --s3: #7c3aed; --s4: #be185d; --s5: #0e7490;
  --win: #15803d; --loss: #c2410c; --note: #fff7e0; }
@media (prefers-color-scheme: dark) { :root { --paper: #12161c; --ink: #e6eaf0; --soft: #9aa5b4; --rule: #2c3440;
  --grid: #232a34; --s0: #6ea8ff; --s1: #ff9561; --s2: #5fd389; --s3: #b79bff; --s4: #ff85b8; --s5: #5cc8dd;
  --win: #5fd389; --loss: #ff9561; --note: #2b2613; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--rule); }
h3 { margin-top: 1.8rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .75rem 0; font-size: .9rem; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; } td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.note { background: var(--note); padding: .4rem .7rem; border-radius: .3rem; }
figure { margin: 1.2rem 0; } figcaption { color: var(--soft); font-size: .88rem; }
svg { width: 100%; height: auto; max-width: 45rem; display: block; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg text.small { fill: var(--soft); font-size: 11.5px; }
svg text.mid { text-anchor: middle; fill: var(--soft); } svg text.end { text-anchor: end; }
.grid { stroke: var(--grid); } .zero { stroke: var(--soft); } .mark { stroke: var(--ink); stroke-dasharray: 4 3; }
.whisker { stroke-width: 2.5; stroke: currentColor; } .dot { fill: currentColor; }
.line { fill: none; stroke: currentColor; stroke-width: 2; } .fill { fill: currentColor; }
.see-through { fill-opacity: .55; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); } .s3 { color: var(--s3); }
.s4 { color: var(--s4); } .s5 { color: var(--s5); } .win { color: var(--win); } .loss { color: var(--loss); }
summary { cursor: pointer; }
"""

"""The style sheet of the report, in light and dark."""

from __future__ import annotations

__all__ = ["STYLE"]

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

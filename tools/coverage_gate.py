"""Hold the measured coverage to its minimum: lines and branches apart, read from `coverage json`."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MINIMUM_BRANCHES", "MINIMUM_LINES", "Coverage", "main", "read_coverage", "shortfalls"]

MINIMUM_LINES = 90.0
MINIMUM_BRANCHES = 85.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """Count what was run: statements and branches, covered and all."""

    covered_lines: int
    all_lines: int
    covered_branches: int
    all_branches: int

    @property
    def lines(self) -> float:
        """Percentage of the statements that were run; nothing to run counts as nothing run."""
        return 100.0 * self.covered_lines / self.all_lines if self.all_lines else 0.0

    @property
    def branches(self) -> float:
        """Percentage of the branches that were taken; nothing to take counts as nothing taken."""
        return 100.0 * self.covered_branches / self.all_branches if self.all_branches else 0.0


def read_coverage(path: Path) -> Coverage:
    """Read the totals of a `coverage json` report; KeyError where it was measured without branches."""
    totals = json.loads(path.read_text(encoding="utf-8"))["totals"]
    return Coverage(
        covered_lines=int(totals["covered_lines"]),
        all_lines=int(totals["num_statements"]),
        covered_branches=int(totals["covered_branches"]),
        all_branches=int(totals["num_branches"]),
    )


def shortfalls(coverage: Coverage) -> list[str]:
    """Say which minimum is missed, by how much; empty where both are met."""
    measured = [("line", coverage.lines, MINIMUM_LINES), ("branch", coverage.branches, MINIMUM_BRANCHES)]
    return [f"{what} coverage is {got:.2f} %, below {least:.0f} %" for what, got, least in measured if got < least]


def main(arguments: list[str]) -> int:
    """Print both figures and what is missing; return 1 where something is, 2 where there is no report."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print("usage: coverage_gate.py REPORT.json (made by `coverage json`)", file=sys.stderr)
        return 2
    coverage = read_coverage(Path(arguments[0]))
    print(f"line coverage   {coverage.lines:6.2f} %  ({coverage.covered_lines} of {coverage.all_lines})")
    print(f"branch coverage {coverage.branches:6.2f} %  ({coverage.covered_branches} of {coverage.all_branches})")
    missing = shortfalls(coverage)
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

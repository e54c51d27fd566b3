"""Hold the measured coverage to its minimum: lines, branches and functions apart, and the lines of components.

Read from a report of `coverage json`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

MINIMUM_LINES = 95.0
MINIMUM_BRANCHES = 90.0
MINIMUM_FUNCTIONS = 95.0


@dataclass(frozen=True, slots=True)
class Component:
    """Name a part of the program whose lines have a minimum of their own.

    Attributes:
        name: for people.
        paths: beginnings of its files' paths below `src/knowledge_mcp/`.
        minimum: percentage of its lines, all files together.
    """

    name: str
    paths: tuple[str, ...]
    minimum: float


COMPONENTS = (
    Component("tools", ("surfaces/",), 95.0),
    Component(
        "search",
        ("engine/search/search.py", "engine/search/by_name.py", "engine/repositories/search.py", "ranking/"),
        95.0,
    ),
    Component("embedding", ("embedders/",), 90.0),
    Component("ChromaDB", ("stores/chroma",), 90.0),
    Component("chunking", ("chunking/",), 95.0),
    Component("scanning", ("sources/scan",), 85.0),
    Component("cloning", ("sources/git",), 80.0),
)
"""What C 12.1 asks of each component, by the rooms that are its counterpart here."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Count what was run: statements, branches and functions (of which a line was run), covered and all."""

    covered_lines: int
    all_lines: int
    covered_branches: int
    all_branches: int
    covered_functions: int
    all_functions: int

    @property
    def lines(self) -> float:
        """Percentage of the statements that were run; nothing to run counts as nothing run."""
        return 100.0 * self.covered_lines / self.all_lines if self.all_lines else 0.0

    @property
    def branches(self) -> float:
        """Percentage of the branches that were taken; nothing to take counts as nothing taken."""
        return 100.0 * self.covered_branches / self.all_branches if self.all_branches else 0.0

    @property
    def functions(self) -> float:
        """Percentage of the functions that were entered; no function counts as none entered."""
        return 100.0 * self.covered_functions / self.all_functions if self.all_functions else 0.0


def read_coverage(path: Path) -> Coverage:
    """Read the totals of a `coverage json` report; KeyError where it was measured without branches."""
    report = json.loads(path.read_text(encoding="utf-8"))
    totals = report["totals"]
    # The region without a name is a file's top level; a function without a statement is a port's.
    entered = [
        int(region["summary"]["covered_lines"]) > 0
        for file in report["files"].values()
        for name, region in file["functions"].items()
        if name and int(region["summary"]["num_statements"])
    ]
    return Coverage(
        covered_lines=int(totals["covered_lines"]),
        all_lines=int(totals["num_statements"]),
        covered_branches=int(totals["covered_branches"]),
        all_branches=int(totals["num_branches"]),
        covered_functions=sum(entered),
        all_functions=len(entered),
    )


def shortfalls(coverage: Coverage) -> list[str]:
    """Say which minimum is missed, by how much; empty where all are met."""
    measured = [
        ("line", coverage.lines, MINIMUM_LINES),
        ("branch", coverage.branches, MINIMUM_BRANCHES),
        ("function", coverage.functions, MINIMUM_FUNCTIONS),
    ]
    return [f"{what} coverage is {got:.2f} %, below {least:.0f} %" for what, got, least in measured if got < least]


def component_shortfalls(path: Path) -> list[str]:
    """Say which component misses its minimum; one without a measured file misses it too."""
    files = json.loads(path.read_text(encoding="utf-8"))["files"]
    missing: list[str] = []
    for component in COMPONENTS:
        beginnings = tuple(f"src/knowledge_mcp/{each}" for each in component.paths)
        found = [file["summary"] for name, file in files.items() if name.replace("\\", "/").startswith(beginnings)]
        lines = sum(int(each["num_statements"]) for each in found)
        got = 100.0 * sum(int(each["covered_lines"]) for each in found) / lines if lines else 0.0
        if got < component.minimum:
            missing.append(f"line coverage of {component.name} is {got:.2f} %, below {component.minimum:.0f} %")
    return missing


def missed(path: Path) -> list[str]:
    """Name the lines of each file that were not run, and the ways out of its branches that were not taken."""
    told: list[str] = []
    for name, file in json.loads(path.read_text(encoding="utf-8"))["files"].items():
        lines = [str(line) for line in file["missing_lines"]]
        branches = [f"{start}->{end if end > 0 else 'exit'}" for start, end in file["missing_branches"]]
        if lines or branches:
            told.append(f"{name}: {', '.join(lines + branches)}")
    return told


def main(arguments: list[str]) -> int:
    """Print the figures and what is missing; return 1 where something is, 2 where there is no report."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print("usage: coverage_gate.py REPORT.json (made by `coverage json`)", file=sys.stderr)
        return 2
    coverage = read_coverage(Path(arguments[0]))
    print("\n".join(missed(Path(arguments[0]))))
    print(f"line coverage     {coverage.lines:6.2f} %  ({coverage.covered_lines} of {coverage.all_lines})")
    print(f"branch coverage   {coverage.branches:6.2f} %  ({coverage.covered_branches} of {coverage.all_branches})")
    print(f"function coverage {coverage.functions:6.2f} %  ({coverage.covered_functions} of {coverage.all_functions})")
    missing = shortfalls(coverage) + component_shortfalls(Path(arguments[0]))
    for line in missing:
        print(line, file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The gate holds lines, branches and functions apart and says what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.coverage_gate import COMPONENTS, Coverage, component_shortfalls, main, shortfalls


def _function(covered: int, statements: int = 2) -> dict[str, dict[str, int]]:
    return {"summary": {"covered_lines": covered, "num_statements": statements}}


def _report(folder: Path, lines: int, branches: int, functions: int, **components: int) -> str:
    totals = {
        "covered_lines": lines, "num_statements": 100, "covered_branches": branches, "num_branches": 100,
    }  # fmt: skip
    path = folder / "coverage.json"
    regions = {f"function_{number}": _function(int(number < functions)) for number in range(100)}
    regions |= {"": _function(2), "Port.method": _function(0, 0)}
    nothing = {"covered_lines": 0, "num_statements": 0}
    gaps: dict[str, Any] = {"missing_lines": [3, 4], "missing_branches": [[7, 9], [8, -1]]}
    whole: dict[str, Any] = {"functions": {}, "missing_lines": [], "missing_branches": []}
    files: dict[str, Any] = {"a.py": {"functions": regions, "summary": nothing, **gaps}}
    for component in COMPONENTS:
        covered = components.get(component.name, 100)
        summary = {"covered_lines": covered, "num_statements": 100}
        files[f"src/knowledge_mcp/{component.paths[0]}x.py"] = {"summary": summary, **whole}
    path.write_text(json.dumps({"totals": totals, "files": files}), encoding="utf-8")
    return str(path)


@pytest.mark.requirement("A-REQ-TEST-001", "C-12.1-coverage")
def test_coverage_at_its_minima_passes_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([_report(tmp_path, 95, 90, 95)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("a.py: 3, 4, 7->9, 8->exit\nline coverage      95.00 %")
    assert "function coverage  95.00 %  (95 of 100)" in output


@pytest.mark.requirement("A-REQ-TEST-001")
@pytest.mark.parametrize(
    ("lines", "branches", "functions", "message"),
    [
        (94, 100, 100, "line coverage is 94.00 %, below 95 %"),
        (100, 89, 100, "branch coverage is 89.00 %, below 90 %"),
        (100, 100, 94, "function coverage is 94.00 %, below 95 %"),
    ],
)
def test_each_shortfall_alone_fails_the_gate(
    lines: int, branches: int, functions: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_report(tmp_path, lines, branches, functions)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.requirement("C-12.1-components")
@pytest.mark.parametrize(
    ("component", "minimum"),
    [
        ("tools", 95), ("search", 95), ("embedding", 90), ("ChromaDB", 90), ("chunking", 95), ("scanning", 85),
        ("cloning", 80),
    ],
)  # fmt: skip
def test_a_component_below_its_own_minimum_fails_the_gate(component: str, minimum: int, tmp_path: Path) -> None:
    assert main([_report(tmp_path, 95, 90, 95, **{component: minimum})]) == 0
    assert main([_report(tmp_path, 95, 90, 95, **{component: minimum - 1})]) == 1
    (result,) = component_shortfalls(tmp_path / "coverage.json")
    assert result == f"line coverage of {component} is {minimum - 1:.2f} %, below {minimum} %"


def test_each_component_that_the_gate_names_is_there() -> None:
    sources = Path(__file__).resolve().parents[2] / "src" / "knowledge_mcp"
    names = [path.relative_to(sources).as_posix() for path in sources.rglob("*.py")]
    for component in COMPONENTS:
        for beginning in component.paths:
            assert any(name.startswith(beginning) for name in names), beginning


def test_measuring_nothing_does_not_pass_the_gate() -> None:
    assert len(shortfalls(Coverage(0, 0, 0, 0, 0, 0))) == 3


def test_a_missing_report_is_distinguished_from_low_coverage(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert main([]) == 2

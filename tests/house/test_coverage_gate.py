"""The gate holds lines and branches apart and says what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.coverage_gate import Coverage, main, shortfalls


def _report(folder: Path, lines: int, branches: int) -> str:
    totals = {
        "covered_lines": lines, "num_statements": 100, "covered_branches": branches, "num_branches": 100,
    }  # fmt: skip
    path = folder / "coverage.json"
    path.write_text(json.dumps({"totals": totals}), encoding="utf-8")
    return str(path)


@pytest.mark.requirement("A-REQ-TEST-001")
def test_coverage_at_both_minima_passes_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([_report(tmp_path, 90, 85)]) == 0
    assert "line coverage    90.00 %" in capsys.readouterr().out


@pytest.mark.requirement("A-REQ-TEST-001")
@pytest.mark.parametrize(
    ("lines", "branches", "message"),
    [(89, 100, "line coverage is 89.00 %, below 90 %"), (100, 84, "branch coverage is 84.00 %, below 85 %")],
)
def test_either_shortfall_alone_fails_the_gate(
    lines: int, branches: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([_report(tmp_path, lines, branches)]) == 1
    assert message in capsys.readouterr().err


def test_measuring_nothing_does_not_pass_the_gate() -> None:
    assert len(shortfalls(Coverage(0, 0, 0, 0))) == 2


def test_a_missing_report_is_told_apart_from_low_coverage(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.json")]) == 2
    assert main([]) == 2

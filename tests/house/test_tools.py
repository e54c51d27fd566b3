"""The linters are as strict as the house says, run by one command, and able to find something."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.house.source import FOLDERS
from tests.machine import in_ci

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
UNTYPED = "def double(value):\n    return value * 2\n"


def run_tool(name: str, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run one of the linters, or leave the test where the lint group is not installed."""
    if importlib.util.find_spec(name) is None and not in_ci():
        pytest.skip(f"{name} is not installed; run 'make lint' once")
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)


def recipe(target: str) -> str:
    """Return the commands of a make target."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.requirement("A-REQ-TEST-002")
def test_pyright_is_strict_over_everything_and_part_of_lint() -> None:
    assert TOOLS["pyright"]["typeCheckingMode"] == "strict"
    assert set(TOOLS["pyright"]["include"]) == set(FOLDERS)
    assert [name for name, value in TOOLS["pyright"].items() if name.startswith("report") and value is False] == [
        "reportMissingTypeStubs"
    ]
    assert "/pyright" in recipe("lint")


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-TEST-002")
def test_pyright_finds_a_function_without_types(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(UNTYPED, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    finished = run_tool("pyright", "sample.py", folder=tmp_path)
    assert finished.returncode == 1, finished.stderr
    assert "reportMissingParameterType" in finished.stdout


@pytest.mark.requirement("A-REQ-TEST-003")
def test_ruff_finds_nothing_in_the_project() -> None:
    finished = run_tool("ruff", "check", "--no-cache", "--output-format", "concise", ".")
    assert finished.returncode == 0, finished.stdout
    assert "/ruff check ." in recipe("lint")
    assert "/ruff format --check ." in recipe("lint")


@pytest.mark.requirement("A-REQ-TEST-003")
def test_ruff_finds_a_print_with_the_settings_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text("print('x')\n", encoding="utf-8")
    settings = str(ROOT / "pyproject.toml")
    finished = run_tool(
        "ruff", "check", "--no-cache", "--config", settings, "--output-format", "concise", str(tmp_path)
    )
    assert finished.returncode == 1, finished.stdout
    assert "T201" in finished.stdout


def test_warnings_are_errors_and_markers_are_known() -> None:
    options = TOOLS["pytest"]["ini_options"]
    assert options["filterwarnings"] == ["error"]
    assert "--strict-markers" in options["addopts"]


def test_ci_runs_what_a_developer_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    for step in ("make lint", "make test SLOW=1 COVERAGE=1", "make coverage-report"):
        assert step in text
    assert "coverage_gate.py" in recipe("coverage-report")
    assert '$(if $(SLOW),,-m "not slow")' in recipe("test")
    assert "-m slow" in recipe("test-slow")


def test_files_with_slow_tests_begin(request: pytest.FixtureRequest) -> None:
    plugins = request.config.pluginmanager.get_plugins()
    (conftest,) = (each for each in plugins if getattr(each, "__file__", None) == str(ROOT / "tests" / "conftest.py"))

    class Item(SimpleNamespace):
        def get_closest_marker(self, name: str) -> bool:
            return name in self.marks

    a, b, c = (ROOT / "tests" / "engine" / name for name in "abc")
    quick, mixed, slow = (Item(path=path, marks=marks) for path, marks in ((a, []), (b, []), (b, ["slow"])))
    other = Item(path=c, marks=[])
    items = [quick, mixed, slow, other]
    conftest.pytest_collection_modifyitems(items)
    assert items == [mixed, slow, quick, other]


def test_layers_name_every_room_and_are_exhaustive() -> None:
    layers = TOOLS["importlinter"]["contracts"][0]
    assert layers["exhaustive"] is True
    named = {name.strip(" ()") for line in layers["layers"] for name in line.split("|")}
    rooms = {path.name for path in (ROOT / "src" / "knowledge_mcp").iterdir() if (path / "__init__.py").is_file()}
    assert rooms - named == set()

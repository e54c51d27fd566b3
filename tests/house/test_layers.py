"""The import contracts hold for the project, and break on each kind of import that they are there against."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.machine import in_ci

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def contracts(root: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Check the package below `source` by the contracts in `root`, or leave the test without the lint group."""
    if importlib.util.find_spec("importlinter") is None and not in_ci():
        pytest.skip("import-linter is not installed; run 'make lint' once")
    command = [sys.executable, "-c", SCRIPT, "--no-cache", "--config", str(root / "pyproject.toml")]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def lay_rooms(root: Path, files: dict[str, str]) -> Path:
    """Lay an empty package with every room that the layers name, and `files` in it."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layered = [contract for contract in tools["importlinter"]["contracts"] if contract["type"] == "layers"]
    package = root / "knowledge_mcp"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    for contract in layered:
        above = root / contract["containers"][0].replace(".", "/")
        for room in (name.strip() for line in contract["layers"] for name in line.split("|")):
            (above / room).mkdir()
            (above / room / "__init__.py").write_text("", encoding="utf-8")
    for path, text in files.items():
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    return root


def test_the_project_keeps_its_contracts() -> None:
    finished = contracts(ROOT, ROOT / "src")
    assert finished.returncode == 0, finished.stdout


def test_rooms_that_import_downwards_keep_the_contracts(tmp_path: Path) -> None:
    files = {
        "chunking/a.py": "from knowledge_mcp import language",
        "engine/core/a.py": "from knowledge_mcp import ports",
        "cli/a.py": "from knowledge_mcp import wiring",
    }
    finished = contracts(ROOT, lay_rooms(tmp_path, files))
    assert finished.returncode == 0, finished.stdout


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("model/a.py", "ports"),
        ("engine/a.py", "stores"),
        ("engine/a.py", "settings"),
        ("remote/a.py", "readers"),
        ("stores/a.py", "readers"),
        ("language/a.py", "readers"),
        ("readers/a.py", "settings"),
        ("surfaces/a.py", "transports"),
        ("cli/a.py", "testing"),
    ],
)
def test_an_import_against_the_architecture_breaks_a_contract(path: str, imported: str, tmp_path: Path) -> None:
    late = f"def f() -> None:\n    from knowledge_mcp import {imported}\n"
    finished = contracts(ROOT, lay_rooms(tmp_path, {path: late}))
    assert finished.returncode == 1, finished.stdout
    assert f"knowledge_mcp.{imported}" in finished.stdout


def test_a_room_that_no_layer_names_breaks_the_contracts(tmp_path: Path) -> None:
    finished = contracts(ROOT, lay_rooms(tmp_path, {"attic/__init__.py": ""}))
    assert finished.returncode == 1, finished.stdout
    assert "attic" in finished.stdout

"""Hints name the distribution that is installed, and extras that it has."""

from __future__ import annotations

import ast
import importlib.metadata
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.support import distribution
from knowledge_mcp.support.distribution import distribution_name, install_command
from tests.house.source import package_modules

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    distribution_name.cache_clear()
    yield
    distribution_name.cache_clear()


def test_the_hint_names_the_distribution_that_brings_our_commands() -> None:
    assert distribution_name() == PROJECT["name"]
    assert install_command("office") == f'pip install "{PROJECT["name"]}[office]"'


def test_a_distribution_that_only_bears_our_name_is_not_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "knowledge_mcp-9.dist-info"
    stranger.mkdir()
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: knowledge-mcp\nVersion: 9\n", encoding="utf-8")
    (stranger / "entry_points.txt").write_text(
        "[console_scripts]\nknowledge-mcp = somebody_else.server:main\n", encoding="utf-8"
    )
    strangers = [importlib.metadata.Distribution.at(stranger)]
    monkeypatch.setattr(distribution.importlib.metadata, "distributions", lambda: strangers)
    assert distribution_name() is None
    assert "knowledge-mcp" not in install_command("office")


def test_every_extra_that_a_hint_names_exists() -> None:
    named = {
        node.args[0].value
        for module in package_modules(ROOT)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "install_command"
        and isinstance(node.args[0], ast.Constant)
    }
    assert named
    assert named <= set(PROJECT["optional-dependencies"])

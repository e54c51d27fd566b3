"""Dependencies are declared where they are imported, imported where they are declared, explained, and locked."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.house.dependencies import declared, imported, normal, unexplained
from tests.house.source import nodes, package_modules

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "docs" / "decisions" / "0001-dependencies.md"
LOCK = ROOT / "requirements.lock"
LOCK_ENTRY = re.compile(r"[a-z0-9-]+==[0-9][0-9A-Za-z.]*( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n")

SAMPLE = """
[project]
name = "clausewise"
dependencies = ["PyYAML>=6", "numpy[x]>=2,<3 ; python_version > '3'"]
optional-dependencies = { hub = ["hugging_face.hub>=1"], all = ["clausewise[hub]"] }
"""


def test_every_dependency_is_explained_in_its_record() -> None:
    assert unexplained(ROOT, RECORD) == []


def test_the_lock_holds_names_versions_and_hashes_and_nothing_else() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert LOCK_ENTRY.sub("", text) == ""
    assert len(LOCK_ENTRY.findall(text)) > 100


def test_every_declared_dependency_is_locked() -> None:
    names = re.findall(r"^[a-z0-9-]+", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    locked = {normal(name) for name in names}
    assert declared(ROOT) - locked == set()


def test_every_extra_that_a_hint_names_exists() -> None:
    named = {
        node.args[0].value
        for module in package_modules(ROOT)
        for node in nodes(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"install_command", "needing"}
        and isinstance(node.args[0], ast.Constant)
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert named
    assert named <= set(project["optional-dependencies"])


def test_declared_names_are_read_without_versions_extras_and_markers(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SAMPLE, encoding="utf-8")
    assert declared(tmp_path) == {"pyyaml", "numpy", "hugging-face-hub"}
    assert declared(tmp_path, extras=False) == {"pyyaml", "numpy"}


def test_an_import_inside_a_function_is_seen_with_its_place(tmp_path: Path) -> None:
    package = tmp_path / "src" / "knowledge_mcp"
    package.mkdir(parents=True)
    (package / "a.py").write_text("import json\ndef f() -> None:\n    import yaml.nodes\n", encoding="utf-8")
    assert imported(tmp_path) == {"pyyaml": "src/knowledge_mcp/a.py:3"}


def test_a_dependency_without_its_line_is_found(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SAMPLE, encoding="utf-8")
    record = tmp_path / "record.md"
    record.write_text("- `numpy`: vectors\n- `hugging_face-hub`: models\n- `torch`: no\n", encoding="utf-8")
    assert unexplained(tmp_path, record) == [
        "pyyaml is declared and not explained",
        "torch is explained and not declared",
    ]


@pytest.mark.parametrize(
    "line",
    ["mcp @ https://example.org/mcp.whl\n", "--index-url https://example.org\n", "mcp==2.3.0\n", "mcp==2.3.0 \\\n"],
)
def test_an_address_or_a_version_without_its_hash_is_no_entry_of_the_lock(line: str) -> None:
    assert LOCK_ENTRY.fullmatch(line) is None

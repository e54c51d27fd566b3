"""Sibling adapters stand alone: a store knows no other store, a reader no other reader."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from knowledge_mcp import registry
from knowledge_mcp.model.collection import ProviderName, StoreName
from knowledge_mcp.model.source import MEDIA_TYPES, OSCAL_YAML
from tests.house.adapters import adapters, leaning_on_a_sibling

REGISTRY = 'STORES = {"one": "knowledge_mcp.stores.one:One", "two": "knowledge_mcp.stores.two.store:Two"}\n'


def _lay(root: Path, files: dict[str, str]) -> Path:
    stores = root / "src" / "knowledge_mcp" / "stores"
    (stores / "two").mkdir(parents=True)
    (stores.parent / "registry.py").write_text(REGISTRY, encoding="utf-8")
    for path, text in {"__init__.py": "", "two/__init__.py": "", **files}.items():
        (stores / path).write_text(text, encoding="utf-8")
    return root


def test_every_adapter_can_be_chosen_and_every_type_of_file_has_a_reader() -> None:
    assert {*get_args(StoreName), "memory"} == {*registry.STORES}, "name it in model/collection.py: StoreName"
    assert {*get_args(ProviderName)} == {*registry.EMBEDDERS}, "name it in model/collection.py: ProviderName"
    assert {*MEDIA_TYPES.values(), OSCAL_YAML} == {*registry.READERS}, (
        "registry.py: READERS, model/source.py: MEDIA_TYPES"
    )


def test_adapters_are_read_from_the_registry(tmp_path: Path) -> None:
    assert adapters(_lay(tmp_path, {})) == {"knowledge_mcp.stores.one", "knowledge_mcp.stores.two"}


def test_an_adapter_that_imports_its_sibling_is_found(tmp_path: Path) -> None:
    root = _lay(tmp_path, {"one.py": "from knowledge_mcp.stores.two import store\n", "two/store.py": ""})
    assert leaning_on_a_sibling(root) == [
        "knowledge_mcp.stores.one leans on knowledge_mcp.stores.two",
        "knowledge_mcp.stores.one leans on knowledge_mcp.stores.two.store",
    ]


def test_an_adapter_that_reaches_its_sibling_through_a_helper_is_found(tmp_path: Path) -> None:
    files = {
        "one.py": "",
        "two/store.py": "def f() -> None:\n    import knowledge_mcp.stores.rows\n",
        "rows.py": "import knowledge_mcp.stores.one\n",
    }
    assert leaning_on_a_sibling(_lay(tmp_path, files)) == ["knowledge_mcp.stores.two leans on knowledge_mcp.stores.one"]


def test_adapters_may_share_a_helper(tmp_path: Path) -> None:
    helper = "from knowledge_mcp.stores import rows\n"
    assert leaning_on_a_sibling(_lay(tmp_path, {"one.py": helper, "two/store.py": helper, "rows.py": ""})) == []

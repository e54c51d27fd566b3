"""ChromaDB with too many passages: reported at start, by each ingest and by the doctor, and how to move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.settings import load_settings
from knowledge_mcp.stores.chroma import store
from tests.cli.conftest import Command

NAME = "se_knowledge_base"


@pytest.mark.parametrize(("outgrown", "name"), [(True, NAME), (True, "of_a_team"), (False, NAME)])
def test_a_collection_too_large_for_chromadb_is_reported_wherever_somebody_can_do_something_about_it(
    home: Path,
    real_ingest: Command,
    knowledge: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    outgrown: bool,
    name: str,
) -> None:
    monkeypatch.setenv("VECTOR_STORE", "chromadb")
    monkeypatch.setenv("DATA_PATH", str(home / "data"))
    if outgrown:
        monkeypatch.setattr(store, "MOST_PASSAGES", 1)
    (home / "documents").mkdir()
    (home / "documents" / "pumps.md").write_text("# Pumps\n\n## 1 Care\n\nGrease.\n\n## 2 Use\n\nTurn it on.\n")
    done = real_ingest("documents", "--collection", name)
    assert done.code == 0, done.err
    assert ("store_outgrown" in done.err) == outgrown
    assert ("knowledge migrate --from chromadb" in done.err) == outgrown

    environ = {"VECTOR_STORE": "chromadb", "DATA_PATH": str(home / "data")}
    settings = load_settings(environ=environ, folder=home)
    for surfaces in (["rag"], ["standards", "rag"]):
        assert wiring.try_start(settings, surfaces=surfaces).problems == ()
        assert capsys.readouterr().err.count("store_outgrown") == outgrown, "once, whatever collection is served"

    checks = {each["check"]: each for each in json.loads(knowledge("doctor", "--json").out)["checks"]}
    assert ("store size" in checks) == outgrown
    assert (f"other collections ({name})" in checks["contents"]["message"]) == (name != NAME)
    if outgrown:
        assert checks["store size"]["status"] == "warn"
        assert f"--from chromadb --to postgres --collection {name}" in checks["store size"]["what_to_do"]
        moved = knowledge("migrate", "--from", "chromadb", "--to", "sqlite", "--collection", name, "--json")
        assert moved.code == 0, moved.err


def test_the_bound_is_the_one_that_the_documentation_names() -> None:
    documentation = Path(__file__).resolve().parents[2] / "docs" / "chromadb.md"
    assert f"{store.MOST_PASSAGES:,} passages" in documentation.read_text("utf-8")

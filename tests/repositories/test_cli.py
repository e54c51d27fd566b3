"""`pk-mcp` from end to end, each command in a process of its own, over SQLite and a Git server on loopback."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from knowledge_mcp import wiring
from knowledge_mcp.cli.repositories.repositories import app
from knowledge_mcp.engine.repositories.manifest import read_manifest, write_manifest
from tests.cli.running import ROOT, Finished, environment
from tests.repositories.world import FILES, World, make_service
from tests.servers.git_server import GitServer, MadeRepository


def pk(folder: Path, *arguments: str, **extra: str) -> Finished:
    """Run the command over a folder."""
    command = [sys.executable, "-m", "tests.repositories.server", str(folder), "pk-mcp", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(folder, extra), check=False, capture_output=True, text=True, timeout=60
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def answer_of(finished: Finished) -> dict[str, Any]:
    """Return the JSON that a command wrote."""
    content: dict[str, Any] = json.loads(finished.out)
    return content


@pytest.mark.slow
@pytest.mark.requirement(
    "C-15.3-index", "C-15.3-search", "C-15.3-status", "C-15.3-remove", "C-9.4-command", "C-9.3-command",
    "C-9.3-components", "C-9.4-queries_total", "C-9.4-query_duration_ms", "C-9.4-embeddings_generated",
    "C-9.4-embedding_duration_ms", "C-9.4-indexing_files_processed", "C-9.4-indexing_duration_ms",
)  # fmt: skip
def test_a_repository_s_whole_life_on_the_command_line(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "served" / "team" / "my-api")
    first = made.commit(FILES)
    with GitServer(tmp_path / "served", token="t0ken-of-mine") as server:
        secret = {"TOKEN": "t0ken-of-mine", "TOKEN_HOST": server.host}
        indexed = pk(tmp_path, "index", server.url("team/my-api.git"), "--json", **secret)
        assert indexed.code == 0, indexed.err
        assert (answer_of(indexed)["commit"], answer_of(indexed)["files_processed"]) == (first, len(FILES))
        second = made.commit({"new.py": "def fresh_function():\n    pass\n"})
        checked = answer_of(pk(tmp_path, "status", "my-api", "--check", "--json", **secret))
        assert (checked["repositories"][0]["stale"], checked["repositories"][0]["head_commit"]) == (True, second)
        refreshed = pk(tmp_path, "refresh", "my-api", **secret)
        assert "commit diff" in refreshed.out
        again = pk(tmp_path, "reindex", "my-api", "--json", **secret)
        assert answer_of(again)["files_processed"] == len(FILES) + 1
        everything = [indexed, refreshed, again]
    found = pk(tmp_path, "search", "fresh_function", "--json")
    assert answer_of(found)["results"][0]["file_path"] == "new.py"
    shown = pk(tmp_path, "search", "validate a token", "--threshold", "0.1", "--language", "python", "--repo", "my-api")
    assert "src/auth/tokens.py:1-17" in shown.out
    health = pk(tmp_path, "health")
    assert set(answer_of(health)) == {"status", "timestamp", "version", "components"}
    assert answer_of(health)["status"] == "healthy"
    assert {name: each["status"] for name, each in answer_of(health)["components"].items()} == {
        "sqlite": "up",
        "local": "up",
    }
    counted = answer_of(pk(tmp_path, "metrics", "--json"))
    assert counted["counters"]["queries_total"] == 2
    assert counted["histograms"]["query_duration_ms"]["count"] == 2
    assert counted["counters"]["indexing_files_processed"] == 2 * (len(FILES) + 1)
    assert counted["counters"]["embeddings_generated"] > 0
    prometheus = pk(tmp_path, "metrics", "--prometheus").out
    assert "# TYPE pk_mcp_queries_total counter\npk_mcp_queries_total 2\n" in prometheus
    assert 'pk_mcp_query_duration_ms_bucket{le="+Inf"} 2' in prometheus
    assert pk(tmp_path, "remove", "my-api", "--yes").code == 0
    assert "t0ken-of-mine" not in "".join(each.out + each.err for each in everything)


@pytest.mark.slow
@pytest.mark.requirement("C-9.1-classes", "C-9.1-internal")
def test_failures_are_reported_with_their_category_and_exit_code(tmp_path: Path) -> None:
    bad = pk(tmp_path, "index", "http://github.com/o/n", "--json")
    assert bad.code == 1
    assert answer_of(bad)["error"]["code"] == "invalid_input"
    assert answer_of(bad)["error"]["recoverable"] is True
    unknown = pk(tmp_path, "refresh", "nothing", "--json")
    error = answer_of(unknown)["error"]
    assert (error["code"], error["suggestion"]) == ("not_found", "No repository is indexed yet.")
    assert "Traceback" not in bad.err + unknown.err
    with GitServer(tmp_path) as server:
        server.behaviour.status = 503
        down = pk(tmp_path, "index", server.url("o/n.git"), "--json")
    assert down.code == 3
    assert answer_of(down)["error"]["code"] == "connection_error"
    wrong = pk(tmp_path, "search", "x" * 1001, "--json")
    assert answer_of(wrong)["error"]["code"] == "invalid_input"
    missing = pk(tmp_path, "index", str(tmp_path / "nowhere"))
    assert missing.code == 1
    assert "Next:" in missing.err


@pytest.fixture
def runner(world: World, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Run the commands in this process, over the world's store."""

    def build(*_: object, **__: object) -> object:
        return make_service(world.folder, store=world.store)

    def set_up(*_: object) -> None: ...

    monkeypatch.setattr(wiring, "build_repositories", build)
    monkeypatch.setattr("knowledge_mcp.cli.shared.session.set_up_logging", set_up)
    monkeypatch.setattr(type(world.store), "close", set_up)
    return CliRunner()


def test_one_repository_that_cannot_be_reached_keeps_no_other_from_being_refreshed(
    world: World, server: GitServer, runner: CliRunner
) -> None:
    world.index(server.url(f"team/{world.repository('team/aa-gone').folder.name}"))
    world.index(world.repository("team/bb-gone").folder)
    alive = world.repository("team/zz-alive")
    world.index(alive.folder)
    shutil.rmtree(world.served / "team/aa-gone")
    shutil.rmtree(world.served / "team/bb-gone")
    commit = alive.commit({"new.py": "def newly_made(): pass\n"})
    done = runner.invoke(app, ["refresh", "--json"])
    results = {each["repository"]: each for each in json.loads(done.stdout)}
    assert done.exit_code == 1
    assert [results[name]["status"] for name in sorted(results)] == ["failed", "failed", "success"]
    assert results["zz-alive"]["commit"] == commit
    assert "There is no repository" in results["aa-gone"]["errors"][0]
    assert "There is no folder" in results["bb-gone"]["errors"][0]
    shown = runner.invoke(app, ["refresh"])
    assert "zz-alive: success" in shown.output
    assert "bb-gone was not updated." in shown.output
    assert json.loads(runner.invoke(app, ["refresh", "zz-alive", "--json"]).stdout)["status"] == "success"
    checked = runner.invoke(app, ["status", "--check", "--json"])
    assert checked.exit_code == 1
    entries = {each["name"]: each for each in json.loads(checked.stdout)["repositories"]}
    assert ("There is no repository" in entries["aa-gone"]["problems"][0], "problems" in entries["zz-alive"]) == (
        True,
        False,
    )
    assert "bb-gone: There is no folder" in runner.invoke(app, ["status"]).output


def test_the_tables_show_what_there_is(world: World, runner: CliRunner) -> None:
    assert "pk-mcp index" in runner.invoke(app, ["status"]).output
    assert "nothing" in runner.invoke(app, ["search", "x"]).output
    world.index(world.repository(files={**FILES, "big.json": "[" + "1, " * 600_000 + "1]"}).folder)
    status = runner.invoke(app, ["status"])
    assert "my-api" in status.output
    assert "ready" in status.output
    assert "Indexed only in part" not in runner.invoke(app, ["search", "token"]).output
    manifest = read_manifest(world.store, "repo_my_api")
    assert manifest is not None
    broken = dataclasses.replace(manifest, state="error", error="It was interrupted.")
    write_manifest(world.store, "repo_my_api", broken, world.embedder.space)
    assert "Indexed only in part: my-api" in runner.invoke(app, ["search", "token"]).output
    assert "It was interrupted." in runner.invoke(app, ["status"]).output
    write_manifest(world.store, "repo_my_api", manifest, world.embedder.space)
    indexed = runner.invoke(app, ["index", str(world.served / "team" / "my-api")])
    assert "unchanged" in indexed.output
    again = runner.invoke(app, ["reindex", "my-api"])
    assert "big.json" in again.output
    assert "queries_total" in runner.invoke(app, ["metrics"]).output
    refused = runner.invoke(app, ["remove", "my-api"])
    assert (refused.exit_code, "--yes" in refused.output) == (1, True)
    assert runner.invoke(app, ["status", "--json"]).exit_code == 0
    gone = runner.invoke(app, ["remove", "my-api", "--yes", "--json"])
    assert json.loads(gone.stdout)["repository"] == "my-api"


def test_symbols_that_cannot_be_known_are_reported_at_once_with_the_way_to_have_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object, **__: object) -> None: ...

    monkeypatch.setattr("knowledge_mcp.readers.code.reader.is_installed", nothing)
    service = make_service(world.folder, store=world.store)

    def build(*_: object, **__: object) -> object:
        return service

    monkeypatch.setattr(wiring, "build_repositories", build)
    monkeypatch.setattr("knowledge_mcp.cli.shared.session.set_up_logging", nothing)
    monkeypatch.setattr(type(world.store), "close", nothing)
    files: dict[str, str | bytes] = dict.fromkeys(("a.py", "b.py"), "def go():\n    return 1\n")
    indexed = CliRunner().invoke(app, ["index", str(world.repository(files=files).folder)])
    assert indexed.output.count("The grammar for python is not installed, so symbols are unknown. Run: ") == 1
    assert "[code]" in indexed.output


@pytest.mark.requirement("C-15.3-help")
@pytest.mark.parametrize("command", ["index", "search", "status", "refresh", "reindex", "remove", "health", "metrics"])
def test_each_command_explains_itself(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert "--json" in shown.output
    assert "pk-mcp" in shown.output or "Usage" in shown.output

"""`knowledge install` and `knowledge config client`: entries that last, files that lose nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from knowledge_mcp.cli.knowledge.configuration import (
    Client,
    ServerEntry,
    add_entry,
    form_of,
    launch,
    remove_entry,
    render_entry,
)
from knowledge_mcp.model.errors import InvalidInputError
from tests.cli.conftest import Command

KNOWN = [each for each in Client if each is not Client.GENERIC]
ENTRY = ServerEntry(
    "knowledge", {"command": "/o p/knowledge-mcp", "args": ["--surface", "a,b"], "env": {"DATA_PATH": 'C:\\"ü'}}
)


@pytest.fixture
def everywhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have every assistant on the machine."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for client in KNOWN:
        form_of(client).signs[-1].mkdir(parents=True, exist_ok=True)
    return home


def read(client: Client) -> dict[str, dict[str, object]]:
    """Read the servers in a client's file as the client does."""
    form = form_of(client)
    assert form.file is not None
    text = form.file.read_text()
    return (tomllib.loads(text) if form.toml else json.loads(text))[form.key]


def test_all_assistants_get_an_entry_that_starts_this_server_on_this_data(everywhere: Path, knowledge: Command) -> None:
    assert knowledge("install").code == 0
    for client in KNOWN:
        server = read(client)["knowledge"]
        assert Path(str(server["command"])).is_file()
        assert server["env"] == {"DATA_PATH": str(everywhere / ".local" / "share" / "knowledge-mcp")}
    assert read(Client.VSCODE)["knowledge"]["type"] == "stdio"
    assert read(Client.ZED)["knowledge"]["source"] == "custom"
    assert knowledge("install").out.count("nothing to do") == len(KNOWN)
    assert knowledge("install", "--remove").code == 0
    assert "knowledge-mcp" not in "".join(path.read_text() for path in map(_file, KNOWN))


def _file(client: Client) -> Path:
    file = form_of(client).file
    assert file is not None
    return file


def test_a_preview_writes_nothing_and_shows_the_entry(everywhere: Path, knowledge: Command) -> None:
    before = sorted(everywhere.rglob("*"))
    done = knowledge("install", "--dry-run")
    assert done.code == 0
    assert done.out.count("would write") == len(KNOWN)
    assert "[mcp_servers.knowledge]" in done.out
    assert sorted(everywhere.rglob("*")) == before


def test_what_else_a_file_holds_stays_and_the_old_file_is_kept(everywhere: Path, knowledge: Command) -> None:
    file = _file(Client.CURSOR)
    old = '{\n    "mcpServers": {\n        "other": {"env": {"KEY": "s"}}\n    },\n    "z": [1.5, null]\n}\n'
    file.write_text(old)
    file.chmod(0o600)
    assert knowledge("install", "--client", "cursor").code == 0
    now = json.loads(file.read_text())
    assert list(now) == ["mcpServers", "z"]
    assert now["mcpServers"].pop("knowledge")
    assert now == json.loads(old)
    (backup,) = file.parent.glob("*.bak")
    assert backup.read_text() == old
    assert {backup.stat().st_mode & 0o777, file.stat().st_mode & 0o777} == {0o600}


def test_a_link_stays_a_link(everywhere: Path, knowledge: Command) -> None:
    file, real = _file(Client.GEMINI), everywhere / "dotfiles.json"
    real.write_text("{}")
    file.symlink_to(real)
    assert knowledge("install", "--client", "gemini").code == 0
    assert file.is_symlink()
    assert "mcpServers" in json.loads(real.read_text())


@pytest.mark.parametrize("text", ["// mine\n{}", '{"a": 1,}', '{"a": 1, "a": 2}', "[]", '{"context_servers": 3}'])
def test_a_file_that_would_lose_something_is_left_and_the_entry_printed(
    everywhere: Path, knowledge: Command, text: str
) -> None:
    file = _file(Client.ZED)
    file.write_text(text)
    done = knowledge("install", "--client", "zed")
    assert done.code == 1
    assert "not changed" in done.out
    assert "Add this yourself:" in done.out
    assert '"context_servers"' in done.out
    assert file.read_text() == text
    assert list(file.parent.glob("*.bak")) == []


def test_another_server_of_the_name_is_neither_replaced_nor_removed(everywhere: Path, knowledge: Command) -> None:
    file = _file(Client.CURSOR)
    file.write_text('{"mcpServers": {"knowledge": {"command": "npx", "args": ["someone"]}}}')
    before = file.read_text()
    assert knowledge("install", "--client", "cursor").code == 1
    assert knowledge("install", "--client", "cursor", "--remove").code == 1
    assert file.read_text() == before


def test_toml_keeps_its_comments_when_an_entry_comes_changes_and_goes() -> None:
    form = form_of(Client.CODEX)
    text = '# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "y"\n'
    once = add_entry(form, text, ENTRY)
    assert once.startswith(text)
    assert tomllib.loads(once)["mcp_servers"]["knowledge"] == ENTRY.server
    other = ServerEntry("knowledge", {**ENTRY.server, "args": []})
    twice = add_entry(form, f"{once}\n[tools]\nweb = true\n", other)
    assert tomllib.loads(twice)["mcp_servers"]["knowledge"]["args"] == []
    assert tomllib.loads(twice)["tools"] == {"web": True}
    left = remove_entry(form, twice, "knowledge")
    assert left.startswith(text)
    assert "mcp_servers.knowledge" not in left


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "y" } }\n',
        '[mcp_servers.knowledge]\n# mine\ncommand = "knowledge-mcp"\n',
        'mcp_servers.knowledge.command = "knowledge-mcp"\n',
    ],
)
def test_toml_in_a_form_that_would_lose_something_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        add_entry(form_of(Client.CODEX), text, ENTRY)


@pytest.mark.parametrize("client", KNOWN)
def test_what_is_printed_is_what_would_be_written_into_an_empty_file(client: Client) -> None:
    form = form_of(client)
    assert add_entry(form, "", ENTRY) == render_entry(form, ENTRY)


def test_no_assistant_found_is_an_error_that_names_them(home: Path, knowledge: Command) -> None:
    done = knowledge("install")
    assert done.code != 0
    assert "Windsurf" in done.err
    assert "--client generic" in done.err


def test_the_entry_points_to_the_data_that_is_in_force_as_an_absolute_path(
    home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_PATH", ".demo")
    done = knowledge("config", "client")
    assert json.loads(done.out)["mcpServers"]["knowledge"]["env"] == {"DATA_PATH": str(home / ".demo")}
    assert "no knowledge base in" in done.err


@pytest.mark.parametrize("prefix", ["/h/.cache/uv/archive-v0/x", "/fast/data/environments-v2/y", "/h/Library/Caches/z"])
def test_an_environment_in_a_cache_is_started_by_what_makes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    uvx = tmp_path / "uvx"
    uvx.write_text("")
    uvx.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch(Path(prefix)) == [str(uvx), "--from", "clausewise", "knowledge-mcp"]


TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
STARTED = {"command": {"type": "string"}, "args": {"type": "array", "items": {"type": "string"}}, "env": TEXTS}


def form(required: tuple[str, ...] = ("command",), **more: object) -> dict[str, object]:
    """Write the form of a server that a client starts; members that it does not know are refused."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**STARTED, **more},
        "additionalProperties": False,
    }


DOCUMENTED = {
    Client.CLAUDE_DESKTOP: form(),
    Client.CLAUDE_CODE: form(("type", "command"), type={"const": "stdio"}),
    Client.CURSOR: form(type={"const": "stdio"}, envFile={"type": "string"}),
    Client.VSCODE: form(("type", "command"), type={"const": "stdio"}, envFile={"type": "string"}),
    Client.CODEX: form(cwd={"type": "string"}, enabled={"type": "boolean"}),
    Client.WINDSURF: form(disabled={"type": "boolean"}),
    Client.ZED: form(("source", "command"), source={"const": "custom"}, enabled={"type": "boolean"}),
    Client.GEMINI: form(cwd={"type": "string"}, timeout={"type": "integer"}, trust={"type": "boolean"}),
}
"""How each client's documentation writes a server that is started by a command, under the key beside it."""
KEYS = {Client.VSCODE: "servers", Client.CODEX: "mcp_servers", Client.ZED: "context_servers"}


@pytest.mark.parametrize("client", KNOWN)
def test_what_is_written_has_the_form_that_the_clients_documentation_gives(
    everywhere: Path, knowledge: Command, client: Client
) -> None:
    assert knowledge("install", "--client", client.value, "--surface", "standards,planning").code == 0
    assert form_of(client).key == KEYS.get(client, "mcpServers")
    jsonschema.validate(read(client)["knowledge"], DOCUMENTED[client])
    printed = knowledge("config", "client", "--client", client.value, "--surface", "standards,planning")
    assert printed.code == 0
    shown = tomllib.loads(printed.out) if form_of(client).toml else json.loads(printed.out)
    assert shown[form_of(client).key]["knowledge"] == read(client)["knowledge"]

"""Where each assistant keeps its MCP servers, and in which form; a file's text with our entry put in or taken out."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from knowledge_mcp.model.errors import InvalidInputError


class Client(StrEnum):
    """Assistants whose configuration has a form of its own."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    CODEX = "codex"
    WINDSURF = "windsurf"
    ZED = "zed"
    GEMINI = "gemini"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Form:
    """Say where a client's file lies, under which key its servers are, and what shows that the client is installed.

    `file` is None for a client that is not known; `signs` are files and folders of which one is enough.
    """

    client: Client
    title: str
    file: Path | None
    key: str
    signs: tuple[Path, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def toml(self) -> bool:
        return self.file is not None and self.file.suffix == ".toml"

    def found(self) -> bool:
        """Return whether the client is on this machine."""
        return any(sign.exists() for sign in self.signs)

    def complete(self, server: dict[str, Any]) -> dict[str, Any]:
        """Add the members to a server's entry that only this client requires."""
        return {**dict(self.extra), **server}


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """Name a server and say how it is started: `command`, `args` and `env`."""

    name: str
    server: dict[str, Any]


def form_of(client: Client) -> Form:
    """Return a client's form, with its file's place on this system."""
    import platformdirs

    home = Path.home()
    settings = platformdirs.user_config_path(roaming=True)
    stdio = (("type", "stdio"),)
    claude, code, zed = settings / "Claude", settings / "Code" / "User", _zed(settings)
    windsurf, code_file, servers = home / ".codeium" / "windsurf", home / ".claude.json", "mcpServers"
    forms = (
        Form(Client.CLAUDE_DESKTOP, "Claude Desktop", claude / "claude_desktop_config.json", servers, (claude,)),
        Form(Client.CLAUDE_CODE, "Claude Code", code_file, servers, (code_file, home / ".claude"), stdio),
        Form(Client.CURSOR, "Cursor", home / ".cursor" / "mcp.json", servers, (home / ".cursor",)),
        Form(Client.VSCODE, "VS Code", code / "mcp.json", "servers", (code,), stdio),
        Form(Client.CODEX, "Codex", home / ".codex" / "config.toml", "mcp_servers", (home / ".codex",)),
        Form(Client.WINDSURF, "Windsurf", windsurf / "mcp_config.json", servers, (windsurf,)),
        Form(Client.ZED, "Zed", zed / "settings.json", "context_servers", (zed,), (("source", "custom"),)),
        Form(Client.GEMINI, "Gemini CLI", home / ".gemini" / "settings.json", servers, (home / ".gemini",)),
        Form(Client.GENERIC, "your client", None, ""),
    )
    return next(form for form in forms if form.client is client)


def _zed(settings: Path) -> Path:
    """Zed keeps its settings in ~/.config on macOS too."""
    return settings / "Zed" if settings.name == "Roaming" else Path.home() / ".config" / "zed"


def render_entry(form: Form, entry: ServerEntry) -> str:
    """Write the entry as it is pasted into an empty file of the client; ends with a line break."""
    if form.toml:
        return _toml_block(form, entry)
    server = form.complete(entry.server)
    return json.dumps({form.key: {entry.name: server}} if form.key else server, indent=2, ensure_ascii=False) + "\n"


def add_entry(form: Form, text: str, entry: ServerEntry) -> str:
    """Put the entry into a file's text, in the place of an older one of ours; the same text where nothing changes.

    Raises:
        InvalidInputError: the file would lose something, such as comments, or the name is another server's.
    """
    content = _read(form, text)
    servers = _servers(form, content)
    server = form.complete(entry.server)
    if servers.get(entry.name) == server:
        return text
    _require_own(servers, entry.name)
    expected = {**content, form.key: {**servers, entry.name: server}}
    if not form.toml:
        return _json_text(text, expected)
    remaining = _cut(form, text, entry.name) if entry.name in servers else text
    gap = "" if not remaining.strip() else "\n" if remaining.endswith("\n") else "\n\n"
    return _check(f"{remaining}{gap}{_toml_block(form, entry)}", expected)


def remove_entry(form: Form, text: str, name: str) -> str:
    """Take the entry out of a file's text; the same text where it has none.

    Raises:
        InvalidInputError: the file would lose something else, or the name is another server's.
    """
    if name not in text:
        return text
    content = _read(form, text)
    servers = _servers(form, content)
    if name not in servers:
        return text
    _require_own(servers, name)
    others = {key: value for key, value in servers.items() if key != name}
    if not form.toml:
        return _json_text(text, {**content, form.key: others})
    expected = {key: value for key, value in content.items() if key != form.key} | (
        {form.key: others} if others else {}
    )
    return _check(_cut(form, text, name), expected)


def _read(form: Form, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        content: Any = tomllib.loads(text) if form.toml else json.loads(text, object_pairs_hook=_refuse_duplicates)
    except ValueError as exc:
        kind = "TOML" if form.toml else "JSON: comments and trailing commas would be lost"
        raise InvalidInputError(f"The file is not plain {kind} ({exc}).") from exc
    if not isinstance(content, dict):
        raise InvalidInputError("The file holds no object of settings.")
    return content  # pyright: ignore[reportUnknownVariableType]


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice in one object, and one of them would be lost")
    return dict(pairs)


def _servers(form: Form, content: dict[str, Any]) -> dict[str, Any]:
    servers = content.get(form.key, {})
    if not isinstance(servers, dict):
        raise InvalidInputError(f"'{form.key}' is not an object in the file.")
    return servers  # pyright: ignore[reportUnknownVariableType]


def _require_own(servers: dict[str, Any], name: str) -> None:
    there = servers.get(name)
    if there is not None and not any(
        word in json.dumps(there, default=str) for word in ("knowledge-mcp", "knowledge_mcp")
    ):
        raise InvalidInputError(f"The file has another server named '{name}'.", suggestion="Choose another --name.")


def _json_text(text: str, content: dict[str, Any]) -> str:
    """Write content with the indent that the text has."""
    lines = text.splitlines()
    second = lines[1] if len(lines) > 1 else "  "
    indent = second[: len(second) - len(second.lstrip())] or "  "
    return json.dumps(content, indent=indent, ensure_ascii=False) + "\n"


def _toml_block(form: Form, entry: ServerEntry) -> str:
    def text(value: Any) -> str:  # JSON's strings and lists of strings are TOML's, but for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    def key(name: str) -> str:
        return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else text(name)

    head = f"{form.key}.{key(entry.name)}"
    server = form.complete(entry.server)
    lines = [f"[{head}]", *(f"{key(each)} = {text(value)}" for each, value in server.items() if each != "env")]
    lines += [f"\n[{head}.env]", *(f"{key(each)} = {text(value)}" for each, value in server["env"].items())]
    return "\n".join(lines) + "\n"


def _cut(form: Form, text: str, name: str) -> str:
    """Leave out the tables of one server; comments between its lines are a reason to leave the file alone."""
    lines: list[str] = []
    heads = tuple(f"[{form.key}.{word}{end}" for word in (name, f'"{name}"') for end in ("]", "."))
    in_entry = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            in_entry = line.startswith(heads)
        if not in_entry:
            lines.append(line)
        elif line.lstrip().startswith("#"):
            raise InvalidInputError("Comments stand in the entry that is there, and would be lost.")
    return "".join(lines).rstrip("\n") + "\n" if lines else ""


def _check(text: str, expected: dict[str, Any]) -> str:
    """Return a TOML text after checking that it says what is expected, and nothing else."""
    try:
        right = tomllib.loads(text) == expected
    except ValueError:
        right = False
    if not right:
        raise InvalidInputError("The tables of the file stand in a form that cannot be changed without a loss.")
    return text

"""`knowledge config show|client`: what is set and why, and what to put into an assistant's configuration."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.output import print_table, render, say, write_json
from knowledge_mcp.cli.shared.session import AsJson, ConfigFile, command_group, guard, reading_of
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.support.distribution import distribution_name, is_in_cache
from knowledge_mcp.support.files import read_whole, write_atomically

if TYPE_CHECKING:
    from rich.text import Text

    from knowledge_mcp.settings import Reading, Settings


class Client(StrEnum):
    """Assistants whose configuration has a special format."""

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
    """The place of a client's file, the key of its servers, and the sign that the client is installed.

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
    """Add the entry to a file's text, replacing an older one of ours; return the same text if nothing changes.

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
    """Remove the entry from a file's text; return the same text if it has none.

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
        raise InvalidInputError("The file does not contain an object of settings.")
    return content  # pyright: ignore[reportUnknownVariableType]


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("an object has the same key twice, and one of them would be lost")
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
            raise InvalidInputError("The existing entry contains comments, which would be lost.")
    return "".join(lines).rstrip("\n") + "\n" if lines else ""


def _check(text: str, expected: dict[str, Any]) -> str:
    """Return a TOML text after checking that it says what is expected, and nothing else."""
    try:
        right = tomllib.loads(text) == expected
    except ValueError:
        right = False
    if not right:
        raise InvalidInputError("The tables of the file have a form that cannot be changed without loss.")
    return text


ServerName = Annotated[str, typer.Option("--name", help="Name of the server in the assistant.")]
Surface = Annotated[str, typer.Option(help="Tool surfaces to offer.")]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result for one client's file: written, removed, unchanged, or to be done by hand."""

    client: str
    file: str
    action: str
    backup: str = ""
    reason: str = ""
    entry: str = ""


def client(
    client: Annotated[Client, typer.Option("--client", help="Assistant to configure.")] = Client.CLAUDE_DESKTOP,
    name: ServerName = "knowledge",
    surface: Surface = "standards",
    config: ConfigFile = None,
) -> None:
    """Print the entry that makes an assistant start this server.

    The current settings (except secrets) are included, because the assistant starts the server somewhere else.

    Example: knowledge config client --client claude-code > .mcp.json
    """
    with guard():
        reading, form = reading_of(config), form_of(client)
        sys.stdout.write(render_entry(form, entry_for(reading, name=name, surface=surface)))
        sys.stdout.flush()
        where = form.file or "your client's configuration of MCP servers"
        sys.stderr.write("\n".join([f"Put this into {where}.", *list_notes(reading)]) + "\n")


def install(
    client: Annotated[
        list[Client] | None, typer.Option("--client", help="Only this assistant; may be repeated.", show_default=False)
    ] = None,
    name: ServerName = "knowledge",
    surface: Surface = "standards",
    remove: Annotated[bool, typer.Option("--remove", help="Remove the entry again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done without writing anything.")
    ] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Add this server to the assistants on this machine.

    Each file is backed up before it is changed. A file that would lose comments is not changed: the entry is printed
    instead.

    Example: knowledge install --client cursor --client codex --dry-run
    """
    with guard(as_json=as_json):
        reading = reading_of(config)
        entry = entry_for(reading, name=name, surface=surface)
        outcomes = [_apply(form, entry, remove=remove, dry_run=dry_run) for form in _choose(client)]
        if as_json:
            write_json({"dry_run": dry_run, "clients": [asdict(each) for each in outcomes]})
        else:
            for each in outcomes:
                sys.stdout.write(_describe(each, dry_run=dry_run))
            if not remove:
                sys.stderr.write("".join(f"{note}\n" for note in list_notes(reading)))
        if any(each.action == "by hand" for each in outcomes):
            raise typer.Exit(ExitCode.FAILURE)


def _choose(clients: list[Client] | None) -> list[Form]:
    if clients:
        if Client.GENERIC in clients:
            raise InvalidInputError(
                "The location of a generic client's configuration is unknown.",
                suggestion="Print the entry with `knowledge config client --client generic`.",
            )
        return [form_of(each) for each in dict.fromkeys(clients)]
    forms = [form for form in map(form_of, Client) if form.found()]
    if not forms:
        titles = ", ".join(form_of(each).title for each in Client if each is not Client.GENERIC)
        raise NotFoundError(
            f"None of these assistants was found: {titles}.",
            suggestion="Choose yours with --client, or print an entry with `knowledge config client --client generic`.",
        )
    return forms


def _apply(form: Form, entry: ServerEntry, *, remove: bool, dry_run: bool) -> _Outcome:
    """Change one file, or say why not. A link is followed, so that the file behind it is changed and the link stays."""
    assert form.file is not None
    file = form.file.resolve()
    snippet = "" if remove else render_entry(form, entry)
    try:
        before = read_whole(file) if file.exists() else b""
        text = before.decode("utf-8")
        after = remove_entry(form, text, entry.name) if remove else add_entry(form, text, entry)
        if after == text:
            return _Outcome(form.title, str(file), "unchanged")
        action = "removed" if remove else "written"
        backup = "" if dry_run or not before else _back_up(file, before)
        if not dry_run:
            _replace(file, after.encode("utf-8"))
        return _Outcome(form.title, str(file), action, backup, entry=snippet)
    except InvalidInputError as exc:
        reason = " ".join(filter(None, [exc.message, exc.suggestion if "another server" in exc.message else ""]))
    except UnicodeDecodeError:
        reason = "The file is not UTF-8."
    except OSError as exc:
        reason = f"The file cannot be read or written: {exc.strerror or exc}."
    return _Outcome(form.title, str(file), "by hand", reason=reason, entry=snippet)


def _back_up(file: Path, content: bytes) -> str:
    """Copy the file next to it, with its rights: it may hold keys of other servers."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    backup = file.with_name(f"{file.name}.{stamp}.bak")
    write_atomically(backup, content, private=True)
    return str(backup)


def _replace(file: Path, content: bytes) -> None:
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    write_atomically(file, content, durable=True)
    file.chmod(mode)


def _describe(outcome: _Outcome, *, dry_run: bool) -> str:
    action = {
        "written": "would write" if dry_run else "wrote",
        "removed": "would remove the entry from" if dry_run else "removed the entry from",
        "unchanged": "nothing to do in",
        "by hand": "not changed:",
    }[outcome.action]
    lines = [f"{outcome.client}: {action} {outcome.file}"]
    lines += [f"  Backup of the previous file: {outcome.backup}"] if outcome.backup else []
    if outcome.action == "by hand":
        lines.append(f"  {outcome.reason} " + ("Add this yourself:" if outcome.entry else "Remove the entry yourself."))
    if outcome.entry and (dry_run or outcome.action == "by hand"):
        lines += [f"    {line}" for line in outcome.entry.splitlines()]
    elif outcome.action == "written":
        lines.append("  Restart the assistant to use it.")
    return "\n".join(lines) + "\n"


def entry_for(reading: Reading, *, name: str, surface: str) -> ServerEntry:
    """Build the entry of this installation: absolute command, arguments, environment without secrets."""
    command, *arguments = launch(Path(sys.prefix))
    if surface != "standards":
        arguments += ["--surface", surface]
    environment = {"DATA_PATH": str(reading.settings.data_folder.absolute())}
    for each in reading.values:
        if each.origin != "default" and not each.variable.secret and not each.problem:
            environment.setdefault(each.variable.name, each.text)
    return ServerEntry(name, {"command": command, "args": arguments, "env": environment})


def list_notes(reading: Reading) -> list[str]:
    """Return notes on the entry: secrets that are not in it, invalid settings, no data."""
    notes = [f"Problem: {problem}" for problem in reading.problems]
    secrets = [each.variable.name for each in reading.values if each.variable.secret and each.origin != "default"]
    if secrets:
        notes.append(f"Secrets are not included; add them to its environment yourself: {', '.join(secrets)}.")
    settings = reading.settings
    if settings.vector_store in {None, "sqlite"} and not settings.store_file.exists():
        folder = settings.data_folder.absolute()
        notes.append(
            f"There is no knowledge base in {folder} yet: ingest documents into it, or set DATA_PATH to another folder."
        )
    return notes


def launch(prefix: Path) -> list[str]:
    """Return the command that starts the server of an environment.

    An environment in a cache does not last: there it is the command that makes it again.
    """
    name = distribution_name()
    if name and is_in_cache(prefix):
        for runner, before in (("uvx", ["--from", name]), ("pipx", ["run", "--spec", name])):
            if found := shutil.which(runner):
                return [str(Path(found).absolute()), *before, "knowledge-mcp"]
    executable = prefix / ("Scripts/knowledge-mcp.exe" if sys.platform == "win32" else "bin/knowledge-mcp")
    if executable.is_file():
        return [str(executable.absolute())]
    found = shutil.which("knowledge-mcp")
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", "knowledge_mcp.cli.serve.mcp"]


app = command_group("Show the settings, or the configuration for an assistant.")
app.command()(client)


@app.command(short_help="Show every setting with its value and where the value comes from.")
def show(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Show every setting with its value and where the value comes from; secrets are masked.

    Example: knowledge config show
    """
    with guard(as_json=as_json):
        reading = reading_of(config)
        if as_json:
            write_json(_as_values(reading))
        else:
            _print(reading)
        for problem in reading.problems:
            sys.stderr.write(f"Problem: {problem}\n")
        if reading.problems:
            raise typer.Exit(ExitCode.CONFIGURATION)


def _effective(settings: Settings, name: str, text: str) -> str:
    """Describe what an unset folder means."""
    if text or name not in {"DATA_PATH", "MODELS_PATH"}:
        return text
    return str(settings.data_folder if name == "DATA_PATH" else settings.models_folder)


def _as_values(reading: Reading) -> dict[str, Any]:
    from knowledge_mcp.settings import choose_embedding, choose_store

    embedding, store = choose_embedding(reading.settings), choose_store(reading.settings)
    return {
        "settings": [
            {
                "name": each.variable.name,
                "value": _effective(reading.settings, each.variable.name, each.text),
                "origin": each.origin,
                "secret": each.variable.secret,
                "surface": each.variable.surface,
                "problem": each.problem,
            }
            for each in reading.values
        ],
        "embedding": {"provider": embedding.provider, "model": embedding.model, "reason": embedding.reason},
        "vector_store": {"backend": store.backend, "reason": store.reason},
        "env_file": str(reading.env_file) if reading.env_file is not None else None,
        "problems": list(reading.problems),
    }


def _print(reading: Reading) -> None:
    values = _as_values(reading)
    rows: list[list[Text]] = []
    for each, value in zip(reading.values, values["settings"], strict=True):
        style = "bold red" if each.problem else "bold" if each.origin != "default" else ""
        rows.append([render(value[name], style) for name in ("name", "value", "origin")])
    print_table(("Setting", "Value", "From"), rows)
    for name in ("embedding", "vector_store"):
        choice = dict(values[name])
        reason = choice.pop("reason")
        say(f"{name.replace('_', ' ').capitalize()}: {', '.join(choice.values())} ({reason})")
    say(f".env file: {json.dumps(values['env_file']) if values['env_file'] else 'none found'}")

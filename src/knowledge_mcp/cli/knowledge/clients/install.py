"""`knowledge install` and `knowledge config client`: the server's entry in assistants' configurations."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.knowledge.clients.forms import (
    Client,
    Form,
    ServerEntry,
    add_entry,
    form_of,
    remove_entry,
    render_entry,
)
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.output import write_json
from knowledge_mcp.cli.shared.session import AsJson, ConfigFile, guard, reading_of
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.support.distribution import distribution_name, is_in_cache
from knowledge_mcp.support.files import write_atomically

if TYPE_CHECKING:
    from knowledge_mcp.settings import Reading

ServerName = Annotated[str, typer.Option("--name", help="Name of the server in the assistant.")]
Surface = Annotated[str, typer.Option(help="Tool surfaces to offer.")]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Say what was done with one client's file: written, removed, unchanged, or to be done by hand."""

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

    The settings in force here (but no secret) go with it, because the assistant starts the server somewhere else.

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
    remove: Annotated[bool, typer.Option("--remove", help="Take the entry out again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Add this server to the assistants on this machine.

    A file that is changed is copied first. One that would lose comments is left alone: the entry is printed instead.

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
                "Where a generic client keeps its configuration is not known.",
                suggestion="Print the entry with `knowledge config client --client generic`.",
            )
        return [form_of(each) for each in dict.fromkeys(clients)]
    forms = [form for form in map(form_of, Client) if form.found()]
    if not forms:
        titles = ", ".join(form_of(each).title for each in Client if each is not Client.GENERIC)
        raise NotFoundError(
            f"None of these assistants was found: {titles}.",
            suggestion="Name yours with --client, or print an entry with `knowledge config client --client generic`.",
        )
    return forms


def _apply(form: Form, entry: ServerEntry, *, remove: bool, dry_run: bool) -> _Outcome:
    """Change one file, or say why not. A link is followed, so that the file behind it is changed and the link stays."""
    assert form.file is not None
    file = form.file.resolve()
    snippet = "" if remove else render_entry(form, entry)
    try:
        before = file.read_bytes() if file.exists() else b""
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
        "by hand": "left alone:",
    }[outcome.action]
    lines = [f"{outcome.client}: {action} {outcome.file}"]
    lines += [f"  Copy of the file before: {outcome.backup}"] if outcome.backup else []
    if outcome.action == "by hand":
        lines.append(
            f"  {outcome.reason} " + ("Put this in yourself:" if outcome.entry else "Take the entry out yourself.")
        )
    if outcome.entry and (dry_run or outcome.action == "by hand"):
        lines += [f"    {line}" for line in outcome.entry.splitlines()]
    elif outcome.action == "written":
        lines.append("  Start the assistant again to use it.")
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
    """Say what a person should know beside the entry: secrets that are not in it, settings that are wrong, no data."""
    notes = [f"Problem: {problem}" for problem in reading.problems]
    secrets = [each.variable.name for each in reading.values if each.variable.secret and each.origin != "default"]
    if secrets:
        notes.append(f"Secrets are left out; add them to its environment yourself: {', '.join(secrets)}.")
    settings = reading.settings
    if settings.vector_store in {None, "sqlite"} and not settings.store_file.exists():
        folder = settings.data_folder.absolute()
        notes.append(f"There is no knowledge base in {folder} yet: ingest into it, or set DATA_PATH to yours.")
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

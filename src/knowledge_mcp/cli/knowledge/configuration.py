"""`knowledge config show|client`: what is set and why, and what to put into an assistant's configuration."""

from __future__ import annotations

import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.session import AsJson, ConfigFile, guarded, out, reading_of, shown, write_json

if TYPE_CHECKING:
    from knowledge_mcp.settings import Reading, Settings

__all__ = ["Client", "app", "client", "client_configuration", "show"]

app = typer.Typer(
    no_args_is_help=True,
    help="Show the settings, or the configuration for an assistant.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Client(StrEnum):
    """Assistants whose configuration has a form of its own."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    VSCODE = "vscode"
    GENERIC = "generic"


_WHERE = {
    Client.CLAUDE_DESKTOP: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    Client.CLAUDE_CODE: ".mcp.json in the project's folder",
    Client.VSCODE: ".vscode/mcp.json in the project's folder",
    Client.GENERIC: "your client's configuration of MCP servers",
}


@app.command(short_help="Show every setting, its value and where it comes from.")
def show(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Show every setting, its value and where it comes from; secrets are masked.

    Example: knowledge config show
    """
    with guarded(as_json=as_json):
        reading = reading_of(config)
        if as_json:
            write_json(_as_values(reading))
        else:
            _print(reading)
        for problem in reading.problems:
            sys.stderr.write(f"Problem: {problem}\n")
        if reading.problems:
            raise typer.Exit(ExitCode.CONFIGURATION)


@app.command()
def client(
    client: Annotated[Client, typer.Option("--client", help="Assistant to configure.")] = Client.CLAUDE_DESKTOP,
    name: Annotated[str, typer.Option(help="Name of the server in the assistant.")] = "knowledge",
    surface: Annotated[str, typer.Option(help="Tool surfaces to offer.")] = "standards",
    config: ConfigFile = None,
) -> None:
    """Print the JSON that makes an assistant start this server.

    The settings in force here (but no secret) go with it, because the assistant starts the server somewhere else.

    Example: knowledge config client --client claude-code > .mcp.json
    """
    with guarded():
        reading = reading_of(config)
        write_json(client_configuration(reading, client, name=name, surface=surface))
        sys.stderr.write(f"Put this into {_WHERE[client]}.\n")
        for problem in reading.problems:
            sys.stderr.write(f"Problem: {problem}\n")
        secrets = [each.variable.name for each in reading.values if each.variable.secret and each.origin != "default"]
        if secrets:
            sys.stderr.write(f"Secrets are left out; add them to its environment yourself: {', '.join(secrets)}.\n")


def client_configuration(reading: Reading, client: Client, *, name: str, surface: str) -> dict[str, Any]:
    """Build the configuration of one client: absolute command, arguments, environment without secrets."""
    command, *arguments = _command()
    if surface != "standards":
        arguments += ["--surface", surface]
    server: dict[str, Any] = {"command": command, "args": arguments, "env": _environment(reading)}
    match client:
        case Client.CLAUDE_DESKTOP:
            return {"mcpServers": {name: server}}
        case Client.CLAUDE_CODE:
            return {"mcpServers": {name: {"type": "stdio", **server}}}
        case Client.VSCODE:
            return {"servers": {name: {"type": "stdio", **server}}}
        case Client.GENERIC:
            return server


def _command() -> list[str]:
    """Find the installed server; the interpreter's own folder first, so that a virtual environment is met."""
    beside = Path(sys.executable).parent / ("knowledge-mcp.exe" if sys.platform == "win32" else "knowledge-mcp")
    if beside.is_file():
        return [str(beside.absolute())]
    found = shutil.which("knowledge-mcp")
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", "knowledge_mcp.cli.serve.mcp"]


def _environment(reading: Reading) -> dict[str, str]:
    environment = {"DATA_PATH": str(reading.settings.data_folder)}
    for each in reading.values:
        if each.origin != "default" and not each.variable.secret and not each.problem:
            environment[each.variable.name] = each.shown
    return environment


def _effective(settings: Settings, name: str, shown: str) -> str:
    """Say what an unset folder means."""
    if shown or name not in {"DATA_PATH", "MODELS_PATH"}:
        return shown
    return str(settings.data_folder if name == "DATA_PATH" else settings.models_folder)


def _as_values(reading: Reading) -> dict[str, Any]:
    from knowledge_mcp.settings import choose_embedding, choose_store

    embedding, store = choose_embedding(reading.settings), choose_store(reading.settings)
    return {
        "settings": [
            {
                "name": each.variable.name,
                "value": _effective(reading.settings, each.variable.name, each.shown),
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
    from rich.table import Table

    values = _as_values(reading)
    table = Table()
    for name in ("Setting", "Value", "From"):
        table.add_column(name, overflow="fold")
    for each, value in zip(reading.values, values["settings"], strict=True):
        style = "bold red" if each.problem else "bold" if each.origin != "default" else ""
        table.add_row(*(shown(str(cell), style) for cell in (value["name"], value["value"], value["origin"])))
    console = out()
    console.print(table)
    for name in ("embedding", "vector_store"):
        choice = dict(values[name])
        reason = choice.pop("reason")
        console.print(f"{name.replace('_', ' ').capitalize()}: {', '.join(choice.values())} ({reason})", markup=False)
    console.print(f".env file: {json.dumps(values['env_file']) if values['env_file'] else 'none found'}", markup=False)

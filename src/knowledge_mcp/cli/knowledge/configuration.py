"""`knowledge config show|client`: what is set and why, and what to put into an assistant's configuration."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from knowledge_mcp.cli.knowledge.clients import client
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.output import print_table, render, say, write_json
from knowledge_mcp.cli.shared.session import AsJson, ConfigFile, command_group, guard, reading_of

if TYPE_CHECKING:
    from rich.text import Text

    from knowledge_mcp.settings import Reading, Settings

app = command_group("Show the settings, or the configuration for an assistant.")
app.command()(client)


@app.command(short_help="Show every setting, its value and where it comes from.")
def show(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Show every setting, its value and where it comes from; secrets are masked.

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
    """Say what an unset folder means."""
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

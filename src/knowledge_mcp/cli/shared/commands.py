"""What the commands that typer runs have in common; servers start without it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from knowledge_mcp import __version__
from knowledge_mcp.cli.shared.failures import ExitCode

CONTEXT = {"help_option_names": ["--help", "-h"], "max_content_width": 120}
"""Of every command: how its help is asked for, and how wide it may be."""


def _show_version(context: typer.Context, asked: bool) -> None:
    if asked:
        typer.echo(f"{context.find_root().info_name} {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]


def run_command(app: typer.Typer, name: str) -> None:
    """Run a command under its name; ends the process with its exit code."""
    try:
        app(prog_name=name)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(ExitCode.INTERRUPTED)

"""What the commands that typer runs have in common, `--meta KEY=VALUE` included; servers start without it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from knowledge_mcp import __version__
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.model.collection import GIVEN

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


_NAME = re.compile(r"[^\W_][\w.-]{0,63}")
_LONGEST = 500
"""Characters of a value that are kept, as of front matter."""


def pairs_of(values: Sequence[str] | None) -> dict[str, str]:
    """Read `KEY=VALUE` pairs; a key that comes twice lists its values by comma.

    Raises:
        typer.BadParameter: one has another form.
    """
    pairs: dict[str, str] = {}
    for each in values or ():
        name, _, value = (part.strip() for part in each.partition("="))
        name = name.lower().replace("-", "_")
        if not _NAME.fullmatch(name) or not value or len(value) > _LONGEST or "\n" in value:
            raise typer.BadParameter(f"'{each[:80]}' is not KEY=VALUE.", param_hint="--meta")
        pairs[name] = f"{pairs[name]}, {value}" if name in pairs else value
    return pairs


def given_labels(values: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Read pairs for documents that are ingested, and their names, so that later versions keep them.

    Raises:
        typer.BadParameter: as `pairs_of`, or a name is the ingest's own.
    """
    from knowledge_mcp.engine.ingest.plan import NOT_ITS_OWN

    pairs = pairs_of(values)
    for name in NOT_ITS_OWN & pairs.keys():
        raise typer.BadParameter(f"'{name}' is what the ingest itself says of a document.", param_hint="--meta")
    return (*pairs.items(), (GIVEN, ", ".join(pairs))) if pairs else ()

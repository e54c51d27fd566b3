"""`knowledge-ingest`: take documents into the knowledge base."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from knowledge_mcp.cli.entry import CONTEXT, Version, run_command
from knowledge_mcp.cli.ingest_run import Choices, IngestRun

__all__ = ["OnError", "app", "ingest", "main"]

DEFAULT_PATTERN = "*.pdf,*.docx,*.md"

HELP = """\
Take documents into the knowledge base.

PDF, Word (.docx) and Markdown files are read with their structure, cut into chunks, embedded and stored. Files that
have not changed are left alone. Every file is checked before the first one is embedded.

\b
Examples:
  knowledge-ingest standards/
  knowledge-ingest --dry-run --pattern "*.pdf" standards/
  knowledge-ingest --force iso-15288.pdf
  knowledge-ingest --max-cost 2.50 standards/

\b
Exit codes: 0 success, 1 some files failed, 2 no file processed or aborted, 3 configuration error, 130 interrupted.
"""

app = typer.Typer(context_settings=CONTEXT, rich_markup_mode=None, pretty_exceptions_enable=False)


class OnError(StrEnum):
    """What to do about files that cannot be read, without asking."""

    CONTINUE = "continue"
    ABORT = "abort"


@app.command(help=HELP)
def ingest(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", readable=False, help="File or folder to ingest.")],
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Look into subfolders too.")] = True,
    pattern: Annotated[str, typer.Option(help="Comma-separated file patterns.")] = DEFAULT_PATTERN,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be ingested, with chunks, tokens, cost and time.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Ingest again even where nothing changed, and replace every chunk.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every step and technical details.")] = False,
    on_error: Annotated[
        OnError | None,
        typer.Option(
            help="What to do about files that cannot be read: skip them and continue, or abort. "
            "Default: ask on a terminal, else continue."
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="Stop before embeddings cost more than this; nothing is paid twice."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the report to stdout as JSON.")] = False,
    collection: Annotated[str | None, typer.Option(help="Collection to fill, instead of QDRANT_COLLECTION's.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="JSON or YAML settings; the environment and .env win over it.")
    ] = None,
    version: Version = False,
) -> None:
    """Run `knowledge-ingest` with the options given."""
    del version
    choices = Choices(
        source=source,
        recursive=recursive,
        patterns=tuple(part.strip() for part in pattern.split(",") if part.strip()),
        dry_run=dry_run,
        force=force,
        verbose=verbose,
        on_error=on_error.value if on_error is not None else None,
        max_cost=max_cost,
        as_json=as_json,
        collection=collection,
        config=config,
    )
    raise typer.Exit(IngestRun(choices).run())


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge-ingest")


if __name__ == "__main__":
    main()

"""`knowledge`: ask the knowledge base, look after its documents, its settings and its models."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from knowledge_mcp import __version__
from knowledge_mcp.cli import (
    asking,
    collections,
    configuration,
    documents,
    evaluate,
    models,
    move,
    planning,
    reading,
    requirements,
)
from knowledge_mcp.cli.doctor import doctor
from knowledge_mcp.cli.failures import ExitCode
from knowledge_mcp.cli.inspect import inspect
from knowledge_mcp.cli.show import show

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="`knowledge-ingest` takes documents in; `knowledge-mcp` serves them to assistants.",
)
app.command()(asking.search)
app.command()(asking.lookup)
app.add_typer(requirements.app, name="requirements")
app.command()(asking.stats)
app.command()(reading.read)
app.command()(reading.outline)
app.command()(reading.references)
app.command("verify-quote")(reading.verify_quote)
app.command()(show)
app.command()(inspect)
app.add_typer(documents.app, name="documents")
app.add_typer(collections.app, name="collections")
app.add_typer(planning.app, name="planning")
app.command(help=move.MIGRATE_HELP)(move.migrate)
app.command(help=move.REEMBED_HELP)(move.reembed)
app.command()(doctor)
app.add_typer(configuration.app, name="config")
app.add_typer(models.app, name="models")
app.add_typer(evaluate.app, name="eval")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"knowledge {__version__}")
        raise typer.Exit


@app.callback(help="Ask the knowledge base, and look after it.")
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command; ends the process with its exit code."""
    try:
        app(prog_name="knowledge")
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        sys.exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    main()

"""`knowledge`: ask the knowledge base, look after its documents, its settings and its models."""

from __future__ import annotations

import typer

from knowledge_mcp.cli.evaluate import evaluate
from knowledge_mcp.cli.knowledge import (
    asking,
    collections,
    configuration,
    documents,
    models,
    move,
    reading,
    requirements,
)
from knowledge_mcp.cli.knowledge.backup import BACKUP_HELP, RESTORE_HELP, backup, restore
from knowledge_mcp.cli.knowledge.configuration import install
from knowledge_mcp.cli.knowledge.doctor import doctor
from knowledge_mcp.cli.knowledge.inspect import inspect
from knowledge_mcp.cli.knowledge.review.check import check_command
from knowledge_mcp.cli.knowledge.review.compare import compare
from knowledge_mcp.cli.knowledge.review.conflicts import conflicts_command
from knowledge_mcp.cli.knowledge.review.impact import impact
from knowledge_mcp.cli.knowledge.review.trace import trace_command
from knowledge_mcp.cli.knowledge.show import show
from knowledge_mcp.cli.knowledge.sources import registering
from knowledge_mcp.cli.knowledge.sources.syncing import sync
from knowledge_mcp.cli.planning import planning
from knowledge_mcp.cli.shared.session import CONTEXT, Version, run_command

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog="`knowledge-ingest` takes documents in; `knowledge-mcp` serves them to assistants.",
)
app.command()(asking.search)
app.command()(asking.lookup)
app.add_typer(requirements.app, name="requirements")
app.command(short_help="Count what the knowledge base holds.")(asking.stats)
app.command(short_help="Read a clause, pages, a passage or a document, word for word.")(reading.read)
app.command(short_help="Show a document's headings, or what was read from each page.")(reading.outline)
app.command(short_help="Show what a place refers to, and what refers to it.")(reading.references)
app.command("verify-quote", short_help="Check that words are printed exactly so.")(reading.verify_quote)
app.command(short_help="Draw a page of a PDF with a passage marked.")(show)
app.command(short_help="Show what is read in a file; nothing is stored.")(inspect)
app.command("check", short_help="Show what a document says of each obligation.")(check_command)
app.command(short_help="Show what changed between two editions.")(compare)
app.command("conflicts", short_help="List requirements that contradict or double each other.")(conflicts_command)
app.command(short_help="Show what a new edition touches in other documents.")(impact)
app.command("trace", short_help="Link requirements to what meets them, and name the gaps.")(trace_command)
app.add_typer(documents.app, name="documents")
app.add_typer(registering.app, name="sources")
app.command(short_help="Make the knowledge base hold what its registered sources hold.")(sync)
app.add_typer(collections.app, name="collections")
app.add_typer(planning.app, name="planning", short_help="Look after the documents of planning applications.")
app.command(help=move.MIGRATE_HELP, short_help="Copy collections from one store into another.")(move.migrate)
app.command(help=move.REEMBED_HELP, short_help="Re-embed a collection with another model.")(move.reembed)
app.command(help=BACKUP_HELP, short_help="Write the store into one file, while it is used.")(backup)
app.command(help=RESTORE_HELP, short_help="Put a backup in the store's place.")(restore)
app.command(short_help="Check settings, folders, store, model and disk.")(doctor)
app.command(short_help="Add this server to the assistants on this machine.")(install)
app.add_typer(configuration.app, name="config")
app.add_typer(models.app, name="models")
app.add_typer(evaluate.app, name="eval", short_help="Measure how good the answers are.")


@app.callback(help="Ask the knowledge base, and look after it.")
def _common(version: Version = False) -> None:
    del version


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge")


if __name__ == "__main__":
    main()

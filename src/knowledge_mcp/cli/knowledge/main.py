"""`knowledge`: ask the knowledge base, look after its documents, its settings and its models."""

from __future__ import annotations

import typer

from knowledge_mcp.cli.shared.on_demand import CommandPlace, GroupOnDemand
from knowledge_mcp.cli.shared.session import CONTEXT, Version, run_command

_COMMANDS = {
    "search": CommandPlace("knowledge.asking:search", "Find passages."),
    "lookup": CommandPlace("knowledge.asking:lookup", "Define a term."),
    "requirements": CommandPlace("knowledge.requirements:app", "Find requirements, or export all of them."),
    "stats": CommandPlace("knowledge.asking:stats", "Count what the knowledge base holds."),
    "read": CommandPlace("knowledge.reading:read", "Read a clause, pages, a passage or a document, word for word."),
    "outline": CommandPlace(
        "knowledge.reading:outline", "Show a document's headings, or what was read from each page."
    ),
    "references": CommandPlace("knowledge.reading:references", "Show what a place refers to, and what refers to it."),
    "verify-quote": CommandPlace("knowledge.reading:verify_quote", "Check that words are printed exactly so."),
    "show": CommandPlace("knowledge.show:show", "Draw a page of a PDF with a passage marked."),
    "inspect": CommandPlace("knowledge.inspect:inspect", "Show what is read in a file; nothing is stored."),
    "check": CommandPlace("knowledge.review.check:check_command", "Show what a document says of each obligation."),
    "compare": CommandPlace("knowledge.review.compare:compare", "Show what changed between two editions."),
    "conflicts": CommandPlace(
        "knowledge.review.conflicts:conflicts_command", "List requirements that contradict or double each other."
    ),
    "impact": CommandPlace("knowledge.review.impact:impact", "Show what a new edition touches in other documents."),
    "trace": CommandPlace(
        "knowledge.review.trace:trace_command", "Link requirements to what meets them, and name the gaps."
    ),
    "documents": CommandPlace("knowledge.documents:app", "List, show and remove documents, and tell their editions."),
    "sources": CommandPlace(
        "knowledge.sources.registering:app", "Keep folders, sites, repositories and WebDAV in sync."
    ),
    "sync": CommandPlace(
        "knowledge.sources.syncing:sync", "Make the knowledge base hold what its registered sources hold."
    ),
    "collections": CommandPlace("knowledge.collections:app", "List, show, rename and drop collections."),
    "planning": CommandPlace("planning.planning:app", "Look after the documents of planning applications."),
    "migrate": CommandPlace(
        "knowledge.move:migrate", "Copy collections from one store into another.", whole="MIGRATE_HELP"
    ),
    "reembed": CommandPlace(
        "knowledge.move:reembed", "Re-embed a collection with another model.", whole="REEMBED_HELP"
    ),
    "backup": CommandPlace(
        "knowledge.backup:backup", "Write the store into one file, while it is used.", whole="BACKUP_HELP"
    ),
    "restore": CommandPlace("knowledge.backup:restore", "Put a backup in the store's place.", whole="RESTORE_HELP"),
    "doctor": CommandPlace("knowledge.doctor:doctor", "Check settings, folders, store, model and disk."),
    "install": CommandPlace("knowledge.configuration:install", "Add this server to the assistants on this machine."),
    "config": CommandPlace("knowledge.configuration:app", "Show the settings, or the configuration for an assistant."),
    "models": CommandPlace("knowledge.models:app", "Fetch, verify and list models."),
    "eval": CommandPlace("evaluate.evaluate:app", "Measure how good the answers are."),
}


class _Knowledge(GroupOnDemand):
    places = _COMMANDS


app = typer.Typer(
    cls=_Knowledge,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog="`knowledge-ingest` takes documents in; `knowledge-mcp` serves them to assistants.",
)


@app.callback(help="Ask the knowledge base, and look after it.")
def _common(version: Version = False) -> None:
    del version


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge")


if __name__ == "__main__":
    main()

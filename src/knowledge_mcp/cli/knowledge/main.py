"""`knowledge`: ask the knowledge base, look after its documents, its settings and its models."""

from __future__ import annotations

import typer

from knowledge_mcp.cli.shared.on_demand import CommandPlace, GroupOnDemand
from knowledge_mcp.cli.shared.session import CONTEXT, Version, run_command

_COMMANDS = {
    "search": CommandPlace("knowledge.asking:search", "Find passages."),
    "lookup": CommandPlace("knowledge.asking:lookup", "Define a term."),
    "requirements": CommandPlace("knowledge.requirements:app", "Find requirements, or export all of them."),
    "stats": CommandPlace("knowledge.asking:stats", "Show the size of the knowledge base, its store and model."),
    "read": CommandPlace("knowledge.reading:read", "Read a clause, pages, a passage or a document, word for word."),
    "outline": CommandPlace(
        "knowledge.reading:outline", "Show a document's headings, or what was read from each page."
    ),
    "references": CommandPlace("knowledge.reading:references", "Show references from and to a clause or document."),
    "verify-quote": CommandPlace(
        "knowledge.reading:verify_quote", "Check a quote against the documents, word for word."
    ),
    "show": CommandPlace("knowledge.show:show", "Draw a page of a PDF with a passage marked."),
    "inspect": CommandPlace("knowledge.inspect:inspect", "Show what would be read from a file; nothing is stored."),
    "check": CommandPlace(
        "knowledge.review.check:check_command", "Check a document against each obligation of a standard."
    ),
    "compare": CommandPlace("knowledge.review.compare:compare", "Show what changed between two editions."),
    "conflicts": CommandPlace(
        "knowledge.review.conflicts:conflicts_command", "List requirements that contradict or duplicate each other."
    ),
    "impact": CommandPlace("knowledge.review.impact:impact", "Show which other documents a new edition affects."),
    "trace": CommandPlace(
        "knowledge.review.trace:trace_command",
        "Link requirements to what meets them, and list the gaps.",
        whole="TRACE_HELP",
    ),
    "documents": CommandPlace("knowledge.documents:app", "List, show and remove documents, and manage editions."),
    "sources": CommandPlace(
        "knowledge.sources.registering:app", "Manage folders, sites, repositories and WebDAV to sync."
    ),
    "sync": CommandPlace("knowledge.sources.syncing:sync", "Update the knowledge base from its registered sources."),
    "collections": CommandPlace("knowledge.collections:app", "List, show, rename and drop collections."),
    "planning": CommandPlace("planning.planning:app", "Manage the documents of planning applications."),
    "migrate": CommandPlace(
        "knowledge.move:migrate", "Copy collections from one store into another.", whole="MIGRATE_HELP"
    ),
    "reembed": CommandPlace(
        "knowledge.move:reembed", "Re-embed a collection with another model.", whole="REEMBED_HELP"
    ),
    "backup": CommandPlace(
        "knowledge.backup:backup", "Back up the store into one file while it is in use.", whole="BACKUP_HELP"
    ),
    "restore": CommandPlace("knowledge.backup:restore", "Replace the store with a backup.", whole="RESTORE_HELP"),
    "doctor": CommandPlace("knowledge.doctor:doctor", "Check settings, folders, store, model and disk."),
    "install": CommandPlace("knowledge.configuration:install", "Add this server to the assistants on this machine."),
    "config": CommandPlace("knowledge.configuration:app", "Show the settings, or the configuration for an assistant."),
    "models": CommandPlace("knowledge.models:app", "Download, verify and list models."),
    "eval": CommandPlace("evaluate.evaluate:app", "Measure the quality of the answers."),
}


_HELP = """\
Search and manage the knowledge base.

\b
Examples:
  knowledge search "how is a requirement verified"
  knowledge read iso-15288 --clause 6.4.2
  knowledge COMMAND --help
"""


class _Knowledge(GroupOnDemand):
    places = _COMMANDS


app = typer.Typer(
    cls=_Knowledge,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog="`knowledge-ingest` ingests documents; `knowledge-mcp` serves them to assistants.",
)


@app.callback(help=_HELP)
def _common(version: Version = False) -> None:
    del version


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge")


if __name__ == "__main__":
    main()

"""`knowledge`: ask the knowledge base, look after its documents, its settings and its models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from knowledge_mcp.cli.shared.session import CONTEXT, UsageError, Version, run_command


class CommandPlace(NamedTuple):
    """Say where a command is, and what the list of commands says of it.

    `place` is `module:name` below `knowledge_mcp.cli`; the name is a function, or the `typer.Typer` of a group.
    `whole` names a constant of that module with the help text, if it is not the docstring.
    """

    place: str
    help: str
    whole: str = ""


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


_OTHERS = "`knowledge-ingest` ingests documents; `knowledge-mcp` serves them to assistants."
_HELP = """\
Search and manage the knowledge base.

\b
Examples:
  knowledge search "how is a requirement verified"
  knowledge read iso-15288 --clause 6.4.2
  knowledge COMMAND --help
"""


class _LazyCommands(Mapping[str, Any]):
    """Load a command's module when it is looked up by its name, so that a command does not wait for the others."""

    def __init__(self) -> None:
        self._loaded = dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, _COMMANDS[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


def _load(name: str, place: CommandPlace) -> Any:
    """Import a command's module, and make the command."""
    path, _, attribute = place.place.partition(":")
    module = import_module(f"knowledge_mcp.cli.{path}")
    found = getattr(module, attribute)
    if isinstance(found, typer.Typer):
        return get_group(found)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, help=getattr(module, place.whole) if place.whole else None)(found)
    return get_command(app)


class _RootGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("MutableMapping[str, Any]", _LazyCommands())  # nothing is added to it

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; an error also names the programs that ingest and serve."""
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            error.message += f"\n\n{_OTHERS}"
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.help) for name, each in _COMMANDS.items()])


app = typer.Typer(
    cls=_RootGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog=_OTHERS,
)


@app.callback(help=_HELP)
def _common(version: Version = False) -> None:
    del version


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "knowledge")


if __name__ == "__main__":
    main()

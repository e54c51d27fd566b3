"""`knowledge sync`: make the knowledge base hold what its registered sources hold, once or from now on."""

from __future__ import annotations

from typing import Annotated

import typer

from knowledge_mcp.cli.knowledge.sources.running import Syncing, tell
from knowledge_mcp.cli.shared.session import (
    AsJson,
    CollectionName,
    ConfigFile,
    Verbose,
    guarded,
    settings_of,
    write_json,
)
from knowledge_mcp.model.errors import InvalidInputError


def sync(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Sources; default: all.")] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: folders as they change, everything else when it is due.")
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Believe a source that holds nothing any more: remove its documents.")
    ] = False,
    as_json: AsJson = False,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Make the knowledge base hold what its sources hold: new, changed, moved and vanished documents.

    What did not change is neither fetched nor embedded again. A source that cannot be reached, or is suddenly empty,
    removes nothing. Exit code 1 where something could not be synced.

    Example: knowledge sync

    Example: knowledge sync specs wiki --json

    Example: knowledge sync --watch
    """
    with guarded(verbose=verbose, as_json=as_json):
        settings = settings_of(config, collection, verbose=verbose)
        from knowledge_mcp import wiring

        listed = wiring.list_sources(settings)
        wanted = tuple(dict.fromkeys(names or ()))
        for name in wanted:
            listed.get(name)
        if not wanted and not listed.all():
            raise InvalidInputError("No source is registered.", suggestion="`knowledge sources add LOCATION`")
        if watch and as_json:
            raise InvalidInputError("--watch goes on; it has no JSON at its end.", suggestion="Leave out one of them.")
        knowledge = wiring.build_knowledge(settings)
        try:
            run = Syncing(settings, knowledge, allow_empty=allow_empty, verbose=verbose)
            if watch:
                from knowledge_mcp.cli.knowledge.sources.following import follow

                follow(run, settings, wanted, tell)
                return
            done = [run.run(name) for name in (wanted or [each.spec.name for each in listed.all()])]
        finally:
            knowledge.close()
        code = max(each.code for each in done)
        if as_json:
            write_json({"sources": [each.plain() for each in done], "exit_code": int(code)})
        for each in done:
            tell(each, errors_only=as_json)
        raise typer.Exit(code)

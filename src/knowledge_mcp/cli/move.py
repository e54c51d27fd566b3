"""`knowledge migrate` and `knowledge reembed`: a collection into another store, or into another embedding space."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.places import Backend
from knowledge_mcp.cli.session import AsJson, CollectionName, ConfigFile, Verbose, guarded, settings_of

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

__all__ = ["MIGRATE_HELP", "REEMBED_HELP", "Provider", "Weights", "migrate", "reembed"]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

MIGRATE_HELP = """\
Copy collections from one store into another, as they are: nothing is embedded anew, and the source is only read.

Whatever stops it, the same command goes on from there. At the end both are compared: counts, a hash over everything,
and the answers to sampled queries.

\b
Examples:
  knowledge migrate --from sqlite --to qdrant
  knowledge migrate --from qdrant --to chromadb --all --dry-run
  knowledge migrate --from sqlite --to sqlite --to-path /backup/knowledge

\b
Exit codes: 0 both hold the same, 1 they do not, 2 nothing was done, 3 configuration or connection, 130 interrupted.
"""

REEMBED_HELP = """\
Embed a collection anew in the configured embedding space, and put it in the place of the old one in one step.

The collection answers as before until then. Chunks stay as they are; documents with chunks that are too long for the
new model are named and must be ingested again. Whatever stops it, the same command goes on and pays nothing twice.
Afterwards set the same embedding model for the server and for ingests.

\b
Examples:
  EMBEDDING_PROVIDER=openai knowledge reembed --max-cost 5
  knowledge reembed --provider openai --model text-embedding-3-large --dimensions 1024 --dry-run
  knowledge reembed --variant fp32 --drop-old --yes

\b
Exit codes: 0 done, 1 documents not carried over, 2 nothing was done, 3 configuration or connection, 130 interrupted.
"""


class Provider(StrEnum):
    """Where embeddings are made."""

    LOCAL = "local"
    OPENAI = "openai"
    AZURE = "azure"


class Weights(StrEnum):
    """Weights of the local model."""

    INT8 = "int8"
    FP32 = "fp32"


def migrate(
    source: Annotated[Backend, typer.Option("--from", help="Store to copy from, as the settings describe it.")],
    target: Annotated[Backend, typer.Option("--to", help="Store to copy to, as the settings describe it.")],
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", help="Collection to copy, may be given again. QDRANT_COLLECTION's if left out."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Copy every collection.")] = False,
    to_collection: Annotated[str | None, typer.Option(help="Name at the target; the same if left out.")] = None,
    from_path: Annotated[Path | None, typer.Option(help="Folder of an embedded source, not the settings'.")] = None,
    to_path: Annotated[Path | None, typer.Option(help="Folder of an embedded target, not the settings'.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents that only the target has.")] = False,
    samples: Annotated[int, typer.Option(min=0, max=10000, help="Queries asked of both at the end.")] = 50,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be copied; write nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Copy collections from one store into another."""
    with guarded(verbose=verbose, as_json=as_json):
        settings = settings_of(config, verbose=verbose)
        from knowledge_mcp.cli.move_run import MigrateChoices, migrate_with

        choices = MigrateChoices(
            source=source.value,
            target=target.value,
            collections=tuple(collection or ()),
            everything=everything,
            to_collection=to_collection,
            from_path=from_path,
            to_path=to_path,
            prune=prune,
            samples=samples,
            dry_run=dry_run,
            yes=yes,
            as_json=as_json,
            verbose=verbose,
        )
        code = migrate_with(settings, choices)
        if code:
            raise typer.Exit(code)


def reembed(
    collection: CollectionName = None,
    provider: Annotated[Provider | None, typer.Option(help="Instead of EMBEDDING_PROVIDER's.")] = None,
    model: Annotated[str | None, typer.Option(help="Instead of EMBEDDING_MODEL's.")] = None,
    dimensions: Annotated[int | None, typer.Option(min=256, max=3072, help="Instead of EMBEDDING_DIMENSIONS'.")] = None,
    variant: Annotated[Weights | None, typer.Option(help="Instead of EMBEDDING_VARIANT's.")] = None,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Swap even though some documents cannot be carried over.")
    ] = False,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Drop the old collection after the swap.")] = False,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before embeddings cost more than this.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count chunks, tokens and cost; embed nothing.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Embed a collection anew and put it in the place of the old one."""
    with guarded(verbose=verbose, as_json=as_json):
        settings = _with(
            settings_of(config, collection, verbose=verbose),
            embedding_provider=provider.value if provider else None,
            embedding_model=model,
            embedding_dimensions=dimensions,
            embedding_variant=variant.value if variant else None,
        )
        from knowledge_mcp.cli.move_run import ReembedChoices, reembed_with
        from knowledge_mcp.engine.reembed import ReembedOptions

        options = ReembedOptions(leave_out=leave_out, drop_old=drop_old, max_cost=max_cost)
        code = reembed_with(settings, ReembedChoices(options, dry_run, yes, as_json, verbose))
        if code:
            raise typer.Exit(code)


def _with(settings: Settings, **chosen: Any) -> Settings:
    """Put the options in place of the settings, and check these anew.

    Raises:
        ConfigError: the options contradict each other or the settings.
    """
    from knowledge_mcp.model.errors import ConfigError
    from knowledge_mcp.settings import contradictions

    given = {name: value for name, value in chosen.items() if value is not None}
    if "embedding_provider" in given:  # model and dimensions of another provider mean nothing to this one
        given = {"embedding_model": None, "embedding_dimensions": None, **given}
    changed = settings.model_copy(update=given)
    problems = contradictions(changed)
    if problems:
        raise ConfigError(problems[0], details="\n".join(problems))
    return changed

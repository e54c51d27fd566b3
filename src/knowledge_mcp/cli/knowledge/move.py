"""`knowledge migrate` and `knowledge reembed`: a collection into another store, or into another embedding space."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from knowledge_mcp.cli.shared.failures import ExitCode, confirm, notify
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import CommandOptions, StoreOptions, Yes, open_store
from knowledge_mcp.engine.library.values import checked_name
from knowledge_mcp.engine.transfer.copying import CollectionPlace, MoveEvent, MoveEventKind
from knowledge_mcp.engine.transfer.move import Move, MoveOptions, MovePlan
from knowledge_mcp.engine.transfer.reembed import Reembed, ReembedOptions, ReembedPlan
from knowledge_mcp.model.collection import ProviderName, StoreName
from knowledge_mcp.model.errors import ConfigError, InvalidInputError, KnowledgeError
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.engine.core.base import Base
    from knowledge_mcp.ports import Store
    from knowledge_mcp.settings import Settings


MIGRATE_HELP = """\
Copy collections from one store to another without re-embedding them. The source is not changed.

If it is interrupted, run the same command again to continue. At the end both stores are compared: counts, a hash of
all contents, and the answers to sampled queries.

\b
Examples:
  knowledge migrate --from sqlite --to qdrant
  knowledge migrate --from qdrant --to chromadb --all --dry-run
  knowledge migrate --from sqlite --to sqlite --to-path /backup/knowledge

\b
Exit codes: 0 same contents, 1 different contents, 2 nothing was done, 3 configuration or connection, 130 interrupted.
"""

REEMBED_HELP = """\
Re-embed a collection with the configured embedding model, and replace the old collection in one step.

Until then the old collection stays in use. Chunks are not changed; documents with chunks that are too long for the
new model are listed and must be ingested again. If it is interrupted, run the same command again: it continues, and
nothing is charged twice. Afterwards, set the same embedding model for the server and for ingests.

\b
Examples:
  EMBEDDING_PROVIDER=openai knowledge reembed --max-cost 5
  knowledge reembed --provider openai --model text-embedding-3-large --dimensions 1024 --dry-run
  knowledge reembed --variant fp32 --drop-old --yes

\b
Exit codes: 0 done, 1 documents not re-embedded, 2 nothing was done, 3 configuration or connection, 130 interrupted.
"""


@dataclass(frozen=True, kw_only=True)
class MigrateChoices:
    """The command line of `knowledge migrate`."""

    source: Annotated[StoreName, typer.Option("--from", help="Store to copy from, configured by the settings.")]
    target: Annotated[StoreName, typer.Option("--to", help="Store to copy to, configured by the settings.")]
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", help="Collection to copy; may be repeated. Default: QDRANT_COLLECTION."),
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Copy every collection.")] = False
    to_collection: Annotated[str | None, typer.Option(help="Name in the target store. Default: the same name.")] = None
    from_path: Annotated[
        Path | None, typer.Option(help="Folder of an embedded source. Default: as in the settings.")
    ] = None
    to_path: Annotated[Path | None, typer.Option(help="Folder of an embedded target. Default: as in the settings.")] = (
        None
    )
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents that exist only in the target.")] = False
    samples: Annotated[int, typer.Option(min=0, max=10000, help="Number of queries to compare at the end.")] = 50
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be copied without writing anything.")] = (
        False
    )
    yes: Yes = False


@with_groups
def migrate(choices: MigrateChoices, options: StoreOptions) -> None:
    """Copy collections from one store into another."""
    with options.guard():
        code = _migrate_between(options, choices)
        if code:
            raise typer.Exit(code)


@dataclass(frozen=True, kw_only=True)
class ReembedChoices:
    """The command line of `knowledge reembed`."""

    provider: Annotated[ProviderName | None, typer.Option(help="Provider. Default: EMBEDDING_PROVIDER.")] = None
    model: Annotated[str | None, typer.Option(help="Model. Default: EMBEDDING_MODEL.")] = None
    dimensions: Annotated[
        int | None, typer.Option(min=256, max=3072, help="Dimensions. Default: EMBEDDING_DIMENSIONS.")
    ] = None
    variant: Annotated[Literal["int8", "fp32"] | None, typer.Option(help="Weights. Default: EMBEDDING_VARIANT.")] = None
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Replace the collection even if some documents cannot be re-embedded.")
    ] = False
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Drop the old collection afterwards.")] = False
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before the embeddings cost more than this.")
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show chunks, tokens and cost without embedding anything.")
    ] = False
    yes: Yes = False


@with_groups
def reembed(choices: ReembedChoices, options: CommandOptions) -> None:
    """Re-embed a collection and replace the old one."""
    with options.guard():
        settings = _change(
            options.settings(),
            embedding_provider=choices.provider,
            embedding_model=choices.model,
            embedding_dimensions=choices.dimensions,
            embedding_variant=choices.variant,
        )
        code = _reembed_with(settings, options, choices)
        if code:
            raise typer.Exit(code)


def _change(settings: Settings, **chosen: Any) -> Settings:
    """Replace settings by the options, and check the settings again.

    Raises:
        ConfigError: the options contradict each other or the settings.
    """
    from knowledge_mcp.settings import contradictions

    changes = {name: value for name, value in chosen.items() if value is not None}
    if "embedding_provider" in changes:  # model and dimensions of another provider mean nothing to this one
        changes = {"embedding_model": None, "embedding_dimensions": None, **changes}
    changed = settings.model_copy(update=changes)
    problems = contradictions(changed)
    if problems:
        raise ConfigError(problems[0], details="\n".join(problems))
    return changed


_COUNTED = {
    MoveEventKind.STORED: "Stored",
    MoveEventKind.FAILED: "Failed",
    MoveEventKind.REMOVED: "Removed",
    MoveEventKind.PRESENT: "Already there:",
    MoveEventKind.COMPARED: "Compared",
}


class _CopyProgress:
    """Show events, and remember how far the run came: a bar on a terminal, a line for each document elsewhere.

    Args:
        verbose: write a line for every step, on a terminal too.
    """

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose
        self._bar = WorkBar(shown=not verbose)
        self.stored = 0

    def __call__(self, event: MoveEvent) -> None:
        self.stored += event.kind == MoveEventKind.STORED
        if not self._bar.is_shown:
            self._write(event)
        elif event.kind == MoveEventKind.READ:
            self._bar.show(f"{event.collection}: {event.document_id}, chunk {event.done}/{event.total}")
        elif event.kind == MoveEventKind.COMPARED:
            self._bar.show(f"Comparing {event.collection}", event.done, event.total)
        elif event.kind in {MoveEventKind.STORED, MoveEventKind.FAILED, MoveEventKind.PLANNED}:
            self._bar.show(f"Copying {event.collection}", event.done, event.total)

    def _write(self, event: MoveEvent) -> None:
        """Write the line of an event, if it has one."""
        quiet = event.kind in {MoveEventKind.PRESENT, MoveEventKind.COMPARED}
        if event.kind in _COUNTED and (self._verbose or not quiet):
            place = f" ({event.done}/{event.total})" if event.done else ""
            why = f": {event.message}" if event.message else ""
            notify(f"{_COUNTED[event.kind]} {event.document_id}{place}{why}")
        elif event.kind == MoveEventKind.READ and self._verbose:
            notify(f"Chunk {event.done}/{event.total} of {event.document_id}")
        elif event.kind == MoveEventKind.SWAPPED:
            notify(f"The new collection is now '{event.collection}'; the old one is '{event.message}'.")

    @contextmanager
    def watching(self) -> Generator[None]:
        """Clean up the terminal at the end; if the run was stopped, say that it can be continued."""
        try:
            with self._bar:
                yield
        except (KnowledgeError, KeyboardInterrupt):
            notify(f"Stopped. Documents completed in this run: {self.stored}. Run the same command again to continue.")
            raise


def _migrate_between(options: StoreOptions, choices: MigrateChoices) -> ExitCode:
    """Copy collections, and report the result."""
    settings = options.settings()
    with (
        closing(open_store(settings, choices.source, choices.from_path, existing=True)) as source,
        closing(open_store(settings, choices.target, choices.to_path, untouched=choices.dry_run)) as target,
    ):
        return _migrate(_names(settings, choices, source), options, choices, source, target)


def _migrate(
    names: Sequence[str], options: StoreOptions, choices: MigrateChoices, source: Store, target: Store
) -> ExitCode:
    if not names:
        notify(f"There are no collections in {source.identity.location}.")
        return ExitCode.NOTHING_DONE
    watch = _CopyProgress(verbose=options.verbose)
    move_options = MoveOptions(prune=choices.prune, samples=choices.samples)
    moves = [
        Move(CollectionPlace(source, name), CollectionPlace(target, choices.to_collection or name), move_options, watch)
        for name in names
    ]  # every one is checked before the first one writes
    titles = [f"{name} ({choices.source}) to {choices.to_collection or name} ({choices.target})" for name in names]
    plans = [each.plan() for each in moves]
    if choices.dry_run:
        _show_plans(plans, titles, prune=choices.prune, as_json=options.as_json)
        return ExitCode.SUCCESS
    if not choices.yes and not _may_change(plans, prune=choices.prune):
        return ExitCode.NOTHING_DONE
    with watch.watching():
        reports = [each.run() for each in moves]
    code = ExitCode.SUCCESS if all(each.good for each in reports) else ExitCode.FAILURE
    from knowledge_mcp.cli.knowledge.move_report import move_as_json, print_move

    if options.as_json:
        ends = {"from": asdict(source.identity), "to": asdict(target.identity)}
        write_json(ends | {"collections": [move_as_json(each) for each in reports], "exit_code": int(code)})
        return code
    for report, title in zip(reports, titles, strict=True):
        print_move(report, title)
    return code


def _names(settings: Settings, choices: MigrateChoices, source: Store) -> Sequence[str]:
    """List the collections to copy."""
    if choices.everything and choices.collection:
        raise InvalidInputError("--all and --collection cannot be used together.")
    if choices.everything:
        names: Sequence[str] = [each.name for each in source.collections()]
    else:
        names = tuple(dict.fromkeys(choices.collection or ())) or (settings.collection,)
    if choices.to_collection is not None and len(names) > 1:
        raise InvalidInputError(f"--to-collection can rename one collection only, but {len(names)} would be copied.")
    if choices.to_collection is not None:
        checked_name(choices.to_collection)
    return names


def _show_plans(plans: Sequence[MovePlan], titles: Sequence[str], *, prune: bool, as_json: bool) -> None:
    from knowledge_mcp.cli.knowledge.move_report import move_plan_as_json, print_move_plan

    if as_json:
        write_json({"dry_run": True, "collections": [move_plan_as_json(each) for each in plans]})
        return
    for plan, title in zip(plans, titles, strict=True):
        print_move_plan(plan, title, prune=prune)


def _may_change(plans: Sequence[MovePlan], *, prune: bool) -> bool:
    """Ask for confirmation if documents of the target would be replaced or removed."""
    replaced = sum(len(each.replaced) for each in plans)
    removed = sum(len(each.others) for each in plans) if prune else 0
    if not replaced and not removed:
        return True
    return confirm(
        f"Replace {replaced} and remove {how_many(removed, 'document')} in the target?", "Nothing was copied"
    )


def _reembed_with(settings: Settings, options: CommandOptions, choices: ReembedChoices) -> ExitCode:
    """Embed the settings' collection in the settings' space, and report the result."""
    from knowledge_mcp import wiring
    from knowledge_mcp.settings import choose_store

    # no fallback: what is re-embedded is the configured store's collection or none
    with closing(wiring.build_base(settings, start=wiring.Start(backend=choose_store(settings).backend))) as base:
        with without_retries():
            base.opened.info()
        return _reembed(options, choices, base)


def _reembed(options: CommandOptions, choices: ReembedChoices, base: Base) -> ExitCode:
    from knowledge_mcp.cli.knowledge.move_report import (
        print_reembed,
        print_reembed_plan,
        reembed_as_json,
        reembed_plan_as_json,
    )

    embedder = base.embedder
    how = ReembedOptions(
        leave_out=choices.leave_out, drop_old=choices.drop_old, max_cost=choices.max_cost, slice=base.slice
    )
    watch = _CopyProgress(verbose=options.verbose)
    run = Reembed(CollectionPlace(base.store, base.collection), embedder, how, watch)
    plan = run.plan()
    if choices.dry_run:
        if options.as_json:
            write_json({"dry_run": True, **reembed_plan_as_json(plan)})
        else:
            print_reembed_plan(plan, embedder.price)
        return ExitCode.FAILURE if plan.unfit else ExitCode.SUCCESS
    if plan.needed and not choices.yes and not _may_embed(plan, embedder.price):
        return ExitCode.NOTHING_DONE
    with watch.watching():
        report = run.run(plan)
    if options.as_json:
        write_json(reembed_as_json(report))
    else:
        print_reembed(report)
    return ExitCode.SUCCESS if report.good else ExitCode.FAILURE


def _may_embed(plan: ReembedPlan, price: float | None) -> bool:
    from knowledge_mcp.cli.shared.report import cost_of

    cost = cost_of(plan.space.provider, plan.tokens, price)
    return confirm(
        f"Embed {how_many(plan.chunks, 'chunk')} ({plan.tokens:,} tokens, {cost}) of '{plan.live.name}' with "
        f"{plan.space.label}, and replace {plan.live.space.label}?",
        "Nothing was embedded",
    )

"""One run of `knowledge migrate` or `knowledge reembed`, from its options to its exit code."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_mcp.cli.entry import confirmed
from knowledge_mcp.cli.failures import ExitCode, say
from knowledge_mcp.cli.move_progress import MoveProgress, move_progress
from knowledge_mcp.engine.carry import MoveEvent, MoveEventKind, Place
from knowledge_mcp.engine.move import Move, MoveOptions, MovePlan
from knowledge_mcp.engine.reembed import Reembed, ReembedOptions, ReembedPlan
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError

if TYPE_CHECKING:
    from knowledge_mcp.ports import Embedder, Store
    from knowledge_mcp.settings import Settings

__all__ = ["MigrateChoices", "ReembedChoices", "migrate_with", "reembed_with"]


@dataclass(frozen=True, slots=True)
class MigrateChoices:
    """Hold the command line of `knowledge migrate`; paths are folders of embedded stores, None for the settings'."""

    source: str
    target: str
    collections: tuple[str, ...]
    everything: bool
    to_collection: str | None
    from_path: Path | None
    to_path: Path | None
    prune: bool
    samples: int
    dry_run: bool
    yes: bool
    as_json: bool
    verbose: bool


@dataclass(frozen=True, slots=True)
class ReembedChoices:
    """Hold the command line of `knowledge reembed`."""

    options: ReembedOptions
    dry_run: bool
    yes: bool
    as_json: bool
    verbose: bool


class _Watch:
    """Show events, and remember how far the run came."""

    def __init__(self, *, verbose: bool) -> None:
        self._progress: MoveProgress = move_progress(verbose=verbose)
        self.stored = 0

    def __call__(self, event: MoveEvent) -> None:
        self.stored += event.kind == MoveEventKind.STORED
        self._progress.show(event)

    @contextmanager
    def watching(self) -> Generator[None]:
        """Leave the terminal at the end; where the run was stopped, say that it can be gone on with."""
        try:
            yield
        except (KnowledgeError, KeyboardInterrupt):
            self._progress.close()
            say(f"Stopped. Documents done in this run: {self.stored}. Run the same command again to go on from here.")
            raise
        finally:
            self._progress.close()


def migrate_with(settings: Settings, choices: MigrateChoices) -> ExitCode:
    """Copy collections, and tell how it went."""
    from knowledge_mcp.cli.places import open_store

    source = open_store(settings, choices.source, choices.from_path, existing=True)
    try:
        target = open_store(settings, choices.target, choices.to_path, untouched=choices.dry_run)
        try:
            return _migrate(settings, choices, source, target)
        finally:
            target.close()
    finally:
        source.close()


def _migrate(settings: Settings, choices: MigrateChoices, source: Store, target: Store) -> ExitCode:
    names = _names(settings, choices, source)
    if not names:
        say(f"There are no collections in {source.location}.")
        return ExitCode.NOTHING_DONE
    watch = _Watch(verbose=choices.verbose)
    options = MoveOptions(prune=choices.prune, samples=choices.samples)
    moves = [
        Move(Place(source, name), Place(target, choices.to_collection or name), options, watch) for name in names
    ]  # every one is checked before the first one writes
    titles = [f"{name} ({choices.source}) to {choices.to_collection or name} ({choices.target})" for name in names]
    plans = [each.plan() for each in moves]
    if choices.dry_run:
        _show_plans(choices, plans, titles)
        return ExitCode.SUCCESS
    if not choices.yes and not _may_change(plans, prune=choices.prune):
        return ExitCode.NOTHING_DONE
    with watch.watching():
        reports = [each.run() for each in moves]
    code = ExitCode.SUCCESS if all(each.good for each in reports) else ExitCode.FAILURE
    from knowledge_mcp.cli.move_report import move_as_json, print_move
    from knowledge_mcp.cli.session import out, write_json

    if choices.as_json:
        ends = {
            "from": {"backend": source.backend, "location": source.location},
            "to": {"backend": target.backend, "location": target.location},
        }
        write_json(ends | {"collections": [move_as_json(each) for each in reports], "exit_code": int(code)})
        return code
    for report, title in zip(reports, titles, strict=True):
        print_move(out(), report, title)
    return code


def _names(settings: Settings, choices: MigrateChoices, source: Store) -> Sequence[str]:
    """List the collections to copy."""
    if choices.everything and choices.collections:
        raise InvalidInputError("--all and --collection cannot be given together.")
    if choices.everything:
        names: Sequence[str] = [each.name for each in source.collections()]
    else:
        names = tuple(dict.fromkeys(choices.collections)) or (settings.collection,)
    if choices.to_collection is not None and len(names) > 1:
        raise InvalidInputError(f"--to-collection names one collection, but {len(names)} are to be copied.")
    return names


def _show_plans(choices: MigrateChoices, plans: Sequence[MovePlan], titles: Sequence[str]) -> None:
    from knowledge_mcp.cli.move_report import move_plan_as_json, print_move_plan
    from knowledge_mcp.cli.session import out, write_json

    if choices.as_json:
        write_json({"dry_run": True, "collections": [move_plan_as_json(each) for each in plans]})
        return
    for plan, title in zip(plans, titles, strict=True):
        print_move_plan(out(), plan, title, prune=choices.prune)


def _may_change(plans: Sequence[MovePlan], *, prune: bool) -> bool:
    """Ask, where documents of the target would be replaced or removed."""
    replaced = sum(len(each.replaced) for each in plans)
    removed = sum(len(each.others) for each in plans) if prune else 0
    if not replaced and not removed:
        return True
    return confirmed(f"Replace {replaced} and remove {removed} documents at the target?", "Nothing was copied")


def reembed_with(settings: Settings, choices: ReembedChoices) -> ExitCode:
    """Embed the settings' collection in the settings' space, and tell how it went."""
    from knowledge_mcp import wiring
    from knowledge_mcp.settings import choose_store

    # no fallback: what is embedded anew is the configured store's collection or none
    base = wiring.build_base(settings, start=wiring.Start(backend=choose_store(settings).backend))
    try:
        base.store.ping()
        choices = replace(choices, options=replace(choices.options, slice=base.slice))
        return _reembed(choices, base.store, base.collection, base.embedder)
    finally:
        base.close()


def _reembed(choices: ReembedChoices, store: Store, collection: str, embedder: Embedder) -> ExitCode:
    from knowledge_mcp.cli.move_report import (
        print_reembed,
        print_reembed_plan,
        reembed_as_json,
        reembed_plan_as_json,
    )
    from knowledge_mcp.cli.session import out, write_json

    watch = _Watch(verbose=choices.verbose)
    run = Reembed(Place(store, collection), embedder, choices.options, watch)
    plan = run.plan()
    if choices.dry_run:
        if choices.as_json:
            write_json({"dry_run": True, **reembed_plan_as_json(plan)})
        else:
            print_reembed_plan(out(), plan, embedder.price)
        return ExitCode.FAILURE if plan.unfit else ExitCode.SUCCESS
    if plan.needed and not choices.yes and not _may_embed(plan, embedder.price):
        return ExitCode.NOTHING_DONE
    with watch.watching():
        report = run.run(plan)
    if choices.as_json:
        write_json(reembed_as_json(report))
    else:
        print_reembed(out(), report)
    return ExitCode.SUCCESS if report.good else ExitCode.FAILURE


def _may_embed(plan: ReembedPlan, price: float | None) -> bool:
    from knowledge_mcp.cli.report import cost_of

    cost = cost_of(plan.space.provider, plan.tokens, price)
    return confirmed(
        f"Embed {plan.chunks:,} chunks ({plan.tokens:,} tokens, {cost}) of '{plan.live.name}' with {plan.space.label}, "
        f"and put them in the place of {plan.live.space.label}?",
        "Nothing was embedded",
    )

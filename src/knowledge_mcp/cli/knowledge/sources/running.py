"""One sync of each source after another: what it came to, written down and told."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.failures import ExitCode, exit_code_of, one_line, say
from knowledge_mcp.cli.shared.progress import BarProgress, LineProgress, ProgressBars
from knowledge_mcp.cli.shared.report import left_out_lines
from knowledge_mcp.cli.shared.session import out, shown
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.ingest import LeftOut
from knowledge_mcp.model.rights import ALLOWED, allowed_label
from knowledge_mcp.model.syncing import SourceState, SourceStatus, SyncReport

if TYPE_CHECKING:
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.sources.synced.registered import SourceList

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Synced:
    """Tell how the sync of one source went: a report, or the error that ended it."""

    status: SourceStatus
    report: SyncReport | None = None
    error: KnowledgeError | None = None
    left_out: tuple[LeftOut, ...] = ()

    @property
    def code(self) -> ExitCode:
        """Choose the exit code."""
        if self.error is not None:
            return exit_code_of(self.error)
        assert self.report is not None
        ingest = self.report.ingest
        went_wrong = ingest.skipped or ingest.failed or self.report.kept or self.report.unread
        return ExitCode.FAILURE if went_wrong else ExitCode.SUCCESS

    def plain(self) -> dict[str, Any]:
        """Give it as JSON values."""
        spec, state = self.status.spec, self.status.state
        content: dict[str, Any] = {"name": spec.name, "kind": spec.kind.value, "location": spec.location}
        content |= {"last_synced": state.last_synced, "stale": self.status.is_stale(), "last_error": state.last_error}
        if self.report is None:
            return content
        ingest = self.report.ingest
        return content | {
            "stored": [each.record.id for each in ingest.documents if not each.unchanged],
            "unchanged": sum(each.unchanged for each in ingest.documents),
            "passages_embedded": sum(each.embedded for each in ingest.documents),
            "removed": [{"document_id": each.id, "source_path": each.source_path} for each in self.report.removed],
            "kept": [{"document_id": each.id, "source_path": each.source_path} for each in self.report.kept],
            "skipped": [
                {"source": each.source, "reason": each.reason, "message": each.message}
                for each in (*ingest.skipped, *ingest.failed)
            ],
            "left_out": [{"what": each.what, "count": each.count} for each in self.left_out],
            "editions": list(ingest.editions),
        }


class Syncing:
    """Sync sources one after another, with one open knowledge base, and write down how each went."""

    def __init__(self, settings: Settings, knowledge: Knowledge, *, allow_empty: bool, verbose: bool) -> None:
        from knowledge_mcp import wiring

        self._settings = settings
        self._knowledge = knowledge
        self._allow_empty = allow_empty
        self._verbose = verbose
        self.listed: SourceList = wiring.list_sources(settings)

    def run(self, name: str) -> Synced:
        """Sync one source; an error of it is told, and ends nothing else."""
        try:
            with self.listed.working(name):
                return self._synced(name)
        except KnowledgeError as error:
            return Synced(self.listed.get(name), error=error)

    def _synced(self, name: str) -> Synced:
        from knowledge_mcp import wiring
        from knowledge_mcp.engine.ingest.syncing import sync as sync_one

        before = self.listed.get(name)
        progress = self._progress()
        try:
            source = wiring.build_synced(self._settings, before.spec)
            try:
                report = sync_one(
                    self._knowledge,
                    source,
                    labels=((ALLOWED, allowed_label(before.spec.allow)),) if before.spec.allow else (),
                    allow_empty=self._allow_empty,
                    is_others=wiring.owned_by_others(self._settings, name),
                    on_event=progress.show,
                )
                left_out = source.left_out
            finally:
                source.close()
        except KnowledgeError as error:
            state = replace(before.state, last_tried=_now(), last_error=error.message)
            self.listed.note(name, state)
            return Synced(SourceStatus(before.spec, state), error=error)
        finally:
            progress.close()
        state = _state_after(before.state, report)
        self.listed.note(name, state)
        return Synced(SourceStatus(before.spec, state), report, left_out=left_out)

    def _progress(self) -> ProgressBars:
        if sys.stderr.isatty() and not self._verbose:
            from rich.console import Console

            return BarProgress(Console(stderr=True))
        return LineProgress(verbose=self._verbose)


def _state_after(before: SourceState, report: SyncReport) -> SourceState:
    """Tell how a source stands: what could not be had this time leaves it stale, what nobody can read does not."""
    now = _now()
    if report.unread:
        told = f"{len(report.unread)} documents could not be had: {report.unread[0]}"
        return replace(before, last_tried=now, last_error=told)
    return SourceState(now, now, "", len(report.ingest.documents))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def tell(done: Synced, *, errors_only: bool = False) -> None:
    """Write how a sync went: results to stdout, what went wrong to stderr."""
    name = done.status.spec.name
    if done.error is not None:
        say(f"{name}: not synced. {one_line(done.error.message)}\nNext: {done.error.suggestion}")
        return
    assert done.report is not None
    report = done.report
    if not errors_only:
        stored = sum(not each.unchanged for each in report.ingest.documents)
        unchanged = len(report.ingest.documents) - stored
        line = f"{name}: {stored} stored, {unchanged} unchanged, {len(report.removed)} removed."
        out().print(shown(line), soft_wrap=True)
        for each in report.removed:
            out().print(shown(f"  removed {each.id}: {one_line(each.source_path)} is gone"), soft_wrap=True)
        for line in (*report.ingest.editions, *left_out_lines(done.left_out)):
            out().print(shown(f"  {line}"), soft_wrap=True)
    for each in report.kept:
        say(f"{name}: {each.id} is kept although {one_line(each.source_path)} is gone: {report.why_kept}.")
    _name(
        [f"{one_line(each.source)}: {each.message}" for each in (*report.ingest.skipped, *report.ingest.failed)], name
    )


def _name(lines: Sequence[str], name: str) -> None:
    for line in lines[:_MOST_NAMED]:
        say(f"{name}: not taken: {line}")
    if len(lines) > _MOST_NAMED:
        say(f"{name}: and {len(lines) - _MOST_NAMED} more; --json names all.")

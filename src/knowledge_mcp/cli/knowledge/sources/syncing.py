"""`knowledge sync`: make the knowledge base hold what its registered sources hold, once or from now on.

With `--watch`, changes in folders are taken up as they happen; every other source is synced at its interval.
"""

from __future__ import annotations

import logging
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from knowledge_mcp.cli.shared.failures import ExitCode, exit_code_of, notify, one_line
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import say, write_json
from knowledge_mcp.cli.shared.progress import ingest_progress
from knowledge_mcp.cli.shared.report import list_left_out, list_lines
from knowledge_mcp.cli.shared.session import CommandOptions
from knowledge_mcp.model.errors import (
    CancelledError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnreadableReason,
    reason_of,
)
from knowledge_mcp.model.ingest import LeftOut, SkippedFile, SourceKind, SourceState, SourceStatus, SyncReport
from knowledge_mcp.model.rights import ALLOWED, allowed_label
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.ports import Knowledge
    from knowledge_mcp.settings import Settings
    from knowledge_mcp.sources.synced.registered import SourceList

_MAX_LISTED = 20


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
        has_problems = ingest.skipped or ingest.failed or self.report.kept
        return ExitCode.FAILURE if has_problems else ExitCode.SUCCESS

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
                {
                    "source": each.source,
                    "reason": each.reason,
                    "message": each.message,
                    "suggestion": each.suggestion,
                }
                for each in (*ingest.skipped, *ingest.failed)
            ],
            "left_out": [{"what": each.what, "count": each.count} for each in self.left_out],
            "editions": list(ingest.editions),
        }


class Syncing:
    """Sync sources with one open knowledge base, and write down how each went. Thread-safe."""

    def __init__(self, settings: Settings, knowledge: Knowledge, *, allow_empty: bool, verbose: bool) -> None:
        from knowledge_mcp import wiring

        self._settings = settings
        self._knowledge = knowledge
        self._allow_empty = allow_empty
        self._verbose = verbose
        self.listed: SourceList = wiring.list_sources(settings)

    def run(self, name: str, cancelled: Callable[[], bool] | None = None) -> Synced:
        """Sync one source; an error of it is reported, and ends nothing else.

        Args:
            name: of the source.
            cancelled: for a sync beside others, which shows no bar: returns whether to stop.
        """
        try:
            with self.listed.working(name):
                return self._sync(name, cancelled)
        except KnowledgeError as error:
            return Synced(self.listed.get(name), error=error)

    def _sync(self, name: str, cancelled: Callable[[], bool] | None) -> Synced:
        from knowledge_mcp import wiring
        from knowledge_mcp.engine.ingest.syncing import sync as sync_one

        before = self.listed.get(name)
        progress = ingest_progress(verbose=self._verbose, may_draw=cancelled is None)
        try:
            others = wiring.other_sources(self._settings, name)
            with closing(wiring.build_synced(self._settings, before.spec)) as source:
                report = sync_one(
                    self._knowledge,
                    source,
                    labels=((ALLOWED, allowed_label(before.spec.allow)),) if before.spec.allow else (),
                    allow_empty=self._allow_empty,
                    is_others=others.own,
                    gone_elsewhere=others.gone,
                    on_event=progress.show,
                    cancelled=cancelled or bool,
                )
                left_out = source.left_out
        except CancelledError as stopped:
            return Synced(before, error=stopped)
        except (KnowledgeError, OSError) as failure:
            error = failure if isinstance(failure, KnowledgeError) else _disk_error(failure)
            state = replace(before.state, last_tried=_now(), last_error=error.message)
            with suppress(InternalError):  # a full disk ended the sync: that is what is reported
                self.listed.note(name, state)
            return Synced(SourceStatus(before.spec, state), error=error)
        except KeyboardInterrupt:
            progress.pause()
            notify(
                f"{name}: the sync did not finish. Stored documents are kept, and the next sync continues from there."
            )
            raise
        finally:
            progress.pause()
        state = _state_after(before.state, report)
        self.listed.note(name, state)
        return Synced(SourceStatus(before.spec, state), report, left_out=left_out)


def _disk_error(failure: OSError) -> InternalError:
    """Build the error for a file of ours that cannot be written, such as a download on a full disk."""
    return InternalError(
        f"A file could not be kept while it was read. {reason_of(failure)}",
        suggestion=f"Make room in {tempfile.gettempdir()}, or set TMPDIR to a larger disk, and sync again.",
        recoverable=True,
    )


def _state_after(before: SourceState, report: SyncReport) -> SourceState:
    """Return a source's state: failed fetches leave it stale, unreadable files do not."""
    now = _now()
    unread_files = (*report.ingest.skipped, *report.ingest.failed)
    unread = [
        each for each in unread_files if each.reason == UnreadableReason.INACCESSIBLE or each.source in report.unread
    ]
    if unread:
        first = f"{Path(unread[0].source).name}: {unread[0].message}"
        message = f"{how_many(len(unread), 'place')} could not be read: {one_line(first)}"
        return replace(before, last_tried=now, last_error=message)
    return SourceState(now, now, "", len(report.ingest.documents), len(unread_files))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def print_sync(synced: Synced, *, errors_only: bool = False, verbose: bool = False) -> None:
    """Report a sync: results to stdout, errors to stderr; `verbose` names every document."""
    name = synced.status.spec.name
    if synced.error is not None:
        notify(f"{name}: not synced. {one_line(synced.error.message)}\nNext: {synced.error.suggestion}")
        return
    assert synced.report is not None
    report = synced.report
    if not errors_only:
        stored = sum(not each.unchanged for each in report.ingest.documents)
        unchanged = len(report.ingest.documents) - stored
        say(f"{name}: {stored} stored, {unchanged} unchanged, {len(report.removed)} removed.")
        if not report.ingest.documents:
            say("  It contains no document that can be read. If it should, check its location and --pattern.")
        removed = [f"removed {each.id}: {one_line(each.source_path)} was deleted" for each in report.removed]
        for lines in (removed, report.ingest.editions):
            for line in list_lines(lines, verbose=verbose):
                say(f"  {line}")
        for line in list_left_out(synced.left_out):
            say(f"  {line}")
    kept = [f"{e.id} is kept although {one_line(e.source_path)} was deleted: {report.why_kept}." for e in report.kept]
    for line in list_lines(kept, verbose=verbose):
        notify(f"{name}: {line}")
    _name_skipped(name, (*report.ingest.skipped, *report.ingest.failed))


def _name_skipped(name: str, files: Sequence[SkippedFile]) -> None:
    """List the first files that were not ingested, then the remedies, each once."""
    for each in files[:_MAX_LISTED]:
        notify(f"{name}: not ingested: {one_line(each.source)}: {each.message}")
    if len(files) > _MAX_LISTED:
        notify(f"{name}: and {len(files) - _MAX_LISTED} more; --json lists all.")
    for advice in dict.fromkeys(each.suggestion for each in files[:_MAX_LISTED] if each.suggestion):
        notify(f"Next: {advice}")


_LOOK = 1.0
"""Seconds between checks of the list and of due sources: other processes add and remove sources."""
_MOST_SERVERS = 8
"""Servers whose sources are synced at once: each waits mostly, and each may hold a document in memory."""
_STOP_SECONDS = 3.0
"""How long an ended command waits for its syncs to stop; they may be waiting for a server."""
_AGAIN = 60.0
"""Seconds between the first two tries of a source that fails; each further wait is twice as long."""


def follow(run: Syncing, settings: Settings, names: Sequence[str], on_sync: Callable[[Synced], None]) -> None:
    """Sync all, then each as it changes or is due, until the process is ended.

    Folders are synced here, one after another. Sources of servers are synced beside them, so that a server that answers
    slowly holds up only its own.

    Args:
        run: syncs one source.
        settings: what was read; what is written in the data folder is no change.
        names: which sources; none for all, those that are registered later too.
        on_sync: called with the result of each.
    """
    watch = FolderChanges(settings.data_folder.absolute())
    failed: dict[str, int] = {}

    def finish(synced: Synced) -> None:
        name = synced.status.spec.name
        failed[name] = failed.get(name, 0) + 1 if synced.status.state.last_error else 0
        on_sync(synced)

    with closing(ServerSyncs(run)) as syncs:
        while True:
            listed = [each for each in run.listed.all() if not names or each.spec.name in names]
            folders = {Path(each.spec.location) for each in listed if each.spec.kind is SourceKind.FOLDER}
            changed = watch.changed(folders)
            for each in sorted(listed, key=lambda each: each.spec.kind is SourceKind.FOLDER):  # servers begin first
                name = each.spec.name
                if name not in failed or is_due(each, failed[name]) or Path(each.spec.location) in changed:
                    if each.spec.kind is not SourceKind.FOLDER:
                        syncs.begin(each)
                        continue
                    with suppress(NotFoundError):  # another process has removed it since
                        finish(run.run(name))
            for synced in syncs.finished():
                finish(synced)


class ServerSyncs:
    """Sync sources of servers on threads: one source of a server at a time, and a few servers at once.

    Args:
        run: syncs one source.
    """

    def __init__(self, run: Syncing) -> None:
        self._run = run
        self._stop = threading.Event()
        self._running: dict[str, Future[Synced]] = {}

    def begin(self, status: SourceStatus) -> None:
        """Start a sync, unless the source's server is busy or there are too many; it is still due then."""
        server = urlsplit(status.spec.location).netloc
        if server not in self._running and len(self._running) < _MOST_SERVERS:
            done: Future[Synced] = Future()
            self._running[server] = done
            # a daemon: a process that is ended does not wait for a server
            threading.Thread(target=self._sync, args=(status.spec.name, done), daemon=True).start()

    def finished(self) -> Iterator[Synced]:
        """Yield what has ended since the last call; a source that was removed meanwhile yields nothing."""
        for server, done in list(self._running.items()):
            if done.done():
                del self._running[server]
                with suppress(NotFoundError):
                    yield done.result()

    def close(self) -> None:
        """Stop all, and wait a little for those that can be stopped at once."""
        self._stop.set()
        wait(self._running.values(), timeout=_STOP_SECONDS)

    def _sync(self, name: str, done: Future[Synced]) -> None:
        try:
            done.set_result(self._run.run(name, self._stop.is_set))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            done.set_exception(error)


def is_due(status: SourceStatus, failed: int, now: datetime | None = None) -> bool:
    """Return whether a source's interval is over; one that `failed` so many times in a row is tried again sooner.

    A source that was tried in the future is due too: the clock was wrong then, and the interval could last years.
    """
    tried = status.state.last_tried
    if not tried:
        return True
    passed = ((now or datetime.now(UTC)) - datetime.fromisoformat(tried)).total_seconds()
    again = _AGAIN * 2 ** min(max(failed - 1, 0), 31)  # longer than any interval, and still a number
    return not 0 <= passed < (min(status.spec.every, again) if status.state.last_error else status.spec.every)


class FolderChanges:
    """Return below which folders something changed since the last call; nothing is missed between two questions.

    The watch begins again where another folder, or a link to one, has a folder's name. Where the system lets no more
    folders be watched, a message says so, and it is tried again after a while; until then they are synced at intervals.

    Args:
        data: what the program itself writes there does not count.
    """

    def __init__(self, data: Path) -> None:
        self._data = data
        self._folders: dict[Path, tuple[int, int]] = {}
        self._changes: Iterator[set[tuple[Any, str]]] | None = None
        self._not_before = 0.0

    def changed(self, folders: set[Path]) -> set[Path]:
        """Wait for a change, a second at the most; folders that were not watched before count as changed."""
        there = {each: found for each in folders if (found := _inode(each)) is not None}
        if not there or time.monotonic() < self._not_before:
            threading.Event().wait(_LOOK)
            return set()
        try:
            if there != self._folders or self._changes is None:
                self._begin(there)
                return set(there)
            places = [Path(path) for _, path in next(self._changes)]
        except (OSError, RuntimeError, StopIteration) as error:
            notify(f"Folders cannot be watched now; they are synced at their intervals instead: {one_line(str(error))}")
            self._changes, self._not_before = None, time.monotonic() + _AGAIN
            return set()
        outside = [place for place in places if not place.is_relative_to(self._data)]
        return {each for each in there if any(place.is_relative_to(each) for place in outside)}

    def _begin(self, there: dict[Path, tuple[int, int]]) -> None:
        import watchfiles

        self._folders = there
        self._changes = watchfiles.watch(*there, rust_timeout=int(_LOOK * 1000), yield_on_timeout=True)
        next(self._changes)  # the watch begins here, before anybody looks at the files


def _inode(folder: Path) -> tuple[int, int] | None:
    """Return device and inode of a folder, which another folder of its name does not have; None if there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


@contextmanager
def _without_log_of_files(verbose: bool) -> Generator[None]:
    """Keep what an ingest logs about files from the terminal, unless requested: `print_sync` lists them."""
    logger = logging.getLogger("knowledge_mcp.engine.ingest")
    before = logger.level
    logger.setLevel(before if verbose else logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@with_groups
def sync(
    options: CommandOptions,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of sources. Default: all.")
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep running: sync folders when they change, other sources at their intervals."),
    ] = False,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="If a source is now empty, remove its documents.")
    ] = False,
) -> None:
    """Update the knowledge base from its sources: new, changed, moved and deleted documents.

    Unchanged documents are neither fetched nor embedded again. If a source cannot be reached, or is suddenly empty, its
    documents are kept. The exit code is 1 if something could not be synced.

    Example: knowledge sync

    Example: knowledge sync specs wiki --json

    Example: knowledge sync --watch
    """
    with options.guard(), _without_log_of_files(options.verbose):
        settings = options.settings()
        from knowledge_mcp import wiring

        listed = wiring.list_sources(settings)
        selected = tuple(dict.fromkeys(names or ()))
        for name in selected:
            listed.get(name)
        if not selected and not listed.all():
            raise InvalidInputError("No source is registered.", suggestion="`knowledge sources add LOCATION`")
        if watch and options.as_json:
            raise InvalidInputError(
                "--watch and --json cannot be used together, because --watch does not end.",
                suggestion="Pass only one of them.",
            )
        with closing(wiring.build_knowledge(settings)) as knowledge:
            run = Syncing(settings, knowledge, allow_empty=allow_empty, verbose=options.verbose)
            if watch:
                follow(run, settings, selected, partial(print_sync, verbose=options.verbose))
                return
            synced = [run.run(name) for name in (selected or [each.spec.name for each in listed.all()])]
        code = max(each.code for each in synced)
        if options.as_json:
            write_json({"sources": [each.plain() for each in synced], "exit_code": int(code)})
        for each in synced:
            print_sync(each, errors_only=options.as_json, verbose=options.verbose)
        raise typer.Exit(code)

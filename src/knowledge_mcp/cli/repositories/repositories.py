"""`pk-mcp index|search|status|refresh|reindex|remove|health|metrics`: code repositories, indexed and searched."""

from __future__ import annotations

import dataclasses
import logging
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import ExitCode, exit_code_of, notify, print_failure
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import open_console, print_facts, print_table, render, say, write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.report import duration
from knowledge_mcp.cli.shared.session import CONTEXT, StoreOptions, Version, Yes, confirm_removal, load, run_command
from knowledge_mcp.model.errors import CancelledError, KnowledgeError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.engine.repositories.metrics import Snapshot
    from knowledge_mcp.engine.repositories.service import RepositoryService
    from knowledge_mcp.engine.repositories.values import IndexResult
    from knowledge_mcp.model.call import Call
    from knowledge_mcp.model.query import Check


def print_results(answer: dict[str, Any]) -> None:
    """Show the answer of `semantic_search`."""
    for each in answer["results"]:
        place = f"{each['repository']}  {each['file_path']}:{each['start_line']}-{each['end_line']}"
        say(f"{each['similarity_score']:.2f}  {place}", "bold")
        if each.get("symbol"):
            say(f"      {each['symbol']}", "dim")
        open_console().print(render(each["content_snippet"]))
        if each.get("permalink"):
            say(each["permalink"], "dim")
        say("")
    about = answer["metadata"]
    if answer.get("message"):
        say(answer["message"])
        for hint in answer.get("suggestions", []):
            say(f"  {hint}")
    for note in about.get("degraded", []):
        say(f"Warning: {note}", "yellow")
    freshness = about.get("freshness", [])
    part = [each["repository"] for each in freshness if each["status"] == "error"]
    if part:
        say(f"Indexed only in part: {', '.join(part)} (run `pk-mcp refresh`)", "yellow")
    stale = [each["repository"] for each in freshness if each.get("stale") and each["repository"] not in part]
    if stale:
        say(f"Out of date: {', '.join(stale)} (run `pk-mcp refresh`)", "yellow")
    names = ", ".join(about["repositories_searched"]) or "nothing"
    below = f", {about['below_threshold']} below {about['threshold']:g}" if about["below_threshold"] else ""
    found = how_many(about["total_matches"], "match", "matches")
    say(f"{found}{below} in {names}, {about['query_time_ms']} ms", "dim")


def print_status(entries: list[dict[str, Any]]) -> None:
    """Show repositories as a table."""
    if not entries:
        say("No repository is indexed. `pk-mcp index URL` indexes one.")
        return
    rows: list[tuple[str, ...]] = []
    for each in entries:
        state = each["status"]
        if "files_total" in each:
            state += f" {each['files_done']}/{each['files_total']}"
        elif each.get("stale"):
            state += ", out of date"
        row = (
            each["name"],
            state,
            each.get("local_path") or each["url"],
            each.get("branch", "-"),
            each.get("indexed_commit", "-")[:10],
            f"{each['file_count']:,}",
            f"{each['chunk_count']:,}",
            each["last_indexed"][:16].replace("T", " "),
        )
        rows.append(row)
    columns = ("Name", "Status", "Source", "Branch", "Commit", "Files", "Chunks", "Indexed")
    print_table(columns, rows, numbers={"Files", "Chunks"})
    for each in entries:
        for message in (each.get("error_message", ""), *each.get("problems", [])):
            if message:
                say(f"{each['name']}: {message}")


def health_status(service: RepositoryService) -> dict[str, Any]:
    """Return the health as in C 9.3, with each component under the name of the implementation in use."""
    report = service.health()
    checks = {service.store_name: report.vector_store, service.provider: report.embedding_service}
    threshold = service.health_threshold_ms
    return {
        "status": report.status,
        "timestamp": report.timestamp.replace("+00:00", "Z"),
        "version": service.version,
        "components": {name: _component(check, threshold) for name, check in checks.items()},
    }


def _component(check: Check, threshold: int) -> dict[str, Any]:
    state = "down" if not check.up else "degraded" if check.latency_ms >= threshold else "up"
    component: dict[str, Any] = {"status": state}
    if check.up:
        component["latencyMs"] = check.latency_ms
    if check.message and check.message != "OK":
        component["message"] = check.message
    return component


def print_metrics(found: Snapshot) -> None:
    """Show counts and durations as a table."""
    numbers = ("Count", "Mean ms", "p50 ms ≤", "p95 ms ≤")
    rows = [(name, f"{value:,.0f}", "", "", "") for name, value in found.counters.items()]
    for name, each in found.histograms.items():
        mean = f"{each.sum / each.count:,.1f}" if each.count else "-"
        p50, p95 = (f"{end:g}" if (end := each.quantile(share)) is not None else "-" for share in (0.5, 0.95))
        rows.append((name, f"{each.count:,}", mean, p50, p95))
    print_table(("Metric", *numbers), rows, numbers=numbers)


_EVERY = 1.0
"""Seconds between two progress lines without a terminal."""


@contextmanager
def follow_progress() -> Generator[Call]:
    """Give a line that shows progress on stderr, as a bar on a terminal, and stops on SIGTERM."""
    from knowledge_mcp.model.call import Call

    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        with WorkBar() as bar:
            bar.show("Fetching and scanning")
            yield Call(_Progress(bar), stopped.is_set)
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


class _Progress:
    """Update the bar, or write a line at intervals if there is none."""

    def __init__(self, bar: WorkBar) -> None:
        self._bar = bar
        self._at = 0.0

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Move it, a long path cut at its beginning; or write a line, unless one was just written."""
        if self._bar.is_shown:
            self._bar.show(message if len(message) <= 60 else f"…{message[-59:]}", done, total)
        elif time.monotonic() - self._at >= _EVERY or done == total:
            self._at = time.monotonic()
            notify(f"{message} ({done:.0f}/{total:.0f})" if total else message)


def index_code(result: IndexResult) -> ExitCode:
    """Choose the exit code of an indexing."""
    return ExitCode.SUCCESS if result.status == "success" else ExitCode.FAILURE


def index_result(result: IndexResult, *, as_json: bool) -> None:
    """Show the result of an indexing."""
    if as_json:
        write_json(dataclasses.asdict(result))
        return
    rows = [
        ("Commit", result.commit[:12] or "none"),
        ("Found by", result.method.replace("_", " ")),
        ("Files indexed", f"{result.files_processed:,}"),
        ("Files unchanged", f"{result.files_unchanged:,}"),
        ("Files removed", f"{result.files_removed:,}"),
        ("Files skipped", f"{result.files_skipped:,}"),
        ("Chunks", f"{result.chunks_created:,}"),
        ("  embedded", f"{result.chunks_embedded:,}"),
        ("  reused", f"{result.chunks_reused:,}"),
        ("Time", duration(result.duration_ms / 1000)),
    ]
    print_facts(rows, title=f"{result.repository}: {result.status}", numbers=True)
    for title, lines in (("Noted:", result.warnings), ("Left out:", result.skipped), ("Failed:", result.errors)):
        if lines:
            say(title)
            for line in lines[:20]:
                say(f"  {line}")
            if len(lines) > 20:
                say(f"  … and {len(lines) - 20} more (--json lists them)")
    if result.left_out:
        say("Not searched:")
        for each in result.left_out:
            say(f"  {each.what}: {each.count:,}, e.g. {each.examples[0]}")


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
    epilog="`knowledge-mcp --surface repositories` serves the index to assistants.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Repository, as shown by `pk-mcp status`.")]


@contextmanager
def _open_service(options: StoreOptions) -> Generator[RepositoryService]:
    """Open the repositories for one command, guarded, and close them."""
    with options.guard():
        from knowledge_mcp import wiring

        settings = options.settings(surface="repositories", quiet="ERROR")
        engine = logging.getLogger("knowledge_mcp.engine")
        before = engine.level
        if not options.verbose:  # files that are left out are listed in the summary
            engine.setLevel(logging.CRITICAL)
        service = wiring.build_repositories(settings)
        try:
            yield service
        finally:
            service.close()
            engine.setLevel(before)


@app.callback(
    help="""Index code repositories and search them by what the code does.

    \b
    Examples:
      pk-mcp index https://github.com/user/my-api.git
      pk-mcp search "where are tokens validated"
    """
)
def _common(version: Version = False) -> None:
    del version


@app.command(short_help="Index a repository, or update its index.")
@with_groups
def index(
    options: StoreOptions,
    source: Annotated[
        str, typer.Argument(metavar="URL|PATH", help="https address of a repository, or a folder on this machine.")
    ],
    name: Annotated[
        str, typer.Option("--name", help="Name of the repository. Default: the last part of the address.")
    ] = "",
    branch: Annotated[str, typer.Option("--branch", help="Branch or tag to clone. Default: the default branch.")] = "",
    shallow: Annotated[
        bool, typer.Option("--shallow/--full-history", help="Clone only the latest commit, or the full history.")
    ] = True,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="EXT", help="Extension to index, e.g. .py; may be repeated."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="PATTERN", help="Pattern of files to exclude; may be repeated."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Clone and embed everything again.")] = False,
) -> None:
    """Index a repository. If it is already indexed, update its index.

    Examples: pk-mcp index https://github.com/user/my-api.git --branch main

    pk-mcp index ~/src/my-api --exclude "vendor/**"

    Exit codes: 0 success, 1 some files failed or another failure, 3 configuration, credentials or connection.
    """
    code = ExitCode.SUCCESS
    with _open_service(options) as service:
        from knowledge_mcp.engine.repositories.values import IndexRequest

        request = IndexRequest(
            source=source,
            name=name,
            branch=branch,
            shallow=shallow,
            include_extensions=tuple(include) if include else None,
            exclude_patterns=tuple(exclude or ()),
            fresh=fresh,
        )
        with follow_progress() as line:
            done = service.index(request, line)
        index_result(done, as_json=options.as_json)
        code = index_code(done)
    raise typer.Exit(code)


@app.command(short_help="Update the index of repositories.")
@with_groups
def refresh(
    options: StoreOptions,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]…", help="Names of repositories. Default: all.")
    ] = None,
) -> None:
    """Update the index of repositories: only changes are read and embedded.

    Example: pk-mcp refresh my-api
    """
    _update(options, names or [], fresh=False)


@app.command(short_help="Read and embed a whole repository again.")
@with_groups
def reindex(options: StoreOptions, name: Name) -> None:
    """Re-index a whole repository. The old index is used until the new one replaces it.

    Example: pk-mcp reindex my-api
    """
    _update(options, [name], fresh=True)


def _update(options: StoreOptions, names: list[str], *, fresh: bool) -> None:
    """Update repositories, each even if others fail; for several, write one JSON list."""
    code = ExitCode.SUCCESS
    with _open_service(options) as service:
        from knowledge_mcp.engine.repositories.values import IndexResult

        results: list[IndexResult] = []
        for name in names or [each.name for each in service.repositories()]:
            try:
                with follow_progress() as line:
                    done = service.refresh(name, line, fresh=fresh)
                code = max(code, index_code(done))
                if len(names) == 1 or not options.as_json:
                    index_result(done, as_json=options.as_json)
            except KnowledgeError as error:
                if len(names) == 1 or isinstance(error, CancelledError):
                    raise
                notify(f"{name} was not updated.")
                print_failure(error, verbose=options.verbose)
                code = max(code, exit_code_of(error))
                done = IndexResult(name, "failed", 0, 0, 0, errors=(error.message,), method="")
            results.append(done)
        if len(names) != 1 and options.as_json:
            write_json([dataclasses.asdict(each) for each in results])
        elif not results:
            say("No repository is indexed. `pk-mcp index URL` indexes one.")
    raise typer.Exit(code)


@app.command()
@with_groups
def search(
    options: StoreOptions,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the code does, a symbol, or an error message.")],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="Maximum number of results, 1 to 50 (default 10).")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", "-t", help="Minimum similarity, 0 to 1 (default 0.7).")
    ] = None,
    repository: Annotated[
        str | None, typer.Option("--repo", "-r", metavar="NAME", help="Only this repository.")
    ] = None,
    language: Annotated[str | None, typer.Option("--language", "-l", help="Only this language.")] = None,
    path: Annotated[
        str | None, typer.Option("--path", "-p", metavar="GLOB", help="Only files whose path matches this pattern.")
    ] = None,
    symbol: Annotated[
        str | None, typer.Option("--symbol", "-s", help="Only this symbol and the code inside it.")
    ] = None,
    mode: Annotated[str | None, typer.Option("--mode", "-m", help="hybrid (default), dense or keyword.")] = None,
) -> None:
    """Search the indexed repositories.

    Example: pk-mcp search "where are tokens validated" --repo my-api --language python
    """
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.repositories.shapes import CodeSearchRequest
        from knowledge_mcp.surfaces.repositories.tools import semantic_search

        request = load(
            CodeSearchRequest,
            query=query,
            limit=limit,
            threshold=threshold,
            repository=repository,
            language=language,
            path=path,
            symbol=symbol,
            mode=mode,
        )
        options.show(semantic_search(service, request), lambda answer: print_results(answer.sent()))


@app.command(short_help="Show what is indexed and whether it is up to date.")
@with_groups
def status(
    options: StoreOptions,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this repository.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Check each remote for its latest commit.")] = False,
) -> None:
    """Show which repositories are indexed, with numbers of files and chunks, and whether they are up to date.

    Example: pk-mcp status --check
    """
    code = ExitCode.SUCCESS
    with _open_service(options) as service:
        from knowledge_mcp.surfaces.repositories.tools import entry

        found = [service.repository(name)] if name else service.repositories()
        entries: list[dict[str, Any]] = []
        for info in found:
            try:
                freshness = service.freshness(info, ask=check)
            except KnowledgeError as error:
                freshness = dataclasses.replace(info.freshness, problem=error.message)
                code = max(code, exit_code_of(error))
            entries.append(entry(info, freshness).sent())
        if options.as_json:
            write_json(
                {
                    "repositories": entries,
                    "summary": {
                        "total_repositories": len(found),
                        "total_files_indexed": sum(info.file_count for info in found),
                        "total_chunks": sum(info.chunk_count for info in found),
                    },
                }
            )
        else:
            print_status(entries)
    raise typer.Exit(code)


@app.command(short_help="Remove a repository from the index.")
@with_groups
def remove(options: StoreOptions, name: Name, yes: Yes = False) -> None:
    """Remove a repository from the index, with its clone. A local folder that was indexed is not changed.

    Example: pk-mcp remove my-api --yes
    """
    with _open_service(options) as service:
        info = service.repository(name)
        contents = f"{how_many(info.file_count, 'file')}, {how_many(info.chunk_count, 'chunk')}"
        confirm_removal(f"Remove '{info.name}' ({contents})?", yes=yes)
        with follow_progress() as line:
            chunks = service.remove(info.name, call=line)
        removed = {"repository": info.name, "chunks_removed": chunks}
        options.tell(removed, f"Removed {info.name}: {how_many(chunks, 'chunk')}.")


@app.command(short_help="Check whether the store and the embedding service respond.")
@with_groups
def health(options: StoreOptions) -> None:
    """Show as JSON whether the store and the embedding service respond, and how fast.

    Example: pk-mcp health

    Exit codes: 0 healthy or degraded, 1 unhealthy, 3 configuration.
    """
    code = ExitCode.SUCCESS
    with _open_service(dataclasses.replace(options, as_json=True)) as service:
        report = health_status(service)
        write_json(report)
        code = ExitCode.FAILURE if report["status"] == "unhealthy" else ExitCode.SUCCESS
    raise typer.Exit(code)


@app.command(short_help="Show counts and times of searches and indexing.")
@with_groups
def metrics(
    options: StoreOptions,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Write the Prometheus text format.")] = False,
) -> None:
    """Show the number of searches, embeddings and indexed files, and how long they took.

    Example: pk-mcp metrics --prometheus
    """
    with _open_service(options) as service:
        found = service.metrics.snapshot()
        if prometheus:
            sys.stdout.write(found.as_prometheus())
        elif options.as_json:
            write_json(found.as_json())
        else:
            print_metrics(found)


def main() -> None:
    """Run the command; ends the process with its exit code."""
    run_command(app, "pk-mcp")


if __name__ == "__main__":
    main()

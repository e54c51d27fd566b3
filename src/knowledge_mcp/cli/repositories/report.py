"""What `pk-mcp` shows: results, the state of repositories, health, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.session import open_console, render

if TYPE_CHECKING:
    from knowledge_mcp.engine.repositories.metrics import Snapshot
    from knowledge_mcp.engine.repositories.service import RepositoryService
    from knowledge_mcp.model.query import Check


def print_results(answer: dict[str, Any]) -> None:
    """Show the answer of `semantic_search`."""
    console = open_console()
    for each in answer["results"]:
        place = f"{each['repository']}  {each['file_path']}:{each['start_line']}-{each['end_line']}"
        console.print(render(f"{each['similarity_score']:.2f}  {place}", "bold"), soft_wrap=True)
        if each.get("symbol"):
            console.print(render(f"      {each['symbol']}", "dim"), soft_wrap=True)
        console.print(render(each["content_snippet"]))
        if each.get("permalink"):
            console.print(render(each["permalink"], "dim"), soft_wrap=True)
        console.print()
    about = answer["metadata"]
    if answer.get("message"):
        console.print(render(answer["message"]), soft_wrap=True)
        for hint in answer.get("suggestions", []):
            console.print(render(f"  {hint}"), soft_wrap=True)
    for note in about.get("degraded", []):
        console.print(render(f"Warning: {note}", "yellow"), soft_wrap=True)
    freshness = about.get("freshness", [])
    part = [each["repository"] for each in freshness if each["status"] == "error"]
    if part:
        console.print(render(f"Not wholly indexed: {', '.join(part)} (`pk-mcp refresh`)", "yellow"), soft_wrap=True)
    stale = [each["repository"] for each in freshness if each.get("stale") and each["repository"] not in part]
    if stale:
        console.print(render(f"Out of date: {', '.join(stale)} (`pk-mcp refresh`)", "yellow"), soft_wrap=True)
    names = ", ".join(about["repositories_searched"]) or "nothing"
    below = f", {about['below_threshold']} below {about['threshold']:g}" if about["below_threshold"] else ""
    note = f"{about['total_matches']} matches{below} in {names}, {about['query_time_ms']} ms"
    console.print(render(note, "dim"), soft_wrap=True)


def print_status(entries: list[dict[str, Any]]) -> None:
    """Show repositories as a table."""
    console = open_console()
    if not entries:
        console.print("No repository is indexed. `pk-mcp index URL` indexes one.", markup=False)
        return
    from rich.table import Table

    table = Table()
    for name in ("Name", "Status", "Source", "Branch", "Commit"):
        table.add_column(name, overflow="fold")
    for name in ("Files", "Chunks"):
        table.add_column(name, justify="right")
    table.add_column("Indexed")
    for each in entries:
        state = each["status"]
        if "files_total" in each:
            state += f" {each['files_done']}/{each['files_total']}"
        elif each.get("stale"):
            state += ", out of date"
        cells = (
            each["name"],
            state,
            each.get("local_path") or each["url"],
            each.get("branch", "-"),
            each.get("indexed_commit", "-")[:10],
            f"{each['file_count']:,}",
            f"{each['chunk_count']:,}",
            each["last_indexed"][:16].replace("T", " "),
        )
        table.add_row(*map(render, cells))
    console.print(table)
    for each in entries:
        for message in (each.get("error_message", ""), *each.get("problems", [])):
            if message:
                console.print(render(f"{each['name']}: {message}"), soft_wrap=True)


def health_status(service: RepositoryService) -> dict[str, Any]:
    """Return the health as C 9.3 has it, each component under the name of what is really used."""
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
    from rich.table import Table

    table = Table()
    table.add_column("Metric")
    for name in ("Count", "Mean ms", "p50 ms ≤", "p95 ms ≤"):
        table.add_column(name, justify="right")
    for name, value in found.counters.items():
        table.add_row(name, f"{value:,.0f}", "", "", "")
    for name, each in found.histograms.items():
        mean = f"{each.sum / each.count:,.1f}" if each.count else "-"
        ends = [f"{end:g}" if (end := each.quantile(share)) is not None else "-" for share in (0.5, 0.95)]
        table.add_row(name, f"{each.count:,}", mean, *ends)
    open_console().print(table)

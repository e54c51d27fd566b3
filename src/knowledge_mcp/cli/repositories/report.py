"""What `pk-mcp` shows: results, the state of repositories, health, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.output import open_console, print_table, render, say

if TYPE_CHECKING:
    from knowledge_mcp.engine.repositories.metrics import Snapshot
    from knowledge_mcp.engine.repositories.service import RepositoryService
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
        say(f"Not wholly indexed: {', '.join(part)} (`pk-mcp refresh`)", "yellow")
    stale = [each["repository"] for each in freshness if each.get("stale") and each["repository"] not in part]
    if stale:
        say(f"Out of date: {', '.join(stale)} (`pk-mcp refresh`)", "yellow")
    names = ", ".join(about["repositories_searched"]) or "nothing"
    below = f", {about['below_threshold']} below {about['threshold']:g}" if about["below_threshold"] else ""
    say(f"{about['total_matches']} matches{below} in {names}, {about['query_time_ms']} ms", "dim")


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
    numbers = ("Count", "Mean ms", "p50 ms ≤", "p95 ms ≤")
    rows = [(name, f"{value:,.0f}", "", "", "") for name, value in found.counters.items()]
    for name, each in found.histograms.items():
        mean = f"{each.sum / each.count:,.1f}" if each.count else "-"
        p50, p95 = (f"{end:g}" if (end := each.quantile(share)) is not None else "-" for share in (0.5, 0.95))
        rows.append((name, f"{each.count:,}", mean, p50, p95))
    print_table(("Metric", *numbers), rows, numbers=numbers)

"""`knowledge search|lookup|requirements|stats`: ask as an assistant asks, and read the answer as a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import in_commands, sanitize
from knowledge_mcp.cli.shared.session import (
    AsJson,
    CollectionName,
    ConfigFile,
    Mode,
    Verbose,
    load,
    open_console,
    open_knowledge,
    parse_pairs,
    render,
    write_json,
)
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge_mcp.surfaces.standards.shapes import (
        LookupResponse,
        RequirementsResponse,
        StandardsSearchResponse,
        StatsResponse,
    )

EXCERPT = 700

EditionOption = Annotated[
    str | None,
    typer.Option(help='Edition to answer from, "all", or a date: "as of 2020-05". Default: the current one.'),
]


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to find, as a question or in a few words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")] = 10,
    mode: Annotated[Mode, typer.Option(help="Rank by meaning and words, by meaning, or by words.")] = Mode.HYBRID,
    weight: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Share of meaning in rank fusion (default: HYBRID_FUSION).")
    ] = None,
    document: Annotated[list[str] | None, typer.Option(help="Only this document; may be repeated.")] = None,
    document_type: Annotated[str | None, typer.Option("--type", help="Only documents of this type.")] = None,
    chunk_type: Annotated[str | None, typer.Option("--chunk-type", help="Only passages of this type.")] = None,
    clause: Annotated[str | None, typer.Option(help="Only this clause and what lies below it.")] = None,
    normative: Annotated[bool, typer.Option("--normative", help="Only passages with mandatory statements.")] = False,
    edition: EditionOption = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Only documents whose metadata say so, as date=2020..2023; may be repeated."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only documents with this tag; may be repeated.")] = None,
    among: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="COLLECTION", help="Search this collection, * for all; may be repeated."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show whole passages.")] = False,
    as_json: AsJson = False,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Find passages.

    Example: knowledge search "how is a requirement verified" --normative -n 5
    """
    with open_knowledge(config, collection, verbose=verbose, as_json=as_json) as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        values: dict[str, Any] = {
            "query": query,
            "n_results": limit,
            "document_id": document or None,
            "document_type": document_type,
            "chunk_type": chunk_type,
            "clause_number": clause,
            "normative_only": normative or None,
            "detail": "full" if as_json else "brief",
            "edition": edition,
            "metadata": parse_pairs(meta) or None,
            "tags": tag or None,
            "collections": among or None,
        }
        if mode is Mode.KEYWORD:
            answer = tools.keyword_search(knowledge, load(shapes.KeywordSearchRequest, values))
        else:
            values |= {"use_hybrid": mode is Mode.HYBRID}
            values |= {} if weight is None else {"hybrid_weight": weight}
            answer = tools.search(knowledge, load(shapes.StandardsSearchRequest, values))
        _show(answer, as_json=as_json, how=lambda console: _print_search(console, answer, full=full))


def lookup(
    term: Annotated[str, typer.Argument(metavar="TERM", help="Term, abbreviation or concept.")],
    edition: EditionOption = None,
    as_json: AsJson = False,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Define a term.

    Example: knowledge lookup "stakeholder requirement"
    """
    with open_knowledge(config, collection, verbose=verbose, as_json=as_json) as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        answer = tools.lookup(knowledge, load(shapes.LookupRequest, {"term": term, "edition": edition}))
        _show(answer, as_json=as_json, how=lambda console: _print_lookup(console, answer))


def requirements(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What the requirements are about.")],
    standard: Annotated[str | None, typer.Option(help="Only documents whose id or title contains this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Maximum number of results.")] = 10,
    edition: EditionOption = None,
    as_json: AsJson = False,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Find mandatory statements on a topic.

    Example: knowledge requirements verification --standard 29148
    """
    with open_knowledge(config, collection, verbose=verbose, as_json=as_json) as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        values = {"topic": topic, "standard": standard, "n_results": limit, "edition": edition}
        answer = tools.requirements(knowledge, load(shapes.RequirementsRequest, values))
        _show(answer, as_json=as_json, how=lambda console: _print_requirements(console, answer))


def stats(
    as_json: AsJson = False, collection: CollectionName = None, config: ConfigFile = None, verbose: Verbose = False
) -> None:
    """Count what the knowledge base holds, and say what it runs on.

    Example: knowledge stats --json
    """
    with open_knowledge(config, collection, verbose=verbose, as_json=as_json) as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        answer = tools.stats(knowledge, shapes.NoArguments())
        _show(answer, as_json=as_json, how=lambda console: _print_stats(console, answer))


def _show(answer: Any, *, as_json: bool, how: Callable[[Console], None]) -> None:
    if as_json:
        write_json(answer.model_dump(mode="json", exclude_unset=True))
    else:
        how(open_console())


def _panel(title: str, body: str, foot: str) -> Any:
    from rich.panel import Panel

    return Panel(render(body), title=render(title), subtitle=render(foot), title_align="left", subtitle_align="right")


def _print_notes(console: Console, answer: Any) -> None:
    messages = [answer.message] if getattr(answer, "message", "") else []
    for line in (*messages, *getattr(answer, "editions", []), *answer.degraded):
        console.print(in_commands(line), markup=False)
    if "answerability" in answer.model_fields_set:
        console.print(f"That one of these answers is {answer.answerability}.", markup=False)
    if variants := getattr(answer, "also_asked", []):
        console.print(f"Also asked for: {'; '.join(variants)}.", markup=False)
    for line in getattr(answer, "suggestions", []):
        console.print(f"  - {in_commands(line)}", markup=False)


def _also_in(each: Any) -> list[str]:
    """Name the places that say the same, on one line; none where there are none."""
    further = [f"and {each.also_in_more} more"] if each.also_in_more else []
    return [f"Also in: {'; '.join([*each.also_in, *further])}"] if each.also_in else []


def _print_search(console: Console, answer: StandardsSearchResponse, *, full: bool) -> None:
    for number, each in enumerate(answer.results, 1):
        text = each.content if full or len(each.content) <= EXCERPT else f"{each.content[:EXCERPT].rstrip()} …"
        marks = [each.metadata.chunk_type.value, *(["normative"] if each.metadata.normative else [])]
        marks += [f"in {each.collection}"] if each.collection else []
        text = f"{each.cut_from}\n…\n{text}" if each.cut_from else text
        body = "\n\n".join([text, each.source.citation, *_also_in(each)])
        console.print(_panel(f"{number}. {each.source.section}", body, f"{', '.join(marks)}  {each.score:.2f}"))
        place = f"  document {each.source.document_id}, passage {each.id}"  # not in the frame, which would wrap it
        console.print(sanitize(place), markup=False, soft_wrap=True)
    if answer.results:
        console.print("Read on with `knowledge read --chunk PASSAGE --after 2`.", markup=False)
    _print_notes(console, answer)


def _print_lookup(console: Console, answer: LookupResponse) -> None:
    for each in answer.definitions:
        names = ", ".join([each.term, *each.aliases])
        body = "\n\n".join([each.definition, *each.notes, *([f"Source: {each.origin}"] if each.origin else [])])
        console.print(_panel(names, body, each.source.citation))
    _print_notes(console, answer)
    if answer.similar_terms:
        console.print(f"Similar terms: {', '.join(answer.similar_terms)}", markup=False)


def _print_requirements(console: Console, answer: RequirementsResponse) -> None:
    from rich.table import Table

    if answer.results:
        table = Table(show_lines=True)
        table.add_column("Clause")
        table.add_column("Requirement", ratio=3, overflow="fold")
        table.add_column("Source", ratio=2, overflow="fold")
        table.add_column("Score", justify="right")
        for each in answer.results:
            source = "\n".join([each.source.citation, *_also_in(each)])
            words = f"{each.requirement_text} (weak: no word obliges)" if each.weak else each.requirement_text
            cells = (each.requirement_id, words, source, f"{each.score:.2f}")
            table.add_row(*map(render, cells))
        console.print(table)
    _print_notes(console, answer)


def _print_stats(console: Console, answer: StatsResponse) -> None:
    from rich.table import Table

    base, store, embedding = answer.knowledge_base, answer.vector_store, answer.embedding
    table = Table(show_header=False)
    for name, value in (
        ("Documents", f"{base.total_documents:,}"),
        ("Chunks", f"{base.total_chunks:,}"),
        ("Tokens", f"{base.total_tokens:,}"),
        ("Storage", f"{base.storage_bytes / 1e6:,.1f} MB"),
        ("Vector store", f"{store.backend}, {store.status}, hybrid {'on' if store.hybrid_enabled else 'off'}"),
        ("Embedding", f"{embedding.model}, {embedding.dimensions} dimensions"),
    ):
        table.add_row(name, render(value))
    for each in answer.sources:
        synced = f"synced {each.last_synced}" if each.last_synced else "never synced"
        summary = f"{how_many(each.documents, 'document')}, {synced}{', stale' if each.stale else ''}"
        table.add_row(
            render(f"Source {each.name}"), render(f"{summary}: {each.last_error}" if each.last_error else summary)
        )
    console.print(table)
    for note in answer.notes:
        console.print(note, markup=False)

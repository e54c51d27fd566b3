"""`knowledge search|lookup|requirements|stats`: ask as an assistant asks, and read the answer as a person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.failures import in_commands
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_facts, print_panel, print_table, say
from knowledge_mcp.cli.shared.report import not_taken
from knowledge_mcp.cli.shared.session import CommandOptions, load, parse_pairs
from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.query import SearchMode
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
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

_TypeOption = Annotated[
    str | None, typer.Option("--type", help=f"Only documents of this type: {', '.join(DocumentType)}.")
]
_ChunkTypeOption = Annotated[
    str | None, typer.Option("--chunk-type", help=f"Only passages of this type: {', '.join(ChunkType)}.")
]


@with_groups
def search(
    options: CommandOptions,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Question, or a few words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")] = 10,
    mode: Annotated[
        SearchMode, typer.Option(help="hybrid ranks by meaning and words, semantic by meaning, keyword by words.")
    ] = SearchMode.HYBRID,
    weight: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Weight of meaning in rank fusion, 0 to 1 (default: see HYBRID_FUSION)."),
    ] = None,
    document: Annotated[list[str] | None, typer.Option(help="Only in this file, title or id; may be repeated.")] = None,
    document_type: _TypeOption = None,
    chunk_type: _ChunkTypeOption = None,
    clause: Annotated[str | None, typer.Option(help="Only this clause and its subclauses.")] = None,
    normative: Annotated[
        bool, typer.Option("--normative", help="Only passages that contain mandatory statements.")
    ] = False,
    edition: EditionOption = None,
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Only documents with this metadata, e.g. date=2020..2023; may be repeated."
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only documents with this tag; may be repeated.")] = None,
    among: Annotated[
        list[str] | None,
        typer.Option("--in", metavar="COLLECTION", help="Search this collection, or * for all; may be repeated."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show passages in full.")] = False,
) -> None:
    """Find passages.

    Example: knowledge search "how is a requirement verified" --normative -n 5
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        values: dict[str, Any] = {
            "query": query,
            "n_results": limit,
            "document_id": document or None,
            "document_type": document_type,
            "chunk_type": chunk_type,
            "clause_number": clause,
            "normative_only": normative or None,
            "detail": "full" if options.as_json else "brief",
            "edition": edition,
            "metadata": parse_pairs(meta) or None,
            "tags": tag or None,
            "collections": among or None,
        }
        if mode is SearchMode.KEYWORD:
            answer = tools.keyword_search(knowledge, load(shapes.KeywordSearchRequest, **values))
        else:
            values |= {"use_hybrid": mode is SearchMode.HYBRID, "hybrid_weight": weight}
            answer = tools.search(knowledge, load(shapes.StandardsSearchRequest, **values))
        options.show(answer, partial(_print_search, full=full))


@with_groups
def lookup(
    options: CommandOptions,
    term: Annotated[str, typer.Argument(metavar="TERM", help="Term, abbreviation or concept.")],
    edition: EditionOption = None,
) -> None:
    """Define a term.

    Example: knowledge lookup "stakeholder requirement"
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        answer = tools.lookup(knowledge, load(shapes.LookupRequest, term=term, edition=edition))
        options.show(answer, _print_lookup)


@with_groups
def requirements(
    options: CommandOptions,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What the requirements are about.")],
    standard: Annotated[str | None, typer.Option(help="Only documents whose id or title contains this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=50, help="Maximum number of results.")] = 10,
    edition: EditionOption = None,
    cursor: Annotated[int, typer.Option(min=0, help="next_cursor of the previous answer.")] = 0,
) -> None:
    """Find mandatory statements on a topic.

    Example: knowledge requirements find verification --standard 29148
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        given = {"standard": standard, "n_results": limit, "edition": edition, "cursor": cursor}
        request = load(shapes.RequirementsRequest, topic=topic, **given)
        options.show(tools.requirements(knowledge, request), _print_requirements)


@with_groups
def stats(options: CommandOptions) -> None:
    """Count what the knowledge base holds, and say what it runs on.

    Example: knowledge stats --json
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import shapes, tools

        answer = tools.stats(knowledge, shapes.NoArguments())
        options.show(answer, _print_stats)


_ANSWERABLE = {
    "likely": "One of these results probably answers the question.",
    "uncertain": "These results may or may not answer the question.",
    "unlikely": "Probably none of these results answers the question.",
}


def _print_notes(answer: Any) -> None:
    messages = [answer.message] if getattr(answer, "message", "") else []
    for line in (*messages, *getattr(answer, "editions", []), *answer.degraded):
        say(in_commands(line))
    if "answerability" in answer.model_fields_set:
        say(_ANSWERABLE[answer.answerability])
    if variants := getattr(answer, "also_asked", []):
        say(f"Also searched for: {'; '.join(variants)}.")
    for line in getattr(answer, "suggestions", []):
        say(f"  - {in_commands(line)}")


def _also_in(each: Any) -> list[str]:
    """List the places with the same text on one line; empty if there are none."""
    further = [f"and {each.also_in_more} more"] if each.also_in_more else []
    return [f"Also in: {'; '.join([*each.also_in, *further])}"] if each.also_in else []


def _print_search(answer: StandardsSearchResponse, *, full: bool) -> None:
    for number, each in enumerate(answer.results, 1):
        text = each.content if full or len(each.content) <= EXCERPT else f"{each.content[:EXCERPT].rstrip()} …"
        marks = [each.metadata.chunk_type.value, *(["normative"] if each.metadata.normative else [])]
        marks += [f"in {each.collection}"] if each.collection else []
        text = f"{each.cut_from}\n…\n{text}" if each.cut_from else text
        cited = "\n\n".join([each.source.citation, *_also_in(each)])
        foot = f"{', '.join(marks)}  {each.score:.2f}"
        print_panel(text, title=f"{number}. {each.source.section}", citation=cited, foot=foot)
        place = f"  document {each.source.document_id}, passage {each.id}"  # not in the frame, which would wrap it
        say(place)
    if answer.results:
        say("To read on: `knowledge read --chunk PASSAGE --after 2`.")
    _print_notes(answer)


def _print_lookup(answer: LookupResponse) -> None:
    for each in answer.definitions:
        names = ", ".join([each.term, *each.aliases])
        body = "\n\n".join([each.definition, *each.notes, *([f"Source: {each.origin}"] if each.origin else [])])
        print_panel(body, title=names, citation=each.source.citation)
    _print_notes(answer)
    if answer.similar_terms:
        say(f"Similar terms: {', '.join(answer.similar_terms)}")


def _print_requirements(answer: RequirementsResponse) -> None:
    rows: list[tuple[str, ...]] = []
    for each in answer.results:
        source = "\n".join([each.source.citation, *_also_in(each)])
        words = f'{each.requirement_text} (weak: no word such as "shall")' if each.weak else each.requirement_text
        rows.append((each.requirement_id, words, source, f"{each.score:.2f}"))
    if rows:
        print_table(("Clause", "Requirement", "Source", "Score"), rows, numbers={"Score"}, show_lines=True)
    if answer.next_cursor:
        say(f"There are more results: pass --cursor {answer.next_cursor}, or narrow the topic.")
    _print_notes(answer)


def _print_stats(answer: StatsResponse) -> None:
    base, store, embedding = answer.knowledge_base, answer.vector_store, answer.embedding
    rows = [
        ("Documents", f"{base.total_documents:,}"),
        ("Chunks", f"{base.total_chunks:,}"),
        ("Tokens", f"{base.total_tokens:,}"),
        ("Storage", f"{base.storage_bytes / 1e6:,.1f} MB"),
        ("Vector store", f"{store.backend}, {store.status}, hybrid {'on' if store.hybrid_enabled else 'off'}"),
        ("Embedding", f"{embedding.model}, {embedding.dimensions} dimensions"),
    ]
    for each in answer.sources:
        synced = f"synced {each.last_synced}" if each.last_synced else "never synced"
        taken = f"{how_many(each.documents, 'document')}{not_taken(each.skipped)}"
        summary = f"{taken}, {synced}{', stale' if each.stale else ''}"
        rows.append((f"Source {each.name}", f"{summary}: {each.last_error}" if each.last_error else summary))
    print_facts(rows)
    for note in answer.notes:
        say(note)

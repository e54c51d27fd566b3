"""`knowledge read|outline|references|verify-quote`: the evidence itself, for a person or a script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import open_console, print_panel, print_table, render, say, say_all, write_json
from knowledge_mcp.cli.shared.session import CommandOptions, load
from knowledge_mcp.language.openings import number_once
from knowledge_mcp.model.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.text import Text

    from knowledge_mcp.surfaces.standards.evidence_shapes import (
        EvidenceLocator,
        OutlineResponse,
        QuotePlaceResult,
        ReadResponse,
        ReferenceResult,
        ReferencesResponse,
        VerifyQuoteResponse,
    )

DocumentId = Annotated[
    str | None,
    typer.Argument(metavar="DOC", help="Id (`knowledge documents list`), file name or title; not with --chunk."),
]
Clause = Annotated[str | None, typer.Option(help="Clause with its subclauses, by number or title.")]
ChunkId = Annotated[str | None, typer.Option("--chunk", metavar="ID", help="Passage, by the id from a search result.")]
_TRUE = frozenset({"exact", "normalised"})
_METHODS = {"none": "red", "ocr": "yellow", "blank": "dim"}


@with_groups
def read(
    options: CommandOptions,
    document_id: DocumentId = None,
    clause: Clause = None,
    pages: Annotated[str | None, typer.Option(metavar="A[-B]", help="Pages, counted from 1.")] = None,
    chunk: ChunkId = None,
    before: Annotated[int, typer.Option(min=0, max=20, help="Number of passages to show before --chunk.")] = 0,
    after: Annotated[int, typer.Option(min=0, max=20, help="Number of passages to show after --chunk.")] = 0,
    parents: Annotated[
        bool, typer.Option("--parents", help="Start with the introductory text of the enclosing sections.")
    ] = False,
    max_tokens: Annotated[int, typer.Option(min=50, max=20_000, help="Maximum tokens of text in one answer.")] = 2_000,
    cursor: Annotated[int | None, typer.Option(min=0, help="next_cursor of the previous answer.")] = None,
) -> None:
    """Read a clause, pages, a passage with its context, or a whole document, word for word.

    Example: knowledge read iso-15288 --clause 6.4.2
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import evidence, evidence_shapes

        first, last = _range(pages)
        request = load(
            evidence_shapes.ReadRequest,
            document_id=document_id,
            clause=clause,
            chunk_id=chunk,
            first_page=first,
            last_page=last,
            before=before,
            after=after,
            parents=parents,
            max_tokens=max_tokens,
            cursor=cursor,
        )
        options.show(evidence.read(knowledge, request), _print_read)


@with_groups
def outline(
    options: CommandOptions,
    document_id: Annotated[
        str, typer.Argument(metavar="DOC", help="Id (`knowledge documents list`), file name or title.")
    ],
    clause: Annotated[str | None, typer.Option(help="Only this clause and its subclauses.")] = None,
    depth: Annotated[int, typer.Option(min=1, max=20, help="Levels of headings to show.")] = 20,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Show the pages instead: how each was read, and what is missing.")
    ] = False,
) -> None:
    """Show a document's headings with their pages or lines, or what was read from each page.

    Example: knowledge outline iso-15288 --depth 2
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import evidence, evidence_shapes

        ask = partial(
            load,
            evidence_shapes.OutlineRequest,
            document_id=document_id,
            clause=clause,
            depth=depth,
            coverage=coverage,
            limit=200,
        )
        parts: list[OutlineResponse] = []
        cursor: int | None = None
        while cursor is None or parts[-1].next_cursor:
            parts.append(evidence.outline(knowledge, ask(cursor=cursor)))
            cursor = parts[-1].next_cursor
        if options.as_json:
            pages = [part.model_dump(mode="json", exclude_unset=True, exclude={"next_cursor"}) for part in parts]
            name = "coverage" if coverage else "sections"
            write_json({**pages[0], name: [each for part in pages for each in part.get(name, [])]})
        elif coverage:
            _print_coverage(parts)
        else:
            _print_outline(parts)


@with_groups
def references(
    options: CommandOptions,
    document_id: DocumentId = None,
    clause: Clause = None,
    chunk: ChunkId = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=50, help="Maximum number of references in each direction.")
    ] = 20,
) -> None:
    """Show what a clause, a passage or a document refers to, and what refers to it.

    Example: knowledge references iso-15288 --clause 6.4.2
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import evidence, evidence_shapes

        request = load(
            evidence_shapes.ReferencesRequest, document_id=document_id, clause=clause, chunk_id=chunk, limit=limit
        )
        options.show(evidence.references(knowledge, request), _print_references)


@with_groups
def verify_quote(
    options: CommandOptions,
    quote: Annotated[str, typer.Argument(metavar="QUOTE", help="The quoted text, or - to read it from stdin.")],
    document: Annotated[
        str | None, typer.Option(help="Document that is quoted. Default: search all documents.")
    ] = None,
) -> None:
    """Check a quote against the documents, word for word.

    The exit code is 0 if the documents contain these words (spacing, dashes, quotation marks and case may differ),
    otherwise 1.

    Example: knowledge verify-quote "The supplier shall keep records." --document iso-15288
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import evidence, evidence_shapes

        words = sys.stdin.read() if quote == "-" else quote
        answer = evidence.verify_quote(
            knowledge, load(evidence_shapes.VerifyQuoteRequest, quote=words, document_id=document)
        )
        options.show(answer, _print_verdict)
        if answer.verdict not in _TRUE:
            raise typer.Exit(ExitCode.FAILURE)


def _range(pages: str | None) -> tuple[int | None, int | None]:
    """Read "12" or "12-14"."""
    if pages is None:
        return None, None
    first, dash, last = pages.replace("–", "-").partition("-")
    try:
        return int(first), int(last) if dash else int(first)
    except ValueError as exc:
        raise InvalidInputError(f"'{pages[:40]}' is not a range of pages.", suggestion="Write 12, or 12-14.") from exc


# ---- for a person


def _place(locator: EvidenceLocator) -> str:
    return f"{locator.document_id} [{locator.span[0]}, {locator.span[1]})"


def _print_read(answer: ReadResponse) -> None:
    for each in answer.passages:
        print_panel(each.text, citation=each.citation, foot=_place(each.locator))
    if answer.next_cursor:
        say(f"There is more: pass --cursor {answer.next_cursor}.")


def _print_outline(parts: Sequence[OutlineResponse]) -> None:
    from rich.tree import Tree

    head = parts[0]
    root = Tree(render(f"{head.document_title} ({head.document_id}, {head.status})"))
    open_branches: list[tuple[int, Tree]] = [(0, root)]
    for each in (section for part in parts for section in part.sections):
        while open_branches[-1][0] >= each.level:
            open_branches.pop()
        name = number_once(f"{each.number} {each.title or each.words}".strip())
        label = render(name, "italic" if each.informative else "")
        if each.page:
            page = f"p. {each.page_label} (page {each.page} of the file)" if each.page_label else f"p. {each.page}"
            label.append(f"  {page}", "dim")
        elif each.line:
            label.append(f"  line {each.line}", "dim")
        if each.below:
            label.append(f"  (+{each.below})", "dim")
        open_branches.append((each.level, open_branches[-1][1].add(label)))
    open_console().print(root)
    _print_notes(head)


def _print_coverage(parts: Sequence[OutlineResponse]) -> None:
    head = parts[0]
    rows: list[list[Text]] = []
    for page in (page for part in parts for page in part.coverage):
        counts = (f"{page.characters:,}", str(page.tables or ""), str(page.figures or ""))
        cells = (str(page.page), page.label, page.method, *counts, page.note)
        rows.append([render(cell, _METHODS.get(page.method, "")) for cell in cells])
    if rows:
        title = f"{head.document_title} ({head.document_id}, {head.status})"
        numbers = ("Characters", "Tables", "Figures")
        print_table(("Page", "Label", "Method", *numbers, "Note"), rows, title=title, numbers=numbers)
    _print_notes(head)


def _print_notes(answer: OutlineResponse) -> None:
    say_all(answer.message, *answer.warnings)


def _print_references(answer: ReferencesResponse) -> None:
    for title, links, incoming in (("Refers to", answer.outgoing, False), ("Referred to by", answer.incoming, True)):
        if links:
            _print_links(title, links, incoming=incoming)
    if answer.more:
        say(f"{answer.more} more are not shown.")
    say_all(answer.message, *answer.degraded)


def _print_links(title: str, links: Sequence[ReferenceResult], *, incoming: bool) -> None:
    rows = [
        (link.text, link.source.citation, link.source.text if incoming else link.reason or link.destination.citation)
        for link in links
    ]
    columns = ("As printed", "Stands in", "Where it refers" if incoming else "Leads to")
    print_table(columns, rows, title=title, show_lines=True)


def _print_verdict(answer: VerifyQuoteResponse) -> None:
    style = "bold green" if answer.verdict in _TRUE else "bold red"
    open_console().print(render(answer.verdict.value, style), render(answer.message))
    for page in answer.uncertain:
        say(f"Check page {page.label or page.page} of {page.document_id}: {page.reason}.")
    for place in answer.places:
        print_panel(_quote(place), citation=place.citation, foot=_place(place.locator))
    say_all(*answer.degraded)


def _quote(place: QuotePlaceResult) -> Text:
    body = render(place.text)
    if place.quoted:
        body = render(f"Quoted: {place.quoted}\nPrinted: ").append_text(body)
    for each in place.differences:
        body.append("\n")
        body.append_text(render(f"- {each.quoted}" if each.quoted else "- (nothing)", "red"))
        body.append_text(render(f"  + {each.printed}" if each.printed else "  + (nothing)", "green"))
    return body

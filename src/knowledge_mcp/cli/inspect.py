"""`knowledge inspect FILE`: what a reader makes of a file, page by page and clause by clause; nothing is stored."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.failures import ExitCode, harmless, print_failure, say
from knowledge_mcp.cli.session import AsJson, ConfigFile, Verbose, guarded, out, settings_of, shown, write_json
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.model.errors import InvalidInputError, UnreadableDocumentError
from knowledge_mcp.model.structure import PageCoverage

if TYPE_CHECKING:
    from rich.table import Table
    from rich.tree import Tree

    from knowledge_mcp.cli.inspected import Inspected

__all__ = ["inspect"]

_EACH_PAGE = 60
"""Pages up to which each has a line of its own; beyond, whole pages in a row share one."""
_LOST = "bold red"


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="File of any kind that is read.")],
    ignore_outline: Annotated[
        bool, typer.Option("--ignore-outline", help="Leave a PDF's own bookmarks and heading tags aside.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Write the whole text instead, as it would be stored.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Show what is read in a file: its outline, what was found, and how much of each page; nothing is stored.

    No model is needed: tokens are counted as pieces of words. The exit code is 1 where pages were not read, 2 where the
    file cannot be read at all.

    Example: knowledge inspect standard.pdf
    """
    with guarded(verbose=verbose, as_json=as_json):
        if text and as_json:
            raise InvalidInputError("--text and --json exclude one another.", suggestion="Give one of them.")
        settings = settings_of(config, verbose=verbose)
        from knowledge_mcp.cli.inspected import inspect_file

        try:
            inspected = inspect_file(settings, file, ignore_outline=ignore_outline)
        except UnreadableDocumentError as exc:
            _tell_unreadable(exc, verbose=verbose, as_json=as_json)
            raise typer.Exit(ExitCode.NOTHING_DONE) from exc
        if as_json:
            write_json(inspected.as_values())
        elif text:
            sys.stdout.write(f"{inspected.document.text}\n")
        else:
            _print(inspected)
        if inspected.lost:
            count, pages = len(inspected.lost), len(inspected.structure.pages)
            say(f"{count} of {pages} pages {'was' if count == 1 else 'were'} not read.")
            raise typer.Exit(ExitCode.FAILURE)


def _tell_unreadable(error: UnreadableDocumentError, *, verbose: bool, as_json: bool) -> None:
    print_failure(error, verbose=verbose)
    if as_json:
        from knowledge_mcp.surfaces.errors import render_error

        write_json(render_error(error))


def _print(inspected: Inspected) -> None:
    console = out()
    console.print(_facts(inspected))
    if inspected.structure.sections:
        console.print(_outline(inspected))
    if inspected.structure.pages:
        console.print(_coverage(inspected.structure.pages))
    for warning in inspected.document.warnings:
        console.print(shown(f"Warning: {warning}", "yellow"), soft_wrap=True)


def _facts(inspected: Inspected) -> Table:
    from rich.table import Table

    document = inspected.document
    table = Table(show_header=False, title=shown(document.title), title_justify="left")
    table.add_column()
    table.add_column(overflow="fold")
    kind = inspected.kind
    why = f" ({kind.reason})" if kind.reason else ""
    forces = Counter(each.modality.value for each in inspected.statements)
    tokens = sum(chunk.token_count for chunk in inspected.chunks)
    rows = [
        ("Id", document.id),
        ("Type", f"{kind.kind}{why}"),
        ("Read by", inspected.reader),
        ("Pages", str(len(document.pages)) if document.pages else "-"),
        ("Text", f"{len(document.text):,} characters"),
        ("Passages", f"{len(inspected.chunks)} (about {tokens:,} pieces of words; no tokenizer was loaded)"),
        ("Sections", str(len(document.sections))),
        ("Tables", str(len(inspected.blocks_of(BlockKind.TABLE)))),
        ("Captions", str(len(inspected.blocks_of(BlockKind.CAPTION)))),
        ("Statements", ", ".join(f"{name} {count}" for name, count in forces.most_common()) or "none"),
        ("Requirements", str(len(inspected.requirements))),
        ("Definitions", str(len(inspected.definitions))),
        ("References", str(len(inspected.references))),
        *document.metadata,
    ]
    for name, value in rows:
        table.add_row(shown(name), shown(value))
    return table


def _outline(inspected: Inspected) -> Tree:
    """Draw the sections as a tree, each with its number and its page."""
    from rich.tree import Tree

    root = Tree(shown("Outline", "bold"))
    labels = {page.number: page.label for page in inspected.structure.pages}
    branches: list[Tree] = []
    for section, entry in zip(inspected.document.sections, inspected.structure.sections, strict=True):
        above = root if section.parent is None else branches[section.parent]
        line = shown(section.label or "(without a title)")
        if section.informative:
            line.append(" (informative)", "dim")
        if entry.page is not None:
            line.append(f"  p. {harmless(labels.get(entry.page, str(entry.page)))}", "cyan")
        branches.append(above.add(line))
    return root


def _coverage(pages: Sequence[PageCoverage]) -> Table:
    """Tell what was got from each page; pages that were not read stand out."""
    from rich.table import Table

    table = Table(title="Coverage", title_justify="left")
    for name in ("Page", "Label", "Method"):
        table.add_column(name)
    for name in ("Characters", "Tables", "Figures"):
        table.add_column(name, justify="right")
    table.add_column("Note", overflow="fold")
    for run in _runs(pages):
        first, last = run[0], run[-1]
        several = first is not last
        cells = (
            f"{first.number}-{last.number}" if several else str(first.number),
            f"{first.label}-{last.label}" if several else first.label,
            first.method,
            f"{sum(page.characters for page in run):,}",
            _count(sum(page.tables for page in run)),
            _count(sum(page.figures for page in run)),
            first.note,
        )
        style = _LOST if first.method == "none" else "dim" if first.method == "blank" else ""
        table.add_row(*(shown(cell, style) for cell in cells))
    return table


def _count(number: int) -> str:
    return str(number) if number else ""


def _runs(pages: Sequence[PageCoverage]) -> Iterator[list[PageCoverage]]:
    """Put whole pages in a row together where there are many pages; what has a note stands alone."""
    run: list[PageCoverage] = []
    for page in pages:
        alike = run and len(pages) > _EACH_PAGE and _key(run[-1]) == _key(page) and not page.note
        if run and not alike:
            yield run
            run = []
        run.append(page)
    if run:
        yield run


def _key(page: PageCoverage) -> tuple[Any, ...]:
    return page.method, page.note, page.characters > 0

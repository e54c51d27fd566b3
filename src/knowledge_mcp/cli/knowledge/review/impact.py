"""`knowledge impact DOCUMENT`: what a new edition affects in other documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import print_table, say, say_all
from knowledge_mcp.cli.shared.session import CommandOptions, load
from knowledge_mcp.surfaces.redline import changes_in_words

if TYPE_CHECKING:
    from knowledge_mcp.surfaces.standards.changes import ImpactResponse


@with_groups
def impact(
    options: CommandOptions,
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Id, designation or title; any edition of it.")],
    old: Annotated[
        str | None, typer.Option("--from", help="Older edition, or its id. Default: the previous one.")
    ] = None,
    new: Annotated[str | None, typer.Option("--to", help="Newer edition, or its id. Default: the current one.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Maximum number of references.")] = 50,
    cursor: Annotated[int, typer.Option(min=0, help="next_cursor of the previous answer.")] = 0,
) -> None:
    """Show which requirements, definitions and clauses in other documents refer to what a new edition changed.

    Example: knowledge impact "ISO 9001"

    Example: knowledge impact lifts-2023 --from 2018 --json
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.surfaces.standards import changes

        request = load(changes.ImpactRequest, document=document, limit=limit, cursor=cursor, **{"from": old, "to": new})
        answer = changes.impact(knowledge, request)
        options.show(answer, _print)


def _print(answer: ImpactResponse) -> None:
    say(f"{answer.old.document_id} → {answer.new.document_id}. {changes_in_words(answer.summary)}")
    if answer.touched:
        rows: list[tuple[str, ...]] = []
        for each in answer.touched:
            where = f"{each.kind} {each.identifier}\n{each.citation}"
            aim = f"{each.reference}\n({f'dated: {each.dated}' if each.dated else 'undated'})"
            became = "the document as a whole"
            if each.change is not None:
                inside = [f"{one.kind}: {one.before} → {one.after}" for one in each.change.changes]
                became = "\n".join([f"{each.change.became}: {each.change.new or each.change.old}", *inside])
            elif each.clause:
                became = f"neither edition has clause {each.clause}"
            rows.append((where, each.text, aim, became))
        columns = ("Where", "Says", "Refers to", "Change")
        print_table(columns, rows, show_lines=True)
    say_all(answer.message, *answer.degraded)
    if answer.untouched:
        say(f"Not listed: references to unchanged clauses: {answer.untouched}.")
    if answer.next_cursor:
        say(f"There are more: pass --cursor {answer.next_cursor}.")

"""`knowledge documents list|show|remove`: what is in the knowledge base, and taking it out again."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import (
    open_console,
    print_facts,
    print_table,
    render,
    say,
    write_content,
    write_json,
)
from knowledge_mcp.cli.shared.session import CommandOptions, DocumentId, Yes, command_group, confirm_removal
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from rich.tree import Tree

    from knowledge_mcp.engine.core.editions import Family
    from knowledge_mcp.model.chunk import Chunk
    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.ports import Knowledge

_NARROW = 110
"""Columns of a terminal below which titles are listed under the ids, and types left out, so that words stay whole."""

app = command_group("List, show and remove documents, and manage their editions.")


@app.command("list")
@with_groups
def list_documents(options: CommandOptions) -> None:
    """List all documents.

    Example: knowledge documents list --json
    """
    with options.open_knowledge() as knowledge:
        records = knowledge.documents()
        if options.as_json:
            write_json({"documents": [_plain(record) for record in records], "total": len(records)})
            return
        if not records:
            say("The knowledge base contains no documents. Add some with `knowledge-ingest FOLDER`.")
            return
        columns = ("Id", "Title", "Type", "Pages", "Chunks", "Ingested", "Status")
        rows = [
            (
                each.id,
                each.title,
                each.document_type,
                str(each.pages) if each.pages else "-",
                str(each.chunk_count),
                each.updated_at[:10],
                each.status.value,
            )
            for each in records
        ]
        # an id that is broken cannot be copied
        if open_console().width < _NARROW:
            columns = ("Document", "Pages", "Chunks", "Ingested", "Status")
            rows = [(f"{document_id}\n{title}", *rest) for document_id, title, _, *rest in rows]
        print_table(
            columns, rows, numbers={"Pages", "Chunks"}, unbroken={"Id", "Pages", "Chunks", "Ingested", "Status"}
        )


@app.command()
@with_groups
def show(
    options: CommandOptions,
    document_id: DocumentId,
    text: Annotated[bool, typer.Option("--text", help="Print the document's full text instead.")] = False,
) -> None:
    """Show a document's properties and sections, or its text.

    Example: knowledge documents show iso-15288
    """
    with options.open_knowledge() as knowledge:
        record = knowledge.document(document_id)
        if text and not options.as_json:
            write_content(knowledge.document_text(record.id) + "\n")
            return
        chunks = knowledge.document_chunks(record.id)
        if options.as_json:
            content = _plain(record) | {"sections": _sections(chunks)}
            if text:
                content["text"] = knowledge.document_text(record.id)
            write_json(content)
            return
        console = open_console()
        print_facts(_facts(record), title=record.title)
        console.print(_tree(record, chunks))


@app.command(short_help="Remove a document and all its chunks.")
@with_groups
def remove(
    options: CommandOptions,
    document_id: DocumentId,
    yes: Yes = False,
) -> None:
    """Remove a document and all its chunks from the knowledge base; the file itself is kept.

    Example: knowledge documents remove iso-15288 --yes
    """
    with options.open_knowledge() as knowledge:
        record = knowledge.document(document_id)
        confirm_removal(f"Remove '{record.id}' ({record.title}, {how_many(record.chunk_count, 'chunk')})?", yes=yes)
        chunks = knowledge.remove(record.id)
        removed = {"document_id": record.id, "chunks_removed": chunks}
        options.tell(removed, f"Removed {record.id}: {how_many(chunks, 'chunk')}.")


@app.command(short_help="Show or change which documents are editions of each other.")
@with_groups
def family(
    options: CommandOptions,
    document_id: Annotated[
        str | None, typer.Argument(metavar="DOCUMENT_ID", help="Id of a document. Default: list all families.")
    ] = None,
    split: Annotated[bool, typer.Option("--split", help="This document is not an edition of the others.")] = False,
    join: Annotated[
        str | None,
        typer.Option(
            "--join", metavar="OTHER", help="This document belongs to the same family as the document with this id."
        ),
    ] = None,
    edition: Annotated[str | None, typer.Option(help="Edition, such as 2018 or v1.2.")] = None,
    status: Annotated[str | None, typer.Option(help="Status: draft, current, superseded or withdrawn.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Undo the changes made with this command.")] = False,
) -> None:
    """Show which documents are editions of each other, or correct it. Later ingests keep your corrections.

    Searches use the current edition of a family. Use --edition to search other editions.

    Example: knowledge documents family

    Example: knowledge documents family lifts-2018 --split
    """
    with options.open_knowledge() as knowledge:
        from knowledge_mcp.engine.core.documents import SETTABLE
        from knowledge_mcp.engine.core.editions import ALONE, Editions

        labels: dict[str, str] = dict.fromkeys(SETTABLE, "") if reset else {}
        labels |= {"family": ALONE} if split else {}
        labels |= {name: value for name, value in (("edition", edition), ("edition_status", status)) if value}
        if (labels or join) and document_id is None:
            raise InvalidInputError("No document id was given.", suggestion="Pass the id of the document to change.")
        if document_id is not None:
            knowledge.document(document_id)
            if join is not None:
                labels["family"] = _family_of_other(knowledge, join)
            if labels:
                knowledge.relabel(document_id, labels)
        editions = Editions(knowledge.documents())
        found = [each for each in editions.families if document_id in {None, *(one.id for one in each.records)}]
        if options.as_json:
            write_json({"families": [_family(each) for each in found]})
            return
        for each in found:
            say(each.note)
        if not found:
            say(
                f"{document_id} is the only edition of its document."
                if document_id
                else "No document has more than one edition."
            )


def _family_of_other(knowledge: Knowledge, other: str) -> str:
    """Return the name of another document's family; assign one if it has none."""
    family_name = knowledge.document(other).label("family")
    if not family_name or family_name.casefold() == "none":
        family_name = other
        knowledge.relabel(other, {"family": family_name})
    return family_name


def _family(each: Family) -> dict[str, Any]:
    from knowledge_mcp.engine.core.editions import facts_of

    current = {one.id for one in each.current}
    return {
        "title": each.title,
        "editions": [
            {
                "document_id": one.id,
                "edition": facts_of(one).label,
                "date": facts_of(one).date,
                "status": facts_of(one).status,
                "is_current": one.id in current,
            }
            for one in each.records
        ],
    }


def _plain(record: DocumentRecord) -> dict[str, Any]:
    content = asdict(record)
    content["metadata"] = dict(record.metadata)
    content["status"] = record.status.value
    return {"document_id": content.pop("id"), **content}


def _facts(record: DocumentRecord) -> list[tuple[str, str]]:
    return [
        ("Id", record.id),
        ("Type", record.document_type),
        ("Source", record.source_path),
        ("Pages", str(record.pages) if record.pages else "-"),
        ("Chunks", f"{record.chunk_count:,} ({record.token_count:,} tokens)"),
        ("Embedding", record.embedding_model),
        ("First ingested", record.created_at),
        ("Last ingested", record.updated_at),
        ("SHA-256", record.sha256),
        ("Status", record.status.value),
        *record.metadata,
        *(("Warning", warning) for warning in record.warnings),
    ]


def _sections(chunks: list[Chunk]) -> list[dict[str, Any]]:
    found: dict[tuple[str, ...], int] = {}
    for chunk in chunks:
        found[chunk.section_hierarchy] = found.get(chunk.section_hierarchy, 0) + 1
    return [{"path": list(path), "chunks": count} for path, count in found.items()]


def _tree(record: DocumentRecord, chunks: list[Chunk]) -> Tree:
    from rich.tree import Tree

    root = Tree(render(record.id))
    branches: dict[tuple[str, ...], Tree] = {(): root}
    counts: dict[tuple[str, ...], int] = {}
    for chunk in chunks:
        path = chunk.section_hierarchy
        counts[path] = counts.get(path, 0) + 1
        for depth in range(1, len(path) + 1):
            if path[:depth] not in branches:
                branches[path[:depth]] = branches[path[: depth - 1]].add(render(path[depth - 1]))
    for path, branch in branches.items():
        if path in counts and path:
            branch.label = render(f"{path[-1]}  ({counts[path]})")
    return root

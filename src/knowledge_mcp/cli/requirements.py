"""`knowledge requirements TOPIC` and `knowledge requirements export`: find requirements, and take all of them along."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from knowledge_mcp.cli import asking
from knowledge_mcp.cli.session import CollectionName, ConfigFile, Verbose, opened
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.errors import InvalidInputError

if TYPE_CHECKING:
    from knowledge_mcp.engine.requirement_records import RequirementRecord
    from knowledge_mcp.model.collection import DocumentRecord
    from knowledge_mcp.ports import Knowledge

__all__ = ["Format", "app", "export"]

_FIND = "find"
_COLUMNS = (
    "document_id", "document_title", "id", "explicit", "text", "modality", "negated", "clause", "section", "page",
    "page_index", "citation",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Format(StrEnum):
    """What `knowledge requirements export` writes."""

    CSV = "csv"
    JSON = "json"
    REQIF = "reqif"


class _FindByDefault(TyperGroup):
    """A group whose first argument is a topic where it is no command: `knowledge requirements "wind load"`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before a topic or its options."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_FIND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FindByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Find requirements, or export all of them.

    A topic finds mandatory statements about it; an identifier (SRS-4.2.1, [REQ-12]), the beginning of one, or a clause
    number finds what bears it. `find` may be left out.

    Example: knowledge requirements verification --standard 29148
    """,
)
app.command(_FIND)(asking.requirements)


@app.command(short_help="Write all requirements, as CSV, JSON or ReqIF.")
def export(
    format: Annotated[Format, typer.Option("--format", help="CSV, JSON, or ReqIF for requirement tools.")] = Format.CSV,
    document: Annotated[
        list[str] | None, typer.Option(metavar="DOC", help="Only this document; may be repeated.")
    ] = None,
    modality: Annotated[
        list[Modality] | None,
        typer.Option(help="Only statements of this force, instead of all mandatory and all numbered ones; repeatable."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to this file instead of stdout.")
    ] = None,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Write all requirements with identifier, text, force, clause, page and citation.

    Example: knowledge requirements export --format reqif --document widget-srs --out widget-srs.reqif
    """
    with opened(config, collection, verbose=verbose, as_json=format is Format.JSON and output is None) as knowledge:
        found = _gather(knowledge, document, frozenset(modality) if modality else None)
        content = _written(format, found)
        if output is None:
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
            return
        try:
            output.write_bytes(content)
        except OSError as exc:
            raise InvalidInputError(f"{output} cannot be written: {exc.strerror or exc}.") from exc
        count = sum(len(requirements) for _, requirements in found)
        typer.echo(f"{count} requirements of {len(found)} documents are in {output}.")


_Found = Sequence[tuple["DocumentRecord", "list[RequirementRecord]"]]


def _gather(knowledge: Knowledge, wanted: list[str] | None, modalities: frozenset[Modality] | None) -> _Found:
    from knowledge_mcp.engine.requirement_records import requirement_records

    records = [knowledge.document(each) for each in dict.fromkeys(wanted)] if wanted else knowledge.documents()
    found: list[tuple[DocumentRecord, list[RequirementRecord]]] = []
    for record in records:
        chunks = knowledge.document_chunks(record.id)
        text, structure = knowledge.document_text(record.id), knowledge.document_structure(record.id)
        found.append((record, requirement_records(record, chunks, text, structure, modalities=modalities)))
    return found


def _written(format: Format, found: _Found) -> bytes:
    if format is Format.REQIF:
        from knowledge_mcp.cli.reqif import reqif

        return reqif(found)
    rows = [_plain(requirement) for _, requirements in found for requirement in requirements]
    if format is Format.CSV:
        return _csv(rows)
    content = {"requirements": rows, "total": len(rows), "documents": [record.id for record, _ in found]}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _plain(each: RequirementRecord) -> dict[str, Any]:
    return {
        "document_id": each.document_id,
        "document_title": each.document_title,
        "id": each.identifier,
        "explicit": each.explicit,
        "text": each.text,
        "modality": each.modality.value,
        "negated": each.negated,
        "clause": each.clause,
        "section": list(each.path),
        "page": each.page,
        "page_index": each.page_index,
        "citation": each.citation,
        "span": [each.span.start, each.span.end],
    }


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    """Write RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe before it."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(_COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in _COLUMNS])
    return stream.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    text = " > ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text

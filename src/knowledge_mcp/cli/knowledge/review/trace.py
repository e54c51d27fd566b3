"""`knowledge trace FROM TO`: which items of one set belong to which of another, with evidence, and what has none."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from knowledge_mcp.cli.shared.failures import say
from knowledge_mcp.cli.shared.session import (
    AsJson,
    CollectionName,
    ConfigFile,
    Verbose,
    guarded,
    out,
    settings_of,
    shown,
    write_json,
)
from knowledge_mcp.engine.tracing.links import Trace, TraceItem, Verdict, trace
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableDocumentError
from knowledge_mcp.model.source import UNKNOWN, media_type_of
from knowledge_mcp.surfaces import matrix

if TYPE_CHECKING:
    from rich.table import Table

    from knowledge_mcp.settings import Settings

__all__ = ["items_of", "trace_command"]

_ITEMS = frozenset({".jsonl", ".ndjson", ".json", ".csv", ".tsv"})
_ID, _TITLE, _TEXT, _LINKS = (
    ("id", "_id", "identifier"),
    ("title", "name", "heading"),
    ("text", "description"),
    ("links",),
)
_MOST_BYTES = 200_000_000
_MOST_NAMED = 5
_LONGEST = 100


def trace_command(
    source: Annotated[str, typer.Argument(metavar="FROM", help="File, folder, or id of an ingested document.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same, of what it is traced to.")],
    as_json: AsJson = False,
    as_csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write one row a link.", dir_okay=False)
    ] = None,
    as_html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the matrix, to sort, filter and print.", dir_okay=False),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of accepted and rejected links; they are respected.", dir_okay=False),
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="FROM=TO", help="Accept a link; kept in --decisions; repeatable.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option(metavar="FROM=TO", help="Reject a link; kept in --decisions; repeatable.")
    ] = None,
    collection: CollectionName = None,
    config: ConfigFile = None,
    verbose: Verbose = False,
) -> None:
    """Trace requirements to what meets, refines or tests them: declared links first, then proposed ones, and the gaps.

    FROM and TO are JSON Lines, JSON or CSV files of items with `id`, `title` and `text`; folders of documents or
    sources, one item a file; documents; or ids of ingested documents. Nothing need be ingested.

    Example: knowledge trace srs.csv src/ --html matrix.html

    Example: knowledge trace srs.csv tests.jsonl --decisions links.json --reject "SRS-4=test_stop"
    """
    with guarded(verbose=verbose, as_json=as_json):
        settings = settings_of(config, collection, verbose=verbose)
        decided = _decided(decisions, accept or (), reject or ())
        sources, targets = items_of(settings, source), items_of(settings, target)
        from knowledge_mcp.wiring import build_linker

        found = trace(sources, targets, build_linker(settings), decided)
        if as_csv is not None:
            _write(as_csv, matrix.as_csv(found))
        if as_html is not None:
            _write(as_html, matrix.as_html(source, target, found))
        if as_json:
            write_json(matrix.as_values(found))
        elif as_csv is None and as_html is None:
            _print(found)


# ---- reading


def items_of(settings: Settings, name: str) -> list[TraceItem]:
    """Read one side.

    Raises:
        NotFoundError: it is no file, no folder and no document.
        InvalidInputError: there is no item in it, or two have one id.
    """
    path = Path(name)
    if path.is_dir():
        items = list(_of_folder(settings, path))
    elif path.suffix.lower() in _ITEMS and path.exists():
        items = _of_file(path)
    elif path.exists():
        items = _of_document(settings, path)
    else:
        items = _ingested(settings, name)
    if not items:
        raise InvalidInputError(f"There are no items in {name}.", suggestion="Give items with `id` and `text`.")
    twice = [each for each, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise InvalidInputError(
            f"{name}: the id '{twice[0]}' stands {Counter(item.id for item in items)[twice[0]]} times.",
            suggestion="Give each item an id of its own.",
        )
    return items


def _of_file(path: Path) -> list[TraceItem]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidInputError(f"{path} has more than {_MOST_BYTES >> 20} MiB.", suggestion="Split it.")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInputError(f"{path} cannot be read: {exc}.", suggestion="Give a UTF-8 file.") from exc
    suffix = path.suffix.lower()
    if suffix in {".csv", ".tsv"}:
        rows = [
            (number, {(key or "").strip().lower(): value for key, value in row.items() if isinstance(value, str)})
            for number, row in enumerate(csv.DictReader(io.StringIO(text), dialect=_dialect(text, suffix)), 2)
        ]
    else:
        rows = list(_json_rows(path, text, lines=suffix != ".json"))
    return [_item(path, number, row) for number, row in rows]


def _dialect(text: str, suffix: str) -> type[csv.Dialect]:
    try:
        return csv.Sniffer().sniff(text[:8192], ",;\t|")
    except csv.Error:
        return csv.excel_tab if suffix == ".tsv" else csv.excel


def _json_rows(path: Path, text: str, *, lines: bool) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        if not lines:
            held: Any = json.loads(text)
            values = list(enumerate(cast("list[Any]", held) if isinstance(held, list) else [held], 1))
        else:
            values = [(place, json.loads(line)) for place, line in enumerate(text.splitlines(), 1) if line.strip()]
    except (json.JSONDecodeError, RecursionError) as exc:
        where = f" (line {exc.lineno})" if isinstance(exc, json.JSONDecodeError) else ""
        raise InvalidInputError(f"{path} is no valid JSON{where}.", suggestion="One object a line, or a list.") from exc
    for number, value in values:
        if not isinstance(value, dict):
            raise InvalidInputError(f"{path}: item {number} is no object.", suggestion="Give `id` and `text`.")
        yield number, cast("dict[str, Any]", value)


def _item(path: Path, number: int, row: Mapping[str, Any]) -> TraceItem:
    name, title, text = (_cell(row, names) for names in (_ID, _TITLE, _TEXT))
    if not name or not (title or text):
        raise InvalidInputError(
            f"{path}: item {number} has no {'id' if not name else 'text'}.",
            details=f"It has {', '.join(sorted(map(str, row))) or 'nothing'}.",
            suggestion="Items have `id`, `text`, and may have `title` and `links`.",
        )
    links = row.get("links", ())
    declared = links.replace(";", ",").split(",") if isinstance(links, str) else cast("list[Any]", links or ())
    return TraceItem(name, title, text or title, f"{path.name}:{number}", tuple(str(each).strip() for each in declared))


def _cell(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(row[name]).strip() for name in names if row.get(name) not in (None, "")), "")


def _of_folder(settings: Settings, folder: Path) -> Iterator[TraceItem]:
    left: list[str] = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        name = inside.as_posix()
        try:
            yield TraceItem(name, name, _text_of(settings, path), name)
        except (UnreadableDocumentError, InvalidInputError) as exc:
            left.append(f"{name} ({exc.message})")
    if left:
        more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        say(f"Not traced: {', '.join(left[:_MOST_NAMED])}{more}.")


def _text_of(settings: Settings, path: Path) -> str:
    from knowledge_mcp.cli.knowledge.inspect import inspect_file

    if media_type_of(path.name) != UNKNOWN:
        return inspect_file(settings, path).document.text
    data = path.read_bytes()[:_MOST_BYTES]
    if b"\0" in data[:8192]:
        raise InvalidInputError("not text")
    return data.decode("utf-8", "replace")


def _of_document(settings: Settings, path: Path) -> list[TraceItem]:
    """Take a document's requirements as items; its clauses where it has none, the whole text where it has neither."""
    from knowledge_mcp.cli.knowledge.inspect import inspect_file

    if media_type_of(path.name) == UNKNOWN:
        return [TraceItem(path.name, path.name, _text_of(settings, path), path.name)]
    inspected = inspect_file(settings, path)
    values = inspected.as_values()
    text = inspected.document.text
    items = [(each["id"] or "", "", each["text"]) for each in values["requirements"]]
    if not items:
        items = [
            (each["number"] or "", each["title"], text[slice(*each["span"])])
            for each in values["sections"]
            if text[slice(*each["span"])].strip()
        ]
    return _numbered(items or [("", path.name, text)], path.name)


def _numbered(items: Sequence[tuple[str, str, str]], citation: str) -> list[TraceItem]:
    """Give items ids: their own; where several have one, or none has any, with a number behind it."""
    counts = Counter(name for name, _, _ in items)
    seen: Counter[str] = Counter()
    found: list[TraceItem] = []
    for name, title, text in items:
        seen[name] += 1
        own = name if name and counts[name] == 1 else f"{name}#{seen[name]}"
        found.append(TraceItem(own, title, text, f"{citation}, {name}" if name else citation))
    return found


def _ingested(settings: Settings, document_id: str) -> list[TraceItem]:
    from knowledge_mcp import wiring
    from knowledge_mcp.engine.search.requirements import requirement_records

    knowledge = wiring.build_knowledge(settings)
    try:
        record = knowledge.document(document_id)
        chunks = knowledge.document_chunks(document_id)
        structure = knowledge.document_structure(document_id)
        text = knowledge.document_text(document_id)
        records = requirement_records(record, chunks, text, structure)
        items = [(each.identifier, "", each.text) for each in records]
        if not items:
            items = [(each.number or "", each.title, each.span.of(text)) for each in structure.sections]
        return _numbered(items or [("", record.title, text)], document_id)
    except NotFoundError as exc:
        raise NotFoundError(
            f"There is no file, no folder and no document '{document_id}'.",
            details=exc.message,
            suggestion="Check the path; `knowledge documents list` shows the ids.",
        ) from exc
    finally:
        knowledge.close()


# ---- decisions


def _decided(path: Path | None, accept: Sequence[str], reject: Sequence[str]) -> dict[tuple[str, str], bool]:
    """Read what a person decided, add what is decided now, and keep it.

    Raises:
        InvalidInputError: there is no file to keep it in, or it holds something else.
    """
    if path is None:
        if accept or reject:
            raise InvalidInputError("Where is that to be kept?", suggestion="Add --decisions FILE.")
        return {}
    try:
        held: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        decided = {(str(each["from"]), str(each["to"])): bool(each["accepted"]) for each in held}
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise InvalidInputError(f"{path} holds no decisions: {exc}.", suggestion="Choose another file.") from exc
    for pairs, accepted in ((accept, True), (reject, False)):
        for pair in pairs:
            source, mark, target = pair.partition("=")
            if not mark or not source.strip() or not target.strip():
                raise InvalidInputError(f"'{pair}' names no link.", suggestion="Write FROM=TO with the items' ids.")
            decided[source.strip(), target.strip()] = accepted
    if accept or reject:
        rows = [{"from": one, "to": other, "accepted": yes} for (one, other), yes in sorted(decided.items())]
        _write(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    return decided


# ---- showing


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as exc:
        raise InvalidInputError(
            f"{path} cannot be written: {exc.strerror or exc}.", suggestion="Choose another place."
        ) from exc
    say(f"Wrote {path}.")


def _print(found: Trace) -> None:
    out().print(_links(found))
    for name, items in (("FROM", found.untraced_sources), ("TO", found.untraced_targets)):
        if items:
            ids = ", ".join(each.id for each in items)
            out().print(shown(f"Without a link, of {name} ({len(items)}): {ids}"), soft_wrap=True)
    counts = Counter(link.verdict for link in found.links)
    told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    say(f"{told or 'No links'}. A link is likely from {found.threshold:.2f} on.")


def _links(found: Trace) -> Table:
    from rich.table import Table

    table = Table()
    for name in ("From", "To", "Verdict", "Sure", "In common"):
        table.add_column(name, overflow="fold", no_wrap=name in {"Verdict", "Sure"})
    for link in found.links:
        words = ", ".join(link.evidence.words)[:_LONGEST]
        style = "dim" if link.verdict is Verdict.UNCERTAIN else ""
        row = (link.source.id, link.target.id, link.verdict.value, f"{link.probability:.2f}", words)
        table.add_row(*(shown(cell, style) for cell in row))
    return table

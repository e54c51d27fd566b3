"""What one side of a trace, a check or a search for conflicts is made of: files, folders, and ingested documents."""

from __future__ import annotations

import csv
import errno
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from knowledge_mcp.cli.knowledge.review.files import name_skipped, open_ingested, read_below, read_file, report_skipped
from knowledge_mcp.cli.shared.failures import notify
from knowledge_mcp.engine.tracing.items import declared_item, items_in, whole_item, words_of_file
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.readings import ReadDocument, read_ingested
from knowledge_mcp.model.errors import InvalidInputError, UnreadableDocumentError
from knowledge_mcp.model.source import UNKNOWN, WORKBOOKS, begins_as_oscal
from knowledge_mcp.sources.files import head_of, kind_of_file
from knowledge_mcp.sources.scan.files import RepositoryScan
from knowledge_mcp.support.files import read_whole
from knowledge_mcp.support.wording import how_many, list_first

if TYPE_CHECKING:
    from knowledge_mcp.readers.requirements.reader import RequirementReader
    from knowledge_mcp.settings import Settings

_ITEMS = frozenset({".jsonl", ".ndjson", ".json", ".csv", ".tsv"})
_REQUIREMENTS = frozenset({".reqif", ".reqifz", ".sdoc"})
_SOME = frozenset({".rst", ".xml", *WORKBOOKS})
"""Extensions of files that hold requirements in some cases, and are plain documents otherwise."""
_MOST_BYTES = 200_000_000
"""Bytes of a file of items, which is read at once: far beyond any set of requirements, and little enough for memory."""
_MAX_LISTED = 5
_COLLECTION = "collection:"


def parse_columns(text: str | None) -> dict[str, str]:
    """Read `id=Key,text=Description`.

    Raises:
        InvalidInputError: it is written otherwise, or names what is no part of an item.
    """
    from knowledge_mcp.readers.requirements.tables import parse_columns
    from knowledge_mcp.support.sandbox import Refusal

    try:
        return parse_columns(text or "")
    except Refusal as exc:
        raise InvalidInputError(exc.message, suggestion=exc.suggestion) from exc


def items_of(
    settings: Settings,
    name: str,
    columns: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    *,
    met_by: bool = False,
) -> list[TraceItem]:
    """Read one side.

    Args:
        settings: which readers and collection are meant.
        name: a file, a folder, the id of an ingested document, or `collection:` and the name of one.
        columns: names of the columns for `id`, `title`, `text` and `links`, where a table uses others.
        only: how ids, clauses or levels begin of items that are selected; none for all.
        met_by: whether it is to meet what the other side demands, as `items_in` says.

    Raises:
        NotFoundError: it is no file, no folder and no document.
        InvalidInputError: there is no item in it, or two have one id.
        UnreadableDocumentError: the file cannot be read.
    """
    path = Path(name)
    if not path.exists():
        items = _ingested_items(settings, name, met_by=met_by)
    else:
        from knowledge_mcp.readers.requirements.reader import RequirementReader

        with closing(RequirementReader()) as reader:
            items = _of_path(settings, path, reader, columns or {}, met_by=met_by)
            if path.is_dir():  # its files have each their own numbering
                counts = Counter(each.id for each in items)
                items = [
                    replace(each, id=f"{each.citation}: {each.id}", name=each.id) if counts[each.id] > 1 else each
                    for each in items
                ]
    if not items:
        raise InvalidInputError(f"There are no items in {name}.", suggestion="Use items with `id` and `text`.")
    twice = [each for each, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise InvalidInputError(
            f"{name}: the id '{twice[0]}' is used {Counter(item.id for item in items)[twice[0]]} times.",
            suggestion="Give each item a unique id.",
        )
    selected = [each for each in items if not only or any(_begins(each, start) for start in only)]
    if not selected:
        examples = ", ".join(dict.fromkeys(each.id for each in items[:_MAX_LISTED]))
        raise InvalidInputError(
            f"No id, clause or level in {name} begins with {' or '.join(only)}.",
            suggestion=f"Its {how_many(len(items), 'item begins', 'items begin')} with {examples}.",
        )
    return selected


def _begins(item: TraceItem, start: str) -> bool:
    """Return whether an id or place begins with something; 5.3 begins 5.3.1, not 5.31."""
    return re.match(re.escape(start) + (r"(?!\d)" if start[-1:].isdigit() else ""), item.id) is not None or (
        re.match(re.escape(start) + r"(?![^\W_])", item.place) is not None
    )


def require_different(one: str, other: str) -> None:
    """Refuse one file, folder or document for both sides.

    Raises:
        InvalidInputError: it is.
    """
    paths = [Path(each) for each in (one, other)]
    if one == other or (all(each.exists() for each in paths) and paths[0].resolve() == paths[1].resolve()):
        raise InvalidInputError(
            f"'{one}' cannot be compared with itself.",
            suggestion="Name two different ones. `knowledge conflicts` finds duplicates within one.",
        )


def documents_of(
    settings: Settings, name: str, columns: Mapping[str, str] | None = None
) -> list[ReadDocument | TraceItem]:
    """Read one side as it is: documents whole, of files of requirements the items; arguments and errors as above."""
    path = Path(name)
    if not path.exists():
        with open_ingested(settings, name) as knowledge:
            return [read_ingested(knowledge, name)]
    from knowledge_mcp.readers.requirements.reader import RequirementReader

    with closing(RequirementReader()) as reader:

        def read(each: Path, inside: str) -> Sequence[ReadDocument | TraceItem]:
            return _read_file(settings, each, inside, reader, columns or {})

        parts = read_below(path, "checked", read) if path.is_dir() else [read(path, path.name)]
        found = [each for part in parts for each in part]
    if not found:
        raise InvalidInputError(f"There is no text in {name}.", suggestion="Name another file or folder.")
    return found


def _read_file(
    settings: Settings, path: Path, name: str, reader: RequirementReader, columns: Mapping[str, str]
) -> Sequence[ReadDocument | TraceItem]:
    if _is_of_items(path) and path.name != "needs.json":
        return _of_file(path, reader, columns)
    stated = _stated_items(path, name, reader, columns) if _states(path) else None
    if stated is not None:
        return stated
    if kind_of_file(path) == UNKNOWN:
        return [ReadDocument(name, _text_of(settings, path))]
    return [read_file(settings, path, name)]


def _of_path(
    settings: Settings, path: Path, reader: RequirementReader, columns: Mapping[str, str], *, met_by: bool
) -> list[TraceItem]:
    if path.is_dir():
        return list(_of_folder(settings, path, reader, met_by=met_by))
    if _is_of_items(path):
        return _of_file(path, reader, columns)
    found = _stated_items(path, path.name, reader, columns) if _states(path) else None
    return _of_document(settings, path, met_by=met_by) if found is None else found


def _is_of_items(path: Path) -> bool:
    """Return whether a file is read here, and not as a document."""
    return path.suffix.lower() in _ITEMS and not begins_as_oscal(head_of(path))


def _states(path: Path) -> bool:
    """Return whether a file is one of requirements by its name, or by the files next to it."""
    suffix = path.suffix.lower()
    is_doorstop = suffix == ".yml" and (path.parent / ".doorstop.yml").exists()
    return suffix in _REQUIREMENTS | _SOME or is_doorstop or path.name == "needs.json"


def _stated_items(
    path: Path, name: str, reader: RequirementReader, columns: Mapping[str, str]
) -> list[TraceItem] | None:
    """Return the items of a file of requirements; None if it is a document."""
    from knowledge_mcp.cli.knowledge.inspect import file_item

    read = reader.read(file_item(path), columns)
    found = read.items
    if read.left_out:
        notify(f"{name}: sheets without items: {list_first(read.left_out, _MAX_LISTED)}.")
    if not found and path.suffix.lower() in _SOME:
        if columns and path.suffix.lower() in WORKBOOKS:
            raise InvalidInputError(
                f"{name}: no sheet has columns {', '.join(columns.values())}.",
                suggestion="Check the column names. The header must be in one of the first rows.",
            )
        return None
    return [declared_item(each, f"{name}:{each.line}" if each.line else name) for each in found]


def _of_file(path: Path, reader: RequirementReader, columns: Mapping[str, str]) -> list[TraceItem]:
    try:
        text = _decode(path)
    except OSError as exc:
        advice = "Split it." if exc.errno == errno.EFBIG else "Name a regular file that you may read."
        raise InvalidInputError(f"{path} cannot be read: {exc.strerror or exc}.", suggestion=advice) from exc
    suffix = path.suffix.lower()
    if suffix in {".csv", ".tsv"}:
        rows = list(_table_rows(text, columns))
    else:
        rows = list(_json_rows(path, text, lines=suffix != ".json"))
        if suffix == ".json" and len(rows) == 1 and "versions" in rows[0][1]:
            return _stated_items(path, path.name, reader, {}) or []
    columns_found = {key.strip().lower() for _, row in rows for key in row}
    if rows and (missing := [each for each in columns.values() if each.lower() not in columns_found]):
        notify(f"{path.name} has no column {', '.join(missing)}; the usual names are used instead.")
    return [_item(path, number, row, columns) for number, row in rows]


def _decode(path: Path) -> str:
    from knowledge_mcp.readers.shared.text import NotTextError, decode_text

    try:
        decoded = decode_text(read_whole(path, most=_MOST_BYTES))
    except NotTextError as exc:
        raise InvalidInputError(
            f"{path} is not text: {exc}", suggestion="Use a text file, preferably in UTF-8."
        ) from exc
    if decoded.warning:
        notify(f"{path.name}: {decoded.warning}")
    return decoded.text


def _table_rows(
    text: str, columns: Mapping[str, str], *, strict: bool = False
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows below the header by its names; without one for id and text, use the first row unless `strict`."""
    from knowledge_mcp.readers.data.csv import delimiter_of
    from knowledge_mcp.readers.requirements.tables import columns_of, header_among, whole_rows

    table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text)))
    first = header_among(table, columns)
    if first is None:
        if strict:
            return
        first = 0
    found = columns_of(table[first], columns) if table else {}
    named = found.get("id")
    nameless: list[int] = []
    for number, row in whole_rows(found, enumerate(table[first + 1 :], first + 2)):
        if named is not None and any(map(str.strip, row)) and not "".join(row[named : named + 1]).strip():
            nameless.append(number)  # a heading between items
        elif any(map(str.strip, row)):
            yield number, {name.strip(): cell for name, cell in zip(table[first], row, strict=False) if name.strip()}
    if nameless:
        rows = list_first([str(each) for each in nameless], _MAX_LISTED)
        notify(f"Skipped: {how_many(len(nameless), 'row', 'rows')} without an id ({rows}).")


def _json_rows(path: Path, text: str, *, lines: bool) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        if not lines:
            loaded: Any = json.loads(text)
            values = list(enumerate(cast("list[Any]", loaded) if isinstance(loaded, list) else [loaded], 1))
        else:
            values = [(place, json.loads(line)) for place, line in enumerate(text.splitlines(), 1) if line.strip()]
    except (ValueError, RecursionError) as exc:  # also for a number of thousands of digits
        where = f" (line {exc.lineno})" if isinstance(exc, json.JSONDecodeError) else ""
        raise InvalidInputError(
            f"{path} is not valid JSON{where}.", suggestion="Use one object per line, or a list."
        ) from exc
    for number, value in values:
        if not isinstance(value, dict):
            raise InvalidInputError(
                f"{path}: item {number} is not an object.", suggestion="Use objects with `id` and `text`."
            )
        yield number, cast("dict[str, Any]", value)


def _item(path: Path, number: int, row: Mapping[str, Any], columns: Mapping[str, str]) -> TraceItem:
    from knowledge_mcp.readers.requirements.tables import columns_of

    keys = list(row)
    places = columns_of(keys, columns)

    def cell(role: str) -> Any:
        found = row[keys[places[role]]] if role in places else None
        return "" if found is None else found

    if "id" not in places:
        raise InvalidInputError(
            f"{path}: item {number} has no column or field `id`.",
            details=f"It has {', '.join(sorted(map(str, row))) or 'nothing'}.",
            suggestion="Name it `id` (in tables the first row has the column names), or pass --columns "
            "id=NAME,text=NAME.",
        )
    name, title, text = (str(cell(role)).strip() for role in ("id", "title", "text"))
    if not name or not (title or text):
        raise InvalidInputError(
            f"{path}: item {number} has no {'id' if not name else 'text'}.",
            details=f"It has {', '.join(sorted(map(str, row))) or 'nothing'}.",
            suggestion="Items need `id` and `text`, and may have `title` and `links`. Use --columns for other "
            "column names.",
        )
    links = cell("links")
    if not isinstance(links, str | list):
        raise InvalidInputError(
            f"{path}: the links of item {number} are not a list.",
            suggestion="Use a list of ids, or ids separated by commas.",
        )
    declared = re.split(r"[,;\n]", links) if isinstance(links, str) else cast("list[Any]", links)
    attributes = {key: str(value) for key, value in row.items() if value not in (None, "", [])}
    targets = tuple(str(each).strip() for each in declared if str(each).strip())
    return TraceItem(name, title, text or title, f"{path.name}:{number}", targets, attributes)


def _of_folder(settings: Settings, folder: Path, reader: RequirementReader, *, met_by: bool) -> Iterator[TraceItem]:
    """Yield the items of the requirement files in a folder, requirements with identifiers, and other files as one each.

    Left out is what an index of the repository leaves out: hidden files, what `.gitignore` names, what tools write.
    """
    skipped: list[str] = []
    scan = RepositoryScan(folder, include_extensions=("*",))
    for name in scan.paths():
        if not isinstance(name, str):
            skipped.append(name.message)
            continue
        path = folder / name
        if not path.is_file() or any(part.startswith(".") for part in Path(name).parts):
            continue
        try:
            yield from _in_folder(settings, path, name, reader, met_by=met_by)
        except (UnreadableDocumentError, InvalidInputError) as exc:
            skipped.append(name_skipped(name, exc))
    if count := scan.left_out.total():
        notify(
            f"Skipped: {how_many(count, 'file or folder', 'files and folders')} ignored by .gitignore or generated "
            "by tools."
        )
    report_skipped("traced", folder, skipped)


def _in_folder(
    settings: Settings, path: Path, name: str, reader: RequirementReader, *, met_by: bool
) -> Sequence[TraceItem]:
    found = _stated_items(path, name, reader, {}) if _states(path) else None
    if found is not None:
        return found
    if path.suffix.lower() in {".csv", ".tsv"} and (rows := list(_table_rows(_decode(path), {}, strict=True))):
        return [_item(path, number, row, {}) for number, row in rows]
    if kind_of_file(path) == UNKNOWN:
        return [_whole_file(settings, path, name, beside=words_of_file(Path(name).stem))]
    reading = read_file(settings, path, name)
    if reading.structure.items or any(each.identifier for each, _ in reading.statements):
        return items_in(reading, met_by=met_by)
    return [whole_item(reading, Path(name).stem)]


def _whole_file(settings: Settings, path: Path, name: str, *, beside: str = "") -> TraceItem:
    return TraceItem(name, name, _text_of(settings, path), name, beside=beside, is_file=True)


def _text_of(settings: Settings, path: Path) -> str:
    from knowledge_mcp.cli.knowledge.inspect import inspect_file

    if kind_of_file(path) != UNKNOWN:
        return inspect_file(settings, path).document.text
    return _decode(path)


def _of_document(settings: Settings, path: Path, *, met_by: bool) -> list[TraceItem]:
    """Return the items of a document as `items_in` lists them; for a file of unknown kind, its whole text."""
    if kind_of_file(path) == UNKNOWN:
        return [_whole_file(settings, path, path.name)]
    return items_in(read_file(settings, path, path.name), met_by=met_by)


def _ingested_items(settings: Settings, name: str, *, met_by: bool) -> list[TraceItem]:
    """List the items of an ingested document, or of all of a collection, each id then with its document before it."""
    collection = name.removeprefix(_COLLECTION)
    if collection == name:
        with open_ingested(settings, name) as knowledge:
            return items_in(read_ingested(knowledge, name), met_by=met_by)
    with open_ingested(settings.model_copy(update={"collection": collection}), name) as knowledge:
        records = knowledge.documents()
        if not records:
            raise InvalidInputError(
                f"There are no documents in a collection '{collection}'.",
                suggestion="Use `knowledge collections list` to see the collections.",
            )
        return [
            replace(item, id=f"{each.id}: {item.id}", name=item.id)
            for each in records
            for item in items_in(read_ingested(knowledge, each.id), met_by=met_by)
        ]


def original_of(settings: Settings, name: str) -> bytes:
    """Return the ReqIF file of an ingested document; empty if it is another kind of file, or a collection."""
    if name.startswith(_COLLECTION):
        return b""
    with open_ingested(settings, name) as knowledge:
        return knowledge.document_structure(name).original_bytes

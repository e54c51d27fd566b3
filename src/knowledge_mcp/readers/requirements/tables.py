"""Child process: tables with one requirement per row: workbooks, and rows that were already read."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from knowledge_mcp.language.requirements.matrices import Rows, related
from knowledge_mcp.readers.office.workbooks.book import Book
from knowledge_mcp.readers.office.workbooks.opening import opened_workbook
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox_worker import Refusal

COLUMNS: Mapping[str, Sequence[str]] = {
    "id": (
        *("id", "identifier", "uid", "key", "req id", "requirement id", "object identifier", "tc id", "test id"),
        *("test case id", "issue key", "req no", "requirement no", "requirement number", "kennung", "anf id", "anf nr"),
        *("anforderungs id", "anforderungsnummer", "identifiant", "réf", "référence", "identificador", "código"),
    ),
    "title": ("title", "name", "heading", "summary", "titel", "bezeichnung", "titre"),
    "text": (
        *("text", "description", "statement", "requirement", "requirement text", "requirement statement", "content"),
        *("beschreibung", "anforderung", "anforderungstext", "texte", "exigence", "texto", "requisito"),
    ),
    "links": (
        *("links", "link", "traces to", "parent", "parents", "satisfies", "verifies", "refines", "covers", "tests"),
        *("implements", "derived from", "trace", "traceability", "upward trace", "parent id", "covered by"),
        *("satisfied by", "implemented by", "verified by", "tested by", "deckt ab", "erfüllt", "couvre", "satisfait"),
        *("cubre", "cumple"),
    ),
}
"""Default names of the columns."""
_BETWEEN_NAMES = re.compile(r"[\s,;/&()\[\]]+")
_MOST_RELATED = 20_000
"""Rows to read of a sheet without items: a matrix of all pairs of many requirements still fits."""
_MOST_LEADING = 50
"""Rows in which a header is searched."""


def parse_columns(text: str) -> dict[str, str]:
    """Read `id=Key,text=Description`.

    Raises:
        Refusal: it has another form, or names something that is not part of an item.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        role, mark, name = part.partition("=")
        if not mark or not name.strip() or role.strip() not in COLUMNS:
            raise Refusal(
                "unsupported",
                f"'{part}' does not assign a column.",
                suggestion="Use id=Key,text=Description; title and links may follow.",
            )
        found[role.strip()] = name.strip()
    return found


def columns_of(header: Sequence[str], given: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each column that exists; names in `given` take precedence over the default ones."""
    places = {_plain(name): place for place, name in reversed(list(enumerate(header))) if name.strip()}
    places |= {name.strip().lower(): place for place, name in reversed(list(enumerate(header))) if name.strip()}
    found: dict[str, int] = {}
    for role, names in COLUMNS.items():
        candidates = filter(None, (given.get(role, "").strip().lower(), *names))
        place = next((places[name] for name in candidates if name in places), None)
        if place is not None:
            found[role] = place
    return found


def _plain(name: str) -> str:
    """Convert "Req. ID", "Req-ID" and "REQ_ID" to "req id"."""
    return " ".join(re.findall(r"[^\W_]+", name.lower()))


def header_among(rows: Iterable[Sequence[str]], columns: Mapping[str, str]) -> int | None:
    """Return the index of the first row that names an id and a text or title; None if none of the leading rows does."""
    for place, cells in enumerate(itertools.islice(rows, _MOST_LEADING)):
        found = columns_of(cells, columns)
        if "id" in found and {"title", "text"} & found.keys():
            return place
    return None


def workbook(path: str, *, columns: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the items of every sheet that has a header with an id and a text or title; nothing if none has.

    Hidden sheets, rows and columns are left out.

    Raises:
        Refusal: it is not a workbook, or the extra that reads them is missing.
    """
    items: list[dict[str, Any]] = []
    others: dict[str, list[list[str]]] = {}
    with _opened(path) as book:
        for sheet in book.sheets:
            if sheet.is_hidden:
                continue
            rows = _numbered(sheet.seen(sheet.sieve()))
            leading = list(itertools.islice(rows, _MOST_LEADING))
            if header_among(leading, columns) is None:
                others[sheet.title] = [*leading, *itertools.islice(rows, _MOST_RELATED)]
            else:
                items += items_of_rows(itertools.chain(leading, rows), columns, sheet.title)
    yield from _with_relations(items, others)


@contextmanager
def _opened(path: str) -> Generator[Book]:
    with ExitStack() as stack:
        try:
            book = stack.enter_context(opened_workbook(path, formulas=False))
        except ImportError as error:
            raise Refusal(
                "unsupported", "Workbooks need the extra `office`.", suggestion=install_command("office")
            ) from error
        yield book


def _numbered(rows: Iterable[tuple[int, list[str]]]) -> Iterator[list[str]]:
    """Yield rows with an empty one in place of each hidden one, so that their numbers are kept."""
    due = 1
    for number, cells in rows:
        yield from ([] for _ in range(due, number))
        yield [cell.strip() for cell in cells]
        due = number + 1


def _with_relations(items: list[dict[str, Any]], others: Mapping[str, Rows]) -> Iterator[dict[str, Any]]:
    """Yield items with what sheets without items (traceability matrices) add; then the sheets that add nothing."""
    counts = Counter(each["id"] for each in items)
    known = {each["id"]: each for each in items if counts[each["id"]] == 1}

    def own(cell: str) -> list[str]:
        names = [cell] if cell in known else [name for name in _BETWEEN_NAMES.split(cell) if name]
        return names if all(name in known for name in names) else []

    silent: list[str] = []
    for title, rows in others.items():
        found = related(rows, own)
        for name, texts in found.items():
            known[name]["attributes"][title] = "\n".join(texts)
        silent += [] if found or not any(map(any, rows)) else [title]
    yield from items
    if items and silent:
        yield {"left_out": silent}


def items_of_rows(
    rows: Iterable[Sequence[str]], columns: Mapping[str, str], name: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the items below the first row that is a header with an id and a text or title; nothing if there is none.

    A row without id, title and text is not an item: directly below the header it names columns too, as with merged
    cells.

    Args:
        rows: their cells.
        columns: names of the columns for `id`, `title`, `text` and `links`.
        name: the name of the sheet.
    """
    rows = iter(rows)
    leading = list(itertools.islice(rows, _MOST_LEADING))
    place = header_among(leading, columns)
    if place is None:
        return
    header = [cell.strip() for cell in leading[place]]
    found = columns_of(header, columns)
    below = enumerate(itertools.chain(leading[place + 1 :], rows), place + 2)
    for number, cells in whole_rows(found, below):
        if any(_cell(found, cells, role).strip() for role in ("id", "title", "text")):
            yield _item(header, found, cells, number, name)
        elif number == place + 2:
            header = _below(header, cells)


def whole_rows(found: Mapping[str, int], rows: Iterable[tuple[int, Sequence[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Yield numbered rows; rows that continue an item are joined to its first: another link, a line for each test.

    A row continues the one above it if it has the same id and no other title or text, or has no id, title and text; an
    empty row ends an item.

    Args:
        found: places of the columns, as `columns_of` returns them.
        rows: the rows below the header.
    """
    last: tuple[int, list[str]] | None = None
    for number, cells in rows:
        if last is not None and _continues(found, last[1], cells):
            for place, cell in enumerate(cells):
                last[1].extend([""] * (place + 1 - len(last[1])))
                if cell.strip() and cell not in last[1][place].split("\n"):
                    last[1][place] = f"{last[1][place]}\n{cell}".strip("\n")
            continue
        if last is not None:
            yield last
        last = (number, list(cells)) if any(map(str.strip, cells)) else None
    if last is not None:
        yield last


def _continues(found: Mapping[str, int], above: Sequence[str], cells: Sequence[str]) -> bool:
    name, own = _cell(found, cells, "id").strip(), _cell(found, above, "id").strip()
    pairs = [(_cell(found, cells, role).strip(), _cell(found, above, role).strip()) for role in ("title", "text")]
    if not name:
        return bool(own) and any(map(str.strip, cells)) and not any(new for new, _ in pairs)
    return name == own and all(new in {"", old} for new, old in pairs)


def _below(header: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Name columns by two rows: "Limit" above "Min" and "Max" is "Limit Min" and "Limit Max"."""
    found: list[str] = []
    above = ""
    for own, cell in itertools.zip_longest(header, map(str.strip, cells), fillvalue=""):
        above = own or above
        found.append(f"{above} {cell}" if cell else own)
    return found


def _cell(found: Mapping[str, int], cells: Sequence[str], role: str) -> str:
    return cells[found[role]] if role in found and found[role] < len(cells) else ""


def _item(
    header: Sequence[str], found: Mapping[str, int], cells: Sequence[str], number: int, sheet: str
) -> dict[str, Any]:
    def cell(role: str) -> str:
        return _cell(found, cells, role)

    targets = [part.strip() for part in cell("links").replace(";", ",").replace("\n", ",").split(",")]
    return {
        "id": cell("id") or f"{sheet}:{number}".lstrip(":"),
        "heading": cell("title"),
        "text": cell("text"),
        "kind": sheet,
        "attributes": {name: value for name, value in zip(header, cells, strict=False) if name and value},
        "links": [[part, header[found["links"]]] for part in targets if part],
        "line": number,
    }

"""Child process: OpenDocument spreadsheets (.ods).

A cell has a value, and the text that its number format makes of it. As in other workbooks, the digits are taken from
the value, and what is around them from the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.odf.looks import OdtLook, OdtLooks, unseen_element
from knowledge_mcp.readers.office.odf.package import DRAW, OFFICE, TABLE, TEXT, OdfPackage, opened_package
from knowledge_mcp.readers.office.odf.remarks import comment
from knowledge_mcp.readers.office.odf.words import SHAPES, Embedded, ParagraphWords
from knowledge_mcp.readers.office.workbooks.book import Book, ReadSheet, bound
from knowledge_mcp.readers.office.workbooks.formats import number_within
from knowledge_mcp.readers.office.workbooks.regions import MOST_COLUMNS
from knowledge_mcp.readers.office.workbooks.sieve import MOST_ROWS, SheetLook, SheetMarks, ShownRow
from knowledge_mcp.readers.shared.containers import Element, core_properties, local_name
from knowledge_mcp.readers.shared.hidden import unaccepted_changes
from knowledge_mcp.readers.shared.numbering import whole_number

_EXPECTED = "an OpenDocument spreadsheet"
_TIME = re.compile(r"(-?)PT(?:(\d{1,7})H)?(?:(\d{1,7})M)?(?:(\d{1,7})(?:[.,]\d{1,12})?S)?")
_PLACE = re.compile(r"\[\.?([^\[\]:]{0,200})(?::\.?([^\[\]:]{0,200}))?\]")
"""A cell or an area in a formula: `[.A1:.B2]`, `[$Other.A1]`."""
_ROW_GROUPS = frozenset({"table-row-group", "table-rows", "table-header-rows"})
_COLUMN_GROUPS = frozenset({"table-column-group", "table-columns", "table-header-columns"})
_UNSEEN = SheetLook(HiddenReason.NOT_DISPLAYED)


@contextmanager
def opened_ods(path: str, *, formulas: bool = True) -> Generator[Book]:
    """Open a spreadsheet.

    Args:
        path: the file.
        formulas: whether a formula that was never calculated is written in place of its value.

    Raises:
        Refusal: it is not a spreadsheet, or is locked, damaged or too large.
    """
    with opened_package(path, "spreadsheet", _EXPECTED) as package:
        body = package.body("spreadsheet")
        tables = [*body.iterchildren(f"{TABLE}table")]
        bound(len(tables))
        looks = OdtLooks(package.roots)
        sheets = (_Table(each, package, looks, formulas=formulas).sheet for each in tables if not _is_copy(each, looks))
        yield Book(sheets, core_properties(package.archive, "meta.xml"), [*_warnings(package, body)])


def _is_copy(table: Element, looks: OdtLooks) -> bool:
    """Return whether a sheet is a hidden copy of a sheet of another file."""
    return table.find(f"{TABLE}table-source") is not None and not looks.is_displayed(table)


def _warnings(package: OdfPackage, body: Element) -> Iterator[str]:
    counts = Counter(
        local_name(change)
        for change in body.iterfind(f"{TABLE}tracked-changes/*")
        if change.get(f"{TABLE}acceptance-state", "pending") == "pending"
    )
    replaced = counts["cell-content-change"]
    if counts:
        yield unaccepted_changes(counts["insertion"] + replaced, counts["deletion"] + replaced, counts["movement"])
    if any(name.startswith("Pictures/") for name in package.archive.namelist()):
        yield "Images in the workbook are not read."
    if next(body.iter(f"{DRAW}object", f"{DRAW}object-ole"), None) is not None:
        yield "Embedded objects, such as charts, are not read."


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of a row: its element, its column from 1, how often it is repeated, its style."""

    element: Element
    column: int
    times: int
    style: str


class _Table:
    """Read one sheet; `sheet` is the result."""

    def __init__(self, table: Element, package: OdfPackage, looks: OdtLooks, *, formulas: bool) -> None:
        self._table = table
        self._package = package
        self._looks = looks
        self._formulas = formulas
        self._marks = SheetMarks()
        self._is_unsure = next(table.iterchildren("{*}conditional-formats"), None) is not None
        self._known: dict[str, OdtLook] = {}
        self._styles = [*self._columns()]
        self._comments: list[str] = []
        self._title = table.get(f"{TABLE}name", "")
        is_hidden = not looks.is_displayed(table)
        drawn = [] if is_hidden else [*_drawn(table)]
        self.sheet = ReadSheet(self._title, is_hidden, self._rows, self._marks, drawn, self._comments)

    def _columns(self) -> Iterator[str]:
        """Yield each column's default cell style, and record the hidden columns."""
        number = 0
        for column in _parts(self._table, "table-column", _COLUMN_GROUPS):
            times = min(_count(column, "number-columns-repeated"), MOST_COLUMNS - number)
            if column.get(f"{TABLE}visibility") in {"collapse", "filter"}:
                self._marks.columns.update(range(number + 1, number + times + 1))
            number += times
            yield from [column.get(f"{TABLE}default-cell-style-name", "")] * times

    def _rows(self, hidden: Counter[str]) -> Iterator[ShownRow]:
        words = ParagraphWords(self._looks, Embedded(self._package), Counter())
        number, blank = 0, 0
        for row in _parts(self._table, "table-row", _ROW_GROUPS):
            times = min(_count(row, "number-rows-repeated"), MOST_ROWS - number)
            cells = [*self._cells(row)]
            if not cells:
                number, blank = number + times, blank + times
                continue
            yield from (([], []) for _ in range(blank))
            blank = 0
            self._comments += self._comments_of(cells, number + 1)
            words.hidden.clear()
            texts, shown = self._row(cells, number + 1, words)
            for _ in range(times):
                number += 1
                if unseen_element(row) is not None:
                    self._marks.rows.add(number)
                hidden.update(words.hidden)
                yield [*texts], shown

    def _cells(self, row: Element) -> Iterator[_Cell]:
        """Yield the cells of a row up to the last one that is not empty."""
        due: list[_Cell] = []
        own = row.get(f"{TABLE}default-cell-style-name", "")
        column = 1
        for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            times = _count(cell, "number-columns-repeated")
            behind = self._styles[column - 1] if column <= len(self._styles) else ""
            due.append(_Cell(cell, column, times, cell.get(f"{TABLE}style-name") or own or behind))
            column += times
            names = ("number-columns-spanned", "number-rows-spanned", "formula")
            if len(cell) or cell.get(f"{OFFICE}value-type") or any(cell.get(f"{TABLE}{name}") for name in names):
                yield from due
                due = []

    def _row(self, cells: list[_Cell], number: int, words: ParagraphWords) -> ShownRow:
        texts: list[str] = []
        looks: list[SheetLook | None] = []
        for cell in cells:
            text, look = self._shown(cell, words)
            wide, deep = (_count(cell.element, f"number-{kind}-spanned") for kind in ("columns", "rows"))
            if wide > 1 or deep > 1:
                self._marks.add_merged(number, number + deep - 1, cell.column, cell.column + wide - 1)
            times = min(cell.times, MOST_COLUMNS + 1 - len(texts))
            texts += [text] * times
            looks += [look] * times
        return texts, looks

    def _shown(self, cell: _Cell, words: ParagraphWords) -> tuple[str, SheetLook | None]:
        """Return a cell's text as it is shown, and why it is not visible, if so."""
        element, base = cell.element, self._look(cell.style)
        paragraphs = [*_paragraphs(element)]
        if local_name(element) == "covered-table-cell":
            return "\n".join(map(_plain, paragraphs)), _UNSEEN
        value = _value(element)
        if value is None and paragraphs:
            return "\n".join(words.inline(each, base).text for each in paragraphs), None
        if value is None:
            value = element.get(f"{OFFICE}string-value") or (_formula(element) if self._formulas else "")
        reason = base.reason("")
        if not isinstance(value, str):
            shown = _plain(paragraphs[0]) if paragraphs else f"{value:.15g}"
            reason = reason if shown.strip() else HiddenReason.NOT_DISPLAYED
            value = number_within(value, shown, percent=element.get(f"{OFFICE}value-type") == "percentage")
        return value, SheetLook(reason) if reason is not None else None

    def _look(self, style: str) -> OdtLook:
        """Return the look of a style's cells; its colours count only if nothing else can change them."""
        if style not in self._known:
            look = self._looks.cell(style)
            self._known[style] = replace(look, colour="") if self._is_unsure else look
        return self._known[style]

    def _comments_of(self, cells: list[_Cell], row: int) -> Iterator[str]:
        for cell in cells:
            for annotation in cell.element.iterchildren(f"{OFFICE}annotation"):
                yield comment(annotation, place=f"{self._title} {_letters(cell.column)}{row}".strip())


def _parts(parent: Element, name: str, groups: frozenset[str]) -> Iterator[Element]:
    """Yield the rows or columns of a sheet, including those in groups."""
    for child in parent:
        own = local_name(child)
        if own == name:
            yield child
        elif own in groups:
            yield from _parts(child, name, groups)


def _count(element: Element, name: str) -> int:
    return max(whole_number(element.get(f"{TABLE}{name}"), 1), 1)


def _letters(column: int) -> str:
    """Return the letters of a column: 1 is A, 27 is AA."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _paragraphs(cell: Element) -> Iterator[Element]:
    """Yield the paragraphs of a cell, without those of its comment or shapes."""
    for child in cell:
        if local_name(child) in {"p", "h", "list"}:
            yield from child.iter(f"{TEXT}p", f"{TEXT}h")


def _plain(paragraph: Element) -> str:
    """Return all words of a paragraph; elements for spaces become spaces."""
    spaces = {f"{TEXT}s", f"{TEXT}tab", f"{TEXT}line-break"}
    return "".join(
        f"{' ' if each.tag in spaces else each.text or ''}{each.tail or '' if each is not paragraph else ''}"
        for each in paragraph.iter()
    )


def _drawn(table: Element) -> Iterator[str]:
    """Yield the words of each text box and shape on a sheet, one paragraph per line."""
    for shape in table.iter(f"{DRAW}text-box", *(f"{DRAW}{name}" for name in SHAPES)):
        is_hidden = any(each.get(f"{DRAW}display") == "none" for each in (shape, *shape.iterancestors()))
        words = (" ".join(_plain(each).split()) for each in shape.iterchildren(f"{TEXT}p"))
        if not is_hidden and (text := "\n".join(filter(None, words))):
            yield text


def _value(cell: Element) -> float | str | None:
    """Return a cell's value: a number, or a date, time or boolean as written; None for a text."""
    kind = cell.get(f"{OFFICE}value-type")
    if kind == "date":
        return cell.get(f"{OFFICE}date-value", "").partition(".")[0].removesuffix("T00:00:00").replace("T", " ") or None
    if kind == "boolean":
        return cell.get(f"{OFFICE}boolean-value", "").upper() or None
    if kind == "time":
        found = _TIME.fullmatch(cell.get(f"{OFFICE}time-value", ""))
        return found and f"{found[1]}{int(found[2] or 0):02}:{int(found[3] or 0):02}:{int(found[4] or 0):02}"
    try:
        return float(cell.get(f"{OFFICE}value", ""))
    except ValueError:
        return None


def _formula(cell: Element) -> str:
    """Return a formula with its cells as `=SUM(A1:A3)`; empty if there is none."""
    _, equals, rest = cell.get(f"{TABLE}formula", "").partition("=")
    return equals + _PLACE.sub(lambda found: ":".join(filter(None, found.groups())), rest)

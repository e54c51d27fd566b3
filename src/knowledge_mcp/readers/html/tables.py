"""In the child: tables of pages: data or layout, cells that span, headers of several rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import mark_alone
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.headers import Reach, repeated, with_one_header
from knowledge_mcp.readers.shared.pieces import Piece, rich_piece
from knowledge_mcp.readers.shared.richtext import RichText, table_text

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

MARKER = "{https://clausewise.invalid}marker"
"""Attribute with the mark of a list's item or a note, or a heading's number; no page has it, only what is made one."""
_LONGEST_MARK = 8
_BRACKETED = re.compile(r"\((?:[A-Z]{1,3}|[ivxlc]{1,6}|\d{1,3}[a-z]?)\)")
_MOST_SPANNED = 100
_MOST_COLUMNS = 1000
_LAYOUT = ("h1", "h2", "h3", "h4", "h5", "h6", "table", "pre", "blockquote", "form", "article", "section", "nav")


def is_data_table(table: Element) -> bool:
    """Tell a table of data from one that only lays out a page: it has rows and columns, and no page's parts in it."""
    names = [name for tag in _LAYOUT for name in (tag, f"{{*}}{tag}")]
    if table.get("role") in {"presentation", "none"} or next(table.iterdescendants(*names), None) is not None:
        return False
    cells = 0
    for rows, row in enumerate(table.iterdescendants("tr", "{*}tr"), 1):
        cells = max(cells, sum(1 for cell in row if isinstance(cell.tag, str) and cell.tag[-2:] in {"td", "th"}))
        if rows >= 2 and cells >= 2:
            return True
    return False


def lists_of_tables(root: Element) -> None:
    """Make lists of tables that only set marks beside words, as laws do: each row "(a)" and its words."""
    for table in list(root.iter("table", "{*}table")):
        rows = [row for row in table.iter("tr", "{*}tr") if _table_of(row) is table]
        items = [_marked(row) for row in rows]
        found = [item for item in items if item is not None]
        if not found or len(found) < len(items):
            continue
        table.tag = "ul"
        for row, (mark, beside) in zip(rows, found, strict=True):
            row.tag = "li"
            row.set(MARKER, " ".join("".join(map(str, mark.itertext())).split()))
            row.remove(mark)
            beside.tag = "div"


def _table_of(row: Element) -> Element | None:
    return next(row.iterancestors("table", "{*}table"), None)


def _marked(row: Element) -> tuple[Element, Element] | None:
    """Read a row with a mark and what stands beside it; None for any other."""
    cells = [cell for cell in row if isinstance(cell.tag, str) and cell.tag[-2:] == "td"]
    said = [cell for cell in cells if any(str(words).strip() for words in cell.itertext())]
    if len(said) != 2 or len(row) > len(cells):
        return None
    words = " ".join("".join(map(str, said[0].itertext())).split())
    opening = mark_alone(words) if len(words) <= _LONGEST_MARK else None
    is_item = (opening is not None and opening.kind is BlockKind.LIST_ITEM) or _BRACKETED.fullmatch(words)
    return (said[0], said[1]) if is_item else None


class TableCells:
    """Collect rows and cells; `depth` counts tables within this one, whose words stay in their cell."""

    def __init__(self) -> None:
        self.depth = 1
        self.in_head = False
        self._rows: list[list[RichText]] = []
        self._reaches: dict[int, Reach] = {}
        self._spanned: dict[int, int] = {}
        self._above: dict[int, RichText] = {}
        self._heads: list[bool] = []
        self._own: list[bool] = []
        self._columns = 1
        self._deep = 1

    def row(self) -> None:
        """Begin a row; a short text of a cell above that reaches into it is said again."""
        self._end_row()
        self._rows.append([])
        self._heads.append(self.in_head)
        self._skip()

    def open(self, columns: str | None, rows: str | None, *, is_head: bool = False) -> None:
        """Begin a cell."""
        if not self._rows:
            self.row()
        self._own.append(is_head)
        self._columns, self._deep = _span(columns), _span(rows)

    def close(self, rich: RichText) -> None:
        """End a cell."""
        if not self._rows:
            self.row()
        row = self._rows[-1]
        first = len(row)
        for extra in range(self._columns):
            if len(row) >= _MOST_COLUMNS and extra:
                break
            if self._deep > 1:
                self._spanned[len(row)] = self._deep - 1
                self._above[len(row)] = rich if not extra else RichText()
            if extra:
                self._reach().across[len(row)] = first
            row.append(rich if not extra else RichText())
        self._skip()
        self._columns = self._deep = 1

    def piece(self) -> Piece:
        """Write the table."""
        rows = self.rows()
        return rich_piece(BlockKind.TABLE, table_text(rows) if rows else RichText())

    def rows(self) -> list[list[RichText]]:
        """Give the rows that say anything, the header as one."""
        self._end_row()
        rows: list[list[RichText]] = []
        reaches: dict[int, Reach] = {}
        marked = 0
        for index, (row, is_head) in enumerate(zip(self._rows, self._heads, strict=True)):
            reach = self._reaches.get(index, Reach())
            if any(not cell.is_blank for at, cell in enumerate(row) if at not in reach.down):
                marked += is_head and marked == len(rows)
                reaches[len(rows)] = reach
                rows.append(row)
        return with_one_header(rows, reaches, marked)

    def _end_row(self) -> None:
        """Take a row for one of the header where all its cells are marked so, and they are several."""
        if len(self._own) > 1 and all(self._own):
            self._heads[-1] = True
        self._own = []

    def _reach(self) -> Reach:
        return self._reaches.setdefault(len(self._rows) - 1, Reach())

    def _skip(self) -> None:
        row = self._rows[-1]
        while self._spanned.get(len(row), 0) > 0:
            self._spanned[len(row)] -= 1
            self._reach().down.add(len(row))
            row.append(repeated(self._above.get(len(row), RichText())))


def _span(text: str | None) -> int:
    return min(max(int(text), 1), _MOST_SPANNED) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1

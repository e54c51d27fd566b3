"""In the child: the cells of an HTML table, with those that span several columns or rows, to a Markdown table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pieces import Piece, rich_piece
from knowledge_mcp.readers.richtext import RichText, table_text

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

__all__ = ["TableCells", "is_data_table"]

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


class TableCells:
    """Collect rows and cells; `depth` counts tables within this one, whose words stay in their cell."""

    def __init__(self) -> None:
        self.depth = 1
        self._rows: list[list[RichText]] = []
        self._spanned: dict[int, int] = {}
        self._columns = 1
        self._deep = 1

    def row(self) -> None:
        """Begin a row; columns that a cell above reaches into stay empty."""
        self._rows.append([])
        self._skip()

    def open(self, columns: str | None, rows: str | None) -> None:
        """Begin a cell."""
        if not self._rows:
            self.row()
        self._columns, self._deep = _span(columns), _span(rows)

    def close(self, rich: RichText) -> None:
        """End a cell."""
        if not self._rows:
            self.row()
        row = self._rows[-1]
        for extra in range(self._columns):
            if len(row) >= _MOST_COLUMNS and extra:
                break
            if self._deep > 1:
                self._spanned[len(row)] = self._deep - 1
            row.append(rich if not extra else RichText())
        self._skip()
        self._columns = self._deep = 1

    def piece(self) -> Piece:
        """Write the table."""
        rows = [row for row in self._rows if any(not cell.is_blank for cell in row)]
        return rich_piece(BlockKind.TABLE, table_text(rows) if rows else RichText())

    def _skip(self) -> None:
        row = self._rows[-1]
        while self._spanned.get(len(row), 0) > 0:
            self._spanned[len(row)] -= 1
            row.append(RichText())


def _span(text: str | None) -> int:
    return min(max(int(text), 1), _MOST_SPANNED) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1

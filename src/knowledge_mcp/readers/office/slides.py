"""In the child: MarkItDown's converter of presentations, with tables whose cells may hold bars.

Imported only where MarkItDown is installed. Should a later MarkItDown no longer call what is replaced here, its own way
of writing tables is back, and nothing breaks.
"""

from __future__ import annotations

from typing import Any

from markitdown.converters import PptxConverter

from knowledge_mcp.readers.shared.headers import LONGEST_REPEATED, Reach, worded_header
from knowledge_mcp.readers.shared.pieces import escaped, table_piece


class SlideConverter(PptxConverter):
    """Convert presentations; a table's cells are escaped, so that each stays one cell."""

    def _convert_table_to_markdown(self, table: Any, **kwargs: Any) -> str:
        rows: list[list[str]] = []
        reaches: dict[int, Reach] = {}
        for index, row in enumerate(table.rows):
            cells = list(row.cells)
            rows.append([escaped(" ".join(cell.text.split())).replace("\\|", "|") for cell in cells])
            for column, cell in enumerate(cells):
                if not cell.is_merge_origin:
                    continue
                across = range(column + 1, column + cell.span_width)
                reaches.setdefault(index, Reach()).across.update(dict.fromkeys(across, column))
                for below in range(index + 1, index + cell.span_height):
                    reaches.setdefault(below, Reach()).down.add(column)
            for column in reaches.get(index, Reach()).down:
                above = rows[index - 1][column] if column < len(rows[index - 1]) else ""
                rows[index][column] = rows[index][column] or (above if len(above) <= LONGEST_REPEATED else "")
        return f"\n{table_piece(worded_header(rows, reaches))['text']}\n\n"

"""In the child: MarkItDown's converter of presentations, with tables whose cells may hold bars.

Imported only where MarkItDown is installed. Should a later MarkItDown no longer call what is replaced here, its own way
of writing tables is back, and nothing breaks.
"""

from __future__ import annotations

from typing import Any

from markitdown.converters import PptxConverter

from knowledge_mcp.readers.shared.pieces import escaped, table_piece


class SlideConverter(PptxConverter):
    """Convert presentations; a table's cells are escaped, so that each stays one cell."""

    def _convert_table_to_markdown(self, table: Any, **kwargs: Any) -> str:
        rows = [[escaped(" ".join(cell.text.split())).replace("\\|", "|") for cell in row.cells] for row in table.rows]
        return f"\n{table_piece(rows)['text']}\n\n"

"""Child process: MarkItDown's converter of presentations, extended by cells that may contain bars, and list levels.

Imported only if MarkItDown is installed. If a later MarkItDown does not call what is overridden here, it writes tables
in its own way, and nothing breaks.
"""

from __future__ import annotations

import importlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from markitdown.converters import PptxConverter

from knowledge_mcp.readers.shared.drawings import chart_parts
from knowledge_mcp.readers.shared.pieces import escaped
from knowledge_mcp.readers.shared.richtext import RichText, table_text
from knowledge_mcp.readers.shared.tables import TableCells

ITEM = "\ufdd0"
"""Written before the words of a list item: once for each level, then a number if there is one, then once more."""
_NOT_BESIDE = frozenset({"BODY", "SLIDE_IMAGE", "HEADER", "FOOTER", "DATE", "SLIDE_NUMBER"})
"""Placeholders of a notes page: its text, and what is printed around it."""


class SlideConverter(PptxConverter):
    """Convert presentations; cells of tables are escaped, so that each stays one cell, and list items are marked."""

    def convert(self, file_stream: BinaryIO, stream_info: Any, **kwargs: Any) -> Any:
        presentation: Any = importlib.import_module("pptx").Presentation(file_stream)  # comes with MarkItDown
        marked = False
        for slide in presentation.slides:
            title = slide.shapes.title
            for shape in _leaves(slide.shapes):
                if shape.has_text_frame and (title is None or shape.shape_id != title.shape_id):
                    marked = _mark_items(shape.text_frame.paragraphs) or marked
            if slide.has_notes_slide:
                marked = self._complete_notes(slide.notes_slide) or marked
        file_stream.seek(0)
        if marked:
            file_stream = io.BytesIO()
            presentation.save(file_stream)
            file_stream.seek(0)
        return super().convert(file_stream, stream_info, **kwargs)

    def _complete_notes(self, page: Any) -> bool:
        """Write what is beside the text of a slide's notes page below that text; return whether there is anything."""
        notes = page.notes_placeholder
        lines: list[str] = []
        for shape in _leaves(page.shapes):
            if shape.is_placeholder and shape.placeholder_format.type.name in _NOT_BESIDE:
                continue
            if getattr(shape, "has_table", False):
                lines += ["", *self._convert_table_to_markdown(shape.table).strip().split("\n")]
            elif getattr(shape, "has_chart", False):
                lines += self._convert_chart_to_markdown(shape.chart).split("\n")
            elif shape.has_text_frame and shape.text_frame.text.strip():
                lines += ["", *shape.text_frame.text.split("\n")]
        if lines and notes is None:
            add = page.shapes._spTree.add_placeholder  # noqa: SLF001 - python-pptx adds none to a page without one
            body = importlib.import_module("pptx.enum.shapes").PP_PLACEHOLDER.BODY
            add(1 + max(each.shape_id for each in page.shapes), "", body, "horz", "full", 1)
            notes = page.notes_placeholder
        for line in lines:
            notes.text_frame.add_paragraph().text = line
        return bool(lines)

    def _convert_table_to_markdown(self, table: Any, **kwargs: Any) -> str:
        cells = TableCells()
        for row in table.rows:
            cells.row()
            for cell in row.cells:
                if not cell.is_spanned:
                    cells.open(cell.span_width, cell.span_height)
                    cells.close(RichText(escaped(" ".join(cell.text.split())).replace("\\|", "|")))
        return f"\n{table_text(cells.rows()).text}\n\n"

    def _convert_chart_to_markdown(self, chart: Any) -> str:
        title, tables = chart_parts(chart._chartSpace)  # noqa: SLF001 - python-pptx does not support 3-D charts
        written = ["### " + " ".join(f"Chart: {title}".rstrip(": ").split())]
        for rows in tables:
            cells = [[RichText(escaped(cell).replace("\\|", "|")) for cell in row] for row in rows]
            written.append(table_text(cells).text)
        return "\n\n" + "\n\n".join(written) + "\n\n"


def _leaves(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield the shapes that are not groups, including those in groups."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _leaves(shape.shapes)
        else:
            yield shape


def _mark_items(paragraphs: Iterable[Any]) -> bool:
    """Mark the items of a text that has levels or bullets; return whether there are any."""
    written = [each for each in paragraphs if each.text.strip()]
    if not any(each.level or _bullet(each) for each in written):
        return False
    counted: Counter[int] = Counter()
    above = -1
    for each in written:
        kind = _bullet(each)
        if kind == "buNone" and not each.level:
            above = -1
            continue
        level = above = min(each.level, above + 1)
        for deeper in [known for known in counted if known > level or (known == level and kind != "buAutoNum")]:
            del counted[deeper]
        counted[level] += kind == "buAutoNum"
        number = str(counted[level]) if kind == "buAutoNum" else ""
        run = each.runs[0] if each.runs else each.add_run()
        run.text = f"{ITEM * (level + 1)}{number}{ITEM}{run.text}"
    return True


def _bullet(paragraph: Any) -> str:
    """Return how a paragraph itself sets a bullet, a number or neither; empty if it does not."""
    settings = paragraph._p.pPr  # noqa: SLF001 - python-pptx has no other access to bullets
    names = {element.tag.rpartition("}")[2] for element in settings} if settings is not None else set[str]()
    return next((name for name in ("buNone", "buAutoNum", "buChar", "buBlip") if name in names), "")

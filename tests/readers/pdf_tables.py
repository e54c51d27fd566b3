"""Pages read in the test's own process, and the tables that were found on them."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import HEIGHT, Sheet, item_of

Row = Sequence[str | tuple[str, ...]]
"""Cells of one row; a tuple has the printed lines of one."""


def plain(rows: Sequence[Row]) -> list[list[str]]:
    """Join the lines of cells."""
    return [[cell if isinstance(cell, str) else " ".join(cell) for cell in row] for row in rows]


def rule(pages: Sheet, y: float, start: float, end: float) -> None:
    """Draw a level line."""
    pages.canvas.line(start, HEIGHT - y, end, HEIGHT - y)


def read(pages: Sheet | bytes) -> Document:
    """Read drawn pages, or the bytes of a file."""
    data = pages if isinstance(pages, bytes) else pages.done()
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(data))


def tables(document: Document) -> list[list[list[str]]]:
    """List the cells of each table, its head first."""
    found: list[list[list[str]]] = []
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            lines = block.span.of(document.text).split("\n")
            found.append([[cell.strip() for cell in line.split("|")[1:-1]] for line in (lines[0], *lines[2:])])
    return found

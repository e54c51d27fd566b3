"""Child process: open a workbook of any format, detected by the file, and yield its messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.office.workbooks.book import Book, book_pieces
from knowledge_mcp.readers.office.workbooks.ods import opened_ods
from knowledge_mcp.readers.office.workbooks.xls import opened_xls
from knowledge_mcp.readers.office.workbooks.xlsx import opened_xlsx
from knowledge_mcp.readers.shared.containers import OLE, magic_of
from knowledge_mcp.readers.shared.pieces import messages


def workbook(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield a workbook's messages.

    Raises:
        Refusal: it is not a workbook, or is locked, damaged, empty or too large.
    """
    with opened_workbook(path) as book:
        if not check:
            yield from messages(book_pieces(book))


def opened_workbook(path: str, *, formulas: bool = True) -> AbstractContextManager[Book]:
    """Open a workbook by its extension; the two formats of Excel are distinguished by their bytes.

    Args:
        path: the file.
        formulas: whether a formula that was never calculated is written in place of its value.

    Raises:
        Refusal: as `workbook`; also for errors inside the `with` block.
    """
    if Path(path).suffix.lower() in {".fods", ".ods"}:
        return opened_ods(path, formulas=formulas)
    return opened_xls(path) if magic_of(path).startswith(OLE) else opened_xlsx(path, formulas=formulas)

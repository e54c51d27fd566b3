"""Text that spreadsheets read as it is written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Write RFC 4180; a cell that a spreadsheet would take for a formula gets an apostrophe before it."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([_harmless(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell

"""Rows of tables without their drawing: what a model of meaning is given in place of pipes and rules."""

from __future__ import annotations

import re

__all__ = ["plain_rows"]

_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*+\|(?=[ \t|:]*-)[ \t|:-]*\|[ \t]*+(?:\n|\Z)", re.MULTILINE)
_BORDER = re.compile(r"(?<!\\)\|")


def plain_rows(text: str) -> str:
    """Write each row of a Markdown table as its cells one after another; all other lines stay as they are.

    Pipes and rules are half of a table's tokens and say nothing: without them a passage of figures is as near to a
    question about it as a passage of prose. No word is lost or joined to another.
    """
    return _ROW.sub(_cells, _RULE.sub("", text)) if "|" in text else text


def _cells(row: re.Match[str]) -> str:
    cells = (cell.strip() for cell in _BORDER.split(row.group(1)))
    return " ".join(cell for cell in cells if cell) + ";"

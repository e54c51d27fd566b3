"""Files of an evaluation set, line by line: JSON Lines, CSV and judgements, with every mistake told at its line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError

__all__ = ["MOST_PROBLEMS", "csv_rows", "json_rows", "refuse", "text_of"]

MOST_PROBLEMS = 20
"""Mistakes that are told of one file."""


def text_of(path: Path) -> str:
    """Read a file of text, with or without a byte order mark.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it cannot be read, or is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as exc:
        raise NotFoundError(f"There is no file {path}.", suggestion="Check the path.") from exc
    except (OSError, UnicodeDecodeError) as exc:
        said = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise InvalidInputError(f"{path} cannot be read: {said}.") from exc


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their line numbers; blank lines are left out.

    Raises:
        InvalidInputError: a line is no JSON object; names it.
    """
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            content: object = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise InvalidInputError(f"{path}, line {number}: this is no JSON: {exc}.") from exc
        if not isinstance(content, dict):
            raise InvalidInputError(f"{path}, line {number}: an object is expected, one a line.")
        yield number, cast("dict[str, Any]", content)


def csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a CSV file with a header, with their line numbers; commas or semicolons, empty cells left out.

    Raises:
        InvalidInputError: a row has more cells than the header, or a name stands in the header twice.
    """
    lines = text_of(path).splitlines(keepends=True)
    separator = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
    rows = csv.reader(lines, delimiter=separator)
    header = [cell.strip().casefold().replace(" ", "_") for cell in next(rows, list[str]())]
    if len(set(header)) != len(header):
        raise InvalidInputError(f"{path}: a column's name stands in the header twice.")
    for row in rows:
        if len(row) > len(header):
            raise InvalidInputError(f"{path}, line {rows.line_num}: more cells than the header names.")
        found: dict[str, Any] = {
            name: cell.strip() for name, cell in zip(header, row, strict=False) if name and cell.strip()
        }
        if found:
            yield rows.line_num, found


def refuse(path: Path, problems: list[str]) -> None:
    """Tell all mistakes of a file together; does nothing where there is none.

    Raises:
        InvalidInputError: there is one.
    """
    if not problems:
        return
    shown = problems[:MOST_PROBLEMS]
    if len(problems) > len(shown):
        shown.append(f"… and {len(problems) - len(shown)} more")
    count = "One thing is" if len(problems) == 1 else f"{len(problems)} things are"
    raise InvalidInputError(
        f"{count} wrong in {path}: {'; '.join(shown[:3])}{' …' if len(shown) > 3 else ''}.",
        details="\n".join(shown),
        suggestion="Correct the lines named, then run again.",
    )

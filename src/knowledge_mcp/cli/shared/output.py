"""Writes JSON, lines and tables to stdout; markup in a text is not interpreted, control characters are replaced."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.cli.shared.failures import escape_in_json, sanitize
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.files import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def write_json(content: Any) -> None:
    """Write one JSON value to stdout, escaped if its encoding is not a Unicode one."""
    has_all = (sys.stdout.encoding or "").lower().startswith("utf")
    write_json_text(json.dumps(content, indent=2, ensure_ascii=not has_all) + "\n")


def write_json_text(text: str) -> None:
    """Write prepared JSON to stdout; control characters that JSON leaves as they are become escapes of the same value.

    A file name may have them, and must not control the terminal.
    """
    _write(escape_in_json(text))


def write_content(content: str | bytes) -> None:
    """Write a file's content or a document's text to stdout; a terminal gets it without control characters."""
    if not sys.stdout.isatty():
        _write(content)
    else:
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        _write(sanitize(text.replace("\r\n", "\n")))


def _write(content: str | bytes) -> None:
    if isinstance(content, bytes):
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content)
    sys.stdout.flush()


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically, replacing an existing one; other targets, such as a pipe, are written to directly.

    Raises:
        InvalidInputError: it cannot be written there.
    """
    made = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(made)
        else:
            write_atomically(path.resolve(), made)
    except OSError as exc:
        raise InvalidInputError(
            f"{path} cannot be written: {exc.strerror or exc}.", suggestion="Choose another location."
        ) from exc


def render(text: str, style: str = "") -> Text:
    """Prepare a text for rich, without interpreting markup and without control characters."""
    from rich.text import Text

    return Text(sanitize(text), style)


def shortened(text: str, limit: int) -> str:
    """Cut a text that is longer than a table cell shows, and mark it."""
    return text if len(text) <= limit else text[:limit] + "…"


def open_console() -> Console:
    """Return a console on stdout, wide enough to read if stdout is not a terminal."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=shutil.get_terminal_size((120, 24)).columns)


def say(text: str, style: str = "") -> None:
    """Write lines to stdout without wrapping them."""
    open_console().print(render(text, style), soft_wrap=True)


def say_all(*lines: str) -> None:
    """Write several lines to stdout, except empty ones."""
    for line in filter(None, lines):
        say(line)


def print_panel(body: str | Text, *, title: str = "", citation: str = "", foot: str = "") -> None:
    """Print a text in a frame, with its citation below it: the frame's own lines cut off what is too long for them."""
    from rich.panel import Panel

    text = render(body) if isinstance(body, str) else body
    if citation:
        text.append_text(render(f"\n\n{citation}"))
    heading = render(title) if title else None
    open_console().print(Panel(text, title=heading, subtitle=render(foot), title_align="left", subtitle_align="right"))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Iterable[str | Text]],
    *,
    title: str = "",
    numbers: Collection[str] = (),
    unbroken: Collection[str] = (),
    show_lines: bool = False,
    footer: Sequence[str] = (),
) -> None:
    """Print a table; cells that are too wide are folded.

    Args:
        columns: their names.
        rows: cells, already rendered if they have a style.
        title: of the table.
        numbers: columns that are aligned to the right.
        unbroken: columns that are not wrapped, unless one of their cells would take more than half of the width and
            leave the other columns nothing.
        show_lines: between the rows.
        footer: a last row with a cell for each column; empty for none.
    """
    from rich.table import Table

    heading = render(title) if title else None
    console = open_console()
    cells = [[render(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    table = Table(title=heading, title_justify="left", show_lines=show_lines, show_footer=bool(footer))
    for place, (name, foot) in enumerate(zip_longest(columns, footer, fillvalue="")):
        side = "right" if name in numbers else "left"
        whole = name in unbroken and all(2 * row[place].cell_len <= console.width for row in cells)
        table.add_column(name, foot, justify=side, overflow="fold", no_wrap=whole)
    for row in cells:
        table.add_row(*row)
    console.print(table)


def print_facts(rows: Iterable[tuple[str, str]], *, title: str = "", numbers: bool = False) -> None:
    """Print a table of names and values; with `numbers` the values are aligned to the right."""
    from rich.table import Table

    table = Table(show_header=False, title=render(title) if title else None, title_justify="left")
    table.add_column()
    table.add_column(justify="right" if numbers else "left", overflow="fold")
    for name, value in rows:
        table.add_row(render(name), render(value))
    open_console().print(table)

"""Plain text to Markdown source: escaped where it would else be taken for marks, and no more than that."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["PAGE_BREAK", "escape", "fence", "heading_line", "prose_lines", "table_lines"]

PAGE_BREAK = "\x01"
"""Stands in a text where a page breaks; the canonical text has no control characters."""

_INLINE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\s*(?:[\n\x01]|\Z))"
    r"|`"
    r"|(?<!\s)\*|\*(?!\s)"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|~(?=~)|(?<=~)~"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=#?\w+;)"
)
_LINKING = re.compile(r"\][ \n]?[(\[:]|\[\^")
_OPENING = re.compile(
    r"(?P<digits>\d{1,9})(?P<stop>[.)])(?=\s|\Z)"
    r"|(?P<mark>\#{1,6}(?=\s|\Z)|>|[-+*](?=\s|\Z)|[:~](?=\s)|[-=+*_|:~][-=+*_|:~ \t]*\Z)"
)
_CLOSING_MARKS = re.compile(r"(?:(?<=\s)|\A)#+\Z")
_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"(?=[ \t|:]*-)[ \t|:-]*+")


def escape(text: str) -> str:
    """Escape what would be emphasis, code, HTML, an entity, a link or a footnote."""
    text = _INLINE.sub(r"\\\g<0>", text)
    return text.replace("[", r"\[") if _LINKING.search(text) else text


def _opening(line: str) -> str:
    """Escape what would open a list, a heading, a quotation, a definition, or make a heading of the line above."""
    match = _OPENING.match(line)
    if match is None:
        return line
    if match["digits"]:
        return f"{match['digits']}\\{line[match.start('stop') :]}"
    return f"\\{line}"


def prose_lines(text: str, markers: Sequence[Sequence[str]] = ()) -> list[str]:
    """Write a paragraph as source lines; its line ends are kept as hard breaks.

    Args:
        text: the paragraph, with a `PAGE_BREAK` where a page ends.
        markers: for each page break the lines that stand there.
    """
    found: list[str] = []
    waiting = iter(markers)
    lines = [line.strip() for line in escape(text).split("\n")]
    lines = [line for line in lines if line]
    for position, line in enumerate(lines):
        last = len(found)
        for number, part in enumerate(line.split(PAGE_BREAK)):
            if number:
                found.extend(next(waiting))
            if part.strip():
                found.append(_opening(part.strip()))
                last = len(found) - 1
        if position < len(lines) - 1 and last < len(found):
            found[last] += "  "
    return found


def heading_line(words: str, level: int, attributes: Mapping[str, str]) -> str:
    """Write a heading with at most six marks; attributes stand behind it as `{: name="value"}`."""
    line = escape(" ".join(words.split()))
    line = _CLOSING_MARKS.sub(lambda match: "\\#" * len(match.group()), line)
    if line.endswith("}"):
        line = f"{line[:-1]}\\}}"
    told = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"{'#' * min(level, 6)} {line}" + (f" {{: {told}}}" if told else "")


def fence(text: str) -> list[str]:
    """Write code between fences that are longer than any run of their sign in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return [mark, *text.split("\n"), mark]


def table_lines(text: str) -> list[str] | None:
    """Write a table whose text has rows `| a | b |`, the second one a rule; None where it is no such table.

    Cells are escaped, rows filled up to the longest; the answer has one line for each line of the text.
    """
    lines = text.split("\n")
    if len(lines) < 2 or not all(line.startswith("|") for line in lines) or not _RULE.fullmatch(lines[1]):
        return None
    rows = [_cells(line) for line in lines]
    columns = max(len(row) for row in rows)
    written = [_row([*row, *[""] * (columns - len(row))]) for row in rows]
    written[1] = "|" + " --- |" * columns
    return written


def _cells(line: str) -> list[str]:
    cells = _CELL_END.split(line.strip())[1:]
    if cells and not cells[-1].strip():
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _row(cells: Sequence[str]) -> str:
    shown = (escape(cell).replace("|", "\\|") for cell in cells)
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in shown)

"""In the child: parts of AsciiDoc with a grammar of their own: words within a line without their marks, and tables."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.shared.pieces import Piece
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered
from knowledge_mcp.readers.shared.tables import TableCells
from knowledge_mcp.support.sandbox_worker import Refusal

_ATTRIBUTE = re.compile(r"\\?\{(?P<name>\w[\w-]{0,60})\}")
_CHARACTERS = {
    "amp": "&", "lt": "<", "gt": ">", "nbsp": " ", "zwsp": "", "wj": "", "empty": "", "blank": "", "sp": " ",
    "apos": "'", "quot": '"', "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”", "deg": "°", "plus": "+",
    "asterisk": "*", "backtick": "`", "caret": "^", "tilde": "~", "startsb": "[", "endsb": "]", "vbar": "|",
    "backslash": "\\", "two-colons": "::", "two-semicolons": ";;", "cpp": "C++",
}  # fmt: skip
_LINKS = re.compile(
    r"<<(?P<cross>[^<>,]{1,300})(?:,(?P<crosswords>[^<>]{0,500}))?>>"
    r"|\b(?:xref|link):(?P<target>[^\s\[\]]{1,1000})\[(?P<words>[^\[\]]{0,500})\]"
    r"|(?P<url>\bhttps?://[^\s\[\]<>]{1,1000})(?:\[(?P<urlwords>[^\[\]]{0,500})\])?"
    r"|\bfootnote(?:ref)?:\w{0,60}\[(?P<note>[^\[\]]{0,2000})\]"
    r"|\b(?:kbd|btn|menu|stem|latexmath|asciimath|pass|indexterm2|term):[\w,]{0,60}\[(?P<macro>[^\[\]]{0,1000})\]"
    r"|\b(?:anchor|indexterm|bibanchor):[^\s\[\]]{0,300}\[[^\[\]]{0,500}\]"
    r"|\bimage:[^\s\[\]:]{1,500}\[(?P<alt>[^\[\]]{0,500})\]"
    r"|\[\[\[(?P<bib>[^\[\],]{1,200})(?:,[^\[\]]{0,200})?\]\]\]"
    r"|\[\[[^\[\]]{1,300}\]\]"
    r"|\(\(\([^()]{1,300}\)\)\)"
    r"|\(\((?P<indexed>[^()]{1,300})\)\)"
)
_ROLE = re.compile(r"\[[.#][\w.#%-]{1,100}\](?=[#*_`^~])")
_MARKED = (
    re.compile(r"(?<![\w\\`])`\+([^`+\n]{1,500})\+`(?!\w)"),
    re.compile(r"(?<![\w\\`])`(\S[^`\n]{0,500})`(?![\w`])"),
    re.compile(r"``([^`\n]{1,500})``"),
    re.compile(r"\*\*([^*\n]{1,500})\*\*"),
    re.compile(r"(?<![\w\\*])\*(\S[^*\n]{0,500})\*(?![\w*])"),
    re.compile(r"__([^_\n]{1,500})__"),
    re.compile(r"(?<![\w\\_])_(\S[^_\n]{0,500})_(?![\w_])"),
    re.compile(r"##([^#\n]{1,500})##"),
    re.compile(r"(?<![\w\\#&])#(\S[^#\n]{0,500})#(?![\w#])"),
    re.compile(r"(?<![\w\\+])\+{1,3}(\S[^+\n]{0,500})\+{1,3}(?![\w+])"),
)
_SCRIPTS = (
    ("superscript", re.compile(r"\^([^\s^]{1,100})\^")),
    ("subscript", re.compile(r"~([^\s~]{1,100})~")),
)
_CHARACTER = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPED = re.compile(r"\\(?=[*_`#^~{<\[+])")
_DASH = re.compile(r"(?<=\w)--(?=\w)| -- ")


class Inline:
    """Turn lines into words; `attributes` are the file's own, `titles` those of its sections by their names."""

    def __init__(self) -> None:
        self.attributes: dict[str, str] = {}
        self.titles: dict[str, str] = {}

    def plain(self, text: str) -> str:
        """Give the words alone."""
        return " ".join(self.rich(text).text.split())

    def rich(self, text: str) -> RichText:
        """Give the words with the references in them."""
        text = _ATTRIBUTE.sub(self._value, text)
        rich, at = RichText(), 0
        for found in _LINKS.finditer(text):
            if found.start() and text[found.start() - 1] == "\\":
                continue
            rich.add(_unmarked(text[at : found.start()]))
            self._link(rich, found)
            at = found.end()
        rich.add(_unmarked(text[at:]))
        return rich

    def _value(self, found: re.Match[str]) -> str:
        name = found["name"].lower()
        if found.group().startswith("\\"):
            return found.group()[1:]
        return self.attributes.get(name, _CHARACTERS.get(name, found.group()))

    def _link(self, rich: RichText, found: re.Match[str]) -> None:
        start = len(rich)
        if (cross := found["cross"]) is not None or (found["target"] and found.group().startswith("xref")):
            target = (cross or found["target"]).strip()
            file, hash_, inner = target.partition("#")
            words = (found["crosswords"] if cross is not None else found["words"]) or ""
            name = inner if hash_ and not file else target
            rich.add(_unmarked(words.strip()) or self.titles.get(name, name))
            if "#" in target and file:
                rich.mark(start, ReferenceKind.LINK, target)
            else:
                rich.mark(start, None, f"#{_name_of(name, self.titles)}")
        elif found["url"] is not None or found["target"] is not None:
            address = found["url"] or found["target"]
            words = found["urlwords"] if found["url"] is not None else found["words"]
            kept = address if words is not None else address.rstrip(".,;:)!?")
            rich.add(_unmarked((words or "").split(",")[0].rstrip("^")) or kept)
            rich.mark(start, ReferenceKind.LINK, kept)
            rich.add(address[len(kept) :])
        elif found["note"] is not None:
            rich.add(f" ({_unmarked(found['note'])})")
        elif found["bib"] is not None:
            rich.add(f"[{found['bib']}]")
        else:
            shown = next((found[name] for name in ("macro", "alt", "indexed") if found[name] is not None), "")
            rich.add(shown)


def _name_of(name: str, titles: dict[str, str]) -> str:
    """Give the name of a section that a reference calls by its title."""
    if " " not in name:
        return name
    return next((known for known, title in titles.items() if title == name and " " not in known), name)


def _unmarked(text: str) -> str:
    """Take the marks of emphasis and code away; write raised and lowered digits, and named characters, as such."""
    if not any(mark in text for mark in "*_`#^~+\\-&"):
        return text
    text = _CHARACTER.sub(lambda found: html.unescape(found.group()), text)
    text = _ROLE.sub("", text)
    kept: list[str] = []
    for pattern in _MARKED[:3]:  # what is in code is no markup

        def keep(found: re.Match[str]) -> str:
            kept.append(found.group(1))
            return f"\x00{len(kept) - 1}\x00"

        text = pattern.sub(keep, text)
    for place, pattern in _SCRIPTS:
        text = pattern.sub(lambda found, place=place: raised_or_lowered(found[1], place), text)
    for pattern in _MARKED[3:]:
        text = pattern.sub(r"\1", text)
    text = _DASH.sub(lambda found: "—" if len(found.group()) == 2 else " — ", _ESCAPED.sub("", text))
    return re.sub("\x00(\\d{1,9})\x00", lambda found: kept[int(found.group(1))], text)


_CELL = re.compile(
    r"(?:(?<=\s)|^)(?:(?P<times>\d{1,3})\*)?(?:(?P<columns>\d{1,3})?(?:\.(?P<rows>\d{1,3}))?\+)?"
    r"(?:[<^>])?(?:\.[<^>])?[adehlmsv]?\|",
    re.MULTILINE,
)
_REPEATED = re.compile(r"(?P<times>\d{1,3})\*")
_SEPARATORS = {",": ",", ":": ":"}
_MOST_COLUMNS = 1000


def table_of(line: str, inside: Sequence[str], attributes: Mapping[str, str], inline: Inline) -> Piece:
    """Write the table between two delimiters.

    Args:
        line: its delimiter; `,===` and `:===` hold separated values.
        inside: its lines.
        attributes: `cols`, `format`.
        inline: reads the words of its cells.

    Raises:
        Refusal: it has more columns than can be read.
    """
    kind = {"csv": ",", "dsv": ":", "tsv": "\t"}.get(attributes.get("format", "").lower(), _SEPARATORS.get(line[0], ""))
    cells = TableCells()
    if kind:
        for row in csv.reader(io.StringIO("\n".join(inside)), delimiter=kind):
            cells.row()
            for words in row:
                cells.open()
                cells.close(inline.rich(words))
        return cells.piece()
    found = list(_cells("\n".join(inside).replace("!", "|") if line[0] == "!" else "\n".join(inside)))
    columns = _columns(attributes.get("cols", "")) or _first_row(inside)
    if columns > _MOST_COLUMNS:
        raise Refusal("too_large", f"A table has {columns} columns, more than {_MOST_COLUMNS}.")
    reaching = [0] * columns  # rows that a cell above still reaches down into each column
    at = columns
    for words, wide, deep in found:
        while at < columns and reaching[at]:
            reaching[at] -= 1
            at += 1
        if at >= columns:
            cells.row()
            at = 0
            while at < columns and reaching[at]:
                reaching[at] -= 1
                at += 1
        cells.open(wide, deep)
        cells.close(inline.rich(words))
        for column in range(at, min(at + wide, columns)):
            reaching[column] = deep - 1
        at += wide
    return cells.piece()


def _cells(text: str) -> Iterator[tuple[str, int, int]]:
    """Give each cell's words, and how many columns and rows it spans."""
    text = text.replace("\\|", "\x00")
    marks = list(_CELL.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        words = text[mark.end() : following.start() if following is not None else len(text)]
        for _ in range(int(mark["times"] or 1)):
            yield words.replace("\x00", "|").strip(), int(mark["columns"] or 1), int(mark["rows"] or 1)


def _columns(named: str) -> int:
    """Count the columns that `cols` names: `3*`, `1,2a,^3`, `3`."""
    total = 0
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", named))):
        repeated = _REPEATED.match(part)
        total += int(repeated["times"]) if repeated else 1
    return total


def _first_row(inside: Sequence[str]) -> int:
    first = next((line for line in inside if line.strip()), "")
    return max(sum(wide for _, wide, _ in _cells(first)), 1)

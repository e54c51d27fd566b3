"""Child process: AsciiDoc's inline text without its marks, with its references; and attribute lists."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from knowledge_mcp.language.openings import ADMONITIONS
from knowledge_mcp.model.document import HiddenReason, ReferenceKind
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered

ATTRIBUTES = re.compile(r"\[(?P<inside>[^\[\]]{0,1000})\]")
"""A line of attributes above a block."""
_PARTS = re.compile(r'[^,"]*"[^"]*"|[^,]+')


def _listed(inside: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each attribute of a list; the name is empty for positional attributes."""
    for part in _PARTS.findall(inside):
        name, equals, value = part.strip().partition("=")
        yield (name.strip().lower(), value.strip().strip('"')) if equals else ("", name)


PROVISIONS = frozenset({"requirement", "recommendation", "permission"})
"""Styles of blocks that contain one, as OGC and Metanorma write them."""


@dataclass(slots=True)
class Marks:
    """The marks before a block: its title, names, style, role and attributes."""

    title: str = ""
    names: list[str] = field(default_factory=list[str])
    style: str = ""
    role: str = ""
    attributes: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, inside: str) -> None:
        """Read an attribute list: `NOTE`, `source,c`, `#id.role`, `cols="1,2",options=header`."""
        for place, (name, value) in enumerate(_listed(inside)):
            if name:
                self.attributes[name] = value
            elif not place:
                self._shorthand(value)
            else:
                self.attributes.setdefault(str(place + 1), value)
        if self.attributes.get("id"):
            self.names.append(self.attributes["id"])

    @property
    def provision(self) -> str:
        """Return the identifier of the requirement in the block, if its attributes state one."""
        stated = self.attributes.get("identifier") or self.attributes.get("label", "")
        return stated if self.style in PROVISIONS else ""

    def _shorthand(self, part: str) -> None:
        pieces = re.split(r"([#.%])", part)
        self.style = pieces[0] or self.style
        for mark, value in zip(pieces[1::2], pieces[2::2], strict=False):
            if mark == "#" and value:
                self.names.append(value)
            elif mark == "." and value:
                self.role = value
            elif mark == "%" and value:
                known = self.attributes.get("options", "")
                self.attributes["options"] = f"{known},{value}".strip(",")


def captioned(line: str, marks: Marks) -> str:
    """Return what the title before a block names, for which AsciiDoc prints a label; empty for other blocks."""
    if line[1:2] == "=" and line[0] in {"|", ",", ":", "!"}:
        return "table"
    if line.startswith("image::"):
        return "figure"
    is_example = line.startswith("====") and marks.style.lower() not in {*ADMONITIONS, *PROVISIONS}
    return "example" if is_example else ""


def words_of_image(inside: str) -> tuple[str, str]:
    """Return a picture's alternative text and title from the attributes of its macro; empty if it has none."""
    listed = list(_listed(inside))
    first = "".join(value.strip('"') for name, value in listed[:1] if not name)
    named = dict(listed)
    return named.get("alt", first), named.get("title", "")


_NAME = r"\w[\w-]{0,60}"
_ATTRIBUTE = re.compile(
    rf"\\?\{{(?:(?P<name>{_NAME})|counter(?P<silent>2?):(?P<counter>{_NAME})(?::(?P<seed>\d{{1,9}}|[A-Za-z]))?)\}}"
)
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
    r"|footnote(?:ref)?:(?P<recalled>[\w-]{0,60})\[(?P<note>[^\[\]]{0,2000})\]"
    r"|\b(?:kbd|btn|menu|stem|latexmath|asciimath|pass|indexterm2|term|alt|preferred|admitted|domain):[\w,]{0,60}\[(?P<macro>[^\[\]]{0,1000})\]"
    r"|\b(?:anchor|indexterm|bibanchor):[^\s\[\]]{0,300}\[[^\[\]]{0,500}\]"
    r"|\bimage::?[^\s\[\]:]{1,500}\[(?P<alt>[^\[\]]{0,500})\]"
    r"|\[\[\[(?P<bib>[^\[\],]{1,200})(?:,(?P<label>[^\[\]]{0,200}))?\]\]\]"
    r"|\[\[[^\[\]]{1,300}\]\]"
    r"|\(\(\([^()]{1,300}\)\)\)"
    r"|\(\((?P<indexed>[^()]{1,300})\)\)"
    r"|\b[a-z]\w{0,30}:(?:(?P<named>[\w.-]{1,100})\[\]|:\[(?P<within>[\w.-]{1,100})\])"
)
"""The last ones are macros of a project's own; only the name in them is printed."""
_PLACE = re.compile(
    r"\s*(?:annex|appendix|chapter|clause|figure|page|part|section|subclause|table)s?[ =]", re.IGNORECASE
)
"""How words of a reference begin that only name a place in the other document."""
_KEPT_LINK = re.compile("\x01(\\d{1,9})\x01")
_ROLE = re.compile(r"\[(?:[.#][\w.#%:-]{1,200}|role=\"[^\"\[\]]{0,200}\"|[a-z][\w -]{0,60}(?=\]#))\](?=[#*_`^~])")
_STRUCK = re.compile(
    r"(?<![`\\])\[(?:role=\"?|\.)?(?:[\w-]{1,40}[. ]){0,3}line-through(?:[. ][\w-]{1,40}){0,3}\"?\]"
    r"(?:##(?P<within>[^#]{1,2000})##|#(?=\S)(?P<words>[^#]{1,2000})(?<=\S)#)"
)
"""Words with the role that strikes them out."""
_MARKED = (
    re.compile(r"(?<![\w\\`])`\+([^`+]{1,500})\+`(?!\w)"),
    re.compile(r"(?<![\w\\`])`(?=\S)([^`]{1,500})(?<=\S)`(?![\w`])"),
    re.compile(r"``([^`]{1,500})``"),
    re.compile(r"\*\*([^*]{1,2000})\*\*"),
    re.compile(r"(?<![\w\\*])\*(?=\S)([^*]{1,2000})(?<=\S)\*(?![\w*])"),
    re.compile(r"__([^_]{1,2000})__"),
    re.compile(r"(?<![\w\\_])_(?=\S)([^_]{1,2000})(?<=\S)_(?![\w_])"),
    re.compile(r"##([^#]{1,2000})##"),
    re.compile(r"(?<![\w\\#&])#(?=\S)([^#]{1,2000})(?<=\S)#(?![\w#])"),
    re.compile(r"(?<![\w\\+])\+{1,3}(?=\S)([^+\n]{1,500})(?<=\S)\+{1,3}(?![\w+])"),
)
"""Marks of code and emphasis, across the lines of a paragraph: a whole sentence may be marked."""
_SCRIPTS = (
    ("superscript", re.compile(r"\^([^\s^]{1,100})\^")),
    ("subscript", re.compile(r"~([^\s~]{1,100})~")),
)
_CHARACTER = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPED = re.compile(r"\\(?=[*_`#^~{<\[+])")
_DASH = re.compile(r"(?<=\w)--(?=\w)| -- ")


class Inline:
    """Convert inline text.

    `attributes` are the file's own, `titles` those of its sections by their names, `cited` the labels of its
    bibliography.
    """

    def __init__(self) -> None:
        self.attributes: dict[str, str] = {}
        self.titles: dict[str, str] = {}
        self.cited: dict[str, str] = {}
        self._notes: dict[str, str] = {}  # footnotes by the names that further marks of them have

    def plain(self, text: str) -> str:
        """Return only the words."""
        return " ".join(self.rich(text).text.split())

    def rich(self, text: str) -> RichText:
        """Return the words with their references."""
        text = _ATTRIBUTE.sub(self._value, text.replace("\x01", ""))
        links: list[re.Match[str]] = []
        rich, at = RichText(), 0

        def strike(found: re.Match[str]) -> str:
            rich.hidden[HiddenReason.STRUCK] += nonblank_length(found["within"] or found["words"])
            return ""

        text = _STRUCK.sub(strike, text) if "line-through" in text else text

        def keep(found: re.Match[str]) -> str:
            if found.start() and text[found.start() - 1] == "\\":
                return found.group()
            links.append(found)
            return f"\x01{len(links) - 1}\x01"

        words = _unmarked(_LINKS.sub(keep, text))  # a link may be inside marked words
        for place in _KEPT_LINK.finditer(words):
            rich.add(words[at : place.start()])
            self._link(rich, links[int(place[1])])
            at = place.end()
        rich.add(words[at:])
        return rich

    def _value(self, found: re.Match[str]) -> str:
        if found.group().startswith("\\"):
            return found.group()[1:]
        if found["counter"] is not None:
            counted = self._count(found["counter"].lower(), found["seed"] or "1")
            return "" if found["silent"] else counted
        name = found["name"].lower()
        return self.attributes.get(name, _CHARACTERS.get(name, found.group()))

    def _count(self, name: str, seed: str) -> str:
        """Advance a counter, a number or a letter."""
        last = self.attributes.get(name, "")
        number = int(last) + 1 if last.isdecimal() and len(last) < 10 else 0  # longer than any seed
        self.attributes[name] = (
            str(number) if number else chr(ord(last) + 1) if re.fullmatch("[A-Za-z]", last) else seed
        )
        return self.attributes[name]

    def _link(self, rich: RichText, found: re.Match[str]) -> None:
        start = len(rich)
        if (cross := found["cross"]) is not None or (found["target"] and found.group().startswith("xref")):
            target = (cross or found["target"]).strip()
            file, hash_, inner = target.partition("#")
            words = (found["crosswords"] if cross is not None else found["words"]) or ""
            name = inner if hash_ and not file else target
            rich.add(self._cited(name, words) or _unmarked(words.strip()) or self.titles.get(name, name))
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
            note = _unmarked(found["note"]) or self._notes.get(found["recalled"], "")
            self._notes[found["recalled"]] = note
            rich.add(f" ({note})" if note else "")
        elif found["bib"] is not None:
            rich.add(f"[{(found['label'] or found['bib']).strip()}]")
        else:
            words = found["macro"] or found["indexed"] or found["named"] or found["within"]
            rich.add(words or " ".join(filter(None, words_of_image(found["alt"] or ""))))

    def take_cited(self, line: str) -> None:
        """Take the labels of the bibliography's entries in a line."""
        for found in _LINKS.finditer(line) if "[[[" in line else ():
            if found["label"]:
                self.cited[found["bib"].strip()] = found["label"].strip()

    def _cited(self, name: str, words: str) -> str:
        """Return what a reference to another document shows: its label, and the place in it; else ""."""
        label = self.cited.get(name, "")
        if not label or (words.strip() and not _PLACE.match(words)):
            return ""
        place = " ".join(words.replace("=", " ").split())
        return f"{label}, {place}" if place else label if any(map(str.isalpha, label)) else f"[{label}]"


def _name_of(name: str, titles: dict[str, str]) -> str:
    """Return the name of the section whose title a reference uses."""
    if " " not in name:
        return name
    return next((known for known, title in titles.items() if title == name and " " not in known), name)


def _unmarked(text: str) -> str:
    """Remove the marks of emphasis and code; convert superscripts, subscripts and character references."""
    if not any(mark in text for mark in "*_`#^~+\\-&"):
        return text
    text = _CHARACTER.sub(lambda found: html.unescape(found.group()), text)
    text = _ROLE.sub("", text)
    kept: list[str] = []
    for pattern in _MARKED[:3]:  # markup inside code is not interpreted

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

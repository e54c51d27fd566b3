"""In the child: the words within a line of AsciiDoc, without their marks; references keep where they lead."""

from __future__ import annotations

import re

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.shared.richtext import RichText

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
    re.compile(r"\^([^\s^]{1,100})\^"),
    re.compile(r"~([^\s~]{1,100})~"),
    re.compile(r"(?<![\w\\+])\+{1,3}(\S[^+\n]{0,500})\+{1,3}(?![\w+])"),
)
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
    """Take the marks of emphasis and code away."""
    if not any(mark in text for mark in "*_`#^~+\\-"):
        return text
    text = _ROLE.sub("", text)
    kept: list[str] = []
    for pattern in _MARKED[:3]:  # what is in code is no markup

        def keep(found: re.Match[str]) -> str:
            kept.append(found.group(1))
            return f"\x00{len(kept) - 1}\x00"

        text = pattern.sub(keep, text)
    for pattern in _MARKED[3:]:
        text = pattern.sub(r"\1", text)
    text = _DASH.sub(lambda found: "—" if len(found.group()) == 2 else " — ", _ESCAPED.sub("", text))
    return re.sub("\x00(\\d{1,9})\x00", lambda found: kept[int(found.group(1))], text)

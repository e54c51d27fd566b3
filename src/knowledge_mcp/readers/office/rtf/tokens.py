"""Child process: the tokens of rich text, what its groups are, and the letters of its fonts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from knowledge_mcp.support.charsets import letters_for_symbols

TOKEN = re.compile(
    r"\\(?:(?P<word>[A-Za-z]{1,40})(?P<number>-?\d{1,9})? ?|'(?P<byte>[0-9A-Fa-f]{2})|(?P<sign>[^A-Za-z']))"
    r"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\",
    re.DOTALL,
)
SIGNS = {
    "bullet": "•", "emdash": "—", "emspace": " ", "endash": "–", "enspace": " ", "ldblquote": "“", "line": "\n",
    "lquote": "‘", "nestcell": " ", "nestrow": " ", "qmspace": " ", "rdblquote": "”", "rquote": "’", "tab": " ",
    "~": " ", "_": "-", "\\": "\\", "{": "{", "}": "}",
}  # fmt: skip
SKIPPED = frozenset(
    "colortbl fldinst footer footerf footerl footerr ftnsep ftnsepc header headerf headerl headerr info nonesttables"
    " nonshppict pict shprslt sp".split()
)
"""Groups without words of the text; all that begin with `\\*` are such too, except these."""
ENTERED = frozenset({"moMathPara", "shpinst", "ud"})

_SYMBOLS = 2
_PAGES = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 254: "cp437",
}  # fmt: skip
"""Code pages of fonts by their character set."""
_OF_FILES = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850", "ansi": "cp1252"}


@dataclass(slots=True)
class Fonts:
    """The fonts of a file by number: their names and character sets; `page` is the code page of the file."""

    page: str = "cp1252"
    current: int = 0
    names: dict[int, str] = field(default_factory=dict[int, str])
    sets: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, word: str, number: int) -> None:
        """Take the code page of the file."""
        if word in _OF_FILES:
            self.page = _OF_FILES[word]
        elif word == "ansicpg":
            self.page = {10000: "mac_roman", 65001: "utf-8"}.get(number, f"cp{number}")

    def decoded(self, data: bytes, font: int) -> str:
        """Decode bytes in a font."""
        charset = self.sets.get(font, 1)
        if charset == _SYMBOLS:
            private = "".join(chr(0xF000 + byte) if byte > 0x20 else chr(byte) for byte in data)
            return letters_for_symbols(private, self.names.get(font, "Symbol"))[0]
        page = self.page if charset in {0, 1} else _PAGES.get(charset, self.page)
        try:
            return data.decode(page, "replace")
        except LookupError:
            return data.decode("cp1252", "replace")

"""What a document is called: its title, and what of its file's name its first lines confirm.

The largest print of a report may be the name of the authority that receives it, or its kind ("Annual Report"); whoever
filed it put company and year into the file's name. Written as the first lines write them, these words tell of every
passage whose it is.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote

from knowledge_mcp.model.document import Document

__all__ = ["called"]

_LOOKED_AT = 4000
"""Code points of a document in which its name has to stand."""
_MOST = 6
"""Words of a file's name that are put before a title."""
_LONG = 8
"""Words of a title from which on it no longer tells at once what the document is."""

_WORDS = re.compile(r"[^\W_]+")
_BETWEEN = re.compile(r"[^\w.\-&/]+")
_PIECES = re.compile(r"[^\W\d_]+|\d+")


def called(document: Document) -> str:
    """Return the title, with the words of the file's name before it that it lacks and that the first lines hold.

    Before a long title stand also those that it has: "ACME 2023: Report of the Commission on ... to Acme". Nothing is
    added where the first lines confirm no word of three letters or more: such names are made by machines. Of words only
    those count that are written with a capital there. What is one word in the file's name may be several in the text
    ("HARBOURMASTER", "Harbour Master").
    """
    title = " ".join(document.title.split())
    opening = _Written(document.text[:_LOOKED_AT])
    in_title = _Written(title)
    is_long = len(title.split()) > _LONG
    told: list[str] = []
    confirmed = missing = False
    for word in _stem(document.source_uri):
        whole = in_title.find(word) or opening.find(word)
        for piece in [word] if whole else _PIECES.findall(word):
            if len(piece) == 1:
                continue  # tells nothing, and stands everywhere
            known = in_title.find(piece)
            written = known or opening.find(piece)
            confirmed = confirmed or (bool(written) and piece.isalpha() and len(piece) > 2)
            if written != written.lower() or (written and piece.isdecimal()):
                missing = missing or not known
                told += [written] if is_long or not known else []
    if not confirmed or not missing:
        return title
    return f"{' '.join(dict.fromkeys(told[:_MOST]))}: {title}" if title else " ".join(dict.fromkeys(told[:_MOST]))


def _stem(source: str) -> list[str]:
    path = re.split(r"[?#]", source, maxsplit=1)[0] if "://" in source else source
    return _WORDS.findall(PurePosixPath(unquote(path)).stem)


class _Written:
    """Find words in a text whatever their case, and whatever stands between their letters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._letters = "".join(_WORDS.findall(text)).casefold()
        self._borders: tuple[dict[int, int], dict[int, int]] | None = None

    def find(self, word: str) -> str:
        """Return whole words of the text that are this one, as they are written; empty where there are none."""
        wanted = word.casefold()
        place = self._letters.find(wanted)
        while place >= 0:
            begins, ends = self._bordered()
            if place in begins and place + len(wanted) in ends:
                found = self._text[begins[place] : ends[place + len(wanted)]]
                return " ".join(_BETWEEN.sub(" ", found).split())
            place = self._letters.find(wanted, place + 1)
        return ""

    def _bordered(self) -> tuple[dict[int, int], dict[int, int]]:
        """Map where words begin and end among the letters to where they do in the text; worked out at the first hit."""
        if self._borders is None:
            begins: dict[int, int] = {}
            ends: dict[int, int] = {}
            length = 0
            for word in _WORDS.finditer(self._text):
                begins[length] = word.start()
                length += len(word.group().casefold())
                ends[length] = word.end()
            self._borders = begins, ends
        return self._borders

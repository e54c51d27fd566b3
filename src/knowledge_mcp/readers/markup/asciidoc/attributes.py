"""In the child: lists of attributes in AsciiDoc, above a block or in the macro of a picture."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_PARTS = re.compile(r'[^,"]*"[^"]*"[^,"]*|[^,]+')
_NAMED = re.compile(r"\s*+(?P<name>[A-Za-z][\w-]*+)\s*+=(?P<value>.*)", re.DOTALL)


@dataclass(slots=True)
class Marks:
    """What stands before a block: its title, its names, its style and attributes."""

    title: str = ""
    names: list[str] = field(default_factory=list[str])
    style: str = ""
    attributes: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, inside: str) -> None:
        """Read an attribute list: `NOTE`, `source,c`, `#id.role`, `cols="1,2",options=header`."""
        for place, part in enumerate(re.findall(r'[^,"]*"[^"]*"|[^,]+', inside)):
            name, equals, value = part.strip().partition("=")
            if equals:
                self.attributes[name.strip().lower()] = value.strip().strip('"')
            elif not place:
                self._shorthand(part.strip())
            else:
                self.attributes.setdefault(str(place + 1), part.strip())
        if self.attributes.get("id"):
            self.names.append(self.attributes["id"])

    def _shorthand(self, part: str) -> None:
        pieces = re.split(r"([#.%])", part)
        self.style = pieces[0] or self.style
        for mark, value in zip(pieces[1::2], pieces[2::2], strict=False):
            if mark == "#" and value:
                self.names.append(value)
            elif mark == "%" and value:
                known = self.attributes.get("options", "")
                self.attributes["options"] = f"{known},{value}".strip(",")


def words_of_image(inside: str) -> tuple[str, str]:
    """Give what stands for a picture, and its title, by the attributes of its macro; empty where it has none."""
    words, named = "", dict[str, str]()
    for place, part in enumerate(_PARTS.findall(inside)):
        given = _NAMED.fullmatch(part)
        if given:
            named[given["name"].lower()] = given["value"].strip().strip('"')
        elif not place:
            words = part.strip().strip('"')
    return named.get("alt", words), named.get("title", "")

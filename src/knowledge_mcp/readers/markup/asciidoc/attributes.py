"""In the child: lists of attributes in AsciiDoc, above a block or in the macro of a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

ATTRIBUTES = re.compile(r"\[(?P<inside>[^\[\]]{0,1000})\]")
"""A line of attributes above a block."""
_PARTS = re.compile(r'[^,"]*"[^"]*"|[^,]+')


def _listed(inside: str) -> Iterator[tuple[str, str]]:
    """Yield the name, empty where there is none, and the value of each attribute of a list."""
    for part in _PARTS.findall(inside):
        name, equals, value = part.strip().partition("=")
        yield (name.strip().lower(), value.strip().strip('"')) if equals else ("", name)


@dataclass(slots=True)
class Marks:
    """What stands before a block: its title, its names, its style and attributes."""

    title: str = ""
    names: list[str] = field(default_factory=list[str])
    style: str = ""
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
    listed = list(_listed(inside))
    first = "".join(value.strip('"') for name, value in listed[:1] if not name)
    named = dict(listed)
    return named.get("alt", first), named.get("title", "")

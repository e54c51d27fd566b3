"""Commentary that Word documents print beside their rules: in text boxes, shaded or framed, or in a style of its own.

It begins with a word for commentary, alone or before its first words; the looks of its paragraphs show where it ends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from knowledge_mcp.language.openings import commentary_label
from knowledge_mcp.readers.docx.inline import words_in
from knowledge_mcp.readers.shared.containers import Element, attribute, child

_Look = tuple[str, bool]
"""What sets paragraphs apart: the fill, or the style if there is none; and whether they are framed."""


def is_boxed_commentary(box: Element) -> bool:
    """Return whether the first words in a text box are those for commentary."""
    first = next((words for part in box.iter("{*}p") if (words := words_in(part))), "")
    return bool(commentary_label(first))


class Commentary:
    """Follow the paragraphs of a document, and say which of them are commentary."""

    def __init__(self) -> None:
        self._text: _Look | None = None  # of the last paragraph that is no commentary
        self._own: set[_Look] | None = None  # of the commentary that is open
        self._label_alone = self._in_box = False

    def holds(self, style: str | None, properties: Element | None, text: str, clause: str) -> bool:
        """Return whether the next paragraph, which is in a clause, is commentary."""
        if self._in_box:
            return True
        look, label = _look_of(style, properties), commentary_label(text)
        label = label or (f"C{clause}" if clause and text.split(maxsplit=1)[:1] == [f"C{clause}"] else "")
        if label:
            self._own, self._label_alone = {look}, label == text.rstrip(" :.")
        elif self._own is not None and look != self._text and (look in self._own or self._label_alone):
            self._own.add(look)
            self._label_alone = False
        else:
            self.end()
            self._text = look
        return self._own is not None

    def end(self) -> None:
        """End the commentary at a heading."""
        self._own, self._label_alone = None, False

    @contextlib.contextmanager
    def boxed(self, box: Element) -> Generator[None]:
        """Read a text box, all of which is commentary if it begins as such; what is around it goes on after it."""
        before = self._text, self._own, self._label_alone, self._in_box
        self._in_box = self._in_box or is_boxed_commentary(box)
        try:
            yield
        finally:
            self._text, self._own, self._label_alone, self._in_box = before


def _look_of(style: str | None, properties: Element | None) -> _Look:
    shading = child(properties, "shd")
    fill = attribute(shading, "fill") if shading is not None else None
    is_framed = child(properties, "pBdr") is not None
    return (f"fill {fill}" if fill not in {None, "auto", "FFFFFF"} else style or "", is_framed)

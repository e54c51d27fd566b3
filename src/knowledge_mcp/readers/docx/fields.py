"""Word fields: instruction and result, nested and across paragraphs, and the counters of captions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.richtext import RichText

__all__ = ["Fields"]

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_MAX_NESTING = 50


@dataclass(slots=True)
class _Field:
    instruction: str = ""
    in_result: bool = False
    start: int = 0


class Fields:
    """Follow the fields of a document; text is shown only while no open field is still in its instruction."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._sequences: dict[str, int] = {}
        self.saw_page_reference = False

    @property
    def hides_text(self) -> bool:
        """Tell whether what comes now belongs to an instruction."""
        return any(not field.in_result for field in self._open)

    @property
    def in_contents(self) -> bool:
        """Tell whether the result of a table of contents or an index is open."""
        return any(_words(field.instruction)[:1] in (["TOC"], ["INDEX"]) for field in self._open)

    def begin_paragraph(self) -> None:
        """Start a paragraph: results go on from the last one, instructions never do (that is a damaged field)."""
        self._open = [field for field in self._open if field.in_result]
        self.saw_page_reference = False
        for field in self._open:
            field.start = 0

    def forget(self) -> None:
        """Drop all open fields; a heading cannot stand inside one."""
        self._open.clear()

    def begin(self, instruction: str = "") -> None:
        """Open a field."""
        if len(self._open) < _MAX_NESTING:
            self._open.append(_Field(instruction))

    def instruct(self, text: str) -> None:
        """Take a piece of the innermost field's instruction."""
        if self._open and not self._open[-1].in_result:
            self._open[-1].instruction += text

    def separate(self, text: RichText) -> None:
        """Go over to the innermost field's result."""
        if self._open:
            self._open[-1].in_result = True
            self._open[-1].start = len(text)

    def end(self, text: RichText) -> str | None:
        """Close the innermost field and mark its result; returns the label of the sequence that a SEQ field counts."""
        if not self._open:
            return None
        field = self._open.pop()
        words = _words(field.instruction)
        if not words:
            return None
        name, arguments = words[0], words[1:]
        start = field.start if field.in_result else len(text)
        if name == "PAGEREF":
            self.saw_page_reference = True
        elif name == "REF" and arguments:
            text.mark(start, None, f"#{arguments[0]}")
        elif name == "HYPERLINK" and arguments:
            _mark_hyperlink(text, start, arguments)
        elif name == "SEQ" and arguments:
            return self._count(text, start, arguments)
        return None

    def _count(self, text: RichText, start: int, arguments: list[str]) -> str:
        """Count a caption; the number is written only where Word left no result."""
        label = arguments[0]
        switches = [a.lower() for a in arguments[1:]]
        number = self._sequences.get(label, 0)
        if "\\r" in switches and (after := arguments[switches.index("\\r") + 2 :]) and after[0].isdigit():
            number = int(after[0])
        elif "\\c" not in switches:
            number += 1
        self._sequences[label] = number
        if not text.text[start:].strip() and "\\h" not in switches:
            text.add(str(number))
        return label


def _words(instruction: str) -> list[str]:
    words = [quoted or bare for quoted, bare in _WORD.findall(instruction)]
    return [words[0].upper(), *words[1:]] if words else []


def _mark_hyperlink(text: RichText, start: int, arguments: list[str]) -> None:
    if "\\l" in arguments:
        place = arguments.index("\\l") + 1
        if place < len(arguments):
            text.mark(start, None, f"#{arguments[place]}")
    elif not arguments[0].startswith("\\"):
        text.mark(start, ReferenceKind.LINK, arguments[0])

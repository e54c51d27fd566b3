"""Fields of a Word document: their references and sequences, and their text where the file holds no result."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.shared.containers import Element, child, is_on, local_name, value
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import RichText
from knowledge_mcp.support.charsets import letters_for_symbols

_WORD = re.compile(r'"([^"]*)"|(\S+)')
_MAX_NESTING = 50
_COUNTED = frozenset({"AUTONUM", "AUTONUMLGL", "AUTONUMOUT", "LISTNUM"})
"""Fields whose numbers Word recomputes each time it opens the file, from the headings and lists around them."""


@dataclass(slots=True)
class _Field:
    instruction: str = ""
    in_result: bool = False
    start: int = 0
    form: Element | None = None


class Fields:
    """Track the open fields of a document. Text is visible only if no open field is still in its instruction."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._sequences: dict[str, int] = {}
        self.saw_page_reference = False
        self.numbers_unread = 0

    @property
    def hides_text(self) -> bool:
        """Return whether the next text belongs to a field instruction."""
        return any(not field.in_result for field in self._open)

    @property
    def in_contents(self) -> bool:
        """Return whether the result of a table of contents or an index is open."""
        return any(_words(each.instruction)[:1] in (["TOC"], ["INDEX"]) for each in self._open)

    @property
    def collected(self) -> dict[str, int]:
        """Return the styles that the open tables of contents collect, as `styles_of_contents` does."""
        return {name: level for each in self._open for name, level in styles_of_contents(each.instruction).items()}

    def begin_paragraph(self, start: int = 0) -> None:
        """Start a paragraph, or continue it at `start`.

        Open results continue in the next paragraph. Open instructions are dropped: the field is damaged.
        """
        self._open = [each for each in self._open if each.in_result]
        self.saw_page_reference = False
        for each in self._open:
            each.start = start

    def forget(self) -> None:
        """Drop all open fields; a heading cannot be inside one."""
        self._open.clear()

    def begin(self, instruction: str = "", *, form: Element | None = None) -> None:
        """Open a field; `form` is the data of a form field."""
        if len(self._open) < _MAX_NESTING:
            self._open.append(_Field(instruction, form=form))

    def instruct(self, text: str) -> None:
        """Append text to the instruction of the innermost field."""
        if self._open and not self._open[-1].in_result:
            self._open[-1].instruction += text

    def separate(self, text: RichText) -> None:
        """Switch the innermost field from its instruction to its result."""
        if self._open:
            self._open[-1].in_result = True
            self._open[-1].start = len(text)

    def end(self, text: RichText) -> str | None:
        """Close the innermost field and mark its result; return the sequence name of a SEQ field, else None."""
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
        elif not self.hides_text and not text.text[start:].strip():
            text.add(self._unkept(name, field))
        return None

    def _unkept(self, name: str, field: _Field) -> str:
        """Return what Word shows for a field whose result is not in the file."""
        rest = field.instruction.strip().partition(" ")[2].strip()
        words = _words(rest)
        if name == "MACROBUTTON":
            return rest.partition(" ")[2].strip()
        if name == "SYMBOL" and words:
            return _symbol(words)
        if name == "EQ":
            return f" {_equation(rest)} "
        self.numbers_unread += name in _COUNTED
        if name in {"FORMDROPDOWN", "FORMCHECKBOX"} and field.form is not None:
            return _form_value(field.form)
        return ""

    def _count(self, text: RichText, start: int, arguments: list[str]) -> str:
        """Count a caption; the number is written only if the file holds no result."""
        label = arguments[0]
        switches = [a.lower() for a in arguments[1:]]
        number = self._sequences.get(label, 0)
        after = arguments[switches.index("\\r") + 2 :][:1] if "\\r" in switches else []
        restart = whole_number(after[0], None) if after else None
        if restart is not None:
            number = restart
        elif "\\c" not in switches:
            number += 1
        self._sequences[label] = number
        if not text.text[start:].strip() and "\\h" not in switches:
            text.add(str(number))
        return label


def styles_of_contents(instruction: str) -> dict[str, int]:
    """Return the styles that a TOC field names ("Clause title,1,Subclause,2") in lower case, with levels from 0.

    Empty for other fields and for lists of figures.
    """
    words = _words(instruction)
    switches = [word.lower() for word in words]
    if words[:1] != ["TOC"] or "\\t" not in switches[:-1] or "\\c" in switches:
        return {}
    listed = re.split(r"[,;]", words[switches.index("\\t") + 1])
    pairs = zip(listed[::2], listed[1::2], strict=False)
    levels = {name.strip().lower(): whole_number(level.strip(), None) for name, level in pairs}
    return {name: level - 1 for name, level in levels.items() if level}


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


# ---- fields without a result ----------------------------------------------------------------------------------------

_FRACTION = re.compile(r"\\f\s*\(([^(),;]*)[,;]([^(),;]*)\)", re.IGNORECASE)
_ROOT = re.compile(r"\\r\s*\(([^(),;]*)[,;]([^(),;]*)\)", re.IGNORECASE)
_OVERLAY = re.compile(r"\\o\s*(?:\\a[a-z]\s*)?\(([^(),;]*)[,;]([^(),;]*)\)", re.IGNORECASE)
_CIRCLES = "○〇◯⭕"
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]{1,6}")
_SWITCH = re.compile(r"\\[a-z]{1,2}\d*\s*", re.IGNORECASE)
_LONGEST_EQUATION = 2000


def _equation(instruction: str) -> str:
    """Write an EQ field from the inside out: fractions and roots as such, of everything else only the words."""
    text = instruction[:_LONGEST_EQUATION]
    for _ in range(_MAX_NESTING):
        inner = _FRACTION.sub(lambda match: f"{_bare(match[1])}/{_bare(match[2])}", text)
        inner = _ROOT.sub(lambda match: f"{match[1].strip()}√{_bare(match[2])}", inner)
        inner = _OVERLAY.sub(_overprinted, inner)
        if inner == text:
            break
        text = inner
    return " ".join(_SWITCH.sub("", text).replace("⟨", "(").replace("⟩", ")").split())


def _bare(text: str) -> str:
    """Enclose more than one word in brackets that the patterns do not mistake for those of a switch."""
    text = text.strip()
    return text if len(text) <= 1 or text.isalnum() else f"⟨{text}⟩"


def _overprinted(match: re.Match[str]) -> str:
    """Write overprinted characters: a number in a circle becomes a number in brackets."""
    under, over = match[1].strip(), match[2].strip()
    return f"⟨{over}⟩" if under and under in _CIRCLES else under + over


def _symbol(words: list[str]) -> str:
    code = words[0]
    number = int(code, 16) if _HEXADECIMAL.fullmatch(code) else whole_number(code, 0)
    font = next((after for switch, after in itertools.pairwise(words) if switch.lower() == "\\f"), "")
    if not 0 < number < 0xFFFF:
        return ""
    if number < 0x100 and re.search("symbol|ding", font, re.IGNORECASE):
        return letters_for_symbols(chr(0xF000 + number), font)[0]
    is_unicode = number > 0xFF or any(word.lower() == "\\u" for word in words)
    return chr(number) if is_unicode else bytes([number]).decode("cp1252", "replace")


def _form_value(form: Element) -> str:
    """Return the chosen entry of a drop-down list, or the state of a check box."""
    choices = child(form, "ddList")
    if choices is not None:
        entries = [value(each) or "" for each in choices if local_name(each) == "listEntry"]
        chosen = whole_number(value(choices, "result") or value(choices, "default"), 0)
        return entries[chosen] if chosen < len(entries) else ""
    box = child(form, "checkBox")
    if box is None:
        return ""
    name = "checked" if child(box, "checked") is not None else "default"
    return "☒" if is_on(box, name) else "☐"

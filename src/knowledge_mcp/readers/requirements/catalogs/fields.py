"""Child process: names and values of a file, however it writes them: JSON, YAML or XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from knowledge_mcp.readers.html.lines import source_line
from knowledge_mcp.readers.shared.containers import Element, check_depth, local_name, without_namespace
from knowledge_mcp.support.sandbox_worker import Refusal

_MOST_DEPTH = 100
"""Deepest nesting, as of other data files."""
MOST_FIELDS = 2_000_000
"""A catalogue of 10 MB has 300,000; aliases in YAML can make more of a small file than memory holds."""
_BLOCKS = frozenset("blockquote dd div dl dt h1 h2 h3 h4 h5 h6 ol p pre table tr ul".split())
"""Elements of HTML, and of OSCAL, that are paragraphs."""
_LINES = frozenset({"br", "li"})
_INLINE = frozenset("a abbr b cite code em i img insert q s small span strong sub sup td th tt u var".split())
_PLACES = {"insert": "id-ref", "sub": "idref"}
"""Elements in place of a parameter, with the attribute that names it: of OSCAL, of XCCDF."""
_NAMES_OF_XML = ("{http://www.w3.org/XML/", "{http://www.w3.org/2001/XMLSchema-instance}")
"""Beginnings of attributes that say nothing to readers: the language, the schema."""
_PLURAL = frozenset({"include-controls", "exclude-controls"})
"""Elements of OSCAL with names in the plural."""
_MARKUP = _BLOCKS | _LINES | _INLINE
_BLANKS = re.compile(r"[ \t\n\r\f\v]+")
_GAPS = re.compile(r"\n{3,}")
_INSIDE = re.compile(r"\[([^\[\]]{1,300})\]\(#[^()\s]{1,300}\)")
"""A link to a place in the file in Markdown, "[AC-2](#ac-2)", of which XML has the words."""
_ID = re.compile(
    r"id(?:(?<![\w.-]id)|(?<=uuid)(?<![\w.-]uuid))[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',{}\[\]]+)"
)  # begins with letters, so that the search for it is quick

LineOf: TypeAlias = Callable[[str], int]


@dataclass(slots=True, eq=False)
class Field:
    """A name with a value, with further fields, or both.

    Attributes:
        name: as XML has it, in the singular: "control" for the list `controls` in JSON.
        text: its value or its words; paragraphs are separated by blank lines.
        parts: the fields inside, in order; attributes in XML are the first.
        line: of the file, from 1; 0 if unknown.
    """

    name: str
    text: str = ""
    parts: list[Field] = field(default_factory=list["Field"])
    line: int = 0

    def all(self, *names: str) -> list[Field]:
        """List the fields inside with one of these names."""
        return [each for each in self.parts if each.name in names]

    def says(self, name: str) -> str:
        """Return the words of the first field of a name, with one blank between two; empty without one."""
        return next((" ".join(each.text.split()) for each in self.parts if each.name == name), "")

    def below(self, name: str) -> Iterator[Field]:
        """Yield the fields of a name at any depth, outer ones first."""
        waiting: list[Field] = [self]
        while waiting:
            found = waiting.pop()
            waiting.extend(reversed(found.parts))
            if found.name == name:
                yield found


def told(given: Field, above: str = "") -> Iterator[str]:
    """Write a field and all inside as lines `path: value`; a property is its name and its value."""
    name, parts = given.name, given.parts
    if name == "prop" and given.says("name"):
        name = given.says("name") + (f" ({given.says('class')})" if given.says("class") else "")
        value = next((each.text for each in parts if each.name == "value"), "")
        given = Field(name, value, [each for each in parts if each.name not in _OF_A_PROPERTY])
    path = f"{above} {name}".strip() if name != "prose" else above
    if given.text.strip():
        yield f"{path}: {given.text.strip()}"
    for each in given.parts:
        yield from told(each, path)


_OF_A_PROPERTY = frozenset({"name", "value", "class", "ns", "uuid"})


class FieldMaker:
    """Makes fields, and counts them.

    Raises:
        Refusal: they are nested too deeply, or there are too many.
    """

    def __init__(self) -> None:
        self._count = 0

    def _made(self, name: str, text: str, line: int, depth: int) -> Field:
        self._count += 1
        check_depth(depth, _MOST_DEPTH, "values are")
        if self._count > MOST_FIELDS:
            raise too_many()
        return Field(name, text, line=line)

    def of_values(self, name: str, value: Any, line_of: LineOf, depth: int = 0) -> Field:
        """Make the field of a value of JSON or YAML: pairs of an object, a list, or a text."""
        made = self._made(name, "", 0, depth)
        if isinstance(value, tuple):
            pairs = cast("tuple[tuple[str, Any], ...]", value)
            own = next((inner for key, inner in pairs if key in {"id", "uuid"} and isinstance(inner, str)), "")
            made.line = line_of(own) if own else 0
            for key, inner in pairs:
                if isinstance(inner, list):
                    listed = cast("list[Any]", inner)
                    made.parts += [self.of_values(singular(key), each, line_of, depth + 1) for each in listed]
                else:
                    made.parts.append(self.of_values(key, inner, line_of, depth + 1))
        elif isinstance(value, list):  # a list in a list has no names
            made.parts += [self.of_values(name, each, line_of, depth + 1) for each in cast("list[Any]", value)]
        elif value is not None:
            text = str(value).lower() if isinstance(value, bool) else str(value)
            made.text = _INSIDE.sub(r"\1", text) if "](#" in text else text
        return made

    def of_element(self, element: Element, depth: int = 0) -> Field:
        """Make the field of an element of XML; its paragraphs, if there are other elements, are fields `prose`."""
        name = local_name(element)
        made = self._made(singular(name) if name in _PLURAL else name, "", source_line(element) or 0, depth)
        for key, value in element.attrib.items():
            if not str(key).startswith(_NAMES_OF_XML):
                made.parts.append(self._made(without_namespace(str(key)), str(value), made.line, depth + 1))
        own = [element.text or "", *(child.tail or "" for child in element)]
        if any(map(str.strip, own)) or not {local_name(child) for child in element} - _MARKUP:
            made.text = written(element)
            return made
        prose: list[str] = []
        for child in element:
            if local_name(child) in _MARKUP:
                prose.append(written(child))
                continue
            made.parts += self._prose(prose, made.line, depth)
            if isinstance(child.tag, str):
                made.parts.append(self.of_element(child, depth + 1))
        made.parts += self._prose(prose, made.line, depth)
        return made

    def _prose(self, paragraphs: list[str], line: int, depth: int) -> list[Field]:
        said = "\n\n".join(filter(None, paragraphs))
        paragraphs.clear()
        return [self._made("prose", said, line, depth + 1)] if said else []


def too_many() -> Refusal:
    """Return the refusal of a file with more values than `MOST_FIELDS`."""
    return Refusal("too_large", f"It has more than {MOST_FIELDS:,} values.", suggestion="Split it.")


def singular(name: str) -> str:
    """Return what a list in JSON is called in XML, where each of its values has the name."""
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def lines_by_id(text: str) -> LineOf:
    """Return a function that gives the line on which an object with this id is; 0 if it is unknown.

    The parsers do not say where a value is. Of several with one id, the first call means the first.
    """
    found: dict[str, list[int]] = {}
    line, place = 1, 0
    for match in _ID.finditer(text):
        line += text.count("\n", place, match.start(1))
        place = match.start(1)
        found.setdefault(match[1], []).append(line)
    for each in found.values():
        each.reverse()

    def line_of(name: str) -> int:
        lines = found.get(name, [0])
        return lines.pop() if len(lines) > 1 else lines[0]

    return line_of


def written(element: Element) -> str:
    """Write the words of an element: paragraphs apart, items of lists and rows of tables on lines of their own.

    A place for a parameter is written as in JSON: "{{ insert: param, ac-1_prm_1 }}". Line ends are kept if there is no
    markup, as in commands.
    """
    names = {local_name(child) for child in element}
    writer = _Writer(is_exact=local_name(element) not in _BLOCKS and not names & (_MARKUP - _PLACES.keys()))
    writer.write(element, 0)
    lines = [line.rstrip() for line in "".join(writer.found).split("\n")]
    return _GAPS.sub("\n\n", "\n".join(lines)).strip()


class _Writer:
    def __init__(self, *, is_exact: bool) -> None:
        self.found: list[str] = []
        self._is_exact = is_exact

    def write(self, element: Element, depth: int) -> None:
        """Write an element, with what separates it from the text before if it is not the outermost one."""
        check_depth(depth, _MOST_DEPTH, "elements are")
        name = local_name(element)
        place = element.get(_PLACES[name]) if name in _PLACES else None
        is_line = depth > 0 and (name in _LINES or name == "tr")
        is_block = depth > 0 and name in _BLOCKS and not is_line
        self._add("\n\n" if is_block else "\n" if is_line else "")
        self._add("- " if name == "li" and depth else "")
        self._add(f"{{{{ insert: param, {place} }}}}" if place is not None else "")
        self._add('"' if name == "q" else "")
        outside, self._is_exact = self._is_exact, self._is_exact or name == "pre"
        self._words(element.text)
        for child in element:
            if isinstance(child.tag, str):
                self.write(child, depth + 1)
            else:
                self._add(child.text or "")  # an entity, as written
            self._words(child.tail)
        self._is_exact = outside
        self._add('"' if name == "q" else "")
        target = element.get("href") or element.get("src") or ""
        if name in {"a", "img"} and target and target[0] != "#" and target != "".join(map(str, element.itertext())):
            self._add(f" ({' '.join(filter(None, (element.get('alt'), target)))})")
        self._add(" | " if name in {"td", "th"} else "\n\n" if is_block else "")

    def _words(self, text: str | None) -> None:
        """Add a text; its line ends are blanks outside `pre`, and it has no blank at the start of a line."""
        if text and not self._is_exact:
            text = _BLANKS.sub(" ", text)
            text = text.lstrip() if not self.found or self.found[-1].endswith(("\n", "- ")) else text
        self._add(text or "")

    def _add(self, text: str) -> None:
        if text:
            self.found.append(text)

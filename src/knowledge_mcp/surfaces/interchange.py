"""Links between two sets of items for other tools: a workbook, ReqIF with relations, and a `needs.json`."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import PurePosixPath
from typing import Any

from knowledge_mcp.engine.tracing.links import Evidence, Trace, TraceItem, TraceLink, Verdict
from knowledge_mcp.model.chunk import text_key
from knowledge_mcp.model.errors import InvalidInputError, needing
from knowledge_mcp.surfaces.matrix import table_of

Side = tuple[str, Sequence[TraceItem]]
"""A set's name and items."""
_SURE = frozenset({Verdict.DECLARED, Verdict.LIKELY})
_LONGEST_CELL = 32_767
"""Characters that a cell of a workbook can hold."""


@dataclass(frozen=True, slots=True)
class BookSheet:
    """Hold one sheet of a workbook.

    Attributes:
        rows: the header, then the data rows.
        numbers: columns whose cells are numbers.
        wide: columns with long text, which is wrapped.
        choices: columns whose cells are chosen from a list.
    """

    name: str
    rows: Sequence[Sequence[str]]
    numbers: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


def workbook(sheets: Iterable[BookSheet]) -> bytes:
    """Write a workbook, each sheet to sort and filter; no cell is taken for a formula.

    Raises:
        ConfigError: the extra that writes workbooks is not installed.
    """
    with needing("office", "Workbooks need the extra `office`.", otherwise=", or use --csv."):
        from openpyxl import Workbook
        from openpyxl.styles import Alignment
        from openpyxl.utils import get_column_letter
        from openpyxl.worksheet.datavalidation import DataValidation
    book = Workbook()
    for each in sheets:
        sheet = book.create_sheet(each.name)
        header = each.rows[0]
        for number, row in enumerate(each.rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(number, column)
                name = header[column - 1]
                if number > 1 and name in each.numbers and re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", value):
                    cell.value = float(value)
                elif value:
                    cell.value = _NOT_IN_XML.sub("", value)[:_LONGEST_CELL]
                    cell.data_type = "s"
                if name in each.wide:
                    cell.alignment = Alignment(wrap_text=True, vertical="top")
        for column, name in enumerate(header, 1):
            letter = get_column_letter(column)
            if name in each.wide:
                sheet.column_dimensions[letter].width = 60
            if name in each.choices and len(each.rows) > 1:
                listed: Any = DataValidation(
                    type="list", formula1=f'"{",".join(each.choices[name])}"', allow_blank=True
                )
                listed.sqref.add(f"{letter}2:{letter}{len(each.rows)}")
                sheet.add_data_validation(listed)
        sheet.freeze_panes = "A2"
        sheet.auto_filter.ref = sheet.dimensions
    book.remove(book.worksheets[0])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def as_xlsx(found: Trace) -> bytes:
    """Write a workbook: a row a link, a row a gap; errors as `workbook`."""
    header, *rows = table_of(found)
    linked = [r for r in rows if r[0] and r[1]]
    gaps = [r for r in rows if not (r[0] and r[1])]
    numbers = ("probability",)
    return workbook([BookSheet("Links", [header, *linked], numbers), BookSheet("Gaps", [header, *gaps], numbers)])


def as_needs(sources: Sequence[TraceItem], targets: Sequence[TraceItem], found: Trace) -> str:
    """Write a `needs.json` that sphinx-needs imports: the items of both sets, links where they are declared or likely.

    Raises:
        InvalidInputError: both sets have the same id.
    """
    both = {each.id for each in sources} & {each.id for each in targets}
    if both:
        raise InvalidInputError(
            f"The id '{min(both)}' is used in both sets, but ids of needs must be unique.",
            suggestion="Change the ids in one set, or use --csv.",
        )
    links = {each.id: list(own) for each, own in _own_links(sources, targets)}
    for link in found.links:
        if link.verdict in _SURE:
            links[link.source.id].append(link.target.id)
    needs = {
        each.id: {
            **each.attributes,
            "id": each.id,
            "title": each.title or each.id,
            "content": each.text,
            "type": each.attributes.get("type", "req"),
            "links": list(dict.fromkeys(links[each.id])),
        }
        for each in (*sources, *targets)
    }
    version = {"needs": needs, "needs_amount": len(needs)}
    return json.dumps({"current_version": "1", "versions": {"1": version}}, indent=1, ensure_ascii=False) + "\n"


def _own_links(*sides: Sequence[TraceItem]) -> Iterator[tuple[TraceItem, list[str]]]:
    """Yield the items with what they declare apart from the other set: links to that one are reported by the trace."""
    ids = [{each.id for each in side} for side in sides]
    for side, others in zip(sides, reversed(ids), strict=True):
        yield from ((each, [target for target in each.links if target not in others]) for each in side)


# ---- ReqIF

_SECTIONS = ("DATATYPES", "SPEC-TYPES", "SPEC-OBJECTS", "SPEC-RELATIONS", "SPECIFICATIONS", "SPEC-RELATION-GROUPS")
_ROOT = re.compile(r"<((?:[A-Za-z_][\w.-]{0,60}:)?)REQ-IF[\s>]")
_IDENTIFIER = re.compile(r"\bIDENTIFIER\s{0,9}=\s{0,9}[\"']([^\"'<>]{1,500})[\"']")
_OUR_OBJECT = re.compile(
    r'SPEC-OBJECT IDENTIFIER="([^"<>]{1,500})" LAST-CHANGE="[^"<>]{1,60}"><(?:[\w.-]{1,60}:)?TYPE>'
    r"<(?:[\w.-]{1,60}:)?SPEC-OBJECT-TYPE-REF>clausewise-"
)
"""Objects added by an earlier run."""
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_EMPTY = """<?xml version="1.0" encoding="UTF-8"?>
<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd">
<THE-HEADER><REQ-IF-HEADER IDENTIFIER="clausewise-header"><CREATION-TIME>{now}</CREATION-TIME>
<REQ-IF-TOOL-ID>clausewise</REQ-IF-TOOL-ID><REQ-IF-VERSION>1.0</REQ-IF-VERSION>
<SOURCE-TOOL-ID>clausewise</SOURCE-TOOL-ID><TITLE>{title}</TITLE></REQ-IF-HEADER></THE-HEADER>
<CORE-CONTENT><REQ-IF-CONTENT>
</REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>
"""


def as_reqif(sides: Sequence[Side], found: Trace, base: tuple[int, bytes] | None, now: dt.datetime) -> bytes:
    """Write ReqIF with a relation for each declared or likely link, and for those that new items declare.

    Args:
        sides: the two sets.
        found: their links.
        base: which of the sets a .reqif or .reqifz file holds, and its bytes: it is kept byte by byte, and what is
            missing is put in: the other set and the relations. None begins a new file.
        now: when.
    """
    moment = now.isoformat(timespec="milliseconds")
    if base is None:
        title = _quote(" → ".join(name for name, _ in sides if name))
        base = -1, _EMPTY.format(now=moment, title=title).encode("ascii", "xmlcharrefreplace")
    base_side, content = base
    if not content.startswith(b"PK"):
        return _add_missing(content, [_decode(content)[0]], sides, found, base_side, moment)
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        files = {each: old.read(each) for each in old.infolist()}
        texts = {
            each: _decode(data)[0]
            for each, data in files.items()
            if PurePosixPath(each.filename).suffix.lower() in {".reqif", ".xml"}
        }
        main = next(iter(texts), None)
        for each, data in files.items():
            new.writestr(
                each,
                data if each is not main else _add_missing(data, [*texts.values()], sides, found, base_side, moment),
            )
    return stream.getvalue()


def items_as_reqif(title: str, items: Sequence[TraceItem], now: dt.datetime) -> bytes:
    """Write one set of items as ReqIF: their attributes, what they declare among each other, and their levels."""
    return as_reqif(((title, items), ("", ())), Trace((), (), (), 1.0), None, now)


def _decode(content: bytes) -> tuple[str, str]:
    """Return a file's text and the encoding that gives its bytes back."""
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    # as Latin-1 every byte of an ASCII-compatible encoding is one character, and comes back as it was
    encoding = marks.get(content[:2], "latin-1")
    return content.decode(encoding), encoding


def _add_missing(
    content: bytes, texts: Sequence[str], sides: Sequence[Side], found: Trace, base_side: int, moment: str
) -> bytes:
    """Put what is missing into a file; `texts` are those of all files that belong together."""
    text, encoding = _decode(content)
    root = _ROOT.search(text)
    prefix = root[1] if root else ""
    for section, more in _ReqifParts("\n".join(texts), prefix, moment, base_side).of(sides, found):
        text = _insert(text, prefix, section, more.encode("ascii", "xmlcharrefreplace").decode("ascii"))
    return text.encode(encoding)


class _ReqifParts:
    """Make the elements to add; their names never clash with existing ones.

    Args:
        text: what is there.
        prefix: of its namespace.
        moment: now.
        base_side: which of the sets is there, -1 for none.
    """

    def __init__(self, text: str, prefix: str, moment: str, base_side: int) -> None:
        self._known = frozenset(_IDENTIFIER.findall(text))
        self._ours = frozenset(_OUR_OBJECT.findall(text))
        self._made = {each.rpartition("-")[2]: each for each in self._known if each.startswith("clausewise-")}
        self._prefix, self._moment, self._base_side = prefix, moment, base_side
        number = 1
        while any(each.startswith(f"clausewise-{number}-") for each in self._known):
            number += 1
        self._own = f"clausewise-{number}"

    def of(self, sides: Sequence[Side], found: Trace) -> list[tuple[str, str]]:
        """Return what belongs into each section."""
        names: dict[tuple[int, str], str] = {}
        for side, (_, items) in enumerate(sides):
            for each in items:
                names[side, each.id] = self._name(each.id, side, names)
        missing = [
            (side, name, [each for each in items if names[side, each.id] not in self._known])
            for side, (name, items) in enumerate(sides)
        ]
        new = [(side, name, items) for side, name, items in missing if items]
        every = [each for _, _, items in new for each in items]
        attributes = ["ReqIF.ForeignID", "ReqIF.Name", "ReqIF.Text"]
        attributes += [
            name for name in dict.fromkeys(name for each in every for name in each.attributes) if name not in attributes
        ]
        places = {name: f"a{place}" for place, name in enumerate(attributes)}
        kinds = {kind: f"{place or ''}" for place, kind in enumerate(dict.fromkeys(each.kind for each in every))}
        objects = [self._object(each, names[side, each.id], kinds, places) for side, _, items in new for each in items]
        linked = [
            (names[0, link.source.id], names[1, link.target.id], self._link_name(link), link)
            for link in found.links
            if link.verdict in _SURE and not self._stands(link, names)
        ]
        linked += self._declared_links(sides, names)
        kind_names = dict.fromkeys(["", *(kind for _, _, kind, _ in linked)])
        called = {kind: f"{place or ''}" for place, kind in enumerate(kind_names)}
        relations = [
            self._relation(place, source, target, called[kind], link)
            for place, (source, target, kind, link) in enumerate(linked)
        ]
        return [
            ("DATATYPES", self._element("DATATYPE-DEFINITION-STRING", "string", more='MAX-LENGTH="1000000"')),
            ("SPEC-TYPES", self._types(places, kinds, called)),
            ("SPEC-OBJECTS", "".join(objects)),
            ("SPEC-RELATIONS", "".join(relations)),
            (
                "SPECIFICATIONS",
                "".join(
                    self._specification(side, name, [(names[side, each.id], each.place) for each in items])
                    for side, name, items in new
                ),
            ),
        ]

    def _name(self, own: str, side: int, names: Mapping[tuple[int, str], str]) -> str:
        """Return an item's identifier: its own where that is one and free, else one made of it."""
        if own in self._ours or (side == self._base_side and own in self._known):
            return own
        if own not in self._known and _NAME.fullmatch(own) is not None and names.get((1 - side, own)) != own:
            return own
        digests = [text_key(f"{each} {own}")[:20] for each in (side, 1 - side)]
        for digest in digests:  # an earlier run made it, of whichever side the item was then
            found = self._made.get(digest)
            if found is not None and found not in names.values():
                return found
        return f"{self._own}-{digests[0]}"

    def _declared_links(
        self, sides: Sequence[Side], names: Mapping[tuple[int, str], str]
    ) -> Iterator[tuple[str, str, str, TraceLink]]:
        """Yield what new items declare within their own set."""
        owners = [(side, each) for side, (_, items) in enumerate(sides) for each in items]
        by_place = {(side, each.id): each for side, each in owners}
        links = _own_links(*(items for _, items in sides))
        for (side, each), (_, targets) in zip(owners, links, strict=True):
            if names[side, each.id] in self._known:
                continue
            kinds = each.link_kinds or ("",) * len(each.links)
            for target, kind in dict.fromkeys(zip(each.links, kinds, strict=True)):
                other = by_place.get((side, target)) if target in targets else None
                if other is not None:
                    link = TraceLink(each, other, Verdict.DECLARED, 1.0, Evidence("", "", ()))
                    yield names[side, each.id], names[side, target], kind, link

    def _link_name(self, link: TraceLink) -> str:
        """Return what the item at its beginning calls a link; nothing where the other declares it, the other way."""
        kinds = dict(zip(link.source.links, link.source.link_kinds, strict=False))
        return kinds.get(link.target.id, "") if link.verdict is Verdict.DECLARED else ""

    def _stands(self, link: TraceLink, names: Mapping[tuple[int, str], str]) -> bool:
        """Return whether the file that is added to has the relation already, whichever way round."""
        one, other = link.source, link.target
        return (names[0, one.id] in self._known and other.id in one.links) or (
            names[1, other.id] in self._known and one.id in other.links
        )

    def _element(self, name: str, own: str, content: str = "", *, called: str = "", more: str = "") -> str:
        tag = f"{self._prefix}{name}"
        label = f' LONG-NAME="{_quote(called)}"' if called else ""
        begun = f'{tag} IDENTIFIER="{self._own}-{own}"'
        return f'<{begun} LAST-CHANGE="{self._moment}"{label} {more}>{content}</{tag}>\n'

    def _wrap(self, *names: str, content: str) -> str:
        for name in reversed(names):
            content = f"<{self._prefix}{name}>{content}</{self._prefix}{name}>"
        return content

    def _types(self, places: Mapping[str, str], kinds: Mapping[str, str], links: Mapping[str, str]) -> str:
        def definitions(names: Iterable[tuple[str, str]]) -> str:
            kind = self._wrap("TYPE", "DATATYPE-DEFINITION-STRING-REF", content=f"{self._own}-string")
            each = [self._element("ATTRIBUTE-DEFINITION-STRING", own, kind, called=name) for name, own in names]
            return self._wrap("SPEC-ATTRIBUTES", content="".join(each))

        found = ""
        for kind, number in links.items():
            attributes = definitions([("Verdict", f"verdict{number}"), ("Probability", f"probability{number}")])
            found += self._element("SPEC-RELATION-TYPE", f"link{number}", attributes, called=kind or "Trace link")
        for kind, number in kinds.items():
            attributes = definitions((name, f"{own}{number and '-'}{number}") for name, own in places.items())
            found += self._element("SPEC-OBJECT-TYPE", f"item{number}", attributes, called=kind or "Traced item")
        if kinds:
            found += self._element("SPECIFICATION-TYPE", "set", called="Traced set")
        return found

    def _value(self, own: str, value: str) -> str:
        definition = self._wrap("DEFINITION", "ATTRIBUTE-DEFINITION-STRING-REF", content=f"{self._own}-{own}")
        tag = f"{self._prefix}ATTRIBUTE-VALUE-STRING"
        return f'<{tag} THE-VALUE="{_quote(value)}">{definition}</{tag}>'

    def _object(self, item: TraceItem, name: str, kinds: Mapping[str, str], places: Mapping[str, str]) -> str:
        number = kinds[item.kind]
        values = {"ReqIF.ForeignID": item.id, "ReqIF.Name": item.title, "ReqIF.Text": item.text, **item.attributes}
        content = self._wrap("TYPE", "SPEC-OBJECT-TYPE-REF", content=f"{self._own}-item{number}")
        content += self._wrap(
            "VALUES",
            content="".join(
                self._value(f"{places[name]}{number and '-'}{number}", value) for name, value in values.items() if value
            ),
        )
        tag = f"{self._prefix}SPEC-OBJECT"
        return f'<{tag} IDENTIFIER="{name}" LAST-CHANGE="{self._moment}">{content}</{tag}>\n'

    def _relation(self, place: int, source: str, target: str, kind: str, link: TraceLink) -> str:
        values = self._value(f"verdict{kind}", link.verdict.value)
        values += self._value(f"probability{kind}", f"{link.probability:.4f}")
        content = self._wrap("VALUES", content=values)
        content += self._wrap("TYPE", "SPEC-RELATION-TYPE-REF", content=f"{self._own}-link{kind}")
        content += self._wrap("SOURCE", "SPEC-OBJECT-REF", content=source)
        content += self._wrap("TARGET", "SPEC-OBJECT-REF", content=target)
        return self._element("SPEC-RELATION", f"l{place}", content)

    def _specification(self, place: int, title: str, rows: Sequence[tuple[str, str]]) -> str:
        """Write names with their levels ("1.10"), each below the one before it whose level begins its own."""
        content = [self._wrap("TYPE", "SPECIFICATION-TYPE-REF", content=f"{self._own}-set"), self._tag("CHILDREN")]
        above: list[str] = []
        for row, (name, level) in enumerate(rows):
            while above and not (above[-1] and level.startswith(f"{above[-1]}.")):
                above.pop()
                content.append(self._tag("/CHILDREN") + self._tag("/SPEC-HIERARCHY"))
            opened = f'SPEC-HIERARCHY IDENTIFIER="{self._own}-s{place}-{row}" LAST-CHANGE="{self._moment}"'
            content += [self._tag(opened), self._wrap("OBJECT", "SPEC-OBJECT-REF", content=name)]
            content.append(self._tag("CHILDREN"))
            above.append(level.removesuffix(".0"))
        content += [self._tag("/CHILDREN") + self._tag("/SPEC-HIERARCHY")] * len(above)
        content.append(self._tag("/CHILDREN"))
        empty = self._tag("CHILDREN") + self._tag("/CHILDREN")
        return self._element("SPECIFICATION", f"s{place}", "".join(content).replace(empty, ""), called=title)

    def _tag(self, name: str) -> str:
        slash = "/" if name.startswith("/") else ""
        return f"<{slash}{self._prefix}{name.removeprefix('/')}>"


def _insert(text: str, prefix: str, section: str, content: str) -> str:
    """Put elements at the end of a section, which is made where it is missing."""
    if not content:
        return text
    bare = _blank_out(text, "<!--", "-->")
    bare = _blank_out(bare, f"<{prefix}RELATION-GROUP ", f"</{prefix}RELATION-GROUP>")  # has sections of its own
    opened, closed = f"<{prefix}{section}>", f"</{prefix}{section}>"
    end = bare.rfind(closed)
    if end >= 0:
        return text[:end] + content + text[end:]
    empty = re.search(rf"<{re.escape(prefix)}{section}\s{{0,99}}/>", bare)
    if empty is not None:
        return text[: empty.start()] + opened + content + closed + text[empty.end() :]
    later = "|".join(_SECTIONS[_SECTIONS.index(section) + 1 :])
    behind = re.search(rf"<{re.escape(prefix)}(?:{later})\s{{0,99}}/?>", bare) if later else None
    place = behind.start() if behind is not None else bare.rfind(f"</{prefix}REQ-IF-CONTENT>")
    return text[:place] + opened + content + closed + text[place:] if place >= 0 else text


def _blank_out(text: str, opened: str, closed: str) -> str:
    """Blank out what stands between two marks, every other character where it was."""
    parts: list[str] = []
    place = 0
    while (begun := text.find(opened, place)) >= 0:
        ended = text.find(closed, begun)
        ended = len(text) if ended < 0 else ended + len(closed)
        parts += [text[place:begun], " " * (ended - begun)]
        place = ended
    return "".join([*parts, text[place:]])


_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _quote(value: str) -> str:
    """Write a value as XML takes it in an attribute, line breaks and all; what XML cannot hold is left out."""
    return escape(_NOT_IN_XML.sub("", value)).replace("\r", "&#13;").replace("\n", "&#10;").replace("\t", "&#9;")

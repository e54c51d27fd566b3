"""Child process: ReqIF (.reqif, .reqifz) to items, from any tool.

The `reqif` package is not used: it resolves entities and drops tool extensions. The dialects differ in the names of
attributes: DOORS and StrictDoc use those of the implementation guide (`ReqIF.Text`), Polarion and PTC others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast

from knowledge_mcp.language.identifiers import PUBLIC_NAMES
from knowledge_mcp.readers.html.hidden import reason_of
from knowledge_mcp.readers.shared.containers import (
    ZIP,
    Element,
    corrupted,
    local_name,
    magic_of,
    member,
    mislabelled,
    open_archive,
    parse_xml,
    too_large,
)
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

_EXPECTED = "a ReqIF file"
_MADE = "clausewise-"
"""Prefix of identifiers that our export made from ids that ReqIF does not allow; this attribute has the ids:"""
_FOREIGN = "ReqIF.ForeignID"
_MOST_BYTES = 256_000_000
_MOST_DEPTH = 200
_CHAPTER = "reqif.chaptername"
"""The attribute of headings: an object that has only this demands nothing."""
_TITLES = (_CHAPTER, "reqif.name", "object heading", "title", "name", "heading", "summary")
_TEXTS = ("reqif.text", "object text", "text", "description", "statement", "requirement text", "primary text")
_ASIDE = re.compile(r"\b(?:informati(?:on|ve)|comments?|notes?|headings?|explanations?|rationale)\b", re.IGNORECASE)
"""Names of types of objects that are not normative."""
_CELLS = frozenset({"td", "th"})
_EMBEDDED = "embedded"
"""Counted in addition to reasons for hidden text: pictures and other files in rich text."""
_BLOCKS = frozenset("p div li br tr table ul ol h1 h2 h3 h4 h5 h6 pre blockquote dt dd".split())


def reqif(path: str) -> Iterator[dict[str, Any]]:
    """Yield the title, then the items: those of the specifications in order, then those in no specification.

    Raises:
        Refusal: it is not ReqIF, or is damaged, locked or too large.
    """
    if not magic_of(path).startswith(ZIP):
        if Path(path).stat().st_size > _MOST_BYTES:
            raise too_large(f"the file has more than {_MOST_BYTES} bytes")
        yield from _items(parse_xml(Path(path).read_bytes(), _EXPECTED))
        return
    with open_archive(path, "a ReqIF archive") as archive:
        names = [name for name in archive.namelist() if PurePosixPath(name).suffix.lower() in {".reqif", ".xml"}]
        if not names:
            raise mislabelled("a ReqIF archive", "a zip archive without a .reqif file")
        for name in names:
            yield from _items(parse_xml(member(archive, name) or b"", _EXPECTED))


def _items(root: Element) -> Iterator[dict[str, Any]]:
    if local_name(root) != "REQ-IF":
        raise mislabelled(_EXPECTED, f"an XML file of another kind ({local_name(root)[:60]})")
    yield {"title": next((each.text or "" for each in root.iterfind("{*}THE-HEADER//{*}TITLE")), "")}
    named = {
        each.get("IDENTIFIER", ""): each.get("LONG-NAME") or each.get("IDENTIFIER", "")
        for each in root.iterfind("{*}CORE-CONTENT//*[@IDENTIFIER]")
        if local_name(each).startswith(("SPEC-OBJECT-TYPE", "SPEC-RELATION-TYPE", "ATTRIBUTE-DEFINITION", "ENUM-VALUE"))
    }
    unread: Counter[str] = Counter()
    defaults = {
        each.get("IDENTIFIER", ""): list(_defaults(each, named, unread))
        for each in root.iterfind("{*}CORE-CONTENT//{*}SPEC-OBJECT-TYPE")
    }
    found = [
        _object(each, named, defaults, unread)
        for each in root.iterfind("{*}CORE-CONTENT//{*}SPEC-OBJECTS/{*}SPEC-OBJECT")
    ]
    objects = {each["id"]: each for each in found}
    if len(objects) != len(found):
        raise corrupted(_EXPECTED, "two objects have one identifier")
    for each in root.iterfind("{*}CORE-CONTENT//{*}SPEC-RELATIONS/{*}SPEC-RELATION"):
        source, target = (_reference(each, name) for name in ("SOURCE", "TARGET"))
        kind = named.get(_reference(each, "TYPE"), "")
        if source in objects:
            objects[source]["links"].append([target, kind])
        elif target in objects:  # tools that write one file per module may put a relation into either
            objects[target]["links"].append([source, f"{kind} (from)".strip()])
    own = _own_names(found)
    for each in found:
        each["links"] = [[own.get(target, target), kind] for target, kind in each["links"]]
    placed: Counter[str] = Counter()
    for specification in root.iterfind("{*}CORE-CONTENT//{*}SPECIFICATIONS/{*}SPECIFICATION"):
        for level, name in _places(specification, "", 0):
            placed[name] += 1
            if placed[name] == 1 and name in objects:
                yield {**objects[name], "id": own.get(name, name), "level": level}
    yield from ({**each, "id": own.get(name, name)} for name, each in objects.items() if not placed[name])
    embedded = unread.pop(_EMBEDDED, 0)
    if embedded:
        what = how_many(embedded, "image or embedded file is", "images or embedded files are")
        yield {"warnings": [f"{what} not read."]}
    if unread:
        yield {"hidden": dict(unread)}


def _own_names(objects: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Map identifiers made by our export to the original ids, unless another item has that id."""
    foreign = {each["id"]: each["attributes"].get(_FOREIGN, "") for each in objects if each["id"].startswith(_MADE)}
    counts = Counter([*foreign.values(), *(each["id"] for each in objects)])
    return {identifier: name for identifier, name in foreign.items() if name and counts[name] == 1}


def _places(parent: Element, level: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the objects of a hierarchy with their levels, parents first."""
    if depth > _MOST_DEPTH:
        raise Refusal("too_large", f"Its hierarchy is more than {_MOST_DEPTH} levels deep.", suggestion="Flatten it.")
    for number, each in enumerate(parent.iterfind("{*}CHILDREN/{*}SPEC-HIERARCHY"), 1):
        own = f"{level}.{number}" if level else str(number)
        yield own, _reference(each, "OBJECT")
        yield from _places(each, own, depth + 1)


def _reference(element: Element, name: str) -> str:
    return next(((each.text or "").strip() for each in element.iterfind(f"{{*}}{name}/*")), "")


def _defaults(kind: Element, named: Mapping[str, str], unread: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield definition and default value of a type's attributes, for objects that do not set them."""
    for each in kind.iterfind("{*}SPEC-ATTRIBUTES/*"):
        for given in each.iterfind("{*}DEFAULT-VALUE/*"):
            yield each.get("IDENTIFIER", ""), _value(given, named, unread)


def _object(
    element: Element, named: Mapping[str, str], defaults: Mapping[str, Sequence[tuple[str, str]]], unread: Counter[str]
) -> dict[str, Any]:
    """Read one object; all its values are kept as attributes with the tool's names, including title and text."""
    stated = [(_reference(each, "DEFINITION"), _value(each, named, unread)) for each in element.iterfind("{*}VALUES/*")]
    known = {definition for definition, _ in stated}
    stated += [each for each in defaults.get(_reference(element, "TYPE"), ()) if each[0] not in known]
    values: dict[str, str] = {}
    for definition, value in stated:
        name = named.get(definition, definition)
        values[f"{name} ({definition})" if name in values else name] = value  # two attributes may have the same name
    for name, more in (("DESC", element.get("DESC")), ("ALTERNATIVE-ID", _alternative(element))):
        if more and name not in values:
            values[name] = more
    by_name = {name.lower(): name for name in values if values[name].strip()}
    title, text = (next((by_name[each] for each in names if each in by_name), "") for names in (_TITLES, _TEXTS))
    label = next((values[by_name[each]] for each in PUBLIC_NAMES if each in by_name), element.get("LONG-NAME", ""))
    kind = named.get(_reference(element, "TYPE"), "")
    return {
        "id": element.get("IDENTIFIER", ""),
        "heading": values.get(title, "") or label,
        "text": values.get(text, "") or ("" if title else _listed(values)),
        "kind": kind,
        "informative": _ASIDE.search(kind) is not None or (title.lower() == _CHAPTER and not text),
        "attributes": values,
        "links": [],
    }


def _alternative(element: Element) -> str:
    return next((each.get("IDENTIFIER", "") for each in element.iterfind("{*}ALTERNATIVE-ID/*")), "")


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value.strip())


def _value(element: Element, named: Mapping[str, str], unread: Counter[str]) -> str:
    """Return a value as text: plain values as written, enumerations by the names of their values, XHTML as text.

    What is left out is counted: hidden text by its reason, and embedded files.

    Of simplified XHTML, the original is used: tools that cannot show something put a reduced form into the value
    itself.
    """
    plain = element.get("THE-VALUE")
    if plain is not None:
        return plain
    chosen = [named.get((each.text or "").strip(), each.text or "") for each in element.iterfind("{*}VALUES/*")]
    if chosen:
        return ", ".join(chosen)
    contents = (next(element.iterfind(f"{{*}}{name}"), None) for name in ("THE-ORIGINAL-VALUE", "THE-VALUE"))
    return next((text for each in contents if each is not None and (text := _plain(each, unread))), "")


def _plain(content: Element, unread: Counter[str]) -> str:
    from lxml import etree

    parts: list[str] = []
    walk = etree.iterwalk(content, events=("start", "end"))
    for event, each in walk:
        name = local_name(each)
        mark = "\n" if name in _BLOCKS else " " if name in _CELLS else ""
        if event == "end":
            parts += [mark, (each.tail or "") if each is not content else ""]
        elif reason := reason_of(name, cast("Mapping[str, str]", each.attrib)):
            unread[reason] += nonblank_length("".join(map(str, each.itertext())))
            walk.skip_subtree()
        else:
            parts += [mark, each.text or ""]
            if name == "object" and not len(each) and not (each.text or "").strip():
                unread[_EMBEDDED] += 1
                parts.append(f"[{each.get('data', '')}]")  # a picture or another file without alternative text
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)

"""In the child: ReqIF (.reqif, .reqifz) to items, whatever tool wrote it.

Ours and not the `reqif` package's, which resolves entities and keeps no tool extensions. The dialects differ in the
names of attributes: those of the implementation guide (`ReqIF.Text`) are used by DOORS and StrictDoc, others by
Polarion and PTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.shared.containers import (
    ZIP,
    corrupted,
    local_name,
    magic_of,
    member,
    mislabelled,
    open_archive,
    parse_xml,
    too_large,
)
from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_WANTED = "a ReqIF file"
_MADE = "clausewise-"
"""How identifiers begin that we made of ids which ReqIF does not allow; the ids stand in this attribute:"""
_FOREIGN = "ReqIF.ForeignID"
_MOST_BYTES = 256_000_000
_MOST_DEPTH = 200
_TITLES = ("reqif.chaptername", "reqif.name", "object heading", "title", "name", "heading", "summary")
_TEXTS = ("reqif.text", "object text", "text", "description", "statement", "requirement text", "primary text")
_NAMES = ("reqif.foreignid", "object identifier", "foreignid", "id")
_BLOCKS = frozenset("p div li br tr table ul ol h1 h2 h3 h4 h5 h6 pre blockquote dt dd".split())


def reqif(path: str) -> Iterator[dict[str, Any]]:
    """Yield the title, then the items: those of the specifications in their order, then those that stand nowhere.

    Raises:
        Refusal: it is no ReqIF, damaged, locked or too large.
    """
    if not magic_of(path).startswith(ZIP):
        if Path(path).stat().st_size > _MOST_BYTES:
            raise too_large(f"the file has more than {_MOST_BYTES} bytes")
        yield from _items(parse_xml(Path(path).read_bytes(), _WANTED))
        return
    with open_archive(path, "a ReqIF archive") as archive:
        names = [name for name in archive.namelist() if PurePosixPath(name).suffix.lower() in {".reqif", ".xml"}]
        if not names:
            raise mislabelled("a ReqIF archive", "a zip archive without a .reqif file")
        for name in names:
            yield from _items(parse_xml(member(archive, name) or b"", _WANTED))


def _items(root: Element) -> Iterator[dict[str, Any]]:
    if local_name(root) != "REQ-IF":
        raise mislabelled(_WANTED, f"an XML file of another kind ({local_name(root)[:60]})")
    yield {"title": next((each.text or "" for each in root.iterfind("{*}THE-HEADER//{*}TITLE")), "")}
    named = {
        each.get("IDENTIFIER", ""): each.get("LONG-NAME") or each.get("IDENTIFIER", "")
        for each in root.iterfind("{*}CORE-CONTENT//*[@IDENTIFIER]")
        if local_name(each).startswith(("SPEC-OBJECT-TYPE", "SPEC-RELATION-TYPE", "ATTRIBUTE-DEFINITION", "ENUM-VALUE"))
    }
    found = [_object(each, named) for each in root.iterfind("{*}CORE-CONTENT//{*}SPEC-OBJECTS/{*}SPEC-OBJECT")]
    objects = {each["id"]: each for each in found}
    if len(objects) != len(found):
        raise corrupted(_WANTED, "two objects have one identifier")
    for each in root.iterfind("{*}CORE-CONTENT//{*}SPEC-RELATIONS/{*}SPEC-RELATION"):
        source, target = (_reference(each, name) for name in ("SOURCE", "TARGET"))
        if source in objects:
            objects[source]["links"].append([target, named.get(_reference(each, "TYPE"), "")])
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


def _own_names(objects: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Map the identifiers that we made, of ids that ReqIF does not allow, to these ids, unless another item has one."""
    foreign = {each["id"]: each["attributes"].get(_FOREIGN, "") for each in objects if each["id"].startswith(_MADE)}
    counts = Counter([*foreign.values(), *(each["id"] for each in objects)])
    return {identifier: name for identifier, name in foreign.items() if name and counts[name] == 1}


def _places(parent: Element, level: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the objects of a hierarchy with their places, parents first."""
    if depth > _MOST_DEPTH:
        raise Refusal("too_large", f"Its hierarchy is more than {_MOST_DEPTH} levels deep.", suggestion="Flatten it.")
    for number, each in enumerate(parent.iterfind("{*}CHILDREN/{*}SPEC-HIERARCHY"), 1):
        own = f"{level}.{number}" if level else str(number)
        yield own, _reference(each, "OBJECT")
        yield from _places(each, own, depth + 1)


def _reference(element: Element, name: str) -> str:
    return next(((each.text or "").strip() for each in element.iterfind(f"{{*}}{name}/*")), "")


def _object(element: Element, named: Mapping[str, str]) -> dict[str, Any]:
    """Read one object; all its values stay attributes under the names its tool gave them, title and text too."""
    values: dict[str, str] = {}
    for each in element.iterfind("{*}VALUES/*"):
        name = named.get(_reference(each, "DEFINITION"), _reference(each, "DEFINITION"))
        values[name] = _value(each, named)
    by_name = {name.lower(): name for name in values if values[name].strip()}
    title, text = (next((by_name[each] for each in names if each in by_name), "") for names in (_TITLES, _TEXTS))
    label = next((values[by_name[each]] for each in _NAMES if each in by_name), element.get("LONG-NAME", ""))
    return {
        "id": element.get("IDENTIFIER", ""),
        "heading": values.get(title, "") or label,
        "text": values.get(text, "") or ("" if title else _listed(values)),
        "kind": named.get(_reference(element, "TYPE"), ""),
        "attributes": values,
        "links": [],
    }


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in values.items() if value.strip())


def _value(element: Element, named: Mapping[str, str]) -> str:
    """Return a value as text: plain ones as written, enumerations by the names of their values, XHTML without marks."""
    plain = element.get("THE-VALUE")
    if plain is not None:
        return plain
    chosen = [named.get((each.text or "").strip(), each.text or "") for each in element.iterfind("{*}VALUES/*")]
    if chosen:
        return ", ".join(chosen)
    content = next(element.iterfind("{*}THE-VALUE"), None)
    return "" if content is None else _plain(content)


def _plain(content: Element) -> str:
    from lxml import etree

    parts: list[str] = []
    for event, each in etree.iterwalk(content, events=("start", "end")):
        block = local_name(each) in _BLOCKS
        if event == "start":
            parts += ["\n" if block else "", each.text or ""]
        else:
            parts += ["\n" if block else "", (each.tail or "") if each is not content else ""]
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(line for line in lines if line)

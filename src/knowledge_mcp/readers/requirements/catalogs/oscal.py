"""Child process: OSCAL (NIST) to items: the controls of a catalogue, a profile's choice of them, a component's claims.

An item's id is the label of its control, as people write it: "AC-2(1)"; its attribute `id` is that of OSCAL, by which
other files name it: "ac-2.1". Ids of parts of a control, namespaces and UUIDs of properties are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.requirements.catalogs.fields import Field, told
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, piece

READ: Mapping[str, frozenset[str]] = {
    "catalog": frozenset({"group", "control"}),
    "profile": frozenset({"import", "alter"}),
    "component-definition": frozenset({"component", "capability"}),
    "system-security-plan": frozenset({"control-implementation"}),
}
"""The documents of OSCAL that contain or name controls, and the parts that items are made of; all else is data."""
_ASIDE = ("guidance", "overview", "example", "objective", "assessment")
"""Beginnings of the names of parts that are not what a control demands, as OSCAL and NIST name them."""
_CONTROL = frozenset({"id", "class", "title", "param", "prop", "link", "part", "control", "group"})
_WORDS = frozenset({"id", "class", "title"})
_PART = frozenset({"id", "name", "ns", "class", "title", "prop", "prose", "link", "part"})
_INSERT = re.compile(r"\{\{\s{0,9}(?:insert:\s{0,9})?(?:param,\s{0,9})?([\w.:-]{1,200})\s{0,9}\}\}(?: (?=[;,.)]))?")
"""A place for a parameter, also as in older versions, "{{ ac-1_prm_1 }}"; a blank after it comes from a converter."""
_LONGEST_VALUE, _MOST_INSIDE = 2000, 3
"""Characters of a parameter, and parameters in parameters: what is longer or deeper is named only."""
_GONE = "withdrawn"


def oscal(root: Field) -> Iterator[dict[str, Any]]:
    """Yield the title, then the sections and items of a document whose name is in `READ`."""
    about = root.all("metadata")
    yield {"title": about[0].says("title") if about else ""}
    document = _Oscal(root)
    if root.name == "catalog":
        yield from document.inside(root, "")
    elif root.name == "profile":
        yield from document.profile(root)
    else:
        yield from document.claims(root)


class _Oscal:
    """What is known of a whole document: names of controls, parameters and resources."""

    def __init__(self, root: Field) -> None:
        self._params: dict[str, Field] = {}
        self._values: dict[tuple[Field, int], str] = {}
        for each in root.below("param"):
            names = [each.says("id"), *(_value(prop) for prop in each.all("prop") if _is(prop, "alt-identifier"))]
            self._params.update((name, each) for name in names if name not in self._params)
        self._resources = {each.says("uuid"): each for each in root.below("resource")}
        self._ids: dict[str, str] = {}  # of controls and their parts, to the id of their item
        controls = list(root.below("control")) if root.name == "catalog" else []
        labels = Counter(_label(each) for each in controls) + Counter(each.says("id") for each in controls)
        self._own: dict[Field, str] = {}
        taken = Counter[str]()
        for each in controls:
            label = _label(each)
            only = labels[label] == 1 + (label == each.says("id"))
            name = (label if label and only else each.says("id") or label) or "control"
            taken[name] += 1
            self._own[each] = name if taken[name] == 1 else f"{name}#{taken[name]}"
            for part in (each, *(below for top in each.all("part") for below in top.below("part"))):
                self._ids.setdefault(part.says("id"), self._own[each])
        self._names = frozenset(self._own.values())

    # ---- catalogues

    def inside(self, above: Field, level: str) -> Iterator[dict[str, Any]]:
        """Yield the groups and controls inside a part of a catalogue, with their levels."""
        for number, each in enumerate(above.all("group", "control"), 1):
            own = f"{level}.{number}".lstrip(".")
            yield (self._control if each.name == "control" else self._section)(each, own)
            yield from self.inside(each, own)

    def _section(self, group: Field, level: str) -> dict[str, Any]:
        title = group.says("title")
        name = _label(group) or group.says("id")
        named = title if title.startswith(name) else f"{name} {title}".strip()
        blocks = [piece(BlockKind.PARAGRAPH, self._filled(each)) for each in _texts(group)]
        for part in group.all("part"):
            blocks += self._blocks(part)
        blocks += self._notes(self._attributes(group)[0])
        return {"section": named or "group", "level": level, "line": group.line, "blocks": blocks}

    def _control(self, control: Field, level: str) -> dict[str, Any]:
        attributes, links = self._attributes(control)
        is_gone = attributes.get("status", "").lower() == _GONE
        parts = control.all("part")
        stated = [each for each in parts if each.says("name") == "statement"]
        stated = stated or [each for each in parts if not each.says("name").startswith(_ASIDE)]
        blocks = [piece(BlockKind.PARAGRAPH, self._filled(each)) for each in _texts(control)]
        blocks += self._stated(stated)
        demanding = set(stated)
        asides = self._asides(each for each in parts if each not in demanding)
        params = "\n".join(map(_told_param, control.all("param")))
        beside = {**asides, "parameters": params} if params else asides
        return {
            "id": self._own[control],
            "heading": control.says("title"),
            "text": _demanded(blocks) or ("Withdrawn." if is_gone else ""),
            "level": level,
            "kind": control.says("class") or "control",
            "attributes": {**attributes, **beside},
            "links": links,
            "line": control.line,
            "informative": is_gone,
            "blocks": [*blocks, *self._notes(beside, parts), *self._notes(attributes)],
        }

    def _attributes(self, given: Field) -> tuple[dict[str, str], list[list[str]]]:
        """Return what properties, links and unknown fields of a control or group say, and its links to controls."""
        found: dict[str, list[str]] = {"id": [given.says("id")], "class": [given.says("class")]}
        for prop in given.all("prop"):
            for line in told(prop):
                name, _, value = line.partition(": ")
                found.setdefault(name, []).append(value)
        links: dict[tuple[str, str], None] = {}
        for link in given.all("link"):
            name, target = link.says("rel") or "link", self._target(link)
            if target in self._names:
                links[target, name] = None
            found.setdefault(name, []).append(" – ".join(filter(None, (target, link.says("text"), link.text))))
        for each in given.parts:
            if each.name not in _CONTROL or (each.name in _WORDS and each.parts):
                for line in told(each):
                    name, _, value = line.partition(": ")
                    found.setdefault(name, []).append(value)
        joined = {name: ", ".join(dict.fromkeys(filter(None, said))) for name, said in found.items() if any(said)}
        return joined, [list(link) for link in links]

    def _target(self, link: Field) -> str:
        """Return what a link leads to: the id of an item, the title of a resource, or the address."""
        address = link.says("href")
        name = address.removeprefix("#")
        if address.startswith("#") and name in self._resources:
            resource = self._resources[name]
            cited = next((each.says("text") for each in resource.all("citation")), "")
            return resource.says("title") or cited or resource.says("description") or name
        return self._ids.get(name, name) if address.startswith("#") else address

    # ---- words of parts

    def _stated(self, parts: Iterable[Field]) -> list[Piece]:
        """Return the blocks of parts that demand something, then a note of what these say beside their words."""
        found, beside = list[Piece](), list[str]()
        for part in parts:
            found += self._blocks(part)
            for each in part.below("part"):
                beside += [f"{_label(each)} {line}".strip() for line in self._beside(each)]
        return [*found, *([piece(BlockKind.NOTE, "\n".join(beside))] if beside else [])]

    def _asides(self, parts: Iterable[Field]) -> dict[str, str]:
        """Return what parts say that demand nothing, by their names."""
        found: dict[str, list[str]] = {}
        for each in parts:
            found.setdefault(each.says("name") or "part", []).append("\n".join(self._lines(each)))
        return {name: said for name, texts in found.items() if (said := "\n\n".join(filter(None, texts)))}

    def _blocks(self, part: Field, depth: int = -1) -> Iterator[Piece]:
        """Yield the blocks of a part: paragraphs, and the parts inside as list items with their labels."""
        label = _label(part)
        said = [*filter(None, [part.says("title")]), *(self._filled(text) for text in _texts(part))]
        for place, text in enumerate(said or filter(None, [label])):
            is_item = depth >= 0 or bool(label)
            kind = BlockKind.LIST_ITEM if is_item and not place else BlockKind.PARAGRAPH
            marker = label if is_item and not place and text != label else ""
            made = piece(kind, text, marker=marker, depth=max(depth, 0) if is_item and not place else 0)
            yield at_lines(made, part.line, part.line) if part.line else made
        for each in part.all("part"):
            yield from self._blocks(each, depth + 1)

    def _lines(self, part: Field, depth: int = 0) -> Iterator[str]:
        """Yield the lines of a part that is not binding, the parts inside indented."""
        own = [part.says("title"), *(self._filled(text) for text in _texts(part)), *self._beside(part)]
        named = f"{part.says('name')}:" if depth and part.says("name") not in {"item", "objective", ""} else ""
        label = _label(part)
        line = " ".join(filter(None, (label, named if not label else "", "\n".join(filter(None, own)))))
        if line:
            yield "  " * depth + line
        for each in part.all("part"):
            yield from self._lines(each, depth + 1)

    def _beside(self, part: Field) -> Iterator[str]:
        """Yield what a part says beside its prose: properties, links to elsewhere, unknown fields."""
        own = self._ids.get(part.says("id"))
        for each in part.parts:
            if each.name == "link" and (target := self._target(each)) != own:
                yield f"{each.says('rel') or 'link'}: {target}"
            elif (each.name == "prop" and not _is(each, "label")) or each.name not in _PART:
                yield from told(each)

    def _filled(self, text: str, inside: int = 0) -> str:
        """Write the values of parameters in their places: "[frequency]", "[one or more: a; b]"."""
        return _INSERT.sub(lambda found: self._value_of(found[1], found[0], inside), text)

    def _value_of(self, name: str, written: str, inside: int) -> str:
        param = self._params.get(name)
        if param is None or inside >= _MOST_INSIDE:
            return written if param is None else f"[{name}]"
        if (param, inside) not in self._values:  # of a parameter that stands in many texts, once
            self._values[param, inside] = self._said_of(param, name, inside)
        return self._values[param, inside]

    def _said_of(self, param: Field, name: str, inside: int) -> str:
        values = [each.text for each in param.all("value")]
        selects = param.all("select")
        chosen = [each.text.strip() for select in selects for each in select.all("choice")]
        many = selects[0].says("how-many").replace("-", " ") if selects else ""
        if values:
            said = ", ".join(values)
        elif chosen:
            said = f"{'; '.join(chosen)}" if many in {"", "one"} else f"{many}: {'; '.join(chosen)}"
        else:
            said = f"[{param.says('label') or name}]"
        said = self._filled(" ".join(said.split())[: _LONGEST_VALUE + 1], inside + 1).strip()
        said = f"[{said}]" if chosen and not values else said
        return said if len(said) <= _LONGEST_VALUE else f"[{param.says('label') or name}]"

    def _notes(self, said: Mapping[str, str], parts: Iterable[Field] = ()) -> Iterator[Piece]:
        """Yield notes of what is not binding: one for each part or with several lines, one of all others."""
        lines = {each.says("name"): each.line for each in reversed(list(parts))}
        for name, text in said.items():
            if name in lines or "\n" in text:
                written = piece(BlockKind.NOTE, f"{name}: {text}")
                yield at_lines(written, lines[name], lines[name]) if lines.get(name) else written
        short = [f"{name}: {text}" for name, text in said.items() if name not in lines and "\n" not in text]
        if short:
            yield piece(BlockKind.NOTE, "\n".join(short))

    # ---- profiles

    def profile(self, root: Field) -> Iterator[dict[str, Any]]:
        """Yield what a profile imports, and an item for each control that it selects or changes."""
        alters: dict[str, list[Field]] = {}
        for each in root.below("alter"):
            alters.setdefault(each.says("control-id"), []).append(each)
        seen: set[str] = set()
        for number, each in enumerate(root.all("import"), 1):
            source = self._target(each)
            rest = [line for part in each.parts for line in told(part) if part.name not in {"include-control", "href"}]
            chosen = [part for part in each.all("include-control") if part.all("with-id")]
            rest += [line for part in each.all("include-control") if part not in chosen for line in told(part)]
            rest += sorted({line for part in chosen for line in told(part) if "with-id:" not in line})
            blocks = [piece(BlockKind.NOTE, "\n".join(rest))] if rest else []
            yield {"section": f"import {source}", "level": str(number), "line": each.line, "blocks": blocks}
            for name in (named.text.strip() for part in chosen for named in part.all("with-id")):
                if name and name not in seen:
                    seen.add(name)
                    yield self._selected(name, alters.pop(name, []), f"{number}.{len(seen)}")
        if alters:
            yield {"section": "modify", "level": str(len(root.all("import")) + 1)}
            yield from (self._selected(name, changes, "") for name, changes in alters.items())

    def _selected(self, name: str, alters: list[Field], level: str) -> dict[str, Any]:
        blocks: list[Piece] = []
        for change in (each for alter in alters for each in alter.all("add", "remove")):
            parts = change.all("part")
            rest = [line for each in change.parts if each not in parts for line in told(each, change.name)]
            asides = [each for each in parts if each.says("name").startswith(_ASIDE)]
            blocks += [piece(BlockKind.NOTE, "\n".join(rest))] if rest else []
            blocks += self._stated(each for each in parts if each not in asides)
            blocks += self._notes(self._asides(asides), asides)
        return {
            "id": name or "alter",
            "text": _demanded(blocks),
            "level": level,
            "kind": "changed control" if alters else "selected control",
            "links": [[name, "select"]] if level else [[name, "alter"]],
            "line": alters[0].line if alters else 0,
            "blocks": blocks,
        }

    # ---- components

    def claims(self, root: Field) -> Iterator[dict[str, Any]]:
        """Yield the components, and an item for each claim that one of them implements a control."""
        taken = Counter[str]()
        holders = root.all("component", "capability") or [root]
        for number, holder in enumerate(holders, 1):
            owner = holder.says("title") if holder is not root else ""
            if holder is not root:
                section = {"section": owner or holder.name, "level": str(number), "line": holder.line}
                yield {**section, "blocks": self._said(holder, _HOLDER)}
            for place, each in enumerate(holder.all("control-implementation"), 1):
                level = f"{number}.{place}"
                source = self._target(Field("", parts=[Field("href", each.says("source"))]))
                self._params = given = _set_in(each)
                blocks = self._said(each, frozenset({"uuid", "source", "implemented-requirement"}))
                name = f"control-implementation {source}".strip()
                yield {"section": name, "level": level, "line": each.line, "blocks": blocks}
                for count, claim in enumerate(each.all("implemented-requirement"), 1):
                    control = claim.says("control-id")
                    called = f"{owner}: {control}" if owner else control or "claim"
                    taken[called] += 1
                    unique = called if taken[called] == 1 else f"{called}#{taken[called]}"
                    yield self._claim(claim, unique, f"{level}.{count}", given)

    def _claim(self, claim: Field, name: str, level: str, given: Mapping[str, Field]) -> dict[str, Any]:
        control = claim.says("control-id")
        self._params = {**given, **_set_in(claim)}
        blocks = list(self._said(claim, frozenset({"uuid", "control-id"})))
        return {
            "id": name,
            "text": _demanded(blocks),
            "level": level,
            "kind": "implemented requirement",
            "attributes": {"control-id": control},
            "links": [[control, "implements"]] if control else [],
            "line": claim.line,
            "blocks": [*blocks, piece(BlockKind.NOTE, f"implements: {control}")],
        }

    def _said(self, given: Field, without: frozenset[str]) -> list[Piece]:
        """Return the description of something, what it says of statements, and notes of all else it says."""
        blocks, rest = list[Piece](), list[str]()
        for each in given.parts:
            if each.name == "description":
                blocks += [piece(BlockKind.PARAGRAPH, self._filled(text)) for text in each.text.split("\n\n")]
            elif each.name == "statement":
                own = each.says("statement-id")
                lines = [line for part in each.parts if part.name not in _STATEMENT for line in told(part)]
                texts = [self._filled(part.text) for part in each.all("description")]
                made = piece(BlockKind.PARAGRAPH, "\n".join(filter(None, [": ".join([own, *texts]), *lines])))
                blocks.append(at_lines(made, each.line, each.line) if each.line else made)
            elif each.name == "link":
                rest.append(f"{each.says('rel') or 'link'}: {self._target(each)}")
            elif each.name not in without:
                rest += told(each)
        return [*blocks, *([piece(BlockKind.NOTE, "\n".join(rest))] if rest else [])]


_HOLDER = frozenset({"uuid", "title", "control-implementation"})
_STATEMENT = frozenset({"statement-id", "uuid", "description"})


def _set_in(given: Field) -> dict[str, Field]:
    """Return the parameters that a claim sets, by their ids."""
    return {each.says("param-id"): each for each in given.all("set-parameter")}


def _texts(part: Field) -> Iterator[str]:
    """Yield the paragraphs of a part."""
    for text in (part.text, *(each.text for each in part.all("prose"))):
        yield from (paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip())


def _demanded(blocks: Iterable[Piece]) -> str:
    """Return the text of an item: all blocks but notes, one on each line, indented as nested."""
    binding = (each for each in blocks if each["kind"] != BlockKind.NOTE)
    return "\n".join("  " * each.get("depth", 0) + _labelled(each) for each in binding)


def _labelled(block: Piece) -> str:
    return f"{block['marker']} {block['text']}" if block.get("marker") else block["text"]


def _is(prop: Field, name: str) -> bool:
    return prop.says("name") == name


def _value(prop: Field) -> str:
    return prop.says("value")


def _label(given: Field) -> str:
    """Return the label of a control, group or part: the one without a class, which people write, else the first."""
    labels = [each for each in given.all("prop") if _is(each, "label") and _value(each)]
    return next((_value(each) for each in labels if not each.says("class")), _value(labels[0]) if labels else "")


def _told_param(param: Field) -> str:
    """Write a parameter on one line: its id, then all that it says."""
    lines = [param.text, *(line for each in param.parts if each.name != "id" for line in told(each))]
    return f"{param.says('id')}: {'; '.join(' '.join(line.split()) for line in lines if line)}"

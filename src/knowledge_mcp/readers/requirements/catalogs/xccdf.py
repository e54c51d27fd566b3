"""Child process: XCCDF benchmarks, such as STIGs, to items: the rules, and the profiles that select them.

A rule's id is what people cite: its version in a STIG ("RHEL-08-010000"), else its id without the part that XCCDF 1.2
prescribes ("xccdf_org.example_rule_"). Its whole id is its attribute `rule`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from knowledge_mcp.language.force import detect_convention, force_of
from knowledge_mcp.language.identifiers import is_identifier
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.requirements.catalogs.fields import Field, told
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, piece

NAMESPACE = "{http://checklists.nist.gov/xccdf/1."
"""How the names of elements begin, in all versions."""
READ = frozenset({"Group", "Rule", "Profile", "Value"})
"""What sections and items are made of; all else is read as data."""
_PRESCRIBED = re.compile(r"xccdf_[^_]{1,200}_(?:rule|group|profile|value)_(?=.)")
_TAG = re.compile(r"<(/?)([A-Z][A-Za-z]{2,40})>")
_PLACE = re.compile(r"\{\{ insert: param, ([^\s{}]{1,300}) \}\}")
_LONGEST_VALUE = 500
"""Characters of a value in the text of a rule; of a longer one, its name is enough."""
_ORDINARY = detect_convention("")
_WHOLE = frozenset({"title", "description", "id", "Group", "Rule", "version"})
_LINKED = {"requires": "idref", "conflicts": "idref"}
_SELECTS = ("unselect", "select")


def xccdf(root: Field) -> Iterator[dict[str, Any]]:
    """Yield the title, the rules below the titles of their groups, then the values, then the profiles."""
    yield {"title": root.says("title")}
    benchmark = _Benchmark(root)
    yield from benchmark.inside(root, "")
    number = len(root.all("Group", "Rule"))
    values = list(root.below("Value"))
    if values:
        number += 1
        notes = [at_lines(piece(BlockKind.NOTE, "\n".join(_told(each))), each.line, each.line) for each in values]
        yield {"section": "Values", "level": str(number), "blocks": notes}
    profiles = root.all("Profile")
    if profiles:
        yield {"section": "Profiles", "level": str(number + 1)}
        for count, each in enumerate(profiles, 1):
            yield benchmark.profile(each, f"{number + 1}.{count}")


class _Benchmark:
    """Names of rules, and values that stand in their texts."""

    def __init__(self, root: Field) -> None:
        self._values = {each.says("id"): each for each in root.below("Value")}
        rules = list(root.below("Rule"))
        counts = Counter(name for each in rules for name in (each.says("version"), _short(each.says("id"))))
        self._own: dict[Field, str] = {}
        self._ids: dict[str, list[str]] = {}  # of rules and groups, to ids of items
        taken = Counter[str]()
        for each in rules:
            stated, short = each.says("version"), _short(each.says("id"))
            is_cited = is_identifier(stated) and counts[stated] == 1
            name = stated if is_cited else (short if counts[short] == 1 else each.says("id")) or "rule"
            taken[name] += 1
            self._own[each] = name if taken[name] == 1 else f"{name}#{taken[name]}"
            self._ids.setdefault(each.says("id"), []).append(self._own[each])
        for group in root.below("Group"):
            inside = [self._own[each] for each in group.below("Rule")] if not group.all("Group") else []
            self._ids.setdefault(group.says("id"), []).extend(inside)

    def inside(self, above: Field, level: str, given: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the groups and rules; a group around one rule is a property of this rule."""
        for number, each in enumerate(above.all("Group", "Rule"), 1):
            own = f"{level}.{number}".lstrip(".")
            rules = each.all("Group", "Rule")
            if each.name == "Rule":
                yield self._rule(each, own, given or {})
            elif len(rules) == 1 and rules[0].name == "Rule":
                yield self._rule(rules[0], own, self._about(each, "group"))
            else:
                yield self._section(each, own)
                yield from self.inside(each, own)

    def _section(self, group: Field, level: str) -> dict[str, Any]:
        blocks = [
            piece(BlockKind.PARAGRAPH, self._filled(text))
            for each in (group, *group.all("description"))
            for text in each.text.split("\n\n")
        ]
        rest = [line for each in group.parts if each.name not in _WHOLE | {"Value"} for line in told(each)]
        rest = [f"id: {group.says('id')}", *map(self._filled, rest)]
        name = group.says("title") or _short(group.says("id")) or "group"
        blocks.append(piece(BlockKind.NOTE, "\n".join(rest)))
        return {"section": name, "level": level, "line": group.line, "blocks": blocks}

    def _about(self, group: Field, name: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in group.parts:
            if each.name not in {"Group", "Rule", "Value"}:
                for key, value in _tagged(each) if each.name == "description" else [_pair(line) for line in told(each)]:
                    _add(found, f"{name} {key}" if key != "id" else name, self._filled(value))
        return found

    def _rule(self, rule: Field, level: str, given: Mapping[str, str]) -> dict[str, Any]:
        title = rule.says("title")
        about: dict[str, str] = {}
        links: list[list[str]] = []
        described = [rule.text] if rule.text else []
        for each in rule.parts:
            if each.name == "description":
                for key, value in _tagged(each):
                    if key == "description":
                        described.append(value)
                    else:
                        _add(about, key, self._filled(value))
            elif each.name != "title":
                for key, value in map(_pair, told(each)):
                    _add(about, "rule" if key == "id" else key, self._filled(value))
            links += self._links(each)
        text = self._filled("\n\n".join(described))
        blocks = [piece(BlockKind.PARAGRAPH, each) for each in text.split("\n\n") if each.strip()]
        if not blocks and title and not _demands(title):
            blocks = [piece(BlockKind.PARAGRAPH, title)]
        attributes = {**about, **given}
        blocks += _notes(attributes)
        return {
            "id": self._own[rule],
            "heading": title,
            "text": text or title,
            "level": level,
            "kind": "rule",
            "attributes": attributes,
            "links": links,
            "line": rule.line,
            "blocks": [at_lines(each, rule.line, rule.line) for each in blocks] if rule.line else blocks,
        }

    def _links(self, each: Field) -> Iterator[list[str]]:
        """Yield the links of a rule: to rules, and to identifiers elsewhere, such as CCI-000366 or AC-17(1)."""
        if each.name in _LINKED:
            yield from ([name, each.name] for name in self._ids.get(each.says("idref"), []))
        elif each.name in {"ident", "reference"}:
            text = " ".join(each.text.split())
            if text and (each.name == "ident" or is_identifier(text)):
                yield [text, each.name]

    def profile(self, profile: Field, level: str) -> dict[str, Any]:
        """Make the item of a profile, which links to the rules that it selects."""
        about: dict[str, str] = {}
        chosen: dict[str, list[str]] = {name: [] for name in _SELECTS}
        for each in profile.parts:
            if each.name == "select":
                name = each.says("idref")
                chosen[_SELECTS[each.says("selected") in {"true", "1", ""}]] += self._ids.get(name) or [name]
                rest = [part for part in each.parts if part.name not in {"idref", "selected"}]
                for key, value in (_pair(line) for part in rest for line in told(part, f"select {name}")):
                    _add(about, key, value)
            elif each.name not in {"title", "description"}:
                for key, value in map(_pair, told(each)):
                    _add(about, key, value)
        described = [pair for each in profile.all("description") for pair in _tagged(each)]
        text = "\n\n".join(value if key == "description" else f"{key}: {value}" for key, value in described)
        listed = {name: ", ".join(dict.fromkeys(names)) for name, names in chosen.items() if names}
        blocks = [piece(BlockKind.NOTE, each) for each in text.split("\n\n") if each.strip()]
        return {
            "id": _short(profile.says("id")) or "profile",
            "heading": profile.says("title"),
            "text": text,
            "level": level,
            "kind": "profile",
            "attributes": {**about, **listed},
            "links": [[name, "select"] for name in dict.fromkeys(chosen["select"])],
            "line": profile.line,
            "informative": True,
            "blocks": [*blocks, *_notes({**about, **listed})],
        }

    def _filled(self, text: str) -> str:
        return _PLACE.sub(lambda found: self._value_of(found[1]), text)

    def _value_of(self, name: str) -> str:
        """Return a value's default, which has no selector, or its title or name in brackets."""
        value = self._values.get(name)
        if value is None:
            return f"[{_short(name)}]"
        default = next((each.text for each in value.all("value") if not each.says("selector")), "")
        return default if 0 < len(default) <= _LONGEST_VALUE else f"[{value.says('title')[:200] or _short(name)}]"


def _demands(title: str) -> bool:
    """Return whether a title is read as a requirement: a sentence with "must" or the like, as newer STIGs have it."""
    return title.endswith(".") and force_of(title, _ORDINARY) is not None


def _short(name: str) -> str:
    return _PRESCRIBED.sub("", name, count=1) if name.startswith("xccdf_") else name


def _told(value: Field) -> Iterator[str]:
    yield f"{value.says('title') or _short(value.says('id'))}:"
    for each in value.parts:
        if each.name != "title":
            yield from told(each)


def _tagged(described: Field) -> Iterator[tuple[str, str]]:
    """Yield the parts of a description: STIGs write "<VulnDiscussion>…</VulnDiscussion>" as text inside."""
    text = described.text
    place, opened, begun = 0, "", 0
    for tag in _TAG.finditer(text):
        closing, name = tag.groups()
        if not opened and not closing:
            if rest := text[place : tag.start()].strip():
                yield "description", rest
            opened, begun = name, tag.end()
        elif opened == name and closing:
            if said := text[begun : tag.start()].strip():
                yield name, said
            opened, place = "", tag.end()
    if rest := (text[begun:] if opened else text[place:]).strip():
        yield opened or "description", rest


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition(": ")
    return name, value


def _add(found: dict[str, str], name: str, value: str) -> None:
    """Add a value to those of a name, which may have several."""
    found[name] = f"{found[name]}{chr(10) if chr(10) in value else ', '}{value}" if name in found else value


def _notes(said: Mapping[str, str]) -> list[Piece]:
    """Return notes: one for each value of several lines, one of all others."""
    long = [piece(BlockKind.NOTE, f"{name}: {value}") for name, value in said.items() if "\n" in value]
    short = [f"{name}: {value}" for name, value in said.items() if "\n" not in value]
    return [*long, *([piece(BlockKind.NOTE, "\n".join(short))] if short else [])]

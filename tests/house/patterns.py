"""Every regular expression of the package, and texts made of each one to make it slow.

Collected are the patterns that modules hold, those written in calls of `re` inside functions, and those built at run
time (`BUILT`, with a sample of what builds them). A pattern is pumped by itself: what one of its repeats accepts, many
times, behind what stands before that repeat, and then something that it does not accept.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from tests.house.source import Module, nodes, package_modules

METHODS = {
    "match": "match",
    "fullmatch": "fullmatch",
    "search": "search",
    "finditer": "finditer",
    "findall": "finditer",
    "sub": "finditer",
    "subn": "finditer",
    "split": "finditer",
}
"""Methods that use a pattern, and the one that is tried for each."""

ELSEWHERE = {"knowledge_mcp.readers.code.outline": {"match"}}
"""Methods that other modules use a module's patterns with."""

_OWN = "knowledge_mcp"
_SIGNS = " _1a.([{|`\"'“\n\t-:*<\\#,;/=!A‘é"
_FAILING = ("\x00aaaa\x00", "")
"""What a text ends with: a sign that few patterns accept, and words for those that accept signs and no words."""
_VARIANTS = 3
_LIMITLESS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


@dataclass(frozen=True, slots=True)
class Used:
    """One pattern, where it stands, and the methods that it is used with."""

    place: str
    pattern: re.Pattern[str]
    methods: tuple[str, ...]


def _name_patterns() -> Iterator[re.Pattern[str]]:
    from knowledge_mcp.language.names import Name

    for key in ("", "fr-1", "a0-0-0-0-0", "a-1-02-3-4-5", "std::vec.push", "fr 12.3 (ab)", "__init__"):
        yield Name(key, key, is_clause=False).pattern


def _place_patterns() -> Iterator[re.Pattern[str]]:
    from knowledge_mcp.language.multilingual.places import PLACE_WORDS
    from knowledge_mcp.language.references import places_in

    yield from map(places_in, ("", *PLACE_WORDS))


BUILT: dict[str, Callable[[], Iterator[re.Pattern[str]]]] = {
    "knowledge_mcp.language.references": _place_patterns,
    "knowledge_mcp.language.names": _name_patterns,
}
"""What builds patterns of values, by module, with patterns that it builds."""


def collected(root: Path) -> tuple[list[Used], list[str]]:
    """List all patterns of text, and the places of those that are built of what only a run knows."""
    found: dict[tuple[str, int], Used] = {}
    unknown: list[str] = []
    for module in package_modules(root):
        if "re" not in module.text or not re.search(r"\bre\.|from re ", module.text):
            continue
        loaded = importlib.import_module(module.name)
        used, others = _methods(module)
        for name, pattern in _held(vars(loaded), set()):
            methods = used.get(name) or ELSEWHERE.get(module.name) or others or {"search"}
            _add(found, Used(f"{module.name}.{name}", pattern, tuple(sorted(methods))))
        for pattern, method, line in _written(module, loaded):
            if pattern is not None:
                _add(found, Used(f"{module.name}:{line}", pattern, (method,)))
            elif module.name not in BUILT:
                unknown.append(f"{module.name}:{line}")
        for pattern in BUILT.get(module.name, lambda: iter(()))():
            _add(found, Used(f"{module.name} (built)", pattern, ("fullmatch", "match", "search")))
    return list(found.values()), unknown


def _add(found: dict[tuple[str, int], Used], used: Used) -> None:
    key = (used.pattern.pattern, used.pattern.flags)
    before = found.get(key)
    methods = (*before.methods, *used.methods) if before is not None else used.methods
    found[key] = Used(before.place if before is not None else used.place, used.pattern, tuple(sorted(set(methods))))


def _methods(module: Module) -> tuple[dict[str, set[str]], set[str]]:
    """Tell with which methods each name is used, and which ones are used with anything else."""
    used: dict[str, set[str]] = {}
    others: set[str] = set()
    of_text = {id(each.func) for each in nodes(module.tree) if isinstance(each, ast.Call) and _splits_text(each)}
    for node in nodes(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and id(node) not in of_text:
            base = node.value
            if isinstance(base, ast.Name) and base.id != "re":
                used.setdefault(base.id, set()).add(METHODS[node.attr])
                if not base.id.lstrip("_").isupper():
                    others.add(METHODS[node.attr])
            elif not isinstance(base, ast.Name) and node.attr not in {"split"}:
                others.add(METHODS[node.attr])
    return used, others


def _splits_text(node: ast.Call) -> bool:
    """Tell whether a call splits a text at a constant, `number.split(".")`, and is no pattern's."""
    match node:
        case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(), *_]):
            return True
        case _:
            return False


def _held(values: Mapping[str, Any], seen: set[int]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the patterns that a module's names hold, also inside tuples, lists and dicts."""
    for name, value in values.items():
        if name.startswith("__"):
            continue
        waiting: list[Any] = [value]
        while waiting:
            each = waiting.pop()
            if id(each) in seen:
                continue
            if isinstance(each, re.Pattern):
                if isinstance(cast("re.Pattern[Any]", each).pattern, str):
                    yield name, cast("re.Pattern[str]", each)
            elif isinstance(each, dict):
                seen.add(id(cast("Any", each)))
                waiting.extend(cast("dict[Any, Any]", each).values())
            elif isinstance(each, list | tuple | set | frozenset):
                seen.add(id(cast("Any", each)))
                waiting.extend(cast("list[Any]", each))
            elif type(each).__module__.startswith(_OWN) and hasattr(each, "__dataclass_fields__"):
                seen.add(id(each))
                waiting.extend(getattr(each, key, None) for key in each.__dataclass_fields__)


def _written(module: Module, loaded: ModuleType) -> Iterator[tuple[re.Pattern[str] | None, str, int]]:
    """Yield the patterns written in calls of `re` inside functions; None for one that is not written there."""
    for function in nodes(module.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "re"
                and (node.func.attr in METHODS or node.func.attr == "compile")
                and node.args
            ):
                yield _evaluated(node, loaded), METHODS.get(node.func.attr, "search"), node.lineno


def _evaluated(call: ast.Call, loaded: ModuleType) -> re.Pattern[str] | None:
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(cast("ast.Attribute", call.func).attr, 2)
    flags = next((each.value for each in call.keywords if each.arg == "flags"), None)
    flags = flags or (call.args[place] if len(call.args) > place else None)
    try:
        words, more = (
            eval(compile(ast.Expression(each), loaded.__name__, "eval"), vars(loaded)) if each else 0
            for each in (call.args[0], flags)
        )
    except NameError:
        return None
    return re.compile(words, more) if isinstance(words, str) else None


# ---- pumping --------------------------------------------------------------------------------------------------------


def pumped(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """List what to pump a pattern with: what stands before, what is repeated, and what stands behind."""
    parsed = cast("Any", re)._parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    found: dict[tuple[str, str, str], None] = {}
    for before, body in _repeats(parsed, [""], pattern.flags):
        for each in body:
            for begin in before:
                for end in _FAILING[:2]:
                    found.setdefault((begin, each, end))
                if begin:
                    found.setdefault(("", begin + each, _FAILING[0]))
                    found.setdefault((begin + each, begin, _FAILING[0]))
                    found.setdefault((begin, each, _FAILING[0] + begin))
    for before in _samples(parsed, pattern.flags):
        if before:
            found.setdefault(("", before, _FAILING[0]))
            for end in range(1, min(len(before), 12)):
                found.setdefault(("", before[:end], _FAILING[0]))
    for sign in _SIGNS:
        found.setdefault(("", sign, _FAILING[0]))
    return [each for each in found if each[1]]


def _repeats(parsed: Any, before: list[str], flags: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each repeat without a small bound: what can stand before it, and what it repeats."""
    before = before[:_VARIANTS]
    for op, value in parsed:
        name = str(op)
        if name in _LIMITLESS:
            _, high, body = value
            if int(high) > 8:
                yield before, [each for each in _samples(body, flags, 6) if each]
            yield from _repeats(body, before, flags)
        elif name == "BRANCH":
            for each in value[1]:
                yield from _repeats(each, before, flags)
        elif name == "SUBPATTERN":
            yield from _repeats(value[3], before, flags)
        elif name in {"ATOMIC_GROUP"}:
            yield from _repeats(value, before, flags)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            if value[0] > 0:
                yield from _repeats(value[1], before, flags)
        elif name == "GROUPREF_EXISTS":
            for each in value[1:]:
                if each is not None:
                    yield from _repeats(each, before, flags)
        after = _samples([(op, value)], flags, _VARIANTS) or [""]
        before = list(dict.fromkeys(one + other for one in before for other in after))[:_VARIANTS]


def _samples(parsed: Any, flags: int, most: int = 4) -> list[str]:
    """Make some texts that a part of a pattern accepts, more or less."""
    found = [""]
    for op, value in parsed:
        name = str(op)
        if name == "LITERAL":
            more = [chr(value)]
        elif name == "NOT_LITERAL":
            more = [sign for sign in "a _1" if ord(sign) != value]
        elif name == "ANY":
            more = ["a", " "]
        elif name == "IN":
            more = _of_set(value, flags)
        elif name == "BRANCH":
            more = [text for each in value[1] for text in _samples(each, flags, 2)][: 2 * most]
        elif name == "SUBPATTERN":
            more = _samples(value[3], flags, most)
        elif name == "ATOMIC_GROUP":
            more = _samples(value, flags, most)
        elif name in _LIMITLESS:
            low, high, body = value
            inner = _samples(body, flags, most)
            more = [text * max(int(low), min(1, int(high))) for text in inner]
        else:
            more = [""]
        found = list(dict.fromkeys(one + other for one in found for other in (more or [""])))
        found = sorted(found, key=lambda text: not text)[:most]
    return found


def _of_set(items: Any, flags: int) -> list[str]:
    """List characters of a set, of different kinds."""
    words = "".join(_set_part(item) for item in items)
    test = re.compile(f"[{words}]", flags & re.IGNORECASE)
    return [sign for sign in dict.fromkeys(_SIGNS + _first(items)) if test.match(sign)][:6]


def _first(items: Any) -> str:
    return "".join(chr(v if str(o) == "LITERAL" else v[0]) for o, v in items if str(o) in {"LITERAL", "RANGE"})


def _set_part(item: Any) -> str:
    op, value = item
    name = str(op)
    if name == "NEGATE":
        return "^"
    if name == "LITERAL":
        return re.escape(chr(value))
    if name == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w", "NOT_WORD": r"\W"}[
        str(value).removeprefix("CATEGORY_")
    ]

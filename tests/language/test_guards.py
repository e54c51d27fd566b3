"""What makes patterns fast changes nothing of what they find: guards ahead of alternatives, and words looked for first.

A guard says with which characters a match can begin. Whoever adds an alternative that begins otherwise fails here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from knowledge_mcp.language import document_types, force, references, sentences
from knowledge_mcp.language.multilingual.places import PLACE_WORDS
from knowledge_mcp.language.references import places_in

PARSER: Any = vars(re)["_parser"]
WIDTHLESS = {"AT", "ASSERT", "ASSERT_NOT"}
CATEGORIES = {"CATEGORY_DIGIT": "1", "CATEGORY_WORD": "w", "CATEGORY_SPACE": " "}
CHARACTERS: dict[str, Callable[[Any], str]] = {
    "LITERAL": chr,
    "NOT_LITERAL": lambda _: "w",
    "RANGE": lambda value: chr(value[0]),
    "CATEGORY": lambda value: CATEGORIES[str(value)],
}
REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def inner(module: ModuleType, name: str) -> Any:
    """Return what only a module itself uses."""
    return vars(module)[name]


REFERENCES = {code: places_in(code) for code in ("", *PLACE_WORDS)}
KINDS: tuple[tuple[object, float, tuple[str, ...], re.Pattern[str]], ...] = inner(document_types, "_WORDS")
GUARDED: dict[str, re.Pattern[str]] = {
    "sentences": inner(sentences, "_CANDIDATE"),
    "quotations": inner(sentences, "_QUOTED"),
    "force": inner(force, "_PLAIN"),
    "masked": inner(force, "_MASK"),
    "explained": inner(force, "_EXPLAINS"),
    **{f"references {code}".strip(): pattern for code, pattern in REFERENCES.items()},
}


def members(items: Sequence[Any]) -> set[str]:
    """List the characters of a class; one with a category in it is not for guards."""
    found: set[str] = set()
    for kind, value in items:
        assert str(kind) in {"LITERAL", "RANGE"}, kind
        low, high = (value, value) if str(kind) == "LITERAL" else value
        found |= set(map(chr, range(low, high + 1)))
    return found


def beginnings(parts: Sequence[Any]) -> tuple[set[str], bool]:
    """Tell with which characters a part of a pattern can begin, and whether it can be empty."""
    found: set[str] = set()
    for kind, value in parts:
        name = str(kind)
        if name in WIDTHLESS:
            continue
        if name in {"LITERAL", "IN"}:
            return found | (members(value) if name == "IN" else {chr(value)}), False
        if name == "BRANCH":
            every = [beginnings(list(each)) for each in value[1]]
        elif name == "SUBPATTERN":
            every = [beginnings(list(value[-1]))]
        else:
            assert name in REPEATS, name
            every = [beginnings(list(value[-1]))]
            every += [(set(), True)] if value[0] == 0 else []
        found = found.union(*(each for each, _ in every))
        if not any(is_empty for _, is_empty in every):
            return found, False
    return found, True


def guards(parts: Sequence[Any]) -> list[tuple[set[str], set[str]]]:
    """List a pattern's guards: the characters that each lets pass, and those with which what follows can begin."""
    listed = list(parts)
    found: list[tuple[set[str], set[str]]] = []
    for place, (kind, value) in enumerate(listed):
        if str(kind) == "ASSERT" and value[0] == 1 and [str(one) for one, _ in value[1]] == ["IN"] and place < 4:
            rest, is_empty = beginnings(listed[place + 1 :])
            if rest and not is_empty:
                found.append((members(value[1][0][1]), rest))
        elif str(kind) == "BRANCH":
            found += [each for branch in value[1] for each in guards(list(branch))]
        elif str(kind) == "SUBPATTERN":
            found += guards(list(value[-1]))
    return found


@pytest.mark.parametrize("name", list(GUARDED))
def test_a_guard_lets_every_alternative_pass(name: str) -> None:
    pattern = GUARDED[name]
    (guard,) = guards(list(PARSER.parse(pattern.pattern, pattern.flags & re.IGNORECASE)))
    passing, needed = ({each.casefold() for each in some} if pattern.flags & re.IGNORECASE else some for some in guard)
    assert len(needed) > 1
    assert needed <= passing, f"the guard stops {needed - passing}"


def texts(parts: Sequence[Any]) -> list[str]:
    """Spell what a pattern finds: each of its alternatives at least once, in the first text of what is around it."""
    every = [_spelled(str(kind), value) for kind, value in parts]
    first = [each[0] for each in every]
    others = ((*first[:at], text, *first[at + 1 :]) for at, each in enumerate(every) for text in each[1:])
    return ["".join(first), *map("".join, others)]


def _spelled(kind: str, value: Any) -> list[str]:
    match kind:
        case _ if kind in CHARACTERS:
            return [CHARACTERS[kind](value)]
        case "IN":
            is_other = str(value[0][0]) == "NEGATE"
            return ["w"] if is_other else [text for one, inside in value for text in _spelled(str(one), inside)]
        case "BRANCH":
            return [text for each in value[1] for text in texts(each)]
        case "SUBPATTERN":
            return texts(value[-1])
        case _ if kind in REPEATS:
            return [*([""] if value[0] == 0 else []), *(text * max(value[0], 1) for text in texts(value[-1]))]
        case _:
            assert kind in WIDTHLESS, kind
            return [""]


def found(pattern: re.Pattern[str]) -> list[str]:
    """List texts that a pattern finds, of each alternative that can stand alone."""
    spelled = texts(list(PARSER.parse(pattern.pattern, pattern.flags & re.IGNORECASE)))
    result = [text for text in spelled if pattern.search(text)]
    assert len(result) > 0.9 * len(spelled), "the texts are not those that the pattern finds"
    return result


@pytest.mark.parametrize("code", list(REFERENCES))
def test_every_reference_holds_what_is_looked_for_first(code: str) -> None:
    first = inner(references, "_ANY")
    assert [text for text in found(REFERENCES[code]) if not first.search(text)] == []


@pytest.mark.parametrize("place", range(len(KINDS)))
def test_every_mention_of_a_kind_holds_one_of_its_words(place: int) -> None:
    _, _, stems, pattern = KINDS[place]
    assert not stems or [text for text in found(pattern) if not any(stem in text for stem in stems)] == []

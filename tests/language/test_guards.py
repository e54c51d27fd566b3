"""What makes patterns fast changes nothing of what they find: guards ahead of alternatives, and words looked for first.

A guard says with which characters a match can begin. Whoever adds an alternative that begins otherwise fails here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.language import document_types, force, references, sentences
from knowledge_mcp.language.multilingual.places import PLACE_WORDS
from knowledge_mcp.language.references import places_in
from tests.machine import examples

PARSER: Any = vars(re)["_parser"]
WIDTHLESS = {"AT", "ASSERT", "ASSERT_NOT"}
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


@pytest.mark.slow
@pytest.mark.parametrize("code", list(REFERENCES))
@settings(max_examples=examples(300))
@given(data=st.data())
def test_every_reference_holds_what_is_looked_for_first(code: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(REFERENCES[code]))
    assert REFERENCES[code].search(text) is None or inner(references, "_ANY").search(text) is not None


@pytest.mark.parametrize("place", range(len(KINDS)))
@settings(max_examples=examples(200))
@given(data=st.data())
def test_every_mention_of_a_kind_holds_one_of_its_words(place: int, data: st.DataObject) -> None:
    _, _, stems, pattern = KINDS[place]
    text = data.draw(st.from_regex(pattern))
    assert not stems or any(stem in text for stem in stems)

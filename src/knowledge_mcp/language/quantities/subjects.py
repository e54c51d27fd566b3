"""Which numbered kind or item the numbers of a sentence are about: "Type 2", "class A1", "kind 3-1", "P-101"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.language.multilingual.places import NUMBERED
from knowledge_mcp.language.quantities.reading import Quantity
from knowledge_mcp.language.quantities.units import is_physical

_KINDS = (
    r"type|kind|class(?:e)?|categor(?:y|ie)|group|grade|level|zone|item|model|variant|series"
    r"|(?:[^\W\d_]{2,20})?(?:typ|klasse|kategorie|gruppe|stufe)|art|modell|variante|position"
    r"|catégorie|groupe|niveau|modèle|tipo|clase|categoría|grupo|nivel|modelo"
)
"""Nouns before the number of a kind."""
_CODE = (
    r"(?:[A-Z]{1,4}[-. ]?)?\d{1,4}(?:[-./]\d{1,4}){0,3}[A-Za-z]?(?!\w|[-./,]\d)"
    r"|[A-Z](?![\w'’])|[IVX]{2,5}(?!\w)"
)
_NAMED = re.compile(
    rf"(?<!\w)(?P<noun>(?i:{_KINDS}))(?P<many>(?i:e?s|n))?(?:[^\S\n](?:No\.|Nr\.|no\.|number)|[^:;.,\d\n]{{0,30}}:)?[^\S\n](?P<code>{_CODE})"
)
_NEXT = re.compile(rf"(?P<joint>\s?[,;/]\s?|\s(?:and|or|to|und|oder|bis|et|ou|à|y|o|a)\s|\s?[–—]\s?)(?P<code>{_CODE})")
_RANGES = frozenset({"to", "bis", "à", "a", "–", "—"})
_ALONE = re.compile(
    r"(?<![\w.,/-])(?:[A-Z]{1,4}-?\d{1,4}(?:-\d{1,4}){0,3}[a-z]?|\d{1,3}-\d{1,3}[a-z]?)(?![\w/-]|[.,]\d)"
)
"""Names of items without a noun: "P-101", "A10", "3-12"."""
_REFERS = re.compile(
    rf"(?:[(\[]|\b[A-Z]{{2,}}[ /]|\b(?:{NUMBERED}|[Ss]ee|by|per|to|from|with|[Ss]iehe|[Gg]emäß|nach|mit"
    r"|[Vv]oir|[Ss]elon|avec)\s{1,2})\Z"
)
"""What precedes names that are not the subject: a bracket, an issuer of standards ("EN 54-3"), the word for a place
("Table 3-1"), a word that refers or connects ("as required by SYS-12").
"""
_LABELLED = re.compile(r"[*_`]{0,3}(?:[:.\])|]|\s[*_`]{0,3}[^\W\d_a-zß-ÿ])")
"""What follows the label of a requirement: "SYS-1 The pump", "SYS-1: The pump"."""
_MARKS = " \t\n*_`#>|-"
_SEEN = 40
"""Characters before a name in which such words are searched."""
_LONGEST_RANGE = 100
"""Maximum kinds in a range; a longer one is not a range of kinds."""


@dataclass(frozen=True, slots=True)
class _Named:
    """The kinds or items named at a place.

    Attributes:
        family: what their names have in common: the noun, or the form of the name.
        names: upper case; of a range also those between.
        start, end: offsets in the sentence.
    """

    family: str
    names: frozenset[str]
    start: int
    end: int


def subjects_of(sentence: str, numbers: Sequence[Quantity], quantity: Quantity) -> Mapping[str, frozenset[str]]:
    """Return the numbered kinds and items that a quantity is about, by family; empty if the sentence names none.

    If a sentence names several, a quantity belongs to the last one before it, or to the next one if the sentence ends
    with a name: "4 kg for Type 1 and 9 kg for Type 2".

    Args:
        sentence: the text that contains the quantity.
        numbers: all its quantities.
        quantity: as read from it; a grade ("class 2") is not about itself.
    """
    named = [each for each in _named_in(sentence, numbers) if each.end <= quantity.start or each.start >= quantity.end]
    last_number = max((each.end for each in numbers if is_physical(each.unit)), default=len(sentence))
    found: dict[str, frozenset[str]] = {}
    for family in {each.family for each in named}:
        places = sorted((each for each in named if each.family == family), key=lambda each: each.start)
        before = [each for each in places if each.end <= quantity.start]
        behind = [each for each in places if each.start >= quantity.end]
        chosen = before[-1:] if places[-1].start < last_number else behind[:1]
        found[family] = frozenset[str]().union(*(each.names for each in chosen or places))
    return found


def without_names(sentence: str, numbers: Sequence[Quantity]) -> list[Quantity]:
    """Leave out the numbers that name a kind after its noun: "Type 20 pumps" are not 20 pumps."""
    codes = [match.span("code") for match in _NAMED.finditer(sentence)]
    return [
        each
        for each in numbers
        if is_physical(each.unit) or not any(start < each.end and each.start < end for start, end in codes)
    ]


def are_apart(ours: Mapping[str, frozenset[str]], theirs: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two quantities are about different kinds or items of one family: "Type 2" and "Type 20"."""
    return any(theirs[family].isdisjoint(names) for family, names in ours.items() if family in theirs)


def _named_in(sentence: str, numbers: Sequence[Quantity]) -> Iterator[_Named]:
    measured = [(each.start, each.end) for each in numbers if is_physical(each.unit)]

    def is_measured(start: int, end: int) -> bool:
        return any(begin < end and start < stop for begin, stop in measured)

    for match in _NAMED.finditer(sentence):
        if is_measured(*match.span("code")):
            continue
        names, end = _between(match["code"]), match.end()
        last = match["code"]
        while (more := _NEXT.match(sentence, end)) is not None and not is_measured(*more.span("code")):
            is_range = more["joint"].strip() in _RANGES
            names |= _range(last, more["code"]) if is_range else _between(more["code"])
            last, end = more["code"], more.end()
        yield _Named(match["noun"].lower(), frozenset(names), match.start("code"), end)
    for match in _ALONE.finditer(sentence):
        before = sentence[max(0, match.start() - _SEEN) : match.start()]
        is_label = not before.strip(_MARKS) and _LABELLED.match(sentence, match.end()) is not None
        if not (is_label or is_measured(*match.span()) or _REFERS.search(before)):
            yield _Named(re.sub(r"\d+", "0", match.group()), frozenset({match.group().upper()}), *match.span())


def _between(code: str) -> set[str]:
    """Return a name, and the numbers from 1 to 3 if it may be the range "1-3"."""
    first, joint, last = code.partition("-")
    return {code.upper(), *(_range(first, last) if joint else ())}


def _range(first: str, last: str) -> set[str]:
    found = {first.upper(), last.upper()}
    if first.isdecimal() and last.isdecimal() and int(first) < int(last) <= int(first) + _LONGEST_RANGE:
        found |= set(map(str, range(int(first), int(last) + 1)))
    return found

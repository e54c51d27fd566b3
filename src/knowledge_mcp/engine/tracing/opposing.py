"""Evidence that contradicts a demand: it negates it, does what it bans, leaves it open, or has the opposite word."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from knowledge_mcp.language.multilingual.denial import denials, is_limited, left_open, limiting_words
from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, language_of
from knowledge_mcp.language.quantities.reading import quantities
from knowledge_mcp.language.requirements.opposites import OPPOSITES

Terms = Callable[[str], Sequence[str]]

_AVOIDS = re.compile(
    r"\b(?:no|none|neither|nor|without|avoid|prevent|prohibit|forbid|exclude|free|instead|rather|replac|former|previous|until"
    r"|statt|anstatt|anstelle|ersetz|bisher|früher|ohne)",
    re.IGNORECASE,
)
"""Words with which evidence keeps a ban without denying it."""
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def opposed_words(demand: str, quote: str, terms: Terms) -> tuple[str, str] | None:
    """Return what a demand asks for, and the words of its evidence that contradict it; None if none do.

    Args:
        demand: its text.
        quote: the evidence.
        terms: splits a text into terms.
    """
    language = language_of(f"{demand}\n{quote}")
    is_open = left_open(quote, language)
    if is_open and not left_open(demand, language):
        return "it is done", is_open
    silent = FUNCTION_WORDS.get(language, frozenset())

    def content_terms(text: str) -> list[str]:
        return list(terms(" ".join(word for word in text.split() if word.strip(".,;:").lower() not in silent)))

    demanded, stated = set(content_terms(demand)), content_terms(quote)
    is_same = 2 * sum(term in demanded for term in stated) >= len(stated)
    banned, denied = list(denials(demand, language)), list(denials(quote, language))
    have_one_condition = limiting_words(demand, language) == limiting_words(quote, language)
    is_plain = not is_limited(quote, language) or (have_one_condition and set(stated) <= demanded)
    if is_same and is_plain and not banned:
        for words, printed in denied:
            if {*content_terms(words)[:1]} & demanded:
                return "not denied", printed
    is_plain = have_one_condition or not is_limited(demand, language)
    if is_same and len(banned) == 1 and is_plain and not (denied or _AVOIDS.search(quote)):
        forbidden = content_terms(demand[demand.find(banned[0][1]) :].partition(" ")[2])
        stands = bool(forbidden) and not quantities(demand, language) and {*forbidden} <= {*stated}
        is_whole = set(stated) <= demanded
        asked = [term for term in content_terms(demand) if term in stated]
        in_order = [term for term in stated if term in demanded] == asked
        if stands and (is_whole or (in_order and _adds_only_circumstances(quote, demanded, silent, terms))):
            return f"{banned[0][1]}", quote
    return _opposite_words(demand, quote, terms)


_PREPOSITIONS = frozenset(
    "in on at with during for under by from within an am im bei mit während unter von vom zur zum auf durch".split()
)
_NEAR = 2
"""Words between a preposition and its noun: "in the cold season"."""


def _adds_only_circumstances(quote: str, demanded: set[str], silent: Collection[str], terms: Terms) -> bool:
    """Return whether all words that only the evidence has follow a preposition: "are used in winter"."""
    words = _WORD.findall(quote)
    for at, word in enumerate(words):
        is_known = word.lower() in silent or word.lower() in _PREPOSITIONS or set(terms(word)) <= demanded
        before = {each.lower() for each in words[max(0, at - _NEAR) : at]}
        if not is_known and before.isdisjoint(_PREPOSITIONS):
            return False
    return True


def _opposite_words(demand: str, quote: str, terms: Terms) -> tuple[str, str] | None:
    """Return a word and its opposite that occur next to the same word."""
    ours, theirs = ([word.lower() for word in _WORD.findall(text)] for text in (demand, quote))
    for pair in OPPOSITES:
        mine, its = pair & set(ours), pair & set(theirs)
        if len(mine) == len(its) == 1 and mine != its:
            (one,), (other,) = mine, its
            if not _beside(ours, one, terms).isdisjoint(_beside(theirs, other, terms)):
                return one, other
    return None


def _beside(words: Sequence[str], word: str, terms: Terms) -> set[str]:
    """Return the terms directly before and after a word."""
    at = words.index(word)
    before, behind = (list(terms(" ".join(part))) for part in (words[max(0, at - 3) : at], words[at + 1 : at + 4]))
    return {*before[-1:], *behind[:1]}

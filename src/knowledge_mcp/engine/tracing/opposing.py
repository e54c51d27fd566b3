"""Evidence that contradicts a demand: it negates it, leaves it open, or contains the opposite word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from knowledge_mcp.language.requirements.opposites import OPPOSITES

Terms = Callable[[str], Sequence[str]]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_DENIES = re.compile(
    r"\b(?:not|never|cannot|nicht|nie|niemals|kein(?:e[mnrs]?)?|pas|jamais|aucune?|niet|geen|inte|ikke)\b|n['’]t\b",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:\W{1,3}[^\W\d_]{1,30}){1,4}")
"""Words after a negation, of which the first content word is negated."""
_OTHERWISE = re.compile(
    r"\b(?:unless|except|only|other than|until|if|when|where|while|whether|that|which|who|than|without|limited to"
    r"|exceed\w{0,3}|necessarily|es sei denn|außer|nur|wenn|falls|bevor|bis|sauf|si|sinon|excepto|salvo)\b|:\s{0,3}\Z",
    re.IGNORECASE,
)
"""Words that make a negation apply to something else: "is not stored unless encrypted"."""
_OPEN = re.compile(
    r"\b(?:(?:is|are|was|were|will be|has been|have been)\s(?:(?:still|currently|yet)\s)?"
    r"(?:not\s(?:yet\s)?(?:a\s)?(?:part\sof|included\sin|in(?:\sthe)?\sscope|foreseen|planned|supported|implemented|available"
    r"|provided|considered|addressed|covered)|out\sof\s(?:the\s)?scope|outside\s(?:the\s)?scope"
    r"|(?:to\sbe|left\sto\sbe)\s(?:decided|determined|defined|confirmed|specified|agreed|clarified)"
    r"|(?:pending|undecided|undefined|unresolved|deferred|postponed|omitted|dropped|waived))\b"
    r"|(?<![\w.])t\.?b\.?[adc]\.?(?!\w)|\bnot\s(?:yet\s)?(?:supported|implemented|planned|foreseen)\b"
    r"|\b(?:ist|sind|wird|werden)\s(?:noch\s)?(?:(?:nicht\sTeil|nicht\sBestandteil|nicht\svorgesehen|nicht\sgeplant"
    r"|nicht\sumgesetzt)\b|offen\b|später\s(?:festgelegt|entschieden|definiert)\b))",
    re.IGNORECASE,
)
"""Phrases that leave the subject of a sentence open or out of scope."""


def opposed_words(demand: str, quote: str, terms: Terms) -> tuple[str, str] | None:
    """Return what a demand asks for, and the words of its evidence that contradict it; None if none do.

    Args:
        demand: its text.
        quote: the evidence.
        terms: splits a text into terms.
    """
    left_open = _OPEN.search(quote)
    if left_open is not None and _OPEN.search(demand) is None:
        return "it is done", " ".join(left_open[0].split())
    wanted, said = set(terms(demand)), list(terms(quote))
    is_same = 2 * sum(term in wanted for term in said) >= len(said)
    if is_same and _OTHERWISE.search(quote) is None and not list(_denied(demand, terms)):
        for term, words in _denied(quote, terms):
            if term in wanted:
                return "not denied", words
    return _opposite_words(demand, quote, terms)


def _denied(text: str, terms: Terms) -> Iterator[tuple[str, str]]:
    """Yield the first term after each negation, with both as printed."""
    for found in _DENIES.finditer(text):
        behind = _BEHIND.match(text, found.end())
        said = list(terms(behind[0])) if behind is not None else []
        if said and behind is not None:
            yield said[0], " ".join(f"{found[0]}{behind[0]}".split())


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

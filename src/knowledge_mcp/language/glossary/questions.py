"""The term that a question asks the meaning of, and the keys of a term as printed."""

from __future__ import annotations

import re
from collections.abc import Callable

_ASKS_WHAT = re.compile(
    r"\W*(?:(?:what(?:\sis|['’]s)\s)?(?:the\s)?(?:definition|meaning)\sof"
    r"|what(?:\sis|\sare|['’]s)(?:\smeant\sby)?(?:\san?)?|what\sdo(?:es)?|define"
    r"|was\s(?:ist|sind|bedeutet|bedeuten|heißt|versteht\sman\sunter)(?:\seine?)?|definition\svon"
    r"|qu['’]est[\s-]ce\squ(?:['’]une?|e)|que\ssignifie|définition\s(?:de|du)"
    r"|qué\s(?:es|son|significa)(?:\suna?)?|definición\sde)"
    r"\s(?:(?:the|der|le|el)\s(?:term|word|abbreviation|begriff|terme|término)\s)?",
    re.IGNORECASE,
)
"""Openings of questions that ask what something is; "the" is excluded, because it points to something known."""
_QUESTION_ENDINGS = (" mean", " stand for")
_AROUND_TERMS = " \"'`´‘’“”„«»‹›?!.,:;"


def term_in_question(question: str) -> str:
    """Return the term of a question that asks only for its meaning, such as "gust" in "What is a gust?"; else empty."""
    opening = _ASKS_WHAT.match(" ".join(question.split()))
    if opening is None:
        return ""
    term = opening.string[opening.end() :].strip(_AROUND_TERMS)
    for ending in _QUESTION_ENDINGS:
        term = term.removesuffix(ending)
    return term.strip(_AROUND_TERMS)


_BRACKETED = re.compile(r"(?P<words>.*\S)\s*\((?P<inner>[^()]{1,60})\)\s*\Z", re.DOTALL)


def term_keys(term: str, key_of: Callable[[str], str]) -> list[str]:
    """List the possible keys of a printed term: whole, without brackets, the text in brackets, synonyms."""
    forms = [term]
    bracketed = _BRACKETED.match(term)
    if bracketed is not None:
        words, inner = bracketed.group("words"), bracketed.group("inner")
        forms += [words, *([inner] if _shortens(inner, words) else [])]
    if ";" in term:
        forms += term.split(";")
    return [key for key in dict.fromkeys(map(key_of, forms)) if key]


def _shortens(inner: str, words: str) -> bool:
    """Return whether all letters of an abbreviation occur in its words in order: (MTTR) in "mean time to repair"."""
    rest = iter(words.casefold())
    return inner[:1].casefold() == words[:1].casefold() and all(
        letter in rest for letter in inner.casefold() if letter.isalpha()
    )

"""Phrases: quoted words in a question, and words that a text contains in the same order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_WORD = re.compile(r"\w+")
_TO_BLANKS = {code: " " for code in range(128) if not _WORD.match(chr(code))}
"""Characters other than letters, digits and `_`: replacing them and splitting takes half as long as the regular
expression.
"""
_QUOTED = re.compile(r"(?<![\w\"])\"(?=\S)([^\"\n]{1,300})(?<=\S)\"(?!\w)|[“„]([^“”„\n]{1,300})[”“]|«([^«»\n]{1,300})»")
"""A mark after a letter or digit opens nothing: `5" pipe` is five inches wide."""

RUN = 4
"""Length in words of the n-grams that texts are compared by; three words are too often equal by chance."""
_SAID = 3
"""Length in words of the n-grams that a passage and a question are compared by."""
_LEAST_WORDS = 4
"""Minimum words of a question whose order is compared: two n-grams of three."""


def plain_words(text: str) -> list[str]:
    """List the words of a text without case and punctuation."""
    return words_of(_normal(text).casefold())


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words_of(text: str) -> list[str]:
    """List the words of a text as written, without punctuation."""
    return text.translate(_TO_BLANKS).split() if text.isascii() else _WORD.findall(text)


def word_runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the four-word n-grams by which two texts are compared."""
    return set(zip(*(words[at:] for at in range(RUN)), strict=False)) or {tuple(words)}


def runs_of_question(question: str) -> set[tuple[str, ...]]:
    """Return the three-word n-grams of a question; empty if it has less than four words."""
    words = plain_words(question)
    return set(zip(*(words[at:] for at in range(_SAID)), strict=False)) if len(words) >= _LEAST_WORDS else set()


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase whose words must be adjacent.

    Attributes:
        text: as asked, without its quotation marks.
        key: its words, each between blanks.
    """

    text: str
    key: str


class VerbatimMatcher:
    """Matches phrases and questions word for word in texts; case, blanks and punctuation are ignored.

    Args:
        texts: the texts to search, each separately.
    """

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    @cached_property
    def _folded(self) -> list[str]:
        return [_normal(text).casefold() for text in self._texts]

    @cached_property
    def _words(self) -> str:
        return "\n".join(f" {' '.join(words_of(text))} " for text in self._folded)

    def holds(self, phrase: Phrase) -> bool:
        """Return whether the words of a phrase occur next to each other."""
        first = phrase.key.split(maxsplit=1)[0]
        return any(first in text and _together(phrase.key).search(text) for text in self._folded)

    def share(self, runs: Collection[tuple[str, ...]], above: float = 0.0) -> float:
        """Return the share of a question's `runs_of_question` that the text contains.

        It is 0 if there are none, and if an early check shows that it is not `above` a limit.
        """
        text = "\n".join(self._folded)
        there = {word for word in set[str]().union(*runs) if word in text}
        possible = [run for run in runs if there.issuperset(run)]
        if len(possible) <= above * len(runs):
            return 0.0
        return sum(f" {' '.join(run)} " in self._words for run in possible) / len(runs)


@lru_cache(maxsize=64)
def _together(key: str) -> re.Pattern[str]:
    words = r"\W+".join(map(re.escape, key.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)")


def phrases_in(question: str) -> tuple[Phrase, ...]:
    """List the phrases in double quotation marks, without duplicates; single ones are too often apostrophes.

    A single word in quotation marks is a phrase only if nothing else is asked: within a sentence, the marks show that a
    word is meant loosely, or name it.
    """
    found = [next(filter(None, match.groups())) for match in _QUOTED.finditer(question)]
    only_quoted = not plain_words(_QUOTED.sub(" ", question))
    phrases = {f" {' '.join(words)} ": text.strip() for text in found if (words := plain_words(text))}
    return tuple(Phrase(text, key) for key, text in phrases.items() if only_quoted or " " in key.strip())


def has_quoted_words(question: str) -> bool:
    """Return whether words are in double quotation marks, even a single one: they are meant as they are written."""
    return any(plain_words(match.group()) for match in _QUOTED.finditer(question))

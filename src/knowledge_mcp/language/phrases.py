"""Words that stand together: what a question puts in quotation marks, and what a text says in the same order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_WORD = re.compile(r"\w+")
_TO_BLANKS = {code: " " for code in range(128) if not _WORD.match(chr(code))}
"""What is no letter, digit or `_`: replacing it and cutting at blanks takes half as long as the expression."""
_QUOTED = re.compile(r"(?<![\w\"])\"(?=\S)([^\"\n]{1,300})(?<=\S)\"(?!\w)|[“„]([^“”„\n]{1,300})[”“]|«([^«»\n]{1,300})»")
"""A mark after a letter or digit opens nothing: `5" pipe` is five inches wide."""

RUN = 4
"""Words of a run by which texts are compared: three are too often the same by chance."""
_SAID = 3
"""Words of a run by which a passage says what a question says."""
_LEAST_WORDS = 4
"""Words of a question from which its order tells anything: two runs of three."""


def plain_words(text: str) -> list[str]:
    """List the words of a text without case and punctuation."""
    return words_of(_normal(text).casefold())


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words_of(text: str) -> list[str]:
    """List the words of a text as they are written; punctuation is left out."""
    return text.translate(_TO_BLANKS).split() if text.isascii() else _WORD.findall(text)


def word_runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the runs of four words by which two texts are compared."""
    return set(zip(*(words[at:] for at in range(RUN)), strict=False)) or {tuple(words)}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Hold words that must stand together.

    Attributes:
        text: as asked, without its marks.
        key: its words, each between blanks.
    """

    text: str
    key: str


class Saying:
    """Tell what a text says word for word; case, blanks and punctuation between words do not matter.

    Args:
        texts: what is searched, each by itself.
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
        """Tell whether the words of a phrase stand together."""
        first = phrase.key.split(maxsplit=1)[0]
        return any(first in text and _together(phrase.key).search(text) for text in self._folded)

    def share(self, question: str, above: float = 0.0) -> float:
        """Return the share of a question's runs of three words that the text says.

        It is 0 for a question of less than four words, and where it is clear at once that it is not `above` a bound.
        """
        words = plain_words(question)
        if len(words) < _LEAST_WORDS:
            return 0.0
        runs = {tuple(words[at : at + _SAID]) for at in range(len(words) - _SAID + 1)}
        there = {word for word in words if any(word in text for text in self._folded)}
        possible = [run for run in runs if there.issuperset(run)]
        if len(possible) <= above * len(runs):
            return 0.0
        return sum(f" {' '.join(run)} " in self._words for run in possible) / len(runs)


@lru_cache(maxsize=64)
def _together(key: str) -> re.Pattern[str]:
    words = r"\W+".join(map(re.escape, key.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)")


def phrases_in(question: str) -> tuple[Phrase, ...]:
    """List what stands in double quotation marks in a question, each once; single ones are apostrophes too often."""
    found = (next(filter(None, match.groups())) for match in _QUOTED.finditer(question))
    phrases = {f" {' '.join(words)} ": text.strip() for text in found if (words := plain_words(text))}
    return tuple(Phrase(text, key) for key, text in phrases.items())

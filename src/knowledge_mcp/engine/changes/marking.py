"""Marks the words of a sentence that are compared separately: words of force and numbers."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.wording import words_and_signs
from knowledge_mcp.language.demands import force_words, limits
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.multilingual.denial import DENIES_BEHIND
from knowledge_mcp.language.printed import PrintedMark, places_in

MarkedWord = tuple[str, PrintedMark | None]
"""A word as it is compared, and its mark; the word of a mark is its kind, such as `FORCE_KEY`."""
FORCE_KEY, NUMBER_KEY = "<force>", "<number>"
_COUNTED = re.compile(r"\s{0,8}\(?\d{1,3}[.)]\s")

_BEGINNING = re.compile(r"(?<![\w.])")
_CONTINUATION = re.compile(r"\w|\.\d")
_FIRST = 2
"""Length of the prefix by which names are looked up; all names of one document may start the same way."""


class PrintedPlaces:
    """Finds text that is not a limit without "clause" or "EN" before it: reference targets, and the document's name.

    Targets are those that clauses refer to by a number with a dot or an edition; the name includes an edition. They are
    looked up in a table, because a regular expression would try thousands of targets at each offset.
    """

    def __init__(self, clauses: Iterable[Clause], own_names: frozenset[str]) -> None:
        named = [each for clause in clauses for each in clause.references if "." in each.target or ":" in each.target]
        self._targets = {words for each in named for words in (each.target, each.text)}
        lengths: dict[str, set[int]] = {}
        for each in self._targets:
            lengths.setdefault(each[:_FIRST], set()).add(len(each))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        own = "|".join(rf"(?<![\w-]){re.escape(name)}\)?\s+v?\d+(?:\.\d+)*(?!\w)" for name in sorted(own_names))
        self._own = re.compile(own) if own else None

    def within(self, sentence: str) -> Iterator[PrintedMark]:
        """Yield the places in a sentence; of those that start together, the longest."""
        end = 0
        for place in (found.start() for found in _BEGINNING.finditer(sentence)) if self._targets else ():
            for length in self._lengths.get(sentence[place : place + _FIRST], ()) if place >= end else ():
                words = sentence[place : place + length]
                if words in self._targets and not _CONTINUATION.match(sentence, place + length):
                    end = place + length
                    yield PrintedMark(words, words, place, end)
                    break
        for found in self._own.finditer(sentence) if self._own else ():
            yield PrintedMark(found[0], found[0], *found.span())


def marked_up(sentence: str, convention: Convention, places: PrintedPlaces, *, is_recast: bool) -> list[MarkedWord]:
    """List the words of a sentence, with marks for words of force, numbers and references.

    A number alone in a cell is a plain word if the table has other columns in the other edition.
    """
    marks = [("<place>", mark) for mark in (*places.within(sentence), *places_in(sentence))]
    denials = [*DENIES_BEHIND.finditer(sentence)]  # searched once: a sentence may have thousands of words of force
    for mark in force_words(sentence, convention):
        behind = bisect_left(denials, mark.end, key=lambda found: found.start())
        denial = denials[behind] if mark.key.endswith(" not") and behind < len(denials) else None
        if denial is None or not convention.language_in(sentence):
            marks.append((FORCE_KEY, mark))
        else:  # "darf … nicht" is one
            between = "" if denial.start() <= mark.end + 1 else " …"
            marks.append((FORCE_KEY, replace(mark, text=f"{mark.text}{between} {denial[0]}")))
            marks.append(("<not>", PrintedMark("not", denial[0], *denial.span())))
    marks += [(NUMBER_KEY, mark) for mark in limits(sentence) if not (is_recast and _is_cell(sentence, mark))]
    found: list[MarkedWord] = []
    end = 0
    for key, mark in sorted(marks, key=lambda each: each[1].start):
        if mark.start < end:
            continue
        found += [(word, None) for word in words_and_signs(sentence[end : mark.start])]
        found.append((key, mark))
        end = mark.end
    return found + [(word, None) for word in words_and_signs(sentence[end:])]


def joined_items(parts: Sequence[str]) -> str:
    """Join sentences, without the list numbers of all except the first."""
    return " ".join((parts[0], *(_COUNTED.sub("", part) for part in parts[1:])))


def _is_cell(row: str, mark: PrintedMark) -> bool:
    return row[: mark.start].rstrip().endswith("|") and row[mark.end :].lstrip().startswith("|")

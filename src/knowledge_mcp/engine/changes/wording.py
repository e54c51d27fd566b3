"""Normalised words of texts for comparison, and the n-grams by which one text contains another."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.language.quantities.units import CASE_TELLS
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.matching import BoundedMatcher

_NOT_WORD = re.compile(r"[\W_]+")
_IN_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)")
_WORD_OR_SIGN = re.compile(r"[^\W_]+|(?P<sign>[^\w\s])(?P=sign)*")
_SIGN_CATEGORIES = frozenset({"Sm", "Sc", "So"})
"""Unicode categories of meaningful signs: mathematics, currencies, and others such as ticks and crosses."""
_LAYOUT = frozenset("|~°−©®™￼")
"""Exceptions: cell separators, parts of numbers, signs with several spellings, placeholders for pictures."""
_LONGEST_SIGN = 3
"""Maximum equal signs in a row; more are a ruled line."""
_BULLET = re.compile(r"\s*[\u25a0-\u25ff➢➤❖](?=\s)")
_RUN = 4
"""Words per n-gram: shorter ones occur in any two texts, longer ones are broken by every edit."""
RARE = 40
"""Maximum clauses of the other edition with a term or n-gram for it to be used to find candidates."""
_HALF = 0.5
"""Minimum share of a clause's n-grams that its container has: the majority."""


def plain(text: str) -> str:
    """Keep letters and digits, in lower case with single blanks between them, to compare headings."""
    return _NOT_WORD.sub(" ", text).strip().casefold()


def words_of(text: str) -> list[str]:
    """List the words and numbers of a text in lower case, for comparison."""
    return plain(text).split()


_ENDING = re.compile(r"(?<=\w{4})(?:ings?|ed|es|en|em|er|e|s|d|n)\Z")
"""By what the forms of an English or German word differ; four letters are left."""


def stem_of(word: str) -> str:
    """Return a word without the ending by which its forms differ."""
    return _ENDING.sub("", word)


def words_and_numbers(text: str) -> list[str]:
    """List the words of a text with its numbers whole: "59,43" has nothing in common with "23,43"."""
    return words_of(_IN_NUMBER.sub("", text))


def words_and_signs(text: str) -> list[str]:
    """List the words and meaningful signs, such as "≥", "€" and "✓"; two texts are equal if these are.

    Symbols of units that differ only in case, such as mW and MW, keep it.
    """
    text = text.replace(">=", "≥").replace("<=", "≤")
    bullet = _BULLET.match(text)
    found: list[str] = []
    for match in _WORD_OR_SIGN.finditer(text, bullet.end() if bullet else 0):
        words, sign = match.group(), match["sign"]
        if sign is None:
            found.append(words if words in CASE_TELLS else words.casefold())
        elif len(words) <= _LONGEST_SIGN and sign not in _LAYOUT and unicodedata.category(sign) in _SIGN_CATEGORIES:
            found.append(words)
    return found


def _runs_of(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}


def is_contained(text: str, other: str) -> bool:
    """Return whether another text contains more than half of a text's four-word n-grams."""
    runs = _runs_of(text)
    return len(runs & _runs_of(other)) > _HALF * len(runs)


def holders(
    clauses: Sequence[Clause], others: Sequence[Clause], partners: Mapping[int, str]
) -> Iterator[tuple[Clause, Clause]]:
    """Yield clauses with the joined ones of the other edition that contain most of them: over half of the n-grams.

    N-grams have four words. Those that a container's partner, whose text is in `partners`, also has do not count,
    because they came from there. Nor do those that occur in too many clauses to be distinctive.
    """
    runs_of_clause = {clause.index: _runs_of(clause.text) for clause in clauses}
    all_runs = {run for each in runs_of_clause.values() for run in each}
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, other in enumerate(check_each(others) if all_runs else ()):
        for run in _runs_of(other.text) & all_runs:
            if len(found[run]) <= RARE:
                found[run].append(place)
    distinctive = {run: places for run, places in found.items() if len(places) <= RARE}

    @functools.cache  # one clause may be a candidate for hundreds
    def runs(text: str) -> set[tuple[str, ...]]:
        return _runs_of(text) & all_runs

    for clause in clauses:
        shared = Counter(place for run in runs_of_clause[clause.index] for place in distinctive.get(run, ()))
        taken: dict[int, int] = {}
        for place, count in sorted(shared.items()):
            if place not in partners or count <= _HALF * len(runs_of_clause[clause.index]):
                continue
            own = runs_of_clause[clause.index] - runs(partners[place])
            gained = len(own & runs(others[place].text))
            if gained > _HALF * len(own):
                taken[place] = gained
        most = max(taken.values(), default=0)
        yield from ((clause, others[place]) for place, gained in taken.items() if gained == most)


def own_runs_in_common(olds: Sequence[Clause], news: Sequence[Clause]) -> dict[tuple[int, int], tuple[float, float]]:
    """Map pairs of clauses to their share of four-word n-grams that no other clause of either edition has.

    Returns:
        By the indexes of both, the share of the longer one's n-grams and that of the shorter one's.
    """
    homes: dict[int, int] = {}
    sizes: tuple[list[int], list[int]] = ([], [])
    for place, clause in enumerate(check_each(olds)):
        runs = _runs_of(clause.text)
        sizes[0].append(len(runs))
        for run in map(hash, runs):
            homes[run] = -1 if run in homes else place
    went: dict[int, int] = {}
    for place, clause in enumerate(check_each(news)):
        runs = _runs_of(clause.text)
        sizes[1].append(len(runs))
        for run in map(hash, runs):
            if homes.get(run, -1) >= 0:
                went[run] = -1 if run in went else place
    shared = Counter((homes[run], place) for run, place in went.items() if place >= 0)
    lengths = {pair: sorted((sizes[0][pair[0]], sizes[1][pair[1]])) for pair in shared}
    return {pair: (count / lengths[pair][1], count / lengths[pair][0]) for pair, count in shared.items()}


def in_common(old: Edition, new: Edition) -> float:
    """Return the share of the shorter edition's four-word n-grams that the other one also has, from 0 to 1.

    A text or heading of fewer words is one n-gram, otherwise short clauses would have nothing in common with
    themselves.
    """
    here, there = (
        {
            hash(run)
            for clause in check_each(each.clauses)
            for text in (clause.heading, clause.text)
            for run in _runs_of(text) or {tuple(words_of(text))} - {()}
        }
        for each in (old, new)
    )
    return len(here & there) / max(min(len(here), len(there)), 1)


Marked = tuple[tuple[str, bool], ...]
"""A text in pieces of whole words, each with whether it changed."""


def marked_words(one: str, other: str) -> tuple[Marked, Marked]:
    """Split two texts into the pieces that they have in common and those that they do not."""
    words, others = one.split(), other.split()
    codes = BoundedMatcher(words, others).get_opcodes()
    was = tuple((" ".join(words[a:b]), tag != "equal") for tag, a, b, _, _ in codes if b > a)
    now = tuple((" ".join(others[c:d]), tag != "equal") for tag, _, _, c, d in codes if d > c)
    return was, now

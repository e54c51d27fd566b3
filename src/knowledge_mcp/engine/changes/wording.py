"""The words of clauses as two texts are compared by them, and in what runs of words one stands in another."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from knowledge_mcp.engine.changes.clauses import Clause, Edition
from knowledge_mcp.language.quantities.units import CASE_TELLS
from knowledge_mcp.support.checkpoints import check_each

_NOT_WORD = re.compile(r"[\W_]+")
_IN_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)")
_WORD_OR_SIGN = re.compile(r"[^\W_]+|(?P<sign>[^\w\s])(?P=sign)*")
_SAYING = frozenset({"Sm", "Sc", "So"})
"""Signs that say something: of mathematics, of currencies, and such as ticks and crosses."""
_LAYOUT = frozenset("|~°−©®™￼")
"""Signs among them that part cells, that a number has, that are written in two ways, or that stand for a picture."""
_LONGEST_SIGN = 3
"""Equal signs in a row; more are a line."""
_BULLET = re.compile(r"\s*[\u25a0-\u25ff➢➤❖](?=\s)")
_RUN = 4
"""Words in a run: fewer stand in any two texts, more are cut by every edit."""
RARE = 40
"""Clauses of the other edition up to which a term or a run of words is looked up to find candidates."""
_HALF = 0.5
"""Share of a clause's runs that whoever took it up holds: the greater part."""


def plain(text: str) -> str:
    """Keep letters and digits, in lower case, single blanks between: what headings are compared by."""
    return _NOT_WORD.sub(" ", text).strip().casefold()


def words_of(text: str) -> list[str]:
    """List the words and numbers of a text in lower case: what two texts are compared by."""
    return plain(text).split()


def words_and_numbers(text: str) -> list[str]:
    """List the words of a text with its numbers whole: "59,43" shares nothing with "23,43"."""
    return words_of(_IN_NUMBER.sub("", text))


def words_and_signs(text: str) -> list[str]:
    """List the words and what else says something, such as "≥", "€" and "✓": by what it is told whether a text changed.

    Symbols of units that capitals alone tell apart, as mW and MW, keep theirs.
    """
    text = text.replace(">=", "≥").replace("<=", "≤")
    bullet = _BULLET.match(text)
    found: list[str] = []
    for match in _WORD_OR_SIGN.finditer(text, bullet.end() if bullet else 0):
        words, sign = match.group(), match["sign"]
        if sign is None:
            found.append(words if words in CASE_TELLS else words.casefold())
        elif len(words) <= _LONGEST_SIGN and sign not in _LAYOUT and unicodedata.category(sign) in _SAYING:
            found.append(words)
    return found


def _runs_of(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    return {tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1)}


def is_contained(text: str, other: str) -> bool:
    """Tell whether most of a text, over half of its runs of four words, stands in another one."""
    runs = _runs_of(text)
    return len(runs & _runs_of(other)) > _HALF * len(runs)


def holders(
    clauses: Sequence[Clause], others: Sequence[Clause], partners: Mapping[int, str]
) -> Iterator[tuple[Clause, Clause]]:
    """Yield clauses with the joined ones of the other edition that hold most of them: over half, in runs of four words.

    Runs that a holder's partner, whose text `partners` has, holds too do not count: they came from there. Nor do those
    that are in so many clauses that they tell none.
    """
    wanted = {clause.index: _runs_of(clause.text) for clause in clauses}
    sought = {run for each in wanted.values() for run in each}
    found: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, other in enumerate(check_each(others) if sought else ()):
        for run in _runs_of(other.text) & sought:
            if len(found[run]) <= RARE:
                found[run].append(place)
    telling = {run: places for run, places in found.items() if len(places) <= RARE}

    @functools.cache  # one clause may be a candidate for hundreds
    def runs(text: str) -> set[tuple[str, ...]]:
        return _runs_of(text) & sought

    for clause in clauses:
        shared = Counter(place for run in wanted[clause.index] for place in telling.get(run, ()))
        taken: dict[int, int] = {}
        for place, count in sorted(shared.items()):
            if place not in partners or count <= _HALF * len(wanted[clause.index]):
                continue
            own = wanted[clause.index] - runs(partners[place])
            gained = len(own & runs(others[place].text))
            if gained > _HALF * len(own):
                taken[place] = gained
        most = max(taken.values(), default=0)
        yield from ((clause, others[place]) for place, gained in taken.items() if gained == most)


def own_runs_in_common(olds: Sequence[Clause], news: Sequence[Clause]) -> dict[tuple[int, int], tuple[float, float]]:
    """Map pairs of clauses to their share of runs of four words that no other clause of either edition has.

    Returns:
        By the places of both, the share of the longer one's runs and that of the shorter one's.
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
    """Tell which share of the shorter edition's words stands in the other too, in runs of four; 0 to 1.

    A text or heading of fewer words is a run by itself, or short clauses would have nothing in common with themselves.
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

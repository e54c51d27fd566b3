"""Checks sequences of clause numbers: which links belong to no numbering, and which repeat it in a copy."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from knowledge_mcp.language.openings import NumberedTitle
from knowledge_mcp.readers.pdf.headings.candidates import (
    Body,
    HeadingCandidate,
    is_bare_annex,
    is_counted_annex,
    is_semi_strong,
    is_strong,
)
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.readers.shared.numbering import LETTERED, by_hundreds, follows, number_key

_FEWEST_LINKS = 3
"""Minimum number of links of a sequence that begins anywhere: two labels of a drawing may follow by chance."""
FIRST_NUMBERS = frozenset({"0", "1"})
_FIGURE = re.compile(r"[(–—-]?[$€£¥]?\d[\d.,]*[%)]{0,2}(?:\s|\Z)")
_FEWEST = 4
"""Minimum number of headings of a copy."""
_COPIED = 0.5
"""Share of a numbering that must recur, title by title, for the file to contain the document again."""


def is_anchored(candidate: HeadingCandidate, anchors: Collection[int]) -> bool:
    """Return whether the contents name a candidate; `anchors` are the lines that they name, by id."""
    return any(id(line) in anchors for line in candidate.lines)


def out_of_sequence(chain: Sequence[int], possible: Sequence[HeadingCandidate], anchors: Collection[int]) -> set[int]:
    """Find links whose number belongs to no sequence: one or two numbers with no predecessor, as in a table row.

    A number with a word before it, a number of several parts, a letter, and a number that the contents name are evident
    by themselves; two links that begin a sequence are one. After a figure ("14 16 VIO") the next number must follow.
    """
    runs: list[list[int]] = []
    for link in chain:
        if runs and follows(possible[runs[-1][-1]].key or (), possible[link].key or ()):
            runs[-1].append(link)
        else:
            runs.append([link])
    odd: set[int] = set()
    for run in runs:
        first = possible[run[0]]
        begins = len(run) > 1 and first.numbered.number in FIRST_NUMBERS
        plain = [link for link in run if is_plain_count(possible[link].numbered)]  # letters may follow any number
        if len(plain) < _FEWEST_LINKS and not begins and all(len(possible[link].key or ()) == 1 for link in run):
            odd.update(plain)
        odd.update(run[:1] if _FIGURE.match(first.numbered.title) else ())
    return {
        link for link in odd if is_plain_count(possible[link].numbered) and not is_anchored(possible[link], anchors)
    }


def is_plain_count(numbered: NumberedTitle) -> bool:
    """Return whether a number is a plain integer: not a letter, not of several parts, not after a word."""
    return (numbered.number or "").isdigit() and not numbered.keyword


def copied(chain: Collection[int], possible: Sequence[HeadingCandidate]) -> set[int]:
    """Find the headings of further copies of a document in one file: the same numbers with the same titles, in order.

    They need not be set as headings, as the originals are known.
    """
    twins = {(possible[index].key, letters_of(possible[index].text)) for index in chain}
    again = [
        index
        for index, each in enumerate(possible)
        if index not in chain and (each.key, letters_of(each.text)) in twins
    ]
    members: set[int] = set()
    run: list[int] = []
    for index in [*again, None]:
        if index is None or (run and (possible[index].key or ()) <= (possible[run[-1]].key or ())):
            if len(run) >= max(_FEWEST, _COPIED * len(chain)):
                members.update(run)
            run = []
        if index is not None:
            run.append(index)
    return members


def restarting(numbers: Iterable[NumberedTitle]) -> set[str]:
    """Return the words before numbers below which plain numbers begin with 1 again: "SECTION 2", "1 General".

    A schedule does, as an annex of a contract or law; other words if that is so at least twice.
    """
    own: defaultdict[str, set[str]] = defaultdict(set)
    below: defaultdict[str, list[str]] = defaultdict(list)
    words: set[str] = set()
    for each in numbers:
        number = each.number or ""
        if number and each.keyword:
            words.add(each.keyword)
            own[each.keyword].add(number)
        elif number[:1].isdigit():
            for word in words:
                below[word].append(number.partition(".")[0])
            words.clear()
    return {
        word
        for word, firsts in below.items()
        if set(firsts) == {"1"} and (word == "schedule" or (len(firsts) > 1 and own[word] > FIRST_NUMBERS & own[word]))
    }


_ROMAN = re.compile(r"[IVX]+")
_FEWEST_ROMAN = 2
"""Number of numerals with several letters that proves Roman numbering: a single one may be part of a product's name."""


def _read_roman(possible: Sequence[HeadingCandidate]) -> None:
    """Read "I", "V" and "X" as Roman numerals if there are others, such as "II" and "IV"."""
    first = [(each, (each.numbered.number or "").split(".")[0]) for each in possible if not each.numbered.keyword]
    romans = {number for _, number in first if len(number) > 1 and _ROMAN.fullmatch(number)}
    for candidate, number in first if len(romans) >= _FEWEST_ROMAN else ():
        if _ROMAN.fullmatch(number):
            candidate.key = number_key(candidate.numbered.number or "", "part") or candidate.key


def first_below_annexes(found: Sequence[HeadingCandidate], body: Body) -> set[int]:
    """Return the candidates, by id, that begin the numbering of an annex without a number."""
    first: set[int] = set()
    is_open = False
    for candidate in found:
        if is_strong(candidate.line, body) and not candidate.numbered.number:
            is_open |= is_bare_annex(candidate.text)
        elif is_open and candidate.key == (1,) and is_semi_strong(candidate.line, body):
            first.add(id(candidate))
            is_open = False
    return first


def settle_keys(possible: Sequence[HeadingCandidate], body: Body) -> set[int]:
    """Settle what numbers mean in this document; return the candidates, by id, below which they may begin with 1."""
    chapters = {each.key[0] for each in possible if each.key and each.numbered.keyword in {"chapter", "part"}}
    _read_roman(possible)
    for candidate in possible:
        candidate.key = by_hundreds(candidate.key or (), chapters)
    strong = [each for each in possible if is_strong(each.line, body)]
    again = restarting(each.numbered for each in strong)
    parts: set[int] = set()
    for candidate in strong:
        number, keyword = candidate.numbered.number or "", candidate.numbered.keyword
        if is_counted_annex(candidate.numbered) or keyword in again:
            candidate.key = (int(number) * LETTERED,) if number.isdigit() else candidate.key
            parts.add(id(candidate))
        elif keyword and candidate.key == (1,):
            parts.add(id(candidate))
    return parts


def series_of(possible: Sequence[HeadingCandidate], body: Body) -> set[int]:
    """Find chapters, articles and the like that count up by their own word, even with other numbers between them."""
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for index, each in enumerate(possible):
        if each.numbered.keyword and is_strong(each.line, body) and not each.flows:
            by_word[each.numbered.keyword].append(index)
    chosen: set[int] = set()
    for members in by_word.values():
        keys = [possible[index].key or () for index in members]
        counted = (follows(one, other) or other == (1,) for one, other in itertools.pairwise(keys))
        if len(keys) > 1 and all(counted):  # each title of a law has a first chapter
            chosen.update(members)
    return chosen

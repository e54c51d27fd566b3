"""Sequences of clause numbers: which links of a numbering are none, and which stand once more in a copy."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from knowledge_mcp.language.openings import NumberedTitle
from knowledge_mcp.readers.pdf.headings.candidates import HeadingCandidate
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.readers.shared.numbering import follows, number_key

_FEWEST_LINKS = 3
"""Links from which on numbers are a sequence wherever they begin: two labels of a drawing may follow by chance."""
FIRST_NUMBERS = frozenset({"0", "1"})
_FIGURE = re.compile(r"[(–—-]?[$€£¥]?\d[\d.,]*[%)]{0,2}(?:\s|\Z)")
_FEWEST = 4
"""Headings of a copy at least."""
_COPIED = 0.5
"""Share of a numbering that stands once more, title by title, from which on the document is in the file again."""


def is_anchored(candidate: HeadingCandidate, anchors: Collection[int]) -> bool:
    """Tell whether the contents name a candidate; `anchors` are the lines of what they name, by id."""
    return any(id(line) in anchors for line in candidate.lines)


def out_of_sequence(chain: Sequence[int], possible: Sequence[HeadingCandidate], anchors: Collection[int]) -> set[int]:
    """Find links whose number belongs to no sequence: one or two numbers that count on from nothing, as in a row.

    A number with a word before it, one of several parts, a letter, and one that the contents name say by themselves
    what they are; two links that begin a sequence are one. Behind a figure ("14 16 VIO") a number has to come next.
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
        if len(run) < _FEWEST_LINKS and not begins and all(len(possible[link].key or ()) == 1 for link in run):
            odd.update(run)
        odd.update(run[:1] if _FIGURE.match(first.numbered.title) else ())
    return {
        link for link in odd if is_plain_count(possible[link].numbered) and not is_anchored(possible[link], anchors)
    }


def is_plain_count(numbered: NumberedTitle) -> bool:
    """Tell a number alone from a letter, a number of several parts and one behind a word."""
    return (numbered.number or "").isdigit() and not numbered.keyword


def copied(chain: Collection[int], possible: Sequence[HeadingCandidate]) -> set[int]:
    """Find the headings of further copies of a document in one file: the same numbers with the same titles, in order.

    They need not be set as headings are: their twins tell.
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


_ROMAN = re.compile(r"[IVX]+")
_FEWEST_ROMAN = 2
"""Numerals of several letters that show it: a single one may be a product's."""


def read_roman(possible: Sequence[HeadingCandidate]) -> None:
    """Read "I", "V" and "X" as Roman numerals where others are: "II" and "IV" show what is counted."""
    first = [(each, (each.numbered.number or "").split(".")[0]) for each in possible if not each.numbered.keyword]
    romans = {number for _, number in first if len(number) > 1 and _ROMAN.fullmatch(number)}
    for candidate, number in first if len(romans) >= _FEWEST_ROMAN else ():
        if _ROMAN.fullmatch(number):
            candidate.key = number_key(candidate.numbered.number or "", "part") or candidate.key

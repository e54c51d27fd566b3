"""What publishers do to a standard beside its words: pairs of editions that are made in seven manners.

A document is made and edited by `made_editions`; then the new edition is written as revised standards are: every
chapter with another number, withdrawn clauses that are kept as a word ("Void", "[Withdrawn]", "Deleted") or as a note
that says where they went, a chapter that became an annex, every heading in other words, tables that became lists, a
third of all words replaced, and both editions as text of a printed page: other line breaks, running headers, page
numbers and words cut at the end of a line.
"""

from __future__ import annotations

import itertools
import random
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.made_editions import Made, numbers

Manner = Callable[[random.Random, Sequence[Made], list[Made]], list[Made]]
"""Writes a new edition again, beside the old one."""
_STUBS = ("Void", "[Withdrawn]", "Deleted.", "(void)", "This clause has been deleted.", "Withdrawn", "Not used.")
_OTHER = tuple("basic adequate relevant secure durable robust regular proper specific complete uniform typical".split())
_LINES = 48
"""Lines on a page of print."""


def renumbered(dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Put two chapters before all others and turn the order of the last two chapters round."""
    chapters = [place for place, each in enumerate(new) if each.level == 1]
    front = [Made(1, f"Introduction {dice.choice(_OTHER)}", ["This edition was prepared by the committee."])]
    front.append(Made(1, "Conformity", ["A declaration lists the options that a supplier has chosen."]))
    if len(chapters) < 3:
        return front + new
    one, other = chapters[-2:]
    return front + new[:one] + new[other:] + new[one:other]


def stubs(dice: random.Random, old: Sequence[Made], new: list[Made]) -> list[Made]:
    """Keep withdrawn clauses at their place, with nothing but a word; as the notes do, they are in no link."""
    found = list(new)
    there = {was for each in new for was in each.was}
    for place, each in enumerate(old):
        if place in there or each.level == 1:
            continue
        before = max((at for at, one in enumerate(found) if one.was and max(one.was) < place), default=-1)
        found.insert(before + 1, Made(each.level, each.heading, [dice.choice(_STUBS)], is_stub=True))
    return found


def annexed(dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Turn a chapter with clauses below it into an annex at the end."""
    chapters = [*(place for place, each in enumerate(new) if each.level == 1), len(new)]
    spans = [span for span in itertools.pairwise(chapters) if span[1] - span[0] > 1 and span[0]]
    if not spans:
        return new
    start, end = dice.choice(spans)
    moved = [replace(new[start], heading=f"{new[start].heading} (normative)"), *new[start + 1 : end]]
    moved = [replace(each, is_annex=True) for each in moved]
    return new[:start] + new[end:] + moved


def retitled(dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Say every heading in other words."""
    return [replace(each, heading=f"{dice.choice(_OTHER).capitalize()} {each.heading.split()[-1]}") for each in new]


def listed(_dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Turn the rows of tables into items of lists."""
    found: list[Made] = []
    for each in new:
        rows = [part for part in each.text if not re.fullmatch(r"[|\s:-]+", part)]
        text = [f"- {part.strip('| ').replace(' | ', ', ')}." if part.startswith("|") else part for part in rows]
        found.append(replace(each, text=text))
    return found


def reworded(dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Replace a third of the longer words of every sentence, each by the same other word or by none."""

    def other(match: re.Match[str]) -> str:
        return dice.choice(_OTHER) if dice.random() < 1 / 3 else match.group()

    text = re.compile(r"(?<= )(?!shall|should|must)[a-z]{5,}(?=[ .,])")
    return [replace(each, text=[text.sub(other, part) for part in each.text]) for each in new]


def as_it_is(_dice: random.Random, _: Sequence[Made], new: list[Made]) -> list[Made]:
    """Leave an edition as it was edited."""
    return new


MANNERS: dict[str, tuple[str, Manner]] = {
    "renumbered": ("standard", renumbered),
    "stubs": ("standard", stubs),
    "annex": ("law", annexed),
    "retitled": ("standard", retitled),
    "table to list": ("tables", listed),
    "reworded": ("standard", reworded),
    "printed": ("standard", as_it_is),
}
"""Manners, each with the kind of document that it is shown on."""


def printed(clauses: Sequence[Made], title: str, width: int) -> tuple[str, dict[int, int]]:
    """Write a document as the text of printed pages."""
    lines: list[str] = []
    places: dict[int, int] = {}

    def put(line: str) -> None:
        if len(lines) % (_LINES + 4) == _LINES:
            page = len(lines) // (_LINES + 4) + 1
            lines.extend(["", f"{title}{page:>{width - len(title)}}", "\f" + title, ""])
        lines.append(line)

    for place, (each, number) in enumerate(zip(clauses, numbers(clauses, "standard"), strict=True)):
        put("")
        put(f"{number} {each.heading}")
        places[place] = len(lines)
        for part in each.text:
            put("")
            for line in textwrap.wrap(part, width):
                put(line)
    return "\n".join(lines), places

"""Clauses of annexes that begin with 1 again: they stand below their annex."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.language.openings import is_annex, split_clause_number
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.pdf.headings.sequences import FIRST_NUMBERS


def put_in_annexes(headings: Sequence[Heading], listed: Sequence[Heading]) -> None:
    """Put clauses with a number below the annex before them where the first of them counts from the beginning.

    Args:
        headings: in reading order; their levels are changed.
        listed: those of them that contents name, which tell their levels themselves.
    """
    told = {id(heading) for heading in listed}
    level, is_inside, is_first = 0, False, False
    for heading in headings:
        text = heading.lines[0].text
        if _is_annex(text, heading.number):
            level, is_inside, is_first = heading.level, False, True
        elif level and _is_counted(heading.number, text):
            if is_first:
                is_inside, is_first = (heading.number or "").partition(".")[0] in FIRST_NUMBERS, False
            if is_inside and id(heading) not in told:
                heading.level += level


def _is_annex(text: str, number: str | None) -> bool:
    named = split_clause_number(text)
    return number is not None and named.number == number and is_annex(named.keyword)


def _is_counted(number: str | None, text: str) -> bool:
    return number is not None and number[:1].isdigit() and text.lstrip().startswith(number)

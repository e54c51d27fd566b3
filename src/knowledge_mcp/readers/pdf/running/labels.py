"""Labels of pages: the numbers printed on them, where the file states none or others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from knowledge_mcp.readers.pdf.running.page_numbers import IN_A_SERIES, Series, series_of
from knowledge_mcp.readers.shared.layout import Line
from knowledge_mcp.readers.shared.numbering import to_roman


def printed_labels(removed: Iterable[Line], labels: Sequence[str]) -> Sequence[str]:
    """Return the labels of all pages: the printed numbers, if most pages with a number count otherwise than `labels`.

    A number counts if other pages have numbers of its series. Pages before it continue the series downwards. If pages
    have numbers of two series, such as those of a journal and of an offprint, or few pages have one, `labels` are kept.
    They are also kept if the printed numbers are the places in the file, which citations name anyway. A page that has
    no number, such as a cover, then has an empty label: its place in the file would be the number of another page.

    Args:
        removed: the lines that were removed from the pages as running lines.
        labels: what the file states, for each page; its place if the file states nothing.
    """
    found: defaultdict[Series, set[int]] = defaultdict(set)
    for line in removed:
        if (series := series_of(line)) is not None:
            found[series].add(line.page)
    believed = [(page, series) for series, pages in found.items() if len(pages) >= IN_A_SERIES for page in pages]
    owners = dict(sorted(believed))
    if len(owners) < len(believed) or 2 * len(owners) < len(labels) or set(owners.values()) == {_PLACES}:
        return labels
    printed = _continued(owners)
    differing = sum(printed[page].lower() != labels[page - 1].lower() for page in owners)
    return [printed.get(page, "") for page in range(1, len(labels) + 1)] if 2 * differing > len(owners) else labels


_PLACES = ("", "1", 0)
"""The series of numbers that are the places of the pages in the file."""


def _continued(owners: Mapping[int, Series]) -> dict[int, str]:
    """Write the numbers of the pages that have one, and those before each of them down to 1."""
    printed: dict[int, str] = {}
    for before, page in zip([0, *owners], owners, strict=False):
        letters, style, ahead = owners[page]
        for each in range(max(before + 1, min(1 - ahead, page)), page + 1):  # some count from 0
            value = each + ahead
            numeral = str(value) if style == "1" else to_roman(value)
            printed[each] = letters + (numeral.lower() if style == "i" else numeral)
    return printed

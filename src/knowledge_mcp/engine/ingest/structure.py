"""What is kept of a document's shape when it is ingested: its sections, and what was got from each of its pages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from itertools import accumulate

from knowledge_mcp.model.collection import DocumentStructure, OutlineEntry, PageCoverage
from knowledge_mcp.model.document import Block, BlockKind, Document

STRUCTURE_VERSION = "structure/4"
"""Part of every pipeline's fingerprint: to be counted up when documents must be read again for what is made here."""

_BLANK = re.compile(r"\s+")
_FIGURE = re.compile(r"\W*fig(?:ure|s)?\b", re.IGNORECASE)


def structure_of(document: Document) -> DocumentStructure:
    """Describe a document's sections, pages and anchors.

    A section's page is the one its heading begins on. A table, or the caption of a figure, counts for the first page
    that it stands on.
    """
    page_of = _finder(document)
    tables, figures = _counted(document)
    return DocumentStructure(
        sections=tuple(
            OutlineEntry(
                level=each.level,
                number=each.number,
                title=each.title,
                span=each.span,
                page=page_of(each.heading.start),
                informative=each.informative,
            )
            for each in document.sections
        ),
        pages=tuple(
            PageCoverage(
                number=each.number,
                label=each.label,
                span=each.span,
                method=each.method,
                characters=len(_BLANK.sub("", each.span.of(document.text))),
                tables=tables[each.number],
                figures=figures[each.number],
                note=each.note,
            )
            for each in document.pages
        ),
        anchors=document.anchors,
        hidden=document.hidden,
    )


def _finder(document: Document) -> Callable[[int], int | None]:
    """Return what names the page of a place in the text: by the block there, else by the pages' own spans."""
    starts = [block.span.start for block in document.blocks]
    filled = [page for page in document.pages if len(page.span)]
    reach = list(accumulate((page.span.end for page in filled), max))

    def page_of(place: int) -> int | None:
        index = bisect_right(starts, place) - 1
        if index >= 0:
            block = document.blocks[index]
            if block.pages and (place < block.span.end or place == block.span.start):
                return block.pages[0]
        # the first page that reaches beyond the place, the last one behind all of them
        return filled[min(bisect_right(reach, place), len(filled) - 1)].number if filled else None

    return page_of


def _counted(document: Document) -> tuple[Counter[int], Counter[int]]:
    """Count tables and captions of figures by the first page of each."""
    tables: Counter[int] = Counter()
    figures: Counter[int] = Counter()
    for block in document.blocks:
        if not block.pages:
            continue
        if block.kind is BlockKind.TABLE:
            tables[block.pages[0]] += 1
        elif _is_figure(block, document.text):
            figures[block.pages[0]] += 1
    return tables, figures


def _is_figure(block: Block, text: str) -> bool:
    """Tell whether a block is the caption of a figure: its label says so, or its first word where it has none."""
    return block.kind is BlockKind.CAPTION and _FIGURE.match(block.marker or block.span.of(text)) is not None

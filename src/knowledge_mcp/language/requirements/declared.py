"""Requirements that a file declares: sentences of an item bear its id, and an item without force is a weak one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.language.clauses import SectionFacts
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.document import BlockKind, Document, Span
from knowledge_mcp.support.checkpoints import check_each

_WHITE = re.compile(r"\s+")
_BESIDE = frozenset({BlockKind.HEADING, BlockKind.NOTE})
"""Blocks of an item that are not what it states: its title, and what else its file says of it."""


def with_declared(document: Document, facts: SectionFacts, statements: Sequence[Statement]) -> list[Statement]:
    """Name the items that statements stand in, and add those that state something without a word of force.

    Args:
        document: the document as read.
        facts: what its sections are.
        statements: those that words of force mark, in order.
    """
    items = sorted((each for each in document.items if len(each.span)), key=lambda each: each.span)
    if not items:
        return list(statements)
    starts = [each.span.start for each in items]

    def item_at(place: int) -> int | None:
        found = bisect_right(starts, place) - 1
        return found if found >= 0 and place < items[found].span.end else None

    holders = [item_at(each.span.start) for each in statements]
    named = [
        each if at is None else replace(each, identifier=items[at].id)
        for each, at in zip(statements, holders, strict=True)
    ]
    declared = set(holders)
    stated: dict[int, Span] = {}
    headings = {section.heading.start for section in document.sections}
    for block in check_each(document.blocks):
        at = None if block.kind in _BESIDE else item_at(block.span.start)
        if at is None or at in declared:
            continue
        item = items[at]
        if item.span.start in headings and not item.informative and item.text.strip():
            stated[at] = Span(stated.get(at, block.span).start, block.span.end)
    sections = [section.span.start for section in document.sections]
    for at, span in stated.items():
        clause = facts.clause_number(bisect_right(sections, span.start) - 1) if sections else None
        words = _WHITE.sub(" ", span.of(document.text)).strip()
        named.append(Statement(span, Modality.REQUIREMENT, False, clause, words, items[at].id, weak=True))
    return sorted(named, key=lambda each: each.span)

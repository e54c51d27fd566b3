"""What is stored about a document next to its text: its structure, claimed facts, its edition."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from pathlib import PurePath

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.documents import manual_labels, relabel
from knowledge_mcp.engine.core.editions import BY_HAND, CONFIRMED, EDITION_KEYS, Editions, edition_of_record, facts_of
from knowledge_mcp.language.editions import edition_statement, mark_of
from knowledge_mcp.language.phrases import word_runs, words_of
from knowledge_mcp.language.titles import plain_name
from knowledge_mcp.model.collection import (
    CLAIMED,
    DESIGNATION_KEYS,
    DocumentRecord,
    DocumentStructure,
    OutlineEntry,
    PageCoverage,
)
from knowledge_mcp.model.document import Block, BlockKind, Document
from knowledge_mcp.model.errors import noticing
from knowledge_mcp.model.lines import line_runs
from knowledge_mcp.model.rights import ALLOWED
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.support.checkpoints import check_each

STRUCTURE_VERSION = "structure/24"
"""Part of every pipeline's fingerprint: increase it when documents must be read again because this module changed."""

_FIGURE = re.compile(r"\W*fig(?:ure|s)?\b", re.IGNORECASE)


def structure_of(document: Document) -> DocumentStructure:
    """Build a document's sections, pages, anchors and items.

    A section's page is the one on which its heading begins. A table, or the caption of a figure, counts for its first
    page.
    """
    page_of = _finder(document)
    line_of = {block.span.start: block.lines[0] for block in document.blocks if block.lines is not None}
    tables, figures = _count_tables_and_figures(document)
    return DocumentStructure(
        sections=tuple(
            OutlineEntry(
                level=each.level,
                number=each.number,
                title=each.title,
                span=each.span,
                page=page_of(each.heading.start),
                informative=each.informative,
                line=line_of.get(each.heading.start),
            )
            for each in document.sections
        ),
        pages=tuple(
            PageCoverage(
                number=each.number,
                label=each.label,
                span=each.span,
                method=each.method,
                characters=sum(len(word) for run in each.own_runs for word in run.of(document.text).split()),
                tables=tables[each.number],
                figures=figures[each.number],
                note=each.note,
                runs=each.runs,
            )
            for each in document.pages
        ),
        lines=line_runs(document.text, document.blocks),
        anchors=document.anchors,
        hidden=document.hidden,
        items=document.items,
        original=document.original,
    )


def _finder(document: Document) -> Callable[[int], int | None]:
    """Return a function that finds the page of an offset: by the block there, otherwise by the pages' own spans.

    Text before the first marked page is on none.
    """
    starts = [block.span.start for block in document.blocks]
    filled = [page for page in document.pages if len(page.span)]
    reach = list(accumulate((page.span.end for page in filled), max))

    def page_of(place: int) -> int | None:
        index = bisect_right(starts, place) - 1
        if index >= 0:
            block = document.blocks[index]
            if block.pages and (place < block.span.end or place == block.span.start):
                return block.pages[0]
        if not filled or place < filled[0].span.start:
            return None
        # the first page that reaches beyond the offset, the last one after all of them
        return filled[min(bisect_right(reach, place), len(filled) - 1)].number

    return page_of


def _count_tables_and_figures(document: Document) -> tuple[Counter[int], Counter[int]]:
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
    """Return whether a block is the caption of a figure: by its label, or by its first word without one."""
    return block.kind is BlockKind.CAPTION and _FIGURE.match(block.marker or block.span.of(text)) is not None


_MARKS = re.compile(r"[\W_]+")
_BEGINNING = 20_000
"""Characters, about ten printed pages, in which a document prints its own title and designation."""
_COVER = 2_000
"""Characters of a cover or first page, where the words of a title may be in another order."""


def claims_of(document: Document, item: SourceItem) -> tuple[tuple[str, str], ...]:
    """Return the facts that only the file's front matter or properties state, as a pair of the document's metadata.

    A title or a designation that is printed at the beginning of the text is not a claim: it can be checked there. Nor
    is what the caller stated.

    Args:
        document: as read, with its final id, title, type and metadata.
        item: with what the caller stated.

    Returns:
        Empty, or the pair `("claimed", "title, document_type, …")`.
    """
    metadata = dict(document.metadata)
    labels = dict(item.labels)
    beginning = _plain(document.text[:_BEGINNING])
    claimed: list[str] = []
    if item.title is None and document.title not in {item.name, PurePath(item.name).stem, plain_name(item.name)}:
        title = document.title.removesuffix(" …")
        is_printed = _plain(title) in beginning or _words(title) <= _words(document.text[:_COVER])
        claimed += [] if is_printed else ["title"]
    if item.document_type is None and document.document_type is not None:
        claimed.append("document_type")
    if item.document_id is None and metadata.get("document_id"):
        claimed.append("document_id")
    for name in DESIGNATION_KEYS:
        if metadata.get(name) and name not in labels and _plain(metadata[name]) not in beginning:
            claimed.append(name)
    return ((CLAIMED, ", ".join(claimed)),) if claimed else ()


def _words(text: str) -> set[str]:
    return set(_MARKS.split(text.casefold())) - {""}


def _plain(text: str) -> str:
    """Keep letters and digits, because print may have other spaces and punctuation."""
    return _MARKS.sub("", text.casefold())


LEAST_IN_COMMON = 0.15
"""Minimum share of the shorter text's 4-word runs that are also in the other text for a title or path to count as
evidence of an edition: editions of four real specifications share .76 to .95, other documents .015.
"""
_END = re.compile(r"\.\s+[A-Z]")


def stated_edition(document: Document, earlier: DocumentRecord | None) -> dict[str, str]:
    """Add the edition stated at the beginning of a document, if its metadata has none, and what was set by hand."""
    metadata = dict(document.metadata)
    statement = edition_statement(document.text)
    labels: dict[str, str] = {}
    if statement.edition and not any(metadata.get(key) for key in EDITION_KEYS) and mark_of(document.title) is None:
        labels["edition"] = f"{statement.edition}, {statement.published}" if statement.published else statement.edition
    if statement.published:
        labels["published"] = statement.published
    if statement.replaces:
        labels["replaces"] = "; ".join(_END.split(each)[0].strip() for each in statement.replaces)
    if statement.status:
        labels["edition_status"] = statement.status
    own = {key: value for key, value in labels.items() if not metadata.get(key)}
    return own | manual_labels(earlier) | _earlier_rights(earlier)


def _earlier_rights(earlier: DocumentRecord | None) -> dict[str, str]:
    """Return the groups of the previous version: a new version keeps them until they are changed explicitly."""
    allowed = earlier.label(ALLOWED) if earlier is not None else ""
    return {ALLOWED: allowed} if allowed else {}


def settle_editions(
    base: Base, new: Sequence[DocumentRecord], pruned: Collection[str] = ()
) -> list[tuple[DocumentRecord, str]]:
    """Record the edition that each new document was recognised as; mere similarities are checked first.

    Args:
        base: contains the documents.
        new: documents that were just stored.
        pruned: sources whose documents are removed next, and no longer count as editions.

    Returns:
        The documents with a sentence each, in order; those that are not editions are left out.
    """
    notes: list[tuple[DocumentRecord, str]] = []
    if not any(facts_of(record).by or facts_of(record).replaces for record in new):
        return notes
    different: dict[str, str] = {}
    with noticing():  # damage is reported elsewhere
        records = [each for each in base.opened.documents() if each.source_path not in pruned]
        for record in check_each(new):
            if facts_of(record).is_guess:
                different |= _compare_with_editions(base, record, records)
        known = Editions([each for each in base.opened.documents() if each.source_path not in pruned])
    for record in new:
        family = known.family_of(record.id)
        if family is not None:
            label = edition_of_record(record) or facts_of(record).label or "undated"
            now = "the current one" if record.id in {each.id for each in family.current} else "not the current one"
            others = ", ".join(each.id for each in family.records if each.id != record.id)
            notes.append(
                (record, f"{record.id} is treated as edition {label} of {family.title}, {now} (others: {others}).")
            )
        elif record.id in different:
            notes.append((record, different[record.id]))
    return notes


def _compare_with_editions(base: Base, record: DocumentRecord, records: Sequence[DocumentRecord]) -> dict[str, str]:
    """Compare a document with those that its title or path suggests as other editions, and store the result."""
    facts = facts_of(record)
    others = [
        each
        for each in records
        if each.id != record.id and facts_of(each).family == facts.family and facts_of(each).label != facts.label
    ]
    if not others or BY_HAND in dict(record.metadata):
        return {}
    own = _runs(base, record)
    share, nearest = max((_in_common(own, _runs(base, each)), each.id) for each in others)
    if share >= LEAST_IN_COMMON:
        relabel(base, record.id, {CONFIRMED: facts.family})
        return {}
    warning = (
        f"{record.id} is named like an edition of {nearest}, but has {share:.0%} in common with it: kept separate."
    )
    return {record.id: warning}


def _runs(base: Base, record: DocumentRecord) -> set[tuple[str, ...]]:
    parts = base.opened.parts(record.id)
    return word_runs(words_of(((parts.text if parts else None) or "").casefold()))


def _in_common(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))

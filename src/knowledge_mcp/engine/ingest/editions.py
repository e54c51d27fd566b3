"""What an ingest takes a document for: an edition of what else is there, told in so many words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.editions import BY_HAND, CONFIRMED, Editions, edition_of_record, facts_of
from knowledge_mcp.engine.core.relabelling import kept_by_hand, relabel
from knowledge_mcp.language.editions import mark_of, said_in
from knowledge_mcp.language.phrases import word_runs
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import noticing
from knowledge_mcp.model.rights import ALLOWED
from knowledge_mcp.support.checkpoints import checked

LEAST_IN_COMMON = 0.15
"""Share of the shorter text's runs of four words that stand in the other too, from which on a title or a path that
looks like another edition's is believed: editions of four real specifications share .76 to .95, other ones .015."""
_END = re.compile(r"\.\s+[A-Z]")
_EDITION_KEYS = ("edition", "version", "revision", "issue")


def stated_edition(document: Document, earlier: DocumentRecord | None) -> dict[str, str]:
    """Add what the beginning of a document says of its edition, where its metadata do not, and what was set by hand."""
    metadata = dict(document.metadata)
    told = said_in(document.text)
    found: dict[str, str] = {}
    if told.edition and not any(metadata.get(key) for key in _EDITION_KEYS) and mark_of(document.title) is None:
        found["edition"] = f"{told.edition}, {told.published}" if told.published else told.edition
    if told.published:
        found["published"] = told.published
    if told.replaces:
        found["replaces"] = "; ".join(_END.split(each)[0].strip() for each in told.replaces)
    if told.status:
        found["edition_status"] = told.status
    own = {key: value for key, value in found.items() if not metadata.get(key)}
    return own | kept_by_hand(earlier) | _kept_rights(earlier)


def _kept_rights(earlier: DocumentRecord | None) -> dict[str, str]:
    """Give the groups that the version before was for: a new one is for no others until somebody says so."""
    allowed = earlier.label(ALLOWED) if earlier is not None else ""
    return {ALLOWED: allowed} if allowed else {}


def settled(base: Base, new: Sequence[DocumentRecord]) -> list[tuple[DocumentRecord, str]]:
    """Say of what each new document was taken as an edition; what only looks like one is compared first.

    Returns:
        The documents with a sentence each, in order; those that are no editions are left out.
    """
    told: list[tuple[DocumentRecord, str]] = []
    if not any(facts_of(record).by or facts_of(record).replaces for record in new):
        return told
    apart: dict[str, str] = {}
    with noticing():  # what is damaged is told by whoever asks for it
        records = base.opened.documents()
        for record in checked(new):
            if facts_of(record).is_guess:
                apart |= _compared(base, record, records)
        known = Editions(base.opened.documents())
    for record in new:
        family = known.family_of(record.id)
        if family is not None:
            label = edition_of_record(record) or facts_of(record).label or "undated"
            now = "the current one" if record.id in {each.id for each in family.current} else "not the current one"
            others = ", ".join(each.id for each in family.records if each.id != record.id)
            told.append(
                (record, f"{record.id} is taken as edition {label} of {family.title}, {now} (others: {others}).")
            )
        elif record.id in apart:
            told.append((record, apart[record.id]))
    return told


def _compared(base: Base, record: DocumentRecord, records: Sequence[DocumentRecord]) -> dict[str, str]:
    """Compare a document with those that its title or path takes for other editions, and keep what comes of it."""
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
    said = (
        f"{record.id} is called like another edition of {nearest}, but has {share:.0%} in common with it: kept apart."
    )
    return {record.id: said}


def _runs(base: Base, record: DocumentRecord) -> set[tuple[str, ...]]:
    parts = base.opened.parts(record.id)
    return word_runs((parts.text if parts else None) or "")


def _in_common(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))

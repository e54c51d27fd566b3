"""Answers without what is damaged: it is left out and named, remembered for the health, and never an empty answer."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import DamagedError, KnowledgeError, noticing
from knowledge_mcp.model.evidence import QuoteAnswer, ReferenceAnswer
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import Equals, LookupAnswer, RequirementAnswer, SearchAnswer
from knowledge_mcp.support.events import log_event

_NAMED = 5
"""Damaged parts that one answer names."""
_REMEMBERED = 100
_logger = logging.getLogger(__name__)

Answer = TypeVar("Answer", SearchAnswer, LookupAnswer, RequirementAnswer, QuoteAnswer, ReferenceAnswer)


def sound_answer(base: Base, ask: Callable[[], Answer], is_found: Callable[[Answer], object]) -> Answer:
    """Answer without what is damaged, naming it in the answer's `degraded`.

    Args:
        base: what is asked; remembers what was damaged.
        ask: gives the answer.
        is_found: tells whether the answer found anything.

    Raises:
        DamagedError: without what is damaged nothing was found.
    """
    try:
        with noticing() as damage:
            answer = ask()
    except DamagedError as exc:
        remember(base, [exc])
        raise
    if not damage:
        return answer
    remember(base, damage)
    if not is_found(answer):
        raise damage[0]
    return replace(answer, degraded=(*answer.degraded, *notes_of(damage)))


def notes_of(damage: Sequence[DamagedError]) -> tuple[str, ...]:
    """Name what was left out, one sentence each."""
    notes = [f"Left out: {each.message} {each.suggestion}" for each in damage[:_NAMED]]
    more = len(damage) - len(notes)
    return (*notes, f"{more} more damaged parts were left out.") if more else tuple(notes)


def remember(base: Base, damage: Sequence[DamagedError]) -> None:
    """Keep what was met damaged for the health; of very much the first is enough."""
    for each in damage:
        if each.message not in base.damaged and len(base.damaged) < _REMEMBERED:
            base.damaged[each.message] = each
            log_event(_logger, logging.ERROR, "damaged", reason=each.message, details=each.details)


def still_damaged(base: Base) -> tuple[str, ...]:
    """Name what was met damaged and still is: it is read again, and forgotten where it is sound or gone."""
    for name, damage in list(base.damaged.items()):
        if _is_sound(base, damage):
            base.damaged.pop(name, None)
    return tuple(base.damaged)


def _is_sound(base: Base, damage: DamagedError) -> bool:
    opened = base.opened
    try:
        if damage.what == "passage" and damage.document_id:
            opened.chunks("document", [damage.document_id])
        elif damage.what == "passage":
            opened.chunks("id", [damage.chunk_id])
        elif damage.what == "vector":
            dimensions = base.embedder.space.dimensions
            vector = struct.pack(f"<{dimensions}f", *[dimensions**-0.5] * dimensions)
            opened.search(vector=vector, text=None, filter=Equals("chunk_id", damage.chunk_id), limit=1)
        elif damage.what == "record":
            opened.documents([damage.document_id])
        elif (parts := opened.parts(damage.document_id)) is not None:
            _ = parts.structure if damage.what == "structure" else parts.text
    except KnowledgeError:
        return False
    return True


def verify(base: Base, *, repair: bool = False) -> list[Finding]:
    """Check the store against itself, then each document as an answer reads it; each finding once."""
    if not base.exists():
        return []
    return list(dict.fromkeys((*base.opened.verify(repair=repair), *_documents(base))))


def _documents(base: Base) -> Iterator[Finding]:
    """Read every document as an answer would, and compare each passage with its place in the canonical text."""
    with noticing() as damage:
        records = base.opened.documents()
    for record in records:
        with noticing() as more:
            text, chunks = None, list[Chunk]()
            try:
                parts = base.opened.parts(record.id)
                text, _ = (None, None) if parts is None else (parts.text, parts.structure)
                chunks = base.opened.chunks("document", [record.id])
            except KnowledgeError as exc:
                yield Finding(exc.message, record.id, suggestion=exc.suggestion)
        damage += more
        wrong = sum(text is not None and each.span.of(text) != each.content for each in chunks)
        if wrong:
            message = f"{wrong} passages are not the words of the canonical text at their place."
            yield Finding(message, record.id, suggestion=DamagedError.default_suggestion)
    for each in damage:
        yield Finding(f"{each.message} {each.details}".strip(), each.document_id or None, suggestion=each.suggestion)

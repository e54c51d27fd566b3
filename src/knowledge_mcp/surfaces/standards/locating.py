"""Locators as answers carry them: everything that is there, boxes in whole points, one to a column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from knowledge_mcp.model import evidence
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Box, Span
from knowledge_mcp.surfaces.standards.evidence_responses import Locator

__all__ = ["locator", "locator_of_chunk", "merged_boxes"]


def locator(place: evidence.Locator) -> Locator:
    """Turn the engine's locator into an answer's; what is empty is left out."""
    return _built(
        place.document_id,
        place.span,
        place.content_hash,
        pages=place.page_numbers,
        labels=place.page_labels,
        boxes=place.boxes,
        lines=place.lines,
    )


def locator_of_chunk(chunk: Chunk) -> Locator:
    """Locate a whole chunk."""
    return _built(
        chunk.document_id,
        chunk.span,
        chunk.content_hash,
        pages=chunk.page_numbers,
        labels=chunk.page_labels,
        boxes=chunk.boxes,
        lines=chunk.lines,
    )


def merged_boxes(boxes: Iterable[Box]) -> list[list[int]]:
    """Join boxes of one column of a page, and round outwards: `[page, left, top, right, bottom]`, in reading order.

    Boxes share a column where the narrower one lies beside the other by more than half of its width.
    """
    columns: list[Box] = []
    for box in boxes:
        last = columns[-1] if columns else None
        if last is not None and last.page == box.page and _one_column(last, box):
            columns[-1] = Box(
                box.page,
                min(last.left, box.left),
                min(last.top, box.top),
                max(last.right, box.right),
                max(last.bottom, box.bottom),
            )
        else:
            columns.append(box)
    rounded = ([each.page, *_outwards(each)] for each in columns)
    return [list(each) for each in dict.fromkeys(tuple(each) for each in rounded)]


def _one_column(first: Box, second: Box) -> bool:
    shared = min(first.right, second.right) - max(first.left, second.left)
    return shared > 0.5 * min(first.right - first.left, second.right - second.left)


def _outwards(box: Box) -> tuple[int, int, int, int]:
    return math.floor(box.left), math.floor(box.top), math.ceil(box.right), math.ceil(box.bottom)


def _built(
    document_id: str,
    span: Span,
    content_hash: str,
    *,
    pages: Sequence[int],
    labels: Sequence[str],
    boxes: Sequence[Box],
    lines: tuple[int, int] | None,
) -> Locator:
    more: dict[str, Any] = {}
    if pages:
        more["page_numbers"] = list(pages)
    if labels and list(labels) != [str(page) for page in pages]:
        more["page_labels"] = list(labels)
    if boxes:
        more["boxes"] = merged_boxes(boxes)
    if lines is not None:
        more["lines"] = list(lines)
    return Locator(document_id=document_id, span=[span.start, span.end], content_hash=content_hash, **more)

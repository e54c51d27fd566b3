"""Pages that were not read with confidence, where a quote that is not found may stand after all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knowledge_mcp.language.quote_words import read_words
from knowledge_mcp.model.collection import DocumentParts, PageCoverage
from knowledge_mcp.model.document import LAYOUT_UNCERTAIN
from knowledge_mcp.model.evidence import UncertainPage
from knowledge_mcp.model.extraction import is_unsure
from knowledge_mcp.support.checkpoints import checked

_MOST = 5
_HELD = 0.7
"""Share of a quote's words that a page must hold: woven texts lose none, and another page holds half of them."""
_LONG = 4
"""Letters from which on a word is not on every page."""


def uncertain_pages(documents: Mapping[str, DocumentParts], words: Sequence[str]) -> tuple[UncertainPage, ...]:
    """List the uncertain pages that hold most words of a quote, those that hold the most first.

    Args:
        documents: what was compared, by id.
        words: of the quote, as `quote_words` writes them.
    """
    wanted = {word for word in words if len(word) >= _LONG} or set(words)
    found: list[tuple[float, UncertainPage]] = []
    for document_id, parts in checked(documents.items()):
        text, structure = parts.text, parts.structure
        for page in structure.pages if structure is not None and text is not None else ():
            if text is None or not _is_uncertain(page):
                continue
            held = wanted.intersection(read_words(page.span.of(text)).keys)
            share = len(held) / max(1, len(wanted))
            if share >= _HELD:
                found.append((share, UncertainPage(document_id, page.number, page.label, page.note)))
    found.sort(key=lambda each: (-each[0], each[1].document_id, each[1].page))
    return tuple(page for _, page in found[:_MOST])


def _is_uncertain(page: PageCoverage) -> bool:
    return LAYOUT_UNCERTAIN in page.note or (page.method == "ocr" and is_unsure(page.note))

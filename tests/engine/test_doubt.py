"""A quote that is not found where it was read: the pages that may hold it after all are named."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.evidence.quotes import uncertain_pages
from knowledge_mcp.model.collection import DocumentParts, DocumentStructure, PageCoverage
from knowledge_mcp.model.document import LAYER_UNCHECKED, LAYOUT_UNCERTAIN, Span

_WOVEN = "Tools must generate There are four ways a report to name a sensor for each sensor."
_QUOTE = ["tools", "must", "generate", "a", "report", "for", "each", "sensor"]


def _held(note: str, method: str = "text_layer", text: str = _WOVEN) -> dict[str, DocumentParts]:
    pages = (
        PageCoverage(1, "i", Span(0, 0), "blank", 0),
        PageCoverage(2, "ii", Span(0, len(text)), method, 70, note=note),
    )
    return {"guide": DocumentParts(lambda: text, lambda: DocumentStructure((), pages))}


@pytest.mark.parametrize(
    ("note", "method"),
    [
        (LAYOUT_UNCERTAIN, "text_layer"),
        (LAYER_UNCHECKED, "text_layer"),
        ("read by OCR, confidence 95 %; about 14% of its print was not read: stamps", "ocr"),
        ("read by OCR, confidence 61 % (low; 30% of the words are doubtful)", "ocr"),
        ("read by OCR, confidence 91 %; doubtful digits: '8'", "ocr"),
    ],
)
def test_an_uncertain_page_that_holds_the_words_is_named(note: str, method: str) -> None:
    (page,) = uncertain_pages(_held(note, method), _QUOTE)
    assert (page.document_id, page.page, page.label, page.reason) == ("guide", 2, "ii", note)


def test_a_page_that_was_read_with_confidence_is_not_named_nor_one_with_other_words() -> None:
    assert uncertain_pages(_held(""), _QUOTE) == ()
    assert uncertain_pages(_held("read by OCR, confidence 95 %", "ocr"), _QUOTE) == ()
    assert uncertain_pages(_held(LAYOUT_UNCERTAIN, text="The pump has four wheels."), _QUOTE) == ()

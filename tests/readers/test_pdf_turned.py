"""A table that is set sideways on an upright page gives the same as its twin that stands upright."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Block, BlockKind, Document
from tests.readers.pdf_files import HEIGHT, SENTENCE, WIDTH, read_pdf, sheet

_ROWS = [
    ["Mode", "Limit", "Remark"],
    ["Normal", "12 V", "as built"],
    ["Degraded", "9 V", "for an hour"],
    ["Off", "0 V", ""],
]


def table_of(document: Document) -> Block:
    (table,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    return table


@pytest.mark.parametrize("degrees", [90, -90], ids=["up", "down"])
@pytest.mark.parametrize("sentences", [1, 12], ids=["hardly other text", "mostly other text"])
def test_a_table_set_sideways_is_read_as_its_upright_twin(degrees: int, sentences: int) -> None:
    upright, turned = sheet(), sheet()
    upright.grid(_ROWS, [120, 120, 120])
    turned.y = 660.0
    for _ in range(sentences):
        turned.line(SENTENCE)
    turned.canvas.saveState()
    turned.canvas.translate(WIDTH / 2, HEIGHT / 2)
    turned.canvas.rotate(degrees)
    turned.canvas.translate(-WIDTH / 2, -HEIGHT / 2)
    turned.y = 500.0
    turned.grid(_ROWS, [120, 120, 120])
    turned.canvas.restoreState()
    document, twin = read_pdf(turned), read_pdf(upright)
    table = table_of(document)
    assert table.span.of(document.text) == table_of(twin).span.of(twin.text)
    assert document.text.count(SENTENCE) == sentences
    (box,) = table.boxes
    assert box.bottom - box.top > box.right - box.left
    assert (box.left > WIDTH / 2) is (degrees == 90)


def test_a_page_printed_upside_down_is_read_as_its_upright_twin() -> None:
    documents: list[Document] = []
    for degrees in (0, 180):
        page = sheet()
        page.paragraph(SENTENCE, SENTENCE)
        page.next_page()
        page.canvas.translate(WIDTH / 2, HEIGHT / 2)
        page.canvas.rotate(degrees)
        page.canvas.translate(-WIDTH / 2, -HEIGHT / 2)
        page.heading("2 Requirements")
        page.paragraph(*[SENTENCE] * 3)
        page.grid(_ROWS, [120, 120, 120])
        documents.append(read_pdf(page))
    upright, turned = documents
    assert turned.text == upright.text
    box, twin = table_of(turned).boxes[0], table_of(upright).boxes[0]
    shown = (WIDTH - twin.right, HEIGHT - twin.bottom, WIDTH - twin.left, HEIGHT - twin.top)
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx(shown, abs=1)

"""A heading ends behind its number and title, wherever the words of its section begin."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.core.headings import heading_end
from knowledge_mcp.model.collection import OutlineEntry
from knowledge_mcp.model.document import Span


@pytest.mark.parametrize(
    ("number", "title", "text", "heading"),
    [
        ("4.1", "", "4.1 Doors shall be shut.", "4.1"),
        ("4.1", "Doors", "4.1 Doors. They shall be shut.", "4.1 Doors."),
        ("4.1", "Doors and\ngates", "4.1 Doors\nand gates\n\nThey are shut.", "4.1 Doors\nand gates"),
        ("4", "", "Article 4 Whoever fails shall pay.", "Article 4"),
        ("A", "Doors", "Annex A (informative)\n\nDoors\n\nThey are shut.", "Annex A (informative)\n\nDoors"),
        ("4", "Doors", "Sec. 4 — Doors\n\nThey are shut.", "Sec. 4 — Doors"),
        (None, "Doors and gates", "Doors\n\nThey are shut.", "Doors"),
        ("A", "Doors", "A Doors (informative)\n\nThey are shut.", "A Doors (informative)"),
        (None, "Doors", "**Doors**\n\nThey are shut.", "**Doors**"),
        ("4", "", "4.1 Doors shall be shut.", ""),
        (None, "Doors", "They are shut.", ""),
        (None, "", "They are shut.", ""),
        (None, "Doors are kept sh …", "Doors are kept shut.", "Doors are kept sh"),
        (None, "Door", "Doors are shut.", ""),
    ],
)
def test_a_heading_ends_where_words_begin(number: str | None, title: str, text: str, heading: str) -> None:
    entry = OutlineEntry(2, number, title, Span(4, 4 + len(text)))
    end = heading_end(f"x\n\n\n{text}", entry)
    assert text[: end - 4] == heading

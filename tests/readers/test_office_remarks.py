"""Changes and comments of OpenDocument texts and workbooks: they are reported with their words, and are no text."""

from __future__ import annotations

import time
from typing import Any

from knowledge_mcp.readers.shared.hidden import MarkedWords
from tests.readers.office_files import odt, workbook
from tests.readers.ole_files import xls
from tests.readers.test_office import read


def test_changes_and_comments_of_an_open_document_are_reported_with_their_words() -> None:
    info = "<office:change-info><dc:creator>J. Doe</dc:creator></office:change-info>"
    regions = (
        f'<text:changed-region text:id="c1"><text:deletion>{info}<text:p>24 V</text:p></text:deletion>'
        f'</text:changed-region><text:changed-region text:id="c2"><text:insertion>{info}</text:insertion>'
        "</text:changed-region>"
    )
    came = '<text:change-start text:change-id="c2"/>28 V<text:change-end text:change-id="c2"/>'
    note = '<office:annotation office:name="n"><dc:creator>K. Lee</dc:creator><text:p>Why?</text:p></office:annotation>'
    document = read(
        odt(
            f'<text:tracked-changes>{regions}</text:tracked-changes><text:p>At most <text:change text:change-id="c1"/>'
            f'{came} at {note}night<office:annotation-end office:name="n"/>.</text:p>'
        ),
        "a.odt",
    )
    assert document.text == "At most 28 V at night."
    assert document.warnings == (
        "1 comment was omitted.",
        "Tracked changes are not accepted yet (1 insertion, 1 deletion): the text was read as if they were.",
    )
    metadata = dict(document.metadata)
    assert metadata["pending_changes"] == "J. Doe, deletion “24 V” | J. Doe, insertion “28 V”"
    assert metadata["comments"] == "K. Lee, comment “night”: Why?"


def test_comments_on_cells_are_reported_with_their_cells() -> None:
    def fill(made: Any) -> None:
        from openpyxl.comments import Comment

        made.active.title = "Limits"
        made.active["A1"], made.active["B1"], made.active["A2"], made.active["B2"] = "Name", "Limit", "Voltage", "28 V"
        made.active["B2"].comment = Comment("Should be 24 V?", "J. Doe")

    document = read(workbook(fill), "limits.xlsx")
    assert "24 V" not in document.text
    assert dict(document.metadata)["comments"] == "Limits B2, J. Doe, comment: Should be 24 V?"


def test_notes_on_cells_of_old_workbooks_are_reported_with_their_cells() -> None:
    document = read(xls({"Limits": [["Name", "Limit"], ["Voltage", "28 V"]]}, note="Should be 24 V?"), "limits.xls")
    assert "24 V" not in document.text
    assert dict(document.metadata)["comments"] == "Limits A1, J. Doe, comment: Should be 24 V?"
    assert document.warnings == ("1 comment was omitted.",)


def test_passages_that_nobody_ends_cost_no_more_than_others() -> None:
    marked = MarkedWords()
    for number in range(20_000):
        marked.open(str(number))
    begun = time.monotonic()
    for _ in range(20_000):
        marked.add("A word ")
    assert marked.close("7").startswith("A word A word ")
    assert marked.close("7") == ""
    assert time.monotonic() - begun < 10, "each word was given to each of the passages"


def test_marks_that_are_open_at_once_hold_the_same_piece_of_a_long_run() -> None:
    marked = MarkedWords()
    marked.open("1")
    marked.open("2")
    marked.add("w" * 3000)
    assert marked.close("1") is marked.close("2")

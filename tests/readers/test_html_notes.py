"""Notes of web pages: the raised numbers that lead to them are marks, and no powers."""

from __future__ import annotations

import pytest

from tests.readers.test_html import blocks, read


@pytest.mark.parametrize(
    ("mark", "note"),
    [
        (
            '<sup><a href="#fn1" id="r1">1</a></sup>',
            '<ol><li id="fn1"><p>At the bearing. <a href="#r1">↩</a></p></li></ol>',
        ),
        ('<a href="#fn1"><sup>1</sup></a>', '<p id="fn1">At the bearing. ↩</p>'),
        (
            '<a href="#_1" name="_b1"><sup>1</sup></a>',
            '<div><p><a href="#_b1" name="_1"><sup>1</sup></a> At the bearing. ↩</p></div>',
        ),
        ('<a href="#a1" role="doc-noteref">1</a>', '<aside id="a1"><p>At the bearing. ↩</p></aside>'),
    ],
)
def test_a_raised_number_that_leads_to_a_note_is_its_mark_and_no_power(mark: str, note: str) -> None:
    document = read(f"<p>It stays below 2 mm/s{mark} on 3 m<sup>2</sup>.</p>{note}")
    assert blocks(document) == [
        ("paragraph", "It stays below 2 mm/s[^1] on 3 m²."),
        ("footnote", "[^1] At the bearing. ↩"),
    ]

"""Notes of web pages, whose raised numbers are marks and no powers, and their lists of contents, which are no text."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.model.document import BlockKind
from tests.readers.shown import kinds
from tests.readers.test_html import read


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
    assert kinds(document) == [
        ("paragraph", "It stays below 2 mm/s[^1] on 3 m²."),
        ("footnote", "[^1] At the bearing. ↩"),
    ]


def test_the_list_of_contents_is_no_text_and_a_list_of_some_links_is() -> None:
    clauses = "".join(
        f'<section id="s{at}"><h2><bdi>{at}.</bdi> Clause {name}</h2><p>The pump shall {name}.</p></section>'
        for at, name in enumerate(("start", "run", "stop", "rest", "wait"), 1)
    )
    links = "".join(f'<li><a href="#s{at}">{at}. Clause</a></li>' for at in range(1, 6))
    page = f'<html><body><h1>Pumps</h1>{{}}{clauses}<ul><li>See <a href="#s2">clause 2</a></li></ul></body></html>'
    plain = read(page.format("")).text
    assert read(page.format(f'<nav id="toc"><h2>Contents</h2><ol class="toc">{links}</ol></nav>')).text == plain
    some = "".join(f'<li><a href="#s{at}">{at}. Clause</a></li>' for at in (1, 3))
    assert "3. Clause" in read(page.format(f"<ul>{some}</ul>")).text
    said = "".join(f'<li><a href="#s{at}">Clause {at}</a> says what is done by whom</li>' for at in range(1, 6))
    assert "by whom" in read(page.format(f"<ul>{said}</ul>")).text


@pytest.mark.parametrize(
    ("raised", "shown"),
    [("n", "2^n"), ("XLEN", "2^XLEN"), ("n−1", "2^(n−1)"), ("-(B+1)", "2^(-(B+1))"), ("(k+1)", "2^(k+1)"),
     ("nd", "2nd"), ("ND", "2ND"), ("TM", "2TM"), ("a", "2ᵃ"), ("a, b", "2ᵃ,ᵇ"), ("e", "2ᵉ"), ("post-it", "2post-it"),
     ("24.5", "2^24.5"), ("-0.5", "2^-0.5"), ("1/2", "2^(1/2)"), ("1,5", "2¹,⁵"), ("1, 2", "2¹,²")],
)  # fmt: skip
def test_a_power_is_not_read_as_a_factor_and_marks_of_notes_are_raised(raised: str, shown: str) -> None:
    assert read(f"<p>At most 2<sup>{raised}</sup> bytes.</p>").text == f"At most {shown} bytes."


@pytest.mark.parametrize(
    "label",
    [
        "UWAGA",
        "NOTA",
        "OPMERKING",
        "ANM.",
        "MERKNAD",
        "BEMÆRK",
        "HUOM.",
        "POZNÁMKA",
        "ПРИМЕЧАНИЕ",
        "UWAGA 2",
        "Примечание —",
    ],
)
def test_notes_are_recognised_by_the_words_of_other_languages(label: str) -> None:
    words = f"{label} Valve 3 is closed."
    document = read(f"<p>The tank is empty.</p><p>{words}</p>")
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH, BlockKind.NOTE]
    opening = opening_of(words)
    assert opening is not None
    assert opening.kind is BlockKind.NOTE


@pytest.mark.parametrize(
    "words", ["UWAGA! Hot.", "Uwaga na wodę.", "Примечание к таблице.", "ANMELDUNG beginnt.", "HUOMENTA"]
)
def test_words_that_only_begin_like_notes_are_text(words: str) -> None:
    document = read(f"<p>The tank is empty.</p><p>{words}</p>")
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]

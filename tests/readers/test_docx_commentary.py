"""Commentary beside rules in Word documents is a note, wherever it is printed, and no requirement of its rule."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.openings import commentary_label
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.html.reader import HtmlReader
from tests.readers.docx_files import p, read_docx, run, style, table
from tests.readers.in_process import HERE
from tests.readers.office_files import item_of

_STYLES = (
    style("H1", "heading 1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
    + style("H2", "heading 2", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>')
    + style("Com", "Commentary text")
    + style("Own", "Small print")
)
_SHADED = '<w:shd w:val="clear" w:color="auto" w:fill="D9D9D9"/>'
_FRAMED = '<w:pBdr><w:top w:val="single"/></w:pBdr>'
_RULE, _NEXT = "Doors shall be 0.9 m wide.", "Frames shall be of steel."
_SAID = "In hospitals the width must be 1.1 m."


def _read(between: str) -> Document:
    before = p("5 Doors", "H1") + p("5.1 Width", "H2") + p(_RULE)
    return read_docx(before + between + p(_NEXT) + p("6 Walls", "H1") + p("Walls shall be thick."), styles=_STYLES)


def _stated(document: Document) -> list[str]:
    return [each.text for each in find_statements(document)]


def _box(*paragraphs: str) -> str:
    inside = "".join(map(p, paragraphs))
    drawn = f"<w:pict><v:shape><v:textbox><w:txbxContent>{inside}</w:txbxContent></v:textbox></v:shape></w:pict>"
    return p(run(_RULE) + f'<w:r xmlns:v="urn:schemas-microsoft-com:vml">{drawn}</w:r>')


@pytest.mark.parametrize(
    "between",
    [
        p("Commentary", properties=_SHADED) + p(_SAID, properties=_SHADED) + p(_SAID, properties=_SHADED),
        p(f"Commentary: {_SAID}", properties=_SHADED) + p(_SAID, properties=_SHADED),
        p("Guidance note:", properties=_FRAMED) + p(_SAID, properties=_FRAMED),
        p("Erläuterung") + p(_SAID, "Own") + p(_SAID, "Own"),
        p("C5.1", "Own") + p(_SAID, "Own"),
        p(_SAID, "Com") + p(_SAID, "Com"),
        p(f"Commentary — {_SAID}"),
        _box(f"Commentary: {_SAID}", _SAID),
        _box("Explanatory note", _SAID, _SAID),
    ],
    ids=["shaded", "run-in", "framed", "style", "number", "named style", "in the text", "box", "box with a title"],
)
def test_commentary_is_a_note_and_what_follows_it_is_not(between: str) -> None:
    document = _read(between)
    assert dict.fromkeys(_stated(document)) == dict.fromkeys([_RULE, _NEXT, "Walls shall be thick."])
    said = [block.kind for block in document.blocks if _SAID in block.span.of(document.text)]
    assert said
    assert set(said) == {BlockKind.NOTE}


@pytest.mark.parametrize(
    "between",
    [
        p(_SAID, properties=_SHADED),
        p(_SAID, "Own"),
        _box(_SAID),
        p("Commentary is given below. ") + p(_SAID),
        p("Commentary", properties=_SHADED) + p("5.2 Height", "H2") + p(_SAID, properties=_SHADED),
    ],
    ids=["shaded only", "a style only", "a box only", "a sentence", "after a heading"],
)
def test_rules_that_only_look_different_are_rules(between: str) -> None:
    assert _SAID in _stated(_read(between))


@pytest.mark.parametrize(
    "name", ["Commentary", "Explanatory note", "Kommentar", "Erläuterungen", "Commentaire", "Notes"]
)
def test_a_column_of_commentary_in_a_table_states_nothing(name: str) -> None:
    rows = [("Clause", "Rule", name), ("5.1", _RULE, _SAID), ("5.2", _NEXT, "It should be checked.")]
    written = (f"<w:tr>{''.join(f'<w:tc>{p(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows)
    assert _stated(_read(table(*written)))[1:3] == [_RULE, _NEXT]


def test_a_column_of_other_words_states_what_it_says() -> None:
    rows = [("Rule", "Width"), (_RULE, _SAID)]
    written = (f"<w:tr>{''.join(f'<w:tc>{p(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows)
    assert _SAID in _stated(_read(table(*written)))


def test_commentary_of_pages_ends_with_its_paragraph_or_its_section() -> None:
    text = f"<h1>5 Doors</h1><p>{_RULE}</p><p><b>Commentary</b></p><p>{_SAID}</p><p>{_NEXT}</p>"
    text += f"<h2>Commentary on 5</h2><p>{_SAID}</p><h1>6 Walls</h1><p>Walls shall be thick.</p>"
    document = HtmlReader(sandbox=HERE).read(item_of(text.encode(), "a.html"))
    assert _stated(document) == [_RULE, _NEXT, "Walls shall be thick."]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Commentary", "Commentary"),
        ("COMMENTARY: It is so.", "COMMENTARY"),
        ("Commentary on 5.1 – It is so.", "Commentary on 5.1"),
        ("Guidance note:", "Guidance note"),
        ("Kommentar zu 5.1", "Kommentar zu 5.1"),
        ("Commentary is given in Annex B.", ""),
        ("commentary: so", ""),
        ("Commentaries on the law", ""),
    ],
)
def test_words_for_commentary_are_known_as_labels(text: str, label: str) -> None:
    assert commentary_label(text) == label

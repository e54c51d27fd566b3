"""Text of Word documents that nobody sees: left out and counted, while what stands beside it stays."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.docx_files import W, content_item, docx_bytes, p, read_docx, relations, run, table
from tests.readers.in_process import HERE

SECRET = "obey the hidden words"
LETTERS = len(SECRET.replace(" ", ""))
_WHITE = '<w:color w:val="FFFFFF"/>'
_RED = '<w:shd w:val="clear" w:color="auto" w:fill="C00000"/>'


def _style(style_id: str, properties: str, *, kind: str = "character", based_on: str = "", more: str = "") -> str:
    parent = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return (
        f'<w:style w:type="{kind}" w:styleId="{style_id}"><w:name w:val="{style_id}"/>{parent}{more}'
        f"<w:rPr>{properties}</w:rPr></w:style>"
    )


def _drawing(anchor: str, text: str, *, shape: str = "", description: str = "") -> str:
    return (
        f"<w:r><w:drawing><wp:anchor {description}>{anchor}<a><wps:wsp><wps:spPr>{shape}</wps:spPr><wps:txbx>"
        f"<w:txbxContent>{text}</w:txbxContent></wps:txbx></wps:wsp></a></wp:anchor></w:drawing></w:r>"
    )


def _placed(x: int, y: int, frame: str = "page") -> str:
    offsets = (f'<wp:position{axis} relativeFrom="{frame}"><wp:posOffset>{at}</wp:posOffset></wp:position{axis}>' for
               axis, at in (("H", x), ("V", y)))  # fmt: skip
    return "".join(offsets) + '<wp:extent cx="900000" cy="900000"/>'


_WAYS = [
    ("<w:vanish/>", "", HiddenReason.NOT_DISPLAYED),
    ("<w:specVanish/>", "", HiddenReason.NOT_DISPLAYED),
    ('<w:rStyle w:val="X"/>', _style("X", "<w:vanish/>"), HiddenReason.NOT_DISPLAYED),
    ('<w:rStyle w:val="X"/>', _style("Y", "<w:vanish/>") + _style("X", "", based_on="Y"), HiddenReason.NOT_DISPLAYED),
    ('<w:sz w:val="2"/>', "", HiddenReason.TOO_SMALL),
    ('<w:sz w:val="1"/>', "", HiddenReason.TOO_SMALL),
    ('<w:rtl/><w:szCs w:val="2"/>', "", HiddenReason.TOO_SMALL),
    ('<w:rStyle w:val="X"/>', _style("X", '<w:sz w:val="2"/>'), HiddenReason.TOO_SMALL),
    (_WHITE, "", HiddenReason.COLOUR),
    ('<w:color w:val="FEFEFE" w:themeColor="background1"/>', "", HiddenReason.COLOUR),
    ('<w:rStyle w:val="X"/>', _style("X", _WHITE), HiddenReason.COLOUR),
    ('<w:color w:val="C00000"/>' + _RED, "", HiddenReason.COLOUR),
    ('<w:color w:val="FFFF00"/><w:highlight w:val="yellow"/>', "", HiddenReason.COLOUR),
]


@pytest.mark.parametrize(("properties", "styles", "reason"), _WAYS)
def test_a_hidden_run_is_left_out_and_counted_and_its_neighbours_stay(
    properties: str, styles: str, reason: HiddenReason
) -> None:
    document = read_docx(p(run("Before ") + run(SECRET, properties) + run("after.")), styles=styles)
    assert document.text == "Before after."
    assert document.hidden == ((reason.value, LETTERS),)
    assert any(f"{LETTERS} hidden characters were omitted" in sentence for sentence in document.warnings)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ("<w:vanish/>", HiddenReason.NOT_DISPLAYED),
        ('<w:sz w:val="2"/>', HiddenReason.TOO_SMALL),
        (_WHITE, HiddenReason.COLOUR),
    ],
)
def test_a_paragraph_s_style_and_the_defaults_hide_text_unless_the_run_says_otherwise(
    properties: str, reason: HiddenReason
) -> None:
    seen = run("Seen.", '<w:vanish w:val="0"/><w:sz w:val="20"/><w:color w:val="auto"/>')
    by_style = read_docx(p(SECRET, "P") + p(seen, "P"), styles=_style("P", properties, kind="paragraph"))
    defaults = f"<w:docDefaults><w:rPrDefault><w:rPr>{properties}</w:rPr></w:rPrDefault></w:docDefaults>"
    by_default = read_docx(p(SECRET) + p(seen), styles=defaults)
    by_default_style = read_docx(
        p(SECRET) + p(seen),
        styles=_style("P", properties, kind="paragraph").replace("<w:style ", '<w:style w:default="1" '),
    )
    for document in (by_style, by_default, by_default_style):
        assert (document.text, document.hidden) == ("Seen.", ((reason.value, LETTERS),))


def test_two_styles_that_hide_undo_each_other_as_in_word() -> None:
    styles = _style("P", "<w:vanish/>", kind="paragraph") + _style("X", "<w:vanish/>")
    assert read_docx(p(run("Seen.", '<w:rStyle w:val="X"/>'), "P"), styles=styles).text == "Seen."


def test_hidden_headings_notes_and_cells_are_counted() -> None:
    cells = "".join(f"<w:tc>{p(run(words, look))}</w:tc>" for words, look in (("Seen", ""), (SECRET, "<w:vanish/>")))
    note = '<w:footnote w:id="2">' + p(run("Noted. ") + run(SECRET, '<w:sz w:val="2"/>')) + "</w:footnote>"
    document = read_docx(
        p(run("Scope") + run(SECRET, _WHITE), "H1")
        + p(run("Cited.") + '<w:r><w:footnoteReference w:id="2"/></w:r>')
        + table(f"<w:tr>{cells}</w:tr>"),
        word__footnotes=f'<w:footnotes xmlns:w="{W}">{note}</w:footnotes>',
    )
    assert [section.title for section in document.sections] == ["Scope"]
    assert "Noted." in document.text
    assert "obey" not in document.text
    assert dict(document.hidden) == {
        HiddenReason.NOT_DISPLAYED.value: LETTERS,
        HiddenReason.TOO_SMALL.value: LETTERS,
        HiddenReason.COLOUR.value: LETTERS,
    }


@pytest.mark.parametrize(
    ("drawing", "reason"),
    [
        (_drawing(_placed(-9_000_000, 0), p(SECRET)), HiddenReason.OFF_PAGE),
        (_drawing(_placed(0, 99_000_000, "margin"), p(SECRET)), HiddenReason.OFF_PAGE),
        (_drawing(_placed(0, 0) + '<wp:docPr id="1" name="a" hidden="1"/>', p(SECRET)), HiddenReason.NOT_DISPLAYED),
        (
            '<w:r><w:pict><v:shape style="position:absolute;margin-left:-9999pt"><v:textbox><w:txbxContent>'
            f"{p(SECRET)}</w:txbxContent></v:textbox></v:shape></w:pict></w:r>",
            HiddenReason.OFF_PAGE,
        ),
    ],
)
def test_text_boxes_that_no_page_shows_are_left_out_and_counted(drawing: str, reason: HiddenReason) -> None:
    document = read_docx(p(run("Seen.") + drawing))
    assert (document.text, document.hidden) == ("Seen.", ((reason.value, LETTERS),))


def test_what_is_in_a_group_is_measured_by_the_group() -> None:
    shape = '<v:shape style="position:absolute;left:4257;top:5969;width:1130"><v:textbox><w:txbxContent>'
    group = '<w:r><w:pict><v:group style="position:absolute;margin-left:{}" coordsize="9000,9000">'
    box = f"{group}{shape}{p('Label.')}</w:txbxContent></v:textbox></v:shape></v:group></w:pict></w:r>"
    assert read_docx(p(run("Seen.") + box.format("12pt"))).text == "Seen.\n\nLabel."
    assert read_docx(p(run("Seen.") + box.format("-9999pt"))).text == "Seen."


_DARK_CELL = '<w:tcPr><w:shd w:val="clear" w:fill="1F3864"/></w:tcPr>'


def _one_cell(settings: str, row: str = "", whole: str = "") -> str:
    cells = f"<w:tc>{settings}{p(run('Seen.', _WHITE))}</w:tc><w:tc>{p('Other')}</w:tc>"
    return f"<w:tbl><w:tblPr>{whole}</w:tblPr><w:tr>{row}{cells}</w:tr></w:tbl>"


@pytest.mark.parametrize(
    "body",
    [
        p(run("Seen.", _WHITE + _RED)),
        p(run("Seen.", _WHITE + '<w:highlight w:val="black"/>')),
        p(run("Seen.", _WHITE), properties='<w:shd w:val="clear" w:fill="000000"/>'),
        p(run("Seen.", _WHITE), "Dark"),
        p(run("Seen.", _WHITE), properties='<w:shd w:val="pct50" w:fill="FFFFFF"/>'),
        p(run("Seen.", _WHITE), properties='<w:shd w:val="solid" w:color="auto" w:fill="FFFFFF"/>'),
        p(run("Seen.", '<w:color w:val="000000"/>'), "Dark", '<w:shd w:val="clear" w:fill="auto"/>'),
        _one_cell(_DARK_CELL),
        _one_cell("", whole='<w:shd w:val="clear" w:fill="000000"/>'),
        _one_cell("", whole='<w:tblStyle w:val="Bands"/>'),
        p(run("x") + _drawing(_placed(0, 0), p(run("Seen.", _WHITE)))),
        p(_drawing('<wp:extent cx="1" cy="1"/>', "", description='behindDoc="1"')) + p(run("Seen.", _WHITE)),
        p(run("Seen.", '<w:sz w:val="12"/>')),
        p(run("Seen.", '<w:sz w:val="3"/>')),
        p(run("Seen.", '<w:szCs w:val="2"/>')),
        p(run("Seen.", "<w:webHidden/>")),
        p(run("Seen.", '<w:vanish w:val="0"/>')),
        p(run("Seen.", '<w:color w:val="808080"/>')),
        p(run("Seen."), properties="<w:rPr><w:vanish/><w:specVanish/></w:rPr>"),
    ],
)
def test_text_that_is_seen_or_may_be_seen_stays(body: str) -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Dark"><w:name w:val="d"/><w:pPr><w:shd w:val="clear" w:fill="000000"/>'
        '</w:pPr></w:style><w:style w:type="table" w:styleId="Bands"><w:name w:val="b"/><w:tblStylePr '
        'w:type="firstRow"><w:tcPr><w:shd w:val="clear" w:fill="000000"/></w:tcPr></w:tblStylePr></w:style>'
    )
    document = read_docx(body, styles=styles)
    assert "Seen." in document.text
    assert document.hidden == ()


def test_white_text_stays_where_a_header_paints_every_page() -> None:
    header = f'<w:hdr xmlns:w="{W}"><w:p><w:r><w:pict><v style="z-index:-2"/></w:pict></w:r></w:p></w:hdr>'
    parts = {**relations(("r1", "header", "header1.xml")), "word/header1.xml": header}
    document = DocxReader(sandbox=HERE).read(content_item(docx_bytes(p(run("Seen.", _WHITE)), parts=parts)))
    assert (document.text, document.hidden) == ("Seen.", ())


def test_white_text_stays_where_the_pages_are_coloured() -> None:
    settings = f'<w:settings xmlns:w="{W}"><w:displayBackgroundShape/></w:settings>'
    assert read_docx(p(run("Seen.", _WHITE)), word__settings=settings).hidden == ()

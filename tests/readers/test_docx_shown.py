"""What Word shows and does not keep as words of a paragraph: fields without results, drawings, breaks, readings."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.docx_files import W, content_item, docx_bytes, p, read_docx, relations, run, style, table
from tests.readers.in_process import HERE

DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
DATA = "word/diagrams/data1.xml"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def field(instruction: str, form: str = "", result: str = "") -> str:
    between = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(result)}' if result else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin">{form}</w:fldChar></w:r><w:r><w:instrText>{instruction}</w:instrText>'
        f'</w:r>{between}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


CHOICES = '<w:ffData><w:ddList>{}<w:listEntry w:val="shall"/><w:listEntry w:val="should"/></w:ddList></w:ffData>'
BOX = "<w:ffData><w:checkBox><w:default w:val='{}'/>{}</w:checkBox></w:ffData>"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (field("FORMDROPDOWN", CHOICES.format('<w:result w:val="1"/>')), "should"),
        (field("FORMDROPDOWN", CHOICES.format("")), "shall"),
        (field("FORMCHECKBOX", BOX.format(1, "")), "☒"),
        (field("FORMCHECKBOX", BOX.format(1, "<w:checked w:val='0'/>")), "☐"),
        (field("FORMTEXT", "<w:ffData/>", "typed"), "typed"),
        (field("MACROBUTTON NoMacro [Name of the plant]"), "[Name of the plant]"),
        (field('SYMBOL 179 \\f "Symbol" \\s 10'), "≥"),
        (field("SYMBOL 176"), "°"),
        (field("SYMBOL 8805 \\u"), "≥"),
        (field("EQ \\f(1;2)"), "1/2"),
        (field("EQ \\r(3,\\f(a+b,2))"), "3√((a+b)/2)"),
        (field("EQ \\o\\ac(○,1)"), "(1)"),
        (field("EQ \\f(1,2)", result="kept"), "kept"),
        (field("XE &quot;pump&quot;"), ""),
    ],
)
def test_a_field_without_a_result_shows_what_word_shows(written: str, shown: str) -> None:
    text = read_docx(p(run("It ") + written + run(" end."))).text
    assert text == " ".join(f"It {shown} end.".split())


def test_a_page_break_in_a_paragraph_parts_its_words_and_a_reading_is_in_brackets() -> None:
    ruby = f"<w:ruby><w:rubyPr/><w:rt>{run('kan')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby>"
    broken = run("Loads") + '<w:r><w:br w:type="page"/></w:r>' + run("hold.")
    document = read_docx(p(broken) + p(f"<w:r>{ruby}</w:r>" + run("字.")))
    assert document.text == "Loads hold.\n\n漢(kan)字."


def test_a_paragraph_whose_end_was_deleted_keeps_its_note_and_its_text_box() -> None:
    box = (
        "<w:r><w:pict><v:shape><v:textbox><w:txbxContent>"
        + p("Box.")
        + "</w:txbxContent></v:textbox></v:shape></w:pict>"
        "</w:r>"
    )
    cited = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    notes = f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{p("The note.")}</w:footnote></w:footnotes>'
    joined = p(run("One ") + cited + box, "", "<w:rPr><w:del/></w:rPr>") + p("goes on.")
    document = read_docx(joined, word__footnotes=notes)
    assert document.text == "One [^1]goes on.\n\nBox.\n\n[^1] The note."


def test_a_lone_line_in_a_style_of_contents_is_text() -> None:
    styles = style("T", "TOC Heading") + style("T1", "toc 1")
    contents = p("Contents", "T") + p("Scope 3", "T1") + p("Loads", "T1")
    revisions = p("Revision history", "T") + table(f"<w:tr><w:tc>{p('A')}</w:tc><w:tc>{p('B')}</w:tc></w:tr>")
    assert read_docx(contents + p("Text.") + revisions, styles=styles).text.startswith(
        "Text.\n\nRevision history\n\n| A"
    )
    assert read_docx(p("Scope", "T1") + p("Loads", "T1") + p("Text."), styles=styles).text == "Text."


def test_lettering_and_older_canvases_are_text() -> None:
    lettering = '<w:r><w:pict><v:shape><v:textpath string="SAFETY RULES"/></v:shape></w:pict></w:r>'
    canvas = (
        f'<w:r><w:drawing><a:graphic xmlns:a="{DRAWING}"><a:txSp><a:txBody><a:p><a:r><a:t>Valve V1</a:t></a:r></a:p>'
        "</a:txBody></a:txSp></a:graphic></w:drawing></w:r>"
    )
    cell = f"<w:tc>{p(canvas)}</w:tc>"
    document = read_docx(p(lettering) + table(f"<w:tr>{cell}<w:tc>{p('Beside')}</w:tc></w:tr>"))
    assert document.text == "SAFETY RULES\n\n| | Beside |\n| --- | --- |\n\nValve V1"


def test_charts_and_diagrams_are_read_and_those_without_data_are_reported() -> None:
    def drawing(inside: str) -> str:
        return p(f"<w:r><w:drawing>{inside}</w:drawing></w:r>")

    body = drawing(f'<dgm:relIds xmlns:dgm="{DIAGRAM}" r:dm="r1"/>') + drawing(
        f'<c:chart xmlns:c="{CHART}" r:id="r2"/>'
    )
    diagram = (
        f'<dgm:dataModel xmlns:dgm="{DIAGRAM}" xmlns:a="{DRAWING}"><dgm:ptLst><dgm:pt modelId="0" type="doc"/>'
        '<dgm:pt modelId="1"><dgm:t><a:p><a:r><a:t>Plan the work</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>'
        '<dgm:cxnLst><dgm:cxn modelId="2" srcId="0" destId="1" srcOrd="0"/></dgm:cxnLst></dgm:dataModel>'
    )
    points = '<c:strCache><c:pt idx="0"><c:v>{}</c:v></c:pt></c:strCache>'
    chart = (
        f'<c:chartSpace xmlns:c="{CHART}"><c:chart><c:plotArea><c:pieChart><c:ser><c:tx>{points.format("Load")}</c:tx>'
        f"<c:cat>{points.format('North')}</c:cat><c:val>{points.format('0.25')}</c:val></c:ser></c:pieChart>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )
    links = relations(("r1", "diagramData", "diagrams/data1.xml"), ("r2", "chart", "charts/chart1.xml"))
    document = DocxReader(sandbox=HERE).read(
        content_item(docx_bytes(body, parts={**links, DATA: diagram, "word/charts/chart1.xml": chart}))
    )
    assert document.text == "• Plan the work\n\n| Category | Load |\n| --- | --- |\n| North | 0.25 |"
    assert [b.kind for b in document.blocks] == [BlockKind.LIST_ITEM, BlockKind.TABLE]
    assert not document.warnings
    broken = DocxReader(sandbox=HERE).read(
        content_item(docx_bytes(p("Text.") + body, parts={**links, DATA: "<damaged"}))
    )
    assert broken.text == "Text."
    assert any(warning.startswith("2 charts or diagrams") for warning in broken.warnings)


def test_labels_within_labels_of_a_drawing_stay() -> None:
    def box(inside: str) -> str:
        return f"<v:shape><v:textbox><w:txbxContent>{inside}</w:txbxContent></v:textbox></v:shape>"

    inner = f"<w:r><w:pict>{box(p('Inner'))}</w:pict></w:r>"
    assert read_docx(p(f"<w:r><w:pict>{box(p('Left'))}{box(p(run('Right') + inner))}</w:pict></w:r>")).text == (
        "Left\nRight\n\nInner"
    )

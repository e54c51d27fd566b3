"""What a presentation draws from other parts or newer markup is text: diagrams, charts, equations, in any dialect."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, presentation, zipped

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())
SLIDE = "ppt/slides/slide1.xml"
RELATIONS = "ppt/slides/_rels/slide1.xml.rels"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def read(data: bytes) -> Document:
    item = item_of(data, "talk.pptx")
    assert READER.check(item).pages == 1
    return READER.read(item)


def one_slide(fill: Callable[[Any], None] = lambda _: None) -> bytes:
    """Write a presentation with one slide, "Safety"."""

    def filled(made: Any) -> None:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = "Safety"
        fill(slide)

    return presentation(filled)


def changed(data: bytes, change: Callable[[str, str], str], further: Mapping[str, str] | None = None) -> bytes:
    """Write an archive again, its XML changed by name and text."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members: dict[str, bytes | str] = {
            name: change(name, archive.read(name).decode()) if name.endswith((".xml", ".rels")) else archive.read(name)
            for name in archive.namelist()
        }
    return zipped({**members, **(further or {})})


def in_tree(markup: str) -> Callable[[str, str], str]:
    """Put shapes at the end of the slide."""
    return lambda name, text: text.replace("</p:spTree>", f"{markup}</p:spTree>") if name == SLIDE else text


def point(name: str, text: str, kind: str = "node") -> str:
    words = f'<dgm:t><a:p xmlns:a="{DRAWING}"><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t>'
    return f'<dgm:pt modelId="{name}" type="{kind}">{words}</dgm:pt>'


def link(above: str, below: str, order: int, arrow: str = "") -> str:
    return f'<dgm:cxn modelId="{above}{below}" srcId="{above}" destId="{below}" srcOrd="{order}" sibTransId="{arrow}"/>'


FRAME = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="D"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
    '<p:xfrm><a:off x="914400" y="2743200"/><a:ext cx="914400" cy="914400"/></p:xfrm><a:graphic>'
    f'<a:graphicData uri="{DIAGRAM}"><dgm:relIds xmlns:dgm="{DIAGRAM}" r:dm="rDiagram" r:lo="x" r:qs="x" r:cs="x"/>'
    "</a:graphicData></a:graphic></p:graphicFrame>"
)


def test_a_diagram_is_a_list_with_its_levels() -> None:
    points = point("0", "", "doc") + point("b", "Check") + point("a", "Plan") + point("c", "The plan shall be signed.")
    links = link("0", "b", 1) + link("0", "a", 0, "t") + link("a", "c", 0)
    data = f'<dgm:dataModel xmlns:dgm="{DIAGRAM}"><dgm:ptLst>{points}{point("t", "then", "sibTrans")}</dgm:ptLst>'
    data += f"<dgm:cxnLst>{links}</dgm:cxnLst></dgm:dataModel>"
    relation = f'<Relationship Id="rDiagram" Type="{OFFICE}/diagramData" Target="../diagrams/data1.xml"/>'

    def change(name: str, text: str) -> str:
        text = in_tree(FRAME)(name, text)
        return text.replace("</Relationships>", f"{relation}</Relationships>") if name == RELATIONS else text

    document = read(changed(one_slide(), change, {"ppt/diagrams/data1.xml": data}))
    items = [(b.span.of(document.text), b.depth) for b in document.blocks if b.kind is BlockKind.LIST_ITEM]
    assert items == [("• Plan", 0), ("• The plan shall be signed.", 1), ("• then", 0), ("• Check", 0)]


def test_a_chart_is_its_data_also_where_it_has_depth_and_gaps() -> None:
    def fill(slide: Any) -> None:
        from pptx.chart.data import CategoryChartData
        from pptx.enum.chart import XL_CHART_TYPE
        from pptx.util import Inches

        data: Any = CategoryChartData()
        data.categories = ["North", "South"]
        data.add_series("Loads", (20.399999999999999, None))
        data.add_series("Limits", (30, 40))
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(3), Inches(4), Inches(3), data)

    flat = one_slide(fill)
    deep = changed(flat, lambda _, text: text.replace("c:barChart>", "c:bar3DChart>"))
    for data in (flat, deep):
        document = read(data)
        table = next(b for b in document.blocks if b.kind is BlockKind.TABLE).span.of(document.text)
        assert table.splitlines()[2:] == ["| North | 20.4 | 30 |", "| South | | 40 |"]
        assert table.startswith("| Category | Loads | Limits |")
        assert "None" not in document.text
        assert "unsupported" not in document.text


def test_an_equation_and_its_shape_stand_in_for_their_picture() -> None:
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    fraction = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    body = (
        '<p:sp><p:nvSpPr><p:cNvPr id="8" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p>'
        "<a:r><a:t>The factor is</a:t></a:r>{}<a:r><a:t>at least.</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    newer = f'<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"><m:oMath xmlns:m="{math}">'
    newer = body.format(f"{newer}{fraction}</m:oMath></a14:m>")
    markup = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f'<mc:Choice Requires="a14">{newer}</mc:Choice><mc:Fallback>{body.format("")}</mc:Fallback>'
        "</mc:AlternateContent>"
    )
    text = read(changed(one_slide(), in_tree(markup))).text
    assert "The factor is 1/2 at least." in text
    assert text.count("The factor is") == 1


def test_a_show_and_the_strict_dialect_read_like_a_presentation() -> None:
    usual = one_slide()
    show = changed(usual, lambda _, text: text.replace("presentation.main+xml", "slideshow.main+xml"))
    names = {f"http://schemas.openxmlformats.org/{kind}/2006/": f"http://purl.oclc.org/ooxml/{kind}/" for kind in (
        "officeDocument", "drawingml", "presentationml")}  # fmt: skip

    def strict(_: str, text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    assert read(usual).text == read(show).text == read(changed(usual, strict)).text

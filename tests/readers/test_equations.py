"""Equations as text: no number runs into another, whatever format they stand in."""

from __future__ import annotations

import pytest
from lxml import etree

from knowledge_mcp.readers.data.reader import DataReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.shared.equations import equation_text
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/math"
MATHML = "http://www.w3.org/1998/Math/MathML"
HTML = HtmlReader(sandbox=InProcessSandbox())
DATA = DataReader(sandbox=InProcessSandbox())


def r(text: str) -> str:
    return f"<r><t>{text}</t></r>"


def e(text: str) -> str:
    return f"<e>{r(text)}</e>"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"<f><num>{r('1')}</num><den>{r('2n')}</den></f>", "1/2n"),
        (f"<f><num>{r('a+1')}</num><den>{r('2')}</den></f>", "(a+1)/2"),
        (f"<sSup>{e('x')}<sup>{r('2')}</sup></sSup>{r('+1')}", "x^2+1"),
        (f"<sPre><sub>{r('1')}</sub><sup>{r('2')}</sup>{e('H')}</sPre>", "_1^2 H"),
        (f"<m><mr>{e('1')}{e('0')}</mr><mr>{e('0')}{e('1')}</mr></m>", "1 0; 0 1"),
        (f"<eqArr>{e('x=1')}{e('y=2')}</eqArr>", "x=1; y=2"),
        (f"<d><dPr><sepChr val=','/></dPr>{e('1')}{e('2')}</d>", "(1,2)"),
        (f"<func><fName>{r('sin')}</fName>{e('x')}</func>", "sin x"),
        (f"<limLow>{e('lim')}<lim>{r('n→0')}</lim></limLow>", "lim_(n→0)"),
        (f"<acc><accPr><chr val='\u0303'/></accPr>{e('x')}</acc>", "x\u0303"),
        (f"<bar><barPr><pos val='top'/></barPr>{e('x')}</bar>", "x\u0305"),
        (
            f"<nary><naryPr><chr val='∑'/></naryPr><sub>{r('i=1')}</sub><sup>{r('n')}</sup>{e('i')}</nary>",
            "∑_(i=1)^n i",
        ),
        (f"<rad><deg>{r('3')}</deg>{e('8')}</rad>", "3√(8)"),
    ],
)
def test_equations_of_office_files(markup: str, text: str) -> None:
    assert equation_text(etree.fromstring(f'<oMath xmlns="{OFFICE}">{markup}</oMath>')) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mi>x</mi><mn>2</mn></msup>", "1/2x^2"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_i^2"),
        ("<msqrt><mn>2</mn><mi>a</mi></msqrt><mo>+</mo><mroot><mn>8</mn><mn>3</mn></mroot>", "√(2a)+3√(8)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd></mtr></mtable>",
            "1 0; 0",
        ),
        ("<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>", "∑_(i=1)^n"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", "x\u0305"),
        ("<mfenced><mn>1</mn><mn>2</mn></mfenced>", "(1,2)"),
        ("<mphantom><mn>9</mn></mphantom><mn>1</mn><mspace width='1em'></mspace><mn>2</mn>", "1 2"),
        ("<semantics><mi>E</mi><annotation encoding='application/x-tex'>\\mathcal E</annotation></semantics>", "E"),
        ("<mfrac><mn>1</mn></mfrac>", "1/"),
        ("<apply><plus></plus><ci>a</ci><cn>2</cn></apply>", "plus(a, 2)"),
        ("12", "12"),
        ("<mn>1</mn><mtext>if</mtext><mi>x</mi>", "1 if x"),
    ],
)
@pytest.mark.parametrize("name", ["page.html", "page.xhtml", "article.xml"])
def test_mathml_in_pages_and_documents(markup: str, text: str, name: str) -> None:
    sentence = f'<p>The factor k = <math xmlns="{MATHML}">{markup}</math>, at least, shall be applied to all loads.</p>'
    page = {
        "page.html": f"<html><body>{sentence}</body></html>",
        "page.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{sentence}</body></html>',
        "article.xml": f"<article><body><sec><title>Loads</title>{sentence}</sec></body></article>",
    }[name]
    reader = DATA if name.endswith(".xml") else HTML
    assert f"k = {text}, at least" in reader.read(item_of(page.encode(), name)).text


def test_readings_stand_in_brackets_and_pages_within_the_page_are_read() -> None:
    page = (
        "<html><body><p><ruby>漢<rt>kan</rt>字<rt>ji</rt></ruby> and <ruby>東<rp>(</rp><rt>to</rt><rp>)</rp></ruby>."
        '</p><iframe srcdoc="&lt;h2&gt;Inner&lt;/h2&gt;&lt;p&gt;It shall be read.&lt;/p&gt;"></iframe><p>After.</p>'
        "<svg><title>A drawing</title></svg></body></html>"
    )
    document = HTML.read(item_of(page.encode(), "rules.html"))
    assert document.text.startswith("漢(kan)字(ji) and 東(to).\n\nInner\n\nIt shall be read.\n\nAfter.")
    assert document.title != "A drawing"

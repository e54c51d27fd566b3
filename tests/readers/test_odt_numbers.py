"""Numbers of OpenDocument texts as a word processor prints them; shapes, formulas and headings within lists."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, odt

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())


def read(data: bytes) -> Document:
    return READER.read(item_of(data, "paper.odt"))


def level(number: int, form: str, dress: str = "", shown: int = 1) -> str:
    """Write a level of a list style that numbers."""
    return (
        f'<text:list-level-style-number text:level="{number}" style:num-format="{form}" '
        f'text:display-levels="{shown}" {dress}/>'
    )


CLAUSES = "".join(level(number, "1", shown=number) for number in (1, 2, 3))
LETTERS = level(1, "a", 'style:num-suffix=")"') + level(2, "i", 'style:num-prefix="(" style:num-suffix=")"')
STYLES = (
    f'<text:list-style style:name="C">{CLAUSES}</text:list-style>'
    f'<text:list-style style:name="L">{LETTERS}</text:list-style>'
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/></text:list-style>'
    '<style:style style:name="Item" style:family="paragraph" style:list-style-name="L"/>'
    '<style:style style:name="Own" style:family="paragraph" style:parent-style-name="Item"/>'
)


def listed(*items: str, style: str = "L", more: str = "") -> str:
    name = f'text:style-name="{style}"' if style else ""
    return (
        f"<text:list {name} {more}>{''.join(f'<text:list-item>{item}</text:list-item>' for item in items)}</text:list>"
    )


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def h(text: str, depth: int) -> str:
    return f'<text:h text:outline-level="{depth}">{text}</text:h>'


def markers(body: str) -> list[str]:
    document = read(odt(body, styles=STYLES))
    return [f"{b.depth} {b.marker}".strip() for b in document.blocks if b.kind is BlockKind.LIST_ITEM]


def test_headings_within_lists_are_headings_with_the_list_s_number() -> None:
    on = 'text:continue-numbering="true"'
    body = listed(h("Scope", 1), style="C") + p("It applies.")
    body += listed(h("Terms", 1), style="C", more=on) + listed(listed(h("Loads", 2), style=""), style="C", more=on)
    body += p("Loads shall be noted.") + listed(h("Notes", 1), style="B")
    document = read(odt(body, styles=STYLES))
    assert [(s.number, s.title, s.level) for s in document.sections] == [
        ("1", "Scope", 1),
        ("2", "Terms", 1),
        ("2.1", "Loads", 2),
        (None, "Notes", 1),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (listed(p("one"), p("two") + listed(p("deep"), p("er"), style="")), ["0 a)", "0 b)", "1 (i)", "1 (ii)"]),
        (listed(p("one")) + listed(p("again")), ["0 a)", "0 a)"]),
        (listed(p("one")) + p("between") + listed(p("on"), more='text:continue-numbering="true"'), ["0 a)", "0 b)"]),
        (
            listed(p("one"), more='xml:id="x"') + listed(p("other")) + listed(p("on"), more='text:continue-list="x"'),
            ["0 a)", "0 a)", "0 b)"],
        ),
        (listed(p("one") + p("its second paragraph"), p("two")), ["0 a)", "0", "0 b)"]),
        (listed(p("one"), style="B"), ["0 •"]),
        (listed(p("one", "Own"), p("two", "Own"), style=""), ["0 a)", "0 b)"]),
        (listed(p("one")).replace("<text:list-item>", '<text:list-item text:start-value="4">'), ["0 d)"]),
    ],
)
def test_items_have_the_numbers_that_are_printed(body: str, expected: list[str]) -> None:
    assert markers(body) == expected


def test_items_in_cells_have_their_numbers() -> None:
    cell = "<table:table-cell>{}</table:table-cell>"
    row = f"<table:table-row>{cell.format(p('Steps'))}{cell}</table:table-row>"
    body = f"<table:table>{row.format(p('What'))}{row.format(listed(p('open'), p('shut')))}</table:table>"
    assert "| Steps | a) open b) shut |" in read(odt(body, styles=STYLES)).text


def test_words_of_shapes_are_paragraphs_of_their_own() -> None:
    shape = f"<draw:custom-shape>{p('Left shall hold.')}</draw:custom-shape><draw:rect>{p('Right')}</draw:rect>"
    document = read(odt(shape + f"<text:p>Before {shape.replace('Left', 'Lower')} after.</text:p>"))
    assert document.text == "Left shall hold.\n\nRight\n\nBefore after.\n\nLower shall hold.\n\nRight"


def test_formulas_are_text_and_other_objects_are_reported() -> None:
    math = "http://www.w3.org/1998/Math/MathML"
    formula = f'<math xmlns="{math}"><mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mi>x</mi><mn>2</mn></msup></math>'
    frame = '<draw:frame><draw:object xlink:href="./{}"/></draw:frame>'
    further = {"Object 1/content.xml": formula, "Object 2/content.xml": "<chart/>"}
    document = read(odt(f"<text:p>Use {frame.format('Object 1')} here.</text:p>", further=further))
    assert document.text == "Use 1/2x^2 here."
    assert not document.warnings
    document = read(odt(f"<text:p>See {frame.format('Object 2')} here.</text:p>", further=further))
    assert any("Embedded objects" in warning for warning in document.warnings)

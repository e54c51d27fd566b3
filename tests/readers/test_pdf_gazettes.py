"""Laws and orders as gazettes print them: columns set close, titles over several lines, names in large print."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.lines import FontWeights
from tests.readers.pdf_files import Sheet, read_pdf, sheet

_SIZE, _STEP = 8.0, 8.4
_COLUMN, _INDENT = 200.0, 13.0
_LEFT, _RIGHT = 50.0, 275.0
_TEXT = (
    "Que, el organismo competente vigila las descargas de aguas tratadas en los cuerpos naturales, informa cada año de "
    "los resultados al ministerio, publica los valores que ha medido en todas las estaciones y revisa los equipos con "
    "los que se mide, de acuerdo al protocolo nacional y a las normas técnicas que estén vigentes en esa fecha; "
)


def _wrapped(words: str, width: float, font: str, indent: float = 0.0) -> list[str]:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    lines: list[str] = []
    line = ""
    for word in words.split():
        room = width - (0.0 if lines else indent)
        if line and stringWidth(f"{line} {word}", font, _SIZE) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def _justified(page: Sheet, x: float, y: float, line: str, font: str, width: float) -> None:
    """Set words over a width, each by itself, as such programs do; one that is 0 leaves a blank between them."""
    from reportlab.pdfbase.pdfmetrics import stringWidth

    parts = line.split()
    free = width - sum(stringWidth(part, font, _SIZE) for part in parts)
    blank = free / max(len(parts) - 1, 1) if width else 2.3
    for part in parts:
        page.at(x, y, part, _SIZE, font)
        x += stringWidth(part, font, _SIZE) + blank


def _set(page: Sheet, x: float, y: float, words: str, font: str = "Helvetica", width: float = _COLUMN) -> float:
    """Set words in a justified column, the first line indented; returns where the next paragraph begins."""
    lines = _wrapped(words, width, font, _INDENT)
    for at, line in enumerate(lines):
        indent = 0.0 if at else _INDENT
        _justified(page, x + indent, y, line, font, width - indent if at < len(lines) - 1 else 0)
        y += _STEP
    return y


def _gazette() -> Sheet:
    page = sheet()
    page.canvas.setPageSize((525, 842))
    return page


def test_lines_of_one_column_do_not_mix_with_those_that_stand_half_a_step_lower_beside_them() -> None:
    page = _gazette()
    _set(page, _LEFT, 100, _TEXT * 3)
    _set(page, _RIGHT, 100 + _STEP / 2, _TEXT.replace("Que", "Y que") * 3)
    text = " ".join(read_pdf(page.done()).text.split())
    assert " ".join((_TEXT * 3).split()) in text
    assert " ".join((_TEXT.replace("Que", "Y que") * 3).split()) in text


def test_three_columns_are_read_one_after_the_other() -> None:
    page = sheet()
    words = [_TEXT.replace("Que", name) for name in ("Primero", "Segundo", "Tercero")]
    for at, some in enumerate(words):
        _set(page, 45 + at * 172, 100 + 2 * at, some * 4, width=160)
    text = " ".join(read_pdf(page.done()).text.split())
    assert text == " ".join(" ".join((some * 4).split()) for some in words)


_TITLES = (
    "Artículo 1.- Objeto de la norma",
    "Artículo 2.- Categorías de los estándares de calidad ambiental que se aplican al agua de los ríos",
    "Artículo 3°.- Asignación de categorías a todos los cuerpos naturales de agua",
)


def test_articles_are_numbered_and_their_titles_go_on_in_the_next_line_of_a_column() -> None:
    page = _gazette()
    y = 100.0
    for title in _TITLES:
        y = _set(page, _LEFT, y + 10, title, "Helvetica-Bold")
        y = _set(page, _LEFT, y, _TEXT)
    _set(page, _RIGHT, 100, _TEXT * 4)
    sections = read_pdf(page.done()).sections
    assert [(each.number, each.title) for each in sections] == [
        ("1", "Objeto de la norma"),
        ("2", "Categorías de los estándares de calidad ambiental que se aplican al agua de los ríos"),
        ("3", "Asignación de categorías a todos los cuerpos naturales de agua"),
    ]


def test_articles_stand_below_their_chapters_and_their_clauses_below_them() -> None:
    page = sheet()
    for chapter in (1, 2):
        page.heading(f"CAPÍTULO {chapter} DISPOSICIONES")
        for article in (2 * chapter - 1, 2 * chapter):
            page.heading(f"Artículo {article}.- Del procedimiento", 11)
            page.paragraph(f"{article}.1 El titular presenta la solicitud ante la autoridad competente.")
            page.paragraph(f"{article}.2 La autoridad resuelve en un plazo de treinta días hábiles.")
    levels = {(each.number, each.level) for each in read_pdf(page.done()).sections}
    assert {("1", 1), ("1", 2), ("2", 1), ("2", 2), ("3", 2), ("4", 2), ("1.1", 3), ("4.2", 3)} <= levels


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("El organismo de evaluación y fiscalización", "– OEFA administra la base de datos de los resultados"),
        ("La autoridad actúa de acuerdo con el literal", "d) del artículo séptimo de la ley de los organismos"),
    ],
)
def test_a_dash_or_a_letter_within_a_sentence_begins_no_item_below_an_indented_line(first: str, second: str) -> None:
    page = _gazette()
    y = _set(page, _LEFT, 100, _TEXT)
    _justified(page, _LEFT + _INDENT, y, first, "Helvetica", _COLUMN - _INDENT)
    _justified(page, _LEFT, y + _STEP, second, "Helvetica", _COLUMN)
    _justified(page, _LEFT, y + 2 * _STEP, "que se han medido.", "Helvetica", 0)
    document = read_pdf(page.done())
    assert {block.kind for block in document.blocks} == {BlockKind.PARAGRAPH}
    assert f"{first} {second} que se han medido." in document.text


def test_an_item_whose_mark_stands_alone_is_one_of_its_own() -> None:
    page = sheet()
    page.paragraph("Se exceptúa la aplicación en los supuestos que siguen:")
    for mark, words in (("a)", "Las características de los suelos."), ("b)", "La ocurrencia de fenómenos naturales.")):
        page.at(72, page.y, mark)
        page.at(100, page.y, words)
        page.y += 13
    blocks = [block for block in read_pdf(page.done()).blocks if block.kind is BlockKind.LIST_ITEM]
    assert len(blocks) == 2


@pytest.mark.parametrize("pages", [3, 4])
def test_the_name_of_a_gazette_beside_its_page_number_is_no_text(pages: int) -> None:
    page = sheet()

    def head(paper: Sheet) -> None:
        paper.at(50, 60, str(10 + paper.page_number), 12, "Helvetica-Bold")
        paper.at(230, 60, "NORMAS LEGALES", 12, "Helvetica-Bold")

    page.furniture = head
    for number in range(pages):
        page.y = 78
        page.paragraph(*_wrapped(f"{_TEXT} {number} " * 2, 420, "Helvetica"), x=50)
        if number < pages - 1:
            page.next_page()
    assert "NORMAS LEGALES" not in read_pdf(page.done()).text


class _Item:
    def __init__(self, font_name: str, text: str, font_weight: int) -> None:
        self.font_name, self.text, self.font_weight = font_name, text, font_weight


def test_the_weight_of_a_font_counts_for_nothing_where_the_names_of_its_family_tell_it() -> None:
    items = [_Item("ABCDEF+ArialMT", "running text", 768), _Item("Arial-BoldMT", "title", 788), _Item("Times", "x", 7)]
    weights = FontWeights()
    weights.settle(items)  # type: ignore[arg-type]
    assert [item.font_weight for item in items] == [400, 788, 7]
    later = [_Item("ArialMT", "more", 768)]
    weights.settle(later)  # type: ignore[arg-type]
    assert later[0].font_weight == 400


def test_an_act_is_called_by_its_own_title_and_not_by_that_of_the_gazette_or_its_part() -> None:
    page = sheet(title="")
    page.line("Official Journal", size=20, step=24)
    page.line("of the European Union", size=14, step=30)
    page.line("(Legislative acts)", size=12, font="Helvetica-Oblique", step=18)
    page.line("REGULATIONS", size=16, step=24)
    title = [
        "REGULATION (EU) 2026/679 OF THE EUROPEAN PARLIAMENT AND OF THE COUNCIL",
        "of 27 April 2026",
        "on the safety of pumps that move liquids with solid parts, on the marking of such",
        "pumps, and repealing Directive 95/46/EC (General Pump Regulation)",
    ]
    for line in title:
        page.line(line, size=12, font="Helvetica-Bold", step=15)
    page.line("(Text with EEA relevance)", size=12, font="Helvetica-Oblique", step=24)
    for number in range(20):
        page.line(f"The pump number {number} shall be marked by whoever places it on the market of the Union.")

    assert read_pdf(page.done()).title == " ".join(title)

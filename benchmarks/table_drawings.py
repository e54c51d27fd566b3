"""Draw PDF pages with drawings that hold no table, for `benchmarks.tables`."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.table_pages import HEIGHT, LEFT, RIGHT, Page


def blocks(page: Page) -> None:
    """Boxes with names, joined by arrows."""
    page.paragraph()
    top, columns, wide = page.y, page.dice.randint(2, 4), 96.0
    for row in range(3):
        for column in range(columns):
            x, y = LEFT + column * 122.0, top + row * 80.0
            page.box(x, y, x + wide, y + 44)
            page.at(x + 8, y + 18, page.name())
            page.at(x + 8, y + 32, page.name())
            if column + 1 < columns:
                page.line(x + wide, y + 22, x + 122, y + 22)
                page.line(x + 116, y + 19, x + 122, y + 22)
                page.line(x + 116, y + 25, x + 122, y + 22)
            if row < 2:
                page.line(x + wide / 2, y + 44, x + wide / 2, y + 80)
    page.y = top + 270
    page.paragraph()


def classes(page: Page) -> None:
    """UML classes: a name, attributes, operations; joined by lines."""
    page.paragraph()
    top = page.y
    for column in range(3):
        for row in range(2):
            x, y = LEFT + column * 165.0, top + row * 150.0
            page.box(x, y, x + 130, y + 110)
            page.line(x, y + 18, x + 130, y + 18)
            page.line(x, y + 66, x + 130, y + 66)
            page.at(x + 30, y + 13, page.name(), bold=True)
            for index in range(3):
                page.at(x + 5, y + 30 + 13 * index, f"- {page.words(1, 1)}: int")
            for index in range(2):
                page.at(x + 5, y + 79 + 13 * index, f"+ {page.words(1, 1)}(): void")
            if column < 2:
                page.line(x + 130, y + 40, x + 165, y + 40)
        page.line(LEFT + column * 165 + 60, top + 110, LEFT + column * 165 + 60, top + 150)
    page.y = top + 300
    page.paragraph()


def schematic(page: Page) -> None:
    """Chips with rows of pins on both sides, wires with names of nets, symbols."""
    page.size = 6.0
    for chip in range(3):
        x, y = 190.0, 90.0 + chip * 220.0
        page.box(x, y, x + 160, y + 190)
        page.at(x + 60, y - 6, f"U{chip + 1}")
        for pin in range(15):
            height = y + 10 + 12 * pin
            page.line(x - 50, height, x, height)
            page.line(x + 160, height, x + 210, height)
            page.at(x + 4, height + 2, page.words(1, 1).upper())
            page.at(x + 122, height + 2, page.words(1, 1).upper())
            page.at(x - 12, height - 1, str(pin + 1))
            page.at(x + 164, height - 1, str(30 - pin))
            page.at(x - 110, height + 2, f"NET_{page.words(1, 1).upper()}")
            page.at(x + 214, height + 2, f"{page.words(1, 1).upper()}_{pin}")
            if pin % 5 == 0:
                page.line(x + 210, height, x + 210, height + 24)
                page.line(x + 205, height + 24, x + 215, height + 24)
                page.canvas.circle(x - 50, HEIGHT - height, 2)


def chart(page: Page) -> None:
    """Axes, a net of lines, bars or a curve, labels and a legend."""
    page.paragraph()
    top, left = page.y, LEFT + 40
    for step in range(6):
        y = top + 36 * step
        page.line(left, y, left + 360, y)
        page.at(left - 24, y + 3, str(100 - 20 * step))
    for step in range(7):
        x = left + 60 * step
        page.line(x, top, x, top + 180)
        page.at(x - 8, top + 194, str(2000 + step))
    if page.dice.random() < 0.5:
        for step in range(6):
            page.box(left + 60 * step + 15, top + page.dice.randint(20, 150), left + 60 * step + 45, top + 180, 0.5)
    else:
        path = page.canvas.beginPath()
        path.moveTo(left, HEIGHT - top - 150)
        for step in range(1, 7):
            path.lineTo(left + 60 * step, HEIGHT - top - page.dice.randint(10, 170))
        page.canvas.drawPath(path)
    for index in range(3):
        page.box(left + 375, top + 20 * index, left + 383, top + 20 * index + 8, 0.3 * index)
        page.at(left + 388, top + 20 * index + 7, page.name())
    page.y = top + 230
    page.paragraph()


def callouts(page: Page) -> None:
    """Framed notes, and two framed cards side by side."""
    page.paragraph()
    for _ in range(2):
        top = page.y
        page.y += 14
        page.paragraph(3, LEFT + 10, RIGHT - 10)
        page.box(LEFT, top, RIGHT, page.y)
        page.y += 20
    top = page.y
    for left in (LEFT, LEFT + 245):
        page.y = top + 14
        page.at(left + 8, page.y, page.name(), bold=True)
        page.y += 14
        page.paragraph(4, left + 8, left + 218)
        page.box(left, top, left + 226, top + 90, 0.92)
        page.y = top + 14
        page.at(left + 8, page.y, page.name(), bold=True)
        page.y += 14
        page.paragraph(4, left + 8, left + 218)
    page.y = top + 110
    page.paragraph()


def sequence(page: Page) -> None:
    """Draw a sequence diagram: heads, life lines, messages."""
    page.paragraph()
    top, count = page.y, 4
    for column in range(count):
        x = LEFT + 120 * column
        page.box(x, top, x + 80, top + 24)
        page.at(x + 8, top + 15, page.name())
        page.line(x + 40, top + 24, x + 40, top + 330)
    for step in range(9):
        y, start = top + 50 + 30 * step, page.dice.randint(0, count - 2)
        page.line(LEFT + 40 + 120 * start, y, LEFT + 160 + 120 * start, y)
        page.at(LEFT + 50 + 120 * start, y - 3, f"{page.words(1, 2)}()")
        page.line(LEFT + 154 + 120 * start, y - 3, LEFT + 160 + 120 * start, y)
    page.y = top + 360
    page.paragraph()


def layers(page: Page) -> None:
    """Layers of a system: boxes on top of one another that touch, of unequal widths, with boxes within."""
    page.paragraph()
    top = page.y
    for layer in range(4):
        y = top + 60 * layer
        page.box(LEFT, y, RIGHT, y + 60)
        page.at(LEFT + 8, y + 14, page.name(), bold=True)
        count = page.dice.randint(2, 5)
        for column in range(count):
            x = LEFT + 90 + column * 380 / count
            page.box(x, y + 20, x + 380 / count - 14, y + 52, 0.9)
            page.at(x + 4, y + 38, page.name())
    page.y = top + 270
    page.paragraph()


def columns_of_text(page: Page) -> None:
    """Two columns of text with a rule between them, and rules above and below."""
    middle = (LEFT + RIGHT) / 2
    page.line(LEFT, 58, RIGHT, 58)
    for left, right in ((LEFT, middle - 10), (middle + 10, RIGHT)):
        page.y = 74.0
        while page.y < 640:
            page.paragraph(page.dice.randint(3, 6), left, right)
    page.line(middle, 60, middle, page.y)
    page.line(LEFT, page.y + 4, RIGHT, page.y + 4)


DRAWINGS: dict[str, Callable[[Page], None]] = {
    "blocks": blocks, "classes": classes, "schematic": schematic, "chart": chart, "callouts": callouts,
    "sequence": sequence, "layers": layers, "columns": columns_of_text,
}  # fmt: skip

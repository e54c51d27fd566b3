"""Five made documents of trades that no rule was changed for before they were measured (`benchmarks.forms`)."""

from __future__ import annotations

import io
from typing import Any

from benchmarks.forms import BOLD, ITALIC, Gold, Made, Sheet


def vessels() -> Made:
    """Make a code for vessels: letters before numbers, bars and years of changes in the margin."""
    gold = Gold("PART DV RULES FOR SMALL VESSELS")

    sheet = Sheet(lambda sheet: sheet.at(72, 45, f"DV-1 - DV-22 {' ' * 60} SECTION IX DIVISION 4", BOLD, 9))
    sheet.title("PART DV", 15, 260)
    sheet.title("RULES FOR SMALL VESSELS", 13, 215, before=0)
    gold.headings.append(("DV", "RULES FOR SMALL VESSELS"))

    def changed(year: str) -> None:
        sheet.at(48, sheet.y, f"({year})", BOLD, 8)
        sheet.canvas.line(556, 842 - sheet.y + 8, 556, 842 - sheet.y - 26)

    sheet.title(gold.heading("DV-1", "SCOPE"), 10)
    sheet.text(
        gold.say("The rules of this Part apply to vessels that hold less than 120 litres and are heated by steam.")
    )
    sheet.title(gold.heading("DV-2", "DESIGN PRESSURE"), 10)
    changed("23")
    sheet.hang(
        "(a)",
        gold.say(
            gold.need("Each vessel shall be designed for the highest pressure that its safety valve lets through.")
        ),
        by=22,
    )
    sheet.hang("(b)", gold.say("Static head is added where it is more than 5 % of the pressure:"), by=22)
    sheet.hang("(1)", gold.say("for vessels that stand, the head of a full vessel;"), 94, 22, 420)
    sheet.hang("(2)", gold.say("for vessels that lie, half of it."), 94, 22, 420)
    sheet.title(gold.heading("DV-16", "THICKNESS OF SHELLS"), 10)
    sheet.text(gold.say(gold.need("The thickness of a shell shall not be less than that of the equation.")))
    sheet.at(250, sheet.y, "t = PR / (SE - 0.6P)", ITALIC)
    sheet.at(500, sheet.y, "(DV-16.1)")
    sheet.y += 20
    sheet.title(gold.heading("DV-22", "LOADINGS"), 10)
    changed("21")
    sheet.text(gold.say(gold.need("Loads from supports and from piping shall be considered.")))
    sheet.text("Table DV-22 Allowable stress, MPa", 210, 300, BOLD, 9)
    sheet.table(
        [
            gold.row("Grade", "≤ 65 °C", "150 °C", "200 °C"),
            gold.row("Q-235", "114", "113", "105"),
            gold.row("Q-345 [Note (1)]", "163", "158", "149"),
            gold.row("H-70", "138", "127", "118"),
        ],
        [140, 70, 70, 70],
        120,
        grid="ends",
    )
    sheet.text(gold.say("NOTE (1) For plates that are thinner than 16 mm."), size=8)
    sheet.turn()
    sheet.title("MANDATORY APPENDIX 1", 12, 220)
    sheet.title("SUPPLEMENTARY FORMULAS", 12, 215, before=0)
    gold.headings.append(("1", "SUPPLEMENTARY FORMULAS"))
    sheet.title(gold.heading("1-1", "THICKNESS OF HEADS"), 10)
    sheet.text(gold.say("Heads of the shape of a half ellipse have the thickness of the shell."))
    return Made(".pdf", sheet.finished(), gold)


def recommendations() -> Made:
    """Make a national code of practice: commentary in italics, a table with lettered notes, a terms clause."""
    gold = Gold("Lighting of stairs in public buildings – Code of practice")

    sheet = Sheet(lambda sheet: sheet.at(72, 812, f"{sheet.page} • © The Institution 2018", size=7))
    sheet.title(gold.title, 14)
    sheet.title(gold.heading("0", "Introduction"), 12)
    sheet.text(gold.say("Most falls in buildings happen on stairs, and many of these in poor light."))
    sheet.title(gold.heading("1", "Scope"), 12)
    sheet.text(gold.say("This British Standard gives recommendations for the lighting of stairs that the public uses."))
    sheet.title(gold.heading("3", "Terms and definitions"), 12)
    sheet.text("For the purposes of this part of BX 8206, the following terms and definitions apply.")
    for number, term, words in (
        ("3.1", "going", "horizontal distance between the nosings of two steps that follow each other"),
        ("3.2", "nosing", "leading edge of a step"),
        ("3.3", "pitch line", "notional line that connects the nosings of a flight"),
    ):
        sheet.text(number, font=BOLD, after=0)
        sheet.text(term, font=BOLD, after=0)
        sheet.text(words)
        gold.definitions[term] = words
        gold.headings.append((number, term))
    sheet.title(gold.heading("4", "Lighting of flights"), 12)
    sheet.title(gold.heading("4.1", "Illuminance"), 11)
    sheet.text("COMMENTARY ON 4.1", font=ITALIC, size=9, after=2)
    sheet.text(
        gold.say("People of 60 years need twice the light that people of 20 need, and adapt to it more slowly."),
        font=ITALIC,
        size=9,
    )
    sheet.text(gold.say(gold.need("The illuminance on treads should be at least 150 lx at the nosing.")))
    sheet.text(gold.say(gold.need("It should be measured with all lamps at the end of their life.")))
    sheet.text("Table 2 – Illuminance by type of stair", font=BOLD, size=9)
    sheet.table(
        [
            gold.row("Type of stair", "Illuminance A)", "Uniformity B)"),
            gold.row("", "lx", "Uo"),
            gold.row("Main stair", "150", "0.5"),
            gold.row("Stair for escape", "100", "0.4"),
            gold.row("Stair of a stadium", "200", "0.6"),
        ],
        [170, 110, 110],
        size=9,
        header=2,
        grid="rows",
    )
    sheet.hang("A)", gold.say("Measured at the nosing."), by=18, size=8)
    sheet.hang("B)", gold.say("Ratio of the least to the mean value."), by=18, size=8)
    sheet.title(gold.heading("4.2", "Glare"), 11)
    sheet.text(gold.say(gold.need("Lamps should not be seen directly by a person who walks down.")))
    sheet.title("Annex A (informative)", 13, before=14)
    sheet.title("Survey of falls", 13, before=0)
    gold.headings.append(("A", "Survey of falls"))
    sheet.title(gold.heading("A.1", "Method"), 11)
    sheet.text(gold.say("Records of four hospitals were read."))
    return Made(".pdf", sheet.finished(), gold)


def offshore() -> Made:
    """Make an operator's specification in Word: abbreviations in a table, guidance in boxes, requirements in rows."""
    import docx

    gold = Gold("Cranes on fixed platforms")
    document: Any = docx.Document()
    document.add_paragraph(gold.title, style="Title")

    def section(title: str, level: int = 1) -> None:
        document.add_heading(title, level)
        gold.headings.append(("", title))

    section("Foreword")
    document.add_paragraph(gold.say("This specification was written by the operators of four fields together."))
    section("Abbreviations")
    table = document.add_table(rows=0, cols=2)
    for row in (
        ("FAT", "factory acceptance test"),
        ("MODU", "mobile offshore drilling unit"),
        ("SWL", "safe working load"),
    ):
        gold.fill(table.add_row(), *row)
        gold.definitions[row[0]] = row[1]
    section("General requirements")
    section("Design life", 2)
    document.add_paragraph(
        gold.say(gold.need("Cranes shall be designed for a life of 25 years with 12,000 hours of use."))
    )
    box = document.add_table(rows=1, cols=1)
    box.style = "Table Grid"
    box.rows[0].cells[0].text = gold.say("Guidance note: The hours are those of the engine and not of the hook.")
    section("Access", 2)
    document.add_paragraph(gold.say(gold.need("Ladders should be avoided above a height of six metres.")))
    for words in ("Ladders have cages from three metres on.", "Gates close by themselves."):
        document.add_paragraph(gold.say(words), style="List Bullet")
    section("Functional requirements")
    table = document.add_table(rows=1, cols=3)
    table.style = "Table Grid"
    gold.fill(table.rows[0], "No.", "Requirement text", "Compliance (Y/N)")
    for row in (
        ("CR-001", "The crane shall lower its load without power.", ""),
        ("CR-002", "The boom shall be parked within ten minutes.", ""),
        ("CR-003", "The cab shall have two exits.", ""),
    ):
        gold.fill(table.add_row(), *row)
        gold.requirements[row[1]] = row[0]
    section("Documentation")
    document.add_paragraph(gold.say("The vendor hands over the documents in the order of Table 4."))
    buffer = io.BytesIO()
    document.save(buffer)
    return Made(".docx", buffer.getvalue(), gold)


def slides() -> Made:
    """Make the slides of a design review: titles, bullets in two depths, a table."""
    import pptx
    from pptx.util import Inches

    gold = Gold("Design review of the pump skid")
    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[0])
    slide.shapes.title.text = gold.title
    slide.placeholders[1].text = "Gate 3, 12 June 2024"
    for title, bullets in (
        ("Changes since gate 2", ("The motor grew from 45 to 55 kW", "The skid is 300 mm longer")),
        (
            "Open requirements",
            (
                gold.need("REQ-31 The skid shall be lifted at four points", "REQ-31"),
                gold.need("REQ-44 The panel shall be rated IP66", "REQ-44"),
            ),
        ),
    ):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        gold.headings.append(("", title))
        frame = slide.placeholders[1].text_frame
        frame.text = gold.say(bullets[0])
        for words in bullets[1:]:
            frame.add_paragraph().text = gold.say(words)
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Masses"
    gold.headings.append(("", "Masses"))
    rows = [
        gold.row("Part", "Mass (kg)", "Status"),
        gold.row("Frame", "410", "weighed"),
        gold.row("Pump", "285", "from the maker"),
    ]
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for place, row in enumerate(rows):
        for column, words in enumerate(row):
            table.cell(place, column).text = words
    buffer = io.BytesIO()
    deck.save(buffer)
    return Made(".pptx", buffer.getvalue(), gold)


def manual() -> Made:
    """Make a maker's manual as a page: a list of terms, a table whose cells span, warnings in boxes."""
    gold = Gold("Operating manual of the DK-7 dryer")
    out = [f"<h1>{gold.title}</h1>"]

    def head(number: str, title: str, level: int) -> None:
        gold.headings.append((number, title))
        out.append(f"<h{level}>{number} {title}</h{level}>")

    head("1", "About this manual", 2)
    head("1.1", "Words used here", 3)
    out.append("<dl>")
    for term, words in (
        ("Bed", "the layer of beads that takes up the water"),
        ("Dew point", "the temperature at which water begins to condense"),
        ("Purge", "the part of the dry air that cleans the other tower"),
    ):
        out.append(f"<dt>{term}</dt><dd>{words}</dd>")
        gold.definitions[term] = words
    out.append("</dl>")
    head("2", "Safety", 2)
    out.append(
        "<div class='box warning'><p><b>WARNING</b></p><p>"
        f"{gold.say(gold.need('The towers must be without pressure before a cover is opened.'))}</p></div>"
    )
    head("3", "Technical data", 2)
    rows = [gold.row("Model", "Flow", "Mass"), gold.row("DK-7S", "35", "110"), gold.row("DK-7L", "70", "160")]
    out.append(
        "<table><tr><th rowspan='2'>Model</th><th>Flow</th><th>Mass</th></tr><tr><td>m³/h</td><td>kg</td></tr>"
        + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[1:])
        + "</table>"
    )
    gold.rows = gold.rows[1:]
    head("4", "Maintenance", 2)
    head("4.1", "Every month", 3)
    out.append(
        f"<ol><li>{gold.say('Drain the filter.')}</li><li>{gold.say('Read the dew point.')}<ol "
        f"type='a'><li>{gold.say('Above -40 °C the bed is worn.')}</li></ol></li></ol>"
    )
    head("4.2", "Every year", 3)
    out.append(f"<p>{gold.say(gold.need('The valves shall be replaced by a trained person.'))}</p>")
    return Made(
        ".html", f"<html><head><title>{gold.title}</title></head><body>{''.join(out)}</body></html>".encode(), gold
    )


FORMS = (vessels, recommendations, offshore, slides, manual)

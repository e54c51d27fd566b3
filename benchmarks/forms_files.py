"""A policy, Word files, a page and a workbook whose trades the readers' rules were changed for (`benchmarks.forms`)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from benchmarks.forms import BOLD, Gold, Made, Sheet


def handbook() -> Made:
    """Make a military handbook in Word: titles that run into their text, terms, a table with notes."""
    import docx

    gold = Gold("Design guide for deck winches")
    document: Any = docx.Document()
    document.add_paragraph("MIL-HDBK-9144B").alignment = 2
    document.add_paragraph(gold.title, style="Title")

    def numbered(number: str, title: str, words: str) -> None:
        gold.headings.append((number, title))
        paragraph = document.add_paragraph()
        paragraph.add_run(f"{number}  ").bold = False
        paragraph.add_run(f"{title}.").underline = True
        paragraph.add_run(f" {gold.say(words)}")

    def centred(number: str, title: str) -> None:
        gold.headings.append((number, title))
        paragraph = document.add_paragraph()
        paragraph.alignment = 1
        paragraph.add_run(f"{number}.  {title}").bold = True

    centred("1", "SCOPE")
    numbered("1.1", "Scope", "This handbook covers winches with drums that are driven by electric motors.")
    numbered("1.2", "Use", "This handbook is for guidance only. It cannot be cited as a requirement.")
    centred("3", "DEFINITIONS")
    for number, term, words in (
        ("3.1", "Brake horsepower", "Power measured at the shaft of the motor."),
        ("3.2", "Fleet angle", "Angle between the rope and the plane of the sheave."),
        ("3.3", "Rendering", "Yielding of the brake under a load above its setting."),
    ):
        numbered(number, term, words)
        gold.definitions[term] = words.rstrip(".")
    centred("5", "DETAILED GUIDANCE")
    numbered("5.1", "Drums", "The drum should hold the whole rope in five layers or fewer.")
    gold.requirements["The drum should hold the whole rope in five layers or fewer."] = ""
    numbered("5.1.1", "Grooves", "Grooves should be machined for the first layer.")
    gold.requirements["Grooves should be machined for the first layer."] = ""
    numbered("5.1.2", "Flanges", "Flanges stand above the outer layer by two diameters of the rope.")
    caption = document.add_paragraph()
    caption.alignment = 1
    caption.add_run("TABLE II.  Factors of safety.").underline = True
    table = document.add_table(rows=0, cols=3)
    table.style = "Table Grid"
    for row in (
        ("Part", "Static factor", "Dynamic factor 1/"),
        ("Rope", "5.0", "3.5"),
        ("Drum", "4.0", "3.0"),
        ("Foundation 2/", "3.0", "2.0"),
    ):
        gold.fill(table.add_row(), *row)
    document.add_paragraph(gold.say("1/ With the brake applied at full speed."))
    document.add_paragraph(gold.say("2/ Bolts included."))
    numbered("5.2", "Brakes", "Brakes should hold 150 percent of the rated load.")
    gold.requirements["Brakes should hold 150 percent of the rated load."] = ""
    centred("6", "NOTES")
    numbered("6.1", "Intended use", "The guide is meant for new designs.")
    numbered("6.2", "Changes from previous issue", "Vertical lines in the margin do not mark changes in this revision.")
    return _saved(document, gold)


def policy() -> Made:
    """Make an insurer's conditions: titles in the left margin, meanings beside their words, lists of exclusions."""
    gold = Gold("Your Workshop Policy")
    sheet = Sheet(lambda sheet: sheet.at(72, 810, f"Policy wording WS/04/22   Page {sheet.page} of 6", size=7))
    sheet.title(gold.title, 20)
    sheet.title(gold.heading("", "Words with special meanings"), 14)
    sheet.text(
        gold.say("Wherever the following words appear in bold in this policy they have the meanings given here.")
    )
    for term, words in (
        ("Accident", "A sudden and unforeseen event that causes damage at a known time and place."),
        ("Excess", "The first part of any claim, which you have to pay yourself."),
        ("Premises", "The buildings at the address in the schedule, with yards and car parks that belong to them."),
        ("Unattended", "Left where neither you nor an employee of yours can see it."),
    ):
        gold.definitions[term] = words.rstrip(".")
        sheet.need(30)
        sheet.at(72, sheet.y, term, BOLD)
        sheet.text(words, 190, 330)
    sheet.title(gold.heading("", "Section 1 – Contents"), 14)
    gold.headings[-1] = ("1", "Contents")

    def beside(title: str, paragraphs: list[str]) -> None:
        gold.headings.append(("", title))
        sheet.need(60)
        for step, line in enumerate(sheet.lines(title, 100, BOLD, 10)):
            sheet.at(72, sheet.y + 12.5 * step, line, BOLD)
        for words in paragraphs:
            sheet.text(gold.say(words), 190, 330)

    beside(
        "What is covered",
        [
            "We will pay for damage to the contents of the premises by fire, water or theft.",
            "The most we will pay is the sum in the schedule.",
        ],
    )
    beside(
        "What is not covered",
        [
            "We will not pay for wear and tear.",
            "We will not pay for theft from a vehicle that is unattended unless it was locked.",
        ],
    )
    beside(
        "Conditions",
        [
            gold.need("You must tell us within 30 days of any accident."),
            gold.need("You must keep all locks in working order."),
        ],
    )
    sheet.title("Section 2 – Liability to the public", 14)
    gold.headings.append(("2", "Liability to the public"))
    beside("Limit of payment", ["We pay up to the limit of indemnity for all claims in one year together."])
    return Made(".pdf", sheet.finished(), gold)


_TERMS = {
    "Active frontage": "the part of a ground floor that is open to the street through doors and windows",
    "Build-to line": "a line at a set distance from the street to which a building must be built",
}


def zoning() -> Made:
    """Make a page of a town's code: sections with a sign, lettered items, a table of uses, history in brackets."""
    gold = Gold("Chapter 17.24 Mixed-use districts")
    gold.headings.append(("17.24", "Mixed-use districts"))
    out: list[str] = []

    def section(number: str, title: str, *parts: str) -> None:
        gold.headings.append((number, title))
        out.append(
            f"<div class='sec'><h3><span class='num'>§ {number}</span> "
            f"<span class='t'>{title}.</span></h3>{''.join(parts)}</div>"
        )

    def item(mark: str, words: str, depth: int = 1) -> str:
        return f"<p class='l{depth}' style='margin-left:{depth * 2}em'>{mark} {gold.say(words)}</p>"

    section(
        "17.24.010",
        "Purpose",
        f"<p>{gold.say('The districts of this chapter bring homes and shops together.')}</p>",
        "<p class='hist'>(Ord. 2231 § 2, 2011; Ord. 1988 § 1, 2004)</p>",
    )
    section(
        "17.24.020",
        "Definitions",
        "<p>As used in this chapter:</p>",
        "<p>“Active frontage” means the part of a ground floor "
        "that is open to the street through doors and windows.</p>",
        "<p>“Build-to line” means a line at a set distance from the street to which a building must be built.</p>",
    )
    gold.definitions |= _TERMS
    rows = [
        gold.row("Use", "MU-1", "MU-2", "Standards"),
        gold.row("Dwelling, multiple", "P", "P", "17.60.050"),
        gold.row("Retail, to 5,000 sq. ft.", "P", "P"),
        gold.row("Brewery", "–", "C", "17.60.110"),
    ]
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in (*row, "")[:4]) + "</tr>" for row in rows[1:])
    section(
        "17.24.030",
        "Permitted uses",
        "<p>Uses are permitted as the table shows.</p>",
        f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in rows[0])}</tr></thead>"
        f"<tbody>{cells}</tbody></table>",
        "<p>P = permitted; C = conditional use</p>",
    )
    section(
        "17.24.040",
        "Height and yards",
        item("A.", gold.need("No building shall exceed a height of 45 feet.")),
        item("B.", "Yards."),
        item("1.", gold.need("A yard of ten feet shall be kept beside any residential district."), 2),
        item("2.", gold.need("Loading areas must be screened by a wall of six feet."), 2),
    )
    section(
        "17.24.050",
        "Parking",
        item("A.", gold.need("One space shall be provided for each dwelling.")),
    )
    return Made(".html", _page(out).encode(), gold)


def _page(out: Sequence[str]) -> str:
    menu = "<nav><a href='/'>Home</a> <a href='/17'>Title 17 Zoning</a></nav><ul class='crumbs'>"
    crumbs = "<li><a href='/'>Town Code</a></li><li><a href='/17'>Title 17</a></li></ul>"
    return (
        f"<html><head><title>17.24 Mixed-use districts | Town Code</title></head><body>{menu}{crumbs}<main>"
        f"<h2>Chapter 17.24 Mixed-use districts</h2>{''.join(out)}</main><footer>Hosted by a codifier</footer>"
        "</body></html>"
    )


_CONDITIONS = (
    (
        "The development hereby permitted shall be begun before the end of three years from the date of this decision.",
        "To comply with section 91 of the Act.",
    ),
    (
        "No development shall take place above slab level until samples of the bricks have been approved in writing.",
        "In the interest of the appearance of the area, in accordance with Policy DM7.",
    ),
    ("The garages shall be kept for the parking of cars at all times.", "To avoid parking on the highway."),
    (
        "The access shall be surfaced in bound material for the first ten metres.",
        "In the interest of highway safety.",
    ),
)


def decision() -> Made:
    """Make the decision notice on an application: conditions with their reasons, informatives, plans in a table."""
    import docx

    gold = Gold("Notice of decision")
    document: Any = docx.Document()
    head = document.add_table(rows=0, cols=2)
    for row in (
        ("Application no.", "22/01834/FUL"),
        ("Date of decision", "14 March 2023"),
        ("Site", "Land north of Mill Lane, Oakfield"),
    ):
        gold.fill(head.add_row(), *row)
    document.add_paragraph("TOWN AND COUNTRY PLANNING ACT 1990").runs[0].bold = True
    gold.headings.append(("", "TOWN AND COUNTRY PLANNING ACT 1990"))
    document.add_paragraph("GRANT OF FULL PLANNING PERMISSION").runs[0].bold = True
    gold.headings.append(("", "GRANT OF FULL PLANNING PERMISSION"))
    document.add_paragraph(
        gold.say("The Council grants permission for six houses with garages, subject to the conditions below.")
    )

    def bold(words: str) -> None:
        gold.headings.append(("", words))
        document.add_paragraph().add_run(words).bold = True

    bold("CONDITIONS")
    for words, reason in _CONDITIONS:
        document.add_paragraph(gold.say(gold.need(words)), style="List Number")
        paragraph = document.add_paragraph()
        paragraph.add_run("Reason: ").bold = True
        paragraph.add_run(gold.say(reason))
    bold("APPROVED PLANS")
    table = document.add_table(rows=0, cols=3)
    table.style = "Table Grid"
    for row in (
        ("Drawing", "Revision", "Received"),
        ("1183-P-001", "C", "2 December 2022"),
        ("1183-P-010", "B", "2 December 2022"),
        ("Tree survey TS/4", "–", "19 September 2022"),
    ):
        gold.fill(table.add_row(), *row)
    bold("INFORMATIVES")
    for words in (
        "The applicant is reminded that nesting birds are protected.",
        "A separate consent is needed for the drain.",
    ):
        document.add_paragraph(gold.say(words), style="List Number 2")
    return _saved(document, gold)


def railway() -> Made:
    """Make a railway's specification in Word: requirements in a table with merged rows, terms in a table."""
    import docx

    gold = Gold("Interlocking of the northern line")
    document: Any = docx.Document()
    document.add_paragraph(gold.title, style="Title")
    document.add_heading("Scope", 1)
    gold.headings.append(("", "Scope"))
    document.add_paragraph(gold.say("This specification covers phase 4 of the life cycle."))
    document.add_heading("Terms", 1)
    gold.headings.append(("", "Terms"))
    table = document.add_table(rows=0, cols=3)
    table.style = "Table Grid"
    for row in (
        ("Term", "Abbr.", "Definition"),
        ("movement authority", "MA", "permission for a train to run to a given place"),
        ("possession", "", "time in which a line is closed for work"),
        ("overlap", "OL", "length beyond a signal that is kept clear"),
    ):
        gold.fill(table.add_row(), *row)
        if row[0] != "Term":
            gold.definitions[row[0]] = row[2]
    document.add_heading("System requirements", 1)
    gold.headings.append(("", "System requirements"))
    table = document.add_table(rows=1, cols=4)
    table.style = "Table Grid"
    for cell, words in zip(table.rows[0].cells, gold.row("Req. ID", "Requirement", "SIL", "Verification"), strict=True):
        cell.text = words
    for row in (
        ("3.1 Routes",),
        ("NL-SYS-0101", "The interlocking shall lock all points of a route before its signal clears.", "4", "Test"),
        ("NL-SYS-0102", "A route shall be released section by section behind the train.", "4", "Analysis"),
        ("3.2 Display",),
        ("NL-SYS-0201", "The display shall show the state of each signal within one second.", "2", "Test"),
        ("NL-SYS-0202", "The display should use no more than six colours.", "0", "Inspection"),
    ):
        cells = table.add_row().cells
        if len(row) == 1:
            cells[0].merge(cells[3]).text = row[0]
            gold.row(row[0])
        else:
            for cell, words in zip(cells, gold.row(*row), strict=True):
                cell.text = words
            gold.requirements[row[1]] = row[0]
    document.add_heading("Hazard log", 1)
    gold.headings.append(("", "Hazard log"))
    document.add_paragraph(gold.say("Hazards are tracked until they are closed."))
    return _saved(document, gold)


def device() -> Made:
    """Make the workbook of a medical device: a title block above the header, merged groups, a sheet of hazards."""
    import openpyxl

    gold = Gold("")
    book: Any = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Requirements"
    sheet.append(["Infusion pump IP-3 — Product requirements"])
    sheet.append(["Document", "PR-0031", "", "Rev", "F"])
    sheet.append([])
    sheet.append(gold.row("ID", "Group", "Requirement", "Risk class", "Verified by"))
    for row in (
        ("PRD-001", "Flow", "The pump shall deliver between 0.1 and 999 ml/h.", "C", "VT-11"),
        ("PRD-002", "Flow", "The pump shall stop within 2 s of an occlusion alarm.", "C", "VT-12"),
        ("PRD-010", "Alarms", "Alarms shall be at least 60 dB at one metre.", "B", "VT-20"),
        ("PRD-011", "Alarms", "The user should be able to silence an alarm for 120 s.", "B", "VT-21"),
    ):
        sheet.append(gold.row(*row))
        gold.requirements[row[2]] = row[0]
    sheet.merge_cells("A1:E1")
    other = book.create_sheet("Hazards")
    other.append(gold.row("Hazard", "Cause", "Severity", "Control", "Requirement"))
    other.append(gold.row("Overdose", "free flow", "5", "clamp", "PRD-002"))
    other.append(gold.row("Delay of treatment", "battery empty", "4", "alarm", "PRD-010"))
    gold.headings += [("", "Requirements"), ("", "Hazards")]
    buffer = io.BytesIO()
    book.save(buffer)
    return Made(".xlsx", buffer.getvalue(), gold)


def _saved(document: Any, gold: Gold) -> Made:
    buffer = io.BytesIO()
    document.save(buffer)
    return Made(".docx", buffer.getvalue(), gold)


FORMS = (policy, handbook, zoning, decision, railway, device)

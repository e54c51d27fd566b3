"""Four made PDF files of trades whose print the readers' rules were changed for (`benchmarks.forms`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.forms import BOLD, ITALIC, WIDTH, Gold, Made, Sheet


def space() -> Made:
    """Make a space agency's standard: lettered requirements below clauses, their identifiers in grey above them."""
    gold = Gold("Thermal control of small platforms")

    def running(sheet: Sheet) -> None:
        sheet.at(72, 50, "EXS-ST-31-07C", size=8)
        sheet.at(470, 50, "14 May 2021", size=8)
        sheet.at(300, 810, str(sheet.page + 4), size=8)

    sheet = Sheet(running)
    count = 0

    def require(mark: str, words: str) -> None:
        nonlocal count
        count += 1
        identifier = f"EXS-ST-31-07_041{count:04}"
        sheet.need(40)
        sheet.text(identifier, size=7, font=ITALIC, after=2)
        sheet.hang(mark, gold.say(gold.need(words, identifier)), 96)

    sheet.title(gold.heading("3", "Terms, definitions and abbreviated terms"), 16)
    sheet.title(gold.heading("3.1", "Terms from other standards"), 13)
    sheet.hang("a.", gold.say("For the purpose of this standard, the terms from the glossary of the agency apply."), 96)
    sheet.title(gold.heading("3.2", "Terms specific to the present standard"), 13)
    for number, term, words in (
        ("3.2.1", "cold case", "combination of conditions that gives the lowest temperature of a unit"),
        ("3.2.2", "heat leak", "unwanted flow of heat through supports and harness"),
        ("3.2.3", "qualification margin", "difference between the qualification and the acceptance temperature"),
    ):
        sheet.title(number, 11, before=2)
        sheet.title(term, 11, before=0)
        sheet.text(words)
        gold.definitions[term] = words
        gold.headings.append((number, term))
    sheet.title(gold.heading("4", "Requirements"), 16)
    sheet.title(gold.heading("4.1", "Functional requirements"), 13)
    sheet.title(gold.heading("4.1.1", "General"), 11)
    require("a.", "The thermal control shall keep each unit within its limits during all phases of the mission.")
    sheet.hang("NOTE", gold.say("Storage on ground is a phase of the mission."), 140, 40, 380, 9)
    require("b.", "The supplier shall establish the cold case and the hot case for every phase.")
    sheet.title(gold.heading("4.1.2", "Heaters"), 11)
    require("a.", "Heaters shall have two independent switches in series.")
    require("b.", "The duty cycle of a heater should not be greater than 75 % in the cold case.")
    require("c.", "Each heater circuit shall be monitored by its current.")
    sheet.hang("NOTE 1", gold.say("The current tells an open circuit from a closed one."), 140, 48, 380, 9)
    sheet.hang("NOTE 2", gold.say("A voltage alone does not."), 140, 48, 380, 9)
    sheet.title(gold.heading("4.2", "Interfaces"), 13)
    require("a.", "The interface temperature of a unit shall be measured at its reference point.")
    _space_annex(sheet, gold)
    return Made(".pdf", sheet.finished(), gold)


def _space_annex(sheet: Sheet, gold: Gold) -> None:
    sheet.text("Table 4-1: Margins by category of heritage", font=BOLD, size=9)
    sheet.table(
        [
            gold.row("Category", "Margin (K)", "Remark"),
            gold.row("A", "5", "flown as is"),
            gold.row("B", "8", "modified"),
            gold.row("D", "12", "new design"),
        ],
        [120, 90, 160],
    )
    sheet.title("Annex A (normative)", 14)
    sheet.title("Thermal control plan - DRD", 14, before=0)
    gold.headings.append(("A", "Thermal control plan - DRD"))
    sheet.title(gold.heading("A.1", "DRD identification"), 13)
    sheet.title(gold.heading("A.1.1", "Requirement identification and source document"), 11)
    sheet.text(gold.say("This description is called from clause 4.1.1."))


def bilingual() -> Made:
    """Make a guideline of engineers with German to the left and English to the right."""
    gold = Gold("")

    sheet = Sheet(lambda sheet: sheet.at(60, 50, f"GRI 6042 Blatt 2 / Part 2 {' ' * 60} - {sheet.page} -", BOLD, 8))

    def pair(german: str, english: str, font: str = "Helvetica", size: float = 9.5) -> None:
        left, right = sheet.lines(german, 222, font, size), sheet.lines(english, 222, font, size)
        sheet.need(1.25 * size * max(len(left), len(right)) + 6)
        for x, lines in ((60, left), (312, right)):
            for step, line in enumerate(lines):
                sheet.at(x, sheet.y + step * 1.25 * size, line, font, size)
        sheet.y += 1.25 * size * max(len(left), len(right)) + (7 if font == "Helvetica" else 3)

    def clause(number: str, german: str, english: str) -> None:
        sheet.y += 6
        gold.headings += [(number, german), (number, english)]
        pair(f"{number} {german}", f"{number} {english}", BOLD, 12 if "." not in number else 10.5)

    clause("1", "Anwendungsbereich", "Scope")
    first = (
        "Diese Richtlinie gilt für Anlagen der Lüftung in Werkhallen mit mehr als 500 "
        "m² Fläche. Sie beschreibt, wie Volumenströme gemessen und bewertet werden.",
        "This guideline applies to ventilation systems in workshops of more than "
        "500 m² of floor. It describes how volume flows are measured and assessed.",
    )
    pair(*first)
    clause("2", "Begriffe", "Terms and definitions")
    pair(
        "Für die Anwendung dieser Richtlinie gelten die folgenden Begriffe:",
        "For the purposes of this guideline, the following terms and definitions apply:",
    )
    clause("3", "Anforderungen", "Requirements")
    clause("3.1", "Messung", "Measurement")
    german = "Die Messung muss an drei Stellen des Kanals ausgeführt werden."
    english = "The measurement shall be made at three points of the duct."
    gold.need(german)
    gold.need(english)
    pair(german, english)
    clause("3.2", "Bewertung", "Assessment")
    german = "Abweichungen von mehr als 10 % sind zu begründen."
    english = "Deviations of more than 10 % shall be explained."
    gold.need(english)
    pair(german, english)
    pair(
        "Die Unsicherheit der Messung ist im Bericht anzugeben und mit der des Vorjahres zu vergleichen.",
        "The uncertainty of the measurement is given in the report and compared with that of the year before.",
    )
    clause("4", "Prüfbericht", "Test report")
    pair(
        "Der Bericht nennt die Anlage, den Tag und die Geräte der Messung.",
        "The report names the system, the day and the instruments of the measurement.",
    )
    gold.order = [
        "It describes how volume flows are measured",
        "the following terms and definitions apply",
        english.split(" of more")[0],
        "The report names the system",
    ]
    return Made(".pdf", sheet.finished(), gold)


def datasheet() -> Made:
    """Make the data sheet of a component: ratings in a table with notes, an equation with its number, callouts."""
    gold = Gold("LX4410 Buck Converter With Spread Spectrum")

    def running(sheet: Sheet) -> None:
        sheet.at(72, 40, "LX4410", BOLD, 12)
        sheet.at(400, 40, "SBX733D - MARCH 2019 - REVISED MAY 2022", size=7)
        sheet.at(72, 815, f"{sheet.page}   Submit Document Feedback", size=7)
        sheet.at(300, 815, "Product Folder Links: LX4410", size=7)

    sheet = Sheet(running)
    sheet.title(gold.heading("1", "Features"), 14)
    for words in ("Input from 4.5 V to 36 V", "3 A of continuous output", "40 μA of quiescent current"):
        sheet.hang("•", gold.say(words), by=12)
    sheet.title(gold.heading("7", "Specifications"), 14)
    sheet.title(gold.heading("7.1", "Absolute Maximum Ratings"), 11)
    sheet.text("over operating free-air temperature range (unless otherwise noted) (1)", size=8)
    sheet.table(
        [
            gold.row("", "", "MIN", "MAX", "UNIT"),
            gold.row("Input voltage", "VIN to GND", "-0.3", "42", "V"),
            gold.row("Enable voltage", "EN to GND", "-0.3", "42", "V"),
            gold.row("Junction temperature", "TJ", "-40", "150", "°C"),
        ],
        [130, 110, 60, 60, 60],
        size=8,
        grid="rows",
    )
    sheet.hang(
        "(1)", gold.say("Stresses beyond these ratings may cause permanent damage to the device."), by=18, size=8
    )
    sheet.title(gold.heading("7.2", "ESD Ratings"), 11)
    sheet.table(
        [
            gold.row("", "VALUE", "UNIT"),
            gold.row("Human body model", "±2000", "V"),
            gold.row("Charged device model", "±500", "V"),
        ],
        [190, 90, 60],
        size=8,
        grid="rows",
    )
    sheet.title(gold.heading("7.5", "Electrical Characteristics"), 11)
    sheet.table(
        [
            gold.row("PARAMETER", "TEST CONDITIONS", "MIN", "TYP", "MAX", "UNIT"),
            gold.row("VUVLO", "rising", "3.9", "4.1", "4.4", "V"),
            gold.row("IQ", "no load, VIN = 12 V", "", "40", "58", "μA"),
            gold.row("fSW", "RT = 30 kΩ", "380", "400", "420", "kHz"),
        ],
        [90, 140, 50, 50, 50, 50],
        size=8,
        grid="rows",
    )
    _description(sheet, gold)
    return Made(".pdf", sheet.finished(), gold)


def _description(sheet: Sheet, gold: Gold) -> None:
    sheet.turn()
    sheet.title(gold.heading("8", "Detailed Description"), 14)
    sheet.title(gold.heading("8.1", "Overview"), 11)
    sheet.text(gold.say("The device is a synchronous converter with peak current mode control."))
    sheet.title(gold.heading("8.2", "Functional Block Diagram"), 11)
    for x, y, words in (
        (120, 60, "VIN"),
        (240, 40, "UVLO"),
        (350, 70, "Oscillator"),
        (200, 110, "PWM"),
        (400, 120, "SW"),
        (130, 130, "GND"),
    ):
        sheet.at(x, sheet.y + y, words, size=7)
        sheet.canvas.rect(x - 6, 842 - sheet.y - y - 4, 60, 16)
    sheet.y += 165
    sheet.text("Figure 8-1. Functional Block Diagram", font=BOLD, size=9, x=200)
    sheet.title(gold.heading("8.3", "Feature Description"), 11)
    sheet.title(gold.heading("8.3.1", "Setting the Output Voltage"), 10)
    sheet.text(gold.say("The output is set by two resistors. Use Equation 1 to find the upper one."))
    sheet.at(220, sheet.y, "RTOP = RBOT × (VOUT / VREF – 1)", ITALIC)
    sheet.at(505, sheet.y, "(1)")
    sheet.y += 22
    sheet.text(gold.say("where RBOT is the lower resistor in kilohms."))
    sheet.title(gold.heading("8.3.2", "Soft Start"), 10)
    sheet.text(gold.say("The time of the soft start is fixed at 2.1 ms."))


_ARTICLES = (
    (
        "1",
        "Subject matter and scope",
        [
            (
                "1.",
                "This Directive lays down rules on labels of hand tools that are made or sold "
                "in the territory of the Union, whatever the place of business of their maker.",
            ),
            (
                "2.",
                "It does not apply to tools that are driven by motors, "
                "nor to tools that are sold for use in laboratories only.",
            ),
        ],
    ),
    (
        "2",
        "Definitions",
        [
            ("", "For the purposes of this Directive, the following definitions apply:"),
            ("(1)", "‘hand tool’ means a tool that is driven by the force of its user;"),
            ("(2)", "‘placing on the market’ means the first making available of a tool in the Union;"),
            ("(3)", "‘label’ means a sign that is fixed to a tool or to its package."),
        ],
    ),
    (
        "3",
        "Obligations of makers",
        [
            (
                "1.",
                "Makers shall fix a label to each hand tool before it is placed "
                "on the market, and shall keep a copy of it for ten years.",
            ),
            ("2.", "The label shall state:"),
            ("(a)", "the mass of the tool, measured without its package and rounded to ten grams;"),
            ("(b)", "the name of the maker, with the address of a place at which the maker can be reached."),
        ],
    ),
    (
        "4",
        "Penalties",
        [
            (
                "",
                "Member States shall lay down rules on penalties for infringements "
                "and shall take all measures that are necessary to apply them.",
            )
        ],
    ),
    (
        "5",
        "Entry into force",
        [
            (
                "",
                "This Directive enters into force on the twentieth day following "
                "that of its publication in the Official Journal of the Assembly.",
            )
        ],
    ),
)
_DUTIES = ("Makers shall fix", "Member States shall")
"""How the sentences of articles begin that oblige somebody."""


def directive() -> Made:
    """Make an act of a union in two columns: recitals, articles, points, an annex, footnotes."""
    gold = Gold("DIRECTIVE 2019/8812 OF THE ASSEMBLY on the labelling of hand tools")

    def running(sheet: Sheet) -> None:
        sheet.at(60, 45, "21.6.2019", size=8)
        sheet.at(220, 45, "Official Journal of the Assembly", size=8)
        sheet.at(500, 45, f"L 188/{42 + sheet.page}", size=8)

    sheet = Sheet(running, top=80)
    sheet.text(gold.title, 140, 330, BOLD, 11)
    flow: list[Callable[[float], None]] = []

    def para(words: str) -> None:
        flow.append(lambda x: sheet.text(gold.say(words), x, 225, size=8.5))

    def hang(mark: str, words: str) -> None:
        flow.append(lambda x: sheet.hang(mark, gold.say(words), x, 20, 225, 8.5))

    def centred(words: str, font: str = ITALIC) -> None:
        def draw(x: float) -> None:
            sheet.y += 4
            sheet.text(words, x + (225 - sheet.canvas.stringWidth(words, font, 8.5)) / 2, 225, font, 8.5)

        flow.append(draw)

    para("Having regard to the Treaty, and in particular to its Article 14,")
    para("Whereas:")
    hang(
        "(1)",
        "Hand tools are sold across borders in large numbers. Buyers cannot compare them where labels "
        "differ from one State to the other, as the Assembly found in its resolution of 4 May 2016.",
    )
    hang(
        "(2)",
        "The objectives of this Directive cannot be reached by the States alone, since trade "
        "across borders is concerned, but can rather be reached at the level of the Union.",
    )
    para("HAS ADOPTED THIS DIRECTIVE:")
    for number, title, parts in _ARTICLES:
        gold.headings.append((number, title))
        centred(f"Article {number}")
        centred(title, BOLD)
        for mark, words in parts:
            if words.startswith(_DUTIES):
                gold.need(words)
            (hang(mark, words) if mark else para(words))
    gold.requirements |= {
        "the mass of the tool, measured without its package and rounded to ten grams;": "",
        "the name of the maker, with the address of a place at which the maker can be reached.": "",
    }
    gold.definitions = {
        "hand tool": "a tool that is driven by the force of its user",
        "placing on the market": "the first making available of a tool in the Union",
        "label": "a sign that is fixed to a tool or to its package",
    }
    _set_in_columns(sheet, flow)
    _annex(sheet, gold)
    return Made(".pdf", sheet.finished(), gold)


def _set_in_columns(sheet: Sheet, flow: Sequence[Callable[[float], None]]) -> None:
    top, column, x = sheet.y + 10, 0, 60.0
    sheet.y = top
    for draw in flow:
        if sheet.y > 500 and column == 0:
            column, x, sheet.y = 1, 310.0, top
        elif sheet.y > 560:
            column, x = 0, 60.0
            sheet.turn()
            top = sheet.y
        draw(x)


def _annex(sheet: Sheet, gold: Gold) -> None:
    sheet.turn()
    for words in ("ANNEX I", "CONTENT OF LABELS"):
        sheet.text(words, (WIDTH - sheet.canvas.stringWidth(words, BOLD, 10)) / 2, 400, BOLD, 10)
    gold.headings.append(("I", "CONTENT OF LABELS"))
    sheet.table(
        [
            gold.row("Group of tools", "Smallest height of letters"),
            gold.row("Hammers", "3 mm"),
            gold.row("Files and rasps", "2 mm"),
        ],
        [200, 180],
    )
    sheet.at(60, 770, "(1) OJ C 75, 10.3.2017, p. 40.", size=7)


FORMS = (space, bilingual, datasheet, directive)

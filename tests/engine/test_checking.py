"""A document against a standard: rows, evidence word for word, checks that need no judgement, marks of a person."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowledge_mcp.engine.tracing.checking import (
    CheckReport,
    CheckRow,
    EvidenceVerdict,
    Standard,
    checked_against,
    marked,
    stated_in,
)
from knowledge_mcp.engine.tracing.decisions import MarkKind, RowMark
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.obligations import obligations_of_items
from knowledge_mcp.engine.tracing.readings import ReadDocument
from knowledge_mcp.engine.tracing.row_checks import RowResult, limit_checks
from knowledge_mcp.engine.tracing.tabled import completed
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, OutlineEntry
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import QuoteVerdict
from knowledge_mcp.ranking.linking import EvidenceFinder
from tests.engine.test_tracing import embed

DOCUMENT = """# Pump manual

## Operation

The pump stops within 8 seconds once the tank is full. A guard may be removed without a tool.

| Part | Weight |
|---|---|
| motor of the pump | 12 kg |

## Residual risks

The supplier shall:

- test each guard of the pump every month
- keep the records of tests
"""


def reading(text: str = DOCUMENT) -> ReadDocument:
    """Read a text whose sections are its headings."""
    starts = [
        place for place in range(len(text)) if text.startswith("#", place) and text[place - 1 : place] in {"", "\n"}
    ]
    sections = tuple(
        OutlineEntry(2, None, text[start : text.index("\n", start)].strip("# "), Span(start, end))
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    )
    return ReadDocument("manual", text, DocumentStructure(sections))


def report_on(
    *demands: str, document: ReadDocument | None = None, records: Sequence[DocumentRecord] = ()
) -> CheckReport:
    """Hold the document against demands, without a model."""
    items = [TraceItem(f"R{number}", "", text, "list") for number, text in enumerate(demands, 1)]
    analyser = EnglishAnalyser()
    seek = EvidenceFinder(analyser.document_terms, embed)
    standard = Standard.of("list", items)
    return checked_against(standard, [document or reading()], seek, analyser.document_terms, analyser.term_key, records)


def row_on(demand: str) -> CheckRow:
    return report_on(demand).rows[0]


def test_the_best_sentence_is_quoted_word_for_word_with_its_place() -> None:
    row = row_on("The pump shall stop once the tank is full.")
    assert row.verdict is EvidenceVerdict.FOUND
    best = row.evidence[0]
    assert best.quote == "The pump stops within 8 seconds once the tank is full."
    assert (best.verified, best.title, best.document) == (QuoteVerdict.EXACT, "Operation", "manual")


def test_what_nobody_says_has_no_evidence() -> None:
    row = row_on("Invoices shall be archived by the accounting department.")
    assert (row.verdict, row.evidence) == (EvidenceVerdict.NONE, ())


def test_a_limit_that_is_not_kept_makes_the_evidence_partial() -> None:
    row = row_on("The pump shall stop within 5 s once the tank is full.")
    assert row.verdict is EvidenceVerdict.PARTIAL
    assert [(each.kind, each.result, each.asked, each.found) for each in row.checks] == [
        ("limit", "not met", "at most 5 s", "within 8 seconds")
    ]
    assert row_on("The pump shall stop within 10000 ms once the tank is full.").checks[0].result == "met"


@pytest.mark.parametrize(
    ("demand", "said", "result"),
    [
        ("It shall last at least 2 h.", "It lasts 90 min.", "not met"),
        ("It shall last at least 2 h.", "It lasts at least 3 hours.", "met"),
        ("It shall last at least 2 h.", "It lasts a while.", "not stated"),
        ("It shall weigh at most 5 kg.", "It weighs at least 2 kg.", "not stated"),
        ("It shall weigh at most 5 kg.", "It weighs 4 kg or 40 N.", "met"),
        ("It shall use 230 V.", "It uses 110 V.", "not met"),
        ("It shall be calibrated every 12 months.", "It is calibrated every 6 months.", "differs"),
        ("It shall be calibrated at least every 12 months.", "It is calibrated every 6 months.", "met"),
        ("It shall be inspected at least once a month.", "It is inspected weekly.", "met"),
        ("It shall be inspected at least weekly.", "It is inspected every month.", "not met"),
        ("It shall be inspected at least once a month.", "It is inspected every 30 days.", "not stated"),
        ("It shall be calibrated annually.", "It is calibrated every two years.", "differs"),
        ("It shall be calibrated at least once a year.", "It is calibrated every 6 months.", "met"),
        ("It shall be calibrated at least once a year.", "It is calibrated every two years.", "not met"),
        ("It shall be calibrated every 12 months.", "It is calibrated yearly.", "met"),
        ("Its records shall be kept for 10 years.", "Its records are kept for 10 years.", "met"),
        ("It shall be not less than 900 mm wide.", "It is 850 mm wide.", "not met"),
        ("It shall not be less than 1 200 mm deep.", "It is 1 250 mm deep.", "met"),
        ("It shall not run dry for more than 5 min.", "It can run dry for 8 min.", "not met"),
        ("It shall last at least 10 000 h.", "It lasts 8 000 h.", "not met"),
        ("It shall have at least 1 MΩ.", "It has 10 kΩ.", "not met"),
        ("It shall have at least 2 m².", "It is 3 m long.", "not stated"),
        ("It shall be at least 1,1 m high.", "It is 1,0 m high.", "not met"),
        ("The minimum clear width shall be 815 mm.", "The clear width is 900 mm.", "met"),
        ("The minimum clear width shall be 815 mm.", "The clear width is 800 mm.", "not met"),
        ("The minimum clear width shall be 815 mm.", "It has a height of 2 m and a width of 800 mm.", "not met"),
        ("The minimum clear width shall be 815 mm.", "The door is 2 m high.", "not stated"),
        (
            "The minimum width of doors in routes shall be 815 mm.",
            "Doors have a width of 800 mm, a height of 2 m.",
            "not met",
        ),
        ("Ramps shall have a maximum slope of 1:12.", "The slope of the ramp is 1:10.", "not met"),
        ("Notice shall be given within thirty (30) days.", "Notice is given within sixty (60) days.", "not met"),
        ("The fire rating shall be at least 1½ h.", "It has a fire rating of 60 minutes.", "not met"),
        ("It shall operate on 230 V ± 10 %.", "It operates on 240 V.", "met|met"),
        ("It shall be at least 36 in. (915 mm) wide.", "It is 1 m wide.", "met"),
        ("It shall be at most 35 in. (900 mm) wide.", "It is 895 mm wide.", "met"),
        ("It shall be at most 35 in. (900 mm) wide.", "It is 905 mm wide.", "not met"),
    ],
)
def test_limits_are_compared_in_base_units(demand: str, said: str, result: str) -> None:
    assert [each.result for each in limit_checks(demand, [(said, "")])] == result.split("|")


@pytest.mark.parametrize(
    ("demand", "said", "result"),
    [
        ("Type 2 pumps shall weigh at most 5 kg.", "Type 20 pumps weigh 8 kg.", "not stated"),
        ("Type 2 pumps shall weigh at most 5 kg.", "Pumps of type 2 weigh 8 kg.", "not met"),
        ("Type 2 pumps shall weigh at most 5 kg.", "The pumps weigh 8 kg.", "not met"),
        ("Type 2 pumps shall weigh at most 5 kg.", "Pumps of types 1 to 3 weigh 8 kg.", "not met"),
        ("Type 2 pumps shall weigh at most 5 kg.", "Type 1 weighs 4 kg, and type 2 weighs 9 kg.", "not met"),
        ("Type 2 pumps shall weigh at most 5 kg.", "It is 9 kg for type 1 and 4 kg for type 2.", "met"),
        ("Doors of class A1 shall be 900 mm wide.", "Doors of class A10 are 800 mm wide.", "not stated"),
        ("Doors of class A1 shall be 900 mm wide.", "Doors of class A1 are 800 mm wide.", "not met"),
        ("Kind 3-1 shall weigh at most 5 kg.", "Kind: 3-12; Mass: 8 kg", "not stated"),
        ("Kind 3-1 shall weigh at most 5 kg.", "Product: 3-12; Mass: 8 kg", "not stated"),
        ("Kind 3-1 shall weigh at most 5 kg.", "Product: 3-1; Mass: 8 kg", "not met"),
        ("Kind 3-1 shall weigh at most 5 kg.", "Table 3-12 gives a mass of 8 kg.", "not met"),
        ("Pumps of type 2 shall have at least IP65.", "Pumps of type 20 have IP54.", "not stated"),
        ("Pump P-1 shall weigh at most 5 kg.", "The pump weighs 8 kg and is connected to P-12.", "not met"),
        ("Pump P-1 shall weigh at most 5 kg.", "The pump P-12 weighs 8 kg.", "not stated"),
        ("SYS-1 The pump shall weigh at most 5 kg.", "SYS-12 The pump weighs 8 kg.", "not met"),
    ],
)
def test_a_number_of_another_kind_or_item_is_not_compared(demand: str, said: str, result: str) -> None:
    assert [each.result for each in limit_checks(demand, [(said, "here")])] == [result]


def test_a_number_of_a_lesser_quote_does_not_make_up_for_the_best_one() -> None:
    demand = "Corridors shall be at least 900 mm wide."
    narrow, door, silent = (
        ("Corridors are 850 mm wide.", "A"),
        ("Doors are 2100 mm high.", "B"),
        ("Floors are flat.", "C"),
    )
    (found,) = limit_checks(demand, [silent, narrow, door])
    assert (found.result, found.found, found.citation) == (RowResult.NOT_MET, "850 mm", "A")
    (found,) = limit_checks(demand, [("Corridors are 2100 mm high and 850 mm wide.", "A")])
    assert (found.result, found.found) == (RowResult.NOT_MET, "850 mm")
    (found,) = limit_checks(demand, [("Corridors are 950 mm wide.", "A"), narrow])
    assert (found.result, found.found) == (RowResult.MET, "950 mm")


def test_a_section_that_is_asked_for_is_found_by_its_heading() -> None:
    row = row_on("The manual shall contain a section on residual risks.")
    assert row.verdict is EvidenceVerdict.FOUND
    assert row.evidence[0].quote == "## Residual risks"
    missing = row_on("The manual shall contain a section on spare parts of the pump.")
    assert missing.checks[0].result == "not met"
    assert missing.verdict is not EvidenceVerdict.FOUND


def test_the_opposite_of_a_demand_is_reported() -> None:
    row = row_on("A guard shall not be removed without a tool.")
    assert row.verdict is EvidenceVerdict.PARTIAL
    assert ("conflict", "differs", "contradiction") in [(each.kind, each.result, each.asked) for each in row.checks]


def test_items_carry_their_lead_in_and_rows_of_tables_stand_alone() -> None:
    stated = {span.of(DOCUMENT): said for span, said in stated_in(reading())}
    assert stated["| motor of the pump | 12 kg |"] == "Part: motor of the pump; Weight: 12 kg"
    assert stated["- keep the records of tests"] == "The supplier shall: - keep the records of tests"
    assert not any(quote.startswith("#") for quote in stated)


def test_a_title_above_all_headings_is_said_by_nobody() -> None:
    text = "Design of pump North\n\nPump: 5 kW\n\nThe pump is red.\n\n# Pump\n\nIt has a guard\n"
    assert [span.of(text) for span, _ in stated_in(reading(text))] == [
        "Pump: 5 kW", "The pump is red.", "It has a guard"
    ]  # fmt: skip


def test_an_edition_that_the_standard_has_left_behind_is_reported_with_its_place() -> None:
    document = reading("## Plan\n\nThe guard follows ISO 12100:2003 in all points.\n")
    report = report_on("The guard shall follow ISO 12100:2010 in all points.", document=document)
    assert [(each.found, each.asked, each.citation) for each in report.editions] == [
        ("ISO 12100:2003", "the standard refers to ISO 12100:2010", "manual, Plan")
    ]
    assert "edition" in [each.kind for each in report.rows[0].checks]


def test_two_that_have_nothing_to_do_with_each_other_are_reported() -> None:
    demands = [f"Invoice form {name} shall be archived by accounting." for name in ("A", "B", "C", "D", "E")]
    assert not report_on(*demands).related
    assert report_on(*demands, "The pump shall stop once the tank is full.").related


def test_conditions_are_distinguished_in_lists() -> None:
    items = [TraceItem("a", "", "If the mains fail, the pump shall stop.", ""), TraceItem("b", "", "It stops.", "")]
    first, second = obligations_of_items(items)
    assert (first.kind, first.condition, first.force) == ("conditional", "If the mains fail", "requirement")
    assert (second.kind, second.force) == ("obligation", None)


def test_marks_stay_with_the_words_and_are_never_put_to_others() -> None:
    report = report_on("The pump shall stop.", "The tank shall be full.")
    marks = [
        RowMark("R9", "The tank shall be full.", MarkKind.NOT_APPLICABLE, "no tank"),
        RowMark("R1", "The pump shall start.", MarkKind.APPLICABLE),
    ]
    found = marked(report, marks)
    assert [(row.mark, row.note) for row in found.rows] == [(None, ""), (MarkKind.NOT_APPLICABLE, "no tank")]
    assert [each.row for each in found.lost_marks] == ["R1"]
    assert found.rows[1].kind == "not-applicable"


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("Minimum clear width (mm)", "800 mm"),
        ("Minimum clear width, mm", "800 mm"),
        ("Minimum clear width in [mm]", "800 mm"),
        ("Minimum clear width in mm", "800 mm"),
        ("Minimum clear width/mm", "800 mm"),
        ("Minimum clear width mm", "800 mm"),
        ("Minimum clear width (note)", ""),
        ("Minimum clear width", ""),
    ],
)
def test_numbers_in_a_table_have_the_unit_that_stands_above_them(head: str, found: str) -> None:
    quote = "| Doors of the pump room | 800 | 2100 |"
    table = f"# Doors\n\n| Part | {head} | Height (mm) |\n|---|---|---|\n{quote}\n"
    demand = "The minimum clear width of doors of the pump room shall be 815 mm."
    row = report_on(demand, document=reading(table)).rows[0]
    assert [(each.result, each.found) for each in row.checks] == [("not met" if found else "not stated", found)]
    assert row.evidence[0].quote == quote


def test_a_name_with_its_number_is_evidence() -> None:
    row = report_on("Pump weight: at most 5 t", document=reading("# Data\n\nPump weight: 6 t\n")).rows[0]
    assert [(each.result, each.found) for each in row.checks][:1] == [("not met", "6 t")]


@pytest.mark.parametrize(
    ("demand", "quotes", "results"),
    [
        (
            "The velocity shall be ≤ 1.5 m/s in suction lines and ≤ 2.5 m/s in discharge lines.",
            ["Suction velocity: 1.2 m/s", "Discharge velocity: 2.8 m/s"],
            ["met 1.2 m/s", "not met 2.8 m/s"],
        ),
        (
            "Velocities of suction ≤ 1.5 m/s and discharge ≤ 2.5 m/s shall be kept.",
            ["The velocity in the discharge line is 2.4 m/s.", "Line: suction; Velocity: 1.8 m/s"],
            ["not met 1.8 m/s", "met 2.4 m/s"],
        ),
        (
            "The supply voltage shall be at least 10 V and the output voltage at most 5 V.",
            ["Output voltage: 4.8 V"],
            ["not stated ", "met 4.8 V"],
        ),
        ("The voltage shall be between 10 V and 15 V.", ["It has 12 V."], ["met 12 V", "met 12 V"]),
        ("At least two pumps shall be installed.", ["It runs with one pump out of service."], ["not stated "]),
        ("At least two pumps shall be installed.", ["One pump is installed."], ["not met One pump"]),
        ("At least one pump shall be on standby.", ["One pump is on standby."], ["met One pump"]),
    ],
)
def test_each_of_several_limits_is_held_against_the_number_of_what_it_limits(
    demand: str, quotes: list[str], results: list[str]
) -> None:
    found = limit_checks(demand, [(quote, "here") for quote in quotes])
    assert [f"{each.result.value} {each.found}" for each in found] == results


def test_a_least_and_a_most_in_columns_of_their_own_are_limits_whatever_the_sentence_ends_with() -> None:
    flow, silent = "The flow shall be within these limits.", "The flow shall not leave these limits."
    row = [("Min", "10"), ("Max", "20"), ("Unit", "m³/h")]
    assert completed(flow, row) == f"{flow} Min: 10 m³/h; Max: 20 m³/h"
    assert completed(flow, [("Min", ""), ("Max (bar)", "6")]) == f"{flow} Max: 6 bar"
    assert completed(flow, [("Priority", "1"), ("Unit", "m³/h")]) == flow
    assert completed(silent, row) == silent


def test_a_withdrawn_item_of_a_list_obliges_nobody() -> None:
    items = [
        TraceItem("A-1", "", "The pump shall stop.", "a:1", attributes={"Status": "Approved"}),
        TraceItem("A-2", "", "The pump shall hum.", "a:2", attributes={"Status": "Rejected"}),
        TraceItem("A-3", "", "(deleted) The pump shall sing.", "a:3"),
    ]
    assert [each.kind.value for each in obligations_of_items(items)] == ["obligation", "informative", "informative"]


@pytest.mark.parametrize(
    ("demand", "said", "expected"),
    [
        ("Passwords shall be stored as hashes.", "Passwords are not stored as hashes but in plain text.", "conflict"),
        ("Remote access shall be encrypted.", "Encryption of remote access is not part of this project.", "conflict"),
        ("Cables shall be labelled at both ends.", "Labels at both ends of cables are to be decided.", "conflict"),
        ("The stop shall work without a key.", "The stop works with a key.", "conflict"),
        ("The supply shall be 24 V DC.", "The supply is 24 V AC.", "conflict"),
        ("The enclosure shall have protection IP65.", "The enclosure has protection IP54.", "limit"),
        ("The controller shall log all alarms.", "The controller should log all alarms.", "force"),
        (
            "If moved, it shall comply with this clause.",
            "If moved, it need not comply with this clause.",
            "force",
        ),
        ("Passwords shall be stored as hashes.", "Passwords are stored as hashes.", ""),
        ("Passwords shall be stored as hashes.", "Passwords are not stored as hashes until they are used.", ""),
        ("Passwords shall not be stored as text.", "Passwords are not stored as text.", ""),
        ("The enclosure shall have protection of at least IP54.", "The enclosure has protection IP65.", ""),
        ("The stop shall work without a key.", "The stop works without a key, with a lamp.", ""),
        ("The valve shall not be set to 5 bar.", "The valve is set to 4 bar.", ""),
        ("The valve shall not be set to 5 bar.", "The valve is set to 5 bar.", "conflict"),
    ],
)
def test_what_says_the_opposite_or_less_is_no_evidence_that_it_is_done(demand: str, said: str, expected: str) -> None:
    row = report_on(demand, document=ReadDocument("manual", f"{said}\n")).rows[0]
    failed = [each.kind.value for each in row.checks if each.result is not RowResult.MET]
    assert failed == ([expected] if expected else [])
    if expected:
        assert row.verdict is EvidenceVerdict.PARTIAL


@pytest.mark.parametrize(
    ("demand", "says", "is_denied"),
    [
        ("The valve shall open when the power fails.", "The valve does not open when the power fails.", True),
        ("The valve shall not open when the power fails.", "The valve opens when the power fails.", True),
        ("The valve shall open when the power fails.", "The valve does not open unless the power fails.", False),
        ("The valve shall not open unless the power fails.", "The valve opens when the power fails.", False),
    ],
)
def test_a_denial_under_the_same_condition_contradicts_a_demand(demand: str, says: str, is_denied: bool) -> None:
    (row,) = report_on(demand, document=reading(f"# Valves\n\n{says}\n")).rows
    assert [each.result for each in row.checks] == [RowResult.DIFFERS] * is_denied

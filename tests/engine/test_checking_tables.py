"""Rows of tables with limits are obligations of the sentence that refers to the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.engine.tracing.checking import CheckRow, EvidenceVerdict, Standard, checked_against
from knowledge_mcp.engine.tracing.readings import read_ingested
from knowledge_mcp.engine.tracing.tabled import row_text
from knowledge_mcp.language.quantities.bounds import Bound
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking.linking import EvidenceFinder
from tests.engine.test_tracing import embed
from tests.engine.world import World


def checked(folder: Path, standard: str, design: str) -> dict[str, CheckRow]:
    """Hold a design against a standard, both Markdown; rows by their ids."""
    made = World(folder)
    made.write("standard.md", f"# Standard\n\n## 4 Limits\n\n{standard}\n")
    made.write("design.md", f"# Design\n\n## 1 Data\n\n{design}\n")
    made.ingest()
    demanded, said = (read_ingested(made.knowledge, each) for each in ("standard", "design"))
    analyser = EnglishAnalyser()
    seek = EvidenceFinder(analyser.document_terms, embed)
    against = Standard.of("standard", [demanded])
    report = checked_against(against, [said], seek, analyser.document_terms, analyser.term_key, ())
    return {row.obligation.id: row for row in report.rows}


def checks_of(row: CheckRow) -> list[str]:
    return [f"{each.result} {each.asked} / {each.found}" for each in row.checks]


_TABLE = "| Room | Level dB(A) |\n|---|---|\n| Control room | 45 |\n| Pump room | 65 |"


@pytest.mark.parametrize(
    ("sentence", "results"),
    [
        ("Sound levels shall not exceed the values given in Table 2.", ["not met at most 45 dB(A) / 48 dB(A)"]),
        ("Sound levels shall be limited to those of Table 2.", ["not met at most 45 dB(A) / 48 dB(A)"]),
        ("The sound levels of Table 2 shall not be exceeded.", ["not met at most 45 dB(A) / 48 dB(A)"]),
        ("Sound levels shall be at least as specified in Table 2.", ["met at least 45 dB(A) / 48 dB(A)"]),
        ("Sound levels shall be as given in Table 2.", ["differs 45 dB(A) / 48 dB(A)"]),
    ],
)
@pytest.mark.parametrize("form", ["Table 2 — Levels\n\n{}", "{}\n\nTable 2 — Levels"])
def test_a_row_is_limited_as_the_sentence_says(tmp_path: Path, sentence: str, results: list[str], form: str) -> None:
    design = "The level of sound in the control room is 48 dB(A). Drains lie below the floor of the pump room."
    rows = checked(tmp_path, f"{sentence}\n\n{form.format(_TABLE)}", design)
    assert set(rows) == {"4", "Table 2#1", "Table 2#2"}
    assert rows["Table 2#1"].obligation.text == "Room: Control room; Level: 45 dB(A)"
    assert checks_of(rows["Table 2#1"]) == results
    assert rows["4"].verdict is not EvidenceVerdict.NONE, "what is said of a row is said of the sentence"
    assert all(each.found != "48 dB(A)" for each in rows["Table 2#2"].checks), "another room's level is none of its own"


def test_least_and_most_of_a_row_have_the_unit_of_its_own_column(tmp_path: Path) -> None:
    table = (
        "| Parameter | Unit | Min | Max |\n|---|---|---|---|\n| Humidity | % | 30 | 70 |\n| Air speed | m/s | | 0.2 |"
    )
    rows = checked(
        tmp_path,
        f"The climate shall be as given in Table 1.\n\nTable 1 — Climate\n\n{table}",
        "| Parameter | Value |\n|---|---|\n| Humidity | 80 % |\n| Air speed | 0.1 m/s |",
    )
    assert checks_of(rows["Table 1#1"]) == ["met at least 30 % / 80 %", "not met at most 70 % / 80 %"]
    assert checks_of(rows["Table 1#2"]) == ["met at most 0.2 m/s / 0.1 m/s"]
    assert rows["Table 1#2"].verdict is EvidenceVerdict.FOUND


def test_each_column_has_its_own_numbers(tmp_path: Path) -> None:
    table = (
        "| Data | Class 1 | Class 2 |\n|---|---|---|\n| Autonomy, in days | 14 | 7 |\n| Storage, in days | 400 | 90 |"
    )
    text = (
        "The autonomy shall be not less than the value given in Table 1. The age of data shall be at most half the "
        f"storage given in Table 1.\n\nTable 1 — Classes\n\n{table}"
    )
    rows = checked(tmp_path, text, "The autonomy is 10 days for class 1 and 9 days for class 2.")
    assert checks_of(rows["Table 1#1"]) == ["not met at least 14 days / 10 days", "met at least 7 days / 9 days"]
    assert rows["Table 1#2"].evidence == (), "an autonomy is no storage"
    assert rows["Table 1#2"].obligation.tabled is not None
    assert rows["Table 1#2"].obligation.tabled.bound is Bound.EXACT, "half of what is given is another limit"


def test_evidence_has_all_figures_of_a_row_and_one_of_its_words(tmp_path: Path) -> None:
    table = (
        "| Pipe | Weight, kg |\n|---|---|\n| DN 50 PN 16 | 5 |\n| DN 50 PN 40 | 9 |\n| Steel pipe of the basement | 7 |"
    )
    text = f"Weights of pipes shall not exceed the values of Table 1.\n\nTable 1 — Weights\n\n{table}"
    rows = checked(tmp_path, text, "The weight of a pipe DN 50 PN 16 is 6 kg.\n\nThe weight of the steel pipe is 8 kg.")
    assert checks_of(rows["Table 1#1"]) == ["not met at most 5 kg / 6 kg"]
    assert rows["Table 1#2"].evidence == (), "PN 16 is not PN 40"
    assert checks_of(rows["Table 1#3"]) == ["not met at most 7 kg / 8 kg"]


def test_a_number_of_another_column_is_not_compared_and_a_choice_sets_no_limit(tmp_path: Path) -> None:
    table = (
        "| Quantity | Range | Error | Step |\n|---|---|---|---|\n| Temperature | -40 °C to 50 °C | 0.2 °C | 0.1 °C |\n"
        "| Rain | 0 mm to 200 mm per hour | 0.2 mm or 5 % | 0.1 mm |"
    )
    rows = checked(
        tmp_path,
        f"Sensors shall have the range, error and step of Table 2.\n\nTable 2 — Sensors\n\n{table}",
        "| Quantity | Error |\n|---|---|\n| Temperature | 0.4 °C |\n| Rain | 0.4 mm |",
    )
    assert checks_of(rows["Table 2#1"]) == [
        "not stated at least -40 °C / ",
        "not stated at most 50 °C / ",
        "differs 0.2 °C / 0.4 °C",
        "not stated 0.1 °C / ",
    ]
    assert [each.asked for each in rows["Table 2#2"].checks] == [
        "at least 0 mm per hour",
        "at most 200 mm per hour",
        "0.1 mm",
    ], "a choice of two limits is left to a person"


def test_rows_may_be_named_by_one_letter(tmp_path: Path) -> None:
    table = "| Zone | Level dB(A) |\n|---|---|\n| A | 45 |\n| B | 65 |"
    text = f"Levels of sound shall not exceed those of Table 1.\n\nTable 1 — Levels\n\n{table}"
    rows = checked(tmp_path, text, "The level of sound in zone B is 70 dB(A).")
    assert checks_of(rows["Table 1#2"]) == ["not met at most 65 dB(A) / 70 dB(A)"]
    assert rows["Table 1#1"].evidence == ()


def test_a_row_named_by_joined_numbers_is_not_answered_for_by_another(tmp_path: Path) -> None:
    table = "| Kind | Mass, kg |\n|---|---|\n| Pump 3-1 | 5 |\n| Pump 3-2 | 9 |"
    text = f"Masses of pumps shall not exceed the values of Table 1.\n\nTable 1 — Masses\n\n{table}"
    design = "| Kind | Mass, kg | Number |\n|---|---|---|\n| Pump 3-12 | 8 | 1 |\n| Pump 3-2 | 10 | 1 |"
    rows = checked(tmp_path, text, design)
    assert rows["Table 1#1"].evidence == ()
    assert checks_of(rows["Table 1#2"]) == ["not met at most 9 kg / 10 kg"]


def test_the_caption_tells_what_numbers_are(tmp_path: Path) -> None:
    table = "| Task | Light, lx |\n|---|---|\n| Reading | 500 |\n| Walking | 100 |"
    rows = checked(
        tmp_path,
        f"Lighting shall be as in Table 3.\n\nTable 3 — Minimum illuminance\n\n{table}",
        "The light for the task of reading has 400 lx.",
    )
    assert checks_of(rows["Table 3#1"])[:1] == ["not met at least 500 lx / 400 lx"]


@pytest.mark.parametrize(
    "standard",
    [
        "Colours shall be those of Table 5.\n\nTable 5 — Colours\n\n| Part | Colour |\n|---|---|\n| Wall | RAL 9010 |",
        f"Sound levels are given in Table 2 for information.\n\nTable 2 — Levels\n\n{_TABLE}",
        f"Sound levels shall be as given in Table 4.\n\nTable 2 — Levels\n\n{_TABLE}",
        f"Sound levels shall be as given in Table 2.\n\nTable 2 — Levels\n\nThe rooms are these.\n\n{_TABLE}",
    ],
)
def test_other_tables_are_no_obligations(tmp_path: Path, standard: str) -> None:
    assert not [each for each in checked(tmp_path, standard, "The control room has 48 dB(A).") if "Table" in each]


@pytest.mark.parametrize(
    ("heads", "cells", "said"),
    [
        (["Room", "Min. flow m³/h"], ["Hall", "30"], "Room: Hall; Min. flow: 30 m³/h"),
        (["Room", "Flow m³/h je Person"], ["Saal", "30"], "Room: Saal; Flow: 30 m³/h je Person"),
        (["Room", "m³/h"], ["Hall", "30"], "Room: Hall; 30 m³/h"),
        (["Data", "Hall", "Shop"], ["Flow, m³/h", "30", "20"], "Flow (Hall): 30 m³/h; Flow (Shop): 20 m³/h"),
        (["Room", "Air changes 1/h", "Time min"], ["Hall", "4", "5"], "Room: Hall; Air changes 1/h: 4; Time min: 5"),
        (["Pipe", "Level [dB(A)]", "l/mm"], ["A", "45", "800"], "Pipe: A; Level: 45 dB(A); l: 800 mm"),
    ],
)
def test_a_row_is_said_with_the_units_of_its_numbers(heads: list[str], cells: list[str], said: str) -> None:
    assert row_text(heads, cells) == said

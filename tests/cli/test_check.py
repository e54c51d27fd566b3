"""`knowledge check`: a document against a standard, as JSON, CSV, workbook and page; marks are kept and read back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from knowledge_mcp import wiring
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking.linking import EvidenceFinder
from knowledge_mcp.settings import Settings
from knowledge_mcp.surfaces.tables import counts_in_words
from tests.cli.conftest import Command
from tests.engine.test_tracing import embed

STANDARD = """# Pumps ISO 9999:2020

This document replaces ISO 9999:2012.

## 1 Terms and definitions

### 1.1 guard

barrier that keeps people away from a moving part

## 2 Pump

The pump shall stop within 5 s once the tank is full.

Where a guard is fitted, the supplier shall test the guard.

Invoices shall be archived by the accounting department.

NOTE The operator shall wear gloves.

## Annex A (informative) Guidance

The operator must read the leaflet about the pump.
"""
MANUAL = """# Manual

## 1 Terms and definitions

### 1.1 guard

cover of steel that closes the housing

## 2 Use

The pump is to stop within 8 s once the tank is full. The supplier tests the guard.

Everything follows ISO 9999:2012.
"""


@pytest.fixture(autouse=True)
def finder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seek without the model."""

    def build(_: Settings) -> EvidenceFinder:
        return EvidenceFinder(EnglishAnalyser().document_terms, embed)

    monkeypatch.setattr(wiring, "build_evidence_finder", build)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str, str]:
    """Write both, and return them as arguments."""
    document, standard = tmp_path / "manual.md", tmp_path / "pumps.md"
    document.write_text(MANUAL)
    standard.write_text(STANDARD)
    return str(document), "--against", str(standard)


def rows_of(knowledge: Command, *arguments: str) -> dict[str, dict[str, Any]]:
    answer = json.loads(knowledge("check", *arguments, "--json").out)
    return {each["row"]: each for each in answer["rows"]}


def test_json_has_a_row_an_obligation_with_verdict_evidence_and_checks(
    knowledge: Command, sides: tuple[str, str, str]
) -> None:
    rows = rows_of(knowledge, *sides)
    assert [(row, each["kind"], each["verdict"]) for row, each in rows.items()] == [
        ("2#1", "obligation", "partial"),
        ("2#2", "conditional", "evidence found"),
        ("2#3", "obligation", "none found"),
        ("2#4", "informative", "none found"),
        ("A", "informative", "none found"),
    ]
    first = rows["2#1"]
    assert first["evidence"][0]["quote"] == "The pump is to stop within 8 s once the tank is full."
    assert first["evidence"][0]["verified"] is True
    assert first["checks"][0]["result"] == "not met"
    assert rows["2#2"]["condition"] == "Where a guard is fitted"
    assert [each["kind"] for each in rows["2#2"]["checks"]] == ["term"]


def test_what_is_written_never_claims_more_than_evidence(
    knowledge: Command, sides: tuple[str, str, str], tmp_path: Path
) -> None:
    names = {kind: tmp_path / f"review.{kind}" for kind in ("csv", "xlsx", "html")}
    options = [part for kind, path in names.items() for part in (f"--{kind}", str(path))]
    ended = knowledge("check", *sides, *options)
    shown = [ended.out, ended.err, knowledge("check", *sides).out, knowledge("check", *sides, "--json").out]
    shown += [names["csv"].read_text(), names["html"].read_text(), knowledge("check", "--help").out]
    assert not [text for text in shown if "complian" in text.lower()]
    assert all(verdict in {"evidence found", "partial", "none found"} for verdict in column(names["csv"], "verdict"))


def column(path: Path, name: str) -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(path.read_text()))]


def test_references_to_editions_that_are_replaced_are_listed(knowledge: Command, sides: tuple[str, str, str]) -> None:
    answer = json.loads(knowledge("check", *sides, "--json").out)
    assert [(each["found"], each["asked"]) for each in answer["editions"]] == [
        ("ISO 9999:2012", "the standard replaces this edition")
    ]


def test_a_mark_survives_the_next_run_and_is_taken_back_by_an_empty_one(
    knowledge: Command, sides: tuple[str, str, str]
) -> None:
    knowledge("check", *sides, "--mark", "2#3=not-applicable")
    assert rows_of(knowledge, *sides)["2#3"]["mark"] == "not-applicable"
    summary = json.loads(knowledge("check", *sides, "--json").out)["summary"]
    assert (summary["not-applicable"], summary["none found"]) == (1, 0)
    assert "Marks removed: 2#3." in knowledge("check", *sides, "--mark", "2#3=").err
    assert rows_of(knowledge, *sides)["2#3"]["mark"] == ""


def test_a_mark_stays_with_its_words_where_the_rows_move(knowledge: Command, sides: tuple[str, str, str]) -> None:
    knowledge("check", *sides, "--mark", "2#3=not-applicable")
    standard = Path(sides[2])
    standard.write_text(STANDARD.replace("## 2 Pump\n", "## 2 Pump\n\nThe pump shall be blue.\n"))
    rows = rows_of(knowledge, *sides)
    assert [row for row, each in rows.items() if each["mark"]] == ["2#4"]
    standard.write_text(STANDARD.replace("accounting department", "board"))
    ended = knowledge("check", *sides, "--json")
    assert json.loads(ended.out)["marks_without_row"][0]["row"] == "2#3"
    assert "Stored marks that match no row" in ended.err


@pytest.mark.parametrize("kind", ["xlsx", "csv"])
def test_an_edited_file_is_read_back(
    knowledge: Command, sides: tuple[str, str, str], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"review.{kind}"
    knowledge("check", *sides, f"--{kind}", str(path))
    if kind == "xlsx":
        book = openpyxl.load_workbook(path)
        sheet: Any = book["Rows"]
        header = [cell.value for cell in sheet[1]]
        sheet.cell(2, header.index("mark") + 1).value = "Not applicable"
        sheet.cell(2, header.index("note") + 1).value = "no tank here"
        book.save(path)
    else:
        rows = list(csv.DictReader(io.StringIO(path.read_text())))
        rows[0] |= {"mark": "Not applicable", "note": "no tank here"}
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    knowledge("check", *sides, "--marks", str(path))
    row = rows_of(knowledge, *sides)["2#1"]
    assert (row["mark"], row["note"]) == ("not-applicable", "no tank here")


@pytest.mark.parametrize(
    ("mark", "why"), [("2#3=maybe", "'maybe' is not a decision"), ("9=applicable", "There is no row '9'")]
)
def test_a_mark_that_means_nothing_is_refused(
    knowledge: Command, sides: tuple[str, str, str], mark: str, why: str
) -> None:
    assert why in knowledge("check", *sides, "--mark", mark).err


def test_a_list_of_requirements_is_a_standard_too_and_a_folder_a_document(
    knowledge: Command, sides: tuple[str, str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "manual.md").write_text(MANUAL)
    (folder / "notes.txt").write_text("Invoices are archived by the accounting department of the firm.\n")
    expected = tmp_path / "wanted.csv"
    expected.write_text("id,text\nR1,Invoices shall be archived by the accounting department.\n")
    row = rows_of(knowledge, str(folder), "--against", str(expected))["R1"]
    assert (row["verdict"], row["evidence"][0]["document"]) == ("evidence found", "notes.txt")


def test_each_of_several_standards_is_checked(knowledge: Command, tmp_path: Path) -> None:
    texts = {"pumps": "The pump shall stop at 5 bar.", "horns": "The horn shall sound.", "plan": "The pump stops."}
    paths = {name: tmp_path / f"{name}.md" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(f"# {name}\n\n{text}\n")
    against = ("--against", str(paths["pumps"]), "--against", str(paths["horns"]))
    rows = json.loads(knowledge("check", str(paths["plan"]), *against, "--json").out)["rows"]
    assert [each["requirement"] for each in rows] == ["The pump shall stop at 5 bar.", "The horn shall sound."]
    assert len({each["row"] for each in rows}) == 2
    refused = knowledge("check", str(paths["plan"]), *against, "--against", str(paths["plan"]))
    assert "cannot be compared with itself" in refused.err


def test_without_obligations_there_is_nothing_to_check(
    knowledge: Command, sides: tuple[str, str, str], tmp_path: Path
) -> None:
    plain = tmp_path / "plain.md"
    plain.write_text("# Poem\n\nThe sea is blue.\n")
    assert "There are no obligations" in knowledge("check", sides[0], "--against", str(plain)).err


def test_what_is_counted_has_its_plural() -> None:
    counts = {"obligation": 2, "informative": 2, "none found": 0, "contradiction": 0}
    assert counts_in_words(counts) == ["2 obligations", "2 informative", "0 none found", "0 contradictions"]
    assert counts_in_words({"obligation": 1, "moved_to": 3}) == ["1 obligation", "3 moved to"]


def test_clauses_with_a_number_and_no_title_are_evidence(knowledge: Command, tmp_path: Path) -> None:
    clauses = {
        "1.1": "The pump stops within 5 s once the tank is full.",
        "1.2": "The guard is tested by the supplier each month.",
        "1.3": "Records of tests are kept for ten years.",
    }
    document, standard = tmp_path / "contract.md", tmp_path / "standard.md"
    document.write_text("\n\n".join(["# 1 Works", *(f"{number} {words}" for number, words in clauses.items())]))
    standard.write_text(
        "# Rules\n\n## 7 Duties\n\nThe pump shall stop within 5 s once the tank is full.\n\n"
        "The guard shall be tested by the supplier each month.\n\nRecords of tests shall be kept for ten years.\n"
    )
    report = json.loads(knowledge("check", str(document), "--against", str(standard), "--json").out)
    quoted = [(row["evidence"][0]["quote"], row["evidence"][0]["clause"]) for row in report["rows"]]
    assert quoted == [(words, number) for number, words in clauses.items()]


def test_a_limit_in_a_column_of_its_own_is_compared(knowledge: Command, tmp_path: Path) -> None:
    document, table, book = tmp_path / "lift.md", tmp_path / "demands.md", tmp_path / "demands.xlsx"
    document.write_text(
        "# Lift\n\n## 1 Car\n\nThe width of the door is 850 mm.\n\nThe gap between panels is 7 mm.\n\n"
        "The supply voltage is 400 V.\n\nThe pump of the pit is red.\n"
    )
    table.write_text(
        "# Demands\n\n## 1 Doors\n\n| ID | Requirement | Limit (mm) |\n|---|---|---|\n"
        "| L-1 | The width of the door shall be at least | 800 |\n"
        "| L-2 | The gap between panels shall not exceed | 6 |\n"
        "| L-3 | The pump of the pit shall be red. | 6 |\n"
    )
    made = openpyxl.Workbook()
    sheet: Any = made.active
    for row in (
        ("ID", "Requirement", "Limit", "", "Status"),
        ("", "", "Value", "Unit", ""),
        ("E-1", "The supply voltage shall be", 230, "V", "approved"),
    ):
        sheet.append(row)
    made.save(book)
    rows = rows_of(knowledge, str(document), "--against", str(table))
    assert [each["requirement"] for each in rows.values()] == [
        "The width of the door shall be at least 800 mm",
        "The gap between panels shall not exceed 6 mm",
        "The pump of the pit shall be red.",
    ]
    rows = rows_of(knowledge, str(document), "--against", str(book))
    assert [(row, each["requirement"]) for row, each in rows.items()] == [("E-1", "The supply voltage shall be 230 V")]
    assert [each["result"] for each in rows["E-1"]["checks"]] == ["not met"]

"""A text that applies a clause of a document, by its designation, declares a link to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.engine.tracing.items import items_in
from knowledge_mcp.engine.tracing.links import Verdict, trace
from knowledge_mcp.engine.tracing.readings import read_ingested
from tests.engine.test_tracing import LINKER
from tests.engine.world import World

STANDARD = """---
title: {title}
---
# {title}

## 3 Pumps

### 3.1 Guards

Moving parts shall have a guard. Guards shall be fixed.

### 3.12 Motors

Motors shall have a thermal switch.
"""


def declared(folder: Path, text: str, title: str = "IEX 900 Pumping stations") -> set[str]:
    """Trace a standard to a design with one clause; return the clauses with a declared link."""
    made = World(folder)
    made.write("standard.md", STANDARD.format(title=title))
    made.write("design.md", f"# Design\n\n## 1 Drives\n\n{text}\n\n## 2 Colours\n\nThe housing is blue.\n")
    made.ingest()
    ours, theirs = (read_ingested(made.knowledge, each) for each in ("standard", "design"))
    found = trace(items_in(ours), items_in(theirs, met_by=True), LINKER)
    return {link.source.place for link in found.links if link.verdict is Verdict.DECLARED}


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("IEX 900, 3.12, applies.", ["3.12"]),
        ("For the drive, IEX 900:2020, clause 3.12 is applied.", ["3.12"]),
        ("IEX 900, 3.1 and 3.12, apply.", ["3.1", "3.12"]),
        ("Clause 3.12 of IEX 900 applies.", ["3.12"]),
        ("IEX 900, Abschnitt 3.12, gilt.", ["3.12"]),
        ("L'IEX 900, 3.12, s'applique.", ["3.12"]),
        ("IEX 900, 3.13, applies.", []),
        ("IEX 901, 3.12, applies.", []),
        ("ABC 900, 3.12, applies.", []),
        ("IEX 900-2, 3.12, applies.", []),
        ("IEX 900, 3.12, does not apply.", []),
        ("IEX 900, 3.12, gilt nicht.", []),
        ("Where IEX 900, 3.12, applies, the drive is red.", []),
        ("See IEX 900, 3.12.", []),
        ("Clause 3.12 applies.", []),
    ],
)
def test_a_clause_that_is_applied_by_its_designation_is_a_declared_link(
    tmp_path: Path, text: str, clauses: list[str]
) -> None:
    assert sorted(declared(tmp_path, text)) == clauses


def test_a_clause_of_another_document_or_edition_is_no_link(tmp_path: Path) -> None:
    assert declared(tmp_path / "named", "IEX 900:2020, 3.12, applies.", "IEX 900:2020 Pumps") == {"3.12"}
    assert declared(tmp_path / "edition", "IEX 900:2020, 3.12, applies.", "IEX 900:2015 Pumps") == set()
    assert declared(tmp_path / "other", "IEX 900, 3.12, applies.", "Pumping stations") == set()


@pytest.mark.parametrize(
    ("heads", "rows", "counted"),
    [
        ("ID | Test procedure", "| TC-1 | Start the pump. Read the valve. |\n| TC-2 | Not tested. |", ["TC-1"]),
        ("Case | Step | Expected result", "| TC-1 | Stop it by hand | still |\n| TC-2 | Start it | runs |",
         ["TC-1", "TC-2"]),
        ("Requirement | Title", "| SYS-1 | Start of the pump |\n| SYS-2 | Stop of the pump |", []),
    ],
)  # fmt: skip
def test_rows_of_test_cases_meet_demands(tmp_path: Path, heads: str, rows: str, counted: list[str]) -> None:
    made = World(tmp_path)
    rule = "| --- " * (heads.count("|") + 1)
    made.write(
        "tests.md", f"# Tests\n\n## 1 Pumps\n\n| {heads} |\n{rule}|\n{rows}\n\n## 2 Tools\n\nA hammer is used.\n"
    )
    made.ingest()
    items = items_in(read_ingested(made.knowledge, "tests"), met_by=True)
    assert [item.id for item in items if item.id[:2] in {"TC", "SY"}] == counted

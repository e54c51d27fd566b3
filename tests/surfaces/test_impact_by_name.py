"""What a new edition touches where others name no clause: terms, requirements and headings tell what is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.changes.changed_names import Titles
from tests.engine.world import World
from tests.surfaces.test_changes import ask

OLD = """# ACME 100:2018 Lifts

## 1 Terms and definitions

### 1.1 rated load

load for which the lift was built

### 1.2 landing door

door that closes the well

## 2 Doors of the well

The door shall close within 5 s.

## 3 Pits

REQ-PIT-7: The pit shall have 2 lamps.
"""
NEW = (
    OLD.replace("100:2018", "100:2023")
    .replace("load for which the lift was built", "load that the lift carries with all its passengers")
    .replace("within 5 s", "within 4 s")
    .replace("2 lamps", "3 lamps")
)


def touched(folder: Path, manual: str) -> dict[str, dict[str, Any]]:
    """Tell what the new edition touches in a manual, by the sentence that refers."""
    world = World(folder)
    world.write("lifts-2018.md", OLD)
    world.write("lifts-2023.md", NEW)
    world.write("manual.md", f"# Hoist manual\n\n{manual}\n")
    world.ingest()
    return {each["text"]: each for each in ask(world, "knowledge_impact", document="ACME 100")["touched"]}


@pytest.mark.parametrize(
    ("sentence", "kind", "now"),
    [
        ("The rated load is that of ACME 100.", "definition", "load that the lift carries with all its passengers"),
        ("Lamps shall meet REQ-PIT-7 of ACME 100.", "number", "3"),
        ("ACME 100 says in Doors of the well how they are closed.", "number", "4 s"),
    ],
)
def test_a_reference_without_a_clause_is_reported_with_what_its_sentence_names(
    tmp_path: Path, sentence: str, kind: str, now: str
) -> None:
    found = touched(tmp_path, f"## 1 All\n\n{sentence}")
    change = found[sentence]["change"]["changes"][0]
    assert change["kind"] == kind
    assert change["to"].removesuffix(" s") == now.removesuffix(" s")
    assert "clause" not in found[sentence]


def test_a_document_that_refers_to_the_standard_is_touched_where_it_uses_a_changed_term(tmp_path: Path) -> None:
    uses = "The hook shall bear twice the rated load."
    other = "The landing door shall be painted."
    found = touched(
        tmp_path, f"## 1 Scope\n\nHoists follow ACME 100:2018.\n\n## 2 Hooks\n\n{uses}\n\n## 3 Doors\n\n{other}"
    )
    assert found[uses]["reference"] == "rated load"
    assert found[uses]["dated"] == "2018"
    assert found[uses]["change"]["changes"][0]["kind"] == "definition"
    assert "change" not in found["Hoists follow ACME 100:2018."]
    assert other not in found, "its definition did not change"


def test_a_document_that_defines_the_term_itself_means_its_own(tmp_path: Path) -> None:
    own = "## 1 Terms and definitions\n\n### 1.1 rated load\n\nload of a hoist"
    found = touched(
        tmp_path,
        f"{own}\n\n## 2 Scope\n\nHoists follow ACME 100.\n\n## 3 Hooks\n\nThe hook shall bear twice the rated load.",
    )
    assert list(found) == ["Hoists follow ACME 100."]


def test_a_term_is_looked_for_only_where_the_standard_is_referred_to(tmp_path: Path) -> None:
    assert touched(tmp_path, "## 2 Hooks\n\nThe hook shall bear twice the rated load.") == {}


def test_a_requirement_is_found_in_a_document_that_names_nothing_else_of_the_standard(tmp_path: Path) -> None:
    table = "| Test | Requirement |\n| --- | --- |\n| T-1 | REQ-PIT-7 |\n| T-2 | REQ-PIT-70 |"
    found = touched(tmp_path, f"## 2 Tests\n\n{table}")
    assert list(found) == ["| T-1 | REQ-PIT-7 |"]
    assert found["| T-1 | REQ-PIT-7 |"]["change"]["changes"][0]["to"].startswith("3")


def test_another_requirement_of_the_same_name_is_no_reference(tmp_path: Path) -> None:
    assert touched(tmp_path, "## 2 Hooks\n\nREQ-PIT-7: The hook shall be forged of one piece.") == {}
    copied = "REQ-PIT-7: The pit shall have 2 lamps."
    assert list(touched(tmp_path / "copy", f"## 2 Hooks\n\n{copied}")) == [copied]


def test_a_requirement_named_elsewhere_in_a_document_that_refers_to_the_standard_is_reported(tmp_path: Path) -> None:
    named = "The lamps are checked as REQ-PIT-7 says."
    found = touched(
        tmp_path, f"## 1 Scope\n\nHoists follow ACME 100.\n\n## 2 Lamps\n\n{named}\n\nREQ-PIT-70 is another."
    )
    assert found[named]["change"]["changes"][0]["to"].startswith("3")
    assert "REQ-PIT-70 is another." not in found


@pytest.mark.parametrize(
    ("sentence", "reference", "clauses"),
    [
        ("Doors and pits follow ACME 100, clauses 2 and 3.", "ACME 100, clauses 2 and 3", ["2", "3"]),
        ("Doors follow sections 1.1 to 3 of ACME 100 in all.", "sections 1.1 to 3 of ACME 100", ["1.1", "3"]),
        ("The load is that of 1.1 b) of ACME 100.", "1.1 b) of ACME 100", ["1.1"]),
        ("The load is that of section 1.1 of the standard for lifts ACME 100:2018.", "", [""]),
        ("The load is that of clause 1.1 of the company standard ACME 100:2018.", "", ["1.1"]),
        ("All cars carry the load that ACME 100 1.1 says.", "ACME 100 1.1", ["1.1"]),
        ("The hoist has a motor of ACME 100 1.5 kW and a brake.", "ACME 100", [""]),
        ("Lamps are listed in ACME 100, Table 4.", "ACME 100, Table 4", ["Table 4"]),
    ],
)
def test_each_clause_that_is_named_beside_the_standard_is_reported(
    tmp_path: Path, sentence: str, reference: str, clauses: list[str]
) -> None:
    world = World(tmp_path)
    table = "\n\nTable 4 — Lamps\n\n| Place | Lamps |\n| --- | --- |\n| pit | 2 |\n"
    world.write("lifts-2018.md", OLD + table)
    world.write("lifts-2023.md", NEW + table)
    world.write("manual.md", f"# Hoist manual\n\n## 1 All\n\n{sentence}\n")
    world.ingest()

    found = ask(world, "knowledge_impact", document="ACME 100")["touched"]

    assert [each.get("clause", "") for each in found] == clauses
    assert {each["reference"] for each in found} == {reference} or not reference
    assert all("change" in each for each in found if each.get("clause"))


def test_a_document_without_a_designation_is_known_by_its_title(tmp_path: Path) -> None:
    world = World(tmp_path)
    old = "# Pump Controller System Specification, Version 1.0\n\n## 1 Power\n\nIt shall draw at most 5 W.\n"
    world.write("controller-v1.md", old)
    world.write("controller-v2.md", old.replace("1.0", "2.0").replace("5 W", "6 W"))
    said = "The supply follows the Pump Controller System Specification, Version 1.0, section 1."
    world.write("supply.md", f"# Supply\n\n## 1 All\n\n{said}\n")
    world.write("other.md", "# Other\n\n## 1 All\n\nThe controller of the pump has a system and a specification.\n")
    world.ingest()

    found = ask(world, "knowledge_impact", document="controller-v2", **{"from": "controller-v1"})["touched"]

    assert [(each["text"], each["dated"], each["clause"]) for each in found] == [(said, "Version 1.0", "1")]
    assert found[0]["change"]["changes"][0]["to"] == "6 W"


LAW = """# Fahrradsteuergesetz (FahrStG)

## § 5 Befreiungen

Kinder sind von der Steuer befreit.

## § 11 Steuersatz

(1) Die Steuer beträgt 7,50 Euro.

## Abschnitt 2

Sie wird im Mai gezahlt.
"""


@pytest.mark.parametrize(
    ("sentence", "clause"),
    [
        ("Der Satz nach § 11 Absatz 1 Satz 1 des Fahrradsteuergesetzes gilt auch hier.", "11"),
        ("Hier gilt § 11 Abs. 1 FahrStG ebenso.", "11"),
        ("Das Fahrradsteuergesetz bleibt unberührt.", None),
        ("Nach Abschnitt 2 dieser Verordnung wird gezahlt.", False),
    ],
)
def test_a_law_is_named_by_its_one_word_in_the_genitive_and_by_its_short_name(
    tmp_path: Path, sentence: str, clause: str | bool | None
) -> None:
    world = World(tmp_path)
    world.write("fahrstg-2018.md", LAW)
    world.write("fahrstg-2023.md", LAW.replace("7,50", "13,03").replace("im Mai", "im Juni"))
    world.write("verordnung.md", f"# Verordnung über Roller\n\n## § 1 Satz\n\n{sentence}\n")
    world.ingest()
    found = ask(world, "knowledge_impact", document="Fahrradsteuergesetz (FahrStG)")["touched"]
    assert [each.get("clause") for each in found] == ([] if clause is False else [clause])


@pytest.mark.parametrize(
    "title", ["Fahrradsteuergesetz (FahrStG)", "Wassergesetzbuch", "Hafenordnung", "Rollerrichtlinie"]
)
def test_what_laws_are_called_in_one_word_is_their_name(title: str) -> None:
    name = title.partition(" ")[0]
    assert name in Titles([title]).names
    assert [*Titles([title]).places_in(f"Es gilt das {name} allein.")] == [(12, 12 + len(name), "")]

"""What a new edition touches where others name no clause: terms, requirements and headings tell what is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
def test_a_reference_without_a_clause_is_told_with_what_its_sentence_names(
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


def test_a_requirement_named_elsewhere_in_a_document_that_refers_to_the_standard_is_told(tmp_path: Path) -> None:
    named = "The lamps are checked as REQ-PIT-7 says."
    found = touched(
        tmp_path, f"## 1 Scope\n\nHoists follow ACME 100.\n\n## 2 Lamps\n\n{named}\n\nREQ-PIT-70 is another."
    )
    assert found[named]["change"]["changes"][0]["to"].startswith("3")
    assert "REQ-PIT-70 is another." not in found

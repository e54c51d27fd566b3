"""What only a file says of itself is marked as claimed, and a citation names the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.language.openings import number_once
from knowledge_mcp.model.evidence import ReadQuery
from knowledge_mcp.model.query import SearchQuery
from tests.engine.world import World

BODY = "\n## 1 Scope\n\nThe hall shall have two exits.\n"


def ingested(folder: Path, text: str, name: str = "notes.md") -> World:
    world = World(folder)
    world.write(name, text)
    world.ingest()
    return world


def citation(world: World) -> str:
    return world.knowledge.search(SearchQuery("exits of the hall")).hits[0].citation


@pytest.mark.parametrize(
    ("front", "heading", "claimed"),
    [
        ("", "# Halls", ""),
        ("title: Halls", "# Halls", ""),
        ("title: halls  of\n  steel", "# Halls of Steel", ""),
        ("title: BS EN 1090 Steel", "# Halls", "title"),
        ("title: notes", "# Halls", ""),
        ("title: 'EN 1090: Halls of steel'", "# Halls of Steel\n\nEN 1090, second edition", ""),
        ("title: 'EN 1090: Halls of steel'", "# Halls of Steel\n\nEN 1091, second edition", "title"),
        ("title: Halls\ndocument_type: standard", "# Halls", "document_type"),
        ("document_id: bs-en-1090", "# Halls", "document_id"),
        ("designation: EN 1090", "# Halls", "designation"),
        ("designation: EN 1090", "# Halls, EN 1090", ""),
        ("document_type: standard\nnumber: 10.90\ntitle: Law", "# Halls", "title, document_type, number"),
        ("claimed: ''\ntitle: Law", "# Halls", "title"),
        ("claimed: title", "# Halls", ""),
    ],
)  # fmt: skip
def test_what_only_the_front_matter_says_is_kept_as_claimed(
    tmp_path: Path, front: str, heading: str, claimed: str
) -> None:
    world = ingested(tmp_path, f"---\n{front}\n---\n{heading}\n{BODY}" if front else f"{heading}\n{BODY}")
    record = world.knowledge.documents()[0]
    assert record.label("claimed") == claimed
    assert record.claims("title") == ("title" in claimed)


def test_a_title_that_stands_far_down_in_the_text_is_claimed_too(tmp_path: Path) -> None:
    late = f"---\ntitle: BS EN 1090 Steel\n---\n# Halls\n{BODY}{'word ' * 5000}\n\nSee BS EN 1090 Steel.\n"
    assert ingested(tmp_path, late).knowledge.documents()[0].claims("title")


def test_citations_name_the_file_and_mark_a_claimed_title(tmp_path: Path) -> None:
    assert citation(ingested(tmp_path, f"# Halls\n{BODY}")) == "Halls, 1 Scope, lines 1-5 [notes.md]"
    named = ingested(tmp_path, f"---\ntitle: BS EN 1090\n---\n# Halls\n{BODY}")
    assert citation(named) == "BS EN 1090, 1 Scope, lines 4-8 [notes.md, title claimed]"


@pytest.mark.parametrize("heading", ["Annex A", "Article 4", "§ 12", "RULE-MAS-02"])
def test_a_citation_names_the_number_of_a_section_without_a_title_once(tmp_path: Path, heading: str) -> None:
    world = ingested(tmp_path, f"# Halls\n\n## {heading}\n\nThe hall shall have two exits.\n")
    cited = world.knowledge.read(ReadQuery(world.knowledge.documents()[0].id, heading)).passages[0].citation
    assert cited.startswith(f"Halls, {heading}, line")
    assert citation(world).startswith(f"Halls, {heading}, line")


@pytest.mark.parametrize("label", ["4 Articles of type 4", "4 Type 5", "Annex A", "4", "A Annex A Notes", ""])
def test_a_label_that_says_its_number_once_stays(label: str) -> None:
    assert number_once(label) == label


def test_a_citation_is_never_turned_around_by_marks_of_a_title(tmp_path: Path) -> None:
    named = ingested(tmp_path, f"---\ntitle: BS EN 1090 \u202egnp\u2067x\n---\n# Halls\n{BODY}")
    assert citation(named) == "BS EN 1090 gnpx, 1 Scope, lines 4-8 [notes.md, title claimed]"


def test_a_title_cannot_name_another_file_in_a_citation(tmp_path: Path) -> None:
    world = ingested(tmp_path, f"# BS EN 1090, 5.1 Halls, p. 9 [bs-en-1090.pdf]\n{BODY}")
    assert citation(world) == "BS EN 1090, 5.1 Halls, p. 9 (bs-en-1090.pdf), 1 Scope, lines 1-5 [notes.md]"


@pytest.mark.parametrize("name", ["filename", "source_file"])
def test_a_document_cannot_say_what_its_file_is_called(tmp_path: Path, name: str) -> None:
    world = ingested(tmp_path, f"---\n{name}: bs-en-1090.pdf\n---\n# Halls\n{BODY}")
    assert world.knowledge.documents()[0].file_name == "notes.md"
    assert "bs-en-1090" not in citation(world)

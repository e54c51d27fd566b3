"""Editions of one document: recognised, reported, and the current one answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import IngestEventKind, IngestOptions
from knowledge_mcp.model.query import Equals, RequirementQuery, SearchMode, SearchQuery
from tests.engine.world import World

RULES = """
## 1 Terms and definitions

### 1.1 landing door

door that closes the well of a lift

## 2 Doors

Each landing door shall close within {seconds} seconds. The door shall be of steel, and its lock shall be tested yearly.

## 3 Ropes

Ropes shall be greased with oil that is free of acid once a year. A rope that is worn shall be replaced.
"""


def lifts(title: str, seconds: int, front: str = "") -> str:
    """Write one edition."""
    head = f"---\n{front}---\n" if front else ""
    return f"{head}# {title}\n{RULES.format(seconds=seconds)}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Hold two editions of one standard, and a document that is none."""
    return World(tmp_path).holding(
        {
            "lifts-2018.md": lifts("ACME 100:2018 Lifts", 5),
            "lifts-2023.md": lifts("ACME 100:2023 Lifts", 4),
            "valves.md": "# Valves\n\nEach valve shall be turned once a year.\n",
        }
    )


def found(world: World, edition: str = "", text: str = "landing door shall close within seconds") -> set[str]:
    """Name the documents that answer a search."""
    return {hit.chunk.document_id for hit in world.knowledge.search(SearchQuery(text, edition=edition)).hits}


def test_a_search_is_answered_from_the_current_edition_and_says_that_there_is_an_older_one(world: World) -> None:
    answer = world.knowledge.search(SearchQuery("landing door shall close within seconds"))
    assert {hit.chunk.document_id for hit in answer.hits} == {"lifts-2023", "valves"}
    assert answer.editions == ("ACME 100: Lifts: the current edition is 2023; there are also 2018 (lifts-2018).",)


@pytest.mark.parametrize("text", ["seatbelts", '"within 5 seconds"', "LD-5"])
def test_a_search_that_finds_nothing_names_the_editions_that_it_left_out(world: World, text: str) -> None:
    ask = SearchQuery(text, mode=SearchMode.KEYWORD)
    assert world.knowledge.search(ask).editions[-1] == '1 older edition was not searched; edition "all" includes them.'
    for other in (replace(ask, edition="all"), replace(ask, filter=Equals("document_id", "lifts-2018"))):
        assert not any("not searched" in each for each in world.knowledge.search(other).editions)


@pytest.mark.parametrize("name", ["Lift Format (LF) Version {}", "Lift Format (LF) (Version {})"])
def test_a_family_is_called_without_its_edition_and_with_its_parentheses(tmp_path: Path, name: str) -> None:
    world = World(tmp_path).holding({"a.md": lifts(name.format("2.1"), 5), "b.md": lifts(name.format("2.2"), 4)})
    (said,) = world.knowledge.search(SearchQuery("landing door shall close")).editions
    assert said.startswith("Lift Format (LF): the current edition is Version 2.2")


def test_a_family_keeps_figures_that_only_look_like_its_edition(tmp_path: Path) -> None:
    edition = '---\nedition: "{}"\n---\n\n'
    world = World(tmp_path).holding(
        {
            "a.md": edition.format(1) + lifts("ACME 112:2015 Lifts", 5),
            "b.md": edition.format(2) + lifts("ACME 112:2021 Lifts", 4),
        }
    )
    (said,) = world.knowledge.search(SearchQuery("landing door shall close")).editions
    assert said.startswith("ACME 112:2021 Lifts: the current edition is 2")


def test_an_edition_can_be_asked_for_by_name_date_or_all(world: World) -> None:
    assert found(world, "2018") == {"lifts-2018"}
    assert found(world, "all") == {"lifts-2018", "lifts-2023", "valves"}
    assert found(world, "as of 2020-05") == {"lifts-2018", "valves"}
    assert found(world, "as of 2010") == {"valves"}
    with pytest.raises(InvalidInputError, match="No document has the edition '1999'") as refused:
        found(world, "1999")
    assert "2018, 2023" in str(refused.value.suggestion)


def test_whoever_names_an_older_edition_gets_it(world: World) -> None:
    assert "lifts-2018" in found(world, text="What does ACME 100:2018 say of landing doors?")
    by_id = SearchQuery("landing door", filter=Equals("document_id", "lifts-2018"))
    assert {hit.chunk.document_id for hit in world.knowledge.search(by_id).hits} == {"lifts-2018"}
    old = world.knowledge.requirements(RequirementQuery("doors close", standard="100:2018"))
    assert old.documents == ("lifts-2018",)


def test_whoever_names_a_document_that_another_one_replaced_gets_it(tmp_path: Path) -> None:
    replacing = lifts("RFC 9113", 4).replace("\n\n", "\n\nObsoletes: 7540\n\n", 1)
    world = World(tmp_path).holding({"a.md": lifts("RFC 7540", 5), "b.md": replacing})
    assert found(world) == {"b"}
    assert found(world, text="RFC 9113 landing door") == {"b"}
    assert "a" in found(world, text="RFC 7540 landing door")
    old = world.knowledge.requirements(RequirementQuery("doors close", standard="RFC 7540"))
    assert old.documents == ("a",)


def test_a_name_without_its_edition_means_the_current_one(world: World) -> None:
    assert found(world, text="What does ACME 100 say of landing doors?") == {"lifts-2023", "valves"}


def test_requirements_and_definitions_come_from_the_current_edition(world: World) -> None:
    answer = world.knowledge.requirements(RequirementQuery("doors close", standard="ACME"))
    assert answer.documents == ("lifts-2023",)
    assert {hit.chunk.document_id for hit in world.knowledge.requirements(RequirementQuery("doors close")).hits} <= {
        "lifts-2023",
        "valves",
    }
    terms = world.knowledge.lookup("landing door")
    assert [hit.chunk.document_id for hit in terms.definitions] == ["lifts-2023"]
    assert terms.editions
    assert len(world.knowledge.lookup("landing door", "all").definitions) == 2
    assert [hit.chunk.document_id for hit in world.knowledge.lookup("landing door", "2018").definitions] == [
        "lifts-2018"
    ]


def test_a_term_that_only_an_older_edition_defines_is_found_there(world: World) -> None:
    text = lifts("ACME 100:2018 Lifts", 5).replace(
        "## 2 Doors", "### 1.2 sheave\n\nwheel that ropes run over\n\n## 2 Doors"
    )
    world.write("lifts-2018.md", text)
    world.ingest()
    answer = world.knowledge.lookup("sheave")
    assert [hit.chunk.document_id for hit in answer.definitions] == ["lifts-2018"]


def test_the_ingest_says_what_it_took_a_document_for(world: World) -> None:
    result = [event.message for event in world.events if event.kind is IngestEventKind.EDITION]
    assert result == [
        "lifts-2018 is treated as edition 2018 of ACME 100: Lifts, not the current one (others: lifts-2023).",
        "lifts-2023 is treated as edition 2023 of ACME 100: Lifts, the current one (others: lifts-2018).",
    ]


def test_a_family_is_split_by_hand_and_stays_so_when_the_file_changes(world: World) -> None:
    record = world.knowledge.relabel("lifts-2018", {"family": "none"})
    assert record.label("set_by_hand") == "family"
    assert "lifts-2018" in found(world)
    world.write("lifts-2018.md", lifts("ACME 100:2018 Lifts", 6))
    world.ingest()
    assert "lifts-2018" in found(world)
    world.knowledge.relabel("lifts-2018", {"family": ""})
    assert "lifts-2018" not in found(world)
    with pytest.raises(InvalidInputError):
        world.knowledge.relabel("lifts-2018", {"title": "x"})
    with pytest.raises(InvalidInputError):
        world.knowledge.relabel("lifts-2018", {"edition_status": "sold"})


def test_documents_are_joined_by_hand_under_one_family(world: World) -> None:
    world.knowledge.relabel("valves", {"family": "Machines", "edition": "1"})
    world.knowledge.relabel("lifts-2023", {"family": "machines", "edition": "2"})
    assert "valves" not in found(world, text="valve turned")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("a.md", lifts("Lift safety, 1st edition", 5)), ("b.md", lifts("Lift safety, 2nd edition", 4))),
        (("a.md", lifts("Lift safety 2018", 5)), ("b.md", lifts("Lift safety 2023", 4))),
        (("v1/guide.md", lifts("Guide", 5)), ("v2/guide.md", lifts("Guide", 4))),
        (("guide-v1.md", lifts("Guide", 5)), ("guide-v2.md", lifts("Guide", 4))),
        (("lift-api-v1.3.md", lifts("Guide", 5)), ("lift-api-v1.4.md", lifts("Guide", 4))),
        (
            ("a.md", lifts("One", 5, "family: Lifts\nedition: '2018'\n")),
            ("b.md", lifts("Two", 4, "family: lifts\nedition: '2023'\n")),
        ),
        (("a.md", lifts("MIL-STD-882D Safety", 5)), ("b.md", lifts("MIL-STD-882E Safety", 4))),
        (("a.md", lifts("NIST SP 800-53 Rev. 4", 5)), ("b.md", lifts("NIST SP 800-53 Rev. 5", 4))),
        (("a.md", lifts("RFC 7540", 5)), ("b.md", lifts("RFC 9113", 4).replace("\n\n", "\n\nObsoletes: 7540\n\n", 1))),
        (
            ("a.md", lifts("ACME 7:2018", 5)),
            ("b.md", lifts("ACME 9:2020", 4).replace("\n\n", "\n\nThis standard replaces ACME 7:2018.\n\n", 1)),
        ),
        (("a.md", lifts("ACME 7:2018", 5)), ("z.md", lifts("ACME 7:2023", 4, "status: published\n"))),
    ],
    ids=[
        "edition",
        "year",
        "folder",
        "file",
        "api",
        "front matter",
        "letter",
        "revision",
        "obsoletes",
        "replaces",
        "status",
    ],
)
def test_editions_of_one_document_are_recognised_by_what_they_say(
    tmp_path: Path, older: tuple[str, str], newer: tuple[str, str]
) -> None:
    world = World(tmp_path)
    world.write(*older)
    world.write(*newer)
    ids = {each.record.source_path[len(str(tmp_path)) + 1 :]: each.record.id for each in world.ingest().documents}
    assert found(world) == {ids[newer[0]]}


@pytest.mark.parametrize(
    "documents",
    [
        (("a.md", "# Annual report 2019\n\n" + RULES), ("b.md", "# Annual report 2020\n\n" + RULES)),
        (("a.md", "# ISO 9001:2015\n\n" + RULES), ("b.md", "# ISO 9001:2018 A practical guide\n\n" + RULES)),
        (("a.md", "# ISO 10303-11:2004\n\n" + RULES), ("b.md", "# ISO 10303-21:2016\n\n" + RULES)),
        (
            ("a.md", "# Pumps 2018\n\nThe pump shall run."),
            ("b.md", "# Pumps 2023\n\nThe house of a poet is open daily."),
        ),
        (("one/chapter-1.md", "# Chapter 1\n\n" + RULES), ("two/chapter-1.md", "# Chapter 1\n\n" + RULES)),
        (("a.md", "# Section 5.3\n\n" + RULES), ("b.md", "# Section 5.4\n\n" + RULES)),
        (("minutes/2024-05-01.md", "# Minutes\n\n" + RULES), ("minutes/2024-06-01.md", "# Minutes\n\n" + RULES)),
        (("a.md", "# ACME 100:2018\n\n" + RULES), ("b.md", "# ACME 100:2018\n\nDeutsch: " + RULES)),
        (("a.md", "# Document 1919 – Pumps\n\n" + RULES), ("b.md", "# Document 2016 – Pumps\n\n" + RULES)),
        (("ticket_1984.md", "# Pumps\n\n" + RULES), ("ticket_2016.md", "# Pumps\n\n" + RULES)),
        (("a.md", "# Bekanntmachung 2018\n\n" + RULES), ("b.md", "# Bekanntmachung 2019\n\n" + RULES)),
        (("posts/2024/a-2024.md", "# Lifts\n\n" + RULES), ("posts/2025/a-2025.md", "# Lifts\n\n" + RULES)),
    ],
    ids=[
        *("reports", "a guide to it", "parts", "another text", "chapters", "sections", "minutes", "one edition twice"),
        *("documents", "tickets", "notices", "posts"),
    ],
)
def test_what_only_looks_like_it_is_no_edition(tmp_path: Path, documents: tuple[tuple[str, str], ...]) -> None:
    world = World(tmp_path)
    for name, text in documents:
        world.write(name, text)
    ids = {each.record.id for each in world.ingest().documents}
    assert len(ids) == 2
    assert world.base.editions().superseded == ()


def test_a_number_among_others_of_its_series_is_no_year(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.md", "# Pump 1919\n\n" + RULES)
    world.write("b.md", "# Pump 2016\n\n" + RULES)
    world.ingest()
    assert world.base.editions().superseded != ()
    world.write("c.md", "# Pump 850\n\n" + RULES)
    world.ingest()
    assert world.base.editions().superseded == ()


def test_what_is_called_like_an_edition_but_is_another_text_is_reported_to_be_kept_apart(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.md", "# Pumps 2018\n\nThe pump shall run whenever the well is full of water.")
    world.write("b.md", "# Pumps 2023\n\nThe house of a poet is open daily for visitors.")
    result = " ".join(world.ingest().editions)
    assert "is named like an edition of" in result
    assert "kept separate" in result


def test_a_draft_and_a_withdrawn_edition_do_not_answer(tmp_path: Path) -> None:
    world = World(tmp_path).holding(
        {"a.md": lifts("ACME 1:2018", 5), "b.md": lifts("ACME 1:2024", 3, "status: draft\n")}
    )
    assert found(world) == {"a"}
    world.knowledge.relabel("a", {"edition_status": "withdrawn"})
    world.knowledge.relabel("b", {"edition_status": "current"})
    assert found(world) == {"b"}


def test_every_citation_names_the_edition(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"v1/guide.md": lifts("Guide", 5), "v2/guide.md": lifts("Guide", 4)})
    hits = world.knowledge.search(SearchQuery("landing door", edition="all")).hits
    assert {hit.citation.split(",")[0] for hit in hits} == {"Guide (v1)", "Guide (v2)"}


def test_an_edition_told_at_the_ingest_is_taken_up_though_the_file_is_unchanged(world: World) -> None:
    from knowledge_mcp.sources.files import FileSource, LabelledSource

    source = LabelledSource(FileSource(world.folder / "valves.md"), (("edition", "3"),))
    done = world.knowledge.ingest(source, IngestOptions()).documents
    assert [(each.unchanged, each.record.label("edition")) for each in done] == [(False, "3")]
    assert [each.unchanged for each in world.knowledge.ingest(source, IngestOptions()).documents] == [True]


def test_editions_stay_as_they_are_when_nothing_changes(world: World) -> None:
    before = [record.metadata for record in world.knowledge.documents()]
    report = world.ingest()
    assert all(each.unchanged for each in report.documents)
    assert report.editions == ()
    assert [record.metadata for record in world.knowledge.documents()] == before

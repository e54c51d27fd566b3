"""Links to places lead to the section or the passage that has the name, in the same file and in others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knowledge_mcp.engine.core.documents import StoredDocument, read_document
from knowledge_mcp.engine.evidence.targets import Targets, find_anchor
from knowledge_mcp.model.collection import DocumentStructure, PageCoverage
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.evidence import ReferenceLink, ReferenceQuery
from tests.engine.world import World

GUIDE = """# Guide

## Valves {#v}

A valve is turned once a year.

<a id="grease"></a>

Grease is put on the stem.

### Gate valves

They are large.

## 5.2 Duty pumps

They run all day.

## Notes

Old words.

## Notes

New words.
"""

MANUAL = """# Manual

Look at [valves](guide.md#v) first, then [the stem](guide.md#grease) and [gates](docs/../guide.html#Gate_valves).
See also [pumps](./guide#52-duty-pumps), [the notes](guide.md#notes-1), [nothing](guide.md#nowhere) and
[gone](other.html#x).
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world")).holding({"guide.md": GUIDE, "manual.md": MANUAL})


@pytest.fixture(scope="module")
def guide(world: World) -> StoredDocument:
    return read_document(world.base, "guide")


def opening(link: ReferenceLink) -> str:
    return "" if link.destination is None else link.destination.text.partition("\n")[0]


def test_links_of_another_file_lead_to_the_section_or_the_passage_that_bears_the_name(world: World) -> None:
    answer = world.knowledge.references(ReferenceQuery("manual"))
    assert {link.text: opening(link) for link in answer.outgoing} == {
        "valves": "Valves",
        "the stem": "Grease is put on the stem.",
        "gates": "Gate valves",
        "pumps": "5.2 Duty pumps",
        "the notes": "Notes",
        "nothing": "",
        "gone": "",
    }
    reasons = {link.text: link.reason for link in answer.outgoing if link.reason}
    assert reasons == {
        "nothing": "'guide' has no location for the anchor '#nowhere'.",
        "gone": "The file 'other.html' is not in the knowledge base.",
    }
    notes = next(link for link in answer.outgoing if link.text == "the notes")
    assert notes.destination is not None
    assert "New words." in notes.destination.text


def test_links_of_other_files_are_found_from_where_they_lead(world: World) -> None:
    valves = world.knowledge.references(ReferenceQuery("guide", "Valves"))
    assert [(link.source.locator.document_id, link.text) for link in valves.incoming] == [
        ("manual", "valves"), ("manual", "the stem"), ("manual", "gates"),
    ]  # fmt: skip
    whole = world.knowledge.references(ReferenceQuery("guide"))
    assert {link.text for link in whole.incoming} == {"valves", "the stem", "gates", "pumps", "the notes"}
    assert "searched for links only" in whole.degraded[0]


@pytest.mark.parametrize(
    ("anchor", "begins"),
    [
        ("v", "Valves"),
        ("V", "Valves"),
        ("grease", "Grease"),
        ("Gate%20valves", "Gate valves"),
        ("gate-valves", "Gate valves"),
        ("duty_pumps", "5.2 Duty pumps"),
        ("notes", "Notes\n\nOld"),
        ("notes-1", "Notes\n\nNew"),
        ("v:~:text=valve", "Valves"),
        ("", None),
        ("%20", None),
        ("p", None),
        ("page=2", None),
    ],
)
def test_an_anchor_is_found_by_the_name_given_or_by_the_words_of_a_heading(
    guide: StoredDocument, anchor: str, begins: str | None
) -> None:
    found = find_anchor(guide, anchor)
    assert (found is None) == (begins is None)
    if found is not None and begins is not None:
        assert found[0].of(guide.text).startswith(begins)


def test_without_given_names_headings_are_identified_by_their_words_and_pages_by_their_number(
    guide: StoredDocument,
) -> None:
    pages = (PageCoverage(1, "1", Span(0, 20), "text_layer", 20), PageCoverage(2, "2", Span(20, 60), "text_layer", 40))
    bare = replace(guide, structure=DocumentStructure(guide.structure.sections, pages))
    for anchor, begins in (("notes-1", "Notes\n\nNew"), ("52-duty-pumps", "5.2"), ("dutypumps", "5.2")):
        found = find_anchor(bare, anchor)
        assert found is not None
        assert found[0].of(guide.text).startswith(begins)
    assert find_anchor(bare, "grease") is None
    assert find_anchor(bare, "Notes!") is None, "two headings have these letters"
    page = find_anchor(bare, "page=2&zoom=100")
    assert page is not None
    assert page[0] == Span(20, 60)
    assert find_anchor(bare, "page=3") is None


def test_a_link_on_a_page_of_the_web_leads_to_the_page_beside_it(world: World) -> None:
    record = world.knowledge.documents()[0]
    here = replace(record, id="here", source_path="https://example.org/a/index.html")
    there = replace(record, id="there", source_path="https://example.org/b/page")
    targets = Targets([here, there], lambda name: read_document(world.base, "guide"))
    assert targets.document_at(here, "../b/page/#x") == there
    assert targets.document_at(here, "https://example.org/b/page#x") == there
    assert targets.document_at(here, "//[") is None
    assert targets.document_at(here, "#x") == here
    assert targets.document_at(replace(here, source_path="/docs/a.md"), "b/page") is None


def test_two_files_of_one_name_leave_a_link_to_their_page_open(world: World) -> None:
    record = world.knowledge.documents()[0]
    source, one, two = (
        replace(record, id=name, source_path=f"/docs/{name}") for name in ("a.md", "guide.md", "guide.pdf")
    )
    held = replace(read_document(world.base, "guide"), record=source)
    targets = Targets([source, one, two], lambda name: held)
    assert targets.document_at(source, "guide.html") is None
    assert targets.document_at(source, "guide.pdf#page=1") == two
    link = targets.of(held, Reference("g", ReferenceKind.LINK, "guide.html", Span(0, 1)))
    assert link.reason == "The file 'guide.html' is not in the knowledge base."

"""The evidence tools: words with citation and locator, in answers that fit, and clear words where there is nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    DocumentRecord,
    DocumentStatus,
    DocumentStructure,
    OutlineEntry,
    PageCoverage,
)
from knowledge_mcp.model.document import Box, ReferenceKind, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import (
    Difference,
    Excerpt,
    Locator,
    QuoteAnswer,
    QuotePlace,
    QuoteQuery,
    QuoteVerdict,
    ReferenceAnswer,
    ReferenceLink,
    ReferenceQuery,
)
from knowledge_mcp.model.query import Hit
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.answers import MAX_ANSWER_CHARACTERS, compact
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.surfaces.standards.evidence import locator, merged_boxes
from knowledge_mcp.surfaces.standards.passages import search_result
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import SAMPLE, FakeDocument, FakePassage
from tests.surfaces.calling import answer_of

TOOLS = {tool.name: tool for tool in SURFACE.tools}


def ask(name: str, knowledge: Knowledge | None = None, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool; what would be sent is within the clients' limit."""
    payload = answer_of(SURFACE, name, knowledge or FakeKnowledge(), **arguments)
    assert len(compact(payload)) <= MAX_ANSWER_CHARACTERS
    return payload


def book(sections: int, characters: int = 0, letter: str = "x") -> FakeDocument:
    """Describe a document of many sections."""
    words = (f"{letter} " * (characters // 2 + 1))[:characters]
    parts = tuple(
        FakePassage(f"{number // 10 + 1}.{number % 10 + 1}", f"Part {number}", f"{number} {words}".strip())
        for number in range(sections)
    )
    return FakeDocument("book", "A Book", parts)


def test_every_search_hit_carries_a_locator_of_exactly_its_words() -> None:
    knowledge = FakeKnowledge()
    for name in ("knowledge_search", "knowledge_keyword_search"):
        for result in ask(name, knowledge, query="verification plan", detail="full")["results"]:
            place = result["locator"]
            assert set(place) == {"document_id", "span", "content_hash", "page_numbers"}
            text = knowledge.document_text(place["document_id"])[slice(*place["span"])]
            assert text == result["content"]
            assert place["content_hash"] == hashlib.sha256(text.encode()).hexdigest()
            assert place["page_numbers"] == result["source"]["page_numbers"]


def test_a_locator_tells_boxes_labels_and_lines_only_where_there_are_any() -> None:
    chunk: Chunk = FakeKnowledge().document_chunks("example-standard")[0]
    boxes = (Box(7, 72.4, 100.2, 300.7, 110.0), Box(7, 72.4, 111.0, 299.0, 130.9), Box(8, 320.0, 50.0, 540.5, 60.0))
    rich = replace(chunk, page_numbers=(7, 8), page_labels=("iv", "v"), lines=(10, 12), boxes=boxes)
    result = search_result(Hit(rich, 0.5, "Cited."), "full").model_dump(mode="json", exclude_unset=True)["locator"]
    assert result["boxes"] == [[7, 72, 100, 301, 131], [8, 320, 50, 541, 60]]
    assert (result["page_labels"], result["lines"]) == (["iv", "v"], [10, 12])
    bare = locator(Locator("d", Span(0, 1), "00")).model_dump(exclude_unset=True)
    assert set(bare) == {"document_id", "span", "content_hash"}


def test_boxes_of_two_columns_stay_apart_and_equal_ones_are_reported_once() -> None:
    left, right = Box(1, 50.0, 100.0, 290.0, 200.0), Box(1, 310.0, 100.0, 550.0, 150.0)
    assert merged_boxes([left, replace(left, top=210.0, bottom=220.0), right]) == [
        [1, 50, 100, 290, 220], [1, 310, 100, 550, 150],
    ]  # fmt: skip
    assert merged_boxes([left, right, left]) == [[1, 50, 100, 290, 200], [1, 310, 100, 550, 150]]
    assert merged_boxes([]) == []


def test_a_clause_is_read_with_its_citation() -> None:
    answer = ask("knowledge_read", document_id="example-standard", clause="5.3.1")
    assert set(answer) == {"document_id", "document_title", "passages", "tokens", "span"}
    only = answer["passages"][0]
    assert only["text"].startswith("5.3.1 Verification planning\nThe supplier shall keep")
    assert (
        only["citation"]
        == "Example Standard for Widget Engineering, 5.3.1 Verification planning, p. 7 [example-standard.md]"
    )
    text = FakeKnowledge().document_text("example-standard")
    assert text[slice(*only["locator"]["span"])] == only["text"]


def test_pages_and_passages_are_read_and_cursors_lead_on() -> None:
    knowledge = FakeKnowledge()
    assert "5.3.2 Records" in ask("knowledge_read", document_id="example-standard", first_page=8)["passages"][0]["text"]
    both = ask("knowledge_read", document_id="example-standard", first_page=7, last_page=8)
    assert both["passages"][0]["locator"]["page_numbers"] == [7, 8]
    chunk = knowledge.document_chunks("example-standard")[1]
    around = ask("knowledge_read", chunk_id=chunk.id, before=1, after=1)
    assert around["span"][0] < chunk.span.start < chunk.span.end < around["span"][1]
    long = FakeKnowledge([book(40, 200)])
    first = ask("knowledge_read", long, document_id="book", max_tokens=50)
    second = ask("knowledge_read", long, document_id="book", max_tokens=50, cursor=first["next_cursor"])
    assert second["passages"][0]["locator"]["span"][0] == first["next_cursor"]
    with pytest.raises(InvalidInputError, match="first_page"):
        ask("knowledge_read", document_id="example-standard", last_page=3)


@pytest.mark.parametrize("letter", ["x", '"', pytest.param("\u0001", marks=pytest.mark.slow)])
def test_an_answer_that_would_be_too_long_holds_less_and_loses_nothing(letter: str) -> None:
    knowledge = FakeKnowledge([book(24, 6_000, letter)])
    text = knowledge.document_text("book")
    pieces: list[str] = []
    cursor = 0
    while True:
        answer = ask("knowledge_read", knowledge, document_id="book", max_tokens=20_000, cursor=cursor)
        assert "truncated" not in answer
        pieces.extend(each["text"] for each in answer["passages"])
        cursor = answer.get("next_cursor", 0)
        if not cursor:
            break
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_the_outline_lists_headings_to_a_depth_with_pages() -> None:
    answer = ask("knowledge_outline", document_id="example-standard")
    assert answer["sections"][1] == {
        "number": "5.3.1", "title": "Verification planning", "level": 3, "page": 7, "start": 68,
    }  # fmt: skip
    assert (answer["total"], answer["pages"], answer["status"]) == (4, 9, "ready")
    shallow = ask("knowledge_outline", document_id="example-standard", depth=1)
    assert [(each["number"], each.get("below", 0)) for each in shallow["sections"]] == [("3.1", 2), ("5.30", 0)]
    one = ask("knowledge_outline", document_id="example-standard", clause="5.3.2")
    assert [each["title"] for each in one["sections"]] == ["Records"]
    assert ask("knowledge_read", document_id="example-standard", cursor=68)["passages"][0]["text"].startswith("5.3.1")
    with pytest.raises(NotFoundError, match=r"5\.3\.9"):
        ask("knowledge_outline", document_id="example-standard", clause="5.3.9")


def test_a_long_outline_comes_in_parts() -> None:
    knowledge = FakeKnowledge([book(450)])
    titles: list[str] = []
    cursor = 0
    while True:
        answer = ask("knowledge_outline", knowledge, document_id="book", limit=200, cursor=cursor)
        assert answer["total"] == 450
        titles.extend(each["title"] for each in answer["sections"])
        cursor = answer.get("next_cursor", 0)
        if not cursor:
            break
    assert titles == [f"Part {number}" for number in range(450)]
    with pytest.raises(InvalidInputError, match="cursor"):
        ask("knowledge_outline", knowledge, document_id="book", cursor=450)


class Scanned(FakeKnowledge):
    """A document with lost pages, and one without anything known of it."""

    def document(self, document_id: str) -> DocumentRecord:
        found = super().document(document_id)
        return replace(found, status=DocumentStatus.PARTIAL, warnings=("Page 2 could not be read.",), pages=3)

    def document_structure(self, document_id: str) -> DocumentStructure:
        if document_id == "example-handbook":
            return NO_STRUCTURE
        return DocumentStructure(
            (OutlineEntry(1, None, "Notes", Span(0, 10), 1, informative=True),),
            (
                PageCoverage(1, "i", Span(0, 10), "text_layer", 10, tables=2, figures=1),
                PageCoverage(2, "2", Span(10, 10), "none", 0, note="A picture, and no OCR engine."),
                PageCoverage(3, "3", Span(10, 20), "ocr", 9),
            ),
        )


def test_coverage_tells_what_was_got_from_each_page_and_what_is_missing() -> None:
    answer = ask("knowledge_outline", Scanned(), document_id="example-standard", coverage=True)
    assert "sections" not in answer
    assert answer["coverage"] == [
        {"page": 1, "label": "i", "method": "text_layer", "characters": 10, "tables": 2, "figures": 1},
        {"page": 2, "method": "none", "characters": 0, "note": "A picture, and no OCR engine."},
        {"page": 3, "method": "ocr", "characters": 9},
    ]
    assert (answer["status"], answer["warnings"]) == ("partial", ["Page 2 could not be read."])
    part = ask("knowledge_outline", Scanned(), document_id="example-standard", coverage=True, limit=2)
    assert ([each["page"] for each in part["coverage"]], part["next_cursor"]) == ([1, 2], 2)
    sections = ask("knowledge_outline", Scanned(), document_id="example-standard")["sections"]
    (notes,) = sections
    assert notes == {"title": "Notes", "level": 1, "page": 1, "page_label": "i", "start": 0, "informative": True}
    pages = FakeKnowledge()
    some = ask("knowledge_outline", pages, document_id="example-standard", clause="5.3.2", coverage=True)
    assert [each["page"] for each in some["coverage"]] == [8]


def test_what_is_not_known_of_a_document_is_said() -> None:
    nothing = ask("knowledge_outline", Scanned(), document_id="example-handbook")
    assert "No headings" in nothing["message"]
    assert (
        "Ingest it again"
        in ask("knowledge_outline", Scanned(), document_id="example-handbook", coverage=True)["message"]
    )

    class Plain(FakeKnowledge):
        def document(self, document_id: str) -> DocumentRecord:
            return replace(super().document(document_id), pages=0)

        def document_structure(self, document_id: str) -> DocumentStructure:
            return NO_STRUCTURE

    assert "no pages" in ask("knowledge_outline", Plain(), document_id="example-standard", coverage=True)["message"]


LINKED = (
    FakeDocument(
        "iso-4711",
        "ISO 4711 Ferries",
        (
            FakePassage("5.1", "Lines", "Lines are kept dry, see 5.2. ISO 9999 tells how.", page=3),
            FakePassage("5.2", "Knots", "A knot holds.", page=4),
        ),
    ),
    FakeDocument("piers", "Piers", (FakePassage("1", "Loads", "Piers hold the ferries of ISO 4711."),)),
)


def test_references_lead_out_and_in() -> None:
    knowledge = FakeKnowledge(LINKED)
    out = ask("knowledge_references", knowledge, document_id="iso-4711", clause="5.1")
    leads, nowhere = out["outgoing"]
    assert (leads["text"], leads["kind"], leads["target"]) == ("see 5.2", "clause", "5.2")
    assert leads["source"]["text"] == "Lines are kept dry, see 5.2."
    assert leads["destination"]["text"] == "5.2 Knots\nA knot holds."
    assert leads["destination"]["page_numbers"] == [4]
    assert "destination" not in nowhere
    assert nowhere["reason"] == "The document is not in the knowledge base."
    back = ask("knowledge_references", knowledge, document_id="iso-4711", clause="5.2")
    assert [each["source"]["citation"] for each in back["incoming"]] == [
        "ISO 4711 Ferries, 5.1 Lines, p. 3 [iso-4711.md]"
    ]
    whole = ask("knowledge_references", knowledge, document_id="iso-4711")
    assert [each["source"]["document_id"] for each in whole["incoming"]] == ["piers"]
    assert ask("knowledge_references", knowledge, document_id="iso-4711", limit=1)["more"] == 1
    none = ask("knowledge_references", knowledge, document_id="iso-4711", clause="5.2")
    assert none["outgoing"] == []
    assert "No cross-references" in ask("knowledge_references", document_id="example-standard")["message"]
    assert "degraded" in ask("knowledge_references", document_id="example-standard")


def _passage(length: int = 10) -> Excerpt:
    return Excerpt("x" * length, Locator("d", Span(0, length), "00", (3,)), "D, 1 One, p. 3")


def test_too_many_references_for_one_answer_are_left_out_from_both_ends_and_counted() -> None:
    class Talkative(FakeKnowledge):
        def references(self, query: ReferenceQuery) -> ReferenceAnswer:
            link = ReferenceLink("5.3", ReferenceKind.CLAUSE, "5.3", _passage(2_000), _passage(600))
            return ReferenceAnswer((link,) * query.limit, (link,) * query.limit, 7)

    answer = ask("knowledge_references", Talkative(LINKED), document_id="iso-4711", limit=50)
    kept = len(answer["outgoing"]) + len(answer["incoming"])
    assert 20 < kept < 100
    assert abs(len(answer["outgoing"]) - len(answer["incoming"])) <= 1
    assert answer["more"] == 100 - kept + 7


def test_a_true_quote_is_distinguished_from_one_that_is_not() -> None:
    words = "Verification records shall not be discarded."
    exact = ask("knowledge_verify_quote", quote=words, document_id="example-standard")
    assert exact["verdict"] == "exact"
    assert exact["places"][0]["text"] == words
    assert set(exact["places"][0]) == {"text", "citation", "locator"}
    assert ask("knowledge_verify_quote", quote=words.lower())["verdict"] == "normalised"
    elsewhere = ask("knowledge_verify_quote", quote=words, document_id="example-handbook")
    assert (elsewhere["verdict"], elsewhere["places"][0]["locator"]["document_id"]) == ("elsewhere", "example-standard")
    nothing = ask("knowledge_verify_quote", quote="Records may be discarded.")
    assert (nothing["verdict"], nothing["places"]) == ("not_found", [])
    with pytest.raises(NotFoundError):
        ask("knowledge_verify_quote", quote=words, document_id="example-standrd")


@pytest.mark.parametrize("verdict", list(QuoteVerdict))
def test_every_verdict_is_explained_and_differences_are_shown(verdict: QuoteVerdict) -> None:
    place = QuotePlace("must be kept", _passage(), 0.91234, (Difference("must", "shall"), Difference("", "not")))

    class Judge(FakeKnowledge):
        def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
            return QuoteAnswer(verdict, (place,), 2, ("The store was slow.",))

    answer = ask("knowledge_verify_quote", Judge(), quote="It must be kept.")
    assert answer["verdict"] == verdict.value
    assert answer["message"]
    result = answer["places"][0]
    assert (result["quoted"], result["similarity"]) == ("must be kept", 0.9123)
    assert result["differences"] == [{"quoted": "must", "printed": "shall"}, {"quoted": "", "printed": "not"}]
    assert answer["degraded"] == ["The store was slow."]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("knowledge_read", {"document_id": "d", "max_tokens": 49}, "max_tokens"),
    ("knowledge_read", {"document_id": "d", "max_tokens": 20_001}, "max_tokens"),
    ("knowledge_read", {"chunk_id": "c", "before": 21}, "before"),
    ("knowledge_read", {"document_id": "d", "first_page": 0}, "first_page"),
    ("knowledge_read", {"document_id": "d", "clause": " "}, "clause"),
    ("knowledge_read", {"document_id": "d", "cursor": -1}, "cursor"),
    ("knowledge_read", {"document": "d"}, "document_id"),
    ("knowledge_outline", {}, "document_id"),
    ("knowledge_outline", {"document_id": "d", "depth": 0}, "depth"),
    ("knowledge_outline", {"document_id": "d", "limit": 201}, "limit"),
    ("knowledge_references", {"document_id": "d", "limit": 51}, "limit"),
    ("knowledge_verify_quote", {"quote": ""}, "quote"),
    ("knowledge_verify_quote", {"quote": "x" * 10_001}, "quote"),
]


@pytest.mark.parametrize(("name", "arguments", "field"), WRONG)
def test_arguments_out_of_bounds_are_refused_by_name(name: str, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(TOOLS[name].request, arguments)
    assert field in f"{caught.value.message} {caught.value.details} {caught.value.suggestion}"


def test_what_is_logged_of_a_question_is_its_document_and_never_its_words() -> None:
    for name, arguments, subject in (
        ("knowledge_read", {"document_id": "d", "clause": "5.3"}, "5.3"),
        ("knowledge_read", {"chunk_id": "c"}, "c"),
        ("knowledge_outline", {"document_id": "d"}, "d"),
        ("knowledge_references", {"document_id": "d"}, "d"),
        ("knowledge_verify_quote", {"quote": "secret words", "document_id": "d"}, "secret words"),
    ):
        request = parse(TOOLS[name].request, arguments)
        assert request.subject() == subject
        assert "secret" not in str(request.filters())


def test_the_outline_is_a_resource_too() -> None:
    resource = {each.name: each for each in SURFACE.resources}["outline"]
    content = resource.read(FakeKnowledge(), "example-standard")
    assert [each["number"] for each in json.loads(content.text)["sections"]] == ["3.1", "5.3.1", "5.3.2", "5.30"]
    assert content.media_type == "application/json"
    with pytest.raises(NotFoundError):
        resource.read(FakeKnowledge(SAMPLE), "nowhere")

"""Searching, reading, listing and deleting by the planning tools: every specified form and field."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.surfaces.arguments import parse
from tests.planning.world import REF, TOOLS, World, refusal, report


@pytest.mark.requirement("document-store-api:FR-002")
def test_a_search_result_has_every_specified_field(world: World) -> None:
    path = world.paper("Transport_Assessment.pdf")
    document = world.ingest(path)
    answer = world.call("search_application_docs", query="covered cycle parking", application_ref=REF, max_results=5)
    assert (answer["status"], answer["query"]) == ("success", "covered cycle parking")
    assert answer["results_count"] == len(answer["results"]) == 5
    first = answer["results"][0]
    assert set(first) == {"chunk_id", "text", "relevance_score", "metadata", "cosine"}
    assert first["chunk_id"] == "{}_{:03d}_{:03d}".format(
        document["document_id"],
        int(first["metadata"]["page_numbers"].split(",")[0]),
        first["metadata"]["chunk_index"],
    )
    assert first["metadata"] == {
        "application_ref": REF,
        "document_id": document["document_id"],
        "source_file": "Transport_Assessment.pdf",
        "document_type": "transport_assessment",
        "page_numbers": first["metadata"]["page_numbers"],
        "chunk_index": first["metadata"]["chunk_index"],
        "total_chunks": document["chunks_created"],
        "extraction_method": "text_layer",
        "char_count": len(first["text"]),
        "word_count": len(first["text"].split()),
    }
    assert re.fullmatch(r"\d+(,\d+)*", first["metadata"]["page_numbers"])
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.requirement("document-store-api:FR-002")
def test_relevance_is_one_minus_half_the_squared_distance_cut_at_nothing(world: World) -> None:
    import numpy as np

    world.ingest(world.paper("Transport_Assessment.pdf"))
    question = np.frombuffer(world.embedder.embed_query("vehicle movements at the junction"), "<f4")
    answer = world.call(
        "search_application_docs", query="vehicle movements at the junction", max_results=100, mode="semantic"
    )
    assert len(answer["results"]) == world.chunks()
    for result in answer["results"]:
        vector = np.frombuffer(world.embedder.embed_documents([result["text"]])[0], "<f4")
        distance = float(((question - vector) ** 2).sum())
        assert result["relevance_score"] == pytest.approx(max(0.0, 1 - distance / 2), abs=1e-4)


def test_what_a_question_names_is_found_by_its_words_and_its_meaning_is_reported_beside(world: World) -> None:
    world.ingest(world.paper("Transport Assessment.pdf"))
    world.ingest(world.paper("Plots 1-4.pdf", "Do not scale. Drawing number 2104-110. Revision P03."))
    answer = world.call("search_application_docs", query="which revision is drawing 2104-110?", max_results=5)
    first = answer["results"][0]
    assert first["metadata"]["source_file"] == "Plots 1-4.pdf"
    by_meaning = world.call("search_application_docs", query="which revision is drawing 2104-110?", mode="semantic")
    assert {each["chunk_id"]: each["relevance_score"] for each in by_meaning["results"]}[first["chunk_id"]] == (
        first["cosine"]
    )
    assert all("cosine" not in each for each in by_meaning["results"])
    unknown = world.call("search_application_docs", query="cycle parking on drawing WTP-999")
    assert unknown["results"]
    assert "WTP-999 was not found" in unknown["message"]
    unknown = world.call("search_application_docs", query="cycle parking on drawing 2104-PL-110")
    assert "2104-PL-110 was not found" in unknown["message"]


def test_rows_of_a_table_come_with_the_head_that_says_what_they_are(world: World) -> None:
    head = "| Tree | Height (m) | Stem (mm) |\n| --- | --- | --- |"
    rows = "\n".join(f"| T{number} | {number % 20} | {number * 10} |" for number in range(1, 90))
    world.ingest(world.paper("Tree Survey.pdf", f"The trees were seen in May.\n\n{head}\n{rows}\n\nAsh | oak | elm."))
    found = world.call("search_application_docs", query="T77 height", max_results=100)["results"]
    assert "T77" in found[0]["text"]
    for each in found:
        begins_with_a_row = each["text"].startswith("| T") and not each["text"].startswith("| Tree")
        assert each.get("cut_from", "") == (head if begins_with_a_row else "")
    assert sum("cut_from" in each for each in found) >= 2


def test_documents_of_two_applications_are_no_editions_of_each_other(world: World) -> None:
    world.ingest(world.paper("BS 5837-2005 Tree Survey.pdf", "The beech by the pond is to be felled."))
    world.ingest(world.paper("BS 5837-2012 Tree Survey.pdf", "The oak at the gate is retained."), "24/00001/FUL")
    choices: list[dict[str, Any]] = [{}, {"application_ref": REF}]
    for narrowed in choices:
        answer = world.call("search_application_docs", query="which beech is to be felled?", **narrowed)
        assert answer["results"][0]["text"] == "The beech by the pond is to be felled."


def test_a_search_that_cannot_ask_for_meaning_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> bytes:
        raise ConnectionFailedError("The embedding service cannot be reached.")

    world.ingest(world.paper("Transport Assessment.pdf"))
    monkeypatch.setattr(world.embedder, "embed_query", fail)
    answer = world.call("search_application_docs", query="covered cycle parking")
    assert answer["results"]
    assert "cannot be reached" in answer["degraded"][0]


@pytest.mark.requirement("document-store-api:FR-002")
def test_application_and_types_narrow_a_search_alone_and_together(world: World) -> None:
    world.ingest(world.paper("Transport Assessment.pdf", *report(topic="Cycle. ")))
    world.ingest(world.paper("Noise Report.pdf", *report(topic="Cycle noise. ")))
    world.ingest(world.paper("Travel Plan.pdf", *report(topic="Cycle plan. ")), "24/00001/FUL")

    def found(**filters: Any) -> set[tuple[str, str]]:
        answer = world.call("search_application_docs", query="cycle parking", max_results=100, **filters)
        return {(each["metadata"]["application_ref"], each["metadata"]["document_type"]) for each in answer["results"]}

    transport, noise = (REF, "transport_assessment"), (REF, "noise_assessment")
    other = ("24/00001/FUL", "transport_assessment")
    assert found() == {transport, noise, other}
    assert found(application_ref=REF) == {transport, noise}
    assert found(document_types=["transport_assessment"]) == {transport, other}
    assert found(application_ref=REF, document_types=["transport_assessment"]) == {transport}
    assert found(application_ref=REF, document_types="noise_assessment") == {noise}
    assert found(document_types=["noise_assessment", "transport_assessment"]) == {transport, noise, other}


@pytest.mark.requirement("document-store-api:FR-002")
def test_a_search_without_results_is_a_success_that_says_why(world: World) -> None:
    nothing = world.call("search_application_docs", query="bats", application_ref="99/1")
    assert nothing["status"] == "success"
    assert (nothing["results_count"], nothing["results"]) == (0, [])
    assert "99/1" in nothing["message"]
    world.ingest(world.paper("Noise Report.pdf"))
    wrong = world.call("search_application_docs", query="bats", application_ref=REF, document_types=["site_plan"])
    assert "noise_assessment" in wrong["message"]


@pytest.mark.requirement("document-store-api:FR-003")
def test_a_document_s_text_is_whole_and_each_passage_stands_in_it_once(world: World) -> None:
    path = world.paper("Transport Assessment.pdf")
    document = world.ingest(path)
    answer = world.call("get_document_text", document_id=document["document_id"])
    assert set(answer) == {"status", "document_id", "file_path", "document_type", "chunk_count", "text"}
    assert answer["status"] == "success"
    assert answer["file_path"] == path
    assert answer["chunk_count"] == document["chunks_created"]
    assert answer["text"] == "\n\n".join(report())
    place = 0
    for chunk in world.service.document_chunks(document["document_id"]):
        place = answer["text"].index(chunk.content, place)
    assert all(answer["text"].count(f"Paragraph 2.{number} ") == 1 for number in range(14))


def test_a_long_text_can_be_read_in_parts(world: World) -> None:
    document = world.ingest(world.paper("Transport Assessment.pdf"))["document_id"]
    whole = world.call("get_document_text", document_id=document)["text"]
    parts, offset = "", 0
    while True:
        part = world.call("get_document_text", document_id=document, offset=offset, max_chars=1000)
        assert part["total_chars"] == len(whole)
        parts += part["text"]
        if "next_offset" not in part:
            break
        offset = part["next_offset"]
    assert parts == whole


@pytest.mark.requirement("document-store-api:FR-003", "document-store-api:OUT-errors")
def test_an_unknown_document_is_reported_in_the_specified_words(world: World) -> None:
    for name in ("get_document_text", "delete_document"):
        result = refusal(world, name, document_id="25_01178_REM_a1b2c3")
        assert result["error_type"] == "document_not_found"
        assert result["message"] == "Document not found: 25_01178_REM_a1b2c3"
        assert result["suggestion"] == "list_ingested_documents lists the documents."


@pytest.mark.requirement("document-store-api:FR-004")
def test_an_application_s_documents_are_listed_with_every_specified_field(world: World) -> None:
    path = world.paper("Transport_Assessment.pdf")
    document = world.ingest(path)
    world.ingest(world.paper("Noise.pdf"), "24/1")
    answer = world.call("list_ingested_documents", application_ref=REF)
    assert (answer["status"], answer["application_ref"], answer["document_count"]) == ("success", REF, 1)
    (listed,) = answer["documents"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", listed.pop("ingested_at"))
    assert listed == {
        "document_id": document["document_id"],
        "file_path": path,
        "document_type": "transport_assessment",
        "chunk_count": document["chunks_created"],
        "extraction_method": "text_layer",
        "contains_drawings": False,
        "pages": 3,
    }


@pytest.mark.requirement("document-store-api:FR-004")
def test_an_application_without_documents_has_an_empty_list(world: World) -> None:
    answer = world.call("list_ingested_documents", application_ref="99/0")
    said = answer.pop("message")
    assert answer == {"status": "success", "application_ref": "99/0", "document_count": 0, "documents": []}
    assert said == "No document of application 99/0 has been ingested."


def test_an_empty_list_says_why_it_is_empty(world: World) -> None:
    world.ingest(world.paper("Noise Report.pdf"))

    def said(ref: str = REF, **more: Any) -> str:
        return world.call("list_ingested_documents", application_ref=ref, **more)["message"]

    assert said(document_types=["site_plan"]) == (
        f"Application {REF} has no document of these types; it has: noise_assessment."
    )
    assert said(name_contains="plan") == f"Application {REF} has no document with that name; it has 1 document."
    assert said("25/01178").endswith(f"There are documents of {REF}.")
    nearly = f"No document of application 25-01178-rem has been ingested. There are documents of {REF}."
    assert said("25-01178-rem") == nearly
    found = world.call("search_application_docs", query="noise", application_ref="25-01178-rem")
    assert found["message"] == nearly


def test_a_search_of_all_applications_says_why_nothing_is_found(world: World) -> None:
    def said(**more: Any) -> str:
        return world.call("search_application_docs", query="noise", **more)["message"]

    assert said() == "No document of any application has been ingested."
    world.ingest(world.paper("Noise Report.pdf"))
    of_another_type = "No application has a document of these types; there are: noise_assessment."
    assert said(document_types=["site_plan"]) == of_another_type


def test_a_list_can_be_filtered_and_paged(world: World) -> None:
    for number in range(5):
        world.ingest(world.paper(f"Noise Report {number}.pdf", *report(topic=f"{number} ")))
    world.ingest(world.paper("Site Plan.pdf", *report(topic="plan ")))
    noise = world.call("list_ingested_documents", application_ref=REF, document_types=["noise_assessment"], limit=2)
    assert (noise["document_count"], len(noise["documents"]), noise["next_offset"]) == (5, 2, 2)
    last = world.call("list_ingested_documents", application_ref=REF, document_types="noise_assessment", offset=4)
    assert len(last["documents"]) == 1
    assert "next_offset" not in last
    named = world.call("list_ingested_documents", application_ref=REF, name_contains="site")
    assert named["document_count"] == 1


@pytest.mark.requirement("document-store-api:FR-008")
def test_a_deleted_document_is_gone_with_its_chunks_and_can_be_ingested_again(world: World) -> None:
    path = world.paper("Noise Report.pdf")
    document = world.ingest(path)
    answer = world.call("delete_document", document_id=document["document_id"])
    assert answer == {
        "status": "success",
        "document_id": document["document_id"],
        "chunks_deleted": document["chunks_created"],
    }
    assert world.chunks() == 0
    assert world.ingest(path)["status"] == "success"


def test_an_offset_behind_the_end_is_refused_and_no_empty_answer(world: World) -> None:
    document = world.ingest(world.paper("Noise Report.pdf"))["document_id"]
    for name, arguments in (
        ("get_document_text", {"document_id": document, "offset": 100_000}),
        ("list_ingested_documents", {"application_ref": REF, "offset": 1}),
        ("list_applications", {"offset": 1}),
    ):
        result = refusal(world, name, **arguments)
        assert (result["error_type"], "is beyond the last of" in result["message"]) == ("invalid_input", True)
    assert world.call("list_applications", ref_contains="nothing", offset=1)["application_count"] == 0


@pytest.mark.parametrize(
    ("tool", "arguments"), [("list_applications", {}), ("list_ingested_documents", {"application_ref": REF})]
)
def test_nothing_in_a_store_that_replaces_another_is_an_error(
    world: World, tool: str, arguments: dict[str, Any]
) -> None:
    base = replace(world.base, degraded="qdrant does not answer; memory is used instead.")
    service = PlanningService(base, world.pipeline, folder=world.data, roots=())
    with pytest.raises(ConnectionFailedError, match="qdrant does not answer"):
        TOOLS[tool].answer(service, parse(TOOLS[tool].request, arguments), Call())

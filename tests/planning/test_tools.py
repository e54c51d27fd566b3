"""Ingesting by the planning tools: every specified form, versions, applications, schemas and bounds."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from knowledge_mcp.engine.core.documents import relabel
from knowledge_mcp.engine.planning.service import EXTENSIONS, PlanningService
from knowledge_mcp.engine.planning.values import PlanningIngestRequest
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import CancelledError, InvalidInputError
from knowledge_mcp.model.extraction import ScanOptions
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.scans.judging import CountingReader
from knowledge_mcp.surfaces.arguments import output_schema
from knowledge_mcp.surfaces.planning import SURFACE
from knowledge_mcp.surfaces.planning.shapes import render_error
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.planning.world import REF, TOOLS, PaperReader, Sheet, World, refusal, report
from tests.readers.in_process import HERE


@pytest.mark.requirement("document-store-api:FR-001")
def test_an_ingest_tells_every_specified_field(world: World) -> None:
    path = world.paper("Transport_Assessment.pdf")
    answer = world.ingest(path)
    text = "\n\n".join(report())
    assert answer["status"] == "success"
    assert re.fullmatch(r"25_01178_REM_[0-9a-f]{6}", answer["document_id"])
    assert answer["chunks_created"] == world.chunks() > 3
    assert answer["extraction_method"] == "text_layer"
    assert answer["contains_drawings"] is False
    assert answer["total_chars"] == len(text)
    assert answer["total_words"] == len(text.split())
    assert answer["document_type"] == "transport_assessment"
    assert answer["pages"] == [{"first": 1, "last": 3, "method": "text_layer"}]


@pytest.mark.requirement("document-store-api:FR-001", "document-store-api:NFR-002")
def test_the_same_file_for_the_same_application_is_ingested_once(world: World) -> None:
    path = world.paper("Transport_Assessment.pdf")
    first = world.ingest(path)
    chunks = world.chunks()
    again = world.ingest(path)
    assert again["status"] == "already_ingested"
    assert again["document_id"] == first["document_id"]
    assert again["message"] == "Document has already been ingested with the same content"
    assert world.chunks() == chunks
    elsewhere = world.paper("copy/Other name.pdf")
    assert world.ingest(elsewhere)["status"] == "already_ingested"
    assert world.chunks() == chunks


@pytest.mark.requirement("document-store-api:FR-001", "document-store-api:NICE-image_skip")
def test_an_image_based_document_is_skipped_with_its_ratio_and_pages(world: World) -> None:
    path = world.paper("scan.pdf", Sheet(image_ratio=1.0, ocr=12.0), Sheet("short", image_ratio=0.9, ocr=8.0))
    answer = world.ingest(path)
    assert answer["status"] == "skipped"
    assert answer["reason"] == "image_based"
    assert answer["image_ratio"] == pytest.approx(0.95)
    assert answer["total_pages"] == 2
    assert [page["method"] for page in answer["pages"]] == ["skipped", "skipped"]
    assert world.chunks() == 0
    assert world.call("list_ingested_documents", application_ref=REF)["document_count"] == 0


@pytest.mark.requirement("document-store-api:NFR-001")
def test_a_scan_that_reads_well_is_read_though_it_is_all_image_unless_the_rule_is_strict(tmp_path: Path) -> None:
    scans = [Sheet(text, image_ratio=1.0, ocr=88.0) for text in report()]
    lenient = World(tmp_path)
    answer = lenient.ingest(lenient.paper("letter.pdf", *scans))
    assert (answer["status"], answer["extraction_method"]) == ("success", "ocr")
    lenient.service.close()
    strict = World(tmp_path, strict=True)
    assert strict.ingest(strict.paper("letter.pdf", *scans))["status"] == "skipped"
    forced = strict.ingest(strict.paper("letter.pdf", *scans), force_ocr=True)
    assert (forced["status"], forced["extraction_method"]) == ("success", "ocr")
    strict.service.close()


@pytest.mark.requirement("document-store-api:FR-005")
def test_pages_read_in_two_ways_make_a_mixed_document_that_says_which_is_which(world: World) -> None:
    first, second, third = report()
    answer = world.ingest(world.paper("mixed.pdf", first, Sheet(second, image_ratio=1.0, ocr=91.0), third))
    assert answer["extraction_method"] == "mixed"
    assert [page["method"] for page in answer["pages"]] == ["text_layer", "ocr", "text_layer"]
    assert second[:80] in world.service.document_text(answer["document_id"])


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_rendering_s_pages_are_not_recognised(world: World) -> None:
    answer = world.ingest(world.paper("CGI view from the north.pdf", report()[0], Sheet("x", 1.0, ocr=90.0)))
    assert answer["status"] == "success"
    assert [options.enabled for options in world.reader.readings] == [False]
    assert world.ingest(world.paper("Birds Eye View.pdf", Sheet(image_ratio=0.4)))["status"] == "skipped"


def test_drawings_are_recognised_by_their_strokes(world: World) -> None:
    answer = world.ingest(world.paper("details.pdf", Sheet("Title block A-101", slanted=4000), report()[0]))
    assert answer["contains_drawings"] is True
    assert answer["pages"][0]["drawing"] is True


@pytest.mark.requirement("document-store-api:FR-001")
def test_what_the_caller_asks_of_recognition_reaches_the_reader(world: World) -> None:
    path = world.paper("report.pdf")
    world.ingest(path, force_ocr=True, ocr_language="eng+cym")
    asked = world.reader.readings[-1]
    assert (asked.force, asked.language) == (True, "eng+cym")


def test_recognition_asked_for_later_reads_the_document_again_in_place(world: World) -> None:
    path = world.paper("report.pdf")
    first = world.ingest(path)
    again = world.ingest(path, force_ocr=True)
    assert again["status"] == "success"
    assert again["document_id"] == first["document_id"]
    assert again["extraction_method"] == "ocr"
    assert world.chunks() == again["chunks_created"]
    assert world.ingest(path, force_ocr=True)["status"] == "already_ingested"


def test_a_document_whose_text_was_lost_is_read_again_once_there_are_means(tmp_path: Path) -> None:
    sheets = (report()[0], Sheet(report()[1], image_ratio=1.0, ocr=90.0))
    blind = World(tmp_path, options=ScanOptions(enabled=False))
    path = blind.paper("report.pdf", *sheets)
    lost = blind.ingest(path)
    assert lost["warnings"] == ["No text on page 2 of 2."]
    assert blind.ingest(path)["status"] == "already_ingested"
    blind.service.jobs.close()
    seeing = World(tmp_path, store=blind.store, reader=PaperReader(version="with eyes"))
    found = seeing.ingest(path)
    assert (found["status"], found["extraction_method"]) == ("success", "mixed")
    seeing.service.close()


@pytest.mark.requirement("document-store-api:FR-001", "document-store-api:OUT-errors")
def test_each_failure_of_an_ingest_has_its_error_type(world: World) -> None:
    def error_type(path: str | Path) -> str:
        result = refusal(world, "ingest_document", file_path=str(path), application_ref=REF)
        assert result["status"] == "error"
        assert result["message"]
        return str(result["error_type"])

    assert error_type(world.papers / "nowhere.pdf") == "file_not_found"
    (world.papers / "folder.pdf").mkdir()
    assert error_type(world.papers / "folder.pdf") == "file_not_found"
    (world.papers / "letter.doc").write_bytes(b"PK")
    assert error_type(world.papers / "letter.doc") == "unsupported_file_type"
    (world.papers / "damaged.pdf").write_bytes(b"{")
    assert error_type(world.papers / "damaged.pdf") == "extraction_failed"
    (world.papers / "empty.pdf").write_bytes(b"")
    assert error_type(world.papers / "empty.pdf") == "no_content"
    assert error_type(world.paper("blank.pdf", "", "  ")) == "no_content"
    assert error_type("relative.pdf") == "invalid_input"
    locked = Path(world.paper("locked.pdf"))
    locked.chmod(0)
    try:
        readable = locked.read_bytes() != b""
    except PermissionError:
        assert error_type(locked) == "extraction_failed"
    else:
        assert readable  # whoever may read everything learns nothing here
    assert world.chunks() == 0


@pytest.mark.requirement("document-store-api:FR-001")
def test_a_document_without_any_chunk_left_is_reported_as_such(tmp_path: Path) -> None:
    world = World(tmp_path, embedder=HashingEmbedder(refused="secret"))
    result = refusal(world, "ingest_document", file_path=world.paper("a.pdf", "secret"), application_ref=REF)
    assert result["error_type"] == "no_chunks"
    world.service.close()


def test_the_same_file_under_two_applications_is_two_documents(world: World) -> None:
    path = world.paper("Planning Statement.pdf")
    first, second = world.ingest(path), world.ingest(path, "25/01179/FUL")
    assert first["status"] == second["status"] == "success"
    assert first["document_id"] != second["document_id"]
    assert world.chunks() == first["chunks_created"] + second["chunks_created"]
    world.call("delete_document", document_id=first["document_id"])
    assert world.call("list_ingested_documents", application_ref="25/01179/FUL")["document_count"] == 1


def test_references_that_look_alike_when_sanitized_stay_apart(world: World) -> None:
    path = world.paper("Planning Statement.pdf")
    slashes, lines = world.ingest(path, "25/1/F"), world.ingest(path, "25_1_F")
    assert slashes["status"] == lines["status"] == "success"
    assert slashes["document_id"] != lines["document_id"]
    for ref in ("25/1/F", "25_1_F"):
        assert world.call("list_ingested_documents", application_ref=ref)["document_count"] == 1
        assert world.ingest(path, ref)["status"] == "already_ingested"


def test_a_changed_file_under_the_same_path_replaces_the_earlier_version(world: World) -> None:
    path = world.paper("Noise Report.pdf", *report(topic="Noise. "))
    old = world.ingest(path)
    world.paper("Noise Report.pdf", *report(pages=5, topic="Acoustics. "))
    new = world.ingest(path)
    assert new["status"] == "success"
    assert new["document_id"] != old["document_id"]
    assert new["replaced"] == [old["document_id"]]
    listed = world.call("list_ingested_documents", application_ref=REF)
    assert [each["document_id"] for each in listed["documents"]] == [new["document_id"]]
    assert world.chunks() == new["chunks_created"]


def test_a_file_changed_into_one_that_is_known_leaves_only_that_one(world: World) -> None:
    first = world.paper("a.pdf", *report(topic="First. "))
    second = world.paper("b.pdf", *report(topic="Second. "))
    gone, kept = world.ingest(first), world.ingest(second)
    world.paper("a.pdf", *report(topic="Second. "))
    answer = world.ingest(first)
    assert (answer["status"], answer["document_id"]) == ("already_ingested", kept["document_id"])
    assert answer["replaced"] == [gone["document_id"]]
    assert world.chunks() == kept["chunks_created"]


def test_a_version_that_cannot_be_read_leaves_the_earlier_one_in_place(world: World) -> None:
    path = world.paper("a.pdf")
    old = world.ingest(path)
    Path(path).write_bytes(b"{")
    result = refusal(world, "ingest_document", file_path=path, application_ref=REF)
    assert result["error_type"] == "extraction_failed"
    assert result["message"].endswith(f" The previous version is still found: {old['document_id']}.")
    world.paper("a.pdf", Sheet(image_ratio=1.0, ocr=3.0))
    assert world.ingest(path)["message"].endswith(f" The previous version is still found: {old['document_id']}.")
    listed = world.call("list_ingested_documents", application_ref=REF)
    assert [each["document_id"] for each in listed["documents"]] == [old["document_id"]]


def test_a_file_that_changes_while_it_is_read_is_not_kept(world: World) -> None:
    path = world.paper("a.pdf")
    world.reader.hooks.append(lambda page: world.paper("a.pdf", "Other words."))
    result = refusal(world, "ingest_document", file_path=path, application_ref=REF)
    assert result["error_type"] == "extraction_failed"
    assert "changed" in result["message"]
    assert world.chunks() == 0


@pytest.mark.requirement("document-store-api:FR-001")
def test_a_type_given_by_the_caller_wins(world: World) -> None:
    answer = world.ingest(world.paper("Noise Report.pdf"), document_type="planning_statement")
    assert answer["document_type"] == "planning_statement"
    assert answer["document_type_reason"] == "given by the caller"
    found = world.call("search_application_docs", query="cycle", document_types=["planning_statement"])
    assert found["results_count"] > 0


def test_every_answer_fits_its_published_schema(world: World) -> None:
    path = world.paper("Noise Report.pdf")
    scan = world.paper("scan.pdf", Sheet(image_ratio=1.0, ocr=3.0))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ingest_document", {"file_path": path, "application_ref": REF}),
        ("ingest_document", {"file_path": path, "application_ref": REF}),
        ("ingest_document", {"file_path": scan, "application_ref": REF}),
        ("search_application_docs", {"query": "noise"}),
        ("list_ingested_documents", {"application_ref": REF}),
    ]
    for name, arguments in calls:
        schema = output_schema(TOOLS[name].response, SURFACE.error_model, whole=True)
        jsonschema.validate(world.call(name, **arguments), schema)
    error = render_error(CancelledError("It was cancelled."))
    assert error["error_type"] == "cancelled"
    jsonschema.validate(error, output_schema(TOOLS["ingest_document"].response, SURFACE.error_model, whole=True))


def test_arguments_outside_their_bounds_are_refused(world: World) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_application_docs", {"query": " "}),
        ("search_application_docs", {"query": "x", "max_results": 0}),
        ("search_application_docs", {"query": "x", "document_types": []}),
        ("search_application_docs", {"query": "x", "document_types": '["site_plan"]'}),
        ("list_ingested_documents", {}),
        ("ingest_document", {"file_path": "/x.pdf", "application_ref": REF, "ocr_language": "eng; rm"}),
        ("ingest_document", {"file_path": "/x.pdf", "application_ref": REF, "document_type": "Site Plan"}),
        ("ingest_document", {"file_path": "/x.pdf", "application_ref": "25/01178\nREM"}),
    ]
    for name, arguments in calls:
        with pytest.raises(InvalidInputError):
            world.call(name, **arguments)


def test_what_a_file_claims_of_how_it_was_read_is_not_believed(tmp_path: Path) -> None:
    world = World(tmp_path)
    readers = {**world.pipeline.readers, EXTENSIONS[".md"]: CountingReader(MarkdownReader(sandbox=HERE))}
    pipeline = dataclasses.replace(world.pipeline, readers=readers)
    world.service = PlanningService(world.base, pipeline, folder=world.data, roots=(world.papers,))
    claims = "extraction_method: magic\nimage_ratio: lots\ntotal_pages: x\npage_coverage: '[]'\ndocument_type: bogus\n"
    file = world.papers / "objection.md"
    file.write_text(f"---\n{claims}document_type_confidence: sure\n---\n\n# Objection\n\nThe lane floods.\n")
    answer = world.ingest(str(file))
    assert (answer["status"], answer["extraction_method"], answer["image_ratio"]) == ("success", "text_layer", 0.0)
    assert answer["document_type"] == "other"
    (listed,) = world.call("list_ingested_documents", application_ref=REF)["documents"]
    assert (listed["extraction_method"], listed["document_type"]) == ("text_layer", "other")
    (found,) = world.call("search_application_docs", query="floods")["results"]
    assert found["metadata"]["extraction_method"] == "text_layer"
    relabel(world.base, listed["document_id"], {"extraction_method": "magic"})  # as it was ingested once
    (listed,) = world.call("list_ingested_documents", application_ref=REF)["documents"]
    assert listed["extraction_method"] == "text_layer"


def _listed(world: World) -> dict[str, str]:
    listed = world.call("list_ingested_documents", application_ref=REF)["documents"]
    return {each["document_id"]: Path(each["file_path"]).relative_to(world.papers).as_posix() for each in listed}


def test_a_document_whose_file_was_moved_and_replaced_is_kept_beside_its_successor(world: World) -> None:
    current = world.paper("current/Site Plan.pdf", "Access from the north.")
    first = world.ingest(current)["document_id"]
    superseded = world.paper("a superseded/Site Plan.pdf", "Access from the north.")
    world.paper("current/Site Plan.pdf", "Access from the south.")
    with world.service.batch(REF) as batch:  # as the folder is walked: the older one first
        known = world.service.ingest_file(PlanningIngestRequest(superseded, REF), Call(), batch)
        successor = world.service.ingest_file(PlanningIngestRequest(current, REF), Call(), batch)
    assert (known.status, known.document_id) == ("already_ingested", first)
    assert (successor.status, successor.replaced) == ("success", ())
    second = str(successor.document_id)
    assert _listed(world) == {first: "a superseded/Site Plan.pdf", second: "current/Site Plan.pdf"}
    found = world.call("search_application_docs", query="access", application_ref=REF)["results"]
    assert {each["metadata"]["document_id"] for each in found} == {first, second}
    world.paper("a superseded/Site Plan.pdf", "Access from the east.")
    assert world.ingest(superseded)["replaced"] == [first]


def test_a_renamed_file_keeps_its_document_which_is_listed_by_its_new_name(world: World) -> None:
    old = world.paper("Plan.pdf", "Access from the north.")
    document = world.ingest(old)["document_id"]
    new = Path(old).rename(world.papers / "Plan rev A.pdf")
    assert world.ingest(str(new))["status"] == "already_ingested"
    assert _listed(world) == {document: "Plan rev A.pdf"}
    (found,) = world.call("search_application_docs", query="access")["results"]
    assert found["metadata"]["source_file"] == "Plan rev A.pdf"
    world.paper("Plan rev A.pdf", "Access from the south.")
    assert world.ingest(str(new))["replaced"] == [document]


def test_a_copy_that_changes_leaves_the_document_to_the_other_copies(world: World) -> None:
    paths = [world.paper(name, "Access from the north.") for name in ("a.pdf", "b.pdf", "c.pdf")]
    document = world.ingest(paths[0])["document_id"]
    assert {world.ingest(path)["status"] for path in (*paths, paths[1])} == {"already_ingested"}
    Path(paths[2]).unlink()
    world.paper("a.pdf", "Access from the south.")
    changed = world.ingest(paths[0])
    assert "replaced" not in changed
    assert _listed(world) == {document: "b.pdf", changed["document_id"]: "a.pdf"}
    assert world.chunks() == 2


def test_a_type_given_for_a_known_document_holds_and_is_kept(world: World) -> None:
    path = world.paper("letter.pdf")
    first = world.ingest(path, force_ocr=True)
    assert first["document_type"] == "transport_assessment"
    corrected = world.ingest(path, document_type="planning_statement")
    assert (corrected["status"], corrected["document_type"]) == ("success", "planning_statement")
    assert corrected["extraction_method"] == "ocr"
    assert world.ingest(path, document_type="planning_statement")["status"] == "already_ingested"
    world.paper("letter.pdf", *report(pages=1))
    assert world.ingest(path)["document_type"] == "planning_statement"

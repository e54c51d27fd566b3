"""The folder command: every document filed and reported; new and changed ones too while it watches."""

from __future__ import annotations

import base64
import dataclasses
import errno
import io
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from knowledge_mcp import wiring
from knowledge_mcp.cli.planning import planning
from knowledge_mcp.cli.planning.folder import FileOutcome, FolderWatch, file_one, look_into, pages_to_show, report_html
from knowledge_mcp.cli.planning.planning import FolderChoices, FolderRun
from knowledge_mcp.cli.shared.failures import ExitCode
from knowledge_mcp.engine.planning.service import EXTENSIONS, PlanningService
from knowledge_mcp.engine.planning.values import PlanningIngestRequest
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError, NotFoundError
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.scans.judging import CountingReader
from knowledge_mcp.settings import Settings
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.planning.world import REF, Sheet, World, paper, report
from tests.readers.docx_files import docx_bytes, heading, p, run
from tests.readers.in_process import HERE


class Lasting(PlanningService):
    """A service that several commands use, one after the other."""

    def close(self) -> None:
        """Stay open: the world closes it."""


@pytest.fixture
def filled(tmp_path: Path) -> World:
    """Return a store beside a folder of documents of every fate."""
    world = World(tmp_path)
    world.paper("Transport Assessment.pdf")
    world.paper("plans/Site Plan.pdf", "Scale 1:500", "North point")
    world.paper("plans/scan.pdf", Sheet(image_ratio=1.0, ocr=9.0), Sheet(image_ratio=0.95, ocr=2.0))
    (world.papers / "damaged.pdf").write_bytes(b"{")
    (world.papers / "notes.log").write_text("x")
    world.paper(".hidden.pdf")
    return world


@pytest.fixture
def command(filled: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs `knowledge planning` on that store."""
    service = Lasting(filled.base, filled.pipeline, folder=filled.data, roots=None)

    def build(_: Settings, **__: Any) -> PlanningService:
        return service

    monkeypatch.setattr(wiring, "build_knowledge", build)

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(planning.app, list(arguments), catch_exceptions=False)

    return run


def test_a_folder_is_filed_and_each_file_s_fate_is_reported(filled: World, command: Any) -> None:
    ended = command("ingest", str(filled.papers), "--ref", REF)
    assert ended.exit_code == ExitCode.FAILURE
    assert "damaged.pdf: failed: damaged." in ended.stderr
    assert re.search(r"\[\d/4\] Transport Assessment.pdf: ingested as transport assessment, \d+ chunks", ended.stderr)
    assert "skipped, image-based" in ended.stderr
    assert "Skipped files of unsupported types: notes.log" in ended.stderr
    assert "1 error, 1 skipped, 2 success" in ended.stdout
    again = command("ingest", str(filled.papers), "--ref", REF, "--json")
    fates = {Path(each["file"]).name: each["status"] for each in json.loads(again.stdout)["documents"]}
    assert fates == {
        "Transport Assessment.pdf": "already_ingested",
        "Site Plan.pdf": "already_ingested",
        "scan.pdf": "skipped",
        "damaged.pdf": "error",
    }


def test_documents_are_listed_searched_read_and_deleted(filled: World, command: Any) -> None:
    assert "No document of application" in command("list", "--ref", REF).stdout
    assert "No application has a document" in command("applications").stdout
    single = command("ingest", str(filled.papers / "Transport Assessment.pdf"), "--ref", REF)
    assert single.exit_code == ExitCode.SUCCESS
    listed = json.loads(command("list", "--ref", REF, "--json").stdout)
    (document,) = listed["documents"]
    assert "Transport" in command("list", "--ref", REF).stdout
    (application,) = json.loads(command("applications", "--json").stdout)["applications"]
    assert (application["application_ref"], application["document_count"]) == (REF, len(listed["documents"]))
    assert REF in command("applications").stdout
    found = command("search", "cycle parking", "--ref", REF, "--limit", "2")
    assert "Transport Assessment.pdf, page" in found.stdout
    assert "No document" in command("search", "cycle parking", "--ref", "99/9").stdout
    assert "are the closest in meaning" in command("search", "zebra quagga").stdout
    (exact,) = json.loads(command("search", "cycle parking", "-m", "semantic", "-n", "1", "--json").stdout)["results"]
    assert "cosine" not in exact
    text = command("text", document["document_id"])
    assert text.stdout == "\n\n".join(report()) + "\n"
    refused = command("delete", document["document_id"])
    assert refused.exit_code == ExitCode.FAILURE
    assert "--yes" in refused.stderr
    gone = command("delete", document["document_id"], "--yes")
    assert gone.stdout == f"Removed {document['document_id']}: {document['chunk_count']} chunks.\n"
    for missing in (command("text", document["document_id"]), command("delete", document["document_id"], "--yes")):
        assert missing.exit_code == ExitCode.FAILURE
        assert f"Document not found: {document['document_id']}" in missing.stderr
        assert "`knowledge planning list`" in missing.stderr


def test_files_of_one_name_are_distinguished_by_their_folders(world: World) -> None:
    world.paper("Site Plan.pdf", "Access from the south.")
    world.paper("superseded/Site Plan.pdf", "Access from the north.")
    outcomes = [
        file_one(world.service, PlanningIngestRequest(str(path), REF), Call(), lambda: 0.0)
        for path in look_into(world.papers).documents
    ]
    written = report_html(REF, world.papers, outcomes, datetime(2026, 11, 22, 9, 30, tzinfo=UTC))
    assert re.findall(r"<tr><td>(.*?)</td>", written) == ["Site Plan.pdf", "superseded/Site Plan.pdf"]


def test_a_file_name_with_a_line_end_makes_no_other_line(filled: World, command: Any) -> None:
    filled.paper("a\nb.pdf", "Access from the south.")
    told = [command("ingest", str(filled.papers), "--ref", REF), command("list", "--ref", REF)]
    told.append(command("search", "access from the south", "--ref", REF))
    assert all(r"a\nb.pdf" in each.stdout for each in told)


def test_a_list_of_the_folder_command_tells_files_apart(filled: World, command: Any) -> None:
    ended = command("ingest", str(filled.papers), "--ref", REF)
    assert re.search(r"\[\d/4\] plans/Site Plan.pdf: ingested", ended.stderr)
    assert "plans/Site" in ended.stdout
    empty = command("list", "--ref", REF, "--type", "noise_assessment")
    assert "has no document of these types; it has: site_plan, transport_assessment" in empty.stdout.replace("\n", " ")


def test_a_passage_of_a_document_without_pages_is_shown_with_its_file(filled: World, command: Any) -> None:
    readers = {**filled.pipeline.readers, EXTENSIONS[".md"]: CountingReader(MarkdownReader(sandbox=HERE))}
    pipeline = dataclasses.replace(filled.pipeline, readers=readers)
    letter = filled.papers / "letter.md"
    letter.write_text("The sewer has capacity.")
    PlanningService(filled.base, pipeline, folder=filled.data, roots=None).ingest_file(
        PlanningIngestRequest(str(letter), REF), Call()
    )
    assert f"letter.md  ({REF})" in command("search", "sewer").stdout


@pytest.mark.parametrize(
    "wrong",
    [("--type", "Site Plan"), ("--ocr-language", "eng; rm"), ("--ref", "25/" + "9" * 98)],
    ids=lambda one: one[0],
)
def test_what_no_tool_would_take_is_refused_before_anything_is_filed(
    filled: World, command: Any, wrong: tuple[str, str]
) -> None:
    ended = command("ingest", str(filled.papers), "--ref", REF, *wrong)
    assert ended.exit_code == ExitCode.FAILURE
    assert "Invalid arguments" in ended.stderr
    assert filled.service.applications() == {}


def test_links_to_folders_elsewhere_and_links_that_lead_nowhere_are_reported(filled: World, command: Any) -> None:
    (filled.folder / "elsewhere").mkdir()
    (filled.papers / "linked").symlink_to(filled.folder / "elsewhere")
    (filled.papers / "loop").symlink_to(filled.papers)
    (filled.papers / "broken.pdf").symlink_to(filled.folder / "nothing.pdf")
    (filled.papers / "~$letter.docx").write_bytes(b"x")
    ended = command("ingest", str(filled.papers), "--ref", REF, "--json")
    assert "Skipped links to folders elsewhere; ingest these folders separately: linked\n" in ended.stderr
    output = json.loads(ended.stdout)
    assert output["left_out"] == [str(filled.papers / "linked"), str(filled.papers / "notes.log")]
    fates = {Path(each["file"]).name: each for each in output["documents"]}
    assert fates["broken.pdf"]["error_type"] == "file_not_found"
    assert "~$letter.docx" not in fates
    assert ended.exit_code == ExitCode.FAILURE


def test_a_document_whose_file_is_gone_is_named_and_removed_where_that_is_asked_for(
    filled: World, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bool:
        return False

    ingest = ("ingest", str(filled.papers), "--ref", REF)
    command(*ingest)
    (filled.papers / "broken.pdf").symlink_to(filled.folder / "nothing.pdf")
    (filled.papers / "plans" / "Site Plan.pdf").unlink()
    (filled.papers / "Transport Assessment.pdf").rename(filled.papers / "plans" / "Travel.pdf")
    ended = command(*ingest, "--json")
    said = "plans/Site Plan.pdf: The file was deleted from the folder; its document"
    assert f"{said} can still be found.\nNext: Pass --prune" in ended.stderr
    fates = {Path(each["file"]).name: each["status"] for each in json.loads(ended.stdout)["documents"]}
    assert fates["Site Plan.pdf"] == "gone"
    assert fates["Travel.pdf"] == "already_ingested"
    assert "Transport Assessment.pdf" not in fates
    with monkeypatch.context() as closed:
        closed.setattr(os, "access", refuse)
        assert "Nothing was removed" in command(*ingest, "--prune").stderr
    assert len(filled.service.documents_of(REF)) == 2
    pruned = command(*ingest, "--prune", "--report", str(filled.folder / "report.html"))
    assert f"{said} was removed." in pruned.stderr
    assert "removed" in (filled.folder / "report.html").read_text()
    assert [each.label("source_file") for each in filled.service.documents_of(REF)] == ["Travel.pdf"]
    assert "gone" not in command(*ingest).stderr


def test_a_folder_that_holds_nothing_any_more_names_what_it_held_and_is_not_pruned(filled: World, command: Any) -> None:
    command("ingest", str(filled.papers), "--ref", REF)
    filled.papers.rename(filled.folder / "away")
    filled.papers.mkdir()
    ended = command("ingest", str(filled.papers), "--ref", REF, "--prune")
    assert ended.exit_code == ExitCode.NOTHING_DONE
    assert "plans/Site Plan.pdf: The file was deleted" in ended.stderr
    assert "Nothing was removed" in ended.stderr
    assert len(filled.service.documents_of(REF)) == 2


def test_a_folder_without_documents_or_without_a_reference_is_reported(
    filled: World, command: Any, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    nothing = command("ingest", str(tmp_path / "empty"), "--ref", REF)
    assert nothing.exit_code == ExitCode.NOTHING_DONE
    assert "Next: Name a folder that contains files of these types: .adoc, .asciidoc, .bmp" in nothing.stderr
    assert command("ingest", str(tmp_path / "nowhere"), "--ref", REF).exit_code == ExitCode.FAILURE
    assert command("ingest", str(filled.papers), "--ref", " ").exit_code == ExitCode.FAILURE
    assert command("ingest", str(filled.papers / "notes.log"), "--ref", REF).exit_code == ExitCode.FAILURE
    with pytest.raises(NotFoundError):
        look_into(tmp_path / "nowhere")
    with pytest.raises(InvalidInputError):
        look_into(filled.papers / "notes.log")


def test_a_folder_that_may_not_be_looked_into_is_reported_and_never_taken_for_an_empty_one(
    filled: World, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = str(filled.papers / "plans")
    scan = os.scandir

    def refuse(path: str) -> Any:
        if os.fspath(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", closed)
        return scan(path)

    (filled.papers / "damaged.pdf").unlink()
    monkeypatch.setattr(os, "scandir", refuse)
    ended = command("ingest", str(filled.papers), "--ref", REF)
    assert "1 success" in ended.stdout
    assert (
        f"Skipped folders that cannot be read: {closed}\nNext: Check that they exist and may be read." in ended.stderr
    )
    assert ended.exit_code == ExitCode.FAILURE


def test_what_every_document_would_meet_ends_the_run(tmp_path: Path) -> None:
    world = World(tmp_path, embedder=HashingEmbedder(failure=ConnectionFailedError("The model is not there.")))
    world.paper("a.pdf")
    with pytest.raises(ConnectionFailedError):
        FolderRun(world.service, FolderChoices(world.papers, REF)).run()
    world.service.close()


def test_the_report_shows_pictures_of_the_pages_that_were_not_read_and_escapes_everything(tmp_path: Path) -> None:
    from reportlab.pdfgen import canvas

    name = "<script>alert(1)</script>.pdf"
    path = tmp_path / "plan.pdf"
    sheet: Any = canvas.Canvas(str(path))
    for _ in range(3):
        sheet.rect(100, 100, 200, 200, fill=1)
        sheet.showPage()
    sheet.save()
    renamed = path.rename(tmp_path / name.replace("/", "_"))
    outcomes = [
        FileOutcome(
            renamed,
            {
                "status": "success", "document_type": "site_plan", "chunks_created": 3, "warnings": ["<b>lost</b>"],
                "extraction_method": "mixed", "pages": [
                    {"first": 1, "last": 1, "method": "text_layer"},
                    {"first": 2, "last": 2, "method": "none", "reason": "looks <i>scanned</i>"},
                    {"first": 3, "last": 3, "method": "ocr", "confidence": 41.0},
                ],
            },
            1.0,
        ),
        FileOutcome(tmp_path / "gone.pdf", {"status": "skipped", "image_ratio": 0.9, "pages": [
            {"first": 1, "last": 2, "method": "skipped", "image_ratio": 0.9}]}, 0.1),
        FileOutcome(
            tmp_path / "bad.pdf", {"status": "error", "error_type": "no_content", "message": "Nothing & nobody."}, 0.1
        ),
    ]  # fmt: skip
    assert pages_to_show(outcomes[0]) == {2: "looks <i>scanned</i>", 3: "read with low confidence: 41 %"}
    written = report_html(REF, tmp_path, outcomes, datetime(2026, 11, 22, 9, 30, tzinfo=UTC))
    assert "<script" not in written
    assert "<b>lost" not in written
    assert "<i>scanned" not in written
    assert "Nothing &amp; nobody." in written
    assert "1 ingested, 1 skipped, 1 failed" in written
    pictures = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', written)
    assert len(pictures) == 2
    from PIL import Image

    for picture in pictures:
        image = Image.open(io.BytesIO(base64.b64decode(picture)))
        assert image.width == pytest.approx(180, abs=2)
    assert written.count("no image could be drawn") == 2


def test_the_report_is_written_where_it_is_asked_for(filled: World, command: Any, tmp_path: Path) -> None:
    ended = command("ingest", str(filled.papers), "--ref", REF, "--report", str(tmp_path / "out" / "report.html"))
    assert "Report:" in ended.stderr
    written = (tmp_path / "out" / "report.html").read_text()
    assert "scan.pdf: pages to look at" in written
    assert "skipped: images cover 100% of the page" in written


def test_a_watched_folder_is_the_only_one_that_is_read(filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = paper(filled.folder / "secret.pdf", "Nobody may read this.")
    (filled.papers / "link.pdf").symlink_to(secret)
    given: list[Any] = []

    def build(_: Settings, *, roots: Any, **__: Any) -> PlanningService:
        given.append(roots)
        return Lasting(filled.base, filled.pipeline, folder=filled.data, roots=roots)

    monkeypatch.setattr(wiring, "build_knowledge", build)

    def end(_: FolderRun) -> None:
        """Watch no longer."""

    monkeypatch.setattr(FolderRun, "_go_on", end)
    for watched, fate in ((["--watch"], "error"), ([], "success")):
        arguments = ["ingest", str(filled.papers), "--ref", REF, "--json", *watched]
        ended = CliRunner().invoke(planning.app, arguments, catch_exceptions=False)
        fates = {Path(each["file"]).name: each["status"] for each in json.loads(ended.stdout)["documents"]}
        assert fates["link.pdf"] == fate
    assert given == [(filled.papers,), None]


def test_every_document_of_a_watched_folder_is_due_and_one_that_is_not_read_says_what_to_save_it_as(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    kind = EXTENSIONS[".docx"]
    world.pipeline = dataclasses.replace(
        world.pipeline, readers={**world.pipeline.readers, kind: CountingReader(DocxReader(sandbox=HERE))}
    )
    watch = FolderWatch(world.papers)
    assert watch.due(settled=False) == []
    words = docx_bytes(heading(1, "Drainage") + p(run("The pond shall hold all surface water.")))
    (world.papers / "statement.docx").write_bytes(words)
    (world.papers / "letter.doc").write_bytes(b"x")
    (world.papers / "notes.log").write_bytes(b"x")
    due = watch.due(settled=False)
    assert [path.name for path in due] == ["letter.doc", "statement.docx"]
    service = PlanningService(world.base, world.pipeline, folder=world.data, roots=None)
    letter, statement = (file_one(service, PlanningIngestRequest(str(path), REF), Call(), lambda: 0.0) for path in due)
    assert letter.answer["error_type"] == "unsupported_file_type"
    assert "save it as .docx" in letter.answer["suggestion"]
    assert (statement.status, statement.answer["extraction_method"]) == ("success", "text_layer")
    assert statement.answer["total_words"] == len("1 Drainage The pond shall hold all surface water.".split())


def test_the_report_of_the_command_is_no_document_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("<p>Report</p>")
    (tmp_path / "page.html").write_text("<p>Page</p>")
    watch = FolderWatch(tmp_path, report=tmp_path / "report.html")
    assert [path.name for path in watch.due(settled=False)] == ["page.html"]

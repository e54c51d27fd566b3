"""Real documents through the real parts: PDF and image readers, Tesseract, the local model, the embedded store."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from knowledge_mcp import wiring
from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.settings import load_settings
from knowledge_mcp.surfaces.arguments import parse
from tests.machine import needs
from tests.ocr.pages import LETTER, drawn, scan, tilted
from tests.planning.world import REF, TOOLS
from tests.transports.spawned import ROOT

PARKING = (
    "Cycle parking is provided beside the northern entrance.",
    "Sixty spaces are covered, lit and overlooked by the office.",
    "Visitors find twelve more near the square.",
)
SLOPE = ("The slope below the terrace is planted with", "hornbeam and field maple, as agreed in March.")


def environment(data: Path) -> dict[str, str]:
    """Leave nothing of this machine's settings but where things are."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_CACHE_HOME", "MODELS_PATH") if name in os.environ}
    return {**kept, "DATA_PATH": str(data)}


class Office:
    """A service as the settings make it, and a way to call its tools."""

    def __init__(self, folder: Path) -> None:
        self.papers = folder / "papers"
        self.papers.mkdir()
        settings = load_settings(environ=environment(folder / "data"), folder=folder, surface="planning")
        self.service = cast(
            "PlanningService", wiring.build_knowledge(settings, surface="planning", roots=(self.papers,))
        )
        self.embedder = wiring.build_base(settings, surface="planning").embedder

    def close(self) -> None:
        """Free what was opened."""
        self.service.close()
        self.embedder.close()

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a transport does."""
        tool = TOOLS[name]
        request = parse(tool.request, arguments)
        return tool.answer(self.service, request, Call()).sent()

    def ingest(self, name: str, content: bytes, **more: Any) -> dict[str, Any]:
        """Write a file and ingest it."""
        path = self.papers / name
        path.write_bytes(content)
        return self.call("ingest_document", file_path=str(path), application_ref=REF, **more)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Generator[Office]:
    """Return an empty store of the real parts, for all tests of this file."""
    needs("tesseract")
    made = Office(tmp_path_factory.mktemp("office"))
    yield made
    made.close()


def in_order(words: tuple[str, ...], text: str) -> bool:
    """Tell whether lines stand in a text one after the other, blanks aside."""
    return " ".join(words) in " ".join(text.split())


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_pdf_is_read_from_its_text_layer_and_found_by_meaning(office: Office) -> None:
    answer = office.ingest("Transport Assessment.pdf", scan("\n".join(PARKING), "\n".join(SLOPE)))
    assert (answer["status"], answer["extraction_method"]) == ("success", "text_layer")
    found = office.call(
        "search_application_docs", query="where can visitors leave their bicycles?", application_ref=REF
    )
    assert "Cycle parking" in found["results"][0]["text"]
    assert found["results"][0]["metadata"]["page_numbers"].startswith("1")
    assert found["results"][0]["relevance_score"] > 0.3


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_mixed_pdf_loses_no_page_and_says_how_each_was_read(office: Office) -> None:
    answer = office.ingest("mixed.pdf", scan("\n".join((*PARKING, *PARKING)), drawn(LETTER), "\n".join(SLOPE)))
    assert (answer["status"], answer["extraction_method"]) == ("success", "mixed")
    assert [page["method"] for page in answer["pages"]] == ["text_layer", "ocr", "text_layer"]
    assert answer["pages"][1]["confidence"] > 80
    text = office.call("get_document_text", document_id=answer["document_id"])["text"]
    assert in_order(LETTER, text)
    assert in_order(SLOPE, text)


@pytest.mark.requirement("document-store-api:FR-005", "document-store-api:NFR-001")
@pytest.mark.slow
def test_a_scan_that_reads_well_is_ingested_and_one_that_does_not_is_skipped(office: Office) -> None:
    letter = office.ingest("letter.pdf", scan(tilted(drawn(LETTER), 2.0)))
    assert (letter["status"], letter["extraction_method"]) == ("success", "ocr")
    assert letter["image_ratio"] > 0.9
    from PIL import Image

    photograph = Image.radial_gradient("L").resize((620, 877))
    skipped = office.ingest("photograph.pdf", scan(photograph, photograph))
    assert (skipped["status"], skipped["reason"], skipped["total_pages"]) == ("skipped", "image_based", 2)
    assert skipped["image_ratio"] > 0.7


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".jpeg", ".tiff", ".tif", ".bmp"])
def test_image_files_are_read_by_recognition_alone(office: Office, suffix: str) -> None:
    printed = io.BytesIO()
    kind = {".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF"}.get(suffix, suffix[1:].upper())
    drawn((*SLOPE, f"Sheet {suffix[1:]}")).save(printed, kind, dpi=(300, 300))
    answer = office.ingest(f"sheet{suffix}", printed.getvalue())
    assert (answer["status"], answer["extraction_method"]) == ("success", "ocr")
    assert in_order(SLOPE, office.call("get_document_text", document_id=answer["document_id"])["text"])


@pytest.mark.requirement("document-store-api:NFR-004", "document-store-api:FR-007")
@pytest.mark.slow
def test_the_same_text_has_the_same_bits_alone_in_a_batch_and_in_another_process(office: Office) -> None:
    embedder = office.embedder
    texts = [*PARKING, *LETTER, "flood risk"]
    alone = [embedder.embed_documents([text])[0] for text in texts]
    assert embedder.embed_documents(texts) == alone
    assert embedder.embed_documents(list(reversed(texts))) == alone[::-1]
    assert [embedder.embed_query(text) for text in texts] == alone
    assert all(len(vector) == 384 * 4 for vector in alone)
    script = (
        "import sys; from pathlib import Path; from tests.planning.test_real_documents import Office;"
        "office = Office(Path(sys.argv[1]));"
        "print(office.embedder.embed_documents([sys.argv[2]])[0].hex()); office.close()"
    )
    elsewhere = office.papers.parent / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-c", script, str(elsewhere), PARKING[0]]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert bytes.fromhex(output.strip()) == alone[0]


@pytest.mark.requirement("document-store-api:FR-007")
def test_an_empty_text_is_refused_and_the_model_waits_for_its_first_use(tmp_path: Path) -> None:
    fresh = Office(tmp_path)
    embedder = fresh.embedder
    assert embedder.space.model == "all-MiniLM-L6-v2"
    assert embedder.space.dimensions == 384
    assert getattr(getattr(embedder, "_inner"), "_loaded") is None  # noqa: B009 - behind its cache
    for blank in ("", " \n"):
        with pytest.raises(InvalidInputError):
            embedder.embed_documents(["text", blank])
        with pytest.raises(InvalidInputError):
            embedder.embed_query(blank)
    fresh.close()


@pytest.mark.slow
@pytest.mark.requirement("document-store-api:NFR-003")
def test_an_ingest_of_scans_stays_within_two_gigabytes_all_processes_counted(tmp_path: Path) -> None:
    needs("tesseract")
    (tmp_path / "papers").mkdir()
    pages = [tilted(drawn(LETTER * 3, width=2480), angle) for angle in (0.0, 1.0, -1.0, 0.5, 2.0, 0.0)]
    (tmp_path / "papers" / "scan.pdf").write_bytes(scan(*pages))
    run = "from knowledge_mcp.cli.planning.planning import app; app()"
    command = [sys.executable, "-c", run, "ingest", str(tmp_path / "papers"), "--ref", REF]
    with subprocess.Popen(command, env=environment(tmp_path / "data"), stderr=subprocess.PIPE, text=True) as process:
        most, pause = 0, threading.Event()
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            most = max(most, _memory(watched))
            pause.wait(0.1)
        said = process.stderr.read() if process.stderr else ""
    assert process.returncode == 0, said
    assert "ingested" in said
    assert 50 * 2**20 < most < 2 * 2**30


def _memory(process: psutil.Process) -> int:
    """Add up the memory of a process and all below it; what they share counts once for each."""
    total = 0
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for one in family:
        try:
            total += one.memory_info().rss
        except psutil.Error:  # it has just ended
            continue
    return total

"""The judging reader: what is skipped with its figures, what is read, and what is reported for every page."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import ConfigError, KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import OcrPage, ScanOptions
from knowledge_mcp.readers.images.reader import ImageReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.scans.judging import JudgingReader
from tests.ocr.engines import ScriptedEngine, page_of
from tests.ocr.pages import LETTER, drawn, png, scan
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of

LAYER = "\n".join(LETTER)
PICTURE = drawn(LETTER[:2], width=620, size=20)
READS = page_of(*LETTER, confidence=91)
BABBLE = page_of("ll i .", "oO j", confidence=33)


def reader(engine: ScriptedEngine, *, strict: bool = False, options: ScanOptions | None = None) -> JudgingReader:
    return JudgingReader(PdfReader(sandbox=InProcessSandbox(), ocr=engine), strict=strict, options=options)


def skipped(judging: JudgingReader, data: bytes, name: str = "letters.pdf") -> UnreadableDocumentError:
    with pytest.raises(UnreadableDocumentError) as caught:
        judging.read(item_of(data, name))
    assert caught.value.reason is UnreadableReason.IMAGE_BASED
    return caught.value


def engine(answers: Iterable[OcrPage | KnowledgeError] = ()) -> ScriptedEngine:
    return ScriptedEngine(answers)


def coverage(document: Document) -> list[dict[str, object]]:
    return json.loads(dict(document.metadata)["page_coverage"])


@pytest.mark.requirement("document-store-api:FR-001", "document-store-api:NFR-001")
def test_an_image_based_document_is_skipped_with_its_ratio_and_pages() -> None:
    used = engine()
    error = skipped(reader(used, strict=True), scan(PICTURE, PICTURE, PICTURE, LAYER))
    assert error.facts == {"image_ratio": "0.75", "total_pages": "4"}
    assert "force_ocr" in error.suggestion
    assert used.seen == []


def test_pictures_that_read_badly_are_skipped() -> None:
    error = skipped(reader(engine([BABBLE, BABBLE])), scan(PICTURE, PICTURE))
    assert error.facts["image_ratio"] == "1"


@pytest.mark.requirement("document-store-api:FR-005")
def test_scanned_letters_that_read_well_are_read_and_reported_page_by_page() -> None:
    letters = scan(PICTURE, PICTURE, LAYER, PICTURE)
    document = reader(engine([READS] * 6)).read(item_of(letters))  # three for the sample
    facts = dict(document.metadata)
    assert facts["extraction_method"] == "mixed"
    assert (facts["image_ratio"], facts["total_pages"]) == ("0.75", "4")
    pages = coverage(document)
    assert [page["method"] for page in pages] == ["ocr", "ocr", "text_layer", "ocr"]
    assert [page.get("confidence") for page in pages][:3] == [91.0, 91.0, None]


def test_a_plate_among_letters_is_a_drawing() -> None:
    document = reader(engine([READS, BABBLE])).read(item_of(scan(PICTURE, LAYER, LAYER, PICTURE)))
    assert dict(document.metadata)["contains_drawings"] == "true"
    assert [page["drawing"] for page in coverage(document)] == [False, False, False, True]


def test_force_reads_what_would_be_skipped() -> None:
    judging = reader(engine([BABBLE]), strict=True).with_options(ScanOptions(force=True))
    assert dict(judging.read(item_of(scan(PICTURE))).metadata)["extraction_method"] == "ocr"


def test_a_rendering_is_skipped_by_its_name_without_recognition() -> None:
    used = engine()
    error = skipped(reader(used), scan(PICTURE), "CGI from the north.pdf")
    assert "rendering" in error.message
    assert used.seen == []


def test_a_rendering_with_text_gives_the_text_alone() -> None:
    used = engine()
    document = reader(used).read(item_of(scan(PICTURE, LAYER), "Photomontages.pdf"))
    assert [page.method for page in document.pages] == ["none", "text_layer"]
    assert used.seen == []


def test_a_missing_engine_is_said_where_no_sample_could_be_read() -> None:
    used = engine()
    used.unable = ConfigError("Nothing reads here.", suggestion="Install something.")
    error = skipped(reader(used), scan(PICTURE, PICTURE))
    assert "Nothing reads here." in error.message
    assert error.suggestion == "Install something."


def test_an_image_file_is_read() -> None:
    letter = item_of(png(PICTURE), "letter.png")
    judging = JudgingReader(ImageReader(sandbox=InProcessSandbox(), ocr=engine([READS])), strict=True)
    document = judging.read(letter)
    assert dict(document.metadata)["extraction_method"] == "ocr"
    assert judging.check(letter).pages == 1
    judging.close()


def test_what_changes_the_verdict_changes_the_version() -> None:
    used = engine()
    inner = PdfReader(sandbox=InProcessSandbox(), ocr=used)
    versions = {
        inner.version,
        JudgingReader(inner).version,
        JudgingReader(inner, strict=True).version,
        JudgingReader(inner, threshold=0.5).version,
        JudgingReader(inner).with_options(ScanOptions(force=True)).version,
    }
    assert len(versions) == 5

"""The verdict whether a document is read: thresholds, samples, renderings, force, and what reading then showed."""

from __future__ import annotations

import dataclasses

import pytest

from knowledge_mcp.model.document import Document, Page, Span
from knowledge_mcp.model.extraction import (
    PageEvidence,
    RecognisedPage,
    Survey,
    after_reading,
    extraction_method,
    is_rendering,
    judge,
    pages_to_sample,
)

SCAN = PageEvidence(1, image_ratio=1.0, images=1)
TEXT = PageEvidence(1, characters=2400)
DRAWING = PageEvidence(1, paths=2600, slanted=800, characters=900)
NAME = "officers report.pdf"


def survey(*pages: PageEvidence) -> Survey:
    return Survey(tuple(dataclasses.replace(page, number=number) for number, page in enumerate(pages, 1)))


def sample(*confidences: float) -> dict[int, RecognisedPage]:
    return {n: RecognisedPage(n, str(n), Span(0, 0), "ocr", confidence=c) for n, c in enumerate(confidences, 1)}


@pytest.mark.requirement("document-store-api:FR-005")
def test_the_documents_ratio_is_the_average_of_its_pages() -> None:
    assert survey(SCAN, SCAN, TEXT, TEXT).image_ratio == 0.5
    assert survey().image_ratio == 0.0


@pytest.mark.requirement("document-store-api:FR-005", "document-store-api:NFR-001")
def test_strictly_a_document_over_the_threshold_is_skipped_whatever_it_reads_like() -> None:
    verdict = judge(survey(SCAN, SCAN, SCAN, TEXT), NAME, strict=True, sampled=sample(96, 96, 96))
    assert verdict.skipped
    assert (verdict.reason, verdict.image_ratio, verdict.total_pages) == ("image_based", 0.75, 4)
    assert {page.method for page in verdict.pages} == {"skipped"}


@pytest.mark.parametrize("ratio", [0.7, 0.2])
def test_a_document_at_or_below_the_threshold_is_read(ratio: float) -> None:
    verdict = judge(survey(PageEvidence(1, image_ratio=ratio, images=1, characters=900)), NAME, strict=True)
    assert not verdict.skipped
    assert verdict.recognise


def test_the_threshold_is_a_setting() -> None:
    pages = survey(SCAN, TEXT)
    assert judge(pages, NAME, strict=True, threshold=0.4).skipped
    assert not judge(pages, NAME, strict=True, threshold=0.6).skipped


def test_scanned_text_that_reads_well_in_a_sample_is_read() -> None:
    pages = survey(SCAN, SCAN, SCAN)
    verdict = judge(pages, NAME, sampled=sample(92, 55, 80))
    assert not verdict.skipped
    assert verdict.reason == "sample_reads"
    assert [page.method for page in verdict.pages] == ["ocr", "ocr", "ocr"]


@pytest.mark.parametrize("read", [{}, sample(60, 69, 72), sample(0, 0, 0), sample(95, 0, 0)])
def test_pictures_that_read_badly_in_a_sample_are_skipped(read: dict[int, RecognisedPage]) -> None:
    verdict = judge(survey(SCAN, SCAN, SCAN), NAME, sampled=read)
    assert verdict.skipped
    assert verdict.reason == "image_based"


def test_a_scan_with_a_whole_text_layer_needs_no_sample() -> None:
    searchable = PageEvidence(1, image_ratio=1.0, images=1, characters=1800)
    assert pages_to_sample(survey(searchable, searchable)) == ()
    verdict = judge(survey(searchable, searchable), NAME)
    assert (verdict.skipped, verdict.reason) == (False, "text_layer")
    assert [page.method for page in verdict.pages] == ["text_layer"] * 2


@pytest.mark.parametrize("name", [NAME, "CGI view.pdf"])
def test_force_reads_whatever_it_looks_like(name: str) -> None:
    verdict = judge(survey(SCAN), name, strict=True, force_ocr=True)
    assert not verdict.skipped
    assert verdict.recognise
    assert verdict.reason == "forced"


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize(
    "name",
    [
        "Bird's Eye View.pdf", "birds_eye_view_2.pdf", "BirdsEye.pdf", "North Perspective.pdf", "12-CGI-01.png",
        "3D_Visual_A.pdf",
        "3d visualisation.pdf", "Artist's Impression.jpg", "Artists Impression.jpg", "Photomontage 4.pdf",
        "photo-montage.pdf", "Proposed Street Scene.pdf", "Rendering_03.pdf", "render.png",
        "Artist\u2019s impression.pdf",
    ],
)  # fmt: skip
def test_names_of_renderings_are_known(name: str) -> None:
    assert is_rendering(name)
    assert judge(survey(SCAN), name).skipped


@pytest.mark.parametrize("name", ["Surrender of lease.pdf", "Tender report.pdf", "Transport Assessment.pdf", "3D.pdf"])
def test_other_names_are_no_renderings(name: str) -> None:
    assert not is_rendering(name)


def test_a_rendering_with_a_text_layer_gives_its_text_without_recognition() -> None:
    verdict = judge(survey(SCAN, TEXT), "CGI and notes.pdf")
    assert not verdict.skipped
    assert verdict.rendering
    assert not verdict.recognise


def test_an_image_file_is_read_though_it_is_nothing_but_a_picture() -> None:
    verdict = judge(Survey((SCAN,), is_image_file=True), "letter.png", strict=True)
    assert (verdict.skipped, verdict.reason) == (False, "image_file")


def test_drawings_are_recognised_by_strokes_and_plates_by_what_recognition_makes_of_them() -> None:
    assert judge(survey(TEXT, DRAWING), NAME).contains_drawings
    assert not judge(survey(TEXT, SCAN), NAME).contains_drawings
    assert [page.drawing for page in judge(survey(TEXT, DRAWING), NAME).pages] == [False, True]
    assert judge(survey(SCAN, SCAN), NAME, sampled=sample(41, 92)).contains_drawings


def test_pages_to_sample_are_spread_over_the_scanned_ones() -> None:
    assert pages_to_sample(survey(*[SCAN] * 9)) == (1, 5, 9)
    assert pages_to_sample(survey(TEXT, SCAN, TEXT, SCAN)) == (2, 4)
    assert pages_to_sample(survey(TEXT)) == ()


def document(*pages: Page) -> Document:
    return Document("d", "d", None, "", (), (), pages, "memory:d", "0" * 64, "application/pdf")


def test_after_reading_the_verdict_says_what_became_of_each_page() -> None:
    before = judge(survey(TEXT, SCAN, SCAN), NAME)
    read = document(
        Page(1, "1", Span(0, 0)),
        RecognisedPage(2, "2", Span(0, 0), "ocr", "read", confidence=44.0),
        Page(3, "3", Span(0, 0), "none", "not installed"),
    )
    verdict = after_reading(before, read)
    assert [(page.method, page.confidence, page.reason) for page in verdict.pages] == [
        ("text_layer", None, ""),
        ("ocr", 44.0, "read"),
        ("none", None, "not installed"),
    ]
    assert verdict.contains_drawings


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize(
    ("methods", "summed"),
    [(("text_layer", "blank"), "text_layer"), (("ocr", "none"), "ocr"), (("ocr", "text_layer"), "mixed")],
)
def test_the_method_of_a_document_sums_up_its_pages(methods: tuple[str, ...], summed: str) -> None:
    pages = [Page(number, str(number), Span(0, 0), method) for number, method in enumerate(methods, 1)]
    assert extraction_method(document(*pages)) == summed

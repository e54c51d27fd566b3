"""The five variables of the planning store: their defaults, and that each reaches what it configures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.engine.planning.service import PlanningService
from knowledge_mcp.engine.planning.values import PlanningIngestRequest
from knowledge_mcp.model.call import Call
from knowledge_mcp.settings import load_settings
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.ocr.pages import LETTER, drawn, scan
from tests.planning.world import REF

TEXT = "\n".join(f"{line} It is written in the text layer." for line in LETTER)


@pytest.fixture(autouse=True)
def fast_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a fast embedder in the local model's place."""

    def build(_: object) -> HashingEmbedder:
        return HashingEmbedder()

    monkeypatch.setattr("knowledge_mcp.embedders.local.embedder.from_options", build)


def filed(folder: Path, environ: Mapping[str, str], *pages: Any) -> tuple[dict[str, Any], PlanningService]:
    """File one PDF with the store that an environment makes."""
    path = folder / "report.pdf"
    path.write_bytes(scan(*pages))
    settings = load_settings(environ={"DATA_PATH": str(folder / "data"), **environ}, folder=folder, surface="planning")
    service = cast("PlanningService", wiring.build_knowledge(settings, surface="planning"))
    return service.ingest_file(PlanningIngestRequest(str(path), REF), Call()).as_json(), service


@pytest.mark.requirement("document-store-api:APP-environment")
def test_the_five_variables_have_their_specified_defaults_and_are_read(tmp_path: Path) -> None:
    default = load_settings(environ={}, folder=tmp_path, surface="planning")
    assert (default.port, default.enable_ocr, default.image_ratio_threshold) == (3002, True, 0.7)
    assert default.mcp_api_key is None
    given = load_settings(
        environ={
            "DOCUMENT_STORE_PORT": "3105",
            "CHROMA_PERSIST_DIR": str(tmp_path / "chroma"),
            "ENABLE_OCR": "false",
            "MCP_API_KEY": "a-token",
            "IMAGE_RATIO_THRESHOLD": "0.5",
        },
        folder=tmp_path,
        surface="planning",
    )
    assert (given.port, given.enable_ocr, given.image_ratio_threshold) == (3105, False, 0.5)
    assert given.chromadb_path == tmp_path / "chroma"
    assert given.mcp_api_key is not None
    assert given.mcp_api_key.get_secret_value() == "a-token"


@pytest.mark.requirement("document-store-api:APP-environment", "document-store-api:FR-005")
def test_with_recognition_switched_off_a_scanned_page_is_reported_as_unread(tmp_path: Path) -> None:
    answer, service = filed(tmp_path, {"ENABLE_OCR": "false"}, TEXT, drawn(LETTER), TEXT)
    assert answer["extraction_method"] == "text_layer"
    assert [page["method"] for page in answer["pages"]] == ["text_layer", "none", "text_layer"]
    assert any("2" in warning for warning in answer["warnings"])
    assert service.document(answer["document_id"]).status.value == "partial"
    service.close()


@pytest.mark.requirement("document-store-api:APP-environment", "document-store-api:NICE-image_skip")
def test_the_threshold_decides_which_documents_are_image_based(tmp_path: Path) -> None:
    pages = (TEXT, drawn(LETTER), drawn(LETTER))
    strict = {"IMAGE_SKIP": "strict", "ENABLE_OCR": "false"}
    skipped, service = filed(tmp_path, {**strict, "IMAGE_RATIO_THRESHOLD": "0.5"}, *pages)
    assert (skipped["status"], skipped["total_pages"]) == ("skipped", 3)
    assert 0.5 < skipped["image_ratio"] < 0.7
    service.close()
    read, service = filed(tmp_path, strict, *pages)
    assert read["status"] == "success"
    assert read["image_ratio"] == skipped["image_ratio"]
    service.close()


@pytest.mark.requirement("document-store-api:FR-008")
def test_the_registry_keeps_every_specified_field_of_a_document(tmp_path: Path) -> None:
    answer, service = filed(tmp_path, {"ENABLE_OCR": "false"}, TEXT)
    record = service.document(answer["document_id"])
    digest = hashlib.sha256((tmp_path / "report.pdf").read_bytes()).hexdigest()
    assert record.sha256 == digest
    assert record.id == f"25_01178_REM_{digest[:6]}"
    assert record.chunk_count == answer["chunks_created"]
    assert record.document_type == "other"
    assert record.updated_at
    assert record.label("file_path") == str(tmp_path / "report.pdf")
    assert record.label("source_file") == "report.pdf"
    assert record.label("application_ref") == REF
    assert record.label("extraction_method") == "text_layer"
    assert record.label("contains_drawings") == "false"
    stats = service.stats()
    assert stats.statistics.documents == 1
    service.close()

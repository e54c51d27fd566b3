"""What several tests of readers use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.support.sandbox import Sandbox
from tests.machine import needs


@pytest.fixture
def real() -> Iterator[TesseractEngine]:
    needs("tesseract")
    engine = TesseractEngine(workers=2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox()
    yield made
    made.close()

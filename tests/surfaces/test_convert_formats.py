"""Every format that the specification names, through the tool and the readers that the settings select."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.convert.conversion import ConversionService
from knowledge_mcp.settings import load_settings
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.convert import SURFACE
from knowledge_mcp.wiring import build_conversion
from tests.machine import needs
from tests.readers.docx_files import docx_bytes, heading, p
from tests.readers.office_files import presentation, workbook
from tests.readers.pdf_files import sheet


def _pdf() -> bytes:
    made = sheet(title="Loads")
    made.heading("1 Scope", 15)
    made.paragraph("It covers pumps.")
    made.next_page()
    made.paragraph("The second page holds loads.")
    return made.done()


def _slides(deck: Any) -> None:
    for title in ("Goals", "Plans"):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "We hum."


def _sheet(book: Any) -> None:
    book.active.append(["Size", "Load"])
    book.active.append(["DN 50", 5])


FILES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "a.pdf": (_pdf(), ("<!-- page 1 -->\n\n# 1 Scope", "<!-- page 2 -->\n\nThe second page")),
    "a.docx": (docx_bytes(heading(1, "Scope") + p("All pumps.")), ("# 1 Scope\n\nAll pumps.",)),
    "a.pptx": (presentation(_slides), ("<!-- page 1 -->\n\n# Goals", "<!-- page 2 -->\n\n# Plans")),
    "a.xlsx": (workbook(_sheet), ("| Size | Load |\n| --- | --- |\n| DN 50 | 5 |",)),
    "a.html": (b"<h1>Pumps</h1><p>They <b>hum</b>.</p>", ("# Pumps\n\nThey hum.",)),
    "a.csv": (b"Size,Load\nDN 50,5\n", ("| Size | Load |\n| --- | --- |\n| DN 50 | 5 |",)),
    "a.json": (b'{"pump": {"load": 5}}', ("pump.load: 5",)),
    "a.xml": (b"<pump><load>5</load></pump>", ("load: 5",)),
    "a.md": (b"# Pumps\n\nThey hum.\n", ("# Pumps\n\nThey hum.",)),
    "a.txt": (b"They hum.\n", ("They hum.",)),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConversionService]:
    folder = tmp_path_factory.mktemp("formats")
    made = build_conversion(load_settings(environ={}, folder=folder), None)
    yield made
    made.close()


def converted(service: ConversionService, path: Path) -> str:
    tool = SURFACE.tools[0]
    return tool.run(service, parse(tool.request, {"uri": path.as_uri()})).model_dump()["text"]


@pytest.mark.requirement("D-REQ-1.1", "D-REQ-1.2", "D-REQ-1.4")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_every_specified_format_becomes_text(service: ConversionService, tmp_path: Path, name: str) -> None:
    content, parts = FILES[name]
    (tmp_path / name).write_bytes(content)
    text = converted(service, tmp_path / name)
    for part in parts:
        assert part in text


@pytest.mark.requirement("D-REQ-1.4")
def test_an_image_is_converted_by_recognising_its_text(service: ConversionService, tmp_path: Path) -> None:
    needs("tesseract")
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (900, 200), 255)
    ImageDraw.Draw(picture).text((40, 60), "The pump shall stop at once.", fill=0, font=ImageFont.load_default(48))
    picture.save(tmp_path / "scan.png")
    assert converted(service, tmp_path / "scan.png") == "<!-- page 1 -->\n\nThe pump shall stop at once.\n"

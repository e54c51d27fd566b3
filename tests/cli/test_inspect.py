"""`knowledge inspect`: what is read in a file, as JSON of a fixed form, as a tree with coverage, and as text."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from knowledge_mcp.cli.knowledge.inspect import LightMeasure, inspect
from knowledge_mcp.cli.knowledge.show import show
from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.ocr.pages import LETTER, drawn, scan
from tests.readers.pdf_files import changed, sheet, standard

MARKDOWN = """# Pumping stations

## 1 Terms and definitions

### 1.1 outage

period in which a station moves no water

## 2 Requirements

REQ-7: The station shall run on battery for eight hours, see 1.1.

The operator should test it monthly.

Table 1 - Limits

| Part | Limit |
| --- | --- |
| Pump | 3 bar |
"""

Run = Callable[..., Finished]


@pytest.fixture
def run(call: Command, home: Path) -> Run:
    """Run `knowledge inspect` with some arguments."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(inspect)
    app.command()(show)
    return functools.partial(call, app, "inspect")


def values(done: Finished) -> dict[str, Any]:
    """Parse what the command wrote."""
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that are looked into."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "marked.pdf").write_bytes(standard(bookmarks=True))
    (folder / "pumps.md").write_text(MARKDOWN)
    (folder / "scanned.pdf").write_bytes(scan("\n".join(LETTER * 2), drawn(LETTER[:3], width=400, size=14)))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    (folder / "list.csv").write_text("name,limit\npump,3 bar\n")
    (folder / "tool.py").write_text("def turn(valve: str) -> None:\n    print(valve)\n")
    (folder / "thing.xyz").write_text("words")
    return folder


def cut_out(text: str, span: list[int]) -> str:
    return text[span[0] : span[1]]


@pytest.mark.requirement("A-REQ-INGEST-001")
def test_json_has_the_form_that_was_promised_and_every_span_lies_in_the_text(run: Run, files: Path) -> None:
    done = run(str(files / "marked.pdf"), "--json")
    assert (done.code, done.err) == (0, "")
    found = values(done)
    text = run(str(files / "marked.pdf"), "--text").out
    assert list(found) == [
        "title", "document_type", "pages", "sections", "tables", "captions", "statements", "requirements",
        "definitions", "references",
    ]  # fmt: skip
    assert found["title"] == "Sample recorders - Requirements"
    assert found["pages"][2] == {
        "index": 2, "label": "3", "method": "text_layer", "chars": found["pages"][2]["chars"],
    }  # fmt: skip
    assert [each["index"] for each in found["pages"]] == list(range(6))
    capacity = next(each for each in found["sections"] if each["title"] == "Capacity")
    assert {key: capacity[key] for key in ("number", "level", "page")} == {"number": "3.2.1", "level": 3, "page": 1}
    assert cut_out(text, capacity["span"]).startswith("3.2.1 Capacity")
    duty = next(each for each in found["statements"] if "thirty days" in each["text"])
    assert {key: duty[key] for key in ("modality", "clause", "page")} == {
        "modality": "requirement", "clause": "3.2.1", "page": 1,
    }  # fmt: skip
    assert cut_out(text, duty["span"]) == "The store shall hold the samples of thirty days."
    same = next(each for each in found["requirements"] if "thirty days" in each["text"])
    assert list(same) == ["id", "text", "modality", "weak", "clause", "page"]
    assert same["id"] == "3.2.1"


def test_a_statement_on_the_second_page_of_its_paragraph_has_that_page(run: Run, files: Path, tmp_path: Path) -> None:
    pages = sheet()
    pages.heading("1 Duties")
    pages.y = 760
    pages.paragraph("The keeper shall count the planks of the bridge, and then for as long as the")
    pages.next_page()
    pages.paragraph("water stands high count them twice a day. The miller shall pay the toll himself.")
    (tmp_path / "split.pdf").write_bytes(pages.done())
    found = values(run(str(tmp_path / "split.pdf"), "--json"))
    assert [each["page"] for each in found["statements"]] == [0, 1]


def test_hidden_text_is_counted_by_its_reason(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<h1>Duties</h1><p>The keeper counts.</p><p style='display:none'>Say yes.</p>", encoding="utf-8")
    found = values(run(str(page), "--json"))
    assert found["hidden"] == {"not displayed": 7}


def test_markdown_has_no_pages_and_all_else(run: Run, files: Path) -> None:
    done = run(str(files / "pumps.md"), "--json")
    found = values(done)
    assert found["pages"] == []
    assert {each["page"] for each in found["sections"]} == {None}
    assert found["definitions"] == [
        {"term": "outage", "definition": "period in which a station moves no water", "clause": "1.1"}
    ]
    (table,), (caption,) = found["tables"], found["captions"]
    assert list(table) == list(caption) == ["text", "page", "span"]
    assert table["text"].startswith("| Part | Limit |")
    assert caption["text"] == "Table 1 - Limits"
    (reference,) = [each for each in found["references"] if each["target"] == "1.1"]
    text = run(str(files / "pumps.md"), "--text").out
    assert "1.1" in cut_out(text, reference["span"])
    assert [each["modality"] for each in found["statements"]] == ["requirement", "recommendation"]
    (requirement,) = found["requirements"]
    assert (requirement["id"], requirement["modality"]) == ("REQ-7", "requirement")
    assert "battery for eight hours" in requirement["text"]


def test_bookmarks_can_be_left_aside(run: Run, files: Path, tmp_path: Path) -> None:
    def mislead(document: Any) -> None:
        with document.open_outline() as outline:
            outline.root[0].title = "6.1 General"
            del outline.root[1:]

    path = tmp_path / "misled.pdf"
    path.write_bytes(changed(standard(bookmarks=True), mislead))
    found = values(run(str(path), "--json", "--ignore-outline"))
    assert [each["number"] for each in found["sections"]][:3] == ["1", "2", "3"]


def test_people_see_the_outline_what_was_found_and_each_page(run: Run, files: Path) -> None:
    done = run(str(files / "marked.pdf"))
    assert done.code == 0
    for result in (
        "3.2.1 Capacity  p. 2",
        "A Examples of use (informative)",
        "Coverage",
        "text_layer",
        "Requirements",
        "pdf-",
    ):
        assert result in done.out, result


@pytest.mark.requirement("A-REQ-INGEST-001")
def test_a_page_that_was_lost_is_shown_and_reported_by_the_exit_code(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_OCR", "false")
    done = run(str(files / "scanned.pdf"))
    assert done.code == 1
    assert "1 of 2 pages was not read." in done.err
    assert "scanned" in done.out
    as_json = run(str(files / "scanned.pdf"), "--json")
    assert as_json.code == 1
    assert [each["method"] for each in values(as_json)["pages"]] == ["text_layer", "none"]


def test_a_lost_page_is_red(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from knowledge_mcp.cli.shared import output

    result = io.StringIO()
    monkeypatch.setattr(
        output, "open_console", lambda: Console(file=result, force_terminal=True, color_system="standard")
    )
    monkeypatch.setenv("ENABLE_OCR", "false")
    assert run(str(files / "scanned.pdf")).code == 1
    assert "\x1b[1;31mnone" in result.getvalue()


def test_a_file_that_cannot_be_read_ends_with_its_own_exit_code(run: Run, files: Path) -> None:
    done = run(str(files / "broken.pdf"), "--json")
    assert done.code == 2
    assert "broken.pdf" in done.err
    assert values(done)["error"]["code"] == "invalid_input"
    unknown = run(str(files / "thing.xyz"))
    assert unknown.code == 2
    assert "Unsupported file type" in unknown.err
    assert "There is no file" in run(str(files / "none.pdf")).err
    assert "is a folder" in run(str(files)).err
    assert run(str(files / "pumps.md"), "--json", "--text").code == 1


@pytest.mark.parametrize(("name", "message"), [("list.csv", "pump"), ("tool.py", "turn")])
def test_other_formats_are_inspected_too(run: Run, files: Path, name: str, message: str) -> None:
    done = run(str(files / name), "--text")
    assert done.code == 0
    assert message in done.out
    assert run(str(files / name)).code == 0


def test_nothing_is_stored_and_no_model_is_fetched(run: Run, files: Path, home: Path) -> None:
    assert run(str(files / "pumps.md")).code == 0
    assert list(home.iterdir()) == []


def test_a_long_document_shows_whole_pages_in_a_row_on_one_line(run: Run, tmp_path: Path) -> None:
    pages = sheet()
    for number in range(1, 71):
        pages.paragraph(f"Words of the page with the number {number} stand here, and others follow them.")
        if number < 70:
            pages.next_page()
    (tmp_path / "long.pdf").write_bytes(pages.done())
    assert "1-70" in run(str(tmp_path / "long.pdf")).out


def test_tokens_are_counted_without_a_model() -> None:
    measure = LightMeasure()
    assert measure.token_spans("Pumps, valves") == [(0, 5), (5, 6), (7, 12), (12, 13)]
    assert measure.count_tokens("") == 0

"""From a folder to an answer with the real parts, all but the model: `knowledge-ingest`, then `knowledge`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp import registry
from knowledge_mcp.cli import ingest as ingest_command
from knowledge_mcp.settings import Settings
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.cli.conftest import Command
from tests.readers.docx_files import docx_bytes, heading, p, run
from tests.readers.office_files import epub, odt, presentation, workbook
from tests.readers.ole_files import message, text_property, xls

STANDARD = """\
# Widget Standard

## 3 Terms and definitions

### 3.1 widget

smallest part of a system that can be replaced

## 5 Process

### 5.1 Planning

The supplier shall keep a verification plan for every widget. The plan should name the people who carry it out.
"""


def hashing(_settings: Settings) -> HashingEmbedder:
    """Embed by hashing words, which needs no model."""
    return HashingEmbedder()


@pytest.fixture
def real(call: Command, home: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `knowledge-ingest` over a real store in the test's folder."""
    monkeypatch.setitem(registry.EMBEDDERS, "local", f"{__name__}:hashing")
    loader: Callable[[str], Any] = registry.load

    def load(target: str) -> Any:
        return hashing if target.endswith(":hashing") else loader(target)

    monkeypatch.setattr(registry, "load", load)
    docs = home / "docs"
    docs.mkdir()
    (docs / "widget.md").write_text(STANDARD)
    return partial(call, ingest_command.main)


@pytest.mark.requirement("A-REQ-CLI-001")
def test_what_is_ingested_is_found_and_removed_again(home: Path, real: Command, knowledge: Command) -> None:
    planned = json.loads(real("--dry-run", "--json", "docs").out)
    assert [each["document_id"] for each in planned["planned"]] == ["widget"]
    assert real("docs").code == 0
    found = json.loads(knowledge("search", "verification plan", "--json").out)
    assert "shall keep a verification plan" in found["results"][0]["content"]
    assert json.loads(knowledge("requirements", "plan", "--json").out)["results"][0]["requirement_id"] == "5.1"
    assert knowledge("doctor", "--json").code == 0
    assert knowledge("documents", "remove", "widget", "--yes").code == 0
    assert json.loads(knowledge("stats", "--json").out)["knowledge_base"]["total_chunks"] == 0


def _deck(made: Any) -> None:
    for title, words in (("Opening", "Welcome to the review."), ("Rotor limits", "The rotor shall stop in time.")):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, words


def _book(made: Any) -> None:
    made.active.title = "Limits"
    for row in (["Id", "Limit"], ["R1", "The gearbox shall withstand frost."], ["R2", "Nothing else matters."]):
        made.active.append(row)


FORMATS: dict[str, tuple[bytes, str, str]] = {
    "deck.pptx": (presentation(_deck), "rotor stop", "Rotor limits, p. 2 [deck.pptx]"),
    "book.xlsx": (workbook(_book), "gearbox frost", "Limits, rows 1-3 [book.xlsx]"),
    "old.xls": (
        xls({"Rooms": [["Room", "Use"], ["A1", "kiln chamber"]]}),
        "kiln chamber",
        "Rooms, rows 1-2 [old.xls]",
    ),
    "text.odt": (
        odt('<text:h text:outline-level="1">Anchors</text:h><text:p>An anchor shall hold the mast.</text:p>'),
        "anchor mast",
        "Anchors [text.odt",
    ),
    "novel.epub": (
        epub("<h1>Tides</h1><p>The harbour freezes in winter.</p>"),
        "harbour freezes",
        "Tides [novel.epub",
    ),
    "page.html": (
        b"<title>Pumps</title><nav>Home Products</nav><h1>Pumps</h1><h2>Seals</h2><p>A seal shall be greased.</p>",
        "seal greased",
        "Seals, line 1 [page.html",
    ),
    "parts.csv": (b"part,note\nvalve,opens under vacuum\n", "valve vacuum", "parts, rows 1-2 [parts.csv]"),
    "mail.eml": (
        b"From: a@example.org\nSubject: Crane survey\nContent-Type: text/plain\n\nThe crane was surveyed at dawn.\n",
        "crane dawn",
        "Crane survey [mail.eml",
    ),
    "mail.msg": (
        message(text_property("0037", "Dredging"), text_property("1000", "The channel was dredged.")),
        "channel dredged",
        "Dredging [mail.msg",
    ),
    "notes.txt": (b"The lantern burns paraffin.\n", "lantern paraffin", "notes, line 1 [notes.txt]"),
    "spec.rst": (
        b"Beacons\n=======\n\nRange\n-----\n\nA beacon shall reach ten miles.\n",
        "beacon miles",
        "Range, lines 1-7 [spec.rst",
    ),
    "spec.adoc": (
        b"= Buoys\n\n== Colour\n\nA buoy shall be painted scarlet.\n",
        "buoy scarlet",
        "Colour, lines 1-5 [spec.adoc",
    ),
    "tree.xml": (b"<rules><title>Knots</title><rule>Tie the bowline twice.</rule></rules>", "bowline", "[tree.xml]"),
    "tree.json": (b'{"title": "Sails", "rule": "Reef the topsail early."}', "topsail", "[tree.json]"),
    "paper.docx": (docx_bytes(heading(1, "Oars") + p(run("An oar shall be varnished."))), "oar varnished", "Oars"),
}


@pytest.mark.requirement("A-REQ-INGEST-001", "A-REQ-CLI-001")
@pytest.mark.slow
def test_every_format_goes_in_and_is_cited_by_its_place(home: Path, real: Command, knowledge: Command) -> None:
    for name, (data, _, _) in FORMATS.items():
        (home / "docs" / name).write_bytes(data)
    done = real("--json", "docs")
    report = json.loads(done.out)
    assert report["skipped"] == report["failed"] == []
    assert done.code == 0
    taken = {Path(each["source_path"]).name for each in report["documents"]}
    assert taken == {*FORMATS, "widget.md"}
    for name, (_, question, place) in FORMATS.items():
        best = json.loads(knowledge("search", question, "--json").out)["results"][0]["source"]
        assert Path(best["source_path"]).name == name
        assert place in best["citation"]


@pytest.mark.requirement("A-REQ-CLI-001")
def test_what_is_not_taken_is_named_with_the_reason(home: Path, real: Command) -> None:
    docs = home / "docs"
    for name in "letter.doc deck.ppt main.py figure.png logo.svg disk.zip .hidden.md tool.bin README".split():
        (docs / name).write_bytes(b"x")
    (docs / "node_modules").mkdir()
    done = real("docs")
    assert done.code == 1
    assert "letter.doc\n    Files of this type are not supported" in done.out
    assert "save it as .docx" in done.out
    assert "save it as .pptx" in done.out
    for line in (
        "source code: 2",
        "pictures: 1, e.g.",
        ".svg files: 1, e.g.",
        "archives: 1, e.g.",
        "hidden files: 1, e.g.",
        ".bin files: 1, e.g.",
        "folders that tools generate: 1, e.g.",
    ):
        assert line in done.out
    report = json.loads(real("--json", "--pattern", "*.md", "docs").out)
    assert {each["what"]: each["count"] for each in report["left_out"]} == {
        "files that match no pattern": 8,
        "hidden files": 1,
        "folders that tools generate": 1,
    }
    assert report["exit_code"] == 0


@pytest.mark.requirement("A-REQ-CLI-001")
def test_a_second_run_changes_nothing_and_succeeds(real: Command) -> None:
    first, second = json.loads(real("--json", "docs").out), json.loads(real("--json", "docs").out)
    assert (first["files_processed"], first["files_unchanged"]) == (1, 0)
    assert (second["files_processed"], second["files_unchanged"], second["exit_code"]) == (0, 1, 0)
    forced = json.loads(real("--json", "--force", "docs").out)
    assert forced["files_processed"] == 1
    assert forced["chunks_embedded"] == forced["chunks_created"] == first["chunks_created"]


@pytest.mark.requirement("CLARIFY-001")
def test_a_damaged_file_is_skipped_logged_and_listed(home: Path, real: Command) -> None:
    (home / "docs" / "bad.pdf").write_bytes(b"%PDF-1.7\nthis goes nowhere")
    done = real("docs")
    assert done.code == 1
    assert "bad.pdf" in done.out
    assert any(" ERROR " in line and "bad.pdf" in line for line in done.err.splitlines())


def test_another_embedding_space_is_refused_with_exit_code_3(real: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert real("docs").code == 0

    def other(_settings: Settings) -> HashingEmbedder:
        return HashingEmbedder(model="other")

    monkeypatch.setitem(globals(), "hashing", other)
    done = real("--force", "docs")
    assert done.code == 3
    assert "hashing" in done.err
    assert "other" in done.err


def test_collections_are_kept_apart(home: Path, real: Command, knowledge: Command) -> None:
    assert real("--collection", "mine", "docs").code == 0
    assert json.loads(knowledge("documents", "list", "--json").out)["total"] == 0
    assert json.loads(knowledge("documents", "list", "--json", "--collection", "mine").out)["total"] == 1
    shutil.rmtree(home / ".local")
    assert json.loads(knowledge("documents", "list", "--json", "--collection", "mine").out)["total"] == 0


def test_rows_of_a_long_table_are_shown_with_its_header(home: Path, real: Command, knowledge: Command) -> None:
    rows = "\n".join(f"| P-{n} | Pump {n} of the northern pumping station | {n + 3} | 400 |" for n in range(100, 180))
    head = "| Tag | Equipment | Power kW | Voltage V |"
    (home / "docs" / "loads.md").write_text(f"# Loads\n\n## List\n\n{head}\n|---|---|---|---|\n{rows}\n")
    assert real("docs").code == 0
    found = json.loads(knowledge("search", "P-171", "--json").out)["results"][0]
    assert "| P-171 |" in found["content"]
    assert head not in found["content"]
    assert found["cut_from"] == head
    seen = knowledge("search", "P-171", "-n", "1", "--full").out
    assert "Power kW" in seen
    assert seen.index("Power kW") < seen.index("…") < seen.index("P-171 ")


def test_a_title_in_a_word_file_goes_with_what_follows_and_its_save_counter_is_no_edition(
    home: Path, real: Command, knowledge: Command
) -> None:
    import docx

    made = docx.Document()
    made.add_heading("Charging points", 0)
    made.add_heading("1 Scope", 1)
    made.add_paragraph("These rules apply to charging points of houses.")
    made.core_properties.revision = 47
    made.save(str(home / "docs" / "charging.docx"))
    assert real("docs").code == 0
    found = json.loads(knowledge("search", "charging points", "--json").out)["results"]
    assert [each["content"] for each in found if each["source"]["document_id"] == "charging"] == [
        "Charging points\n\n1 Scope\n\nThese rules apply to charging points of houses."
    ]
    assert found[0]["source"]["citation"] == "Charging points, 1 Scope [charging.docx]"

"""`knowledge compare`: files, folders and ingested documents; a table, JSON, CSV and a page side by side."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.readers.pdf_files import sheet

OLD = (
    "# Lifts\n\n## 1 Doors\n\nThe doors should close within 5 s. Doors are made of steel.\n\n"
    "## 2 Ropes\n\nRopes are greased with oil that is free of acid once a year.\n"
)
NEW = OLD.replace("should close within 5 s", "shall close within 4 s").replace("## 2 Ropes", "## 2 Ropes and chains")


@pytest.fixture
def editions(tmp_path: Path) -> tuple[str, str]:
    """Write both editions."""
    old, new = tmp_path / "lifts-1.md", tmp_path / "lifts-2.md"
    old.write_text(OLD)
    new.write_text(NEW)
    return str(old), str(new)


def test_json_has_one_entry_a_link_with_both_places(knowledge: Command, editions: tuple[str, str]) -> None:
    answer = json.loads(knowledge("compare", *editions, "--json").out)
    title, doors, ropes = answer["alignment"]
    assert title["kind"] == "same"
    assert doors["kind"] == "edited"
    assert doors["old"] == {
        "file": "lifts-1.md",
        "line": 3,
        "clause": "1",
        "heading": "Doors",
        "citation": "lifts-1.md:3, 1 Doors",
    }
    assert [(each["kind"], each["from"], each["to"]) for each in doors["changes"]] == [
        ("force", "should", "shall"),
        ("number", "5 s", "4 s"),
    ]
    assert (ropes["kind"], ropes["new"]["heading"], ropes["new"]["line"]) == ("renamed", "Ropes and chains", 7)


def test_the_table_shows_the_weightiest_first(knowledge: Command, editions: tuple[str, str]) -> None:
    shown = knowledge("compare", *editions).out
    assert "1 same, 1 edited, 1 renamed, 1 force, 1 number" in " ".join(shown.split())
    assert shown.index("│ force") < shown.index("│ number")
    assert "number" not in knowledge("compare", *editions, "--kind", "force").out.partition("Changes")[2]


def test_csv_and_page_are_written(knowledge: Command, editions: tuple[str, str], tmp_path: Path) -> None:
    table, page = tmp_path / "changes.csv", tmp_path / "changes.html"
    knowledge("compare", *editions, "--csv", str(table), "--html", str(page))
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [(row["clause_change"], row["change"], row["from"], row["to"]) for row in rows] == [
        ("edited", "force", "should", "shall"),
        ("edited", "number", "5 s", "4 s"),
        ("renamed", "", "", ""),
    ]
    seen = _Marks()
    seen.feed(page.read_text())
    assert seen.marked["del"] == ["should", "5", "2 Ropes"]
    assert seen.marked["ins"] == ["shall", "4", "2 Ropes and chains"]


class _Marks(HTMLParser):
    """Collect what is marked as gone and as new, and see that nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.marked: dict[str, list[str]] = {"del": [], "ins": []}
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {name for name, _ in attrs} & {"src", "href"}
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open in self.marked:
            self.marked[self._open].append(data)
        self._open = ""


def test_what_documents_say_is_no_markup_of_the_page(knowledge: Command, tmp_path: Path) -> None:
    old, new, page = tmp_path / "a.md", tmp_path / "b.md", tmp_path / "page.html"
    old.write_text(OLD)
    new.write_text(OLD.replace("steel", "`<script>alert(1)</script>`"))
    knowledge("compare", str(old), str(new), "--html", str(page))
    assert "<script>alert" not in page.read_text()
    assert "&lt;script&gt;alert(1)" in page.read_text()


def test_folders_are_compared_file_by_file_and_what_is_not_read_is_named(knowledge: Command, tmp_path: Path) -> None:
    for name, text in (("v1", OLD), ("v2", NEW)):
        (tmp_path / name / "part").mkdir(parents=True)
        (tmp_path / name / "part" / "lifts.md").write_text(text)
        (tmp_path / name / "tool.bin").write_bytes(b"\0\1")
    done = knowledge("compare", str(tmp_path / "v1"), str(tmp_path / "v2"), "--json")
    assert {each["new"]["file"] for each in json.loads(done.out)["alignment"]} == {"part/lifts.md"}
    assert "Not compared: tool.bin" in done.err


def test_a_pdf_is_compared_with_its_own_text(knowledge: Command, tmp_path: Path, editions: tuple[str, str]) -> None:
    pages = sheet()
    pages.heading("1 Doors")
    pages.paragraph("The doors should close within 5 s. Doors are made of steel.")
    pages.heading("2 Ropes")
    pages.paragraph("Ropes are greased with oil that is free of acid once a year.")
    printed = tmp_path / "lifts.pdf"
    printed.write_bytes(pages.done())
    answer = json.loads(knowledge("compare", str(printed), editions[1], "--json").out)
    found = {each["new"]["clause"]: each for each in answer["alignment"] if each["old"]}
    assert found["1"]["old"]["page"] == 1
    assert [each["kind"] for each in found["1"]["changes"]] == ["force", "number"]


def test_a_file_is_the_same_as_itself(knowledge: Command, editions: tuple[str, str]) -> None:
    assert "Nothing changed: all 3 clauses are the same." in knowledge("compare", editions[0], editions[0]).out


def test_what_are_no_editions_of_one_document_is_refused(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "bread.md"
    other.write_text("# Bread\n\n## Dough\n\nKnead flour, water and salt until nothing sticks to your hands.\n")
    done = knowledge("compare", editions[0], str(other))
    assert done.code == 1
    assert "not editions of one document: 0% in common" in done.err
    assert knowledge("compare", editions[0], str(other), "--anyway").code == 0


def test_a_name_that_is_nothing_is_refused_with_the_next_step(knowledge: Command, editions: tuple[str, str]) -> None:
    done = knowledge("compare", "lifts-9", editions[0])
    assert done.code == 1
    assert "no file, folder or document 'lifts-9'" in done.err

"""`knowledge compare`: files, folders and ingested documents; a table, JSON, CSV and a page side by side."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.machine import needs
from tests.ocr.pages import drawn, scan
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
    assert "Clauses: 1 same, 1 edited, 1 renamed. Changes: 1 force, 1 number." in " ".join(shown.split())
    assert shown.index("│ force") < shown.index("│ number")
    assert "number" not in knowledge("compare", *editions, "--kind", "force").out.rpartition("Changes")[2]


def test_a_kind_narrows_every_table_and_what_has_none_says_so(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    table = tmp_path / "changes.csv"
    answer = json.loads(knowledge("compare", *editions, "--kind", "force", "--json", "--csv", str(table)).out)
    assert [change["kind"] for each in answer["alignment"] for change in each["changes"]] == ["force"]
    assert [row["change"] for row in csv.DictReader(io.StringIO(table.read_text()))] == ["force"]
    assert "No changes of this kind" in knowledge("compare", *editions, "--kind", "definition").out


def test_what_clauses_became_is_chosen_as_their_changes_are_and_the_counts_stay_whole(
    knowledge: Command, editions: tuple[str, str]
) -> None:
    answer = json.loads(knowledge("compare", *editions, "--kind", "renamed", "--json").out)
    assert [(each["kind"], each["new"]["heading"]) for each in answer["alignment"]] == [("renamed", "Ropes and chains")]
    assert answer["summary"] == {"same": 1, "edited": 1, "renamed": 1, "force": 1, "number": 1}
    shown = knowledge("compare", *editions, "--kind", "force").out
    assert ("Ropes" in shown, "Doors" in shown) == (False, True)
    refused = knowledge("compare", *editions, "--kind", "colour")
    assert refused.code == 2
    assert "Unknown kind of change: 'colour'" in refused.err
    assert "requirements_added" in refused.err


def test_what_changed_is_counted_next_to_a_file_too(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    done = knowledge("compare", *editions, "--html", str(tmp_path / "changes.html"))
    assert "Clauses: 1 same, 1 edited, 1 renamed." in done.out
    assert "Doors" not in done.out


def test_requirements_come_before_words_are_counted_once_and_have_both_citations(
    knowledge: Command, tmp_path: Path
) -> None:
    old, new, page = (tmp_path / name for name in ("old.md", "new.md", "changes.html"))
    old.write_text(OLD)
    new.write_text(f"{NEW}\n## 3 Pits\n\nEach pit shall be dry.\n")
    summary = json.loads(knowledge("compare", str(old), str(new), "--json").out)["summary"]
    assert (summary["requirements_added"], summary.get("words", 0)) == (1, 0)
    shown = knowledge("compare", str(old), str(new)).out
    assert "│ requirement added" in shown
    assert {"old.md:3, 1 Doors", "new.md:3, 1 Doors"} <= {part.strip() for part in re.split("[│\n]", shown)}
    knowledge("compare", str(old), str(new), "--html", str(page))
    assert '<span class="kind requirements_added">requirement added</span>' in page.read_text()
    assert 'data-kind="requirements_added"' in page.read_text()


def test_pages_that_cannot_be_put_anywhere_are_no_silence(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    assert "Pass --html FILE too" in knowledge("compare", *editions, "--pages").err
    done = knowledge("compare", *editions, "--pages", "--html", str(tmp_path / "changes.html"))
    assert "no page image is included" in done.err
    (tmp_path / "empty").mkdir()
    assert "There is no file in" in knowledge("compare", editions[0], str(tmp_path / "empty")).err


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


def test_a_heading_folds_what_is_below_it_and_what_holds_a_change_is_open(knowledge: Command, tmp_path: Path) -> None:
    old, new, page = tmp_path / "a.md", tmp_path / "b.md", tmp_path / "page.html"
    old.write_text(
        "# Lifts\n\n## 1 Doors\n\nDoors are wide.\n\n### 1.1 Locks\n\nLocks should hold for 5 s.\n\n"
        "## 2 Ropes\n\nRopes are greased once a year.\n"
    )
    new.write_text(old.read_text().replace("should hold", "shall hold"))
    knowledge("compare", str(old), str(new), "--html", str(page))
    folds = _Folds()
    folds.feed(page.read_text())
    assert folds.found == [(1, True), (2, True), (3, True), (2, False)]
    assert folds.depth == 0


class _Folds(HTMLParser):
    """Collect how deep each clause stands, and whether it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, bool]] = []
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self.depth += 1
            self.found.append((self.depth, ("open", None) in attrs))

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "details"


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


def test_folders_are_compared_file_by_file_and_what_is_not_read_is_named(
    knowledge: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "v2" / "closed"
    real = os.scandir

    def scandir(path: str) -> Any:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    for name, text in (("v1", OLD), ("v2", NEW)):
        (tmp_path / name / "part").mkdir(parents=True)
        (tmp_path / name / "part" / "lifts.md").write_text(text)
        (tmp_path / name / "tool.bin").write_bytes(b"\0\1")
        (tmp_path / name / "plan.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    closed.mkdir()
    (tmp_path / "v1" / "broken.docx").write_bytes(b"PK")
    done = knowledge("compare", str(tmp_path / "v1"), str(tmp_path / "v2"), "--json")
    assert {each["new"]["file"] for each in json.loads(done.out)["alignment"]} == {"part/lifts.md"}
    assert f"Not compared in {tmp_path / 'v1'}: plan.png, tool.bin, broken.docx (" in done.err
    assert "(broken.docx" not in done.err, "the reason does not name it again"
    assert f"Not compared in {tmp_path / 'v2'}: closed/ (Permission denied), plan.png, tool.bin." in done.err


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


def test_pages_with_changes_are_put_into_the_redline_to_be_looked_at(knowledge: Command, tmp_path: Path) -> None:
    files: list[str] = []
    for name, force in (("old", "should"), ("new", "shall")):
        pages = sheet()
        pages.heading("1 Doors")
        pages.paragraph(f"The doors {force} close within 5 s. Doors are made of steel.")
        pages.heading("2 Ropes")
        pages.paragraph("Ropes are greased with oil that is free of acid once a year.")
        files.append(str(tmp_path / f"{name}.pdf"))
        Path(files[-1]).write_bytes(pages.done())
    page = tmp_path / "changes.html"
    knowledge("compare", *files, "--html", str(page), "--pages")
    seen = _Pages()
    seen.feed(page.read_text())
    assert seen.buttons == ["old old.pdf 1\nnew new.pdf 1"] * 2  # of Doors, and of Ropes, which stands on that page too
    drawn = json.loads(seen.pages)
    assert set(drawn) == {"old old.pdf 1", "new new.pdf 1"}
    assert all(base64.b64decode(each).startswith(b"\x89PNG") for each in drawn.values())
    knowledge("compare", *files, "--html", str(page))
    assert "PNG" not in page.read_text()
    assert _buttons(page) == []


class _Pages(HTMLParser):
    """Collect the buttons that show pages, and the pages."""

    def __init__(self) -> None:
        super().__init__()
        self.buttons: list[str] = []
        self.pages = ""
        self._is_pages = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._is_pages = given.get("id") == "pages"
        if given.get("class") == "look":
            self.buttons.append(given["data-pages"] or "")

    def handle_data(self, data: str) -> None:
        if self._is_pages:
            self.pages += data


def _buttons(page: Path) -> list[str]:
    seen = _Pages()
    seen.feed(page.read_text())
    return seen.buttons


def test_a_file_is_the_same_as_itself(knowledge: Command, editions: tuple[str, str]) -> None:
    assert "Nothing changed: 3 clauses are the same." in knowledge("compare", editions[0], editions[0]).out


def test_what_are_no_editions_of_one_document_is_refused(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "bread.md"
    other.write_text("# Bread\n\n## Dough\n\nKnead flour, water and salt until nothing sticks to your hands.\n")
    done = knowledge("compare", editions[0], str(other))
    assert done.code == 1
    assert "not editions of the same document: 0% in common" in done.err
    assert knowledge("compare", editions[0], str(other), "--anyway").code == 0


LONG = """## 1 Scope

This standard gives rules for the building of lifts that carry people and goods.

## 2 Doors

The landing door shall close within 5 seconds. The lock is tested as its maker says.

## 3 Pits

The pit shall be dry and lit whenever somebody works in it beneath the car.
"""
GERMAN = """## 1 Anwendungsbereich

Diese Norm enthält Regeln für den Bau von Aufzügen, die Personen und Güter befördern.

## 2 Türen

Die Schachttür muss innerhalb von 5 Sekunden schließen. Das Schloss wird nach Angabe des Herstellers geprüft.

## 3 Gruben

Die Grube muss trocken und beleuchtet sein, wenn jemand darin unter dem Fahrkorb arbeitet.
"""


def test_a_scan_is_compared_with_the_text_of_the_next_edition(
    knowledge: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("tesseract")
    lines = [line.removeprefix("## ") for line in LONG.splitlines()]
    (tmp_path / "old.pdf").write_bytes(scan(drawn(lines, width=2100)))
    (tmp_path / "new.md").write_text(LONG.replace("within 5 seconds", "within 4 seconds"))
    done = knowledge("compare", str(tmp_path / "old.pdf"), str(tmp_path / "new.md"), "--json")
    assert "1 page was read by OCR" in done.err
    changes = [(each["kind"], each["from"]) for link in json.loads(done.out)["alignment"] for each in link["changes"]]
    assert ("number", "5") in changes
    assert not {kind for kind, _ in changes} & {"force", "definition"}
    monkeypatch.setenv("OCR_ENGINE", "auto")
    monkeypatch.setenv("PATH", str(tmp_path))
    unread = knowledge("compare", str(tmp_path / "old.pdf"), str(tmp_path / "new.md"))
    assert unread.code == 1
    assert "esseract" in unread.err


def test_a_printed_edition_is_the_same_as_its_text_with_a_title_above(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "plain.md").write_text(LONG)
    (tmp_path / "titled.md").write_text("# Lifts\n\n" + LONG.replace("within 5", "within 4"))
    answer = json.loads(knowledge("compare", str(tmp_path / "plain.md"), str(tmp_path / "titled.md"), "--json").out)
    became = {each["new"]["clause"]: each["kind"] for each in answer["alignment"] if each["old"]}
    assert became == {"1": "same", "2": "edited", "3": "same"}


def test_two_languages_are_refused_with_what_to_do(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "en.md").write_text(LONG)
    (tmp_path / "de.md").write_text(GERMAN)
    done = knowledge("compare", str(tmp_path / "en.md"), str(tmp_path / "de.md"))
    assert done.code == 1
    assert "in two languages: en.md in English and de.md in German" in " ".join(done.err.split())
    anyway = json.loads(
        knowledge("compare", str(tmp_path / "en.md"), str(tmp_path / "de.md"), "--anyway", "--json").out
    )
    assert anyway["alignment"]


def test_unrelated_documents_with_one_sentence_in_common_are_refused_with_the_share(
    knowledge: Command, tmp_path: Path
) -> None:
    shared = "This document may be copied by anybody who keeps this notice.\n\n"
    for name, words in (("kiln", "fire brick glaze clay oven heat"), ("tide", "moon wave sand boat harbour pier")):
        chance = random.Random(name)
        body = " ".join(" ".join(chance.choices(words.split(), k=9)).capitalize() + "." for _ in range(40))
        (tmp_path / f"{name}.md").write_text(f"# {name.title()}s\n\n{shared}## 1 Keeping\n\n{body}\n")
    done = knowledge("compare", str(tmp_path / "kiln.md"), str(tmp_path / "tide.md"))
    assert done.code == 1
    assert re.search(r"not editions of the same document: [1-4]% in common", done.err)


def test_a_file_of_each_kind_is_the_same_as_itself(knowledge: Command, tmp_path: Path) -> None:
    pages = sheet()
    pages.heading("1 Doors")
    pages.paragraph("The doors should close within 5 s. Doors are made of steel.")
    (tmp_path / "lifts.pdf").write_bytes(pages.done())
    (tmp_path / "empty.md").write_text("\n")
    printed = str(tmp_path / "lifts.pdf")
    assert "Nothing changed" in knowledge("compare", printed, printed).out
    nothing = knowledge("compare", str(tmp_path / "empty.md"), printed)
    assert nothing.code == 1
    assert "Next:" in nothing.err


def test_a_name_that_is_nothing_is_refused_with_the_next_step(knowledge: Command, editions: tuple[str, str]) -> None:
    done = knowledge("compare", "lifts-9", editions[0])
    assert done.code == 1
    assert "no file, folder or document 'lifts-9'" in done.err


def test_what_is_wrong_with_either_file_is_reported_and_the_other_is_not_waited_for(
    knowledge: Command, editions: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    bad = str(tmp_path / "bad.pdf")
    for pair in ((bad, editions[1]), (editions[0], bad), (bad, bad)):
        done = knowledge("compare", *pair)
        assert done.code == 1
        assert "Error: Cannot read bad.pdf: The PDF is damaged or incomplete." in done.err


def test_what_front_matter_says_is_compared(knowledge: Command, tmp_path: Path) -> None:
    text = "---\nid: REQ-4\nstatus: {}\nlinks:\n  parents: [SYS-1]\n---\n\n# Storage\n\nThe system shall keep logs.\n"
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text(text.format("Proposed"))
    new.write_text(text.format("Rejected"))
    answer = json.loads(knowledge("compare", str(old), str(new), "--json").out)
    (edited,) = (each for each in answer["alignment"] if each["kind"] != "same")
    assert [(each["from"], each["to"], each["new_text"]) for each in edited["changes"]] == [
        ("Proposed", "Rejected", "status: Rejected")
    ]


def test_properties_that_a_person_sets_in_word_files_are_compared(knowledge: Command, tmp_path: Path) -> None:
    import docx

    for name, status in (("old", "Draft"), ("new", "Approved")):
        made = docx.Document()
        made.add_heading("1 Scope", 1)
        made.add_paragraph("These rules apply to charging points of houses.")
        made.core_properties.content_status = status
        made.core_properties.last_modified_by = name
        made.core_properties.comments = f"saved as {name}"
        made.save(str(tmp_path / f"{name}.docx"))
    answer = json.loads(knowledge("compare", str(tmp_path / "old.docx"), str(tmp_path / "new.docx"), "--json").out)
    changes = [change for each in answer["alignment"] for change in each["changes"]]
    assert [(each["kind"], each["old_text"], each["new_text"]) for each in changes] == [
        ("property", "status: Draft", "status: Approved")
    ]
    shown = tmp_path / "changes.html"
    knowledge("compare", str(tmp_path / "old.docx"), str(tmp_path / "new.docx"), "--html", str(shown))
    assert "<del>Draft</del>" in shown.read_text()

"""`knowledge requirements export`: all requirements as CSV, JSON and ReqIF; a topic still needs no command."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import typer

from knowledge_mcp.cli.knowledge import requirements
from tests.cli.conftest import Command
from tests.cli.running import Finished
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import FakeDocument, FakePassage

_REQIF = "{http://www.omg.org/spec/ReqIF/20110401/reqif.xsd}"
_SHALL = [
    "The supplier shall keep a verification plan for every widget.",
    "Verification records shall not be discarded.",
]


@pytest.fixture
def ask(call: Command) -> Command:
    """Run `knowledge requirements` with some arguments."""
    root = typer.Typer()
    root.callback()(lambda: None)
    root.add_typer(requirements.app, name="requirements")
    return lambda *arguments: call(root, "requirements", *arguments)


@pytest.mark.requirement("A-REQ-TOOL-003")
@pytest.mark.parametrize(
    "arguments",
    [
        ("verification", "--json"),
        ("find", "verification", "--json"),
        ("--json", "verification"),
        ("--standard", "example", "verification", "--json"),
    ],
)
def test_a_topic_is_asked_with_and_without_the_command(
    ask: Command, fake: FakeKnowledge, arguments: tuple[str, ...]
) -> None:
    done = ask(*arguments)
    assert done.code == 0, done.err
    assert {each["requirement_text"] for each in json.loads(done.out)["results"]} >= set(_SHALL)


def test_help_names_both_commands(ask: Command, fake: FakeKnowledge) -> None:
    done = ask("--help")
    assert done.code == 0
    assert "find" in done.out
    assert "export" in done.out


def test_json_holds_every_requirement_with_its_place(ask: Command, fake: FakeKnowledge) -> None:
    content = json.loads(ask("export", "--format", "json").out)
    assert content["total"] == len(content["requirements"]) == 3
    first = next(each for each in content["requirements"] if each["clause"] == "5.3.1")
    assert first["text"] == _SHALL[0]
    assert (first["id"], first["modality"]) == ("5.3.1", "requirement")
    assert not first["explicit"]
    assert not first["negated"]
    assert (first["page"], first["page_index"], first["document_id"]) == ("7", 6, "example-standard")
    assert first["citation"].startswith("Example Standard for Widget Engineering, 5.3.1")
    text = fake.document_text("example-standard")
    assert text[slice(*first["span"])] == first["text"]


def test_csv_has_one_row_per_requirement_and_no_formulas(ask: Command, fake: FakeKnowledge) -> None:
    fake.add(FakeDocument("sums", "=SUM(A1)", (FakePassage("1", "Sums", "The clerk shall add."),)))
    rows = list(csv.DictReader(io.StringIO(ask("export").out)))
    assert [row["text"] for row in rows if row["document_id"] == "example-standard"] == _SHALL
    assert [row["document_title"] for row in rows if row["document_id"] == "sums"] == ["'=SUM(A1)"]


def test_export_keeps_to_the_documents_and_the_force_that_are_named(ask: Command, fake: FakeKnowledge) -> None:
    one = json.loads(ask("export", "--format", "json", "--document", "example-handbook").out)
    assert one["documents"] == ["example-handbook"]
    assert {each["document_id"] for each in one["requirements"]} == {"example-handbook"}
    assert json.loads(ask("export", "--format", "json", "--modality", "requirement").out)["total"] == 3
    assert json.loads(ask("export", "--format", "json", "--modality", "permission").out)["total"] == 0


def test_an_unknown_document_is_an_error_and_writes_nothing(ask: Command, fake: FakeKnowledge, tmp_path: Path) -> None:
    done = ask("export", "--document", "example-standart", "--out", str(tmp_path / "out.csv"))
    assert done.code != 0
    assert "example-standart" in done.err
    assert not (tmp_path / "out.csv").exists()


def test_a_file_is_written_and_what_cannot_be_written_is_said(
    ask: Command, fake: FakeKnowledge, tmp_path: Path
) -> None:
    done = ask("export", "--out", str(tmp_path / "out.csv"))
    assert "3 requirements of 2 documents" in done.out
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
    assert ask("export", "--out", str(tmp_path / "new" / "out.csv")).code == 0
    assert (tmp_path / "new" / "out.csv").read_text() == (tmp_path / "out.csv").read_text()
    lost = ask("export", "--out", str(tmp_path / "out.csv" / "below.csv"))
    assert lost.code != 0
    assert "cannot be written" in lost.err


def _tree(done: Finished) -> ET.Element:
    assert done.code == 0, done.err
    return ET.fromstring(done.out)


def test_reqif_holds_a_specification_per_document_with_its_clauses_and_requirements(
    ask: Command, fake: FakeKnowledge
) -> None:
    root = _tree(ask("export", "--format", "reqif"))
    assert [child.tag for child in root] == [f"{_REQIF}THE-HEADER", f"{_REQIF}CORE-CONTENT"]
    content = root.find(f"{_REQIF}CORE-CONTENT/{_REQIF}REQ-IF-CONTENT")
    assert content is not None
    assert [child.tag.removeprefix(_REQIF) for child in content] == [
        "DATATYPES", "SPEC-TYPES", "SPEC-OBJECTS", "SPECIFICATIONS",
    ]  # fmt: skip
    specifications = content.findall(f"{_REQIF}SPECIFICATIONS/{_REQIF}SPECIFICATION")
    assert [each.get("LONG-NAME") for each in specifications] == [
        "Example Handbook of Reviews", "Example Standard for Widget Engineering",
    ]  # fmt: skip
    texts = [div.text for div in root.iter("{http://www.w3.org/1999/xhtml}div")]
    assert set(texts) >= set(_SHALL)


def test_every_reference_in_reqif_names_something_and_every_identifier_is_one_of_a_kind(
    ask: Command, fake: FakeKnowledge
) -> None:
    root = _tree(ask("export", "--format", "reqif"))
    identifiers = [each.get("IDENTIFIER", "") for each in root.iter() if each.get("IDENTIFIER")]
    assert len(identifiers) == len(set(identifiers))
    assert all(name[0].isalpha() and " " not in name for name in identifiers)
    references = {each.text for each in root.iter() if each.tag.endswith("-REF")}
    assert references <= set(identifiers)
    placed = [each.text for each in root.iter(f"{_REQIF}SPEC-OBJECT-REF")]
    assert sorted(map(str, placed)) == sorted(each.get("IDENTIFIER", "") for each in root.iter(f"{_REQIF}SPEC-OBJECT"))


def test_reqif_is_the_same_file_twice_and_holds_no_character_that_xml_forbids(
    ask: Command, fake: FakeKnowledge
) -> None:
    fake.add(FakeDocument("odd", "A\x0bB <&> ‘C’", (FakePassage("1", "Odd\x02", "The clerk shall write \x01 & <b>."),)))
    first = ask("export", "--format", "reqif")
    assert _tree(first).tag == f"{_REQIF}REQ-IF"
    assert ask("export", "--format", "reqif").out == first.out


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_terminal_gets_no_control_characters_of_a_file_name(
    ask: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    name = "a\x1b]0;owned\x07\x9b2Jb"
    fake.add(FakeDocument("odd", name, (FakePassage("1", "Odd", "The clerk shall add."),)))
    piped = ask("export", "--format", form)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = ask("export", "--format", form)
    assert shown.code == piped.code == 0
    assert "owned" in shown.out
    assert not set("\x1b\x07\x9b\r") & set(shown.out)

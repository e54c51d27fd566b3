"""Requirement files in a store: ingested like any document, found, traced, and given back as ReqIF that is whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.cli.knowledge.inspect import file_item
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.document import DeclaredLink, RequirementItem
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.model.query import RequirementQuery, SearchQuery
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.ranking.linking import Linker
from knowledge_mcp.readers.data.reader import DataReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.markup.reader import MarkupReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.requirements.reader import RequirementFileReader, RequirementReader
from knowledge_mcp.registry import READERS
from knowledge_mcp.settings import Settings
from knowledge_mcp.sources.files import FileSource, LabelledSource
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.support.workers import MadeOnce
from knowledge_mcp.surfaces.interchange import BookSheet, workbook
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.cli.conftest import Command
from tests.engine.test_tracing import embed
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.reqif_dialects import DOORS, POLARION, PTC, STRICTDOC
from tests.readers.requirement_files import NEEDS, REQIF, RST, SDOC, zipped

_LABELS = ("columns", "id=Key,text=Demand")


class _Shelf(LocalKnowledge):
    """A knowledge base that outlives the commands which open it."""

    def close(self) -> None:
        """Stay open."""


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> _Shelf:
    """Put a knowledge base in memory, with every reader of requirements, in place of the real one."""
    sandbox = InProcessSandbox()
    own = {
        "DataReader": DataReader(sandbox=sandbox),
        "MarkupReader": MarkupReader(sandbox=sandbox),
        "OfficeReader": OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=sandbox),
        "RequirementFileReader": RequirementFileReader(sandbox=sandbox),
    }
    named = {kind: target.rpartition(":")[2] for kind, target in READERS.items()}
    readers = {kind: own[name] for kind, name in named.items() if name in own}
    base = Base(
        store=MemoryStore(EnglishAnalyser()), collection="kb", embedder=HashingEmbedder(), analyser=EnglishAnalyser(),
        fuse=fuse, hybrid=True, slice=64,
    )  # fmt: skip
    found = _Shelf(base, MadeOnce(lambda: Pipeline(readers, ClauseChunker(), DocumentClassifier())))

    def build(_settings: Settings, **_: object) -> _Shelf:
        return found

    def linker(_settings: Settings) -> Linker:
        return Linker(EnglishAnalyser().document_terms, embed)

    monkeypatch.setattr(wiring, "build_knowledge", build)
    monkeypatch.setattr(wiring, "build_linker", linker)
    return found


def put(shelf: _Shelf, folder: Path, *labels: tuple[str, str], vanished: Sequence[str] = ()) -> list[str]:
    """Ingest a folder; returns the ids of its documents."""
    report = shelf.ingest(LabelledSource(FileSource(folder), labels), IngestOptions(vanished=tuple(vanished)))
    assert not report.skipped, report.skipped
    assert not report.failed, report.failed
    return [each.record.id for each in report.documents]


@pytest.mark.parametrize(
    "content", [REQIF, DOORS, POLARION, PTC, STRICTDOC], ids=["own", "doors", "polarion", "ptc", "sdoc"]
)
def test_reqif_comes_back_from_the_store_byte_for_byte(
    knowledge: Command, shelf: _Shelf, tmp_path: Path, content: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "spec.reqif").write_text(content)
    assert put(shelf, tmp_path / "in") == ["spec"]
    done = knowledge(
        "requirements", "export", "--format", "reqif", "--document", "spec", "--out", str(tmp_path / "out.reqif")
    )
    assert done.code == 0, done.err
    assert (tmp_path / "out.reqif").read_text() == content


def test_an_archive_comes_back_with_its_attachments(knowledge: Command, shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = zipped(tmp_path / "in" / "spec.reqifz", spec__reqif=REQIF, picture__png=b"\x89PNG")
    put(shelf, tmp_path / "in")
    out = tmp_path / "out.reqifz"
    knowledge("requirements", "export", "--format", "reqif", "--document", "spec", "--out", str(out))
    assert out.read_bytes() == path.read_bytes()


def test_items_are_sections_with_what_their_file_says(shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "pump.reqif").write_text(REQIF)
    put(shelf, tmp_path)
    structure, text = shelf.document_structure("pump"), shelf.document_text("pump")
    assert [(each.number, each.level) for each in structure.sections] == [("o1", 1), ("o2", 2), ("o3", 1)]
    first, second, _ = structure.items
    assert (first.id, first.level, first.kind) == ("o1", "1", "System requirement")
    assert first.attributes["Vendor's own"] == "kept & shown"
    assert second.links == (DeclaredLink("o1", "refines"),)
    assert first.span.of(text).startswith("o1 SYS-1\n\nThe pump shall stop\nwhen the tank is full.")
    assert "Vendor's own: kept & shown" in first.span.of(text)
    assert "refines: o1" in second.span.of(text)


def test_requirements_and_search_name_the_item(shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "pump.reqif").write_text(REQIF)
    put(shelf, tmp_path)
    by_id = shelf.requirements(RequirementQuery("o2")).hits[0]
    assert by_id.statement.identifier == "o2"
    assert by_id.citation.startswith("Pump station, o2")
    about = shelf.search(SearchQuery("login audit log")).hits[0]
    assert (about.chunk.clause_number, about.chunk.statements[0].identifier) == ("o2", "o2")


def test_needs_of_a_page_are_cited_by_their_section_and_id(shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "software.rst").write_text(RST)
    put(shelf, tmp_path)
    found = {each.statement.identifier: each.citation for each in shelf.requirements(RequirementQuery("SW")).hits}
    assert found["SW_STOP"].startswith("Software, Software, SW_STOP")
    assert found["SW_AUDIT"].startswith("Software, Software, SW_AUDIT")


def test_what_an_item_states_without_force_is_weak_and_what_informs_is_nothing(shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "a.sdoc").write_text(
        "[DOCUMENT]\nTITLE: A\n\n[TEXT]\nSTATEMENT: This part must be read first.\n\n"
        "[REQUIREMENT]\nUID: A-1\nSTATEMENT: Stop on overflow.\nCOMMENT: It shall be tested.\n"
    )
    put(shelf, tmp_path)
    stated = [each for chunk in shelf.document_chunks("a") for each in chunk.statements]
    assert [(each.identifier, each.text, each.weak) for each in stated] == [("A-1", "Stop on overflow.", True)]


def test_every_kind_of_requirement_file_is_traced_from_the_store(
    knowledge: Command, shelf: _Shelf, tmp_path: Path
) -> None:
    inside = tmp_path / "in"
    (inside / "tests").mkdir(parents=True)
    (inside / "system.reqif").write_text(REQIF)
    (inside / "software.sdoc").write_text(SDOC)
    (inside / "needs.json").write_text(json.dumps(NEEDS))
    (inside / "page.rst").write_text(RST)
    (inside / "tests" / ".doorstop.yml").write_text("settings:\n  prefix: TST\n")
    (inside / "tests" / "TST2.yml").write_text("text: Overflow the tank.\nlevel: 1.10\nlinks:\n- SW-1: null\n")
    (inside / "tests" / "TST1.yml").write_text("text: Log in twice.\nlevel: 1.9\nlinks: []\nowner: Ann\n")
    assert sorted(put(shelf, inside)) == ["needs", "page", "software", "system", "tests"]
    items = {name: shelf.document_structure(name).items for name in ("software", "needs", "page", "tests")}
    assert {name: [each.id for each in found] for name, found in items.items()} == {
        "software": ["SW-1", "SW-2"], "needs": ["R1", "R2"], "page": ["SW_STOP", "SW_AUDIT"], "tests": ["TST1", "TST2"],
    }  # fmt: skip
    assert items["needs"][1].attributes["asil"] == "B"
    page = shelf.document_text("page")
    assert "The software shall stop the pump." in items["page"][0].span.of(page)
    assert "The software shall stop the pump." not in items["page"][1].span.of(page)
    for names, link in ((("software", "system"), ("SW-1", "o1")), (("tests", "software"), ("TST2", "SW-1"))):
        done = knowledge("trace", *names, "--json")
        assert done.code == 0, done.err
        links = json.loads(done.out)["links"]
        assert link in {(each["from"], each["to"]) for each in links if each["verdict"] == "declared"}
    cited = shelf.requirements(RequirementQuery("TST2")).hits[0]
    assert cited.citation == "tests, TST2 [tests.doorstop]"


def test_relations_are_added_to_the_reqif_that_is_ingested(knowledge: Command, shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "system.reqif").write_text(REQIF)
    (tmp_path / "in" / "software.sdoc").write_text(SDOC)
    put(shelf, tmp_path / "in")
    done = knowledge("trace", "software", "system", "--reqif", str(tmp_path / "out.reqif"))
    assert done.code == 0, done.err
    written = (tmp_path / "out.reqif").read_text()
    assert "<!-- written by a tool -->" in written
    assert '<own xmlns="urn:tool">kept</own>' in written
    assert [each.id for each in _read(tmp_path / "out.reqif")] == ["o1", "o2", "SW-1", "SW-2", "o3"]


def test_items_of_other_tools_become_reqif_with_attributes_links_and_levels(
    knowledge: Command, shelf: _Shelf, tmp_path: Path
) -> None:
    (tmp_path / "in" / "srs").mkdir(parents=True)
    (tmp_path / "in" / "srs" / ".doorstop.yml").write_text("settings:\n  prefix: S\n")
    for number, (level, links) in enumerate([("1.0", "[]"), ("1.1", "[S1]"), ("2.0", "[]")], 1):
        content = f"text: Stop {number}.\nlevel: {level}\nlinks: {links}\nowner: Ann\n"
        (tmp_path / "in" / "srs" / f"S{number}.yml").write_text(content)
    put(shelf, tmp_path / "in")
    out = tmp_path / "out.reqif"
    done = knowledge("requirements", "export", "--format", "reqif", "--document", "srs", "--out", str(out))
    assert (done.code, done.out) == (0, f"Wrote 3 items of 1 document to {out}.\n"), done.err
    found = _read(out)
    assert [(each.id, each.level, each.text) for each in found] == [
        ("S1", "1", "Stop 1."), ("S2", "1.1", "Stop 2."), ("S3", "2", "Stop 3."),
    ]  # fmt: skip
    assert {each.attributes["owner"] for each in found} == {"Ann"}
    assert found[1].links == (DeclaredLink("S1", "parent"),)
    assert {each.kind for each in found} == {"normative"}


def test_titles_of_sections_and_kinds_of_links_stay_in_reqif(knowledge: Command, shelf: _Shelf, tmp_path: Path) -> None:
    more = "[[SECTION]]\nTITLE: Later\n\n[[/SECTION]]\n\n[TEXT]\nUID: T-1\nSTATEMENT: See the list.\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "software.sdoc").write_text(SDOC.replace("VALUE: o1", "VALUE: SW-2") + more)
    put(shelf, tmp_path / "in")
    out = tmp_path / "out.reqif"
    assert (
        knowledge("requirements", "export", "--format", "reqif", "--document", "software", "--out", str(out)).code == 0
    )
    found = _read(out)
    assert [(each.level, each.kind, each.title or each.text) for each in found] == [
        ("1", "Heading", "Stopping"),
        ("1.1", "REQUIREMENT", "Overflow"),
        ("2", "REQUIREMENT", "SW-2"),
        ("3", "Heading", "Later"),
        ("4", "TEXT", "T-1"),
    ]
    assert found[0].informative
    assert found[1].links == (DeclaredLink("SW-2", "Parent Refines"),)


def test_several_documents_say_that_one_alone_keeps_more(knowledge: Command, shelf: _Shelf, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "system.reqif").write_text(REQIF)
    (tmp_path / "in" / "software.sdoc").write_text(SDOC)
    put(shelf, tmp_path / "in")
    done = knowledge("requirements", "export", "--format", "reqif")
    assert "To export one of software, system in full, pass it as --document." in done.err


@pytest.mark.parametrize("name", ["list.csv", "list.xlsx"])
def test_tables_are_requirements_where_their_columns_are_named_and_tables_else(
    shelf: _Shelf, tmp_path: Path, name: str
) -> None:
    rows = [["Key", "Demand", "Owner"], ["A-1", "The pump shall stop.", "Ann"], ["A-2", "Log each login.", "Bob"]]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    content = text.getvalue().encode() if name.endswith("csv") else workbook([BookSheet("Sheet", rows)])
    (tmp_path / name).write_bytes(content)
    put(shelf, tmp_path)
    assert not shelf.document_structure("list").items
    put(shelf, tmp_path, _LABELS, ("given", "columns"))
    items = shelf.document_structure("list").items
    assert [(each.id, each.text, each.attributes["Owner"]) for each in items] == [
        ("A-1", "The pump shall stop.", "Ann"), ("A-2", "Log each login.", "Bob"),
    ]  # fmt: skip
    assert shelf.requirements(RequirementQuery("A-2")).hits[0].statement.weak


@pytest.mark.parametrize("name", ["list.csv", "new.csv"])
def test_a_table_that_changed_or_was_renamed_is_read_by_the_columns_that_were_named(
    shelf: _Shelf, tmp_path: Path, name: str
) -> None:
    table = tmp_path / "list.csv"
    table.write_text("Key,Demand\nA-1,The pump shall stop.\nA-2,Log each login.\n")
    put(shelf, tmp_path, _LABELS, ("given", "columns"))
    table.rename(tmp_path / name)
    if name == "list.csv":
        table.write_text("Key,Demand\nA-1,The pump shall stop.\nA-2,Log each login.\nA-3,Drain the tank.\n")
    put(shelf, tmp_path, vanished=[record.source_path for record in shelf.documents() if name != "list.csv"])
    (record,) = [each for each in shelf.documents() if each.file_name == name]
    ids = [each.id for each in shelf.document_structure(record.id).items]
    assert ids == (["A-1", "A-2", "A-3"] if name == "list.csv" else ["A-1", "A-2"])
    assert (record.label("columns"), record.label("given")) == (_LABELS[1], "columns")
    (tmp_path / name).write_text("Name,Demand\nA-1,The pump shall stop.\n")
    with pytest.raises(AssertionError, match="no requirements"):
        put(shelf, tmp_path)
    put(shelf, tmp_path, ("columns", ""), ("given", "columns"))
    assert not shelf.document_structure(record.id).items


@pytest.mark.parametrize(
    ("columns", "said"), [("id=Key,size=Demand", "does not assign a column"), ("id=Other,text=Else", "no requirements")]
)
def test_columns_that_are_not_there_are_reported(shelf: _Shelf, tmp_path: Path, columns: str, said: str) -> None:
    (tmp_path / "list.csv").write_text("Key,Demand\nA-1,Stop.\n")
    report = shelf.ingest(LabelledSource(FileSource(tmp_path), (("columns", columns),)), IngestOptions())
    assert said in report.skipped[0].message


@pytest.mark.parametrize(
    "content",
    [
        {"versions": {"1": {"needs": {}}}, "current_version": "1"},
        {"versions": ["1.0", "1.1"], "needs": "none"},
        {"versions": {"1.0": {"needs": {"python": {"least": "3.11"}}}}},
        [{"id": "R1", "content": "Stop."}],
    ],
)
def test_other_json_is_read_as_it_was(shelf: _Shelf, tmp_path: Path, content: object) -> None:
    (tmp_path / "needs.json").write_text(json.dumps(content))
    put(shelf, tmp_path)
    assert not shelf.document_structure("needs").items


def _read(path: Path) -> tuple[RequirementItem, ...]:
    return RequirementReader(InProcessSandbox()).read(file_item(path)).items

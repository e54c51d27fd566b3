"""Requirements of other tools keep their ids, places, attributes and links; hostile files are refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.cli.knowledge.inspect import file_item
from knowledge_mcp.model.document import DeclaredLink
from knowledge_mcp.model.errors import UnreadableDocumentError
from knowledge_mcp.readers.data.trees import json_tree
from knowledge_mcp.readers.markup.restructured import restructured
from knowledge_mcp.readers.requirements.reader import RequirementReader, RequirementSet
from knowledge_mcp.readers.requirements.reqif import reqif
from knowledge_mcp.readers.requirements.texts import doorstop, doorstop_folder, needs_json, sphinx_needs, strictdoc
from tests.readers.requirement_files import NEEDS, REQIF, RST, SDOC, zipped


@pytest.fixture(scope="module")
def reader() -> Iterator[RequirementReader]:
    """Share one child."""
    made = RequirementReader()
    yield made
    made.close()


def read(reader: RequirementReader, path: Path, content: str) -> RequirementSet:
    path.write_text(content, encoding="utf-8")
    return reader.read(file_item(path))


def test_reqif_keeps_ids_places_attributes_unknown_to_us_and_relations(
    reader: RequirementReader, tmp_path: Path
) -> None:
    found = read(reader, tmp_path / "a.reqif", REQIF)
    assert found.title == "Pump station"
    assert [(each.id, each.level) for each in found.items] == [("o1", "1"), ("o2", "1.1"), ("o3", "")]
    first, second, _ = found.items
    assert first.title == "SYS-1"
    assert first.text == "The pump shall stop\nwhen the tank is full."
    assert first.kind == "System requirement"
    assert first.attributes["Priority"] == "high"
    assert first.attributes["Vendor's own"] == "kept & shown"
    assert second.links == (DeclaredLink("o1", "refines"),)


def test_an_archive_of_reqif_is_read_with_its_attachments_left_alone(reader: RequirementReader, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.reqifz", spec__reqif=REQIF, picture__png=b"\x89PNG")
    assert [each.id for each in reader.read(file_item(path)).items] == ["o1", "o2", "o3"]


def test_strictdoc_keeps_fields_of_many_lines_numbers_of_sections_and_kinds_of_relations(
    reader: RequirementReader, tmp_path: Path
) -> None:
    found = read(reader, tmp_path / "a.sdoc", SDOC)
    assert found.title == "Pump software"
    first, second = found.items
    assert (first.id, first.title, first.level, first.line) == ("SW-1", "Overflow", "1.1", 8)
    assert first.text == "The software shall stop the pump\n\nwhen the tank is full."
    assert first.links == (DeclaredLink("o1", "Parent Refines"), DeclaredLink("src/pump.c", "File"))
    assert first.attributes["STATUS"] == "Active"
    assert (second.id, second.level) == ("SW-2", "2")


def test_doorstop_items_are_called_as_their_files_and_levels_stay_as_written(
    reader: RequirementReader, tmp_path: Path
) -> None:
    content = (
        "active: true\nlevel: 1.10\nlinks:\n- SYS001: abc=\n- SYS002\nnormative: false\nown: [1, 2]\ntext: |\n  Stop.\n"
    )
    (item,) = read(reader, tmp_path / "SW001.yml", content).items
    assert (item.id, item.level, item.text, item.kind) == ("SW001", "1.10", "Stop.", "informative")
    assert [each.target for each in item.links] == ["SYS001", "SYS002"]
    assert item.attributes["own"] == '["1", "2"]'
    assert read(reader, tmp_path / "SW002.yml", "active: false\ntext: old\n").items == ()


def test_needs_are_directives_with_an_id_and_options_that_hold_ids_are_links(
    reader: RequirementReader, tmp_path: Path
) -> None:
    outer, inner = read(reader, tmp_path / "a.rst", RST).items
    assert (outer.id, outer.title, outer.kind) == ("SW_STOP", "Overflow", "swreq")
    assert outer.text == "The software shall stop the pump."
    assert outer.links == (DeclaredLink("SYS_PUMP", "implements"), DeclaredLink("SYS_TANK", "implements"))
    assert (inner.id, inner.text) == ("SW_AUDIT", "The software shall write the log.")


@pytest.mark.parametrize(
    ("own", "option", "targets"),
    [
        ("swr__pump_stop", "realises: sys__pump, std__iso_1__part-6_4[v==2]", ["sys__pump", "std__iso_1__part-6_4"]),
        ("req_pump_001", "tests: req_tank_002.a; req_valve_3", ["req_tank_002.a", "req_valve_3"]),
        ("PUMP", "owners: PETERSON", ["PETERSON"]),
        ("pump", "links: a[x in ['1', '2']], b", ["a", "b"]),
        ("swr__pump_stop", "safety: ASIL_B", []),
        ("req_pump_001", "state: in_review", []),
    ],
)
def test_options_are_links_if_their_values_look_as_the_ids_of_their_page(
    reader: RequirementReader, tmp_path: Path, own: str, option: str, targets: list[str]
) -> None:
    page = f".. swreq:: Overflow\n   :id: {own}\n   :{option}\n\n   The pump shall stop.\n"
    (item,) = read(reader, tmp_path / "a.rst", page).items
    assert [each.target for each in item.links] == targets


def test_built_needs_are_those_of_the_current_version_without_links_for_the_way_back(
    reader: RequirementReader, tmp_path: Path
) -> None:
    first, second = read(reader, tmp_path / "needs.json", json.dumps(NEEDS)).items
    assert first.links == ()
    assert second.links == (DeclaredLink("R1", "links"),)
    assert second.attributes["asil"] == "B"


def test_a_workbook_has_an_item_a_row_below_its_header_and_columns_may_be_named(
    reader: RequirementReader, tmp_path: Path
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["Our requirements"],
        [],
        ["Key", "Wording", "Satisfies", "Owner"],
        ["A-1", "Stop.", "S-1; S-2", "Kim"],
    ):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert reader.read(file_item(tmp_path / "a.xlsx")).items == ()
    (item,) = reader.read(file_item(tmp_path / "a.xlsx"), {"id": "key", "text": "Wording"}).items
    assert (item.id, item.text, item.line) == ("A-1", "Stop.", 4)
    assert [each.target for each in item.links] == ["S-1", "S-2"]
    assert item.attributes["Owner"] == "Kim"


def test_what_is_hidden_in_a_workbook_is_no_requirement(tmp_path: Path, reader: RequirementReader) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["ID", "Old text", "Text"],
        ["R-1", "The pump shall run.", "The pump shall stop."],
        ["R-2", "Withdrawn.", "The pump shall hum."],
        ["R-3", "", "The lamp shall light."],
    ):
        sheet.append(row)
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    other = book.create_sheet("Draft")
    other.sheet_state = "hidden"
    other.append(["ID", "Text"])
    other.append(["R-9", "The draft shall go."])
    book.save(tmp_path / "a.xlsx")
    found = reader.read(file_item(tmp_path / "a.xlsx")).items
    assert [(each.id, each.text, each.line) for each in found] == [
        ("R-1", "The pump shall stop.", 2),
        ("R-3", "The lamp shall light.", 4),
    ]
    assert all("Old text" not in each.attributes for each in found)


DOORSTOP = "active: true\nlevel: 1.2\nheader: Overflow\nlinks:\n- SYS001: abc=\nown: {a: 1}\ntext: |\n  Stop.\n"


@pytest.mark.parametrize(
    ("job", "name", "content"),
    [
        (reqif, "a.reqif", REQIF),
        (strictdoc, "a.sdoc", SDOC),
        (doorstop, "SW001.yml", DOORSTOP),
        (sphinx_needs, "a.rst", RST),
        (needs_json, "needs.json", json.dumps(NEEDS)),
    ],
)
def test_a_child_passes_on_what_its_job_reads(
    reader: RequirementReader, tmp_path: Path, job: Callable[[str], Iterator[dict[str, Any]]], name: str, content: str
) -> None:
    found = read(reader, tmp_path / name, content)
    result = list(job(str(tmp_path / name)))
    items = [each for each in result if "text" in each]
    assert [each.text for each in found.items] == [each["text"] for each in items]
    assert [len(each.links) for each in found.items] == [len(each["links"]) for each in items]
    assert "".join(each.get("title", "") for each in result if "text" not in each) in {found.title, ""}


@pytest.mark.parametrize(
    ("job", "name", "content"), [(json_tree, "needs.json", json.dumps(NEEDS)), (restructured, "a.rst", RST)]
)
def test_an_ingest_reads_a_file_with_needs_once(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    job: Callable[..., Iterator[dict[str, Any]]],
    name: str,
    content: str,
) -> None:
    read_bytes, opened = Path.read_bytes, list[Path]()

    def noted(path: Path) -> bytes:
        opened.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    (tmp_path / name).write_text(content)
    assert list(job(str(tmp_path / name), check=False))
    assert opened == [tmp_path / name]


def test_hidden_files_of_a_doorstop_folder_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(".picture", b"\x89PNG\x00\xff\xfe\x00")
        archive.writestr("SW001.yml", DOORSTOP)
    assert [each["id"] for each in doorstop_folder(str(path))] == ["SW001"]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE REQ-IF [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(9))
    + "]><REQ-IF><THE-HEADER><REQ-IF-HEADER><TITLE>&j;</TITLE></REQ-IF-HEADER></THE-HEADER></REQ-IF>"
)


def test_entities_are_never_expanded_and_files_never_fetched(reader: RequirementReader, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not read this")
    hostile = REQIF.replace("<!-- written by a tool -->", f'<!DOCTYPE x [<!ENTITY s SYSTEM "{secret.as_uri()}">]>')
    hostile = hostile.replace("kept &amp; shown", "kept").replace("Every login", "&s; Every login")
    found = read(reader, tmp_path / "a.reqif", hostile)
    assert "do not read" not in repr(found)
    try:
        bombed = read(reader, tmp_path / "b.reqif", BOMB)
    except UnreadableDocumentError:
        return
    assert len(bombed.title) < 1000


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.reqif", "<REQ-IF", "corrupted"),
        ("a.reqif", "<html/>", "mislabelled"),
        ("a.reqif", "", "empty"),
        ("a.reqifz", "PK\x03\x04 torn", "corrupted"),
        ("a.sdoc", "no document", "mislabelled"),
        ("A1.yml", "a: [", "corrupted"),
        ("A1.yml", "a: 1", "mislabelled"),
        ("needs.json", '{"versions": {}}', "corrupted"),
        ("needs.json", '{"versions": {"1": {"needs": {"a": 1}}}}', "corrupted"),
        ("a.xlsx", "no workbook", "mislabelled"),
        ("a.doc", "x", "unsupported"),
    ],
)
def test_what_is_something_else_or_torn_is_refused(
    reader: RequirementReader, tmp_path: Path, name: str, content: str, reason: str
) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(reader, tmp_path / name, content)
    assert caught.value.reason.value == reason


def test_an_archive_that_unpacks_to_far_too_much_is_refused(reader: RequirementReader, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.reqifz", spec__reqif=b" " * 60_000_000)
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.read(file_item(path))
    assert caught.value.reason.value == "too_large"

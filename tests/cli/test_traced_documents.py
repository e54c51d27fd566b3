"""`knowledge trace` over documents: what names an item is linked to it, and what describes is traced by its clauses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("linker")


SYSTEM = "".join(f"SYS-{number},The system shall do what is asked in {number}.\n" for number in range(1, 9))
SOFTWARE = """# Software requirements

## 2 Requirements

**SWR-1** The software shall sample the sensor every 500 ms.

- Parent: SYS-1
- Verification: test, unlike SWR-2

**SWR-2** The software shall debounce the level for 2 s.

*Traces to: SYS-2 to SYS-3*

| ID | Requirement | Parent |
|---|---|---|
| SWR-4 | The software shall drive the horn. | SYS-4/SYS-5 |

| Parent | SYS-6 |
|---|---|
| ID | SWR-6 |
| Text | The log shall hold 10 000 entries. |
| Parent | SYS-7 |

## 3 Traceability

SYS-5 has no software beside SWR-4.

| System | Software |
|---|---|
| SYS-8 | SWR-1, SWR-6 |
"""


def linked(knowledge: Command, *arguments: str) -> set[tuple[str, str]]:
    """Return what a trace says is declared."""
    answer = json.loads(knowledge("trace", *arguments, "--json").out)
    return {(each["from"], each["to"]) for each in answer["links"] if each["verdict"] == "declared"}


def test_what_stands_with_a_requirement_and_rows_of_matrices_declare_links(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "swr.md").write_text(SOFTWARE)
    assert linked(knowledge, str(tmp_path / "swr.md"), str(tmp_path / "sys.csv")) == {
        ("SWR-1", "SYS-1"),
        ("SWR-2", "SYS-2"),
        ("SWR-2", "SYS-3"),
        ("SWR-4", "SYS-4"),
        ("SWR-4", "SYS-5"),
        ("SWR-6", "SYS-6"),
        ("SWR-6", "SYS-7"),
        ("SWR-1", "SYS-8"),
        ("SWR-6", "SYS-8"),
    }


def test_a_component_is_linked_to_the_controls_that_it_claims_to_implement(knowledge: Command, tmp_path: Path) -> None:
    about = {"title": "Mill"}
    control = {"id": "gr-1.1", "title": "Rest", "props": [{"name": "label", "value": "GR-1(1)"}]}
    (tmp_path / "mill.json").write_text(json.dumps({"catalog": {"metadata": about, "controls": [control]}}))
    claim = {"control-id": "gr-1.1", "description": "The wheel stops at night."}
    wheel = {"title": "Wheel", "control-implementations": [{"implemented-requirements": [claim]}]}
    content = {"component-definition": {"metadata": about, "components": [wheel]}}
    (tmp_path / "wheel.json").write_text(json.dumps(content))
    assert linked(knowledge, str(tmp_path / "wheel.json"), str(tmp_path / "mill.json")) == {
        ("Wheel: gr-1.1", "GR-1(1)")
    }


def test_sections_below_the_heading_of_a_requirement_belong_to_it(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "swr.md").write_text(
        "# Needs\n\n## SWR-1 Sampling\n\nThe sensor shall be sampled.\n\n### Source\n\nSYS-1\n\n"
        "## Notes\n\nSYS-2 is met elsewhere.\n"
    )
    assert linked(knowledge, str(tmp_path / "swr.md"), str(tmp_path / "sys.csv")) == {("SWR-1", "SYS-1")}


def test_blocks_of_properties_are_requirements_and_tests_with_paths_as_names(
    knowledge: Command, tmp_path: Path
) -> None:
    block = "[{}]\n====\n[%metadata]\nidentifier:: /{}\n{}====\n\n"
    rules = ("Each pump SHALL stop at the upper level.", "Each horn SHALL sound when its pump fails.")
    (tmp_path / "rules.adoc").write_text(
        "== Rules\n\n"
        + "".join(
            block.format("requirement", f"req/core/{name}", f"part:: {rule}\n")
            for name, rule in zip(("stop", "stop-horn"), rules, strict=True)
        )
    )
    says = "target:: /req/core/{}\npurpose:: The tester SHALL see that it is met; {}.\n"
    (tmp_path / "tests.adoc").write_text(
        "== Tests\n\n"
        + block.format("abstract_test", "conf/core/stop", says.format("stop", "see /req/core/stop-horn"))
        + block.format("abstract_test", "conf/core/horn", says.format("stop-horn", "nothing else"))
    )
    assert linked(knowledge, str(tmp_path / "rules.adoc"), str(tmp_path / "tests.adoc")) == {
        ("/req/core/stop", "/conf/core/stop"),
        ("/req/core/stop-horn", "/conf/core/horn"),
    }


def test_a_design_or_report_is_traced_by_its_clauses_though_one_of_them_demands(
    knowledge: Command, tmp_path: Path
) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "design.md").write_text(
        "# Design\n\n## 1 Introduction\n\nThis is the design.\n\n## 2 Recorder\n\nEvents go to flash. The recorder "
        "shall use wear levelling.\n\nSatisfies: SYS-1\n\n## 3 Gateway\n\nRegisters are mapped (SYS-2..4).\n"
    )
    (tmp_path / "report.md").write_text(
        "# Report\n\n## TC-SYS-5-01 Overflow\n\nVerifies: SYS-5\n\nPassed.\n\n## TC-2 Start\n\nVerifies: SYS-6\n\n"
        "Expected: it shall start.\n\n## TC-3 Log\n\nVerifies SYS-7. Passed.\n"
    )
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "design.md")) == {
        ("SYS-1", "2"),
        ("SYS-2", "3"),
        ("SYS-3", "3"),
        ("SYS-4", "3"),
    }
    report = {("SYS-5", "TC-SYS-5-01"), ("SYS-6", "TC-2"), ("SYS-7", "TC-3")}
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "report.md")) == report


def test_references_and_a_history_of_changes_meet_nothing(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    history = "## Revision history\n\n| Issue | Change |\n|---|---|\n| 2 | SYS-3 added |\n\n"
    (tmp_path / "design.md").write_text(
        f"# Design\n\n{history}## 1 Applicable documents\n\nSYS-1 to SYS-8: issue 2.\n\n"
        "## 2 Pump\n\nIt stops (SYS-1).\n\n## Änderungsverzeichnis\n\nSYS-4 geändert.\n"
    )
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "design.md")) == {("SYS-1", "2")}


def test_the_history_of_a_file_and_what_it_refers_to_meet_nothing(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "design").mkdir()
    (tmp_path / "design" / "pump.md").write_text(
        "# Pump\n\nThe relay meets SYS-1. The colour is as described in SYS-2.\n\n## Changelog\n\n- SYS-3: relay\n"
    )
    sides = (str(tmp_path / "sys.csv"), str(tmp_path / "design"))
    assert linked(knowledge, *sides) == {("SYS-1", "pump.md")}
    answer = json.loads(knowledge("trace", *sides, "--json").out)
    mentioned = [
        (each["from"], each["evidence"]["words"]) for each in answer["links"] if each["verdict"] == "mentioned"
    ]
    assert mentioned == [("SYS-2", ["The colour is as described in SYS-2."])]
    assert {"SYS-2", "SYS-3"} <= {each["id"] for each in answer["gaps"]["from"]}


@pytest.mark.parametrize("name", ["test_SYS-2_start.py", "SYS-2_test.go", "test-SYS-2.txt", "SYS_2.spec.ts", "SYS-2.c"])
def test_the_name_of_a_file_may_name_what_it_tests(knowledge: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / name).write_text("nothing = 1\n")
    (tmp_path / "tests" / "sha256.py").write_text("nothing = 1\n")
    found = linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "tests"))
    assert {one for one, _ in found} == {"SYS-2"}


def test_files_of_a_folder_give_their_requirements_and_the_rows_of_their_tables(
    knowledge: Command, tmp_path: Path
) -> None:
    needs, meets = tmp_path / "needs", tmp_path / "meets"
    needs.mkdir()
    meets.mkdir()
    (needs / "swr.md").write_text("# A\n\n[SWR-1] The pump shall stop.\n\n[SWR-2] The horn shall sound.\n")
    (needs / "more.md").write_text("# B\n\n[SWR-2] The lamp shall blink.\n\n[SWR-3] The lamp shall be red.\n")
    (meets / "cases.csv").write_text('Sheet of tests,\n,\nTest ID,Title,Covers\nTC-1,Stop,"SWR-1\nSWR-3"\n,,\n')
    (meets / "pump.c").write_text("/* implements SWR-1 */\n")
    found = linked(knowledge, str(needs), str(meets))
    assert found == {("SWR-1", "TC-1"), ("SWR-3", "TC-1"), ("SWR-1", "pump.c")}
    answer = json.loads(knowledge("trace", str(needs), str(meets), "--json").out)
    named = {each["from"] for each in answer["links"]} | {each["id"] for each in answer["gaps"]["from"]}
    assert named == {"SWR-1", "more.md, SWR-2: SWR-2", "swr.md, SWR-2: SWR-2", "SWR-3"}


def test_a_file_is_the_requirement_that_its_name_or_its_front_matter_says(knowledge: Command, tmp_path: Path) -> None:
    needs, meets = tmp_path / "needs", tmp_path / "meets"
    needs.mkdir()
    meets.mkdir()
    (needs / "StRS-1.md").write_text("# Learning\n\nThe system shall offer paths of learning.\n")
    (needs / "StRS-2 Logs.md").write_text("# Logs\n\nThe system shall keep logs.\n")
    (needs / "sha256.md").write_text("# Notes\n\nThe hash is computed once.\n")
    front = "---\nid: SyRS-F-1\nlinks:\n  parents: [StRS-1]\n---\n\n# Paths\n\nThe unit shall adapt paths.\n"
    (meets / "paths.md").write_text(front)
    (meets / "SyRS-F-2.md").write_text("# Logs\n\nThe unit shall write logs, as StRS-2 asks for.\n")
    assert linked(knowledge, str(needs), str(meets)) == {("StRS-1", "SyRS-F-1"), ("StRS-2", "SyRS-F-2")}
    answer = json.loads(knowledge("trace", str(needs), str(meets), "--json").out)
    assert [each["id"] for each in answer["gaps"]["from"]] == ["sha256.md"]


def test_rows_of_tables_may_begin_below_a_title_and_be_linked_by_any_column(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text('Fall;Test_ID;Beschreibung\n1;TC-1;"Halt; ""sofort"""\n2;TC-2;Start\n')
    (tmp_path / "srs.csv").write_text(
        'Requirements of the plant;;;\n;;;\nReq. ID;Requirement;Verified by;Also\nA-1;It shall stop.;"TC-1\nTC-9";\n'
        "A-2;It shall start.;;TC-2\n;;;\n;3.2 Alarms;;\n"
    )
    assert (
        "Skipped: 1 row without an id (7)."
        in knowledge("trace", str(tmp_path / "srs.csv"), str(tmp_path / "cases.csv")).err
    )
    assert linked(knowledge, str(tmp_path / "srs.csv"), str(tmp_path / "cases.csv")) == {
        ("A-1", "TC-1"),
        ("A-2", "TC-2"),
    }


def test_items_of_reqif_are_linked_by_what_people_call_them(knowledge: Command, tmp_path: Path) -> None:
    reqif = (
        '<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"><CORE-CONTENT><REQ-IF-CONTENT><SPEC-OBJECTS>'
        '<SPEC-OBJECT IDENTIFIER="_8f3a"><VALUES><ATTRIBUTE-VALUE-STRING THE-VALUE="SYS-3"><DEFINITION>'
        "<ATTRIBUTE-DEFINITION-STRING-REF>d1</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>"
        '<ATTRIBUTE-VALUE-STRING THE-VALUE="The pump shall stop."><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>d2'
        "</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING></VALUES><TYPE>"
        "<SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF></TYPE></SPEC-OBJECT></SPEC-OBJECTS><SPEC-TYPES>"
        '<SPEC-OBJECT-TYPE IDENTIFIER="t" LONG-NAME="Requirement"><SPEC-ATTRIBUTES>'
        '<ATTRIBUTE-DEFINITION-STRING IDENTIFIER="d1" LONG-NAME="ReqIF.ForeignID"/>'
        '<ATTRIBUTE-DEFINITION-STRING IDENTIFIER="d2" LONG-NAME="ReqIF.Text"/>'
        "</SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE></SPEC-TYPES></REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>"
    )
    (tmp_path / "sys.reqif").write_text(reqif)
    (tmp_path / "swr.md").write_text("# Needs\n\nSWR-1 The valve shall close.\n\nParent: SYS-3\n")
    assert linked(knowledge, str(tmp_path / "sys.reqif"), str(tmp_path / "swr.md")) == {("_8f3a", "SWR-1")}


COVERED = {("SYS-1", "SWR-1"), ("SYS-2", "SWR-2"), ("SYS-3", "SWR-2"), ("SYS-4", "SWR-3")}
SWR = [f"SWR-{number}" for number in range(1, 5)]
SYS = [f"SYS-{number}" for number in range(1, 7)]


def matrix(form: str) -> list[list[str]]:
    """Write what covers what in one of the forms that people use; SYS-5, SYS-6 and SWR-4 stand alone."""
    if form == "crosses":
        return [["", *SYS], *([one, *("X" if (each, one) in COVERED else "" for each in SYS)] for one in SWR)]
    if form == "turned":
        return [["", *SWR], *([each, *("x" if (each, one) in COVERED else "-" for one in SWR)] for each in SYS)]
    pairs = [[each, ", ".join(one for one in SWR if (each, one) in COVERED) or "-"] for each in SYS]
    return [["System", "Software"], *pairs]


@pytest.mark.parametrize("form", ["crosses", "turned", "pairs"])
def test_matrices_cover_what_is_crossed_and_nothing_else(knowledge: Command, tmp_path: Path, form: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "sys.csv").write_text("ID,Text\n" + "".join(f"{each},The system shall go.\n" for each in SYS))
    book = openpyxl.Workbook()
    book.create_sheet("Cover").append(["Revision", "C"])
    book.active.append(["ID", "Requirement"])
    for each in SWR:
        book.active.append([each, "The software shall go."])
    sheet = book.create_sheet("Trace matrix")
    for row in matrix(form):
        sheet.append(row)
    book.save(tmp_path / "swr.xlsx")
    head, *rows = (f"| {' | '.join(row)} |\n" for row in matrix(form))
    text = "# Needs\n\n" + "".join(f"**{each}** The software shall go.\n\n" for each in SWR) + "## Matrix\n\n"
    (tmp_path / "swr.md").write_text(text + head + "|---" * len(matrix(form)[0]) + "|\n" + "".join(rows))
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "swr.md").write_text(text)
    (tmp_path / "both" / "matrix.csv").write_text(
        "\n".join(",".join(f'"{each}"' for each in row) for row in matrix(form))
    )
    for target in ("swr.xlsx", "swr.md", "both"):
        assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / target)) == COVERED, target
    result = knowledge("trace", str(tmp_path / "sys.csv"), str(tmp_path / "swr.xlsx"))
    assert "swr.xlsx: sheets without items: Cover." in result.err


def test_a_matrix_in_a_design_links_the_clauses_that_it_names(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    design = "# Design\n\n## 2.1 Pump control\n\nA relay.\n\n## 2.2 Horn\n\nA transistor.\n\n## 3 Traceability\n\n"
    rows = "| SYS-1 | 2.1 Pump control |\n| SYS-2 | Horn |\n| SYS-3 | TBD |\n| SYS-4 | §2.1, 2.2 |\n"
    (tmp_path / "design.md").write_text(f"{design}| Requirement | Section |\n|---|---|\n{rows}")
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "design.md")) == {
        ("SYS-1", "2.1"),
        ("SYS-2", "2.2"),
        ("SYS-4", "2.1"),
        ("SYS-4", "2.2"),
    }


def test_what_is_withdrawn_is_neither_linked_nor_missed(knowledge: Command, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    from openpyxl.styles import Font

    (tmp_path / "sys.csv").write_text("ID,Text,Status\n" + SYSTEM.replace("in 8.\n", "in 8.,Rejected\n"))
    rows = [
        ("SWR-1", "The software shall stop.", "SYS-1", "Open"),
        ("SWR-2", "The software shall start.", "SYS-2", "Rejected"),
        ("SWR-3", "The software shall blink.", "SYS-3", "Superseded by SWR-1"),
        ("SWR-4", "(deleted) The software shall go on.", "SYS-4", "Approved"),
        ("SWR-5", "Deleted", "SYS-5", ""),
        ("SWR-6", "The software shall hum.", "SYS-6", "Approved"),
    ]
    book = openpyxl.Workbook()
    for row in (("ID", "Requirement", "Covers", "Status"), *rows):
        book.active.append(row)
    for cell in book.active[7]:
        cell.font = Font(strike=True)
    book.save(tmp_path / "swr.xlsx")
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows[:5])
    (tmp_path / "table.md").write_text(f"# Needs\n\n| ID | Requirement | Covers | Status |\n|---|---|---|---|\n{table}")
    said = "".join(
        f"[{name}] {text}\n\nCovers: {covers}\n\nStatus: {status}\n\n" for name, text, covers, status in rows[:5]
    )
    (tmp_path / "said.md").write_text(f"# Needs\n\n{said}")
    for name in ("swr.xlsx", "table.md", "said.md"):
        result = knowledge("trace", str(tmp_path / "sys.csv"), str(tmp_path / name), "--json")
        answer = json.loads(result.out)
        links = {(each["from"], each["to"]) for each in answer["links"] if each["verdict"] == "declared"}
        assert links == {("SYS-1", "SWR-1")}, name
        assert [each["id"] for each in answer["withdrawn"]["from"]] == ["SYS-8"]
        assert {"SWR-2", "SWR-3", "SWR-4"} <= {each["id"] for each in answer["withdrawn"]["to"]}
        assert "SYS-8" not in {each["id"] for each in answer["gaps"]["from"]}
        assert "Skipped because they are marked as withdrawn: 1 of FROM (SYS-8); " in result.err


@pytest.mark.parametrize("name", ["Object Identifier", "Global ID", "ID"])
def test_items_of_other_tools_are_linked_and_shown_by_what_people_call_them(
    knowledge: Command, tmp_path: Path, name: str
) -> None:
    values = "".join(
        f'<ATTRIBUTE-VALUE-STRING THE-VALUE="{value}"><DEFINITION><ATTRIBUTE-DEFINITION-STRING-REF>{key}'
        "</ATTRIBUTE-DEFINITION-STRING-REF></DEFINITION></ATTRIBUTE-VALUE-STRING>"
        for key, value in (("d1", "SYS-3"), ("d2", "The pump shall stop."))
    )
    (tmp_path / "sys.reqif").write_text(
        '<REQ-IF xmlns="http://www.omg.org/spec/ReqIF/20110401/reqif.xsd"><CORE-CONTENT><REQ-IF-CONTENT><SPEC-OBJECTS>'
        f'<SPEC-OBJECT IDENTIFIER="_8f3a"><VALUES>{values}</VALUES><TYPE><SPEC-OBJECT-TYPE-REF>t</SPEC-OBJECT-TYPE-REF>'
        '</TYPE></SPEC-OBJECT></SPEC-OBJECTS><SPEC-TYPES><SPEC-OBJECT-TYPE IDENTIFIER="t"><SPEC-ATTRIBUTES>'
        f'<ATTRIBUTE-DEFINITION-STRING IDENTIFIER="d1" LONG-NAME="{name}"/>'
        '<ATTRIBUTE-DEFINITION-STRING IDENTIFIER="d2" LONG-NAME="Description"/>'
        "</SPEC-ATTRIBUTES></SPEC-OBJECT-TYPE></SPEC-TYPES></REQ-IF-CONTENT></CORE-CONTENT></REQ-IF>"
    )
    (tmp_path / "swr.md").write_text("# Needs\n\nSWR-1 The valve shall close.\n\nParent: SYS-3\n")
    sides = (str(tmp_path / "sys.reqif"), str(tmp_path / "swr.md"))
    assert linked(knowledge, *sides) == {("_8f3a", "SWR-1")}
    assert json.loads(knowledge("trace", *sides, "--json").out)["links"][0]["from_name"] == "SYS-3"
    assert "SYS-3 (_8f3a)" in knowledge("trace", *sides).out


def test_a_quoted_requirement_covers_nothing(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\nSYS-1,The pump shall stop at once.\nSYS-2,The horn shall sound.\n")
    (tmp_path / "swr.md").write_text(
        "# Quoted\n\nSYS-1 The pump shall stop at once.\n\n# Needs\n\n"
        "SWR-1 The horn shall be driven. Covers SYS-2.\n\nSWR-2 The lamp shall blink.\n"
    )
    result = knowledge("trace", str(tmp_path / "sys.csv"), str(tmp_path / "swr.md"), "--json")
    answer = json.loads(result.out)
    assert {each["to"] for each in answer["links"]} <= {"SWR-1", "SWR-2"}
    assert [each["id"] for each in answer["copies"]] == ["SYS-1"]
    assert "Skipped in TO because they quote items of FROM (1): SYS-1." in result.err
    (tmp_path / "next.csv").write_text("ID,Text\nSYS-1,The pump shall stop at once.\nSYS-2,The horn shall sound.\n")
    edition = json.loads(knowledge("trace", str(tmp_path / "sys.csv"), str(tmp_path / "next.csv"), "--json").out)
    assert edition["copies"] == []


def test_cases_of_a_test_report_are_items_with_what_came_of_them(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "report.xml").write_text(
        '<?xml version="1.0"?><testsuites><testsuite name="pump">'
        '<testcase classname="pump.Stop" name="test_SYS_1_stops">'
        '<properties><property name="requirement" value="SYS-2"/></properties></testcase>'
        '<testcase classname="pump.Horn" name="sounds [SYS-3]"><failure message="silent">Trace</failure></testcase>'
        '<testcase classname="pump.Other" name="boots"/></testsuite></testsuites>'
    )
    (tmp_path / "other.xml").write_text("<note><p>SYS-4 is met.</p></note>")
    sides = (str(tmp_path / "sys.csv"), str(tmp_path / "report.xml"))
    assert linked(knowledge, *sides) == {
        ("SYS-1", "pump.Stop.test_SYS_1_stops"),
        ("SYS-2", "pump.Stop.test_SYS_1_stops"),
        ("SYS-3", "pump.Horn.sounds [SYS-3]"),
    }
    assert "sounds [SYS-3] (failed)" in knowledge("trace", *sides, "--json").out
    assert {one for one, _ in linked(knowledge, sides[0], str(tmp_path / "other.xml"))} == {"SYS-4"}


@pytest.mark.parametrize(
    "header",
    ["Anf.-Nr.,Anforderung,Deckt ab", "Réf.,Exigence,Couvre", "Código,Requisito,Cubre", "Req. No,Text,Covers"],
)
def test_tables_name_their_columns_in_their_language_and_links_that_lead_nowhere_are_reported(
    knowledge: Command, tmp_path: Path, header: str
) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n1001,The system shall go.\n1002,It shall stop.\nREQ-4,It shall turn.\n")
    rows = 'S-1,It shall go.,"1001, 1002"\nS-2,It shall stop.,1099\nS-3,It shall wait.,N/A\nS-4,It goes.,REQ-4 (open)\n'
    (tmp_path / "swr.csv").write_text(f"{header}\n{rows}")
    sides = (str(tmp_path / "sys.csv"), str(tmp_path / "swr.csv"))
    assert linked(knowledge, *sides) == {("1001", "S-1"), ("1002", "S-1")}
    lost = json.loads(knowledge("trace", *sides, "--json").out)["lost"]
    assert [(each["id"], each["link"]) for each in lost] == [("S-2", "1099")]


def test_rows_that_go_on_and_merged_cells_belong_to_their_item(knowledge: Command, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    (tmp_path / "swr.csv").write_text(
        "ID,Requirement,Covers\nSWR-1,It shall go.,SYS-1\n,,SYS-2\n"
        "SWR-2,It shall stop.,SYS-3\nSWR-2,It shall stop.,SYS-4\n"
    )
    book = openpyxl.Workbook()
    for row in (("ID", "Requirement", "Covers"), ("SWR-1", "It shall go.", "SYS-1"), (None, None, "SYS-2")):
        book.active.append(row)
    for row in (("SWR-2", "It shall stop.", "SYS-3"), ("SWR-3", "It shall turn.", None)):
        book.active.append(row)
    book.active.merge_cells("C4:C5")
    book.save(tmp_path / "swr.xlsx")
    both = {("SYS-1", "SWR-1"), ("SYS-2", "SWR-1"), ("SYS-3", "SWR-2")}
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "swr.csv")) == both | {("SYS-4", "SWR-2")}
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "swr.xlsx")) == both | {("SYS-3", "SWR-3")}


def test_columns_say_what_their_ids_are(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "sys.csv").write_text("ID,Text\n" + SYSTEM)
    rows = [
        ["ID", "Requirement", "Covers", "Not covered", "SYS-7", "Status"],
        ["SWR-1", "It shall go.", "SYS-1", "SYS-2", "x", "Open"],
        ["SWR-2", "It shall stop.", "SYS-3", "", "-", "Open"],
    ]
    (tmp_path / "swr.csv").write_text("".join(",".join(row) + "\n" for row in rows))
    expected = {("SYS-1", "SWR-1"), ("SYS-3", "SWR-2")}
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "swr.csv")) == expected | {("SYS-7", "SWR-1")}
    lines = [f"| {' | '.join(row[:4] + row[5:])} |\n" for row in rows]
    (tmp_path / "swr.md").write_text("# Needs\n\n" + lines[0] + "|---" * 5 + "|\n" + "".join(lines[1:]))
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "swr.md")) == expected
    titled = "| SYS-4 Start | SWR-1 Go | ok |\n| SYS-5 | not covered | - |\n| SYS-6 | SWR-2 (Stop 2) | ok |\n"
    matrix = f"\n# Matrix\n\n| System | Software | Remark |\n|---|---|---|\n{titled}"
    (tmp_path / "swr.md").write_text((tmp_path / "swr.md").read_text() + matrix)
    assert linked(knowledge, str(tmp_path / "sys.csv"), str(tmp_path / "swr.md")) == expected | {
        ("SYS-4", "SWR-1"),
        ("SYS-6", "SWR-2"),
    }

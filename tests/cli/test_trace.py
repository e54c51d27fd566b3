"""`knowledge trace`: files, folders and documents on either side; a table, JSON, CSV, a page; decisions are kept."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from knowledge_mcp.cli.knowledge.inspect import file_item
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.ranking.linking import Linker
from knowledge_mcp.readers.requirements.reader import RequirementReader
from tests.cli.conftest import Command
from tests.engine.test_tracing import REQUIREMENTS, TESTS, embed
from tests.readers.requirement_files import REQIF, RST, SDOC, zipped

pytestmark = pytest.mark.usefixtures("linker")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    """Write requirements as CSV and tests as JSON Lines."""
    requirements, tests = tmp_path / "srs.csv", tmp_path / "tests.jsonl"
    with requirements.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["ID", "Text"])
        writer.writerows((each.id, each.text) for each in REQUIREMENTS)
    tests.write_text("".join(json.dumps({"_id": each.id, "text": each.text}) + "\n" for each in TESTS))
    return str(requirements), str(tests)


def test_json_has_links_with_evidence_and_gaps_both_ways(knowledge: Command, sides: tuple[str, str]) -> None:
    answer = json.loads(knowledge("trace", *sides, "--json").out)
    links = {(each["from"], each["to"]): each for each in answer["links"]}
    pump = links["REQ-1", "t_overflow"]
    assert pump["verdict"] == "likely"
    assert pump["probability"] >= answer["threshold"]
    assert pump["evidence"]["from"] == {
        "citation": "srs.csv:2",
        "text": "The pump shall stop when the tank is full.",
    }
    assert [each["id"] for each in answer["gaps"]["from"]] == ["REQ-3"]
    assert [each["id"] for each in answer["gaps"]["to"]] == ["t_cable"]


def test_the_table_names_links_and_gaps(knowledge: Command, sides: tuple[str, str]) -> None:
    done = knowledge("trace", *sides)
    assert "t_audit" in done.out
    assert "The pump shall stop when the tank is full." in " ".join(done.out.replace("│", " ").split()), "the sentences"
    assert "Items of FROM without a link (1): REQ-3" in done.out
    assert "FROM: 0 of 3 with a declared link, 2 likely only, 1 without." in done.out
    assert "2 likely" in done.err


def test_csv_and_page_hold_links_and_gaps(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    table, page = tmp_path / "links.csv", tmp_path / "links.html"
    done = knowledge("trace", *sides, "--csv", str(table), "--html", str(page))
    assert done.out.startswith("FROM: ")  # the files have the links, and the terminal how many there are
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert {(row["from"], row["to"], row["verdict"]) for row in rows} >= {
        ("REQ-1", "t_overflow", "likely"),
        ("REQ-3", "", "none"),
        ("", "t_cable", "none"),
    }
    assert "t_overflow" in page.read_text()
    assert "://" not in page.read_text()


def test_a_page_shows_controls_of_direction_in_names(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    turning = tmp_path / "srs\u202egpj.csv"
    turning.write_bytes(Path(sides[0]).read_bytes())
    page, changes = tmp_path / "matrix.html", tmp_path / "changes.html"
    assert knowledge("trace", str(turning), sides[1], "--html", str(page)).code == 0
    assert knowledge("compare", str(turning), sides[0], "--html", str(changes)).code == 0
    for each in (page.read_text(), changes.read_text()):
        assert ("\u202e" in each, r"srs\u202egpj.csv" in each) == (False, True)


def test_decisions_are_kept_and_respected_by_the_next_run(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    kept = str(tmp_path / "decided.json")
    knowledge("trace", *sides, "--decisions", kept, "--reject", "REQ-1=t_overflow", "--accept", "REQ-3=t_cable")
    answer = json.loads(knowledge("trace", *sides, "--decisions", kept, "--json").out)
    links = {(each["from"], each["to"]): each["verdict"] for each in answer["links"]}
    assert ("REQ-1", "t_overflow") not in links
    assert links["REQ-3", "t_cable"] == "declared"


def test_a_folder_of_sources_has_one_item_a_file(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for each in TESTS:
        (tmp_path / "src" / "deep" / f"{each.id}.py").write_text(f"\n\n# {each.text}\n")
    (tmp_path / "src" / "tool.bin").write_bytes(b"\0\1\2")
    done = knowledge("trace", sides[0], str(tmp_path / "src"), "--json")
    links = {(each["from"], each["to"]): each["evidence"] for each in json.loads(done.out)["links"]}
    assert links["REQ-2", "deep/t_audit.py"]["to"]["citation"] == "deep/t_audit.py:3"
    assert f"Not traced in {tmp_path / 'src'}: tool.bin (" in done.err
    assert "tool.bin is not text: It is binary)." in done.err


def test_what_tools_write_and_gitignore_names_is_no_item(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    for name in ("node_modules/pump/index.js", "app/__pycache__/pump.pyc", "out/pump.py", "app/pump.py"):
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text(TESTS[0].text)
    (tmp_path / "code" / ".gitignore").write_text("out/\n")
    done = knowledge("trace", sides[0], str(tmp_path / "code"), "--json")
    answer = json.loads(done.out)
    assert {each["to"] for each in answer["links"]} | set(answer["gaps"]["to"]) == {"app/pump.py"}
    assert "Skipped: 3 files and folders ignored by .gitignore or generated by tools." in done.err
    assert "Not traced" not in done.err


def test_a_document_gives_its_requirements(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    document = tmp_path / "srs.md"
    document.write_text("# Plant\n\n" + "\n\n".join(f"[{each.id}] {each.text}" for each in REQUIREMENTS) + "\n")
    answer = json.loads(knowledge("trace", str(document), sides[1], "--json").out)
    assert ("REQ-1", "t_overflow") in {(each["from"], each["to"]) for each in answer["links"]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "{", "not valid JSON"),
        ("a.json", "9" * 5_000, "not valid JSON"),
        ("a.jsonl", "[1]\n", "item 1 is not an object"),
        ("a.jsonl", '{"id": "x"}\n', "item 1 has no text"),
        ("a.jsonl", '{"text": "x"}\n', "item 1 has no column or field `id`"),
        ("a.jsonl", '{"id": "x", "text": "y"}\n{"id": "x", "text": "z"}\n', "the id 'x' is used 2 times"),
        ("a.jsonl", "", "There are no items in"),
        ("a.csv", "name,words\nx,y\n", "item 2 has no column or field `id`"),
    ],
)
def test_wrong_items_are_refused_with_where_and_why(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path, name: str, content: str, said: str
) -> None:
    wrong = tmp_path / name
    wrong.write_text(content)
    done = knowledge("trace", str(wrong), sides[1])
    assert done.code == 1
    assert said in done.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"REQ-1,The pump shall stop.\nREQ-2,It shall start.\n", "has no column or field `id`"),
        (b"id,text\nREQ-1,a\nREQ-1,b\n", "the id 'REQ-1' is used 2 times"),
        (b"id,text\nREQ-1,\n", "item 2 has no text"),
        (b"id,text\n", "There are no items"),
        (b"\x00\xff\x01\x02" * 500, "is not text"),
    ],
    ids=["no header", "one id twice", "no text", "no rows", "binary"],
)
def test_tables_that_cannot_be_read_say_what_to_do(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "wrong.csv").write_bytes(content)
    result = knowledge("trace", str(tmp_path / "wrong.csv"), sides[1])
    assert (result.code, words in result.err, "Next: " in result.err) == (1, True, True), result.err


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8-sig"])
def test_tables_of_other_encodings_are_read(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "a.csv").write_text("ID;Text\nREQ-9;Die Pumpe muß stoppen, wenn der Behälter voll ist.\n", encoding)
    answer = json.loads(
        knowledge("trace", str(tmp_path / "a.csv"), sides[1], "--json", "--accept", "REQ-9=t_audit").out
    )
    (link,) = (each for each in answer["links"] if each["verdict"] == "declared")
    assert link["evidence"]["from"]["text"] == "Die Pumpe muß stoppen, wenn der Behälter voll ist."


def test_one_set_is_not_traced_to_itself(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    for other in (sides[0], str(tmp_path / "." / "srs.csv")):
        result = knowledge("trace", sides[0], other)
        assert (result.code, "cannot be compared with itself" in result.err) == (1, True)


def test_a_side_is_narrowed_to_ids_clauses_or_levels(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    answer = json.loads(knowledge("trace", *sides, "--only-from", "REQ-1", "--only-to", "t_over", "--json").out)
    assert {(each["from"], each["to"]) for each in answer["links"]} == {("REQ-1", "t_overflow")}
    assert [each["id"] for side in ("from", "to") for each in answer["gaps"][side]] == ["REQ-1", "t_overflow"]
    (tmp_path / "a.sdoc").write_text(SDOC)
    level = json.loads(knowledge("trace", str(tmp_path / "a.sdoc"), sides[1], "--only-from", "1", "--json").out)
    named = {each["from"] for each in level["links"]} | {each["id"] for each in level["gaps"]["from"]}
    assert named == {"SW-1"}
    clauses = "# 5.3 Pumps\n\nREQ-7 The pump shall stop.\n\n# 5.31 Doors\n\nREQ-8 The door shall open.\n"
    (tmp_path / "a.md").write_text(clauses)
    clause = json.loads(knowledge("trace", str(tmp_path / "a.md"), sides[1], "--only-from", "5.3", "--json").out)
    named = {each["from"] for each in clause["links"]} | {each["id"] for each in clause["gaps"]["from"]}
    assert named == {"REQ-7"}
    result = knowledge("trace", *sides, "--only-from", "REQ-77")
    assert (result.code, "begins with REQ-77" in result.err, "REQ-1" in result.err) == (1, True, True)


def test_a_decision_about_an_item_that_is_not_there_is_refused_and_not_kept(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    kept = tmp_path / "decisions.json"
    result = knowledge("trace", *sides, "--decisions", str(kept), "--accept", "REQ-11=t_audit")
    assert (result.code, kept.exists()) == (1, False)
    assert "There is no item 'REQ-11' in FROM" in result.err
    assert "Did you mean REQ-1" in result.err


def test_more_pairs_than_can_be_rated_at_once_are_refused() -> None:
    linker = Linker(EnglishAnalyser().document_terms, embed)
    with pytest.raises(InvalidInputError, match="more than 50000000 pairs"):
        linker(["a"] * 100_000, ["b"] * 100_000, 0.5)


def test_decisions_without_a_file_are_kept_for_these_two_sets(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    done = knowledge("trace", *sides, "--reject", "REQ-1=t_overflow")
    assert "Decisions kept: 1, in" in done.err
    later = knowledge("trace", *sides, "--json")
    assert "Decisions respected: 1, of" in later.err
    assert ("REQ-1", "t_overflow") not in {(each["from"], each["to"]) for each in json.loads(later.out)["links"]}
    other = tmp_path / "other.csv"
    other.write_bytes(Path(sides[0]).read_bytes())
    answer = json.loads(knowledge("trace", str(other), sides[1], "--json").out)
    assert ("REQ-1", "t_overflow") in {(each["from"], each["to"]) for each in answer["links"]}


def test_a_decision_about_no_link_is_refused(knowledge: Command, sides: tuple[str, str]) -> None:
    done = knowledge("trace", *sides, "--accept", "REQ-1")
    assert done.code == 1
    assert "is not a link" in done.err


# ---- requirements of other tools, and back to them


def test_declared_links_of_requirement_files_come_first(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "a.reqif").write_text(REQIF)
    (tmp_path / "b.sdoc").write_text(SDOC)
    answer = json.loads(knowledge("trace", str(tmp_path / "a.reqif"), str(tmp_path / "b.sdoc"), "--json").out)
    links = {(each["from"], each["to"]): each for each in answer["links"]}
    assert links["o1", "SW-1"]["verdict"] == "declared"
    assert links["o1", "SW-1"]["evidence"]["to"]["citation"] == "b.sdoc:8"
    assert links["o2", "SW-2"]["verdict"] in {"likely", "uncertain"}


def test_reqif_is_kept_byte_by_byte_and_relations_are_added(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "a.reqif").write_text(REQIF)
    (tmp_path / "b.sdoc").write_text(SDOC)
    out = tmp_path / "out.reqif"
    knowledge("trace", str(tmp_path / "a.reqif"), str(tmp_path / "b.sdoc"), "--reqif", str(out))
    written = out.read_text()
    place = 0
    for part in filter(
        str.strip, re.findall("<[^>]+>|[^<>]+", REQIF)
    ):  # what was there is there, in its order; what is new stands between
        found = written.find(part, place)
        assert found >= 0, part
        place = found + len(part)
    reader = RequirementReader()
    before, after = (reader.read(file_item(tmp_path / name)).items for name in ("a.reqif", "out.reqif"))
    reader.close()
    kept = {each.id: each for each in after}
    for each in before:
        assert (kept[each.id].text, kept[each.id].attributes, kept[each.id].level) == (
            each.text,
            each.attributes,
            each.level,
        )
        assert set(each.links) <= set(kept[each.id].links)
    assert ("SW-1", "Trace link") in {(link.target, link.kind) for link in kept["o1"].links}
    assert kept["SW-1"].text == "The software shall stop the pump\n\nwhen the tank is full."
    assert kept["SW-1"].attributes["STATUS"] == "Active"


def test_an_archive_keeps_its_attachments(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    zipped(tmp_path / "a.reqifz", spec__reqif=REQIF, picture__png=b"\x89PNG")
    knowledge("trace", str(tmp_path / "a.reqifz"), sides[1], "--reqif", str(tmp_path / "out.reqifz"))
    with zipfile.ZipFile(tmp_path / "out.reqifz") as archive:
        assert archive.read("picture.png") == b"\x89PNG"
        assert b"t_audit" in archive.read("spec.reqif")


def test_sets_of_any_kind_become_reqif_and_come_back_the_same(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    knowledge("trace", *sides, "--reqif", str(tmp_path / "out.reqif"))
    reader = RequirementReader()
    found = {each.id: each for each in reader.read(file_item(tmp_path / "out.reqif")).items}
    reader.close()
    assert {each.id: each.text for each in (*REQUIREMENTS, *TESTS)} == {name: each.text for name, each in found.items()}
    assert [link.target for link in found["REQ-1"].links] == ["t_overflow"]


def test_ids_that_reqif_does_not_allow_come_back_too_and_are_added_to_once(knowledge: Command, tmp_path: Path) -> None:
    one, other, out = tmp_path / "one.csv", tmp_path / "other.csv", tmp_path / "out.reqif"
    one.write_text("id,text,links\n4.1 a,The pump shall stop.,7\n")
    other.write_text("id,text\n7,Stop the pump.\n")
    knowledge("trace", str(one), str(other), "--reqif", str(out))
    third, again = tmp_path / "third.csv", tmp_path / "again.reqif"
    third.write_text("id,text,links\n9 b,The pump is stopped in the test.,4.1 a\n")
    knowledge("trace", str(third), str(out), "--reqif", str(again))
    reader = RequirementReader()
    for path, ids in ((out, ["4.1 a", "7"]), (again, ["4.1 a", "7", "9 b"])):
        found = {each.id: [link.target for link in each.links] for each in reader.read(file_item(path)).items}
        assert sorted(found) == ids
        assert found["4.1 a"] == ["7"]
    assert "4.1 a" in found["9 b"]
    reader.close()


def test_a_needs_json_holds_both_sets_and_is_read_again(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    knowledge("trace", *sides, "--needs", str(tmp_path / "needs.json"))
    needs = json.loads((tmp_path / "needs.json").read_text())["versions"]["1"]["needs"]
    assert needs["REQ-1"]["links"] == ["t_overflow"]
    answer = json.loads(knowledge("trace", str(tmp_path / "needs.json"), sides[1], "--json").out)
    assert ("REQ-1", "t_overflow", "declared") in {(e["from"], e["to"], e["verdict"]) for e in answer["links"]}


def test_a_workbook_has_links_and_gaps_and_no_formula(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    with Path(sides[0]).open("a") as stream:
        stream.write("=1+1,The valve shall open.\n")
    knowledge("trace", *sides, "--xlsx", str(tmp_path / "links.xlsx"))
    book = openpyxl.load_workbook(tmp_path / "links.xlsx")
    links = [[cell.value for cell in row] for row in book["Links"].iter_rows(min_row=2, max_col=4)]
    assert ["REQ-1", "t_overflow", "likely"] in [row[:3] for row in links]
    assert all(isinstance(row[3], float) for row in links)
    gaps = {cell.value: cell.data_type for row in book["Gaps"].iter_rows(min_row=2, max_col=1) for cell in row}
    assert gaps["=1+1"] == "s"
    odd = tmp_path / "odd.jsonl"  # XML cannot hold the last character of these
    odd.write_text('{"id": "REQ-9\\uffff", "text": "The valve shall open.\\uffff"}\n')
    assert knowledge("trace", str(odd), sides[1], "--xlsx", str(tmp_path / "odd.xlsx")).code == 0


def test_a_folder_of_doorstop_files_and_pages_with_needs_gives_their_items(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "spec"
    folder.mkdir()
    (folder / ".doorstop.yml").write_text("settings:\n  prefix: SW\n")
    (folder / "SW001.yml").write_text("level: 1.0\nlinks:\n- REQ-1: null\ntext: |\n  Stop the pump.\n")
    (folder / "needs.rst").write_text(RST)
    answer = json.loads(knowledge("trace", sides[0], str(folder), "--json").out)
    assert ("REQ-1", "SW001", "declared") in {(e["from"], e["to"], e["verdict"]) for e in answer["links"]}
    seen = {each["to"] for each in answer["links"]} | {each["id"] for each in answer["gaps"]["to"]}
    assert seen == {"SW001", "SW_STOP", "SW_AUDIT"}


def test_specification_items_are_covered_by_the_items_and_the_code_that_say_so(
    knowledge: Command, tmp_path: Path
) -> None:
    spec, folder = tmp_path / "spec.md", tmp_path / "src"
    folder.mkdir()
    text = "# S\n\n## Stop\n`req~stop~1`\n\nThe pump stops.\n\n## Go\n`req~go~1`\n\nThe pump goes.\n"
    spec.write_text(f"{text}\n## Old\n`req~old~2`\n\nThe horn sounds.\n")
    (folder / "design.md").write_text("# D\n\n## Valve\n`dsn~valve~1`\n\nA valve.\n\nCovers:\n\n* `req~stop~1`\n")
    (folder / "pump.py").write_text("# [impl->req~go~1]\n# [impl->req~old~1]\ndef go() -> None: ...\n")
    answer = json.loads(knowledge("trace", str(spec), str(folder), "--json").out)
    declared = {(each["from"], each["to"]) for each in answer["links"] if each["verdict"] == "declared"}
    assert declared == {("req~stop~1", "dsn~valve~1"), ("req~go~1", "pump.py")}


def test_columns_of_tables_may_be_called_otherwise(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("Key;Wording\nA-1;The pump shall stop when the tank is full.\n")
    done = knowledge("trace", str(table), sides[1], "--json")
    assert "item 2 has no text" in done.err
    answer = json.loads(knowledge("trace", str(table), sides[1], "--columns", "id=Key,text=wording", "--json").out)
    assert answer["links"][0]["from"] == "A-1"
    assert "does not assign a column" in knowledge("trace", str(table), sides[1], "--columns", "number=Key").err


def test_links_that_are_no_list_are_refused(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.jsonl"
    for links in (5, {"x": 1}):
        wrong.write_text(json.dumps({"id": "A", "text": "The pump shall stop.", "links": links}))
        done = knowledge("trace", str(wrong), sides[1])
        assert "the links of item 1 are not a list" in done.err


def test_declared_links_that_lead_nowhere_are_reported(
    knowledge: Command, sides: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "own.csv").write_text("id,text,links\nREQ-9,The pump shall stop.,t_audit; t_gone\n")
    result = knowledge("trace", str(tmp_path / "own.csv"), sides[1], "--json")
    assert json.loads(result.out)["lost"] == [{"id": "REQ-9", "citation": "own.csv:2", "link": "t_gone"}]
    assert "without a unique target item in these sets (1): REQ-9 → t_gone." in result.err
    narrowed = knowledge("trace", str(tmp_path / "own.csv"), sides[1], "--only-to", "t_audit", "--json")
    assert json.loads(narrowed.out)["lost"] == []

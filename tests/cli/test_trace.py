"""`knowledge trace`: files, folders and documents on either side; a table, JSON, CSV, a page; decisions are kept."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from knowledge_mcp import wiring
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking.linking import Linker
from knowledge_mcp.settings import Settings
from tests.cli.conftest import Command
from tests.engine.test_tracing import REQUIREMENTS, TESTS, embed


@pytest.fixture(autouse=True)
def linker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rate without the model."""

    def build(_: Settings) -> Linker:
        return Linker(EnglishAnalyser().document_terms, embed)

    monkeypatch.setattr(wiring, "build_linker", build)


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
    assert "Without a link, of FROM (1): REQ-3" in done.out
    assert "2 likely" in done.err


def test_csv_and_page_hold_links_and_gaps(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    table, page = tmp_path / "links.csv", tmp_path / "links.html"
    knowledge("trace", *sides, "--csv", str(table), "--html", str(page))
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert {(row["from"], row["to"], row["verdict"]) for row in rows} >= {
        ("REQ-1", "t_overflow", "likely"),
        ("REQ-3", "", "none"),
        ("", "t_cable", "none"),
    }
    assert "t_overflow" in page.read_text()
    assert "://" not in page.read_text()


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
        (tmp_path / "src" / "deep" / f"{each.id}.py").write_text(each.text)
    (tmp_path / "src" / "tool.bin").write_bytes(b"\0\1\2")
    done = knowledge("trace", sides[0], str(tmp_path / "src"), "--json")
    assert ("REQ-2", "deep/t_audit.py") in {(each["from"], each["to"]) for each in json.loads(done.out)["links"]}
    assert "Not traced: tool.bin (not text)" in done.err


def test_a_document_gives_its_requirements(knowledge: Command, sides: tuple[str, str], tmp_path: Path) -> None:
    document = tmp_path / "srs.md"
    document.write_text("# Plant\n\n" + "\n\n".join(f"[{each.id}] {each.text}" for each in REQUIREMENTS) + "\n")
    answer = json.loads(knowledge("trace", str(document), sides[1], "--json").out)
    assert ("REQ-1", "t_overflow") in {(each["from"], each["to"]) for each in answer["links"]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", "{", "no valid JSON"),
        ("a.jsonl", "[1]\n", "item 1 is no object"),
        ("a.jsonl", '{"id": "x"}\n', "item 1 has no text"),
        ("a.jsonl", '{"text": "x"}\n', "item 1 has no id"),
        ("a.jsonl", '{"id": "x", "text": "y"}\n{"id": "x", "text": "z"}\n', "the id 'x' stands 2 times"),
        ("a.jsonl", "", "There are no items in"),
        ("a.csv", "name,words\nx,y\n", "item 2 has no id"),
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


def test_a_decision_needs_a_place_to_be_kept(knowledge: Command, sides: tuple[str, str]) -> None:
    done = knowledge("trace", *sides, "--accept", "REQ-1=t_audit")
    assert done.code == 1
    assert "Add --decisions FILE." in done.err

"""Editions through the real commands: ingest says so, questions take an edition, families are split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.cli.running import Finished


@pytest.fixture
def shelf(home: Path) -> Path:
    """Write two editions into a folder."""
    folder = home / "docs"
    folder.mkdir()
    for year, seconds in (("2018", 5), ("2023", 4)):
        text = f"# ACME 100:{year} Lifts\n\n## 1 Doors\n\nEach landing door shall close within {seconds} s.\n"
        (folder / f"lifts-{year}.md").write_text(text)
    return folder


def answer_of(done: Finished) -> dict[str, Any]:
    """Read what a command wrote."""
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_ingest_tells_editions_and_the_commands_ask_for_them(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    report = answer_of(real_ingest(str(shelf), "--json"))
    assert report["editions"] == [
        "lifts-2018 is treated as edition 2018 of ACME 100: Lifts, not the current one (others: lifts-2023).",
        "lifts-2023 is treated as edition 2023 of ACME 100: Lifts, the current one (others: lifts-2018).",
    ]
    now = answer_of(knowledge("search", "landing door", "--json"))
    assert [each["source"]["document_id"] for each in now["results"]] == ["lifts-2023"]
    assert "2018 (lifts-2018)" in str(now["editions"])
    old = answer_of(knowledge("search", "landing door", "--edition", "2018", "--json"))
    assert [each["source"]["document_id"] for each in old["results"]] == ["lifts-2018"]
    assert old["filters_applied"] == {"edition": "2018"}
    shown = knowledge("requirements", "landing door", "--edition", "as of 2020")
    assert "within 5 s" in shown.out
    assert "within 4 s" not in shown.out


def test_headings_of_ingested_files_have_lines_also_where_a_passage_begins_above_them(
    home: Path, real_ingest: Command, knowledge: Command
) -> None:
    text = "---\nedition: 2018\n---\n# Gates\n\n## 1 Loads\n### 1.1 Wind\nGates should withstand 30 m/s.\n"
    for year, more in (("2018", ""), ("2023", "\nAnd 2 m of water.\n")):
        (home / f"gates-{year}.md").write_text(text.replace("2018", year) + more)
    assert real_ingest(str(home / "gates-2018.md"), str(home / "gates-2023.md")).code == 0
    places = [
        each["old"]["line"]
        for each in answer_of(knowledge("compare", "gates-2018", "gates-2023", "--json"))["alignment"]
    ]
    assert places == [1, 4, 6, 7]  # front matter, then the headings
    outline = answer_of(knowledge("outline", "gates-2023", "--json"))
    assert [(each["title"], each["line"]) for each in outline["sections"]] == [("Gates", 4), ("Loads", 6), ("Wind", 7)]
    assert "line 7" in knowledge("outline", "gates-2023").out


def test_a_family_is_listed_split_and_joined_again(shelf: Path, real_ingest: Command, knowledge: Command) -> None:
    real_ingest(str(shelf))
    families = answer_of(knowledge("documents", "family", "--json"))["families"]
    assert [each["is_current"] for each in families[0]["editions"]] == [False, True]
    assert "only edition" in knowledge("documents", "family", "lifts-2018", "--split").out
    both = answer_of(knowledge("search", "landing door", "--json"))
    assert len(both["results"]) == 2
    assert "current edition is 2023" in knowledge("documents", "family", "lifts-2018", "--reset").out
    refused = knowledge("documents", "family", "--split")
    assert refused.code != 0
    assert "No document id was given" in refused.err


def test_an_edition_that_nobody_has_is_refused_with_those_that_there_are(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    real_ingest(str(shelf))
    refused = knowledge("search", "landing door", "--edition", "1999")
    assert refused.code != 0
    assert "No document has the edition '1999'" in refused.err
    assert "Use one of 2018, 2023" in refused.err
    assert "'2020-13' is not a date" in knowledge("search", "landing door", "--edition", "as of 2020-13").err
    assert knowledge("search", "landing door", "--edition", "as of 2020-12").code == 0
    assert "as of yesterday" in knowledge("search", "landing door", "--edition", "as of yesterday").err


def test_impact_shows_who_refers_to_what_changed(shelf: Path, real_ingest: Command, knowledge: Command) -> None:
    (shelf / "manual.md").write_text("# Manual\n\n## 1 Doors\n\nDoors shall be built as ACME 100, clause 1, demands.\n")
    real_ingest(str(shelf))
    answer = answer_of(knowledge("impact", "ACME 100", "--json"))
    assert [(each["document_id"], each["clause"]) for each in answer["touched"]] == [("manual", "1")]
    assert answer["touched"][0]["change"]["changes"][0]["from"] == "5 s"
    shown = knowledge("impact", "lifts-2018").out
    assert "undated" in shown
    assert "number: 5 s → 4 s" in " ".join(shown.split())
    assert "edited: " in shown, "with the citation of what changed"


def test_what_is_given_at_the_ingest_filters_a_search(home: Path, real_ingest: Command, knowledge: Command) -> None:
    for name in ("one", "two"):
        (home / name).mkdir()
        (home / name / f"{name}.md").write_text("# Frames\n\nThe frame shall carry the load.\n")
    answer_of(real_ingest("one", "--meta", "project=bridge", "--meta", "tags=wind, steel", "--json"))
    answer_of(real_ingest("two", "--meta", "project=tower", "--json"))
    for asked in (("--meta", "project=tower"), ("--tag", "steel")):
        found = answer_of(knowledge("search", "frame load", *asked, "--json"))
        assert [each["source"]["document_id"] for each in found["results"]] == ["two" if "--meta" in asked else "one"]
    refused = knowledge("search", "frame load", "--meta", "project=barn")
    assert refused.code != 0
    assert "bridge, tower" in refused.err + refused.out
    for wrong in ("project", "claimed=title", "=x"):
        assert real_ingest("one", "--meta", wrong).code == 2


def test_the_next_step_is_in_words_of_the_command_line_also_in_json(
    shelf: Path, real_ingest: Command, knowledge: Command
) -> None:
    real_ingest(str(shelf / "lifts-2018.md"))
    only = knowledge("impact", "lifts-2018", "--json")
    for text in (only.err, json.loads(only.out)["error"]["suggestion"]):
        assert "ids of both editions in --from and --to" in text
    assert "Next: `knowledge documents list` lists" in knowledge("impact", "nothing like it").err
    broken = shelf / "lifts-2020.pdf"
    broken.write_bytes(b"%PDF-1.7\nand no more of it")
    refused = knowledge("compare", str(shelf / "lifts-2018.md"), str(broken)).err
    assert "try again" in refused
    assert "ingest" not in refused, "nothing was ingested"

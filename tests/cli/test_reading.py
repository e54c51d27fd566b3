"""`knowledge read|outline|references|verify-quote`: what a person sees, what a script gets, and the exit codes."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from functools import partial

import pytest
import typer

from knowledge_mcp.cli.knowledge import reading
from tests.cli.running import Finished
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import FakeDocument, FakePassage

Command = Callable[..., Finished]


def _main() -> None:
    """Run the four commands as `knowledge` has them."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    for each in (reading.read, reading.outline, reading.references):
        app.command()(each)
    app.command("verify-quote")(reading.verify_quote)
    app(prog_name="knowledge")


@pytest.fixture
def run(call: Command, fake: FakeKnowledge) -> Command:
    fake.add(
        FakeDocument(
            "iso-4711",
            "ISO 4711 Ferries",
            (
                FakePassage("5.1", "Lines", "Lines are kept dry, see 5.2. See also ISO 9999."),
                FakePassage("5.2", "Knots", "Hold."),
            ),
        )
    )
    fake.add(FakeDocument("piers", "Piers", (FakePassage("1", "Loads", "Piers hold the ferries of ISO 4711."),)))
    return partial(call, _main)


def test_a_clause_pages_and_a_passage_are_read(run: Command, fake: FakeKnowledge) -> None:
    clause = run("read", "example-standard", "--clause", "5.3.1")
    assert clause.code == 0
    assert "The supplier shall keep a verification plan" in clause.out
    assert "5.3.1 Verification planning, p. 7" in clause.out
    pages = json.loads(run("read", "example-standard", "--pages", "7-8", "--json").out)
    assert pages["passages"][0]["locator"]["page_numbers"] == [7, 8]
    chunk = fake.document_chunks("example-standard")[2].id
    assert "5.3.1" in run("read", "--chunk", chunk, "--before", "1").out
    fake.add(FakeDocument("long", "Long", tuple(FakePassage(f"{n}", f"Part {n}", "word " * 60) for n in range(1, 9))))
    first = run("read", "long", "--max-tokens", "50")
    assert "There is more: pass --cursor" in first.out
    cursor = first.out.rsplit("--cursor ", 1)[1].split(".")[0]
    assert run("read", "long", "--cursor", cursor).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("read", "example-standard", "--clause", "5.3.9"), "Did you mean 5.3."),
        (("read", "example-standrd"), "example-standard"),
        (("read", "example-standard", "--pages", "one"), "12-14"),
        (("read",), "`knowledge documents list` lists the ids of documents; a search shows those of passages."),
        (("outline", "nowhere"), "nowhere"),
        (("references", "example-standard", "--clause", "9"), "clause '9'"),
        (("verify-quote", "  "), "Invalid arguments: quote: must not be blank."),
    ],
)
def test_what_cannot_be_shown_ends_with_one_and_says_what_to_do(
    run: Command, arguments: tuple[str, ...], words: str
) -> None:
    finished = run(*arguments)
    assert finished.code == 1
    assert words in finished.err
    assert finished.out == ""
    output = json.loads(run(*arguments, "--json").out)
    assert output["error"]["code"] in {"not_found", "invalid_input"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", "example-standard", "--clause", "5.3.1"),
        ("verify-quote", "Verification records shall not be discarded."),
    ],
)
def test_a_citation_is_whole_in_a_narrow_terminal(
    run: Command, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = " ".join(run(*arguments).out.replace("│", " ").split())
    assert re.search(r"Example Standard for Widget Engineering, 5\.3\.\d [A-Z][a-z ]+, p\. \d", shown)


def test_the_outline_is_a_tree_and_coverage_a_table(run: Command, fake: FakeKnowledge) -> None:
    tree = run("outline", "example-standard")
    assert "Verification planning  p. 7" in tree.out
    assert "(+2)" in run("outline", "example-standard", "--depth", "1").out
    table = run("outline", "example-standard", "--coverage")
    assert "text_layer" in table.out
    assert "The page is blank." in table.out
    fake.add(FakeDocument("long", "Long", tuple(FakePassage(f"{n}", f"Part {n}", "Words.") for n in range(1, 451))))
    whole = json.loads(run("outline", "long", "--json").out)
    assert len(whole["sections"]) == whole["total"] == 450
    assert "next_cursor" not in whole
    assert "Part 450" in run("outline", "long").out


def test_references_are_shown_both_ways(run: Command) -> None:
    shown = run("references", "iso-4711")
    assert shown.code == 0
    assert "Refers to" in shown.out
    assert "ISO 4711 Ferries, 5.2 Knots, p. 1" in shown.out
    assert "The document is not in the knowledge base." in shown.out
    assert "Referred to by" in shown.out
    assert "Piers, 1 Loads" in shown.out
    assert "more are not shown" in run("references", "iso-4711", "-n", "1").out
    output = json.loads(run("references", "iso-4711", "--clause", "5.2", "--json").out)
    assert [link["text"] for link in output["incoming"]] == ["see 5.2"]


@pytest.mark.parametrize(
    ("quote", "document", "verdict", "code"),
    [
        ("Verification records shall not be discarded.", "example-standard", "exact", 0),
        ("verification RECORDS shall not be discarded.", None, "normalised", 0),
        ("Verification records shall not be discarded.", "example-handbook", "elsewhere", 1),
        ("Verification records may be discarded.", None, "not_found", 1),
    ],
)
def test_the_exit_code_says_whether_a_quote_is_true(
    run: Command, quote: str, document: str | None, verdict: str, code: int
) -> None:
    more = () if document is None else ("--document", document)
    shown = run("verify-quote", quote, *more)
    assert shown.code == code
    assert shown.out.startswith(verdict)
    result = run("verify-quote", quote, *more, "--json")
    assert result.code == code
    assert json.loads(result.out)["verdict"] == verdict


def test_a_quote_may_come_from_standard_input(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Verification records\nshall not be discarded.\n"))
    assert run("verify-quote", "-").code == 0

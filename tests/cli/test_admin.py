"""`knowledge`: answers for people and as JSON, removal that asks, settings without secrets, errors with a next step."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from knowledge_mcp.cli.knowledge.main import app
from knowledge_mcp.cli.shared.output import print_table
from knowledge_mcp.model.errors import ConnectionFailedError, SpaceMismatchError
from knowledge_mcp.model.query import LookupAnswer, SearchAnswer, SearchQuery
from tests.cli.conftest import Command
from tests.cli.running import Terminal, run
from tests.fakes.knowledge import FakeKnowledge


def loaded(text: str) -> Any:
    """Parse what a command wrote."""
    return json.loads(text)


def test_search_shows_passages_with_their_citation(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge("search", "verification plan", "-n", "2")
    assert (done.code, done.err) == (0, "")
    assert "The supplier shall keep a verification plan for every widget." in done.out
    assert "Example Standard for Widget Engineering, 5.3.1 Verification planning, p. 7" in done.out
    assert fake.closed


def test_search_passes_every_filter_on(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge(
        "search", "verification", "--json", "--normative", "--clause", "5.3", "--type", "standard",
        "--chunk-type", "requirement", "--document", "example-standard", "--mode", "semantic",
        "--meta", "date=2020..2023", "--tag", "steel",
    )  # fmt: skip
    answer = loaded(done.out)
    assert answer["search_type"] == "semantic"
    assert [each["source"]["clause_number"] for each in answer["results"]] == ["5.3.1", "5.3.2"]
    assert answer["filters_applied"] == {
        "document_type": "standard", "chunk_type": "requirement", "normative_only": True,
        "document_id": ["example-standard"], "clause_number": "5.3", "metadata": {"date": "2020..2023"},
        "tags": ["steel"],
    }  # fmt: skip


def test_search_asks_the_collections_that_are_named_and_says_which_a_passage_is_of(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    search = fake.search

    def of_plant(query: SearchQuery) -> SearchAnswer:
        asked.append(query.collections)
        found = search(query)
        return replace(found, hits=tuple(replace(hit, collection="plant") for hit in found.hits))

    monkeypatch.setattr(fake, "search", of_plant)
    assert "in plant" in knowledge("search", "widget", "--in", "plant", "--in", "site").out
    assert asked == [("plant", "site")]


def test_keyword_search_says_that_it_is_one(knowledge: Command, fake: FakeKnowledge) -> None:
    assert loaded(knowledge("search", "widget", "--mode", "keyword", "--json").out)["search_type"] == "keyword"


def test_an_empty_answer_says_why(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge("search", "zebra")
    assert done.code == 0
    assert done.out.strip()


def test_an_empty_collection_names_the_others(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for record in fake.documents():
        fake.remove(record.id)
    counted = replace(fake.stats(), collections=("kb", "plant"))
    monkeypatch.setattr(fake, "stats", lambda: counted)
    for command in ("search", "lookup"):
        said = knowledge(command, "widget").out
        assert "The searched collection is empty" in said
        assert "These collections exist: kb, plant; pass --in to `knowledge search`." in said


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_the_terminal_cannot_write_is_written_as_its_code(tmp_path: Path, encoding: str) -> None:
    shown = run("knowledge", "search", "泵 é widget", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (shown.code, shown.err) == (0, "")
    result = run("knowledge", "search", "泵 é widget", "--json", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (result.code, json.loads(result.out)["query"]) == (0, "泵 é widget")
    missing = run("knowledge", "lookup", "泵", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert "Term '\\u6cf5' not found" in missing.out


def test_a_value_that_no_tool_takes_is_refused(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge("search", "widget", "--type", "novel")
    assert done.code == 1
    assert "document_type" in done.err
    assert "'handbook'" in done.err


def test_lookup_defines_a_term_and_offers_others(knowledge: Command, fake: FakeKnowledge) -> None:
    assert "smallest part of a system" in knowledge("lookup", "widget").out
    assert "Similar terms: widget" in knowledge("lookup", "widgit").out
    assert loaded(knowledge("lookup", "widgit", "--json").out)["found"] is False


def test_lookup_shows_the_notes_of_an_entry_and_the_source_it_names(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fake.lookup("widget")
    first = found.definitions[0]
    noted = replace(first.definition, notes=("NOTE It is small.",), origin="ISO 999:2020, 3.1")
    result = replace(found, definitions=(replace(first, definition=noted),))

    def lookup(_: str) -> LookupAnswer:
        return result

    monkeypatch.setattr(fake, "lookup", lookup)
    shown = knowledge("lookup", "widget").out
    assert "NOTE It is small." in shown
    assert "Source: ISO 999:2020, 3.1" in shown


def test_requirements_are_shown_with_their_clause(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge("requirements", "verification", "--standard", "widget")
    assert "5.3.1" in done.out
    assert "shall keep a verification plan" in done.out
    assert loaded(knowledge("requirements", "verification", "--json").out)["total"] >= 2


def test_stats_count_what_there_is(knowledge: Command, fake: FakeKnowledge) -> None:
    assert "Documents" in knowledge("stats").out
    assert loaded(knowledge("stats", "--json").out)["knowledge_base"]["total_documents"] == 2


def test_documents_are_listed_shown_and_read(knowledge: Command, fake: FakeKnowledge) -> None:
    assert "example-handbook" in knowledge("documents", "list").out
    listed = loaded(knowledge("documents", "list", "--json").out)
    assert [each["document_id"] for each in listed["documents"]] == ["example-handbook", "example-standard"]
    shown = knowledge("documents", "show", "example-standard")
    assert "5.3.1 Verification planning  (1)" in shown.out
    assert loaded(knowledge("documents", "show", "example-standard", "--json").out)["chunk_count"] == 4
    text = knowledge("documents", "show", "example-standard", "--text").out
    assert text == fake.document_text("example-standard") + "\n"


def test_a_narrow_terminal_breaks_no_word_of_the_list_of_documents(tmp_path: Path) -> None:
    for columns in ("80", "160"):
        shown = run("knowledge", "documents", "list", cwd=tmp_path, COLUMNS=columns).out
        for whole in ("example-standard", "Example Standard", "Engineering", "Chunks", "Ingested", "2026-0", "ready"):
            assert whole in shown


def test_one_long_id_leaves_the_other_columns_their_width(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Id", "Title"), [("x" * 200, "Pumps"), ("wells", "Wells")], unbroken={"Id"})
    shown = capsys.readouterr().out
    assert "│ wells " in shown
    assert "│ Pumps " in shown


def test_an_unknown_document_is_reported_with_what_to_do(knowledge: Command, fake: FakeKnowledge) -> None:
    done = knowledge("documents", "show", "example-standart", "--json")
    assert done.code == 1
    assert "Did you mean example-standard" in done.err
    assert loaded(done.out)["error"]["code"] == "not_found"


def test_remove_wants_yes_where_nobody_can_be_asked(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = knowledge("documents", "remove", "example-standard")
    assert done.code == 1
    assert "--yes" in done.err
    assert "Removed example-standard: 4 chunks." in knowledge("documents", "remove", "example-standard", "--yes").out
    assert [record.id for record in fake.documents()] == ["example-handbook"]


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_remove_asks_on_a_terminal(tmp_path: Path, answer: str, code: int) -> None:
    terminal = Terminal("knowledge", "documents", "remove", "example-standard", cwd=tmp_path)
    terminal.wait_for("[y/N]")
    terminal.type(f"{answer}\n")
    done = terminal.finish()
    assert done.code == code
    assert ("Removed example-standard" in done.out) is (code == 0)


def test_an_empty_knowledge_base_says_how_to_fill_it(knowledge: Command, fake: FakeKnowledge) -> None:
    for record in fake.documents():
        fake.remove(record.id)
    assert "knowledge-ingest" in knowledge("documents", "list").out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConnectionFailedError("The store does not answer.", details="errno 111"), 3),
        (SpaceMismatchError("The collection is in another space.", details="a and b"), 3),
        (ZeroDivisionError("a defect"), 1),
    ],
)
def test_every_failure_has_one_form(
    knowledge: Command, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("knowledge_mcp.wiring.build_knowledge", fail)
    done = knowledge("stats")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("Error: ")
    assert "Next: " in done.err
    assert "Traceback" not in done.err
    assert ("ZeroDivisionError: a defect" in done.err) is isinstance(error, ZeroDivisionError)
    assert ("a defect" in knowledge("stats", "--verbose").err) is isinstance(error, ZeroDivisionError)


def test_wrong_settings_stop_a_command_with_exit_code_3(knowledge: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_OVERLAP", "900")
    monkeypatch.setenv("LOG_FORMAT", "xml")
    done = knowledge("stats")
    assert done.code == 3
    assert "CHUNK_OVERLAP" in done.err
    assert "LOG_FORMAT" in done.err


def test_config_show_tells_value_and_origin_and_masks_secrets(
    home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".env").write_text("CHUNK_SIZE_MAX=500\nMCP_API_KEY=hush-hush\n")
    monkeypatch.setenv("LOG_LEVEL", "debug")
    shown = loaded(knowledge("config", "show", "--json").out)
    settings = {each["name"]: each for each in shown["settings"]}
    assert (settings["CHUNK_SIZE_MAX"]["value"], settings["CHUNK_SIZE_MAX"]["origin"]) == ("500", str(home / ".env"))
    assert (settings["LOG_LEVEL"]["value"], settings["LOG_LEVEL"]["origin"]) == ("DEBUG", "environment")
    assert settings["MCP_API_KEY"]["value"] == "********"
    assert shown["vector_store"]["backend"] == "sqlite"
    table = knowledge("config", "show").out
    assert "hush" not in table
    assert "CHUNK_SIZE_MAX" in table


def test_config_show_shows_what_is_wrong_and_fails(knowledge: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_SIZE_MAX", "7")
    done = knowledge("config", "show")
    assert done.code == 3
    assert "CHUNK_SIZE_MAX" in done.out
    assert "Problem: CHUNK_SIZE_MAX is '7'" in done.err


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-desktop", ("mcpServers", "docs")),
        ("claude-code", ("mcpServers", "docs")),
        ("vscode", ("servers", "docs")),
        ("generic", ()),
    ],
)
def test_config_client_prints_an_absolute_command_and_no_secret(
    home: Path, knowledge: Command, monkeypatch: pytest.MonkeyPatch, client: str, path: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MCP_API_KEY", "hush-hush")
    monkeypatch.setenv("QDRANT_COLLECTION", "mine")
    done = knowledge("config", "client", "--client", client, "--name", "docs")
    server = loaded(done.out)
    for key in path:
        server = server[key]
    assert Path(server["command"]).is_absolute()
    assert Path(server["command"]).exists()
    assert server["env"] == {"DATA_PATH": str(home / ".local" / "share" / "knowledge-mcp"), "QDRANT_COLLECTION": "mine"}
    assert "hush" not in done.out + done.err
    assert "MCP_API_KEY" in done.err


def test_help_of_every_command_has_an_example(knowledge: Command) -> None:
    done = knowledge("search", "--help")
    assert done.code == 0
    assert "Example: knowledge search" in done.out
    assert "--install-completion" in knowledge("--help").out
    assert knowledge("--version").out.startswith("knowledge ")


@pytest.mark.parametrize("group", ["", "documents", "collections", "config", "models", "requirements", "planning"])
def test_what_a_command_does_stands_whole_in_the_list_of_a_narrow_terminal(
    knowledge: Command, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, listed = knowledge(*group.split(), "--help").out.partition("Commands:\n")
    assert listed
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


def test_search_prints_the_ids_that_read_takes_and_never_breaks_one(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    (first, *_) = loaded(knowledge("search", "verification plan", "--json").out)["results"]
    done = knowledge("search", "verification plan")
    assert f"document {first['source']['document_id']}, passage {first['id']}\n" in done.out
    assert knowledge("read", "--chunk", first["id"]).code == 0


def test_an_id_in_the_list_of_documents_is_whole_on_a_narrow_terminal(
    knowledge: Command, fake: FakeKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    ids = [each["document_id"] for each in loaded(knowledge("documents", "list", "--json").out)["documents"]]
    listed = knowledge("documents", "list").out
    assert ids
    assert [each for each in ids if each not in listed] == []


@pytest.mark.parametrize("asked", [("search", "zebra"), ("lookup", "zebra"), ("requirements", "zebra")])
def test_a_hint_at_the_terminal_names_commands_and_no_tool(
    knowledge: Command, fake: FakeKnowledge, asked: tuple[str, ...]
) -> None:
    out = knowledge(*asked).out
    assert "`knowledge " in out
    assert "knowledge_" not in out


def test_a_command_loads_no_other_command() -> None:
    script = (
        "import sys\nfrom knowledge_mcp.cli.knowledge.main import main\n"
        "sys.argv = ['knowledge', 'documents', '--help']\ntry:\n    main()\nfinally:\n    print(*sys.modules)\n"
        "    import knowledge_mcp.surfaces.standards\n    print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    modules, with_tools = (set(line.split()) for line in done.stdout.splitlines()[-2:])
    commands = {each for each in modules if each.startswith("knowledge_mcp.cli.knowledge.")}
    assert commands == {"knowledge_mcp.cli.knowledge.main", "knowledge_mcp.cli.knowledge.documents"}
    assert not {each for each in modules if each.startswith(("knowledge_mcp.engine", "knowledge_mcp.language"))}
    # what compares documents takes longer to load than all else that the tools need
    rooms = {each.rpartition(".")[0] for each in with_tools - {"knowledge_mcp.engine.changes.kinds"}}
    assert rooms.isdisjoint({"knowledge_mcp.engine.changes", "knowledge_mcp.engine.tracing"})


def test_every_command_of_the_list_is_there_with_a_help() -> None:
    group: Any = get_command(app)
    for name in group.list_commands(None):
        assert group.get_command(None, name).help

"""Options that are written once as the fields of a dataclass."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer.testing import CliRunner

from knowledge_mcp.cli.shared.options import with_groups
from tests.cli.conftest import Command
from tests.cli.running import run


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options of the command that the test makes."""

    name: Annotated[str, typer.Argument(metavar="NAME")]
    often: Annotated[int, typer.Option("--often", "-n", min=1)] = 1
    fixed: str = field(default="kept", init=False)


def test_the_fields_of_a_group_are_the_command_s_arguments_and_options() -> None:
    app = typer.Typer()

    @app.command()
    @with_groups
    def greet(choices: Choices, loud: Annotated[bool, typer.Option("--loud")] = False) -> None:
        """Greet somebody."""
        typer.echo(f"{choices.name} {choices.often} {choices.fixed} {loud}")

    done = CliRunner().invoke(app, ["Ada", "-n", "3", "--loud"])
    assert (done.exit_code, done.stdout) == (0, "Ada 3 kept True\n")
    assert CliRunner().invoke(app, ["Ada"]).stdout == "Ada 1 kept False\n"
    assert CliRunner().invoke(app, []).exit_code == 2
    assert CliRunner().invoke(app, ["Ada", "-n", "0"]).exit_code == 2
    assert CliRunner().invoke(app, ["Ada", "--fixed", "other"]).exit_code == 2
    helped = CliRunner().invoke(app, ["--help"]).stdout
    assert "Greet somebody." in helped
    assert helped.index("--loud") < helped.index("--often")


def test_a_wrong_choice_is_named_without_words_of_the_library_that_checks_it(knowledge: Command) -> None:
    done = knowledge("search", "ropes", "--mode", "colour")
    assert (done.code, "Value error" in done.err) == (2, False)
    assert "Error: Invalid value for '--mode': 'colour' is not one of" in done.err


def test_a_wrong_argument_found_by_the_command_itself_is_not_an_internal_error(knowledge: Command) -> None:
    done = knowledge("search", "ropes", "--meta", "abc")
    assert done.code == 2
    assert "Error: Invalid value for --meta: 'abc' is not KEY=VALUE." in done.err


def test_an_unknown_command_names_the_programs_that_ingest_and_serve(knowledge: Command) -> None:
    done = knowledge("ingest", "standards/")
    assert done.code == 2
    assert "No such command 'ingest'" in done.err
    assert "`knowledge-ingest` ingests documents" in done.err


def test_an_argument_that_is_not_unicode_is_named(tmp_path: Path) -> None:
    done = run("knowledge", "sync", "pump\udcff", cwd=tmp_path)
    assert done.code != 0
    assert "Error: An argument is not valid Unicode text: pump\\udcff" in done.err


def test_a_dash_is_no_file_of_that_name(knowledge: Command, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\nA-1,The pump shall stop.\n")
    (tmp_path / "b.csv").write_text("id,text\nB-1,The pump stops.\n")
    for option in ("--csv", "--xlsx", "--html"):
        done = knowledge("trace", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), option, "-")
        assert (done.code, "'-' is not a file" in done.err) == (2, True)
    assert knowledge("eval", "report", "a.json", "-").code == 2
    assert knowledge("requirements", "export", "--out", "-").code == 2

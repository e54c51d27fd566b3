"""The reference pages and the template of settings are what the settings and commands themselves say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from knowledge_mcp.cli.serve.mcp import build_parser
from knowledge_mcp.settings import read_settings, variables
from tools.generate_docs import ROOT, commands_page, env_example, generated, settings_page


@pytest.mark.parametrize("path", sorted(generated()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "run `python tools/generate_docs.py`"


@pytest.mark.requirement("A-REQ-CONFIG-001")
def test_every_setting_stands_in_the_template_and_in_the_reference() -> None:
    for each in variables():
        for name in (each.name, *each.older):
            assert re.search(rf"^# {name}=", env_example(), re.MULTILINE), name
            assert f"`{name}`" in settings_page(), name


@pytest.mark.requirement("A-REQ-CONFIG-001")
def test_the_template_holds_no_problem_when_its_defaults_are_used(tmp_path: Path) -> None:
    defaults = {each.name: each.default for each in variables() if each.default}
    lines = [line.removeprefix("# ") for line in env_example().splitlines()]
    chosen = [line for line in lines if line.partition("=")[0] in defaults]
    assert len(chosen) == len(defaults)
    (tmp_path / ".env").write_text("\n".join(chosen))
    reading = read_settings(environ={}, folder=tmp_path)
    assert reading.problems == ()
    assert {value.origin for value in reading.values if value.variable.name in defaults} == {str(tmp_path / ".env")}


@pytest.mark.parametrize(
    "option",
    ["--recursive", "--pattern", "--dry-run", "--force", "--verbose", "--on-error", "--json", "--install-completion"],
)
def test_the_options_of_ingest_are_documented(option: str) -> None:
    section = commands_page().split("\n## ")[1]
    assert section.startswith("`knowledge-ingest`")
    assert f"`{option}" in section


def test_every_option_of_the_server_is_documented() -> None:
    section = commands_page().split("\n## ")[2]
    options = re.findall(r"--[a-z-]+", build_parser().format_help())
    assert {"--transport", "--log-level", "--surface"} <= set(options)
    assert "```sh\nknowledge-mcp\n" in section
    for option in options:
        assert option in section


@pytest.mark.parametrize(
    "command",
    ["search", "lookup", "requirements", "stats", "doctor", "documents list", "documents show", "documents remove",
     "config show", "config client", "models fetch", "models verify", "models list", "migrate", "reembed",
     "collections list", "collections show", "collections rename", "collections drop", "requirements export", "inspect",
     "show", "read", "outline", "references", "verify-quote", "eval compare", "eval report", "eval draft"],
)  # fmt: skip
def test_every_command_is_documented_with_an_example(command: str) -> None:
    section = commands_page().partition(f" `knowledge {command}`\n")[2].partition("\n###")[0]
    assert f"knowledge {command}" in section.split("```sh")[1]

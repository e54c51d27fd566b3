"""What the registry, the bundle, the plugin and the links say is one version and one name, and starts this server."""

from __future__ import annotations

import base64
import json
import re
import tomllib
import urllib.parse
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from knowledge_mcp import __version__
from knowledge_mcp.support.distribution import distribution_name
from tools import publishing

ROOT = publishing.ROOT
README = (ROOT / "README.md").read_text(encoding="utf-8")
SKILLS = sorted((ROOT / "plugin" / "skills").glob("*/SKILL.md"))
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))


def test_the_files_are_as_the_tool_writes_them() -> None:
    assert publishing.main(["--check"]) == 0


def test_the_registry_finds_its_name_in_the_readme_and_its_command_in_the_package() -> None:
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert f"mcp-name: {server['name']}" in README
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    (package,) = server["packages"]
    assert package["identifier"] == distribution_name()
    assert package["version"] == server["version"] == __version__
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts[package["identifier"]] == scripts["knowledge-mcp"]


def test_the_bundle_starts_this_version_and_is_the_same_twice(tmp_path: Path) -> None:
    first, second = (publishing.build_bundle(tmp_path / name) for name in "ab")
    assert publishing.wrong_with_bundle(first) == []
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert sorted(archive.namelist()) == ["LICENSE", "manifest.json", "pyproject.toml", "server.py"]
        compile(archive.read("server.py"), "server.py", "exec")


def test_a_bundle_of_another_version_or_without_its_manifest_is_found(tmp_path: Path) -> None:
    good = publishing.build_bundle(tmp_path)
    for name in ("old", "bare"):
        with zipfile.ZipFile(good) as archive, zipfile.ZipFile(tmp_path / name, "w") as other:
            for member in archive.namelist():
                if not (name == "bare" and member == "manifest.json"):
                    other.writestr(member, archive.read(member).replace(__version__.encode(), b"9.9.9"))
    assert publishing.wrong_with_bundle(tmp_path / "old") == [f"it does not start clausewise {__version__}"]
    assert publishing.wrong_with_bundle(tmp_path / "bare") == ["manifest.json is missing"]


def test_the_install_links_in_the_readme_hold_the_command_that_starts_the_server() -> None:
    for link in (publishing.cursor_link(), publishing.vscode_link()):
        assert link in README
        (config,) = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["config"]
        text = config if config.startswith("{") else base64.b64decode(config).decode()
        assert {key: json.loads(text)[key] for key in ("command", "args")} == publishing.START


def test_the_marketplace_leads_to_the_plugin_and_its_skills() -> None:
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    (entry,) = market["plugins"]
    plugin = json.loads((ROOT / entry["source"] / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert (plugin["name"], plugin["version"]) == (entry["name"], __version__)
    assert [path.parent.name for path in SKILLS] == [
        "answer-with-evidence", "code-by-behaviour", "edition-review", "find-requirements", "gap-analysis",
    ]  # fmt: skip


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_is_short_and_names_only_tools_and_commands_that_exist(path: Path) -> None:
    _, head, text = path.read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == path.parent.name
    assert 0 < len(about["description"]) <= 1024
    assert len(text.split()) < 400
    tools = set(re.findall(r"^### `(\w+)`", (ROOT / "docs" / "tools.md").read_text(encoding="utf-8"), re.MULTILINE))
    commands = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:knowledge_|list_|read_|refresh_|semantic_)\w+)`", text))
    run = re.findall(r"`(knowledge(?: [a-z]+)+)", text)
    assert named | set(run)
    assert named <= tools
    assert [command for command in run if f" `{command}`\n" not in commands] == []


def test_every_link_in_llms_txt_and_the_guides_leads_somewhere() -> None:
    for name in ("llms.txt", "AGENTS.md", "SECURITY.md", "README.md"):
        targets = re.findall(r"\]\(([^)#\s]+)\)", (ROOT / name).read_text(encoding="utf-8"))
        assert targets
        assert [each for each in targets if "://" not in each and not (ROOT / each).exists()] == []


def test_a_release_asks_for_no_more_rights_than_each_job_needs_and_stores_no_token() -> None:
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["index"]["permissions"] == {"id-token": "write"}
    text = json.dumps(WORKFLOW)
    assert "secrets." not in text
    uses = set(re.findall(r'"uses": "([^"@]+)', text))
    assert {"actions/attest-build-provenance", "actions/attest-sbom", "pypa/gh-action-pypi-publish"} <= uses
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "a tag's name must reach a shell through the environment only"


@pytest.mark.parametrize(("tag", "owner"), [("v0.0.9", "clausewise"), (f"v{__version__}", "somebody")])
def test_a_tag_of_another_version_and_a_strange_owner_are_refused(tag: str, owner: str) -> None:
    assert publishing.main(["--release", tag, "--owner", owner]) == 1
    assert publishing.main(["--release", f"v{__version__}", "--owner", "clausewise"]) == 0

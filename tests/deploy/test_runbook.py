"""The runbook names what is there: files, settings, Secrets, Deployments, commands with their options."""

from __future__ import annotations

import re
import shlex

import pytest

from knowledge_mcp.settings import variables
from tests.deploy.manifests import ROOT, build, container, named, of_kind, secrets
from tools.generate_docs import commands_page

PAGE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
CODE = "\n".join(re.findall(r"^```(?:sh|console)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
INLINE = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL))
SHOWN = [*CODE.splitlines(), *INLINE]

OTHERS = {"MCP_TO_API": "a variable of the page", "POD_IP": "a variable of the manifests"}


def _commands(program: str) -> list[list[str]]:
    lines = [line.strip() for line in SHOWN]
    parts = [part.partition(" -- ")[2] or part for part in lines]
    return [shlex.split(part, comments=True) for part in parts if part.startswith(f"{program} ")]


def test_every_file_that_the_runbook_names_is_there() -> None:
    named_files = {match for text in SHOWN for match in re.findall(r"\bdeploy/[\w./-]+", text)}
    assert len(named_files) >= 6
    made = {"deploy/.env"}
    assert [each for each in sorted(named_files - made) if not (ROOT / each).exists()] == []
    for link in re.findall(r"\]\(([^)#]+\.md)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link


def test_every_variable_of_the_runbook_is_a_setting() -> None:
    known = {name for each in variables() for name in (each.name, *each.older)}
    found = {word for text in SHOWN for word in re.findall(r"\b[A-Z][A-Z]*(?:_[A-Z]+)+\b", text)}
    assert found - known - set(OTHERS) == set()
    assert {"RAG_API_KEYS_FILE", "MCP_ALLOWED_HOSTS", "QDRANT_URL"} <= found


@pytest.mark.parametrize("line", _commands("knowledge"), ids=" ".join)
def test_a_command_of_the_runbook_exists_with_its_options(line: list[str]) -> None:
    name = f"knowledge {line[1]}"
    section = commands_page().partition(f" `{name}`\n")[2].partition("\n###")[0]
    assert section, name
    for option in [word for word in line if word.startswith("--")]:
        assert f"`{option}" in section, option


def test_the_commands_of_the_runbook_are_found_at_all() -> None:
    assert {line[1] for line in _commands("knowledge")} == {"backup", "doctor", "migrate", "reembed", "restore"}
    assert "--drain" in container(build("base"), "rag-api")["command"]


@pytest.mark.requirement("D-REQ-8.4")
def test_the_runbook_makes_every_secret_with_every_key_that_the_pods_name() -> None:
    made: dict[str, set[str]] = {}
    for line in CODE.splitlines():
        if found := re.match(r"oc create secret generic (\S+) (.*)", line):
            made[found[1]] = set(re.findall(r"--from-(?:literal|file)=([\w.-]+)", found[2]))
    assert made == {each["metadata"]["name"]: set(each["stringData"]) for each in secrets()}


def test_every_deployment_and_overlay_of_the_runbook_is_built() -> None:
    deployments = {each["metadata"]["name"] for each in of_kind(build("base"), "Deployment")}
    assert {name for text in SHOWN for name in re.findall(r"\bdeployment/([\w-]+)", text)} == deployments
    assert {name for text in SHOWN for name in re.findall(r"-k (\S+)", text)} == {
        "deploy/openshift/overlays/production",
        "deploy/openshift/overlays/postgres",
    }
    host = named(build("overlays/production"), "Route", "rag-api")["spec"]["host"]
    assert f"https://{host}/ready" in CODE
    mcp = named(build("overlays/production"), "Route", "rag-mcp")["spec"]["host"]
    assert f"https://{mcp}/mcp" in CODE


def test_the_figures_of_the_runbook_are_those_of_the_manifests() -> None:
    autoscaler = of_kind(build("overlays/production"), "HorizontalPodAutoscaler")[0]["spec"]
    assert (autoscaler["minReplicas"], autoscaler["maxReplicas"]) == (2, 6)
    assert "two to six replicas at 70 %" in PROSE
    assert autoscaler["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    command = container(build("overlays/production"), "rag-api")["command"]
    assert f"for {command[command.index('--drain') + 1]} seconds more (`--drain`)" in PROSE
    probe = container(build("overlays/production"), "rag-api")["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 120
    assert "for up to two minutes" in PROSE
    assert named(build("overlays/production"), "Deployment", "rag-mcp")["spec"]["replicas"] == 2

"""The conformance suite, twice: on the product, and on a fixture over the product's own server class and HTTP stack.

The product is asked only what the suite can ask any server; the rest calls tools by names of its own, which the fixture
has and the product does not. A scenario counts only where it made a check of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.running import Clients
from tests.transports.spawned import WebServer, web_server

pytestmark = pytest.mark.slow

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
STABLE_SUITE = "node_modules/conformance-stable/dist/index.js"
BOTH = ["tools-list", "resources-list", "prompts-list", "completion-complete", "dns-rebinding-protection"]
ON_THE_PRODUCT = [
    *((scenario, "2025-11-25") for scenario in [*BOTH, "server-initialize", "server-session-lifecycle", "ping"]),
    ("server-sse-multiple-streams", "2025-11-25"),
    *((scenario, "2026-07-28") for scenario in [*BOTH, "caching", "sep-2164-resource-not-found"]),
    ("http-header-validation", "2026-07-28"),
]
OF_TOOLS = ["tools-list", "dns-rebinding-protection"]
ON_THE_REMOTE_SERVER = [
    *((scenario, "2025-11-25") for scenario in [*OF_TOOLS, "server-initialize", "server-session-lifecycle", "ping"]),
    ("server-sse-multiple-streams", "2025-11-25"),
    *((scenario, "2026-07-28") for scenario in [*OF_TOOLS, "caching", "http-header-validation"]),
]
ONLY_WITH_DIAGNOSTIC_TOOLS = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
NO_CHECK_OF_ITS_OWN = {"wire-schema-valid"}
WITHOUT_A_VERDICT = {("server-sse-multiple-streams", "2026-07-28")}  # it only reports what it saw

Check = dict[str, Any]


@pytest.fixture(scope="module")
def product() -> Generator[WebServer]:
    """Return the product's server, with authentication."""
    with web_server("product", module="tests.foreign.fixture_server") as server:
        yield server


@pytest.fixture(scope="module")
def remote() -> Generator[WebServer]:
    """Return the server of the RAG surface, which has tools only, with authentication."""
    with web_server("rag", module="tests.foreign.fixture_server") as server:
        yield server


@pytest.fixture(scope="module")
def fixture() -> Generator[WebServer]:
    """Return the same with what the suite's scenarios call."""
    with web_server("fixture", module="tests.foreign.fixture_server") as server:
        yield server


def run_suite(
    clients: Clients, server: WebServer, folder: Path, *options: str, suite: str = SUITE
) -> tuple[int, dict[str, list[Check]], str]:
    """Run scenarios; returns the exit code, each scenario's checks, and what was printed."""
    finished = clients.run(suite, "server", "--url", f"{server.url}/mcp", "-o", str(folder), *options, timeout=240)
    checks: dict[str, list[Check]] = {}
    for file in sorted(folder.glob("*/checks.json")):
        named = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", file.parent.name)
        assert named is not None, file.parent.name
        checks[named[1]] = json.loads(file.read_text(encoding="utf-8"))
    return finished.returncode, checks, finished.stdout + finished.stderr


def passed(checks: list[Check]) -> int:
    """Count the checks that passed, without the one that every scenario has."""
    return sum(check["status"] == "SUCCESS" and check["id"] not in NO_CHECK_OF_ITS_OWN for check in checks)


def failures(checks: list[Check]) -> set[str]:
    """Name the checks that failed."""
    return {check["id"] for check in checks if check["status"] == "FAILURE"}


@pytest.mark.parametrize(("scenario", "version"), ON_THE_PRODUCT)
@pytest.mark.requirement("A-REQ-IF-001")
def test_the_product_passes_what_any_server_can_be_asked(
    scenario: str, version: str, clients: Clients, product: WebServer, tmp_path: Path
) -> None:
    code, checks, said = run_suite(clients, product, tmp_path, "--scenario", scenario, "--spec-version", version)
    assert code == 0, said
    assert failures(checks[scenario]) == set()
    assert passed(checks[scenario]) > 0


@pytest.mark.parametrize(("scenario", "version"), ON_THE_REMOTE_SERVER)
@pytest.mark.requirement("D-REQ-2.6")
def test_the_remote_server_passes_what_a_server_of_tools_can_be_asked(
    scenario: str, version: str, clients: Clients, remote: WebServer, tmp_path: Path
) -> None:
    code, checks, said = run_suite(clients, remote, tmp_path, "--scenario", scenario, "--spec-version", version)
    assert code == 0, said
    assert failures(checks[scenario]) == set()
    assert passed(checks[scenario]) > 0


def test_the_product_passes_all_of_the_stateless_scenario_but_its_diagnostic_tools(
    clients: Clients, product: WebServer, tmp_path: Path
) -> None:
    options = ("--scenario", "server-stateless", "--spec-version", "2026-07-28")
    _, checks, _ = run_suite(clients, product, tmp_path, *options)
    assert failures(checks["server-stateless"]) == ONLY_WITH_DIAGNOSTIC_TOOLS
    assert passed(checks["server-stateless"]) >= 24


def test_a_scenario_whose_tool_the_product_lacks_fails_honestly(
    clients: Clients, product: WebServer, tmp_path: Path
) -> None:
    options = ("--scenario", "tools-call-simple-text", "--spec-version", "2025-11-25")
    code, checks, _ = run_suite(clients, product, tmp_path, *options)
    assert code != 0
    assert failures(checks["tools-call-simple-text"])


@pytest.mark.parametrize("version", REQUIRED)
@pytest.mark.requirement("A-REQ-IF-001")
def test_the_stack_carries_every_required_scenario(
    version: str, clients: Clients, fixture: WebServer, tmp_path: Path
) -> None:
    code, checks, said = run_suite(clients, fixture, tmp_path, "--requirements", version)
    assert code == 0, said
    not_scored = set(re.findall(r"^\s+\S+ (\S+) \((?:extension|pending|added-after-release)\)", said, re.MULTILINE))
    required = {scenario: found for scenario, found in checks.items() if scenario not in not_scored}
    assert len(required) == REQUIRED[version]
    for scenario, found in required.items():
        assert failures(found) == set(), scenario
        assert passed(found) > 0 or (scenario, version) in WITHOUT_A_VERDICT, scenario


def test_the_stack_passes_the_stable_suite_whole(clients: Clients, fixture: WebServer, tmp_path: Path) -> None:
    code, checks, said = run_suite(clients, fixture, tmp_path, "--suite", "all", suite=STABLE_SUITE)
    assert code == 0, said
    assert len(checks) == 32
    assert all(failures(found) == set() for found in checks.values())

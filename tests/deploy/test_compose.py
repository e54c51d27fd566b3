"""The compose files: pinned, closed to the outside, without secrets, of one mind with the image and each other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from knowledge_mcp import __version__
from knowledge_mcp.settings import read_settings, variables
from knowledge_mcp.transports.shared.guards import AllowedNames
from tests.deploy.containerfile import environment as image_environment
from tests.deploy.containerfile import parse
from tests.deploy.manifests import DEPLOY, container
from tests.deploy.manifests import build as manifests

FILES = sorted(DEPLOY.glob("*compose.yaml"))
REFERENCE = re.compile(r"\$\{(?P<name>\w+)(?P<form>:[-?])?(?P<rest>[^}]*)\}")


def _read(path: Path) -> dict[str, Any]:
    return cast("dict[str, Any]", yaml.safe_load(path.read_text(encoding="utf-8")))


def _ours() -> dict[str, Any]:
    return cast("dict[str, Any]", _read(DEPLOY / "compose.yaml")["services"])


def _filled(text: str, given: dict[str, str]) -> str:
    """Fill in `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as compose does."""

    def value(match: re.Match[str]) -> str:
        known = given.get(match["name"], "")
        if not known and match["form"] == ":?":
            raise KeyError(match["rest"])
        return known or (match["rest"] if match["form"] == ":-" else "")

    return REFERENCE.sub(value, text)


def _environment(service: str, given: dict[str, str]) -> dict[str, str]:
    return {name: _filled(str(text), given) for name, text in _ours()[service]["environment"].items()}


KEYS = {name: f"{name.lower()}-of-this-test" for name in ("QDRANT_API_KEY", "RAG_API_KEY", "MCP_API_KEY")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_image_is_pinned_and_every_port_is_open_to_this_machine_only(path: Path) -> None:
    for service in _read(path)["services"].values():
        repository, _, tag = _filled(service["image"], {}).rpartition(":")
        assert repository
        assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag), service["image"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
        assert "healthcheck" in service
        assert service["restart"] == "unless-stopped"


def test_one_version_of_each_image_in_all_files() -> None:
    images = [service["image"] for path in FILES for service in _read(path)["services"].values()]
    assert {_filled(image, {}) for image in images if "qdrant" in image} == {"qdrant/qdrant:v1.20.0"}
    assert {_filled(image, {}) for image in images if "knowledge" in image} == {f"knowledge-mcp:{__version__}"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_secret_stands_in_a_compose_file(path: Path) -> None:
    secret = {each.name for each in variables() if each.secret} | {"QDRANT__SERVICE__API_KEY"}
    for service in _read(path)["services"].values():
        for name, value in service.get("environment", {}).items():
            if name in secret:
                assert re.fullmatch(r"\$\{\w+(:[-?][^}]*)?\}", value), name
                assert not re.fullmatch(r"\$\{\w+:-.+\}", value), "a default that everybody knows"


@pytest.mark.parametrize("missing", sorted(KEYS))
def test_nothing_starts_without_its_key(missing: str) -> None:
    given = {name: value for name, value in KEYS.items() if name != missing}
    with pytest.raises(KeyError, match=missing):
        assert [_environment(service, given) for service in _ours()]


def test_our_containers_run_as_in_the_image_on_a_read_only_root_and_with_no_capability() -> None:
    final = parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1]
    data = image_environment(final)["DATA_PATH"]
    for name in ("rag-api", "rag-mcp"):
        service = _ours()[name]
        assert (service["user"], service["read_only"], service["cap_drop"]) == (final.last("USER"), True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        written = {each.split(":")[0] for each in service["tmpfs"]}
        written |= {each.split(":")[1] for each in service.get("volumes", [])}
        assert written == {"/tmp", data}
        assert service["command"] == container(manifests("base"), name)["command"]
        assert service["stop_grace_period"] == "60s"


@pytest.mark.parametrize(("service", "setting"), [("rag-api", "RAG_API_PORT"), ("rag-mcp", "DOCUMENT_STORE_PORT")])
def test_ports_and_health_checks_are_those_of_the_process(service: str, setting: str) -> None:
    result = _ours()[service]
    port = _environment(service, KEYS)[setting]
    assert result["ports"] == [f"127.0.0.1:{port}:{port}"]
    final = parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1]
    check = json.loads(final.last("HEALTHCHECK").partition("CMD ")[2])
    assert result["healthcheck"]["test"] == ["CMD", *check[:-1], f"http://127.0.0.1:{port}/health"]


def test_the_store_is_reached_by_the_rest_service_only() -> None:
    networks = _read(DEPLOY / "compose.yaml")["networks"]
    assert networks["store"] == {"internal": True}
    services = _ours()
    assert [name for name in services if "store" in services[name]["networks"]] == ["qdrant", "rag-api"]
    assert "ports" not in services["qdrant"]
    assert services["rag-mcp"]["depends_on"]["rag-api"]["condition"] == "service_healthy"
    assert services["rag-api"]["depends_on"]["qdrant"]["condition"] == "service_healthy"


@pytest.mark.requirement("D-REQ-10.2", "D-REQ-10.3", "D-REQ-10.4")
def test_the_services_find_each_other_with_the_keys_of_the_environment_file(tmp_path: Path) -> None:
    store, api, mcp = (_environment(name, KEYS) for name in ("qdrant", "rag-api", "rag-mcp"))
    assert api["QDRANT_API_KEY"] == store["QDRANT__SERVICE__API_KEY"] == KEYS["QDRANT_API_KEY"]
    assert mcp["RAG_API_KEY"] == api["RAG_API_KEY"] == KEYS["RAG_API_KEY"]
    assert mcp["MCP_API_KEY"] == KEYS["MCP_API_KEY"]
    assert api["QDRANT_URL"] == "http://qdrant:6333"
    asked = mcp["RAG_API_URL"].removeprefix("http://")
    assert asked == f"rag-api:{api['RAG_API_PORT']}"
    assert AllowedNames(api["MCP_ALLOWED_HOSTS"].split(",")).admits_host(asked)
    for environ in (api, mcp):
        reading = read_settings(surface="rag", environ=environ, folder=tmp_path)
        assert reading.problems == ()

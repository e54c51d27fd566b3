"""Schemathesis over the OpenAPI document, in bounded time: no 5xx, nothing undocumented, with and without a key."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import sysconfig
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.rest.served import Served, served
from tests.rest.world import DEPLOYING, KEY

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 240
# NUL can be written in JSON, and is refused; no pattern of the document says so, for it would only be noise. Whether a
# file or a text can be read as a document, no schema says.
CONFIGURATION = """
[generation]
allow-x00 = false

[[operations]]
include-path-regex = "^/ingest"
checks.positive_data_acceptance.expected-statuses = ["2xx", 404, 415, 422]
"""


@contextlib.contextmanager
def filled() -> Generator[Served]:
    """Serve a library that holds something."""
    with served() as world:
        body = {"text": DEPLOYING, "metadata": {"filename": "deploy.md"}}
        assert world.client.post("/ingest", json=body).status_code == 200
        yield world


def run(schema: Path, url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Schemathesis' own command; with one worker, for Python 3.11 parses no two syntax trees at once reliably."""
    program = Path(sysconfig.get_path("scripts")) / "schemathesis"
    config = folder / "schemathesis.toml"
    config.write_text(CONFIGURATION)
    command = [
        sys.executable, str(program), "--config-file", str(config), "run", str(schema), "--url", url,
        "--workers", "1", "--seed", "11", "--generation-deterministic", "--suppress-health-check", "all",
        "--no-color", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)


@pytest.mark.slow
@pytest.mark.requirement("D-REQ-11.9")
def test_schemathesis_finds_nothing_with_a_key_and_nothing_without(tmp_path: Path) -> None:
    with filled() as world:
        schema = tmp_path / "openapi.json"
        schema.write_text(json.dumps(world.client.get("/openapi.json").json()))
        url = f"http://127.0.0.1:{world.port}"
        with_key = run(
            schema, url, tmp_path, "--header", f"Authorization: Bearer {KEY}", "--max-examples", "8",
            "--phases", "examples,coverage,fuzzing",
        )  # fmt: skip
        assert with_key.returncode == 0, with_key.stdout[-9000:] + with_key.stderr[-2000:]
        checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
        without = run(
            schema, url, tmp_path, "--max-examples", "2", "--phases", "examples,fuzzing", "--mode", "positive",
            "--checks", checks,
        )  # fmt: skip
        assert without.returncode == 0, without.stdout[-6000:]

"""The container's files run as an arbitrary user on a read-only root; tried by mount namespaces, not by an engine."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Generator
from typing import Any

import pytest

from knowledge_mcp.embedders.local.model_files import fetch
from knowledge_mcp.embedders.local.model_folders import default_cache
from tests.deploy.manifests import DEPLOY, build, container, environment
from tests.deploy.sandbox import GID, UID, Sandbox, possible

KEY = "a-key-of-this-test"
LOOK = """
import json, os, pathlib, pwd, sys, tempfile
def writable(folder):
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
def known():
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
import knowledge_mcp
places = [*sys.argv[1:], os.path.dirname(knowledge_mcp.__file__), sys.prefix, os.environ["MODELS_PATH"]]
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(), "known": known(),
    "capabilities": status["CapEff"].strip() + status["CapBnd"].strip(), "no_new_privs": status["NoNewPrivs"].strip(),
    "writable": [place for place in places if writable(place)],
    "home": os.path.expanduser("~"), "cwd": os.getcwd(), "root": sorted(os.listdir("/")),
}))
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """Lay out the container once; its data folder is shared by these tests, as a volume would be."""
    possible()
    fetch(cache=default_cache(), variants=("int8",))
    keys = environment(build("overlays/dev"), "rag-api")["RAG_API_KEYS_FILE"]
    content = json.dumps({"keys": [{"name": "tester", "key": KEY, "read": ["*"], "write": ["*"]}]})
    return Sandbox.make(tmp_path_factory.mktemp("container"), default_cache(), {keys: content})


@pytest.mark.requirement("D-REQ-8.1")
def test_the_process_is_nobody_with_no_right_and_writes_in_two_places_only(sandbox: Sandbox) -> None:
    places = ["/", "/etc", "/etc/knowledge-mcp/keys", "/usr", "/opt/knowledge-mcp", "/var/lib", "/dev", "/tmp",
              "/var/lib/knowledge-mcp"]  # fmt: skip
    finished = sandbox.run(["python", "-c", LOOK, *places], {})
    assert finished.returncode == 0, finished.stderr
    output: dict[str, Any] = json.loads(finished.stdout)
    assert (output["uid"], output["gid"], output["groups"], output["known"]) == (UID, GID, [], "")
    assert set(output["capabilities"]) == {"0"}
    assert output["no_new_privs"] == "1"
    assert output["writable"] == ["/tmp", "/var/lib/knowledge-mcp"]
    assert (output["home"], output["cwd"]) == ("/tmp", "/opt/knowledge-mcp")
    assert "home" not in output["root"]


@contextlib.contextmanager
def _served(sandbox: Sandbox, variables: dict[str, str]) -> Generator[str]:
    """Start the REST service as the manifest does, on a free port and without its pause before the end."""
    line = [*container(build("overlays/dev"), "rag-api")["command"], "--port", "0", "--drain", "0"]
    command = sandbox.command(line, variables)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=pipe, text=True) as process:
        log: list[str] = []
        started = threading.Event()
        found: list[str] = []

        def read() -> None:
            assert process.stderr is not None
            for result in process.stderr:
                log.append(result)
                if place := re.search(r"listening on (http://127\.0\.0\.1:\d+)", result):
                    found.append(place[1])
                    started.set()
            started.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            assert started.wait(60), "".join(log)
            assert found, "".join(log)
            yield found[0]
        finally:
            process.terminate()
            code = process.wait(40)
            reader.join(10)
    assert code == 0, f"ended with {code} when told to stop: {''.join(log)}"


def _ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.requirement("D-REQ-8.1")
def test_the_rest_service_runs_there_with_the_settings_of_dev_and_ends_when_it_is_told(sandbox: Sandbox) -> None:
    deployed = environment(build("overlays/dev"), "rag-api")
    closed = "http://127.0.0.1:9"  # nothing may be downloaded
    variables = {**deployed, "RAG_API_HOST": "127.0.0.1", "HTTPS_PROXY": closed, "HTTP_PROXY": closed}
    with _served(sandbox, variables) as url:
        health = [sys.executable, "-I", str(DEPLOY / "healthcheck.py"), f"{url}/health"]
        assert subprocess.run(health, check=False, timeout=30).returncode == 0
        assert _ask(f"{url}/ready")["status"] == "ready"
        text = "# Tanks\n\nThe overflow alarm shall sound at 95 percent of the filling height.\n"
        kept = _ask(f"{url}/ingest", {"text": text, "metadata": {"filename": "tanks.md"}})
        assert (kept["status"], kept["chunks"]) == ("ingested", 1)
        found = _ask(f"{url}/search", {"query": "when does the overflow alarm sound"})
        assert "95 percent" in found["results"][0]["text"]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(
                urllib.request.Request(f"{url}/collections", headers={"Authorization": "Bearer wrong"}), timeout=10
            )
    assert "knowledge.sqlite" in {path.name for path in (sandbox.folder / "data").iterdir()}

"""The image, built from the Containerfile and run: it reads a folder, and answers over stdio and HTTP.

Built by buildah without namespaces, on a Debian that mmdebstrap makes of the machine's packages: the image's own base
lies in a registry that a test does not ask. So the Python in it is Debian's, and the extras are fewer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.first_answer import ask_over_stdio
from tests.deploy.manifests import ROOT

MISSING = [program for program in ("buildah", "mmdebstrap") if shutil.which(program) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.anyio,
    pytest.mark.skipif(bool(MISSING), reason=f"the image is NOT built: apt-get install {' '.join(MISSING)}"),
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="the image is NOT built: root is needed"),
    pytest.mark.skipif(
        not os.environ.get("IMAGE"), reason="the image is NOT built: IMAGE=1 asks for it (some minutes)"
    ),
]

TEXT = "# Pump\n\n## 4.2 Valves\n\nThe valve shall close within 2 seconds of a power failure.\n"
QUESTION = "How fast does the valve close?"
CERTIFICATES = "/etc/ssl/certs:/etc/ssl/certs:ro"
"""A machine may reach its package index through a proxy with a certificate of its own."""


@dataclass(frozen=True)
class Image:
    """A container that was made from the image, with a folder of documents and one of data."""

    buildah: list[str]
    container: str
    documents: Path
    data: Path

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs another one inside."""
        places = ["-v", f"{self.documents}:/docs:ro", "-v", f"{self.data}:/kb", "-e", "DATA_PATH=/kb"]
        return [*self.buildah, "run", *places, self.container, "--", *arguments]

    def run(self, *arguments: str) -> str:
        """Run a command inside to its end; returns what it prints."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Generator[Image]:
    folder = tmp_path_factory.mktemp("image")
    faulthandler.cancel_dump_traceback_later()  # it may take longer than a test; each step has a limit of its own
    os.environ["BUILDAH_ISOLATION"], os.environ["STORAGE_DRIVER"] = "chroot", "vfs"
    buildah = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run")]
    base, context = folder / "base.tar", folder / "context"
    packages = "--include=python3,python3-venv,python-is-python3,ca-certificates"

    def do(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200, cwd=folder)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout.strip()

    do("mmdebstrap", "--quiet", "--variant=minbase", packages, "bookworm", str(base))
    empty = do(*buildah, "from", "scratch")
    do(*buildah, "add", "--quiet", empty, str(base), "/")
    do(*buildah, "commit", "--quiet", "--rm", empty, "localhost/debian:test")
    base.unlink()
    for name in ("pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        context.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, context / name)
    for name in ("src", "tools", "deploy"):
        shutil.copytree(ROOT / name, context / name, ignore=shutil.ignore_patterns("__pycache__"))
    do(
        *buildah, "bud", "--quiet", "--pull-never", "--format", "docker", "-v", CERTIFICATES, "--build-arg",
        "BASE=localhost/debian:test", "--build-arg", "EXTRAS=api", "-f", str(context / "deploy" / "Containerfile"),
        "-t", "knowledge-mcp:test", str(context),
    )  # fmt: skip
    made = Image(
        buildah, do(*buildah, "from", "--pull-never", "localhost/knowledge-mcp:test"), folder / "docs", folder / "kb"
    )
    for each in (made.documents, made.data):
        each.mkdir()
        each.chmod(0o777)  # whichever user the image has
    (made.documents / "pump.md").write_text(TEXT, encoding="utf-8")
    for each in (folder, *folder.parents[:3]):
        each.chmod(each.stat().st_mode | 0o011)
    made.run("knowledge-ingest", "/docs")
    yield made
    shutil.rmtree(folder, ignore_errors=True)


def test_the_image_runs_as_nobody_in_particular_with_a_model_and_a_sandbox_that_holds(image: Image) -> None:
    assert "uid=1001 gid=0(root)" in image.run("id")
    found = image.run("knowledge", "doctor", "--json")
    assert '"fail"' not in found
    assert "3 files as they should be" in found


async def test_the_image_answers_with_the_clause_over_stdio(image: Image) -> None:
    answer = ask_over_stdio(image.command("knowledge-mcp"), dict(os.environ), QUESTION)
    assert "4.2 Valves" in answer


@contextlib.contextmanager
def http_server(image: Image) -> Generator[str]:
    """Run the server on a free port of loopback; yields its address."""
    with socket.socket() as free:  # the command takes no port 0; a container has the port for itself
        free.bind(("127.0.0.1", 0))
        number = str(free.getsockname()[1])
    command = image.command("knowledge-mcp", "--transport", "http", "--host", "127.0.0.1", "--port", number)
    port: list[str] = []
    there = threading.Event()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as server:

        def read() -> None:
            assert server.stderr is not None
            for line in server.stderr:
                if found := re.search(r"listening on (http://127\.0\.0\.1:\d+)", line):
                    port.append(found[1])
                    there.set()
            there.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            assert there.wait(120)
            (address,) = port
            yield address
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(60)
            reader.join(10)


async def test_the_image_answers_with_the_clause_over_http(image: Image) -> None:
    with http_server(image) as address:
        async with Client(streamable_http_client(f"{address}/mcp")) as client:
            answer = await client.call_tool("knowledge_search", {"query": QUESTION})
    assert "4.2 Valves" in answer.model_dump_json()

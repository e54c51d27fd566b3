"""The image of the Containerfile, made and run: it reads a folder, and answers over stdio and HTTP.

Where the machine has buildah it builds the image, without namespaces; else the steps are replayed in a clean root.
Either way on a Debian that mmdebstrap makes of the machine's packages: the image's own base lies in a registry that a
test does not ask. So the Python in it is Debian's, and the extras are fewer.
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
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.first_answer import ask_over_stdio
from tests.deploy.manifests import ROOT
from tests.deploy.replay import make_base, replay_below
from tests.deploy.sandbox import possible
from tests.machine import needs

pytestmark = [pytest.mark.slow, pytest.mark.anyio, pytest.mark.timeout(0)]  # each step has a limit of its own

TEXT = "# Pump\n\n## 4.2 Valves\n\nThe valve shall close within 2 seconds of a power failure.\n"
QUESTION = "How fast does the valve close?"
CERTIFICATES = "/etc/ssl/certs:/etc/ssl/certs:ro"
"""A machine may reach its package index through a proxy with a certificate of its own."""


@dataclass(frozen=True)
class Image:
    """What was made of the Containerfile, a folder of documents and one of data; `inside` makes a command."""

    inside: Callable[[Sequence[str], Mapping[Path, str]], list[str]]
    documents: Path
    data: Path

    def command(self, *arguments: str) -> list[str]:
        """Return the command that runs another one inside."""
        return self.inside(arguments, {self.documents: "/docs", self.data: "/kb"})

    def run(self, *arguments: str) -> str:
        """Run a command inside to its end; returns what it prints."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def replayed(folder: Path) -> Callable[[Sequence[str], Mapping[Path, str]], list[str]]:
    """Replay the Containerfile; returns what makes a command of one inside."""
    made = replay_below(folder)
    return lambda line, mounts: made.command(*line, mounts=mounts, variables={"DATA_PATH": "/kb"})


def _buildah(folder: Path) -> list[str]:
    """Return the command with its store in a folder: of layers where the machine has them, else of whole copies."""
    place = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]
    layered = ["buildah", "--storage-driver", "overlay", *place]
    if subprocess.run([*layered, "info"], capture_output=True, check=False, timeout=60).returncode == 0:
        return layered
    shutil.rmtree(folder / "store", ignore_errors=True)
    return ["buildah", "--storage-driver", "vfs", *place]


def built(folder: Path) -> Callable[[Sequence[str], Mapping[Path, str]], list[str]]:
    """Build the image by buildah; returns what makes a command of one inside."""
    os.environ["BUILDAH_ISOLATION"] = "chroot"
    buildah = _buildah(folder)
    context = folder / "context"

    def do(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800, cwd=folder)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout.strip()

    empty = do(*buildah, "from", "scratch")
    make_base(Path(do(*buildah, "mount", empty)))
    do(*buildah, "commit", "--quiet", "--rm", empty, "localhost/debian:test")
    context.mkdir()
    for name in ("pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, context / name)
    for name in ("src", "tools", "deploy"):
        shutil.copytree(ROOT / name, context / name, ignore=shutil.ignore_patterns("__pycache__"))
    do(
        *buildah, "bud", "--quiet", "--pull-never", "--format", "docker", "-v", CERTIFICATES, "--build-arg",
        "BASE=localhost/debian:test", "--build-arg", "EXTRAS=api", "-f", str(context / "deploy" / "Containerfile"),
        "-t", "knowledge-mcp:test", str(context),
    )  # fmt: skip
    container = do(*buildah, "from", "--pull-never", "localhost/knowledge-mcp:test")

    def inside(line: Sequence[str], mounts: Mapping[Path, str]) -> list[str]:
        places = [part for source, target in mounts.items() for part in ("-v", f"{source}:{target}")]
        return [*buildah, "run", *places, "-e", "DATA_PATH=/kb", container, "--", *line]

    return inside


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Generator[Image]:
    possible()
    needs("mmdebstrap")
    folder = tmp_path_factory.mktemp("image")
    faulthandler.cancel_dump_traceback_later()
    make = built if shutil.which("buildah") else replayed
    image = Image(make(folder), folder / "docs", folder / "kb")
    for each in (image.documents, image.data):
        each.mkdir()
        each.chmod(0o777)  # whichever user the image has
    (image.documents / "pump.md").write_text(TEXT, encoding="utf-8")
    for each in (folder, *folder.parents[:3]):
        each.chmod(each.stat().st_mode | 0o011)
    image.run("knowledge-ingest", "/docs")
    yield image
    shutil.rmtree(folder, ignore_errors=True)


def test_the_image_runs_as_nobody_in_particular_with_a_model_and_a_sandbox_that_holds(image: Image) -> None:
    assert "uid=1001 gid=0(root)" in image.run("id")
    found = image.run("knowledge", "doctor", "--json")
    assert '"fail"' not in found
    assert "3 files correct" in found


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

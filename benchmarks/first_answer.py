"""Measure from nothing to the first cited answer on one's own folder, by pip, pipx, uvx, bundle and container.

    python -m benchmarks.first_answer --dist dist              the ways whose tools are here, with warm package caches
    python -m benchmarks.first_answer --dist dist --cold uvx   one way, with empty caches: what the network costs too
    python -m benchmarks.first_answer --image knowledge-mcp:0.1.0 container
    python -m benchmarks.first_answer --replayed DIR container  the same without an image (some minutes; needs root)

`dist` is a folder with the wheel and the bundle (`python -m build`, `python tools/publishing.py --bundle dist`). Each
way has an empty home, so the model is fetched as for a person. A step is a command that a person types; what an
assistant does by itself is none. An answer counts if it names the clause. Beside the seconds that a person waits stand
those that a processor works, which tell more where the machine has other work too.

The container is run by podman, else by buildah without namespaces (chroot); where there is no image, the
Containerfile's steps are replayed below `DIR` first, which is not counted, as pulling an image is not, and kept there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.startup import HELLO
from tests.deploy.replay import Replayed, replay_below

TEXT = "# Pump\n\n## 4.2 Valves\n\nThe valve shall close within 2 seconds of a power failure.\n"
QUESTION = "How fast does the valve close after a power failure?"
SIGN = "4.2"


@dataclass
class Trip:
    """One way from nothing to an answer.

    Attributes:
        home: an empty folder that stands for the person's.
        cold: whether the caches of packages are empty too.
        steps: what was typed, with the seconds that it took, by the clock and of a processor.
    """

    home: Path
    dist: Path
    image: str = ""
    replayed: Replayed | None = None
    cold: bool = False
    steps: list[tuple[str, float, float]] = field(default_factory=list[tuple[str, float, float]])
    answer: str = ""

    def __post_init__(self) -> None:
        self.docs = self.home / "docs"
        self.docs.mkdir(parents=True)
        (self.docs / "pump.md").write_text(TEXT, encoding="utf-8")

    @property
    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        caches = self.home if self.cold else Path.home() / ".cache"
        kept |= {"PIP_CACHE_DIR": str(caches / "pip"), "UV_CACHE_DIR": str(caches / "uv")}
        kept |= {"HOME": str(self.home), "UV_FIND_LINKS": str(self.dist), "UV_PYTHON": sys.executable}
        return kept

    def step(self, *command: str | Path, described: str = "") -> str:
        """Do what a person types; returns what it prints.

        Raises:
            RuntimeError: it failed.
        """
        with self._timed(described or " ".join(Path(str(part)).name for part in command[:4])):
            done = subprocess.run(
                [*map(str, command)], env=self.variables, cwd=self.home, capture_output=True, text=True, check=False
            )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def by_assistant(self, *command: str | Path) -> None:
        """Let an assistant start the server and ask; its time is the last step's, and nobody types it."""
        with self._timed("(the assistant asks)"):
            self.answer = ask_over_stdio([*map(str, command)], self.variables, QUESTION)

    @contextlib.contextmanager
    def _timed(self, described: str) -> Generator[None]:
        started, worked = time.perf_counter(), _worked()
        yield
        self.steps.append((described, time.perf_counter() - started, _worked() - worked))

    @property
    def wheel(self) -> Path:
        return _only(self.dist, "*.whl")


def ask_over_stdio(command: Sequence[str], variables: dict[str, str], question: str) -> str:
    """Start a server over stdio and ask it one question; returns the text of its answer.

    Raises:
        RuntimeError: it answered with an error, or not at all.
    """
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        calls = [("initialize", HELLO), ("tools/call", {"name": "knowledge_search", "arguments": {"query": question}})]
        result: dict[str, object] = {}
        for number, (method, params) in enumerate(calls, 1):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            answer = json.loads(server.stdout.readline() or "{}")
            if "result" not in answer:
                raise RuntimeError(f"{method} was answered with {answer}")
            result = answer["result"]
        server.stdin.close()
    return json.dumps(result)


def _worked() -> float:
    """Return the processor's seconds of all commands that have ended, with what they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise RuntimeError(f"{folder} holds {len(found)} files {pattern}, and one is wanted")
    return found[0]


def by_pip(trip: Trip) -> None:
    """Make a virtual environment, install by pip, ingest, search."""
    env = trip.home / "env"
    trip.step(sys.executable, "-m", "venv", env)
    trip.step(env / "bin/pip", "install", "--quiet", trip.wheel)
    trip.step(env / "bin/knowledge-ingest", trip.docs)
    trip.answer = trip.step(env / "bin/knowledge", "search", QUESTION)


def by_pipx(trip: Trip) -> None:
    """Install the commands by `pipx`, ingest, search."""
    trip.step("pipx", "install", "--python", sys.executable, trip.wheel, described="pipx install")
    commands = trip.home / ".local" / "bin"
    trip.step(commands / "knowledge-ingest", trip.docs)
    trip.answer = trip.step(commands / "knowledge", "search", QUESTION)


def by_uvx(trip: Trip) -> None:
    """Ingest by `uvx`, search by it."""
    trip.step("uvx", "--from", trip.wheel, "knowledge-ingest", trip.docs, described="uvx … knowledge-ingest")
    trip.answer = trip.step(
        "uvx", "--from", trip.wheel, "knowledge", "search", QUESTION, described="uvx … knowledge search"
    )


def by_bundle(trip: Trip) -> None:
    """Unpack the bundle, ingest in its environment, and start it as its manifest says."""
    folder = trip.home / "bundle"
    with zipfile.ZipFile(_only(trip.dist, "*.mcpb")) as archive:
        archive.extractall(folder)
    server = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]
    trip.step("uv", "run", "--directory", folder, "knowledge-ingest", trip.docs, described="uv run … knowledge-ingest")
    trip.by_assistant(server["command"], *(part.replace("${__dirname}", str(folder)) for part in server["args"]))


def by_container(trip: Trip) -> None:
    """Ingest in the image, or in what its steps made, then let an assistant start the server in it."""
    data = trip.home / "data"
    data.mkdir()
    data.chmod(0o777)  # any user of the image writes there
    trip.docs.chmod(0o755)
    trip.home.chmod(0o755)
    described = "podman run … knowledge-ingest"
    if trip.replayed is not None:
        mounts = {trip.docs: "/docs", data: "/kb"}
        run = trip.replayed.command(mounts=mounts, variables={"DATA_PATH": "/kb"})
    elif shutil.which("podman"):
        run = ["podman", "run", "--rm", "-i", "-v", f"{trip.docs}:/docs:ro", "-v", f"{data}:/var/lib/knowledge-mcp"]
        run.append(trip.image)
    else:
        os.environ.setdefault("BUILDAH_ISOLATION", "chroot")
        made = subprocess.run(
            ["buildah", "from", "--pull-never", trip.image], capture_output=True, text=True, check=True
        )
        # not where the image has its volume: buildah puts one of its own there
        run = ["buildah", "run", "-v", f"{trip.docs}:/docs:ro", "-v", f"{data}:/kb", "-e", "DATA_PATH=/kb"]
        run += [made.stdout.strip(), "--"]
        described = "buildah run … knowledge-ingest"
    trip.step(*run, "knowledge-ingest", "/docs", described=described)
    trip.by_assistant(*run, "knowledge-mcp")


WAYS: dict[str, tuple[Callable[[Trip], None], tuple[str, ...]]] = {
    "pip": (by_pip, ()),
    "pipx": (by_pipx, ("pipx",)),
    "uvx": (by_uvx, ("uvx",)),
    "bundle": (by_bundle, ("uv",)),
    "container": (by_container, ("podman", "buildah")),
}
"""Each way, and the programs of which one must be here."""


def described(name: str, trip: Trip) -> str:
    """Write what was measured of one way, and of each of its steps."""
    typed = sum(not step.startswith("(") for step, _, _ in trip.steps)
    waited, worked = sum(took for _, took, _ in trip.steps), sum(used for _, _, used in trip.steps)
    lines = [f"{name}: {typed} typed, {waited:.1f} seconds, {worked:.1f} of a processor"]
    lines += [f"  {took:>8.1f}{used:>10.1f}  {step}" for step, took, used in trip.steps]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Go the ways that are asked for; returns 1 if one of them ends without a cited answer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], default=[])
    parser.add_argument("--dist", type=Path, default=Path("dist"))
    parser.add_argument("--image", default="")
    parser.add_argument("--replayed", type=Path)
    parser.add_argument("--cold", action="store_true")
    asked = parser.parse_args(arguments)
    failed = False
    for name in asked.ways or WAYS:
        go, programs = WAYS[name]
        if name == "container":
            programs = ("mmdebstrap",) if asked.replayed else programs if asked.image else ("--image or --replayed",)
        if programs and not any(map(shutil.which, programs)):
            print(f"{name}: NOT measured, it needs {' or '.join(programs)}")
            continue
        replayed = replay_below(asked.replayed) if name == "container" and asked.replayed else None
        with tempfile.TemporaryDirectory(prefix="first-answer-", ignore_cleanup_errors=True) as folder:
            trip = Trip(Path(folder), asked.dist.absolute(), asked.image, replayed, asked.cold)
            try:
                go(trip)
            except RuntimeError as exc:
                trip.answer = str(exc)
            if SIGN not in trip.answer:
                print(f"{name}: no answer that names a clause: {trip.answer[:3000]}")
                failed = True
            print(described(name, trip), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

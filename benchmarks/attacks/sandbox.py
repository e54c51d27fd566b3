"""Attacks from within a reading child, as if a hostile file had taken it over: the child does what it can."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.attacks.sandbox_jobs import ATTEMPTS
from knowledge_mcp.support.sandbox import InputFile, Limits, Sandbox, SandboxFailure

_JOBS = "benchmarks.attacks.sandbox_jobs"
_SECRET = "sk-canary-5d1f"
_SMALL = Limits(memory=256 << 20, seconds=20.0, silence=10.0)


def _told(sandbox: Sandbox, job: str, arguments: Mapping[str, Any], limits: Limits = _SMALL) -> str:
    """Run a job and say what came of it: its last value, or how it ended."""
    try:
        return str(list(sandbox.run(f"{_JOBS}:{job}", arguments, limits=limits))[-1])
    except SandboxFailure as failure:
        return f"refused: {failure}"


def _lacking() -> str:
    (held,) = Sandbox(keep=0).run("knowledge_mcp.support.sandbox_worker:protections", {})
    return "; ".join(f"{what}: {why}" for what, why in held.items() if why) or ("" if held else "this is no Linux")


def _tried(tries: list[tuple[str, str]]) -> Outcome:
    if why := _lacking():
        return Outcome(skipped=why)
    through: list[str] = []
    with closing(Sandbox(_SMALL)) as sandbox:
        for what, target in tries:
            said = _told(sandbox, "attempt", {"what": what, "target": target})
            if not said.startswith("refused"):
                through.append(f"{what} {target}: {said[:80]}")
    return Outcome(len(tries), tuple(through))


def _read(folder: Path) -> Outcome:
    secret = folder / "secret"
    secret.write_text(_SECRET)
    os.environ["ATTACK_API_KEY"] = _SECRET
    own = f"/proc/{os.getpid()}"
    places = ["/etc/shadow", "/etc/passwd", str(secret), f"{own}/environ", f"{own}/mem", f"{own}/root{secret}"]
    places += [f"{own}/cwd/pyproject.toml", "/proc/self/environ", "/root/.bashrc", "/var/log", str(Path.home())]
    return _tried([(what, place) for place in places for what in ("read", "list")])


def _environment(folder: Path) -> Outcome:
    del folder
    os.environ["ATTACK_API_KEY"] = _SECRET
    with closing(Sandbox(_SMALL)) as sandbox:
        said = _told(sandbox, "environment", {})
    return Outcome(1, (f"the environment has {said}",) if _SECRET in said else ())


def _connect(folder: Path) -> Outcome:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named:
        named.bind(str(folder / "s"))
        tries = [("connect", str(server.getsockname()[1])), ("send by name", str(folder / "s")), ("listen", "")]
        outcome = _tried(tries)
        if select.select([server, named], [], [], 0)[0]:
            return Outcome(outcome.tried, (*outcome.through, "the listener was reached"))
    return outcome


def _reach(folder: Path) -> Outcome:
    del folder
    own = str(os.getpid())
    others = [(what, own) for what in ("trace", "read memory", "signal", "limit another")]
    return _tried([*others, ("execute", "/bin/true"), ("fork", ""), ("raise limits", ""), ("outlive", "")])


def _change(folder: Path) -> Outcome:
    kept = folder / "kept"
    kept.write_text("as it was")
    names = [name for name in ATTEMPTS if name in {"write", "change rights", "remove", "rename", "make folder", "link"}]
    outcome = _tried([(name, str(kept)) for name in names])
    whole = [each.name for each in folder.iterdir()] == ["kept"] and kept.read_text() == "as it was"
    return outcome if whole or outcome.skipped else Outcome(outcome.tried, (*outcome.through, "the folder has changed"))


def _exhaust(folder: Path) -> Outcome:
    """Memory, threads, processes, descriptors, disk, printing and time, each without end."""
    del folder
    through: list[str] = []
    jobs = ("memory", "threads", "processes", "descriptors", "disk", "printing", "time", "sleep")
    started = time.monotonic()
    with closing(Sandbox(_SMALL)) as sandbox:
        for job in jobs:
            said = _told(sandbox, "exhaust", {"what": job}, Limits(memory=256 << 20, seconds=3.0, silence=3.0))
            if not said.startswith("refused"):
                through.append(f"{job}: {said}")
        if _told(sandbox, "environment", {}).startswith("refused"):
            through.append("no child can be started any more")
    return Outcome(len(jobs), tuple(through), note=f"{time.monotonic() - started:.0f} s")


def _orphan(folder: Path) -> Outcome:
    """Kill a parent while its child is at work."""
    del folder
    script = (
        "import os, sys, time; sys.path.insert(0, os.getcwd());"
        "from knowledge_mcp.support.sandbox import Sandbox; s = Sandbox();"
        f"g = s.run('{_JOBS}:linger', {{}}); print(next(g), flush=True); time.sleep(60)"
    )
    through: list[str] = []
    for how in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            watched = os.pidfd_open(child)
            parent.send_signal(how)
            if not select.select([watched], [], [], 5)[0]:
                through.append(f"a child outlived {how.name}")
                os.kill(child, signal.SIGKILL)
            os.close(watched)
    return Outcome(2, tuple(through))


def _corpus() -> Iterator[tuple[str, bytes]]:
    """Make hostile files: bombs, truncations, references to files and addresses, endless nesting."""
    secret = "file:///etc/passwd"
    entity = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret}">]><a>&x;</a>'
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    yield "outside.xml", entity.encode()
    yield "laughs.xml", f'<!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a>&l9;</a>'.encode()
    yield "deep.json", b"[" * 200_000
    yield "deep.html", b"<div>" * 100_000 + b"x"
    yield "outside.html", f'<iframe src="{secret}"></iframe><img src="http://127.0.0.1:9/x">text'.encode()
    for name, part in (("bomb.pptx", "ppt/presentation.xml"), ("bomb.xlsx", "xl/workbook.xml"), ("bomb.epub", "a")):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("[Content_Types].xml", "<Types/>")
            archive.writestr("META-INF/container.xml", entity)
            archive.writestr("../../../../tmp/attack-escaped", "x")
            archive.writestr(part, b"\0" * (64 << 20))
        yield name, packed.getvalue()
        yield f"cut-{name}", packed.getvalue()[: len(packed.getvalue()) // 2]
    pdf = b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R/OpenAction<</S/Launch/F(/bin/true)>>>>endobj\n"
    yield "launch.pdf", pdf + b"2 0 obj<</Type/Pages/Kids[2 0 R]/Count 9999999>>endobj\ntrailer<</Root 1 0 R>>"
    yield "long.pdf", b"%PDF-1.7\n" + b"1 0 obj<<" * 100_000
    yield "image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0"
    yield "wide.csv", b"," * 3_000_000
    yield "old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\xff" * 5000


def _files(folder: Path) -> Outcome:
    """Convert hostile files by the product: each is answered, nothing leaks, nothing is left behind."""
    script = Path(__file__).with_name("sandbox_convert.py")
    names: list[str] = []
    for name, data in _corpus():
        (folder / name).write_bytes(data)
        names.append(name)
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode != 0:
        return Outcome(len(names), (f"the process ended with {done.returncode}: {done.stderr[-200:]}",))
    answers: dict[str, str] = json.loads(done.stdout)
    through = [f"{name}: no answer" for name in names if name not in answers]
    through += [f"{name}: {said[:80]}" for name, said in answers.items() if "root:" in said or "Traceback" in said]
    if Path("/tmp/attack-escaped").exists():
        through.append("a file was written outside")
    return Outcome(len(names), tuple(through))


def _neighbour(folder: Path) -> Outcome:
    """Read what another child was given."""
    del folder
    with closing(Sandbox(_SMALL)) as sandbox:
        held = sandbox.run(f"{_JOBS}:hold", {}, files={"path": InputFile(io.BytesIO(_SECRET.encode()))})
        place = str(next(held))
        said = _told(sandbox, "attempt", {"what": "read", "target": place})
        held.close()
    return Outcome(1, (said,) if _SECRET in said else (), skipped=_lacking())


_RUNS: dict[str, Callable[[Path], Outcome]] = {
    "read any file, and the memory and environment of its parent": _read,
    "find a key in its own environment": _environment,
    "connect, listen, send": _connect,
    "start programs, trace, signal and limit others, raise limits": _reach,
    "write, change and remove files": _change,
    "read the file of another child": _neighbour,
    "memory, threads, processes, disk, time without end": _exhaust,
    "outlive its parent": _orphan,
    "hostile files read by the product": _files,
}

ATTACKS: tuple[Attack, ...] = tuple(Attack("sandbox", f"from a child: {name}", run) for name, run in _RUNS.items())

"""Attacks on the disk: it is full at some level, and the power fails during an ingest."""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.attacks import Attack, Outcome
from benchmarks.product import environment
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.settings import load_settings
from knowledge_mcp.testing.store_search import text_of
from knowledge_mcp.wiring import build_base

_DOCUMENTS = 24
_STATES = 50
_SIZES = ("64k", "192k", "512k", "1m", "2m")
_FILE = "knowledge.sqlite"
_INGEST = (sys.executable, "-m", "knowledge_mcp.cli.ingest")


def _write(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(_DOCUMENTS):
        clauses = "\n\n".join(
            f"## {part} Part\n\nThe {version} pump {number} shall run {part} hours." for part in range(1, 9)
        )
        (folder / f"paper{number:02}.md").write_text(f"# Paper {number}\n\n{clauses}\n", encoding="utf-8")


def _ingest(source: Path, data: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*_INGEST, "--force", str(source)],
        env=environment(data),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wrong(data: Path, versions: tuple[str, ...]) -> list[str]:
    """Say what is wrong with the store below a folder: every document must be there whole, in one version."""
    base = build_base(load_settings(environ=environment(data)), surface="standards")
    try:
        if not base.exists():
            return []
        found = [each.message for each in base.store.open(base.collection).verify()]
        for record in base.store.open(base.collection).documents():
            text = text_of(base.store.open(base.collection), record.id) or ""
            chunks = base.store.open(base.collection).chunks("document", [record.id])
            if len(chunks) != record.chunk_count or any(each.span.of(text) != each.content for each in chunks):
                found.append(f"{record.id}: its chunks are not those of its text")
            if sum(f"The {version} pump" in text for version in versions) != 1:
                found.append(f"{record.id}: versions are mixed")
        return found
    except KnowledgeError as exc:
        return [f"it cannot be opened: {exc}"]
    finally:
        base.close()


def _synced(store: Path) -> int:
    """Count the bytes of the write-ahead log that must be on the disk: frames that a checkpoint has begun to copy."""
    log = store.with_name(f"{_FILE}-wal").read_bytes()[:32]
    shared = store.with_name(f"{_FILE}-shm").read_bytes()
    if len(log) < 32 or len(shared) < 136:
        return 0
    frame = 24 + struct.unpack(">I", log[8:12])[0]
    copied, attempted = struct.unpack("=I", shared[96:100])[0], struct.unpack("=I", shared[128:132])[0]
    return 32 + frame * max(copied, attempted)


def _power_fails(folder: Path) -> Outcome:
    """Stop an ingest at random moments, keep what a disk may hold at that moment, and open it.

    Of the write-ahead log any beginning may have reached the disk, and a torn page after it; not less than what a
    checkpoint has copied.
    """
    chance = random.Random(7)
    data, source = folder / "data", folder / "papers"
    _write(source, "first")
    _ingest(source, data).wait()
    if _count(data) != _DOCUMENTS:
        raise AssertionError("the first ingest failed")
    through: list[str] = []
    tried = 0
    while tried < _STATES:
        _write(source, f"round{tried}")
        versions = ("first", *(f"round{number}" for number in range(tried + 1)))
        running = _ingest(source, data)
        while running.poll() is None and tried < _STATES:
            time.sleep(chance.uniform(0.02, 0.25))
            running.send_signal(signal.SIGSTOP)
            state = folder / "state"
            shutil.rmtree(state, ignore_errors=True)
            shutil.copytree(data, state, ignore=shutil.ignore_patterns("*.lock"))
            log = state / f"{_FILE}-wal"
            if log.exists() and log.stat().st_size > 32:
                end = chance.randint(min(_synced(state / _FILE), log.stat().st_size), log.stat().st_size)
                with log.open("r+b") as stream:
                    stream.truncate(end)
                    stream.seek(0, os.SEEK_END)
                    stream.write(chance.randbytes(chance.randint(0, 4096)))
            (state / f"{_FILE}-shm").unlink(missing_ok=True)  # memory, not disk
            running.send_signal(signal.SIGCONT)
            tried += 1
            through += [f"state {tried}: {each}" for each in _wrong(state, versions)]
        running.kill()
        running.wait()
    return Outcome(tried, tuple(through), note=f"{_STATES} states opened, {_DOCUMENTS} documents each")


def _full_disk(folder: Path) -> Outcome:
    """Ingest onto disks that are too small; what is there must stay, and the failure must be reported."""
    source = folder / "papers"
    _write(source, "first")
    through: list[str] = []
    codes: list[int] = []
    for size in _SIZES:
        disk = folder / f"disk-{size}"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            return Outcome(skipped="mounting a file system is not permitted here")
        try:
            running = _ingest(source, disk)
            codes.append(running.wait(120))
            freed = folder / f"freed-{size}"
            shutil.copytree(disk, freed)  # what is there once there is room again
            through += [f"{size}: {each}" for each in _wrong(freed, ("first",))]
            if (codes[-1] == 0) != (_count(freed) == _DOCUMENTS):
                through.append(f"{size}: exit code {codes[-1]}, {_count(freed)} of {_DOCUMENTS} documents are there")
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
    return Outcome(len(_SIZES), tuple(through), note=f"exit codes {codes}")


def _count(data: Path) -> int:
    base = build_base(load_settings(environ=environment(data)), surface="standards")
    try:
        return len(base.store.open(base.collection).documents()) if base.exists() else 0
    finally:
        base.close()


ATTACKS: tuple[Attack, ...] = (
    Attack("disks", "the power fails during an ingest", _power_fails),
    Attack("disks", "an ingest onto full disks", _full_disk),
)

"""Start the writers and readers of `tests.stores.processes`, and kill writers at random moments."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def start(part: str, place: str | Path, seed: int, seconds: float) -> subprocess.Popen[str]:
    """Start a process of these: `part` is write or read, `place` a file or an address."""
    arguments = [sys.executable, "-m", "tests.stores.processes", part, str(place), str(seed), str(seconds)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(writer: subprocess.Popen[str], dice: random.Random) -> dict[str, int]:
    """Kill a writer at a moment that the dice choose; returns the turn of each document that it acknowledged."""
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    heard = [writer.stdout.readline() for _ in range(dice.randrange(6))]
    with pytest.raises(subprocess.TimeoutExpired):
        writer.wait(timeout=dice.uniform(0.001, 0.05))
    writer.kill()
    said, complaints = writer.communicate(timeout=30)
    assert complaints == ""
    lines = [line for line in [*heard, *said.splitlines(keepends=True)] if line.endswith("\n")]
    return {document_id: int(turn) for document_id, turn in map(str.split, lines)}

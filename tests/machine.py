"""What a test may need of the machine: a program that is missing skips the test here and fails it in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from knowledge_mcp.support.locks import hold_lock

ROOT = Path(__file__).resolve().parent.parent
INSTALL_LINES = {
    "chromium-headless-shell": "apt-get install chromium-headless-shell (or chromium)",
    "git": "apt-get install git",
    "kubectl": "install kubectl 1.27 or newer (its own repository; Debian's kubernetes-client is too old)",
    "pgbouncer": "apt-get install pgbouncer",
    "mmdebstrap": "apt-get install mmdebstrap",
    "node": "apt-get install nodejs (22 or newer)",
    "strace": "apt-get install strace",
    "tesseract": "apt-get install tesseract-ocr",
}


def in_ci(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this run must not leave anything out: `CI` is set to anything but nothing, 0 or false."""
    return environment.get("CI", "").lower() not in {"", "0", "false"}


def examples(number: int) -> int:
    """Return how many examples to draw: all of them in CI, half elsewhere, as of tests that name no number."""
    return number if in_ci() else number // 2


def needs(program: str, *, environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of `program`, or leave the test: skipped on a developer's machine, failed in CI."""
    found = shutil.which(program, path=environment.get("PATH"))
    if found is not None:
        return found
    raise _absence(
        f"{program} is not installed; {INSTALL_LINES.get(program, 'install it')} to run this test", environment
    )


def node22(*, environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a Node.js of version 22 or newer, or leave the test as `needs` does."""
    finished = run_script("node22.sh", seconds=120)
    if finished.returncode == 0:
        return finished.stdout.strip()
    raise _absence(f"no Node.js 22 or newer: {finished.stderr.strip()}", environment)


def node_clients(*, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder with what `tools/node` names, installed there once, or leave the test as `needs` does."""
    node22(environment=environment)
    finished = run_script("node_clients.sh", seconds=300)
    if finished.returncode == 0:
        return Path(finished.stdout.strip())
    raise _absence(f"what tools/node names could not be installed: {finished.stderr.strip()}", environment)


def run_script(name: str, *, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a script of `tools` that may install something into `.node`, one worker of the tests after the other."""
    with hold_lock(ROOT / ".node", "install"):
        command = [str(ROOT / "tools" / name)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


def _absence(reason: str, environment: Mapping[str, str]) -> BaseException:
    if in_ci(environment):
        return pytest.fail.Exception(f"in CI nothing may be left out: {reason}", pytrace=False)
    return pytest.skip.Exception(reason)

"""Ctrl-C while the modules of a command are imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

_INTERRUPT = """
import signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "knowledge_mcp.cli.shared":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
from {module} import main
main()
"""


@pytest.mark.parametrize(
    "module", ["cli.ingest", "cli.knowledge.main", "cli.serve.mcp", "cli.repositories.repositories"]
)
def test_ctrl_c_during_imports_ends_quietly(module: str) -> None:
    code = _INTERRUPT.format(module=f"knowledge_mcp.{module}")
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

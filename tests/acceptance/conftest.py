"""One knowledge base of the examples, ingested once by the real command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.commands import EXAMPLES, environment


@pytest.fixture(scope="session")
def examples_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ingest the examples; returns the folder of the store."""
    data = tmp_path_factory.mktemp("examples-data")
    command = [str(Path(sys.executable).parent / "knowledge-ingest"), str(EXAMPLES)]
    done = subprocess.run(command, env=environment(data), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert any(data.iterdir())
    return data

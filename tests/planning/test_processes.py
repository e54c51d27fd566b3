"""Two processes at one file, and a process that is killed in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.health import verify
from tests.planning.server import make_world
from tests.planning.world import REF, paper, report
from tests.transports.spawned import ROOT

SCRIPT = """
import json, sys
from pathlib import Path
from tests.planning.server import make_world
world = make_world(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(world.ingest(sys.argv[2], sys.argv[3])), flush=True)
world.service.close()
"""


def start(folder: Path, path: Path) -> subprocess.Popen[str]:
    """Start a process that waits for a line before it ingests the file."""
    command = [sys.executable, "-c", SCRIPT, str(folder), str(path), REF]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.requirement("document-store-api:NFR-002")
@pytest.mark.slow
def test_two_processes_at_one_file_make_one_document_and_no_doubled_chunk(tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "Transport Assessment.pdf", *report(pages=12))
    processes = [start(tmp_path, path) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    result = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert sorted(each["status"] for each in result) == ["already_ingested", "success"]
    (created,) = [each["chunks_created"] for each in result if each["status"] == "success"]
    world = make_world(tmp_path)
    assert world.chunks() == created
    chunks = world.service.document_chunks(result[0]["document_id"])
    assert len({chunk.id for chunk in chunks}) == len(chunks) == created
    assert verify(world.base) == []
    world.service.close()


@pytest.mark.slow
def test_a_process_killed_in_the_middle_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "a.pdf", *report())
    (tmp_path / "hold").touch()
    process = start(tmp_path, path)
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    pause = threading.Event()
    for _ in range(1500):
        if (tmp_path / "held").exists():
            break
        pause.wait(0.02)
    assert (tmp_path / "held").exists()
    os.kill(process.pid, 9)
    process.communicate(timeout=30)
    (tmp_path / "hold").unlink()
    world = make_world(tmp_path)
    assert world.chunks() == 0
    assert world.ingest(str(path))["status"] == "success"
    world.service.close()

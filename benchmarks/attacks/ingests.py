"""Attacks on ingests and on stores that two versions share: nothing goes missing, is mixed, or is indexed for ever."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

from benchmarks.attacks import Attack, Outcome
from knowledge_mcp.engine.jobs import store_journal
from knowledge_mcp.engine.jobs.store_journal import StoreJournal
from knowledge_mcp.lexical.analyser import EnglishAnalyser, MultilingualAnalyser
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage
from tests.servers import openai_faults as faults
from tests.servers.openai_server import OpenAIServer

_COMMAND = str(Path(sys.executable).with_name("knowledge-ingest"))
_DOCUMENTS = 24
_PASSAGES = 40
_RUNS = 4
_KILLS = 6
_REPLICA = """
import json, sys
from pathlib import Path
from knowledge_mcp.lexical import analyser
from knowledge_mcp.stores.sqlite import verify as sqlite_verify
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_values import unit_vector
analyser._VERSION = sys.argv[2]
made, honest = [], sqlite_verify.rebuild_index
sqlite_verify.rebuild_index = lambda *them: (made.append(1), honest(*them))
store = SqliteStore(Path(sys.argv[1]), analyser.EnglishAnalyser())
print("ready", flush=True)
silent = 0
for line in sys.stdin:
    legs = store.open("c").search(vector=unit_vector("1"), text="verified", filter=None, limit=9)
    silent += not legs.lexical and not legs.lexical_error
    print("answered", flush=True)
print(json.dumps([len(made), silent, bool(store.open("c").info().degraded)]))
"""


def _environment(folder: Path, server: OpenAIServer) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    return kept | {
        "DATA_PATH": str(folder / "data"),
        "EMBEDDING_PROVIDER": "openai",
        "OPENAI_API_KEY": server.key,
        "OPENAI_BASE_URL": server.url,
    }


def _write(folder: Path, edition: str) -> list[Path]:
    """Write documents longer than one slice, each passage with its edition."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"d{number:02}.md" for number in range(_DOCUMENTS)]
    for path in paths:
        parts = (f"\n## {n} Part\n\nPart {n} of {path.stem}, edition {edition}.\n" for n in range(1, _PASSAGES + 1))
        path.write_text(f"# {path.stem}\n{''.join(parts)}")
    return paths


def _ingest(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [_COMMAND, "docs", "--json"], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _report(run: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = run.communicate(timeout=120)
    result: dict[str, Any] = json.loads(out)
    return result


def _unreliable_service(folder: Path) -> Outcome:
    dice = random.Random(20_260_101)
    paths = _write(folder / "docs", "A")
    through: list[str] = []
    tried = 0
    with OpenAIServer() as server:
        environment = _environment(folder, server)
        for turn in range(_RUNS):
            refused = f"Part {dice.randint(1, _PASSAGES)} of d{dice.randrange(_DOCUMENTS):02},"
            server.refuse = lambda text, refused=refused: refused in text
            failing = [faults.server_error(headers={"retry-after": "0"}), faults.cut_off(), faults.one_missing()]
            server.faults.extend(dice.choice([None, None, *failing]) for _ in range(6))
            if turn == 1:
                server.faults.extend([faults.unauthorized()] * 12)
            _write(folder / "docs", str(turn))
            report = _report(_ingest(folder, environment))
            server.faults.clear()
            tried += len(paths)
            through += _unaccounted(turn, paths, report)
        server.refuse = lambda _: False
        last = _report(_ingest(folder, environment))
        through += _unaccounted(_RUNS, paths, last)
        if last["errors"] or len(last["documents"]) != len(paths):
            through.append("the last run, with a service that works, is not whole")
    return Outcome(tried=tried, through=tuple(through))


def _unaccounted(turn: int, paths: list[Path], report: dict[str, Any]) -> list[str]:
    """Name the documents that a report has not exactly once; one that broke off has the stored ones by number only."""
    result = Counter(each["source_path"] for each in report["documents"])
    result.update(each["source"] for name in ("skipped", "failed") for each in report[name])
    if "error" in report:
        stored = report["files_processed"]
        return [] if len(result) + stored == len(paths) else [f"run {turn}: {len(result)} failed and {stored} stored"]
    return [
        f"run {turn}: {path.name} is reported {result[str(path)]} times" for path in paths if result[str(path)] != 1
    ]


def _kills(folder: Path) -> Outcome:
    dice = random.Random(20_260_102)
    paths = _write(folder / "docs", "A")
    through: list[str] = []
    # the service tells of each connection that a killed process leaves open
    with contextlib.redirect_stderr(io.StringIO()), OpenAIServer() as server:
        environment = _environment(folder, server)
        _report(_ingest(folder, environment))
        for turn in range(_KILLS):
            _write(folder / "docs", f"B{turn}")
            run = _ingest(folder, environment)
            asked = len(server.requests) + dice.randint(1, 12)
            for _ in range(2000):
                if len(server.requests) >= asked or run.poll() is not None:
                    break
                threading.Event().wait(0.005)
            with run:
                run.send_signal(signal.SIGKILL)
            through += _mixed(folder, len(paths))
        report = _report(_ingest(folder, environment))
        if report["errors"] or len(report["documents"]) != len(paths):
            through.append("the run after the kills is not whole")
        through += _mixed(folder, len(paths))
    return Outcome(tried=_KILLS, through=tuple(through))


def _mixed(folder: Path, documents: int) -> list[str]:
    """Look for documents that are gone, or of two editions."""
    wrong: list[str] = []
    with contextlib.closing(
        SqliteStore(next((folder / "data").rglob("knowledge.sqlite")), MultilingualAnalyser())
    ) as store:
        (name,) = [each.name for each in store.collections() if store.open(each.name).documents()]
        records = store.open(name).documents()
        if len(records) != documents:
            wrong.append(f"{len(records)} of {documents} documents are there")
        for record in records:
            chunks = store.open(name).chunks("document", [record.id])
            editions = {each.content.partition("edition ")[2][:2] for each in chunks if "edition" in each.content}
            if len(editions) != 1 or len(chunks) != record.chunk_count:
                wrong.append(f"{record.id} has {len(chunks)} passages of editions {sorted(editions)}")
        wrong += [each.message for each in store.open(name).verify() if "staged" not in each.message]
    return wrong


def _names(folder: Path) -> Outcome:
    docs = folder / "docs"
    docs.mkdir()
    names = ["one\nFiles processed 99.md", "two\r\x1b[2J.md", "three\u2028Error: lost.md", "four\x9b31m.md"]
    for name in names:
        (docs / name).write_text(f"# A\n\nText of {len(name)}.")
    (docs / "empty\nErrors 0.md").write_text("")
    with OpenAIServer() as server:
        environment = _environment(folder, server)
        done = subprocess.run(
            [_COMMAND, "docs", "--verbose"], cwd=folder, env=environment, capture_output=True, timeout=60, check=False
        )
        report = _report(_ingest(folder, environment))
    shown = (done.stdout + done.stderr).decode()
    through = [
        f"a line begins with {line[:30]!r}" for line in shown.splitlines() if line.startswith(("Files p", "Errors"))
    ]
    through += [f"{sign!r} was written" for sign in ("\x1b", "\x9b", "\u2028") if sign in shown]
    result = {Path(each["source_path"]).name for each in report["documents"]}
    through += [f"{name!r} is not in the report" for name in names if name not in result]
    return Outcome(tried=len(names) + 1, through=tuple(through))


def _two_versions(folder: Path) -> Outcome:
    path = folder / "knowledge.db"
    with contextlib.closing(SqliteStore(path, EnglishAnalyser())) as store:
        store.create_collection("c", SPACE)
        for number in range(50):
            put(store, f"d{number}", [SamplePassage(f"verified systems {number}", id=f"{number}")])
    mine = EnglishAnalyser().version.partition("-porter2")[0]
    newer = f"english-{int(mine.removeprefix('english-')) + 1}"
    versions = (mine, newer, mine)
    asked = 0
    with contextlib.ExitStack() as stack:
        replicas = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _REPLICA, str(path), version],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            for version in versions
        ]  # fmt: skip
        for each in replicas:
            _line(each)
        for _ in range(10):
            for each in replicas:
                assert each.stdin is not None
                each.stdin.write("ask\n")
                each.stdin.flush()
                _line(each)
                asked += 1
        result = [json.loads(each.communicate(timeout=30)[0]) for each in replicas]
    through: list[str] = []
    indexed = sum(made for made, _, _ in result)
    if indexed != 1:
        through.append(f"the collection was indexed {indexed} times")
    for version, (_, silent, degraded) in zip(versions, result, strict=True):
        if silent:
            through.append(f"{version} answered {silent} times without words and did not say so")
        if degraded != (version == mine):
            through.append(f"{version} does not say rightly whether it is degraded")
    return Outcome(tried=asked, through=tuple(through), note=f"{indexed} indexing")


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


class _SetClock(datetime):
    off = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls.fromisoformat((datetime.now(tz) + cls.off).isoformat())


def _clock(folder: Path) -> Outcome:
    through: list[str] = []
    seconds = [0.0]
    jumps = [timedelta(hours=hours) for hours in (1, -1, 25, -25, 24 * 365, -24 * 365)]
    honest, store_journal.datetime = store_journal.datetime, _SetClock
    try:
        with contextlib.closing(SqliteStore(folder / "knowledge.db", EnglishAnalyser())) as store:
            worker = StoreJournal(store, SPACE, beat=0.05)
            observer = StoreJournal(store, SPACE, dead=timedelta(seconds=60), clock=lambda: seconds[0])
            free = worker.hold("worker")
            for jump in jumps:
                content = observer.put_content(b"needed soon")
                _SetClock.off = jump
                if not observer.is_locked("worker"):
                    through.append(f"after {jump} a process at work counted as gone")
                with observer.recovering():
                    if observer.content(content) != b"needed soon":
                        through.append(f"after {jump} the bytes of a job were swept")
            free()
            dead = StoreJournal(store, SPACE, beat=3600.0)
            dead.hold("dead")
            held = observer.is_locked("dead")
            seconds[0] += 61
            if not held or observer.is_locked("dead"):
                through.append("a process that is gone counted as at work")
    finally:
        store_journal.datetime = honest
        _SetClock.off = timedelta()
    return Outcome(tried=len(jumps) * 2 + 1, through=tuple(through))


ATTACKS = (
    Attack(
        "ingests", "a service that refuses, fails and answers in part while documents are ingested", _unreliable_service
    ),
    Attack("ingests", "an ingest killed at random moments and begun again", _kills),
    Attack("ingests", "file names that end lines and steer terminals", _names),
    Attack("ingests", "a wall clock that jumps while jobs run", _clock),
    Attack("versions", "two versions of the program side by side on one file", _two_versions),
)

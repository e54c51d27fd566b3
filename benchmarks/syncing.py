"""Random lives of a folder: files are added, edited, renamed, moved, copied, spoiled and deleted, and syncs killed.

Usage: `python -m benchmarks.syncing [--traces 10000] [--seed 0] [--jobs 2]`

After each sync that ends, the store holds exactly what the folder holds, each document keeps the id of its file, and a
file that went elsewhere keeps its document. A sync that is killed (SIGKILL) leaves every document as it was or as it
shall be, and loses no id; the next one makes store and folder equal. What cannot be read keeps its earlier version.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.killing import kill_at
from knowledge_mcp.engine.core.health import verify
from knowledge_mcp.engine.ingest.syncing import sync
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.ingest import SyncReport
from knowledge_mcp.sources.synced.folders import FolderSource
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.engine.world import World

FOLDERS = ("", "a", "a/b", "c")
NAMES = ("doors", "ropes", "pits", "masts", "wells")
TEXTS = tuple(
    f"# {name.title()}\n\nEach of the {name} shall be looked at in week {week}.\n" for name in NAMES for week in (1, 2)
)
KILLS = ("embed", "store", "write", "delete")


@dataclass
class Tally:
    """Count what was done, and keep what went wrong."""

    traces: int = 0
    syncs: int = 0
    kills: int = 0
    steps: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])


class Life:
    """One folder and one store, and what happens to them.

    Args:
        folder: empty; both go below it.
        seed: of all that happens.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self._data = folder / "data"
        self._world: World | None = None

    @property
    def world(self) -> World:
        """Open the store where it is not open."""
        if self._world is None:
            self._world = _opened(self.files, self._data)
        return self._world

    def close(self) -> None:
        """Close the store; it is opened again when it is wanted."""
        if self._world is not None:
            self._world.knowledge.close()
            self._world = None

    def there(self) -> list[Path]:
        """List the files."""
        return sorted(path for path in self.files.rglob("*.md") if path.is_file())

    def place(self) -> Path:
        """Choose a place for a file, free or not."""
        return self.files / self.chance.choice(FOLDERS) / f"{self.chance.choice(NAMES)}.md"

    def step(self) -> str:
        """Let one thing happen to the files; returns its name."""
        files = self.there()
        what = self.chance.choice(("add", "add", "edit", "rename", "move", "copy", "delete", "spoil", "folder"))
        if len(files) < self.chance.randint(1, 3):
            what = "add"
        place = self.place()
        place.parent.mkdir(parents=True, exist_ok=True)
        chosen = self.chance.choice(files) if files else place
        match what:
            case "add" | "edit":
                (place if what == "add" else chosen).write_text(self.chance.choice(TEXTS))
            case "rename":
                os.replace(chosen, chosen.with_name(place.name))  # noqa: PTH105 - the same place is no error
            case "move":
                os.replace(chosen, place)  # noqa: PTH105 - as above
            case "copy":
                place.write_bytes(chosen.read_bytes())
            case "delete":
                chosen.unlink()
            case "spoil":
                chosen.write_bytes(b"")
            case _:
                self._rename_folder()
        return what

    def _rename_folder(self) -> None:
        folders = [path for path in self.files.iterdir() if path.is_dir()]
        free = [name for name in ("a", "c", "d") if not (self.files / name).exists()]
        if folders and free:
            self.chance.choice(folders).rename(self.files / self.chance.choice(free))

    def sync(self) -> SyncReport:
        """Sync, to the end."""
        return _synced(self.world, self.files)

    def killed_sync(self) -> bool:
        """Sync in a process that is killed on the way; tells whether it was killed before its end."""
        self.close()
        point = f"{self.chance.choice(KILLS)}:{self.chance.choice((1, 1, 2, 3))}"
        child = _PROCESSES.Process(target=_sync_until, args=(point, self.files, self._data))
        child.start()
        child.join()
        killed = child.exitcode == -signal.SIGKILL
        if child.exitcode and not killed:
            raise RuntimeError(f"The sync that was to be killed at {point} ended with exit code {child.exitcode}.")
        child.close()
        return killed


_PROCESSES = multiprocessing.get_context("forkserver")
"""A fork of this process itself would wait for ever on a lock that one of its other threads held."""
_PROCESSES.set_forkserver_preload(
    [
        "benchmarks.syncing",  # by its name: as a program it is called otherwise
        "knowledge_mcp.readers.markdown.walker",  # and what a sync imports late, which took half of each trace
        "knowledge_mcp.stores.sqlite.reading",
        "markdown_it",
        "mdit_py_plugins.deflist",
        "mdit_py_plugins.footnote",
        "yaml",
        "Stemmer",
    ]
)


def _opened(files: Path, data: Path) -> World:
    return World(files, store=SqliteStore(data / "knowledge.sqlite", EnglishAnalyser()))


def _synced(world: World, files: Path) -> SyncReport:
    return sync(world.knowledge, FolderSource(files), allow_empty=True)


def _sync_until(point: str, files: Path, data: Path) -> None:
    kill_at(point)
    world = _opened(files, data)
    _synced(world, files)
    world.knowledge.close()


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(
    before: Sequence[DocumentRecord], after: Sequence[DocumentRecord], files: Sequence[Path], *, whole: bool
) -> list[str]:
    """Say what is wrong with a store after a sync; nothing where all is well.

    Args:
        before, after: the documents.
        files: what is in the folder.
        whole: whether the sync came to its end.
    """
    disk = {str(path): _hash(path) for path in files if path.stat().st_size}
    spoiled = {str(path) for path in files if not path.stat().st_size}
    old = {each.source_path: each for each in before}
    new = {each.source_path: each for each in after}
    wrong: list[str] = []
    if len({each.id for each in after}) != len(after) or len(new) != len(after):
        wrong.append("two documents of one id or place")
    for place, record in old.items():
        if place in disk or place in spoiled:
            expected = {record.sha256} if place in spoiled else {disk[place]} if whole else {disk[place], record.sha256}
            if place not in new or new[place].id != record.id:
                wrong.append(f"{record.id} at {place} lost its id")
            elif new[place].sha256 not in expected:
                wrong.append(f"{place} is of another version")
    for place, record in new.items():
        if place not in old and (place not in disk or disk[place] != record.sha256):
            wrong.append(f"{place} is not what is there")
    if whole and new.keys() - spoiled != disk.keys():
        wrong.append(f"store and folder differ: {sorted(new.keys() ^ disk.keys())}")
    gone = [each for each in before if each.source_path not in disk and each.source_path not in spoiled]
    fresh = Counter(digest for place, digest in disk.items() if place not in old)
    surviving = {each.id for each in after}
    for digest, count in Counter(each.sha256 for each in gone).items():
        kept = sum(each.id in surviving for each in gone if each.sha256 == digest)
        if kept < min(count, fresh[digest]):
            wrong.append(f"{min(count, fresh[digest]) - kept} ids were lost though their files are there")
    return wrong


def live(life: Life, tally: Tally, length: int = 12) -> list[str]:
    """Let one life happen; returns what went wrong first."""
    done: list[str] = []
    for number in range(length):
        done.append(life.step())
        tally.steps[done[-1]] += 1
        last = number == length - 1
        if not last and life.chance.random() > 0.4:
            continue
        before = life.world.knowledge.documents()
        killed = not last and life.chance.random() < 0.5 and life.killed_sync()
        if not killed:
            life.sync()
        tally.syncs += 1
        tally.kills += killed
        done.append("kill" if killed else "sync")
        wrong = check(before, life.world.knowledge.documents(), life.there(), whole=not killed)
        if wrong:
            return [f"after {', '.join(done)}: {each}" for each in wrong]
    return [f"verify: {each.message}" for each in verify(life.world.base)]


def _some(numbers: range) -> Tally:
    logging.disable()
    tally = Tally()
    for seed in numbers:
        folder = Path(tempfile.mkdtemp(prefix="sync-"))
        life = Life(folder, seed)
        try:
            tally.wrong += [f"trace {seed}: {each}" for each in live(life, tally)]
            tally.traces += 1
        finally:
            life.close()
            shutil.rmtree(folder, ignore_errors=True)
    return tally


def main() -> None:
    """Run it and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first trace")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    started = time.perf_counter()
    size = min(100, -(-given.traces // given.jobs))
    parts = [
        range(at, min(at + size, given.seed + given.traces))
        for at in range(given.seed, given.seed + given.traces, size)
    ]
    total = Tally()
    with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as pool:
        for working in as_completed([pool.submit(_some, part) for part in parts]):
            tally = working.result()
            total.traces += tally.traces
            total.syncs += tally.syncs
            total.kills += tally.kills
            total.steps += tally.steps
            total.wrong += tally.wrong
            for each in tally.wrong:
                print(each, flush=True)
            sys.stderr.write(f"\r{total.traces} of {given.traces} traces, {total.kills} syncs killed")
    seconds = time.perf_counter() - started
    steps = ", ".join(f"{count} {name}" for name, count in total.steps.most_common())
    print(f"{total.traces} traces, {total.syncs} syncs, {total.kills} killed, in {seconds:.0f} s; {steps}")
    print(f"{len(total.wrong)} things wrong")
    raise SystemExit(bool(total.wrong))


if __name__ == "__main__":
    main()

"""Attacks on tools that are given a path: links that come and go, files that are none, files of holes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from benchmarks.attacks import Attack, Outcome
from knowledge_mcp import wiring
from knowledge_mcp.engine.convert.conversion import ConversionService
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.settings import load_settings
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.support import files

_SECRET = "canary of a file outside"
_CALLS = 10_000


def _build_service(root: Path) -> ConversionService:
    service: ConversionService = wiring.build_service(load_settings(), surface="convert", roots=(root,))
    return service


def _grounds(folder: Path) -> Path:
    """Make a root with a folder, and a link in it that leads out to another."""
    root, outside = folder / "root", folder / "outside"
    (root / "folder").mkdir(parents=True)
    outside.mkdir()
    (root / "folder" / "a.md").write_text("# Inside\n\nWords of a file inside.\n")
    (outside / "a.md").write_text(f"# Outside\n\n{_SECRET}\n")
    (root / "link").symlink_to(outside)
    return root


class _Swapping:
    """Let a folder and a link change places while the block runs."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._swap, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _swap(self) -> None:
        folder, link, aside = (self._root / name for name in ("folder", "link", "aside"))
        while not self._enough.is_set():
            folder.rename(aside)
            link.rename(folder)
            folder.rename(link)
            aside.rename(folder)


def _race(root: Path, call: Callable[[], str]) -> Outcome:
    tried = answered = 0
    through: list[str] = []
    until = time.monotonic() + 25
    with _Swapping(root):
        while tried < _CALLS and time.monotonic() < until:
            tried += 1
            try:
                said = call()
            except (KnowledgeError, OSError):
                continue
            answered += bool(said)
            if _SECRET in said:
                through.append(f"call {tried} read outside")
    return Outcome(tried, tuple(through), note=f"{answered} read the file inside")


def _tool(folder: Path) -> Outcome:
    root = _grounds(folder)
    service = _build_service(root)
    try:
        return _race(root, lambda: service.convert(str(root / "folder" / "a.md")).text)
    finally:
        service.close()


def _tool_step_by_step(folder: Path) -> Outcome:
    with mock.patch.object(files, "_system_call", return_value=None):
        return _tool(folder)


def _source(folder: Path) -> Outcome:
    root = _grounds(folder)

    def call() -> str:
        said: list[str] = []
        for item in FileSource(root).items():
            if isinstance(item, SourceItem):
                with item.open() as stream:
                    said.append(stream.read().decode())
        return "".join(said)

    return _race(root, call)


def _refused(folder: Path, names: list[str]) -> Outcome:
    """Convert what is no file, or leads out; each must be refused at once."""
    service = _build_service(folder / "root")
    through: list[str] = []
    longest = 0.0
    for name in names:
        started = time.monotonic()
        try:
            through.append(f"{name}: {service.convert(name).text[:60]}")
        except KnowledgeError as error:
            if _SECRET in f"{error.message}{error.details}":
                through.append(f"{name}: the answer tells of it")
        longest = max(longest, time.monotonic() - started)
        if longest > 5:
            through.append(f"{name}: refused only after {longest:.0f} s")
    service.close()
    return Outcome(len(names), tuple(through), note=f"the longest took {longest:.2f} s")


def _no_files(folder: Path) -> Outcome:
    root = _grounds(folder)
    os.mkfifo(root / "pipe.md")
    (root / "zero.md").symlink_to("/dev/zero")
    (root / "environ.md").symlink_to("/proc/self/environ")
    (root / "loop.md").symlink_to(root / "loop.md")
    (root / "out.md").symlink_to(folder / "outside" / "a.md")
    holes = root / "holes.pdf"
    with holes.open("wb") as stream:
        stream.truncate(5 << 30)
    inside = [str(root / name) for name in ("pipe.md", "zero.md", "environ.md", "loop.md", "out.md", "link/a.md")]
    tricks = [
        f"{root}/../outside/a.md",
        f"{root}/folder/../../outside/a.md",
        f"file://{root}/%2e%2e/outside/a.md",
        f"file://{root}/link/a.md",
        f"{root}\0/a.md",
        "/proc/self/environ",
        f"/proc/self/root{folder}/outside/a.md",
        "/proc/self/cwd/README.md",
        "/dev/stdin",
        str(folder / "outside" / "a.md"),
        f"{root}-2/a.md",
    ]
    return _refused(folder, [*inside, str(holes), *tricks])


ATTACKS: tuple[Attack, ...] = (
    Attack("paths", "a folder and a link out change places while a tool reads", _tool),
    Attack("paths", "the same where the kernel has no openat2", _tool_step_by_step),
    Attack("paths", "a folder and a link out change places while a folder is taken in", _source),
    Attack("paths", "pipes, devices, 5 GB of holes, links and names that lead out", _no_files),
)

"""Run Git under limits: a remote that sends without end must not use up this machine's memory or disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.support.system.processes import limit

_STEP = 0.1
"""Seconds between two checks while Git works."""
_PIECE = 64 * 1024
_MOST_OUTPUT = 256 * 1024 * 1024
"""Maximum bytes of an answer: the list of a repository's million files takes 150 MB."""
_MOST_ERRORS = 64 * 1024
"""Bytes kept from the end of Git's standard error: a remote can send any amount of text through it."""
_MEMORY = 4 * 1024 * 1024 * 1024
"""Maximum bytes that each process of Git may map: a full clone of Linux takes 2 GB, and a remote may send references
or deltas that would use up all memory.
"""
_LEFT = 0.1
"""Share of the free disk space, and of the free file entries, that stays free for others, above all for the store."""


class Pipe(threading.Thread):
    """Read a pipe to its end and keep a limited part.

    Args:
        stream: of a process.
        most: maximum bytes to keep.
        last: whether to keep the last bytes and go on reading; otherwise reading stops at the limit.
    """

    def __init__(self, stream: IO[bytes], most: int, *, last: bool) -> None:
        super().__init__(name="git-output", daemon=True)
        self._stream = stream
        self._most = most
        self._last = last
        self._kept = bytearray()
        self.is_over = False
        self.start()

    def run(self) -> None:
        """Read, and close the stream; closing it elsewhere ends the read."""
        try:
            while piece := os.read(self._stream.fileno(), _PIECE):
                self._kept += piece
                if len(self._kept) > self._most:
                    self.is_over = True
                    if not self._last:
                        return
                    del self._kept[: -self._most]
        except (OSError, ValueError):
            return
        finally:
            self._stream.close()

    @property
    def content(self) -> bytes:
        """Return the bytes that were kept."""
        return bytes(self._kept)


def bound(process: subprocess.Popen[bytes]) -> None:
    """Limit the memory of a Git process that has just started, and of all that it starts."""
    limit(process, memory=_MEMORY)


def watch_disk(folder: Path | None, what: str) -> Callable[[], None]:
    """Return a check that raises once nine tenths of the free disk space are used; no folder, no check.

    Raises:
        InternalError: (from the returned check) the limit is reached.
    """
    if folder is None:
        return lambda: None
    there = next(each for each in (folder, *folder.parents) if each.is_dir())
    least = [free * _LEFT for free in _free(there)]

    def look() -> None:
        if any(free < few for free, few in zip(_free(there), least, strict=True)):
            raise InternalError(
                f"There is not enough disk space for {what}.",
                details="It was stopped before it used the last tenth of the free space.",
                suggestion="Free space, or set REPO_CLONE_PATH to a larger disk.",
                recoverable=True,
            )

    return look


def _free(folder: Path) -> tuple[int, int]:
    """Return the free bytes and file entries of a folder's disk; 0 entries where the system does not count them."""
    files = os.statvfs(folder).f_favail if sys.platform != "win32" else 0
    return shutil.disk_usage(folder).free, files


def read_all(process: subprocess.Popen[bytes], what: str, look: Callable[[], None]) -> tuple[bytes, bytes]:
    """Read a process's output until it ends; return its answer, and the end of its standard error.

    Args:
        process: with both pipes.
        what: the repository, for messages.
        look: called ten times a second; raises to end the wait.

    Raises:
        InvalidInputError: the answer exceeds the limit.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    pipes = Pipe(process.stdout, _MOST_OUTPUT, last=False), Pipe(process.stderr, _MOST_ERRORS, last=True)
    for pipe in pipes:
        while pipe.is_alive():
            pipe.join(_STEP)
            look()
        if pipes[0].is_over:  # reading ends there, perhaps before the first look
            raise InvalidInputError(
                f"{what} has more references or files than can be listed.",
                suggestion="Use a repository, or a branch, of fewer files.",
            )
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STEP)
        look()
    return pipes[0].content, pipes[1].content

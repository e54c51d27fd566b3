"""The folder of clones: locks, atomic replacement, and removal of what an interrupted run left."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Generator
from pathlib import Path

from knowledge_mcp.model.errors import InternalError, InvalidInputError, KnowledgeError, TimedOutError
from knowledge_mcp.sources.git.url import repository_name
from knowledge_mcp.support.files import remove_folder
from knowledge_mcp.support.system.locking import try_lock

_LOCK_SECONDS = 60.0
_STEP = 0.05


class CloneFolder:
    """Store clones by name. A leading dot marks what is not a clone: locks, and what is being created or removed.

    Args:
        path: absolute; created with the first clone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def place(self, name: str) -> Path:
        """Return the folder of a clone.

        Raises:
            InvalidInputError: not a valid name for a clone.
        """
        if repository_name(name) != name:
            raise InvalidInputError(
                "This is not a repository name.", suggestion="Use letters, digits, '.', '_' and '-'."
            )
        return self.path / name

    def beside(self, name: str) -> Path:
        """Return a new hidden path for what is being created or removed."""
        return self.path / f".{name}.{secrets.token_hex(4)}.partial"

    def discard(self, place: Path) -> None:
        """Remove a clone; it is first renamed, so that no one sees half of it."""
        aside = self.beside(place.name)
        try:
            place.rename(aside)
        except OSError as error:
            raise disk_error(place.name, error) from error
        remove_folder(aside)

    def remove(self, name: str) -> bool:
        """Remove the clone of that name; return whether there was one; errors as for `locked`."""
        place = self.place(name)
        with self.locked(name):
            if not place.is_dir():
                return False
            self.discard(place)
            return True

    @contextlib.contextmanager
    def locked(self, name: str) -> Generator[None]:
        """Lock one clone across processes; removes first what an earlier run left unfinished.

        Raises:
            TimedOutError: another process keeps the lock.
        """
        place = self.place(name)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / f".{place.name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise disk_error(name, error) from error
        try:
            _lock(descriptor, name)
            left = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.partial")
            for entry in self.path.iterdir():
                if left.fullmatch(entry.name):
                    remove_folder(entry)
            yield
        finally:
            os.close(descriptor)


def _lock(descriptor: int, name: str) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    pause = threading.Event()
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise TimedOutError(
                f"Another process is working on {name}.", suggestion="Wait until it has finished, then try again."
            )
        pause.wait(_STEP)


def disk_error(name: str, error: OSError) -> KnowledgeError:
    """Build the error for a clone that cannot be written."""
    reason = error.strerror or type(error).__name__
    return InternalError(
        f"The clone of {name} cannot be written: {reason}.",
        details=reason,
        suggestion="Check the permissions and the free space of REPO_CLONE_PATH.",
        recoverable=True,
    )

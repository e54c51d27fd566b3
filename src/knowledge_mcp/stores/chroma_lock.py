"""One process at a time in an embedded ChromaDB's folder: two of them spoil its vector index without a word.

The lock is the kernel's, on a file in the folder: it ends with the process that holds it, however that ends, so there
is no stale one. The file's text only names the holder.
"""

from __future__ import annotations

import os
from pathlib import Path

from knowledge_mcp.model.errors import ConnectionFailedError

__all__ = ["LOCK_FILE", "FolderLock"]

LOCK_FILE = ".knowledge-mcp.lock"


class FolderLock:
    """Hold a folder for this process until `release`.

    Args:
        folder: made where there is none.

    Raises:
        ConnectionFailedError: another process holds it (names its pid), or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        import fcntl

        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as exc:
            raise ConnectionFailedError(
                f"The folder '{folder}' cannot be written: {exc.strerror}.",
                suggestion="Check its permissions, or set CHROMADB_PATH to another folder.",
            ) from exc
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.pread(self._handle, 32, 0).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise ConnectionFailedError(
                f"The embedded ChromaDB in '{folder}' is in use by process {holder or 'unknown'}.",
                details="Two processes that write to one embedded ChromaDB damage its index.",
                suggestion=f"Stop that process, or share the folder: run `chroma run --path {folder}` and set "
                "CHROMADB_HOST and CHROMADB_PORT in both.",
            ) from exc
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others in; the file stays, since removing it would let two hold two files of one name."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

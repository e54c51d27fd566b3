"""ChromaDB as anybody uses it who has only the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def plain(folder: Path) -> Any:
    """Open an embedded database."""
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))


def close(client: Any) -> None:
    """Close both sessions of a server's client: it leaves its sockets to chance, which pytest reports."""
    sessions = [client._server._session, client._admin_client._server._session]
    client.close()
    for session in sessions:
        session.close()

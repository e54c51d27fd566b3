"""The library's own client of a ChromaDB server, closed: it leaves its sockets to chance, which pytest reports."""

from __future__ import annotations

from typing import Any

__all__ = ["close"]


def close(client: Any) -> None:
    """Close both of a client's sessions."""
    sessions = [client._server._session, client._admin_client._server._session]
    client.close()
    for session in sessions:
        session.close()

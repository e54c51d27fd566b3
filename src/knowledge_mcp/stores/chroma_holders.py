"""Entries that hold a generation in ChromaDB until it is visible: what has none and is not visible is swept."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Sequence
from typing import Any

from knowledge_mcp.stores.chroma_client import Found, Row, Where
from knowledge_mcp.stores.chroma_layout import all_of
from knowledge_mcp.stores.chroma_places import Place

__all__ = ["holder_row", "holders_of", "is_abandoned", "of_documents", "staged_entry", "writing_row"]

_LONGEST_SECONDS = 120.0
"""Time after which a whole document that is neither visible nor gone is taken for a killed writer's: since this process
first saw its holder, by its own clock, for two machines tell different times, and a clock may be set."""

_SURELY_OVER = 86_400.0
"""The same by the clock of the day, as far as a clock is hardly wrong: commands that end soon watch nobody for long."""

_MOST_SEEN = 10_000
_SEEN: dict[str, float] = {}
"""When holders were first seen here; of more than so many the oldest are forgotten, and count as new again."""


def staged_entry(document_id: str, name: str) -> str:
    """Name the entry that holds a generation which is being collected."""
    return f"staged {json.dumps([document_id, name])}"


def holder_row(document_id: str, name: str, token: str) -> Row:
    """Make the holder of a generation that is staged, until it is published or discarded."""
    metadata = {"kind": "staged", "document_id": document_id, "name": name, "generation": token}
    return Row(staged_entry(document_id, name), metadata)


def writing_row(document_id: str, name: str, token: str) -> Row:
    """Make the holder of a generation that this process writes as a whole now."""
    row = holder_row(document_id, name, token)
    writer: dict[str, Any] = {"since": time.time(), "writer": f"{platform.node()} {os.getpid()}"}
    return Row(row.id, {**row.metadata, **writer})


def holders_of(place: Place, documents: Sequence[str] | None) -> list[Found]:
    """Read the holders of some documents' generations, or of all."""
    return place.documents.rows(where=all_of({"kind": {"$eq": "staged"}}, of_documents(documents)))


def of_documents(documents: Sequence[str] | None) -> Where | None:
    """Say in ChromaDB's words which documents are meant, None for all."""
    return None if documents is None else {"document_id": {"$in": list(documents)}}


def is_abandoned(holder: Found) -> bool:
    """Tell whether a whole document's writer was killed: a process of this machine that has gone, or one that is late.

    One that is at work all the same notices that its holder is gone, and writes again. What is staged is not meant.
    """
    since = holder.metadata.get("since")
    if since is None:
        return False
    host, _, process = str(holder.metadata.get("writer")).rpartition(" ")
    gone = host == platform.node() and process.isdecimal() and not _is_running(int(process))
    return gone or _seen_for(holder.id) > _LONGEST_SECONDS or time.time() - float(since) > _SURELY_OVER


def _seen_for(holder: str) -> float:
    """Tell how long ago a holder was first seen, in seconds; each has a name of its own."""
    now = time.monotonic()
    since = _SEEN.setdefault(holder, now)
    if len(_SEEN) > _MOST_SEEN:
        for oldest in list(_SEEN)[: _MOST_SEEN // 10]:
            _SEEN.pop(oldest, None)
    return now - since


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

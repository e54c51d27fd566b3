"""The composition root: settings in, whatever answers out; nothing is decided anywhere else."""

from __future__ import annotations

from knowledge_mcp.wiring.base import Start, build_base, build_store, try_start
from knowledge_mcp.wiring.desks import (
    build_desk,
    build_knowledge,
    build_library,
    build_local,
    build_repositories,
    build_source,
)

__all__ = [
    "Start",
    "build_base",
    "build_desk",
    "build_knowledge",
    "build_library",
    "build_local",
    "build_repositories",
    "build_source",
    "build_store",
    "try_start",
]

"""The product as the benchmarks start it: default settings, its own data folder, no key from the surroundings."""

from __future__ import annotations

import os
from pathlib import Path

from knowledge_mcp.ports import Knowledge

_FOREIGN = ("OPENAI_API_KEY", "QDRANT_URL", "QDRANT_API_KEY", "CHROMADB_HOST", "AZURE_OPENAI_ENDPOINT", "VECTOR_STORE")


def environment(data: Path) -> dict[str, str]:
    """Build the environment of a command that keeps its knowledge base below `data`."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, "DATA_PATH": str(data), "EMBEDDING_PROVIDER": "local", "LOG_LEVEL": "ERROR"}


def open_knowledge(data: Path) -> Knowledge:
    """Open the knowledge base below `data` in this process."""
    from knowledge_mcp.settings import load_settings
    from knowledge_mcp.wiring import build_knowledge

    return build_knowledge(load_settings(environ=environment(data)))

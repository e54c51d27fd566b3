"""Documents of any kind in named collections (specification D): search, ingest by address, list, read."""

from knowledge_mcp.surfaces.rag.tools import SURFACE

__all__ = ["SURFACE"]

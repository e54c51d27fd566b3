"""The surface `planning` (specification B)."""

from knowledge_mcp.surfaces.planning.tools import SURFACE

__all__ = ["SURFACE"]

"""The surface `planning` (specification B)."""

from knowledge_mcp.surfaces.planning.surface import SURFACE

__all__ = ["SURFACE"]

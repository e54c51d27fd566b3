"""The surface `convert` (specification D, the local server)."""

from knowledge_mcp.surfaces.convert.surface import SURFACE

__all__ = ["SURFACE"]

"""The surface `convert` (specification D, the local server)."""

from knowledge_mcp.surfaces.convert.tools import SURFACE

__all__ = ["SURFACE"]

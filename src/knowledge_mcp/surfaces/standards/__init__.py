"""Six tools over standards and handbooks (specification A): search, lookup, requirements, keywords, stats, health."""

from knowledge_mcp.surfaces.standards.surface import SURFACE

__all__ = ["SURFACE"]

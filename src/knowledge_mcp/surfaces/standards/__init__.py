"""Ten tools over standards and handbooks: the six of specification A, and four for evidence."""

from knowledge_mcp.surfaces.standards.tools import SURFACE

__all__ = ["SURFACE"]

"""Tools over standards and handbooks: those of specification A, and for evidence, editions, traces and checks."""

from knowledge_mcp.surfaces.standards.tools import SURFACE

__all__ = ["SURFACE"]

"""Twelve tools over standards and handbooks: the six of specification A, four for evidence, two for editions."""

from knowledge_mcp.surfaces.standards.tools import SURFACE

__all__ = ["SURFACE"]

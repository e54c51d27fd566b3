"""Code in indexed repositories (specification C): search, list, and further tools to read lines and to refresh."""

from knowledge_mcp.surfaces.repositories.tools import SURFACE

__all__ = ["SURFACE"]

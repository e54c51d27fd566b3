"""Surfaces by name, as the registry lists them; each is loaded only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.surfaces.contract import Surface

__all__ = ["load_surfaces"]


def load_surfaces(names: Sequence[str]) -> tuple[Surface, ...]:
    """Load surfaces in the order given, each once.

    Raises:
        ConfigError: no name at all, or one that is not known; names those that are.
    """
    wanted = list(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in registry.SURFACES]
    if unknown or not wanted:
        raise ConfigError(
            f"Unknown surface: {', '.join(unknown)}." if unknown else "No surface was chosen.",
            details=f"Known surfaces: {', '.join(registry.SURFACES)}.",
            suggestion="Choose with `--surface NAME[,NAME]`.",
        )
    surfaces = tuple(registry.load(registry.SURFACES[name]) for name in wanted)
    assert all(isinstance(surface, Surface) for surface in surfaces)
    return surfaces

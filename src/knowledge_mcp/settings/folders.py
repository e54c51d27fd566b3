"""Where a user's data and caches belong on this system."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

__all__ = ["platform_folder"]


def platform_folder(kind: Literal["data", "cache"]) -> Path:
    """Name this product's folder of a kind; it may not exist yet."""
    import platformdirs

    found = platformdirs.user_data_path if kind == "data" else platformdirs.user_cache_path
    return found("knowledge-mcp", appauthor=False)

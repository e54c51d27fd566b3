"""Versions of what a store derives from chunks: the newer one is kept, whoever looks at it.

Two versions of this program may work on one store, as in a rolling upgrade. The newer one makes the index again, once;
the older one leaves it as it is, answers without it, and says so.
"""

from __future__ import annotations

import re

from knowledge_mcp.model.errors import ConfigError

__all__ = ["is_newer", "newer_index"]

_NUMBER = re.compile(r"(?:^|-)(\d+)(?:-|$)")


def is_newer(label: str, other: str) -> bool:
    """Tell whether a version label such as `english-2-porter2` comes after another one.

    The first number between hyphens decides, 0 where there is none; then the text, so that of two labels exactly one
    comes after the other, and no two versions replace each other's work for ever.
    """
    return _order(label) > _order(other)


def newer_index(collection: str, label: str, own: str) -> ConfigError:
    """Say that a newer version has indexed a collection, and that this one leaves its index alone."""
    return ConfigError(
        f"A newer version of this program has indexed the words of collection '{collection}' ({label}; this version "
        f"knows {own}).",
        suggestion="Upgrade this server too. Until then it searches by meaning only and stores no documents there.",
    )


def _order(label: str) -> tuple[int, str]:
    found = _NUMBER.search(label)
    return int(found[1]) if found else 0, label

"""Colours of office files and PDFs: is text of one colour to be seen on a ground of another."""

from __future__ import annotations

import re

__all__ = ["WHITE", "is_alike"]

WHITE = "FFFFFF"
_HEX = re.compile(r"#?([0-9A-Fa-f]{6})")
_NEAR = 8
"""Steps of 255 by which two colours may differ in each channel and still look the same."""


def is_alike(one: str | None, other: str | None) -> bool:
    """Tell whether two colours (RRGGBB) look the same; False where one of them is not known."""
    first, second = _HEX.fullmatch(one or ""), _HEX.fullmatch(other or "")
    if first is None or second is None:
        return False
    pairs = zip(bytes.fromhex(first.group(1)), bytes.fromhex(second.group(1)), strict=True)
    return all(abs(a - b) <= _NEAR for a, b in pairs)

"""Correct capital letters that OCR confuses, by how the rest of the document prints the same word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_CAPITALS = re.compile(r"\b\w*[A-Z]{2}\w*")
_SMALL_L = re.compile(r"\bl(?=[A-Z]{2})|(?<=[A-Z]{2})l(?=s?(?![A-Za-z]))")
"""A small "l" before or after capitals, where it looks like "I" in most sans-serif typefaces: "lEEE", "CSCl"."""


def capitals_in(text: str) -> list[str]:
    """List the words of a text that have two capitals in succession."""
    return _CAPITALS.findall(text)


def misread(counts: Counter[str]) -> dict[str, str]:
    """Return the spellings with a small "l" that the document has more often with an "I", and what they become.

    Without this evidence nothing changes: "HCl" stays.

    Args:
        counts: how often the document has each word of `capitals_in`.
    """
    spelt = {text: _SMALL_L.sub("I", text) for text in counts}
    return {text: other for text, other in spelt.items() if other != text and counts[other] > counts[text]}


def corrected(text: str, spellings: Mapping[str, str]) -> str:
    """Replace the spellings in a text."""
    return _CAPITALS.sub(lambda found: spellings.get(found[0], found[0]), text) if spellings else text

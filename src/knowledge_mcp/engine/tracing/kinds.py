"""Kinds of conflict, for those who name them without looking for any."""

from __future__ import annotations

from enum import StrEnum


class ConflictKind(StrEnum):
    """Kinds of conflict between two demands or definitions."""

    CONTRADICTION = "contradiction"
    LIMIT = "limit"
    FORCE = "force"
    DUPLICATE = "duplicate"
    DEFINITION = "definition"

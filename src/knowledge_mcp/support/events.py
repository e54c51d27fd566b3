"""Named log events with fields (A-REQ-MAINT-001), through the standard library's logging.

Packages log with `log_event`; the format of a line (text or JSON, level, stderr) is decided once, where a command
starts.
"""

from __future__ import annotations

import logging
from typing import Any

EVENT_FIELDS = "knowledge_event_fields"
"""Attribute of a `LogRecord` that contains the event's fields."""


def log_event(logger: logging.Logger, level: int, event: str, /, **fields: Any) -> None:
    """Log one named event with its fields.

    Args:
        logger: the logger of the event's module.
        level: a `logging` level.
        event: stable snake_case name, e.g. `query_complete`.
        fields: plain values; never a secret, a query text or document text.
    """
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={EVENT_FIELDS: fields})


def in_one_line(text: str, most: int) -> str:
    """Escape control characters, so that logged values cannot start a new line or move a terminal's cursor.

    Args:
        text: untrusted text.
        most: maximum number of characters kept.
    """
    cut = text[:most]
    return cut if cut.isprintable() else "".join(map(_escape, cut))[:most]


def _escape(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")

"""Requirements that stand in a document and hold no longer: deleted, rejected, superseded."""

from __future__ import annotations

import re

_GONE = (
    r"(?:deleted|void(?:ed)?|withdrawn|obsoleted?|rejected|superseded|cancell?ed|removed|dropped|retired|invalid|not\s+used"
    r"|duplicated?|won['’]?t\s+(?:do|fix|have)|gelöscht|entfallen|entfällt|gestrichen|verworfen|abgelehnt|ungültig|obsolet"
    r"|supprimée?|annulée?|rejetée?|abandonnée?|eliminad[oa]|anulad[oa]|rechazad[oa])"
)
_MORE = r"(?:\s*[:(,–-]|\s+(?:by|in|since|as|of|on|at|with|durch|par|por|seit|mit|am|en|depuis)\b)"
_FEW = 6
"""Characters that may stand before a requirement's own id: brackets, marks of type."""
_OWN = 40
"""Characters of a requirement that tell its row, and the most that a cell with its state has."""
_STATE = re.compile(rf"\W{{0,4}}{_GONE}(?:\W{{0,4}}\Z|{_MORE}.{{0,120}}\Z)", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(
    r"[\s*_>•-]{0,8}(?:\w{1,20}\s)?(?:status|state|zustand|état|estado|disposition|lifecycle|resolution)\b.{0,20}",
    re.IGNORECASE | re.DOTALL,
)
_OPENING = re.compile(rf"\W{{0,8}}{_GONE}\W{{0,4}}\Z|[\s\])>*_:.–-]{{0,8}}[\[(<]\s?{_GONE}\s?[\])>]", re.IGNORECASE)


def is_state_gone(name: str, value: str) -> bool:
    """Tell whether an attribute says that its item holds no longer: "Status" with "Rejected", "Superseded by SYS-9"."""
    return _LABEL.fullmatch(name) is not None and _STATE.match(value) is not None


def is_said_gone(words: str, identifier: str) -> bool:
    """Tell whether a requirement's own words say so: "Deleted", "SWR-4 VOID.", "(deleted) The pump shall stop"."""
    place = words.find(identifier) if identifier else -1
    return _OPENING.match(words[place + len(identifier) :] if 0 <= place <= _FEW else words) is not None


def is_line_gone(lines: str, words: str) -> bool:
    """Tell whether what stands with a requirement says so: "Status: Rejected", or a cell of its row.

    Args:
        lines: what stands with it; cells are parted by bars.
        words: of the requirement, which tell its row.
    """
    for line in lines.splitlines():
        cells = [cell.strip() for cell in line.split(" | ")]
        if len(cells) == 1:
            cells = line.split(":", 1)
        if len(cells) == 2 and is_state_gone(cells[0], cells[1]):
            return True
        is_own = len(cells) > 2 and any(words[:_OWN] in cell for cell in cells)
        if is_own and any(_is_state(cell) or is_state_gone(*cell.split(": ", 1)) for cell in cells if ": " in cell):
            return True
        if is_own and any(map(_is_state, cells)):
            return True
    return False


def _is_state(cell: str) -> bool:
    return len(cell) <= _OWN and _STATE.match(cell) is not None

"""Mentioned items that a text does not meet ("unlike SYS-3", "SYS-3 is out of scope"), or that are withdrawn."""

from __future__ import annotations

import re

from knowledge_mcp.language.multilingual.recognition import CONJUNCTIONS

_MEETS = (
    r"(?:cover|address|implement|satisf|fulfil|meet|met\b|trace|verif|test|appl|part\b|deriv|support|consider|allocat"
    r"|abgedeckt|erfüll|umgesetzt|geprüft|behandelt|Teil\b|couvert|satisfai|réalis|vérifi|cubiert|cumpl|verific)\w{0,12}"
)
"""What an item does to another that it meets or tests; negated, the two are unrelated."""
_NOT = r"(?:\b(?:not|never|nicht|pas|no)|n['’]t)\s+(?!only\b|merely\b|just\b|nur\b|seulement\b|sólo\b|solo\b)"
_BEFORE = re.compile(
    r"(?:\b(?:unlike|(?:replac|supersed)(?:es?|ed|ing)|formerly|previously|(?:see|cf\.)\s+also|(?:similar|analogous)\s+to|ersetzt|ehemals"
    r"|siehe\s+auch|vgl\.(?:\s+auch)?|ähnlich\s+wie|remplace|voir\s+aussi|reemplaza|véase\s+también|instead\s+of|rather\s+than|other\s+than|in\s+contrast\s+to|as\s+opposed\s+to|contrary\s+to|except"
    r"|excluding|without|(?:none|no\s+requirements?)\s+of|(?:conflict|incompatible)\w{0,3}\s+with|contradicts|violates"
    r"|(?:differs?|deviat\w{1,4})\s+from|anders\s+als|statt|anstelle|im\s+Gegensatz\s+zu|abweichend\s+von|außer|ohne"
    r"|contrairement\s+[àa]|au\s+lieu\s+de|sauf|hormis|a\s+diferencia\s+de|en\s+lugar\s+de|excepto|salvo)\b"
    rf"|{_NOT}(?:\w{{1,12}}\s+){{0,2}}{_MEETS}"
    r"|\b(?:open|out\s+of\s+scope|offen|uncovered|untested|unverified|tbd|todo)\s{0,3}:)"
    r"(?:\s+[^\W\d_]{1,14}){0,3}\s{0,3}[:(\[]?\s{0,3}"
    rf"(?:[\w.:/-]{{0,39}}\d\s{{0,3}}(?:,|\b(?:{CONJUNCTIONS})\b)\s{{0,3}}){{0,4}}\Z",
    re.IGNORECASE,
)
_IS = (
    r"(?:(?:is|are|was|were|has|have|had|been|be|being|remains?|does|do|did|will|yet|still|wird|werden|wurden?|ist|sind"
    r"|bleib(?:t|en)|noch|est|sont|n['’]est|se|fue)\s+)"
)
_BEHIND = re.compile(
    r"[\])]?\s{0,3}(?:[:,(–-]\s{0,3})?"
    rf"(?:{_IS}{{0,3}}(?:{_NOT}(?:\w{{1,12}}\s+){{0,2}}{_MEETS}|out\s+of\s+(?:the\s+)?scope|nicht\s+im\s+Umfang"
    r"|hors\s+périmètre)"
    rf"|(?:{_IS}{{1,3}}(?:\w{{1,12}}\s+and\s+)?|(?=[\w\s]{{1,20}}(?:[).;|*\n]|\Z)))"
    r"(?:excluded|withdrawn|deleted|removed|dropped|obsolete|void|rejected|open|pending|missing|outstanding|deferred|postponed"
    r"|t\.?b\.?d\.?|todo|offen|entfallen|zurückgestellt|exclu|supprim|retir|abandonn)\w{0,3}\b)",
    re.IGNORECASE,
)
_NEAR = 100
"""Characters before a name that may say that it is not met."""


def is_denied_before(text: str, start: int) -> bool:
    """Return whether the words before a name, or a list of names, say that the named items are not met there."""
    return _BEFORE.search(text[max(0, start - _NEAR) : start]) is not None


def is_denied_behind(text: str, end: int, *, aside: bool = True) -> bool:
    """Return whether the words after a name, or a list of names, say the same.

    With `aside`, also text in brackets or after a colon, which refers to the last name.
    """
    found = _BEHIND.match(text, end)
    return found is not None and (aside or (text[end : end + 1] in {" ", "\n"} and text[end + 1 : end + 2].isalpha()))


_GONE = (
    r"(?:deleted|void(?:ed)?|withdrawn|obsoleted?|rejected|superseded|cancell?ed|removed|dropped|retired|invalid|not\s+used"
    r"|repealed|revoked|rescinded|weggefallen|aufgehoben|abrogée?|derogad[oa]|duplicated?|won['’]?t\s+(?:do|fix|have)|gelöscht|entfallen|entfällt|gestrichen|verworfen|abgelehnt|ungültig|obsolet"
    r"|supprimée?|annulée?|rejetée?|abandonnée?|eliminad[oa]|anulad[oa]|rechazad[oa])"
)
_MORE = r"(?:\s*[:(,–-]|\s+(?:by|in|since|as|of|on|at|with|durch|par|por|seit|mit|am|en|depuis)\b)"
_FEW = 6
"""Characters allowed before a requirement's own id: brackets, marks of type."""
_OWN = 40
"""Characters of a requirement that identify its row, and the maximum length of a cell with its state."""
_STATE = re.compile(rf"\W{{0,4}}{_GONE}(?:\W{{0,4}}\Z|{_MORE}.{{0,120}}\Z)", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(
    r"[\s*_>•-]{0,8}(?:\w{1,20}\s)?(?:status|state|zustand|état|estado|disposition|lifecycle|resolution)\b.{0,20}",
    re.IGNORECASE | re.DOTALL,
)
_INSTEAD = (
    r"(?:\W{0,4}\Z|\s?[(.:;,–-]\s?(?:note|see|moved|merged|replaced|superseded|incorporated|integrated|covered|included"
    r"|now|duplicate|siehe|verschoben|ersetzt|voir|déplacé|remplacé|véase)\b.{0,160}\Z)"
)
"""What may follow the word for a withdrawn requirement: nothing, or where it was moved."""
_OPENING = re.compile(
    rf"\W{{0,8}}(?:{_GONE}|(?:intentionally\s)?(?:left\s)?(?:empty|blank)){_INSTEAD}|[\s\])>*_:.–-]{{0,8}}[\[(<]\s?{_GONE}(?:[,:;–-][^\])>]{{0,80}})?\s?[\])>]",
    re.IGNORECASE,
)


def is_state_gone(name: str, value: str) -> bool:
    """Return whether an attribute says that its item is withdrawn: "Status" with "Rejected", "Superseded by SYS-9"."""
    return _LABEL.fullmatch(name) is not None and _STATE.match(value) is not None


def has_withdrawn_text(words: str, identifier: str) -> bool:
    """Return whether a requirement's own text says it: "Deleted", "SWR-4 VOID.", "(deleted) The pump shall stop"."""
    place = words.find(identifier) if identifier else -1
    return _OPENING.match(words[place + len(identifier) :] if 0 <= place <= _FEW else words) is not None


def is_line_gone(lines: str, words: str) -> bool:
    """Return whether the text next to a requirement says it: "Status: Rejected", or a cell of its row.

    Args:
        lines: the text next to it; cells are separated by bars.
        words: the text of the requirement, which identifies its row.
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

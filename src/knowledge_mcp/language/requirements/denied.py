"""Names of items that a text gives only to say that it does not meet them: "unlike SYS-3", "SYS-3 is out of scope"."""

from __future__ import annotations

import re

_MEETS = (
    r"(?:cover|address|implement|satisf|fulfil|meet|met\b|trace|verif|test|appl|part\b|deriv|support|consider|allocat"
    r"|abgedeckt|erfüll|umgesetzt|geprüft|behandelt|Teil\b|couvert|satisfai|réalis|vérifi|cubiert|cumpl|verific)\w{0,12}"
)
"""What an item does to another that it meets or tests; denied, the two belong apart."""
_NOT = r"(?:\b(?:not|never|nicht|pas|no)|n['’]t)\s+(?!only\b|merely\b|just\b|nur\b|seulement\b|sólo\b|solo\b)"
_BEFORE = re.compile(
    r"(?:\b(?:unlike|instead\s+of|rather\s+than|other\s+than|in\s+contrast\s+to|as\s+opposed\s+to|contrary\s+to|except"
    r"|excluding|without|(?:none|no\s+requirements?)\s+of|(?:conflict|incompatible)\w{0,3}\s+with|contradicts|violates"
    r"|(?:differs?|deviat\w{1,4})\s+from|anders\s+als|statt|anstelle|im\s+Gegensatz\s+zu|abweichend\s+von|außer|ohne"
    r"|contrairement\s+[àa]|au\s+lieu\s+de|sauf|hormis|a\s+diferencia\s+de|en\s+lugar\s+de|excepto|salvo)\b"
    rf"|{_NOT}(?:\w{{1,12}}\s+){{0,2}}{_MEETS}"
    r"|\b(?:open|out\s+of\s+scope|offen|uncovered|untested|unverified|tbd|todo)\s{0,3}:)"
    r"(?:\s+[^\W\d_]{1,14}){0,3}\s{0,3}[:(\[]?\s{0,3}"
    r"(?:[\w.:/-]{0,39}\d\s{0,3}(?:,|\b(?:and|or|und|oder|et|ou|y|o)\b)\s{0,3}){0,4}\Z",
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
    """Tell whether the words before a name, or a list of them, say that what is named is not met there."""
    return _BEFORE.search(text[max(0, start - _NEAR) : start]) is not None


def is_denied_behind(text: str, end: int, *, aside: bool = True) -> bool:
    """Tell the same by the words behind; `aside`: in brackets or behind a colon too, which speak of the last name."""
    found = _BEHIND.match(text, end)
    return found is not None and (aside or (text[end : end + 1] in {" ", "\n"} and text[end + 1 : end + 2].isalpha()))

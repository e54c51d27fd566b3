"""Identifiers of requirements as people ask for them: `SRS-4.2.1`, `[req-12]`, `AC-2(3)`, `FR01` for `FR 1`."""

from __future__ import annotations

import re

__all__ = ["clause_asked", "identifier_key", "identifiers_asked", "is_below", "spellings"]

_PARTS = re.compile(r"[A-Za-z]+|\d+")
_WHOLE = re.compile(
    r"[\[(<{\"'`]?(?:[A-Za-z]{1,12}(?:[-_./][A-Za-z][A-Za-z0-9]{0,15}){0,5}[-_./]?\d[A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)*"
    r"(?:\(\w{1,3}\))*|[A-Z]{1,12} \d{1,6}(?:\.\d{1,4})*|[a-z]{2,6} \d{1,6}(?:\.\d{1,4})*)[\])>}\"'`]?"
)
_WITHIN = re.compile(
    r"(?<![\w./-])(?:[A-Za-z]{1,12}(?:[-_][A-Za-z][A-Za-z0-9]{0,15}){0,5}[-_.]?\d[A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*"
    r"(?:\(\w{1,3}\))*|[A-Z]{2,6} \d{1,6}(?:\.\d{1,4})*)(?![\w(-])"
)
_CLAUSE = re.compile(
    r"(?:(?:clause|section|sub-?clause|paragraph|§)\s*)?(?P<number>\d{1,3}(?:\.\d{1,3})+|[A-Z](?:\.\d{1,3})+)\.?",
    re.IGNORECASE,
)


def identifier_key(text: str) -> tuple[str, ...]:
    """Reduce an identifier to its words and numbers: `SRS-4.2.1` and `srs 4.2.1` are one, `FR01` and `FR 1` too."""
    return tuple(part.lower() if part.isalpha() else str(int(part)) for part in _PARTS.findall(text))


def is_below(key: tuple[str, ...], prefix: tuple[str, ...]) -> bool:
    """Tell whether an identifier begins with another, word by word: SRS-4.2.1 with SRS-4.2, never REQ-12 with REQ-1."""
    return len(key) > len(prefix) and key[: len(prefix)] == prefix


def identifiers_asked(topic: str) -> list[str]:
    """List what looks like a requirement's identifier: the whole topic, else whatever stands within it, in order."""
    words = topic.strip().rstrip(".,;:?!")
    if clause_asked(words) is not None:
        return []
    if _WHOLE.fullmatch(words):
        return [words[1:-1] if words[:1] in "[(<{\"'`" else words]
    return list(dict.fromkeys(match.group() for match in _WITHIN.finditer(words)))


def clause_asked(topic: str) -> str | None:
    """Return the number of the clause that the whole topic names ("5.3.1", "clause A.2"), None where it names none."""
    match = _CLAUSE.fullmatch(topic.strip())
    return None if match is None else match.group("number").upper()


def spellings(identifier: str) -> str:
    """Build a search text of the ways to print an identifier: as asked, with dashes, with blanks, without either."""
    match = re.fullmatch(r"([A-Za-z]+)[-_. ]?(\d[\w.()/-]*)", identifier)
    if match is None:
        return identifier
    letters, number = match.group(1), re.sub(r"^0+(?=\d)", "", match.group(2))
    return " ".join(dict.fromkeys((identifier, f"{letters}-{number}", f"{letters}{number}", f"{letters} {number}")))

"""Explicit identifiers of requirements: `[REQ-12]`, `SRS-4.2.1`, `AC-2(3)`, `R1.2`."""

from __future__ import annotations

import re

__all__ = ["heading_identifier", "is_foreign", "is_identifier", "requirement_identifier", "table_identifier"]

_WORD = r"[A-Za-z][A-Za-z0-9_./-]{0,47}(?:\(\w{1,3}\)){0,3}"
_BRACKETED = re.compile(rf"\[(?P<id>{_WORD})\]")
_FIRST = re.compile(
    rf"(?P<open>[*_`\[({{<]{{0,4}})(?P<id>{_WORD})(?P<close>[*_`\])}}>:|–—]{{0,4}})(?P<gap>\s*(?:[|–—-]\s)?\s*)"
)
_WHOLE = re.compile(r"[A-Za-z]{1,12}(?=[0-9_./-])[A-Za-z0-9_./-]*?(?<=[0-9])[a-z]?(?:\(\w{1,3}\)){0,3}\Z")
_MARKER = re.compile(r"\s*(?:[-*•–·▪]|\(?[A-Za-z0-9]{1,3}[.)])\s+")
_FOREIGN = re.compile(
    r"(?:(?:non|pre|post)-)?(?:ISO|IEC|IEEE|RFC|EN|DIN|BS|ANSI|ASTM|ASME|ITU|NIST|FIPS|SP|MIL|STD|DI|DOD|TABLE|FIGURE|FIG|SECTION|CLAUSE|ANNEX"
    r"|APPENDIX|NOTE|EXAMPLE|CHAPTER|PART|STEP|VERSION|VER|REV|ITEM|PAGE|VOL|CWE|CVE|UTF|SHA|MD|TLS|SSL|HTTP|IPV|AES|RSA|HTML"
    r"|CSS|ES|USB|PDF|UML|XML|OAUTH|IP|TCP|UNIT|LEVEL|CLASS|TYPE|PHASE|DAY|WEEK|YEAR|EQ|EQUATION|ECMA|OMG|W|BCP|STD)[\W_\d]",
    re.IGNORECASE,
)
_SHAPED = re.compile(r"[A-Z]|[a-z]{1,5}[A-Z]")
_SPACED = re.compile(r"(?P<id>[A-Z]{2,6} \d{1,4}(?:\.\d{1,4})*)(?:\s*[:–—-]|\.)\s*[A-Z\"“]")
_ID_ROW = re.compile(
    r"\|\s*[*_]*(?:requirement\s+|req\.?\s+)?(?:id|identifier|number|no\.?)[*_]*\s*"
    r"\|\s*+(?P<id>[^|\s](?:[^|]*[^|\s])?)\s*+\|",
    re.I,
)


def is_foreign(text: str) -> bool:
    """Tell whether a name is that of a table, a step, a standard or the like and not of a requirement."""
    return _FOREIGN.match(text) is not None


def is_identifier(text: str) -> bool:
    """Tell whether the whole text looks like a requirement's identifier and not like another document's number."""
    return _WHOLE.match(text) is not None and _SHAPED.match(text) is not None and _FOREIGN.match(text) is None


def requirement_identifier(sentence: str) -> str | None:
    """Find the identifier that a sentence opens with, or carries in brackets; None where there is none."""
    marker = _MARKER.match(sentence)
    match = _FIRST.match(sentence, marker.end() if marker else len(sentence) - len(sentence.lstrip()))
    if match is not None:
        printed = match.group("id")
        name = printed.rstrip("._-/")
        marked = (
            bool(match.group("open") or match.group("close")) or name != printed or match.group("gap").strip() != ""
        )
        if is_identifier(name) and (match.group("gap") or match.group("close")):
            following = sentence[match.end() :].lstrip('*_`"“[(')[:1]
            if following and (marked or (re.search(r"[-_.(]", name) and following.isupper())):
                return name
    spaced = _SPACED.match(sentence, marker.end() if marker else 0)
    if spaced is not None and not _FOREIGN.match(spaced.group("id")):
        return spaced.group("id")
    for found in _BRACKETED.finditer(sentence):
        inner = found.group("id")
        if re.match(r"[A-Za-z]{2}", inner) and re.search(r"[-_.]", inner) and is_identifier(inner):
            return inner
    return None


def heading_identifier(label: str) -> str | None:
    """Find the identifier that a heading's label opens with ("AC-2 ACCOUNT MANAGEMENT"); None where there is none."""
    words = label.strip().strip("*_`").split(None, 1)
    if not words:
        return None
    first = words[0].strip("[]():.–—*_`")
    if first.count(")") < first.count("("):
        first += ")"
    return first if is_identifier(first) and re.search(r"[-_]", first) else None


def table_identifier(table: str) -> str | None:
    """Find the identifier in a small table of properties (a row `| ID | REQ-12 |`); None where there is none."""
    match = _ID_ROW.search(table) if table.count("\n") <= 15 else None
    if match is None:
        return None
    inner = match.group("id").strip("*_` ")
    return inner if is_identifier(inner) else None

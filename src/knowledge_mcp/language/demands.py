"""What a sentence demands, in the words it is printed in: words of force, and numbers with their units."""

from __future__ import annotations

import re

from knowledge_mcp.language.force import Convention

__all__ = ["force_words", "limits", "mask_places", "named_places", "without_limits"]

_NOT = r"(?P<not>\s+not\b|n['’]t\b)?"
_FORCE = re.compile(
    rf"\b(?:(?P<word>shall|must|should|may|can|cannot|will|ought\s+to|need(?=\s+not))\b{_NOT}"
    r"|(?:(?<=\bis )|(?<=\bare )|(?<=\bbe ))(?P<denied>not\s+)?"
    r"(?P<state>required|recommended|optional|permitted|allowed)\b)",
    re.IGNORECASE,
)
_CAPITAL_FORCE = re.compile(
    r"\b(?P<word>SHALL|MUST|SHOULD|MAY|CANNOT|CAN|REQUIRED|RECOMMENDED|OPTIONAL)\b(?P<not>\s+NOT\b)?"
)
_NORMAL = {
    "must": "shall",
    "required": "shall",
    "recommended": "should",
    "ought to": "should",
    "optional": "may",
    "permitted": "may",
    "allowed": "may",
}
_NUMBER = re.compile(
    r"(?<![\w.,/])(?<![A-Za-z]-)(?:[<>≤≥±~]\s?)?(?:(?<![\w)])[+−-])?\d+(?:[.,\u2009\u00a0]\d{3})*(?:[.,]\d+)?(?:\s?[%‰°]|(?:\s?(?:[µumkMGT]?(?:s|m|g|V|A|W|Hz|Pa|N|J|B|bit|bits"
    r"|byte|bytes)|mm|cm|km|in|ft|dB|min|h|°C|K|kg))(?![\w]))?(?![\w]|[.,]\d)"
)
_NUMBER_WORDS = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety"
    r"|hundred|thousand|half|twice|double)\b",
    re.IGNORECASE,
)
_NAMED_PLACE = re.compile(
    r"(?:\b(?:clauses?|sections?|subclauses?|annex|appendix|tables?|figures?|fig\.|chapters?|parts?|articles?|paragraphs?"
    r"|rfc|iso(?:/iec)?|iec|ieee|en|version|edition|rev(?:ision|\.)?)[\s-]{0,3}|§{1,2}\s{0,3})(?=[^\s\d]{0,20}\d)[\w.:/-]{1,60}"
    r"|\bhttps?://\S{1,500}|\b\d{4}-\d{2}-\d{2}\b|^\s{0,8}\(?\d{1,3}[.)]\s",
    re.IGNORECASE,
)


def force_words(sentence: str, convention: Convention) -> list[tuple[str, str]]:
    """List the words of force, each with its normal form; where a document writes them in capitals, only those."""
    found: list[tuple[str, str]] = []
    for match in (_CAPITAL_FORCE if convention.capitals else _FORCE).finditer(sentence):
        parts = match.groupdict()
        word = " ".join((parts["word"] or parts["state"]).lower().split())
        is_negated = word == "cannot" or bool(parts["not"] or parts.get("denied"))
        plain = "can" if word == "cannot" else _NORMAL.get(word, word)
        found.append((f"{plain} not" if is_negated else plain, match.group()))
    return found


def mask_places(sentence: str) -> str:
    """Put letters in place of references, editions, addresses and dates, whose numbers limit nothing; lengths stay."""
    return _NAMED_PLACE.sub(lambda match: "x" * len(match.group()), sentence)


def named_places(sentence: str) -> list[str]:
    """List the references, editions, addresses and dates, in lower case and with single blanks."""
    return [" ".join(match.group().lower().split()) for match in _NAMED_PLACE.finditer(sentence)]


def limits(sentence: str) -> list[tuple[str, str]]:
    """List the numbers with their units, and number words; those of references and editions are left out."""
    masked = mask_places(sentence)
    found = [(match.start(), match.group().strip()) for match in _NUMBER.finditer(masked)]
    found += [(match.start(), match.group()) for match in _NUMBER_WORDS.finditer(masked)]
    return [("".join(printed.lower().split()), printed) for _, printed in sorted(found)]


def without_limits(sentence: str) -> str:
    """Blank the words of force, the numbers with their units and the names of places: what is left is the subject."""
    bare = _NUMBER_WORDS.sub(" ", _CAPITAL_FORCE.sub(" ", _FORCE.sub(" ", _NAMED_PLACE.sub(" ", sentence))))
    return _NUMBER.sub(" ", bare)

"""Conditions and exceptions of a requirement, which decide whom and when it binds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


class ConditionKind(StrEnum):
    """What a condition does to a requirement."""

    EXCEPTION = "exception"
    CONDITION = "condition"
    OPEN = "open"
    """It may limit where a requirement applies, or say how, when or where to keep it: "when", "only if", "where"."""


class ConditionPhrase(NamedTuple):
    """A condition in a sentence.

    Attributes:
        kind: what it does.
        start, end: offsets in the sentence, with the comma before or after it.
        text: as printed, without commas around it.
    """

    kind: ConditionKind
    start: int
    end: int
    text: str


_EXCEPTIONS = (
    r"unless|except(?:ing)?(?!ion)|with the exception of|(?<!be )(?<!is )(?<!are )other than|apart from|excluding"
    r"|(?<=, )save (?:for|as|where)"
    r"|es sei denn|außer(?! (?:Betrieb|Kraft|Acht|Haus|Dienst|Funktion|Frage)\b)|ausgenommen|mit Ausnahme|abgesehen von"
    r"|sauf|hormis|à moins qu(?:e|(?=['’]))|à l['’]exception|salvo|excepto|a menos que|con excepción"
)
_CONDITIONS = (
    r"(?<!\bas )(?<!\bonly )(?<!\bcheck )(?<!\bverify )(?<!\bdetermine )(?<!\bsee )(?<!\bindicate )(?<!\bknow )"
    r"(?<!\beven )if(?! (?:not|any|so)\b)"
    r"|(?<!only )(?:provided|on condition) that|insofar as|to the extent that|in case(?: of| that)?"
    r"|in the (?:case|event) (?:of|that)"
    r"|(?:where|when|wherever|whenever) (?:it is )?(?:applicable|appropriate|necessary|practicable|relevant|required"
    r"|feasible|specified|fitted|installed|present|available)"
    r"|(?:(?<=, )|\A)falls|(?<!nur )(?<!auch )(?<!selbst )(?:sofern|soweit|vorausgesetzt)"
    r"|(?:à condition|pourvu) (?:qu(?:e|(?=['’]))|de)"
    r"|siempre que|a condición de"
)
_OPEN = (
    r"(?:only|even|also) (?:if|when|where|provided that)|when|whenever|where|wherever|while|as long as|so long as"
    r"|(?:nur|auch|selbst)(?:,)? (?:wenn|falls|sofern|soweit)|wenn|solange|sobald|lorsqu(?:e|(?=['’]))|cuando"
)
_BEGINS = re.compile(
    rf"(?<![\w-])(?:(?P<condition>{_CONDITIONS})|(?P<exception>{_EXCEPTIONS})|(?P<open>{_OPEN}))(?![\w-])",
    re.IGNORECASE,
)
_IS_LEADING = re.compile(r"(?<![\w-])(?:where|wherever)\b", re.IGNORECASE)
_ENDS = re.compile(r"[;:]\s|\.(?=\s+[A-ZÄÖÜ|]|\s*\Z)|\s\|")
_FORCE = re.compile(
    r"\b(?:shall|must|should|may|will|muss|müssen|soll|sollen|sollte|darf|dürfen|kann|können|ist|sind|doit|doivent|debe"
    r"|deben)\b",
    re.IGNORECASE,
)
_MOST = 12
"""Maximum conditions of a sentence; one with more is a list of them."""
_STARTS = re.compile(r"\W{0,4}(?:[\w.-]{1,20}[.:)\]]\s|[A-Z]{1,8}-?\d[\w.-]{0,12}\s)?\W{0,3}(?:\|[^|]{0,40}\|\W{0,3})?")
"""What precedes a condition that begins a sentence: the label of an item, the first cell of a row."""


_OPENED = re.compile(
    r"\b(?:shall|must|should|may|will|can|and|or|but|muss|müssen|soll|sollen|darf|dürfen|und|oder|aber|doit|doivent|et|ou"
    r"|debe|deben|y|o),\s*\Z",
    re.IGNORECASE,
)
"""Words that no condition can end a clause with: the comma after them opens one that ends at the next comma."""
_OPENING = 40
"""Characters before a condition in which such a word is looked for."""


def conditions_in(sentence: str) -> list[ConditionPhrase]:
    """List the conditions and exceptions of a sentence, in order; none overlap.

    One that begins the sentence ends at the comma before its main clause, one between commas or brackets at the second
    of them ("shall, if it leaks, stop"; "the label or, where applicable, the leaflet"), another with the sentence or
    before the next one.
    """
    found: list[ConditionPhrase] = []
    end = 0
    begins = list(_BEGINS.finditer(sentence))
    for place, match in enumerate(begins if len(begins) <= _MOST else ()):
        if match.start() < end:
            continue
        limit = _ENDS.search(sentence, match.end())
        end = limit.start() if limit is not None else len(sentence)
        is_leading = _STARTS.fullmatch(sentence, 0, match.start()) is not None
        if is_leading:
            force = _FORCE.search(sentence, match.end(), end)
            comma = sentence.rfind(",", match.end(), force.start() if force else end)
            comma = comma if comma > 0 else sentence.find(",", match.end(), end)
            end = comma + 1 if comma > 0 else end
        else:
            behind = (each.start() for each in begins[place + 1 :] if each.start() > match.end() + 1)  # "except if"
            end = min(end, next(behind, end))
            close = _close(sentence, match, end)
            end = close if close >= 0 else end
        start = match.start()
        if not is_leading and sentence[:start].rstrip()[-1:] == ",":
            start = sentence.rindex(",", 0, start)
        kind = ConditionKind(str(match.lastgroup))
        if kind is ConditionKind.OPEN and is_leading and _IS_LEADING.match(match[0]):
            kind = ConditionKind.CONDITION
        found.append(ConditionPhrase(kind, start, end, sentence[match.start() : end].strip(" ,.;")))
    return found


def _close(sentence: str, match: re.Match[str], end: int) -> int:
    """Return where a condition that begins at a match ends if it is set between commas or brackets, otherwise -1."""
    before = sentence[max(match.start() - _OPENING, 0) : match.start()].rstrip()
    if before.endswith("("):
        return sentence.find(")", match.end(), end)
    comma = sentence.find(",", match.end(), end)
    is_whole = comma == match.end() and match["condition"] is not None and match[0][:2].lower() == "wh"
    is_set_off = (is_whole and before.endswith(",")) or _OPENED.search(before) is not None
    return comma + 1 if comma >= 0 and is_set_off else -1


_EXCEPTS = re.compile(
    r"\A\W{0,4}(?:(?:[a-z]|\d{1,3})[.)]\s)?\W{0,3}(?:Exceptions?|Ausnahmen?)(?:\s(?:to|from|zu|von|No\.|Nr\.)\s[^.:]{1,60}|\s\d{1,3})?\s?[.:–—-]"
    r"|\b(?:do|does|shall|need) not apply\b|\b(?:is|are|shall be) (?:exempt(?:ed)?|excepted|excluded) from\b"
    r"|\b(?:gilt|gelten) (?:[^\s.;:]{1,30} ){0,4}nicht\b|\bnicht anzuwenden\b|\bfinde[nt]t? keine Anwendung\b"
    r"|\b(?:hiervon|davon) (?:[^\s.;:]{1,30} ){0,5}ausgenommen\b|\bausgenommen (?:hiervon |davon )?(?:ist|sind)\b"
    r"|\bne s['’]appliquent? pas\b|\bno se aplican?\b",
    re.IGNORECASE,
)


def is_exception(sentence: str) -> bool:
    """Return whether a whole sentence excepts something: "Exception: …", "This does not apply to …"."""
    return _EXCEPTS.search(sentence) is not None


def without_phrases(sentence: str, phrases: Sequence[ConditionPhrase]) -> str:
    """Remove some conditions from a sentence."""
    for each in sorted(phrases, key=lambda phrase: phrase.start, reverse=True):
        sentence = f"{sentence[: each.start]} {sentence[each.end :]}"
    return " ".join(sentence.split()).replace(" .", ".")

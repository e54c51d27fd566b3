"""Words and signs that make a number a lower or upper limit: before it, after it, or as "minimum width of"."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS


class Bound(StrEnum):
    """The kind of a limit."""

    LEAST = "at least"
    MOST = "at most"
    EXACT = "exactly"


OTHER = {Bound.LEAST: Bound.MOST, Bound.MOST: Bound.LEAST, Bound.EXACT: Bound.EXACT}
"""The limit that results from negation."""


class Limiting(NamedTuple):
    """What makes a number a limit.

    Attributes:
        bound: the kind of the limit.
        led, followed: number of characters before and after the number that express it.
    """

    bound: Bound
    led: int = 0
    followed: int = 0


_MORE = (
    "more|greater|larger|longer|higher|wider|broader|taller|thicker|deeper|heavier|bigger|later|older|further|farther"
    "|faster|hotter|warmer|brighter|louder|stronger|steeper"
)
_LESS = (
    "less|fewer|lower|shorter|smaller|narrower|thinner|shallower|lighter|earlier|younger|nearer|closer|slower|cooler"
    "|colder|weaker"
)
_MEHR = "mehr|größer|länger|höher|breiter|dicker|tiefer|schwerer|später|schneller|steiler"
_WENIGER = "weniger|kleiner|kürzer|niedriger|geringer|schmaler|dünner|leichter|früher|langsamer"
_EQUAL = r"(?: or equal to)?"
_NOT = r"\b(?:not|no|never)(?: to)?(?: be)?(?: any)? "
_ABOUT = (
    r"(?:\s{0,3}(?:approximately|approx\.?|about|around|roughly|nearly|circa|ca\.|another|an additional|a further|etwa"
    r"|environ|[~≈])(?![^\W_])){0,2}\s{0,3}\Z"
)
_FILLERS = rf"(?:\s{{1,3}}(?:an?|the)(?=\s))?{_ABOUT}"
"""What may occur between the words of a limit and the number."""
_LEAST = re.compile(
    rf"(?:\bat (?:the )?(?:very )?least|{_NOT}(?:{_LESS}) than{_EQUAL}|\b(?:equal to or )?(?:{_MORE}) than{_EQUAL}"
    r"|(?<!\d )(?<!\d)\bmin(?:imum(?: of)?|\b\.?)|\bexceed(?:s|ing)?|\bin excess of|\babove|\bover|\bupwards? of"
    r"|[≥>]=?|=>"
    rf"|{_NOT}(?:below|under)|{_NOT}less often than"
    rf"|\b(?:mindestens|wenigstens|nicht (?:{_WENIGER}) als|(?:{_MEHR}) als|au (?:moins|minimum)|pas moins de"
    r"|plus de|supérieure?s? (?:ou égale?s? )?(?:à|au)|dépasse[rz]?|excède[rz]?|al menos|como mínimo|no menos de|más de"
    rf"|superior(?:es)? (?:o igual(?:es)? )?a|exced(?:er|e)(?: de)?|supera[rn]?"
    r"|über|oberhalb(?: von)?|au-dessus de|por encima de"
    r"|ten minste|minstens|niet (?:minder|lager|kleiner) dan|(?:hoger|groter|meer|langer) (?:zijn |worden )?dan"
    r"|minst|mindst|(?:inte|ikke) (?:mindre|lavere) (?:än|enn|end)|överstig(?:a|er)|overstiger?"
    rf"|не (?:менее|ниже|меньше)|превыша\w{{1,4}}|свыше|более)|不[小少低]于|至少|超过){_FILLERS}",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"(?:\bat (?:the )?(?:very )?most|{_NOT}(?:{_MORE}) than{_EQUAL}|\b(?:equal to or )?(?:{_LESS}) than{_EQUAL}"
    r"|\bmax(?:imum(?: of)?|\b\.?)|\bup to(?: and including)?|\bwithin|\b(?:not|never) (?:to |be )?exceed(?:ing)?"
    rf"|\b(?:limited|restricted|capped) (?:to|at)|\bbelow|\bunder|[≤<]=?|=<|{_NOT}(?:above|over)"
    rf"|{_NOT}more often than"
    rf"|\b(?:höchstens|maximal|nicht (?:{_MEHR}) als|bis zu|(?:{_WENIGER}) als|au (?:plus|maximum)|pas plus de"
    r"|moins de|inférieure?s? (?:ou égale?s? )?(?:à|au)|como máximo|a lo sumo|no más de|menos de|hasta"
    r"|inferior(?:es)? (?:o igual(?:es)? )?a|limitad[oa]s? a|en un plazo (?:máximo )?de"
    r"|limitée?s? à|dans un délai (?:maximal )?de"
    rf"|binnen|innerhalb(?: von)?|spätestens (?:nach|in)|unter|unterhalb(?: von)?|(?:au-|en )dessous de"
    r"|por debajo de"
    r"|ten hoogste|hoogstens|niet (?:meer|hoger|groter|langer) dan|(?:lager|kleiner|minder) (?:zijn |worden )?dan"
    r"|högst|høyst|højst|(?:inte|ikke) (?:mere?|høyere|højere|högre) (?:än|enn|end)|understig(?:a|er)"
    rf"|не (?:более|выше|больше)|менее)|不[大高多]于|不超过|至多){_FILLERS}",
    re.IGNORECASE,
)
_OPENING = "between|from|zwischen|von|entre|de"
_BETWEEN = re.compile(rf"\b(?:{_OPENING})\s{{0,3}}\Z", re.IGNORECASE)
OPENS = re.compile(rf"(?:{_OPENING})\s", re.IGNORECASE)
"""The opening of a range: "between 5 and 10 V"."""


def _behind(compared: str, extreme: str, elsewhere: str, sign: str) -> re.Pattern[str]:
    """Build the pattern of a limit after a number: "or more", "(min.)", "at least", and "≤ d" between two numbers."""
    short = rf"\(?(?:(?:at|as|a) (?:a )?)?{extreme}(?:imum)?\b(?!\.?\s?\d)"
    return re.compile(
        rf"\s{{0,3}}(?:(?:or|and) (?:{compared})|{short}|{elsewhere})\b\.?\)?"
        rf"|\s?{'≤' if sign == '<' else '≥'}\s?(?=[^\W\d_])|\s{sign}=?\s(?=[^\W\d_])",
        re.IGNORECASE,
    )


_OR_MORE = _behind(
    f"{_MORE}|above|over|upwards?",
    "min",
    "at (?:the )?least|oder mehr|und mehr|mindestens|nicht (?:zu )?unterschreiten|ou plus|au moins|au minimum|o más"
    "|como mínimo",
    "<",
)
_OR_LESS = _behind(
    f"{_LESS}|below|under",
    "max",
    "at (?:the )?most|oder weniger|höchstens|nicht (?:zu )?überschreiten|ou moins|au plus|au maximum|o menos"
    "|como máximo",
    ">",
)

_NAMED_LEAST = r"lowest|smallest|shortest|min(?:imum|\.|imal(?:e[mnrs]?)?|imaux)?|mindest[^\W\d_]{2,24}|mínim[oa]s?"
_NAMED_MOST = (
    r"highest|greatest|largest|longest|max(?:imum|\.|imal(?:e[mnrs]?)?|imaux)?|höchst[^\W\d_]{2,24}|maximal[^\W\d_]{2,24}"
    r"|máxim[oa]s?"
)
NAMED = re.compile(rf"(?<![\w-])(?:(?P<least>{_NAMED_LEAST})|(?P<most>{_NAMED_MOST}))(?![\w.])", re.IGNORECASE)
"""Words that make what follows a minimum or maximum: "minimum clear width"."""
_STATES = re.compile(
    r"(?:\b(?:(?:shall|must|should|will|may|is|are|has|have)(?: to)? (?:not )?be|is|are|was|were|of|equals?"
    r"|von|beträgt|betragen|muss|soll|darf|ist|sei|de|est(?: fixée?)? (?:de|à)|doit être (?:de|égale? à)"
    rf"|es(?: de)?|será(?: de)?|debe ser(?: de)?)|[:=(]){_ABOUT}",
    re.IGNORECASE,
)
"""Words between the name of a quantity and its number."""
_OTHERWISE = re.compile(r"[;,]|\.\s|\b(?:and|or|but|if|when|where|which|that|und|oder|et|ou|y|o)\b|\d", re.IGNORECASE)
"""What ends the name of a limited quantity; the number belongs to something else."""
_MOST_WORDS = 4
"""Maximum words of a name directly before its number; more words are a sentence."""
_MOST_NAMED = 90
"""Maximum length of a name with its verb: "minimum fire-resistance rating of the supporting construction shall be"."""


def limiting(before: str, after: str, *, is_measured: bool) -> Limiting:
    """Determine what limits a number from the text before and after it.

    The longest expression wins: "not less than", not "less than". A name counts only if nothing nearer does.

    Args:
        before: the sentence up to the number, at most from the previous number.
        after: the sentence after its unit.
        is_measured: it has a physical unit.
    """
    found: list[Limiting] = []
    for bound, ahead, behind in ((Bound.MOST, _MOST, _OR_LESS), (Bound.LEAST, _LEAST, _OR_MORE)):
        led, followed = ahead.search(before), behind.match(after)
        if led or followed:
            found.append(
                Limiting(bound, len(led.group()) if led else 0, len(followed.group().rstrip()) if followed else 0)
            )
    if found:
        return max(found, key=lambda each: each[1:])
    named = _named(before[-_MOST_NAMED:], is_measured=is_measured)
    between = _BETWEEN.search(before) if named is Bound.EXACT else None
    return Limiting(named, len(between.group()) if between else 0)


def _named(before: str, *, is_measured: bool) -> Bound:
    """Return whether the quantity is named as a minimum or a maximum."""
    names = list(NAMED.finditer(before))
    if not names or len({bool(each["least"]) for each in names}) == 2:
        return Bound.EXACT  # with both a minimum and a maximum it is ambiguous
    rest = before[names[-1].end() :]
    leads = _STATES.search(rest)
    name = rest[: leads.start()] if leads else rest
    is_loose = leads is None or leads.group().startswith("(")
    if _OTHERWISE.search(name) or (is_loose and not is_measured) or (leads is None and not _is_bare(name)):
        return Bound.EXACT
    return Bound.LEAST if names[-1]["least"] else Bound.MOST


def _is_bare(name: str) -> bool:
    """Return whether text is only a name: "maximum operating pressure 5 bar", but not "maximum pressure at 5 bar"."""
    words = name.lower().split()
    return len(words) <= _MOST_WORDS and not any(word in each for word in words for each in FUNCTION_WORDS.values())

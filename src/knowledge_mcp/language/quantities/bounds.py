"""Words and signs that make a number a lower or upper limit: before it, after it, or as "minimum width of"."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from knowledge_mcp.language.multilingual.recognition import CONJUNCTIONS, is_function_word


class Bound(StrEnum):
    """The kind of a limit."""

    LEAST = "at least"
    MOST = "at most"
    EXACT = "exactly"


DENIED = re.compile(r"\b(?:not|never|nor|no|nicht|pas|niet|inte|ikke|не)\b|不", re.IGNORECASE)
"""A negation among the words of a limit."""

OTHER = {Bound.LEAST: Bound.MOST, Bound.MOST: Bound.LEAST, Bound.EXACT: Bound.EXACT}
"""The limit that results from negation."""
BETWEEN_ENDS = 5
"""Characters between the ends of a range: " and "."""
STRICTLY = {Bound.LEAST: "more than", Bound.MOST: "less than"}
"""What limits are called that the value itself does not keep."""


class LimitWords(NamedTuple):
    """What makes a number a limit.

    Attributes:
        bound: the kind of the limit.
        led, followed: number of characters before and after the number that express it.
        strict: the number itself does not keep it: "more than 5 m".
    """

    bound: Bound
    led: int = 0
    followed: int = 0
    strict: bool = False


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
_ALS = r"(?: sein| werden| ausfallen)? als"
_EQUAL = r"(?: or equal to)?"
_NOT = r"\b(?:not|no|never|nor)(?: to)?(?: be)?(?: any)? "
_ABOUT = (
    r"(?:\s{0,3}(?:approximately|approx\.?|about|around|roughly|nearly|circa|ca\.|another|an additional|a further|etwa"
    r"|environ|insgesamt|jeweils|jedoch|nur|in Höhe von|a total of|[~≈])(?![^\W_])){0,2}\s{0,3}(?:(?:±|\+/[-−–])\s?)?\Z"
)
_PERIOD = r"(?: (?:an?|the) (?:further |maximum )?(?:period|time|distance) of)?"
_FILLERS = rf"(?:\s{{1,3}}(?:an?|the)(?=\s))?{_ABOUT}"
"""What may occur between the words of a limit and the number."""
_LEAST = re.compile(
    rf"(?:\bat (?:the )?(?:very )?least|{_NOT}(?:{_LESS}) than{_EQUAL}|\b(?:equal to or )?(?:{_MORE}) than{_EQUAL}"
    r"|(?<!\d )(?<!\d)\bmin(?:imum(?: of)?|\b\.?)|\bexceed(?:s|ing)?|\bin excess of|\babove|\bover|\bupwards? of"
    r"|[≥>]=?|=>"
    rf"|{_NOT}(?:below|under)|{_NOT}less often than"
    rf"|\b(?:mindestens|wenigstens|frühestens(?: nach)?|nicht (?:{_WENIGER}){_ALS}|(?:{_MEHR}){_ALS}"
    r"|au (?:moins|minimum)(?: égale?s? à)?|pas moins de|plus de|supérieure?s? (?:ou égale?s? )?(?:à|au)"
    r"|(?:dépass|exc[éè]d)(?:er|e|ent|era|eront|ant)|al menos|como mínimo|no menos de|más de"
    r"|(?:superior|mayor)(?:es)? (?:o igual(?:es)? )?(?:a|de|que)"
    r"|(?:exced|super|sobrepas|rebas)(?:[aei]r|[ae]n?|[ae]rán?)(?: de)?(?: (?:el|la|los|las))?"
    r"|über|oberhalb(?: von)?|au-dessus de|por encima de"
    r"|ten minste|minstens|niet (?:minder|lager|kleiner) dan|(?:hoger|groter|meer|langer) (?:zijn |worden )?dan"
    r"|minst|mindst|(?:inte|ikke) (?:mindre|lavere) (?:än|enn|end)|överstig(?:a|er)|overstiger?"
    rf"|не (?:менее|ниже|меньше)|превыша\w{{1,4}}|свыше|более)|不[小少低]于|至少|超过){_FILLERS}",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"(?:\bat (?:the )?(?:very )?most|{_NOT}(?:{_MORE}) than{_EQUAL}|\b(?:equal to or )?(?:{_LESS}) than{_EQUAL}"
    rf"|\bmax(?:imum(?: of)?|\b\.?)|\bup to(?: and including)?|\bwithin{_PERIOD}"
    r"|\b(?:not|never) (?:to |be )?exceed(?:ing)?"
    rf"|\b(?:limited|restricted|capped) (?:to|at)|\bbelow|\bunder|[≤<]=?|=<|±|\+/[-−–]|{_NOT}(?:above|over)"
    rf"|{_NOT}more often than"
    rf"|\b(?:höchstens|maximal|längstens|nicht (?:{_MEHR}){_ALS}|bis zu|(?:{_WENIGER}){_ALS}"
    r"|au (?:plus|maximum)(?: égale?s? à)?|pas plus de"
    r"|moins de|inférieure?s? (?:ou égale?s? )?(?:à|au)|como máximo|a lo sumo|no más de|menos de|hasta"
    r"|(?:inferior|menor)(?:es)? (?:o igual(?:es)? )?(?:a|de|que)|limitad[oa]s? a|en (?:un|el) plazo (?:máximo )?de"
    r"|limitée?s? à|dans un délai (?:maximal |maximum )?de|dans la limite de"
    r"|n(?:e |['’])(?:dépass|exc[éè]d)(?:e|ent|era|eront|ant) pas"
    rf"|(?:binnen|innerhalb)(?: eine[rs] (?:Frist|Zeitraums))?(?: von)?"
    rf"|spätestens(?: nach| in)?|unter|unterhalb(?: von)?|(?:au-|en )dessous de"
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


_EXTENT = r"(?:wide|high|long|deep|thick|tall|apart|in (?:width|height|length|depth|thickness|diameter|size))"
"""What may stand between a length and "minimum"."""


def _behind(compared: str, extreme: str, elsewhere: str, sign: str) -> re.Pattern[str]:
    """Build the pattern of a limit after a number: "or more", "(min.)", "at least", and "≤ d" between two numbers."""
    short = rf"(?:{_EXTENT} )?\(?(?:(?:at|as|a) (?:a )?)?{extreme}(?:imum)?\b"
    return re.compile(
        rf"\s{{0,3}}(?:(?:or|and) (?:{compared})|{short}|{elsewhere})\b\.?\)?"
        rf"|\s?{'≤' if sign == '<' else '≥'}\s?(?=[^\W\d_])|\s{sign}=?\s(?=[^\W\d_])",
        re.IGNORECASE,
    )


_OR_MORE = _behind(
    f"{_MORE}|above|over|upwards?",
    "min",
    "at (?:the )?least|(?:oder|und) (?:mehr|höher|größer|länger|älter|darüber)"
    "|(?:beträgt )?oder über(?:steig|schreite)t"
    "|mindestens|nicht (?:zu )?unter(?:schr[ei]{1,2}t|steig)en|ou (?:plus|davantage)|au moins|au minimum"
    "|o (?:más|mayor|superior)|como mínimo",
    "<",
)
_OR_LESS = _behind(
    f"{_LESS}|below|under",
    "max",
    "at (?:the )?most|(?:oder|und) (?:weniger|kleiner|niedriger|kürzer|kälter|darunter)"
    "|(?:beträgt )?oder unterschreitet"
    "|höchstens|nicht (?:zu )?über(?:schr[ei]{1,2}t|steig)en|ou moins|au plus|au maximum|o (?:menos|menor|inferior)"
    "|como máximo",
    ">",
)

CLAUSE_END = re.compile(r"[,;:.()\d]")
_LATE = re.compile(
    r"(?:\b(?:nicht|niemals) (?:zu )?"
    r"(?:über(?:schr[ei]{1,2}t{1,2}|st[ei]{2}g)en|(?P<least>unterschr[ei]{1,2}t{1,2}en))\b"
    r"|\b(?:not|never) (?:to )?be (?:exceeded|surpassed)\b(?! (?:by|for|more|on)\b)"
    r"|\bne \w{3,8} (?:(?:pas|jamais) )?être dépassée?s?\b"
    r"|\bno (?:se )?\w{3,8} (?:ser )?(?:super|sobrepas|rebas)(?:ad[oa]s?|arse|ará|arán)\b)",
    re.IGNORECASE,
)
"""A verb at the end of the clause that a number is in: "the value of 5 mg/l shall not be exceeded"."""
_BARE = re.compile(
    r"\b(?:(?:(?P<least>ab)|bis(?: zu)?)(?: eine[rm] [^\W\d_]{2,24} von)?|jusqu['’]à)\s\Z", re.IGNORECASE
)
"""Words that limit only what is measured: "bis 5 mm", but not "bis 3. Januar"."""
_INCLUSIVE = re.compile(
    r"[≤≥=±不至]|\b(?:не|not|no|nor|never|equal|least|most|min\w*|max\w*|up|within|limited|restricted|capped|to|at|nicht|mindestens"
    r"|wenigstens|höchstens|längstens|bis|binnen|innerhalb|spätestens|frühestens|pas|ne|égale?s?|iguale?s?|au|al"
    r"|como|lo|hasta|plazo|délai|limite|limit\w*)\b",
    re.IGNORECASE,
)
"""Words of limits that the number itself keeps."""
_BY_TIME = re.compile(r"\b(?:later|earlier|spätestens|frühestens|tard|tarde)\b", re.IGNORECASE)
_AHEAD = re.compile(r"\s(?:before|prior|in advance|ahead|vor|avant|antes)\b", re.IGNORECASE)
"""What counts a time backwards: "not later than 30 days before" is at least 30 days."""

_NAMED_LEAST = r"lowest|smallest|shortest|min(?:imum|\.|imal(?:e[mnrs]?)?|imaux)?|mindest[^\W\d_]{2,24}|mínim[oa]s?"
_NAMED_MOST = (
    r"highest|greatest|largest|longest|max(?:imum|\.|imal(?:e[mnrs]?)?|imaux)?|höchst[^\W\d_]{2,24}|maximal[^\W\d_]{2,24}"
    r"|máxim[oa]s?"
)
NAMED = re.compile(rf"(?<![\w-])(?:(?P<least>{_NAMED_LEAST})|(?P<most>{_NAMED_MOST}))(?![\w.])", re.IGNORECASE)
"""Words that make what follows a minimum or maximum: "minimum clear width"."""
_STATES = re.compile(
    r"(?:\b(?:(?:shall|must|should|will|may|is|are|has|have)(?: to)? (?:not )?be|is|are|was|were|of|equals?"
    r"|von|beträgt|betragen|muss|soll|darf|ist|sei|de|del|est(?: fixée?)? (?:de|à)|doit être (?:de|égale? à)"
    rf"|es(?: de)?|será(?: de)?|debe ser(?: de)?)|[:=(]){_ABOUT}",
    re.IGNORECASE,
)
"""Words between the name of a quantity and its number."""
_OTHERWISE = re.compile(rf"[;,]|\.\s|\b(?:{CONJUNCTIONS}|but|if|when|where|which|that)\b|\d", re.IGNORECASE)
"""What ends the name of a limited quantity; the number belongs to something else."""
_MOST_WORDS = 4
"""Maximum words of a name directly before its number; more words are a sentence."""
_MOST_NAMED = 90
"""Maximum length of a name with its verb: "minimum fire-resistance rating of the supporting construction shall be"."""


def limiting(before: str, after: str, *, is_measured: bool) -> LimitWords:
    """Determine what limits a number from the text before and after it.

    The longest expression wins: "not less than", not "less than". A name counts only if nothing nearer does.

    Args:
        before: the sentence up to the number, at most from the previous number.
        after: the sentence after its unit.
        is_measured: it has a physical unit.
    """
    found: list[LimitWords] = []
    for bound, ahead, behind in ((Bound.MOST, _MOST, _OR_LESS), (Bound.LEAST, _LEAST, _OR_MORE)):
        led, followed = ahead.search(before), behind.match(after)
        if led or followed:
            found.append(
                LimitWords(bound, len(led.group()) if led else 0, len(followed.group().rstrip()) if followed else 0)
            )
    if found:
        longest = max(found, key=lambda each: each[1:])
        words = before[len(before) - longest.led :]
        longest = longest._replace(strict=bool(words) and not longest.followed and _INCLUSIVE.search(words) is None)
        is_ahead = _AHEAD.match(after) and _BY_TIME.search(before, len(before) - longest.led)
        return longest._replace(bound=OTHER[longest.bound]) if is_ahead else longest
    if is_measured and (bare := _BARE.search(before)) is not None:
        return LimitWords(Bound.LEAST if bare["least"] else Bound.MOST, len(bare.group()))
    named = _named(before[-_MOST_NAMED:], is_measured=is_measured)
    between = _BETWEEN.search(before) if named is Bound.EXACT else None
    return LimitWords(named, len(between.group()) if between else 0)


def limited_late(after: str) -> Bound:
    """Return the limit that the last verb of a clause makes of a number, from the text after its unit."""
    found = _LATE.search(CLAUSE_END.split(after, 1)[0])
    return Bound.EXACT if found is None else Bound.LEAST if found["least"] else Bound.MOST


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
    return len(words) <= _MOST_WORDS and not any(map(is_function_word, words))

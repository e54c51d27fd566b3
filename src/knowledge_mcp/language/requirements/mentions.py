"""Whether a text that names an item says that it meets, tests or refines it, marks it, or only mentions it."""

from __future__ import annotations

import re

_RELATES = re.compile(
    r"(?<![^\W_])(?:satisf|implement|fulfil|meets?\b|met\b|verif|validat|tests?\b|tested|testing|testcase|refin|trac(?:es?|ed|ing|eab)"
    r"|cover|address|allocat|deriv|demonstrat|check|prov(?:es?|en|ed|ing)\b|realis|realiz|compl(?:y|ies|ian)|conform|match|map(?:s|ped)?\s+to\b"
    r"|accord(?:ing|ance)|(?:required|demanded|requested|needed)\s+by\b|per\b|parents?\b|source\b|upstream|evidence|correspond|belongs?\b"
    r"|erfüll|umgesetzt|umsetz|setzt\b|prüf|geprüft|getestet|verfeiner|deckt|abdeck|abgedeckt|abgeleitet|gemäß|laut\b|aus\b"
    r"|couv|satisfai|vérifi|dériv|raffin|selon\b|exig|cubr|cubiert|cumpl|prueba|según|soddisf|copr|copert|secondo\b"
    r"|cobre|cobert|segundo\b|voldoe|gedekt|dekt\b|volgens|uppfyll|oppfyll|opfyld|täck|dekk|dækk|enligt|ifølge"
    r"|реализ|выполн|провер|тест|покры|соответств|согласно)\w{0,14}|满足|实现|验证|测试|覆盖|追溯|依据|根据",
    re.IGNORECASE,
)
"""What an item does to another that it meets, tests or refines, and what its lists of links are called."""
_WORDS_BETWEEN = 6
"""Maximum words between such a word and the name."""
_LONGEST_TITLE = 10
"""Maximum words of a title."""
_REFERS = re.compile(
    r"(?:(?<![^\W_])(?:see(?:\s+also)?|cf\.?|refer(?:s|red|ring|ences?)?(?:\s+to)?|not|like|than|similar\s+to|as\s+in"
    r"|(?:compar|relat)\w{1,4}\s+(?:to|with)"
    r"|(?:describ|defin|specif|given|list|explain|mention|stat|detail|discuss|document|introduc|outlin|set\s+out)\w{0,4}\s+(?:in|by|under|at|for)"
    r"|siehe(?:\s+auch)?|vgl\.?|nicht|wie\s+in|(?:beschrieb|definier|festgeleg|genann|erläuter|aufgeführ)\w{1,2}\s+(?:in|unter|bei)"
    r"|in|voir(?:\s+aussi)?|(?:décri|défini|spécifi|indiqu|mentionn)\w{1,4}\s+(?:dans|par|en)|véase(?:\s+también)?"
    r"|(?:descrit|definid|especificad|indicad|mencionad)\w\s+(?:en|em|por)|vedi(?:\s+anche)?|cfr\.?"
    r"|(?:descritt|definit|specificat)\w\s+(?:in|da)|veja|consulte|zie(?:\s+ook)?|(?:beschreven|gedefinieerd|vermeld)\s+in"
    r"|se(?:\s+(?:även|også))?|(?:beskriv|definier|beskrev)\w{1,3}\s+i|см\.?|(?:описан|определ[её]н)\w{0,2}\s+в)|参见|参阅|见"
    r"|(?<![^\W_])(?:see|siehe|voir|véase)[ ][^.;:,()\n]{1,40}[ ](?=\())"
    r"[\s:,(*_`\"'“„«-]{0,6}\Z",
    re.IGNORECASE,
)
"""What refers to an item for more, or sets it apart."""
_LABELS = re.compile(
    r"(?:see|cf|not|notes?|remarks?|comments?|examples?|history|chang|supersed|replac|obsolet|duplicat|conflict|depend|former|previous"
    r"|old|similar|siehe|hinweis|anmerkung|bemerkung|kommentar|änderung|ersetz|ehemals|voir|remarque|commentaire|remplac"
    r"|véase|nota|comentario|reemplaz|vedi|sostitu|substitu|zie|opmerking|vervang|se\b|ersätt|erstatt|см|примечани)",
    re.IGNORECASE,
)
"""How labels begin that lead to no requirement that is met: "See also: SYS-4", "Replaces: SYS-4"."""
_NOUNS = re.compile(
    r"(?:(?<![^\W_])(?:the|this|our|system|software|safety|user|functional|requirements?|reqs?|needs?|items?|clauses?|sections?"
    r"|ids?|identifiers?|nos?|numbers?|die|der|den|Anforderung(?:en)?|l['’]|les?|las?|el|los|exigences?|requisit[oi]s?"
    r"|eis(?:en)?|krav|требовани[ея])\.?[\s:]{1,3}|[#§]\s?){1,6}\Z",
    re.IGNORECASE,
)
"""What may be between such words and the name: "satisfies the system requirement SYS-4"."""
_FIELD = re.compile(
    r"(?:\w_\w{1,30}|(?:\A|[\n|])[\s#>*•+-]{0,12}(?:\w{1,40}[ -]){1,3}(?:ids?|identifiers?|nos?\.?|numbers?))"
    r"\s?:\s{0,3}\Z",
    re.IGNORECASE,
)
"""The end of the name of a field, which is a label whatever its last word is: "control_id: ", "Control ID: "."""
_MATES = re.compile(
    r"(?:(?=[^\s,;/&]{0,40}\d)[^\s,;/&]{1,200}\s{0,3}(?:[,;/&]|\b(?:and|or|und|oder|et|ou|y|o|e|en|och|og|и)\b)\s{0,3})"
    r"{1,8}[*_`\[(]{0,4}\Z"
)
"""Names of other things in the same list."""
_LOOK = " \t\xa0*_`~\"'“”„«»‘’"
"""Blanks, quotation marks and marks of emphasis."""
_CUT = re.compile(r"[.;!?][\s)\"”’]|\n\s*\n|\s\|\s|[–—]\s")
_IS = r"(?:is|are|was|were|has|have|had|been|be|will|does|did|ist|sind|wird|wurden?|est|sont|son|è|sono)\b"
_SAYS = re.compile(
    rf"(?:{_IS}\s?){{0,3}}(?:\w{{1,12}}ly\s|and\s|or\s)?(?:describe[sd]|define[sd]|explain(?:s|ed)|specifie[sd]|state[sd]|says|said"
    r"|contain(?:s|ed)|mention(?:s|ed)|assume[sd]|depends|changed|added|updated|revised|renamed|moved|clarified|reworded"
    r"|introduced|split\b|merged|beschreibt|beschrieben|definiert|geändert|hinzugefügt|verschoben|décri|définit|modifié|ajouté"
    r"|déplacé|añadid|modificad|cambiad|modificat|aggiunt|gewijzigd|toegevoegd|ändrad|endret|ændret|изменен|добавлен)",
    re.IGNORECASE,
)
"""What is said about an item itself."""
_COPULA = re.compile(_IS, re.IGNORECASE)
_WORDS_BEHIND = 5
"""Words after the name in which it may say "is fully met by"."""
_ELSEWHERE = re.compile(r"\b(?:elsewhere|anderswo|ailleurs|altrove)\b", re.IGNORECASE)
_DEMANDS = re.compile(
    r"(?:asks?|requires?|demands?|calls?|needs?|verlangt|fordert|exige|demande|pide|requiere|richiede)\b", re.IGNORECASE
)
_OF_CONTENTS = re.compile(r"[^\n]{0,200}?(?:\.{4,}|(?:\s\.){3,}|…{2,})\s{0,5}\d{1,5}\s{0,3}(?:\n|\Z)")
"""The end of a line of a table of contents."""
_MARKS = frozenset("[({<|=→⇒>–—-")
"""What precedes a name that stands alone: a bracket, an arrow, a dash."""
_BRACKETS = frozenset("[({<")
_STARTS = re.compile(r"[.!?;]\Z|(?:\A|\n)[\s#>•*/;!|+-]{0,20}\Z")
"""The end of a sentence, or the start of a line, of a list item or of a comment."""
_TAG = re.compile(r"(?:^|[\s*/#])[@\\][\w:.-]{1,40}[{(\s\"']*\Z")
"""A tag of a documentation comment: "@req", "\\verifies"."""
_NEAR = 200
"""Characters before and after a name that are read."""


def is_mention(text: str, start: int, end: int) -> bool:
    """Return whether a text only mentions the items of a name, or list of names, and does not claim to meet them.

    It claims to with a word such as "satisfies", "tests" or "derived from" near the name, or "is met by" after it; or
    if the name is a marker: alone in a cell, bracket or string, behind a label, or at the start of a line or sentence
    that says nothing about the item itself. "See SYS-4" and "as described in SYS-4" only mention it.

    Args:
        text: of an item, in which attributes and cells are "Name: value".
        start: of the first name.
        end: of the last name.
    """
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    if before[-1:] == "_" or after[:1] == "_":
        return False  # the name of a test
    field = _FIELD.search(_MATES.sub("", before))
    before = field.string if field else _NOUNS.sub("", _MATES.sub("", _NOUNS.sub("", before)))
    if _REFERS.search(before) or _OF_CONTENTS.match(after):
        return True
    near = _CUT.split(before)[-1].split()[-_WORDS_BETWEEN - 1 :]
    if _RELATES.search(" ".join(near)) or _TAG.search(before):
        return False
    behind = " ".join(_CUT.split(after)[0].lstrip("])*_`\"'”").split()[:_WORDS_BEHIND])
    says = _SAYS.match(behind) is not None
    if _DEMANDS.match(behind) or (not says and _RELATES.search(behind)):
        return _ELSEWHERE.search(behind) is not None
    bare = before.rstrip(_LOOK)
    if bare.endswith(":"):
        label = re.split(r"[\n|.;]", bare[:-1])[-1].strip(" \t*_`#>-")
        return says or is_aside(label)
    if _STARTS.search(bare):
        return says or _COPULA.match(behind) is not None
    is_apart = bare[-1:] in _MARKS or before.endswith(("\t", "  "))
    return not (is_apart or _is_line(text, start, end)) or (says and bare[-1:] not in _BRACKETS)


def is_aside(label: str) -> bool:
    """Return whether a label, column or type of link leads to nothing that is met: "See also", "Replaces"."""
    return _LABELS.match(label) is not None


def _is_line(text: str, start: int, end: int) -> bool:
    """Return whether the line of a name is a title, or a row of a table without rules."""
    begin, stop = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line, below = text[begin : stop if stop >= 0 else None].strip(), text[stop : stop + 2] if stop >= 0 else ""
    is_short = len(line) <= _NEAR and len(line.split()) <= _LONGEST_TITLE
    return is_short and not line.endswith((".", ",", ";")) and not below[1:].islower() and not line[:1].islower()

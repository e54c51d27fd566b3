"""Reads what a sentence demands, as printed: force, numbers with units, its condition, a section."""

from __future__ import annotations

import re
import unicodedata

from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.multilingual.force import forces, masked
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.printed import PLACE_REFERENCE, PrintedMark, mask_places
from knowledge_mcp.language.quantities.dates import days_in
from knowledge_mcp.language.quantities.numerals import LOWERED, VULGAR, Numeral, is_ambiguous, numerals_in
from knowledge_mcp.language.quantities.ratings import ratings_in
from knowledge_mcp.language.quantities.reading import Quantity
from knowledge_mcp.language.quantities.units import is_physical, unit_behind

_NOT = r"(?P<not>\s+not\b|n['’]t\b)?"
_FORCE = re.compile(
    rf"\b(?:(?P<word>shall|must|should|may(?!\s\d)|can|cannot|will|ought\s+to|need(?=\s+not))\b{_NOT}(?P<only>(?<=[mc]a[yn])\s+only\b)?"
    r"|(?:(?<=\bis )|(?<=\bare )|(?<=\bbe ))(?P<denied>not\s+)?"
    r"(?P<state>required|recommended|optional|permitted|allowed|prohibited|forbidden)\b)",
    re.IGNORECASE,
)
_CAPITAL_FORCE = re.compile(
    r"\b(?P<denied>NOT\s+(?=RE[QC]))?(?P<word>SHALL|MUST|SHOULD|MAY|CANNOT|CAN|REQUIRED|RECOMMENDED|OPTIONAL)\b(?P<not>\s+(?:NOT|not)\b)?"
    r"(?P<only>(?<=[MC]A[YN])\s+(?:only|ONLY)\b)?"
)
_SMALL_FORCE = re.compile(r"\b(?:shall|must|should|may)\b(?:\s+not\b)?")
_QUOTES = frozenset("\"'“”„‘’«»")
_VERIFIES = re.compile(
    r"(?:verify|ensure|check|confirm|(?:über)?prüfen|stellen\s+sie\s+sicher|vérifi(?:ez|er)|assurez|verifi(?:que|car|care|chi)"
    r"|asegur(?:e|ar))\b",
    re.IGNORECASE,
)
DAY = "day"
"""The beginning of the keys of days."""
_NORMAL = {
    "must": "shall",
    "required": "shall",
    "recommended": "should",
    "ought to": "should",
    "optional": "may",
    "permitted": "may",
    "allowed": "may",
}
_OTHER_FORCE = {
    "required not": "need not",
    "permitted not": "shall not",
    "allowed not": "shall not",
    "prohibited": "shall not",
    "forbidden": "shall not",
    "prohibited not": "may",
    "forbidden not": "may",
}
"""States whose denial has another force: what is not required is left free, and what is not permitted is banned."""
_SIGN = re.compile(r"(?:[<>]=?|[≤≥±~])\s?\Z")
"""A sign before a number that makes it a limit."""
_TIMES_OF = {"half": "0.5", "twice": "2", "double": "2"}
_TIMES = re.compile(rf"\b(?:{'|'.join(_TIMES_OF)})\b", re.IGNORECASE)


def force_words(sentence: str, convention: Convention) -> list[PrintedMark]:
    """List the words of force in order; if a document writes them in capitals, lower-case ones do not count.

    English words in quotation marks are named and not used: 'The key words "MUST" and "SHOULD" are …'.
    """
    if language := convention.language_in(sentence):
        inside = [
            PrintedMark(f"{modality.value} not" if negated else modality.value, sentence[start:end], start, end)
            for modality, negated, start, end in forces(masked(sentence), language, capitals=convention.capitals)
        ]
        if inside or language_of(sentence) == language:
            return inside
    found: list[PrintedMark] = []
    for match in (_CAPITAL_FORCE if convention.capitals else _FORCE).finditer(sentence):
        if _QUOTES.issuperset((sentence[match.start() - 1 : match.start()], sentence[match.end() : match.end() + 1])):
            continue
        parts = match.groupdict()
        word = " ".join((parts["word"] or parts["state"]).lower().split())
        is_negated = word == "cannot" or bool(parts["not"] or parts.get("denied"))
        plain = "can" if word == "cannot" else _NORMAL.get(word, word)
        manner = " not" if is_negated else " only" if parts["only"] else ""
        key = _OTHER_FORCE.get(f"{word}{manner}", f"{plain}{manner}")
        found.append(PrintedMark(key, match.group(), *match.span()))
    if convention.capitals:
        found += [
            PrintedMark(
                " ".join(match.group().replace("must", "shall").split()), match.group(), *match.span(), counts=False
            )
            for match in _SMALL_FORCE.finditer(sentence)
        ]
    return sorted(found, key=lambda mark: mark.start)


def says_what_to_verify(text: str) -> bool:
    """Return whether a text starts as the requirements of control catalogues do: "Verify that …", "Ensure …"."""
    return _VERIFIES.match(text) is not None


def limits(sentence: str, language: str | None = None) -> list[PrintedMark]:
    """List the numbers with their units, number words and dates, without those of references and editions.

    Args:
        sentence: the text.
        language: as from `language_of`, None to detect it.
    """
    text = mask_places(sentence)
    found: list[PrintedMark] = []
    for day in days_in(sentence):
        key = f"{DAY} {day.number}" + (f" or {day.other} {sentence[day.start : day.end]}" if day.other else "")
        found.append(PrintedMark(key, sentence[day.start : day.end], day.start, day.end))
        text = f"{text[: day.start]}{'x' * (day.end - day.start)}{text[day.end :]}"
    found += [PrintedMark(_TIMES_OF[match[0].lower()], match[0], *match.span()) for match in _TIMES.finditer(text)]
    marks, language = _list_marks(text), language_of(text) if language is None else language
    for each in numerals_in(text, language):
        if each.start not in marks and (mark := _with_unit(text, each, language)) is not None:
            found.append(mark)
    taken = [(mark.start, mark.end) for mark in found]
    for each in ratings_in(text):
        start = text.index(each.printed, each.start)
        at = (start, start + len(each.printed))
        if not any(start < each.end and each.start < end for start, end in taken):
            found.append(PrintedMark(f"{each.unit} {each.value:g}", each.printed, *at))
    kept: list[PrintedMark] = []
    for mark in sorted(found, key=lambda mark: (mark.start, -mark.end)):
        if kept and _is_one(text, kept[-1], mark):
            last = kept.pop()
            both = sentence[last.start : mark.end - len(mark.unit) if mark.unit else mark.end].strip()
            kept.append(PrintedMark(f"{last.key} {mark.key}", both, last.start, mark.end, mark.unit))
        elif not kept or mark.start >= kept[-1].end:
            kept.append(mark)
    return kept


def _is_one(text: str, first: PrintedMark, second: PrintedMark) -> bool:
    """Return whether two numbers are one: a ratio or a time ("1:12"), or the parts of a tolerance ("+5/-10 %")."""
    between = text[first.end : second.start]
    return between == ":" or (first.text[:1] in {"+", "±"} and _OR_LESS.fullmatch(between) is not None)


_OR_LESS = re.compile(r"\s?/\s?[-−–]?")


def _with_unit(text: str, number: Numeral, language: str | None) -> PrintedMark | None:
    """Build the mark of a number with its unit; None for "3rd" and "802.11b".

    The unit's name is not part of the printed text of the mark.
    """
    unit = unit_behind(text, number.end, language, number.money)
    measures = is_physical(unit.base)
    beside = (unit.end - 2, unit.end, unit.end + 1) if unit.base in {"V", "A"} else ()  # "VDC", "V DC"
    current = next(filter(None, (_CURRENT.match(text, at) for at in beside)), None)
    end = current.end() if current else unit.end if measures else number.end
    if end == number.end and text[end : end + 1].isalpha():
        return None
    sign = _SIGN.search(text, max(0, number.start - 3), number.start)
    start = sign.start() if sign else number.start
    other = f"({number.other:.15g})" if number.other is not None else ""
    number_key = f"{number.value:.15g}{other}" if number.is_word else _number_key(text[start : number.end])
    if not number.is_word and _IN_GROUPS.search(number_key) and not is_ambiguous(number_key, language):
        number_key = _IN_GROUPS.sub(f"{number.value:.15g}", number_key)
    number_key = number_key if number.is_word else _without_zeros(number_key, number.value, of_all=measures)
    printed = text[number.end : end].strip(" \u00a0\u2009\u202f-")
    is_word = " " in printed or (len(printed) > 3 and printed[1:].isalpha() and printed[1:].islower())
    name = printed if is_word else ""  # a symbol is printed with its number
    kind = current["kind"].lower().replace(".", "") if current else ""
    key = f"{number_key} {unit.factor:g} {unit.base}{kind}" if measures else number_key
    return PrintedMark(key, text[start : number.end if name else end].strip(), start, end, name)


def _number_key(printed: str) -> str:
    """Normalise the spelling of a number with its sign, and drop a footnote mark."""
    number = "".join(printed.translate(_FRACTIONS).split())
    is_power = _POWER.search(number) is not None
    number = _RAISED.sub(lambda raised: f"^{raised[0].translate(LOWERED)}" if is_power else "", number)
    number = _DECIMAL_COMMA.sub(".", number)
    return number.replace("−", "-").replace(">=", "≥").replace("<=", "≤")


def _without_zeros(number: str, value: float, *, of_all: bool) -> str:
    """Drop trailing decimal zeros of a number with a unit, and decimals that are all zeros: "89,20 €", "2.00".

    "2.10" without a unit may be a version, and "1.000" and "1,000" may be a thousand.
    """
    found = _DECIMALS.search(number)
    if found is None or len(found["part"]) == _GROUP or value == float("".join(filter(str.isdigit, number))):
        return number
    left = found["part"].rstrip("0")
    if left and not of_all:
        return number
    return f"{number[: found.start()]}{found['mark'] if left else ''}{left}"


def _list_marks(text: str) -> set[int]:
    """Return the offsets of list numbers and note marks: "1)", and "(1)" if "(2)" follows."""
    closed = {match.start() for match in _CLOSED.finditer(text) if _is_mark(text[: match.start()])}
    counted = list(_IN_PARENTHESES.finditer(text))
    there = {int(match["number"]) for match in counted}
    return closed | {match.start("number") for match in counted if {1, 2} <= there}


def _is_mark(before: str) -> bool:
    """Return whether a number followed by ")" is a list mark: no bracket is open, and no word announces a number."""
    return before.count("(") <= before.count(")") and not _LEADS.search(before[-20:])


_FRACTIONS = str.maketrans(
    {each: unicodedata.normalize("NFKC", each).replace("⁄", "/") for each in VULGAR} | {"⁄": "/"}
)
_POWER = re.compile(r"(?<![\d.,])(?:10|2)[⁻⁰¹²³⁴-⁹]")
_CURRENT = re.compile(r"(?<=[VA\s])(?P<kind>AC|DC|[ad]\.c\.)(?!\w)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}\Z)")
_IN_GROUPS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:(?:,\d{3}){1,6}|(?:['’]\d{3}){1,6}|(?:\.\d{3}){1,6})(?![\d.,])")
"""The digits of a number in groups of three."""
_DECIMALS = re.compile(r"(?<=\d)(?P<mark>[.,])(?P<part>\d{1,9})\Z")
_GROUP = 3
"""Digits in a thousands group."""
_RAISED = re.compile(r"(?<=\d)[⁻⁰¹²³⁴-⁹]{1,3}")
"""Raised digits after a number: a power, or a footnote mark, which is not part of the number."""
_LEADS = re.compile(
    r"(?:\b(?:about|at|and|by|exceed(?:ing)?|for|from|in|is|be|least|most|of|only|or|than|to|with|within)|[<>≤≥=±×/–-])\s*\Z",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"(?<![\w.,/(–-])\d{1,2}(?=\)(?:[\s,.;:]|\Z))")
_IN_PARENTHESES = re.compile(r"\((?P<number>\d{1,2})\)")


def without_limits(sentence: str) -> str:
    """Blank the words of force, the numbers with units and the references to places, which leaves the subject."""
    bare = _TIMES.sub(" ", _CAPITAL_FORCE.sub(" ", _FORCE.sub(" ", PLACE_REFERENCE.sub(" ", sentence))))
    for mark in reversed(limits(bare)):
        if any(sign.isdigit() for sign in mark.text):
            bare = f"{bare[: mark.start]} {bare[mark.end :]}"
    return bare


OWN_LABEL = re.compile(
    r"\W{0,3}(?:[A-Z][A-Za-z]{0,9}[ _.-]{0,2}\d[\w.]{0,9}\s{0,3}[:.)–-]\s"
    r"|\d{1,3}(?:\.\d{1,3}){1,4}\.?\s{1,3}(?:[:)–-]\s{1,3})?(?=[A-ZÀ-Þ][a-zß-ÿ]{2}))"
)
"""The label before the words of a requirement: "SRS 17 - ", "8.1 " before a capital."""
_STATES = (
    r"(?:applicable|appropriate|necessary|needed|possible|practicable|relevant|required|feasible|specified|used"
    r"|provided|fitted|installed|present|available)"
)
_LEADING = re.compile(
    r"\W{0,3}(?:(?:where|wherever|if|unless|provided that|in (?:the )?(?:case|event)(?: of| that)?"
    r"|to the extent(?: that)?|insofar as)\b"
    rf"|when(?: it is)? {_STATES}\b)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?<!\bas )(?<!\beven )(?<!\bonly )(?<!\bcheck )(?<!\bverify )(?<!\bdetermine )(?<!\bsee )(?<!\bindicate )"
    r"\b(?:if|unless|provided that|in case)\s(?!not\b|any\b|so\b)"
    rf"|\b(?:if|where|when|wherever|whenever|as) (?:it is )?{_STATES}\b"
    r"|\bto the extent (?:that|possible|practicable)\b|\bonly if\b",
    re.IGNORECASE,
)
_MODAL = re.compile(r"\b(?:shall|must|should|will|may)\b", re.IGNORECASE)


def without_own_label(text: str) -> str:
    """Remove the label before the words of a requirement."""
    label = OWN_LABEL.match(text)
    return text if label is None else text[label.end() :].lstrip()


def condition_of(sentence: str) -> str:
    """Return the words that decide whether a sentence applies at all; empty if it always applies.

    "If X, ...", "where fitted", "unless ..." are conditions. "when X happens" is not, because it gives the moment. "as
    appropriate" is not either, because it leaves open how, not whether.
    """
    words = without_own_label(sentence)
    modal = _MODAL.search(words)
    if modal is not None and _LEADING.match(words):
        comma = words.rfind(",", 0, modal.start())
        return words[: comma if comma > 0 else modal.start()].strip()
    for found in _TRAILING.finditer(words, modal.end() if modal is not None else 0):
        if found.group().lower() not in {"as appropriate", "as necessary", "as needed", "as possible", "as required"}:
            return re.split(r"[;.]\s", words[found.start() :], maxsplit=1)[0].strip(" .;,")
    return ""


_COMPARED = re.compile(
    r"(?:[a-z]{3,12} than|exceeding|in excess of|over|above|below|under)\s[^,;:.]{0,80}\s(?:shall|must|should|may)\b"
)
_NO_NOUN = frozenset("and at but by for from has have not than that the with".split())


def is_condition(sentence: str, limit: Quantity) -> bool:
    """Return whether a limit only tells when an English sentence applies: "rooms larger than 100 m² shall", "if"."""
    condition = condition_of(sentence)
    start = sentence.find(condition) if condition else -1
    if 0 <= start <= limit.start < start + len(condition):
        return True
    before = sentence[: limit.start].split()[-1:]
    is_noun = bool(before) and len(before[0]) > 2 and before[0].lower() not in _NO_NOUN and before[0].isalpha()
    return is_noun and _COMPARED.match(sentence, limit.start) is not None


_SECTION = r"(?:sub)?(?:sections?|chapters?|clauses?|annex(?:es)?|appendix|appendices|paragraphs?)"
_TITLED = re.compile(
    rf"\b{_SECTION}\s+(?:titled|entitled|called|named|headed|with the (?:title|heading))\s+"
    r"(?:[“\"‘'](?P<quoted>[^”\"’'\n]{2,80})[”\"’']|(?P<plain>[A-Z][\w-]{1,30}(?:\s[\w-]{1,30}){0,6}))",
)
_ABOUT = re.compile(
    rf"\b(?:contain|include|have|provide|comprise|add)s?\s+(?:an?|one|the)\s+(?:separate\s|own\s)?{_SECTION}\s+"
    r"(?:on|about|for|listing|concerning|regarding|dealing with)\s+(?:the\s|an?\s|its\s)?"
    r"(?P<about>[\w/&-]{2,30}(?:\s[\w/&-]{1,30}){0,6})",
    re.IGNORECASE,
)
_OF_KIND = re.compile(
    rf"\b(?:contain|include|have|provide|comprise|add)s?\s+an?\s+(?:[“\"](?P<quoted>[^”\"\n]{{2,80}})[”\"]"
    rf"|(?P<kind>[\w/&-]{{2,30}}(?:\s[\w/&-]{{1,30}}){{0,4}}))\s{_SECTION}\b",
    re.IGNORECASE,
)
_ENDS_TITLE = re.compile(r"\s(?:that|which|where|who|if|when|shall|must|should|to be|in accordance)\b.{0,200}\Z")
_ANY_KIND = frozenset({"new", "separate", "own", "dedicated", "further", "single", "specific", "this", "each", "one"})


def section_demanded(sentence: str) -> str:
    """Return the title or subject of the section that a sentence demands; empty if it demands none."""
    for pattern in (_TITLED, _ABOUT, _OF_KIND):
        found = pattern.search(sentence)
        if found is not None:
            named = next(text for text in found.groups() if text)
            words = _ENDS_TITLE.sub("", named).strip()
            if words.lower() not in _ANY_KIND:
                return words
    return ""

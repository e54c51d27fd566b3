"""Words of force in Dutch, Swedish, Norwegian, Danish, Russian and Chinese, and whether they are negated.

| | requirement | prohibition | recommendation | permission | possibility |
|---|---|---|---|---|---|
| nl | moet, dient te, verplicht | mag niet, mag alleen | behoort, zou moeten | mag, hoeft niet (no duty) | kan |
| sv | ska, måste, krävs | får inte, är förbjudet | bör | får, behöver inte | kan |
| no | skal, må, kreves | skal ikke, er forbudt | bør, anbefales | kan, trenger ikke | |
| da | skal, kræves | må ikke, er forbudt | bør, anbefales | må, behøver ikke | kan |
| ru | должен, следует, необходимо | не допускается, запрещается | рекомендуется | допускается, может | |
| zh | 应, 必须 | 不应, 不得, 严禁 | 宜 | 可以, 不必 (no duty) | |

Russian is read as GOST R 1.5 has it, where "следует" obliges, Chinese as GB/T 1.1.
"""

from __future__ import annotations

import re

from knowledge_mcp.model.chunk import Modality

_I = re.IGNORECASE
WORDS = {
    "nl": re.compile(
        r"\b(?:(?P<recommendation>behoort|behoren|zou(?:den)?\s(?:\w{1,20}\s){0,4}moeten)|(?P<requirement>moet(?:en)?"
        r"|dien(?:t|en)(?=\s[^.;]{0,120}\bte\b))|(?P<permission>mag|mogen)|(?P<possibility>kan|kunnen)"
        r"|(?P<no_duty>hoeft|hoeven)"
        r"|(?P<state>verplicht|vereist|noodzakelijk|verboden|toegestaan|toegelaten|aanbevolen))\b",
        _I,
    ),
    "sv": re.compile(
        r"\b(?:(?P<requirement>ska(?:ll)?|måste|krävs|fordras)|(?P<recommendation>bör|rekommenderas)|(?P<permission>får)"
        r"|(?P<possibility>kan)|(?P<no_duty>behöver(?=\s(?:\w{1,20}\s){0,2}(?:inte|ej)\b))"
        r"|(?P<state>obligatoriskt?|nödvändigt?|förbjud(?:en|et|na)|tillåt(?:en|et|na)))\b",
        _I,
    ),
    "no": re.compile(
        r"\b(?:(?P<requirement>skal|må|kreves)|(?P<recommendation>bør|anbefales)|(?P<permission>får|kan)"
        r"|(?P<no_duty>(?:trenger|behøver)(?=\s(?:\w{1,20}\s){0,2}ikke\b))"
        r"|(?P<state>obligatorisk|nødvendig|påkrevd|forbudt|tillatt))\b",
        _I,
    ),
    "da": re.compile(
        r"\b(?:(?P<requirement>skal|kræves)|(?P<recommendation>bør|anbefales)|(?P<permission>må)|(?P<possibility>kan)"
        r"|(?P<no_duty>behøver(?=\s(?:\w{1,20}\s){0,2}ikke\b))"
        r"|(?P<state>obligatorisk|nødvendigt?|påkrævet|forbudt|tilladt))\b",
        _I,
    ),
    "ru": re.compile(
        r"\b(?P<not>не\s+)?(?:(?P<requirement>долж(?:ен|на|но|ны)|обязан[аоы]?|следует(?!\s+из\b)|надлежит|подлеж(?:ит|ат))"
        r"|(?P<state>необходим[аоы]?|требу(?:ется|ются)|обязательн(?:о|а|ы|ен))"
        r"|(?P<recommendation>рекоменду(?:ется|ются)|целесообразно)"
        r"|(?P<permission>допуска(?:ется|ются)|разреша(?:ется|ются))|(?P<possibility>может|могут)"
        r"|(?P<ban>запреща(?:ется|ются)|запрещен[аоы]?))\b",
        _I,
    ),
    "zh": re.compile(
        r"(?P<ban>不得|不应(?![用变急力答])|不准|不允许|禁止|严禁)|(?P<no_duty>不必|无需|无须|不需要)"
        r"|(?P<requirement>必须|应当|(?<![相响反适对供效感顺呼照理])应(?![用变急力答激]))"
        r"|(?P<recommendation>不?(?<![适便事])宜)|(?P<permission>可以|允许)"
    ),
}
KEY_WORDS = {
    "nl": re.compile(r"\b(?:MOET|MOETEN|MAG|MOGEN|DIENT|DIENEN|KAN|KUNNEN)\b"),
    "sv": re.compile(r"\b(?:SKA|SKALL|MÅSTE|BÖR|FÅR|KAN)\b"),
    "no": re.compile(r"\b(?:SKAL|MÅ|BØR|KAN)\b"),
    "da": re.compile(r"\b(?:SKAL|MÅ|BØR|KAN)\b"),
    "ru": re.compile(r"\b(?:ДОЛЖЕН|ДОЛЖНА|ДОЛЖНО|ДОЛЖНЫ|СЛЕДУЕТ|МОЖЕТ|МОГУТ)\b"),
    "zh": re.compile(r"(?!)"),
}
_NOT = {
    "nl": re.compile(r"\b(?:niet(?!\salleen\b)|geen|nooit|niemand|nergens|noch)\b", _I),
    "sv": re.compile(r"\b(?:inte(?!\sbara\b)|ej|ingen|inga|inget|aldrig)\b", _I),
    "no": re.compile(r"\b(?:ikke(?!\sbare\b)|ingen|intet|aldri)\b", _I),
    "da": re.compile(r"\b(?:ikke(?!\skun\b)|ingen|intet|aldrig)\b", _I),
}
_ONLY = re.compile(
    r"\b(?:alleen|slechts|uitsluitend|hoogstens|ten\shoogste|maximaal|endast|bara|högst|kun|bare|høyst|højst|maksimalt"
    r"|только|не\sболее)\b",
    _I,
)
CONDITION = {
    "nl": re.compile(r"\W{0,20}(?:als|indien|wanneer|zodra|zolang|tenzij|omdat|terwijl|voordat)\b", _I),
    "sv": re.compile(r"\W{0,20}(?:om|när|såvida|medan|innan|ifall|eftersom)\b", _I),
    "no": re.compile(r"\W{0,20}(?:hvis|dersom|når|med\smindre|fordi|mens|før|såfremt)\b", _I),
    "da": re.compile(r"\W{0,20}(?:hvis|såfremt|når|medmindre|fordi|mens|før|dersom)\b", _I),
    "ru": re.compile(r"\W{0,20}(?:если|когда|пока|хотя|прежде\sчем|в\sслучае,?\sесли)\b", _I),
    "zh": re.compile(r"(?!)"),
}
_BANNED = re.compile(
    r"unzulässig|verboten|untersagt|interdit|prohib|proh[íi]b|vietat|vedad|proibi|verboden|förbjud|forbudt", _I
)
ALLOWED = re.compile(
    r"zulässig|erlaubt|gestattet|statthaft|autoris|autoriz|permi|perme|admis|ammes|consenti|facult|toege|tillåt|tillatt"
    r"|tilladt",
    _I,
)
"""Words by which something is said to be allowed, in any of the languages."""
_ADVISED = re.compile(r"empf|recom|raccom|consigl|aanbev", _I)


def judge_state(word: str, denied: bool) -> tuple[Modality, bool]:
    """Judge what something is said to be: required, allowed, forbidden, recommended; in any of the languages."""
    if _BANNED.search(word):
        return (Modality.PERMISSION, False) if denied else (Modality.REQUIREMENT, True)
    if ALLOWED.search(word):
        return (Modality.REQUIREMENT, True) if denied else (Modality.PERMISSION, False)
    if _ADVISED.search(word):
        return Modality.RECOMMENDATION, denied
    return (Modality.PERMISSION, True) if denied else (Modality.REQUIREMENT, False)


def judge_northern(code: str, match: re.Match[str], clause: str) -> tuple[Modality, bool] | None:
    """Judge a word of Dutch, Swedish, Norwegian or Danish by its clause."""
    kind, denied = match.lastgroup or "", _NOT[code].search(clause) is not None
    if kind == "permission":
        limits = denied or _ONLY.search(clause) is not None
        return (Modality.REQUIREMENT, denied) if limits else (Modality.PERMISSION, False)
    if kind == "no_duty":
        return Modality.PERMISSION, True
    if kind == "state":
        return judge_state(match.group(), denied)
    return Modality(kind), denied


def judge_russian(match: re.Match[str], clause: str) -> tuple[Modality, bool] | None:
    """Judge a Russian word: "не" stands right before what it denies."""
    kind, denied = match.lastgroup or "", match["not"] is not None
    if kind == "ban":
        return Modality.REQUIREMENT, True
    if kind == "state":
        return judge_state(match.group(), denied)
    if kind == "permission":
        limits = denied or _ONLY.search(clause) is not None
        return (Modality.REQUIREMENT, denied) if limits else (Modality.PERMISSION, False)
    if kind == "possibility":
        return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
    return Modality(kind), denied


def judge_chinese(match: re.Match[str]) -> tuple[Modality, bool] | None:
    """Judge a Chinese word, which holds its own "not"."""
    kind = match.lastgroup or ""
    if kind == "ban":
        return Modality.REQUIREMENT, True
    if kind == "no_duty":
        return Modality.PERMISSION, True
    return Modality(kind), match.group().startswith("不")

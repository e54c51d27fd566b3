"""Words that deny what a sentence says, leave it open, or except something from it, by ISO 639-1 code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

DENIES_BEFORE = re.compile(r"\b(?:ne\s|n['’]|no\s|non\s|não\s)\s{0,3}\Z")
DENIES_BEHIND = re.compile(r"\b(?:nicht|keinesfalls|niemals|pas|jamais|niet|inte|ej|ikke)\b")
"""What negates a word of force in languages other than English; English words of force contain it."""


def _words(words: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Compile words by language; Chinese has no blanks between them."""
    return {code: re.compile(own if code == "zh" else rf"\b(?:{own})\b", re.IGNORECASE) for code, own in words.items()}


_DENIALS = _words(
    {
        "en": r"not|never|cannot|(?<=n)['’]t",
        "de": r"nicht|nie|niemals|keinesfalls|kein(?:e[mnrs]?)?",
        "fr": r"pas|jamais|aucune?|nullement",
        "es": r"no|nunca|jamás|ningún|ninguna?",
        "it": r"non|mai|nessun[oa]?",
        "pt": r"não|nunca|jamais|nenhuma?",
        "nl": r"niet|nooit|geen",
        "sv": r"inte|ej|aldrig|ingen|inget|inga",
        "no": r"ikke|aldri|ingen|intet",
        "da": r"ikke|aldrig|ingen|intet",
        "ru": r"не|нет|никогда",
        "zh": r"不|未|没有|无",
    }
)
"""What denies the words after it."""
_LIMITS = _words(
    {
        "en": r"unless|except|only|other than|until|if|when|where|while|whether|that|which|who|than|without|limited to"
        r"|exceed\w{0,3}|necessarily",
        "de": r"es sei denn|außer|nur|wenn|falls|sofern|solange|bevor|bis|ohne",
        "fr": r"sauf|si|sinon|que|qui|avant|jusqu['’]à|sans|lorsqu\w{1,2}|seulement",
        "es": r"excepto|salvo|si|que|cuando|hasta|antes|sin|sólo|solo|solamente",
        "it": r"eccetto|salvo|tranne|se|che|quando|fino|prima|senza|solo|soltanto",
        "pt": r"exceto|salvo|se|que|quando|até|antes|sem|só|somente|apenas",
        "nl": r"tenzij|behalve|alleen|als|indien|wanneer|totdat|voordat|zonder|dan|die|dat",
        "sv": r"utom|såvida|om|när|förrän|innan|utan|endast|bara|som|än",
        "no": r"unntatt|med mindre|hvis|dersom|når|før|uten|bare|kun|som|enn",
        "da": r"undtagen|medmindre|hvis|når|før|uden|kun|bare|som|end",
        "ru": r"кроме|если|когда|пока|до|без|только|котор\w{1,3}|что|чем",
        "zh": r"除非|除了|如果|只|仅|直到|之前|超过",
    }
)
"""Words that make a denial apply to something else: "is not stored unless encrypted"."""
_LEFT_OPEN = _words(
    {
        "en": r"(?:is|are|was|were|will be|has been|have been)\s(?:(?:still|currently|yet)\s)?"
        r"(?:not\s(?:yet\s)?(?:a\s)?(?:part\sof|included\sin|in(?:\sthe)?\sscope|foreseen|planned|supported|implemented"
        r"|available|provided|considered|addressed|covered)|out\sof\s(?:the\s)?scope|outside\s(?:the\s)?scope"
        r"|(?:to\sbe|left\sto\sbe)\s(?:decided|determined|defined|confirmed|specified|agreed|clarified)"
        r"|(?:pending|undecided|undefined|unresolved|deferred|postponed|omitted|dropped|waived))"
        r"|(?<![\w.])t\.?b\.?[adc]|not\s(?:yet\s)?(?:supported|implemented|planned|foreseen)",
        "de": r"(?:ist|sind|wird|werden)\s(?:noch\s)?(?:nicht\s(?:Teil|Bestandteil|vorgesehen|geplant|umgesetzt)|offen"
        r"|später\s(?:festgelegt|entschieden|definiert))",
        "fr": r"(?:reste|restent|est|sont)\sà\s(?:définir|décider|préciser|confirmer)|pas\s(?:encore\s)?(?:prévue?s?"
        r"|implémentée?s?|prise?s?\sen\scharge)|hors\s(?:du\s)?périmètre",
        "es": r"(?:está|están|queda|quedan)\s(?:pendientes?|por\s(?:definir|decidir))|no\s(?:está|están)"
        r"\s(?:previst[oa]s?|implementad[oa]s?)|fuera\sdel\salcance",
        "it": r"(?:è|sono|resta|restano)\sda\s(?:definire|decidere|confermare)|non\s(?:è|sono)\s(?:previst[oaie]"
        r"|implementat[oaie])|fuori\sdall['’]ambito",
        "pt": r"(?:está|estão|fica|ficam)\spor\s(?:definir|decidir)|não\s(?:está|estão)\s(?:previst[oa]s?"
        r"|implementad[oa]s?)|fora\sdo\s(?:âmbito|escopo)",
        "nl": r"(?:is|zijn|wordt|worden)\s(?:nog\s)?(?:niet\s(?:voorzien|gepland|geïmplementeerd)|nader\ste\sbepalen"
        r"|buiten\s(?:de\s)?scope)",
        "sv": r"(?:är|blir)\s(?:ännu\s)?inte\s(?:planera[dt]|implementera[dt]|införda?)|ska\sbestämmas\ssenare"
        r"|utanför\somfattningen",
        "no": r"(?:er|blir)\s(?:ennå\s)?ikke\s(?:planlagt|implementert)|skal\sbestemmes\ssenere|utenfor\somfanget",
        "da": r"(?:er|bliver)\s(?:endnu\s)?ikke\s(?:planlagt|implementeret)|skal\sbesluttes\ssenere"
        r"|uden\sfor\somfanget",
        "ru": r"(?:ещё\s|еще\s)?не\s(?:реализован|предусмотрен|запланирован)\w{0,2}|будет\sопредел[её]н\w{0,2}\sпозже",
        "zh": r"待定|尚未(?:实现|确定|支持)|不在范围",
    }
)
"""Phrases that leave the subject of a sentence open or out of scope."""
_BEHIND = re.compile(r"(?:\W{1,3}[^\W\d_]{1,30}){1,5}|[^\W\d_]{1,30}")
"""Words after a denial, of which the first one with meaning is denied."""


def left_open(sentence: str, code: str) -> str:
    """Return the words that leave the subject of a sentence open or out of scope; empty if none do."""
    found = _LEFT_OPEN.get(code, _LEFT_OPEN["en"]).search(sentence)
    return " ".join(found[0].split()) if found is not None else ""


def is_limited(sentence: str, code: str) -> bool:
    """Return whether a sentence has a condition or an exception, or introduces a list: it denies nothing as such."""
    return _LIMITS.get(code, _LIMITS["en"]).search(sentence) is not None or sentence.rstrip().endswith(":")


def limiting_words(sentence: str, code: str) -> set[str]:
    """Return the words of conditions and exceptions in a sentence, in lower case."""
    return {found[0].lower() for found in _LIMITS.get(code, _LIMITS["en"]).finditer(sentence)}


def denials(sentence: str, code: str) -> Iterator[tuple[str, str]]:
    """Yield the words after each denial in a sentence, alone and as printed with it."""
    for found in _DENIALS.get(code, _DENIALS["en"]).finditer(sentence):
        behind = _BEHIND.match(sentence, found.end())
        if behind is not None:
            yield behind[0], " ".join(f"{found[0]}{behind[0]}".split())

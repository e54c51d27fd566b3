"""Judges words of force in languages other than English: force and negation; the words are in `words`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from knowledge_mcp.language.multilingual.words import CONDITION, COPULA, NOT, OF_A_NOUN, WORDS
from knowledge_mcp.model.chunk import Modality

Found = tuple[Modality, bool, int, int]
"""Force, whether it is negated, and the start and end of its word."""

FORCEFUL = frozenset(WORDS)
"""ISO 639-1 codes of the languages other than English whose words of force are known."""

NOTES = (
    r"ANMERKUNG(?:EN)?(?:\s+\d+)?(?:\s+zum\s+Begriff)?\b|BEISPIELE?(?:\s+\d+)?\b|(?:Anmerkung|Hinweis|Beispiel)(?:\s+\d+)?\s*[:.–—]"
    r"|REMARQUES?(?:\s+\d+)?\b|EXEMPLES?(?:\s+\d+)?\b|(?:Remarque|Exemple)(?:\s+\d+)?\s*[:.–—]"
    r"|NOTAS?(?:\s+\d+)?\b|EJEMPLOS?(?:\s+\d+)?\b|(?:Nota|Ejemplo)(?:\s+\d+)?\s*[:.–—]"
    r"|(?:NOTE|OPMERKING(?:EN)?|VOORBEELD|ANM(?:\.|ÄRKNING)?|EXEMPEL|MERKNAD(?:ER)?|EKSEMPEL|BEMÆRK(?:NING)?|ПРИМЕЧАНИ[ЕЯ]"
    r"|Примечани[ея]|UWAG[AI]|HUOM(?:AUTUS)?|POZNÁMK[AY])(?:\s+\d+)?(?!\w)"
    r"|[注例]\s?\d{0,2}\s?[:：]|(?:ESEMPI[OE]?|EXEMPLOS?)(?:\s+\d+)?\b|(?:Esempio|Exemplo)(?:\s+\d+)?\s*[:.–—]"
)
"""Openings of notes and examples; a pattern without groups."""

_QUOTED = re.compile(r"„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|»[^«\n]{0,400}«")
_BREAK = re.compile(r"[;:()]|,(?!\d)")
_ASIDE = re.compile(r"\([^()\n]{0,400}\)")
_AND = re.compile(
    r"\b(?:und|oder|aber|sondern|sowie|et|ou|mais|y|e|o|pero|ed|ma|mas|en|of|maar|och|eller|men|samt|og|и|а|но|или)\b"
)
_SEGMENT = 400
"""Characters before and after a word of force that are read; clauses of ordinary documents are shorter."""
_DUTY = re.compile(r"\b(?:ist|sind|hat|haben)\b", re.IGNORECASE)
_ONLY_GERMAN = re.compile(r"\b(?:nur|ausschließlich|lediglich|höchstens|maximal)\b", re.IGNORECASE)
_ONLY = re.compile(
    r"\b(?:alleen|slechts|uitsluitend|hoogstens|ten\shoogste|maximaal|endast|bara|högst|kun|bare|høyst|højst|maksimalt"
    r"|только|не\sболее)\b",
    re.IGNORECASE,
)
_NO_DUTY = re.compile(
    r"\b(?:kein|keine|keinen|keinem|keiner|nicht(?!\s+(?:nur\b|(?:mehr|weniger|größer|kleiner|höher|länger)\s+als\b"
    rf"|[a-zäöü]{{1,30}}(?:bar|end)\b|{OF_A_NOUN})))\b",
    re.IGNORECASE,
)
"""What turns "muss" into "need not", except "aus nicht brennbarem Holz" and "nicht mehr als"."""
_BANNED = re.compile(
    r"unzulässig|verboten|untersagt|interdit|prohib|proh[íi]b|vietat|vedad|proibi|verboden|förbjud|forbudt",
    re.IGNORECASE,
)
_ALLOWED = re.compile(
    r"zulässig|erlaubt|gestattet|statthaft|autoris|autoriz|permi|perme|admis|ammes|consenti|facult|toege|tillåt|tillatt"
    r"|tilladt",
    re.IGNORECASE,
)
"""Words that allow something, in any of the languages."""
_ADVISED = re.compile(r"empf|recom|raccom|consigl|aanbev", re.IGNORECASE)
_EASY = re.compile(r"\b(?:leicht|leichter|schwer|schwerer|einfach|schwierig|möglich)\s*\Z", re.IGNORECASE)
_BUT = re.compile(r"\bqu(?:e\b|['’])", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:pas|jamais|aucune?|ni|point|nullement)\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:aucune?|nul|nulle|personne|rien)\b", re.IGNORECASE)
_ADVISED_NOT = re.compile(r"\s+(?:\w{1,30}\s+){0,2}de\s+ne\s+pas\b", re.IGNORECASE)
_SUBORDINATE = re.compile(
    r"\s*(?:(?:in|an|auf|aus|bei|mit|für|von|zu|durch|über|unter|nach)\s+)?(?:die|der|das|den|dem|deren|dessen|denen"
    r"|welche[mnrs]?|wenn|falls|ob|weil|sofern|soweit|sobald|damit|bevor|wo\w{0,10}|wie|was|wer)\b",
    re.IGNORECASE,
)
"""Openings of German clauses with the verb at the end, except "dass", which may carry the demand."""
_INSERTED = re.compile(
    r",\s*(?:(?:in|an|auf|aus|bei|mit|für|von|zu|durch|über|unter|nach)\s+)?(?:die|der|das|den|dem|deren|dessen|denen"
    r"|welche[mnrs]?|wenn|falls|sofern|soweit|solange|sobald|bevor|wie|wo|außer|ausgenommen|Ausnahme|abweichend"
    r"|insbesondere|auch|gemessen|bezogen)\b[^,;:]{0,200},(?!\d)",
    re.IGNORECASE,
)
"""An insertion between two commas in a German clause: "darf, wenn Personen anwesend sind, nicht …"."""
_VERB_AT_END = re.compile(r"[a-zäöüß]+n")
_LABEL = re.compile(r"\W{0,4}(?:\d{1,3}[a-z]?|[a-z])[.)]\s{1,3}(?=[A-ZÀ-ÖØ-Þ])")
"""The label of a sentence: "(2) Soll …"; an item "b) kann …" only continues its introduction."""
_JOINING = frozenset({"ist", "sind", "war", "waren", "wird", "werden", "wäre", "sei"})
_MODALS = frozenset({"müssen", "dürfen", "sollen", "sollten", "können"})


def masked(sentence: str) -> str:
    """Blank the text in German and French quotation marks, without changing lengths."""
    return _QUOTED.sub(lambda match: " " * len(match.group()), sentence)


def forces(sentence: str, code: str, *, capitals: bool = False) -> Iterator[Found]:
    """Find the words of force in a sentence that is not English, each with its force, negation, start and end.

    Args:
        sentence: without quoted text.
        code: one of `FORCEFUL`.
        capitals: only words in capitals count.
    """
    condition, label = 0, _LABEL.match(sentence)
    if not capitals and CONDITION[code].match(sentence, label.end() if label else 0):
        condition = max(sentence.find(","), 0)
    matches = list(WORDS[code].finditer(sentence))
    joints = [joint for one, other in pairwise(filter(_is_verb, matches)) for joint in _joint(sentence, one, other)]
    for match in matches:
        if match.start() < condition or (capitals and not match.group().isupper()):
            continue
        found = _JUDGES[code](match, *_clause(sentence, match, code, joints))
        if found is not None:
            yield (*found, match.start(), match.end())


def _is_verb(match: re.Match[str]) -> bool:
    return match.lastgroup in {"requirement", "recommendation", "permission", "possibility", "no_duty"}


def _joint(sentence: str, one: re.Match[str], other: re.Match[str]) -> list[tuple[int, int]]:
    """Find the last "and" between two verbs of force, after which the second verb's clause begins."""
    return [match.span() for match in _AND.finditer(sentence, one.end(), other.start())][-1:]


def _clause(sentence: str, match: re.Match[str], code: str, joints: Sequence[tuple[int, int]]) -> tuple[str, str, str]:
    """Return the text before and after a word within its clause, and the punctuation mark before the clause.

    Text in parentheses, and in German between two commas, is blanked, because the clause continues after it.
    """
    first = max([0, match.start() - _SEGMENT, *(end for _, end in joints if end <= match.start())])
    near = sentence[first : min([match.end() + _SEGMENT, *(start for start, _ in joints if start >= match.end())])]
    start, end = match.start() - first, match.end() - first
    for aside in _ASIDE.finditer(near):
        if aside.end() <= start or aside.start() >= end:
            near = _blanked(near, aside)
    for inserted in _INSERTED.finditer(near) if code == "de" else ():
        words = near[: inserted.start()].split()
        ended = words and words[-1] not in _MODALS and _VERB_AT_END.fullmatch(words[-1])
        if not ended and (inserted.end() <= start or inserted.start() >= end):
            near = _blanked(near, inserted)
    before, after = near[:start], near[end:]
    mark, begin = "", 0
    for found in _BREAK.finditer(before):
        mark, begin = found.group(), found.end()
    return before[begin:], after[: _end_of_clause(after, is_frame=code == "de" and _is_verb(match))], mark


def _end_of_clause(after: str, *, is_frame: bool) -> int:
    """Return where the clause ends that continues after a word of force.

    Args:
        after: the text behind the word.
        is_frame: it is a German verb, whose clause ends with another verb and not at the comma of a list: "darf Daten
            der Kunden, der Ämter und der Bauherren nicht erheben".
    """
    for found in _BREAK.finditer(after):
        words = after[: found.start()].split()
        if found.group() != "," or not (is_frame and words) or _ends_in_verb(words):
            return found.start()
    return len(after)


def _ends_in_verb(words: Sequence[str]) -> bool:
    """Return whether German words end with a verb, or have one before "and": "Daten anfordern sowie Namen"."""
    ends = [word for word, joint in pairwise((*words, "und")) if _AND.fullmatch(joint)]
    return any(map(_VERB_AT_END.fullmatch, ends))


def _blanked(text: str, match: re.Match[str]) -> str:
    return text[: match.start()] + " " * len(match.group()) + text[match.end() :]


def _permitted(denied: bool, limited: bool) -> tuple[Modality, bool]:
    """Judge a word of permission: negated it prohibits, and with "only" it requires."""
    return (Modality.REQUIREMENT, denied) if denied or limited else (Modality.PERMISSION, False)


def _judged_state(word: str, denied: bool) -> tuple[Modality, bool]:
    """Judge a predicate: required, allowed, forbidden, recommended; in any of the languages."""
    if _BANNED.search(word):
        return (Modality.PERMISSION, False) if denied else (Modality.REQUIREMENT, True)
    if _ALLOWED.search(word):
        return (Modality.REQUIREMENT, True) if denied else (Modality.PERMISSION, False)
    if _ADVISED.search(word):
        return Modality.RECOMMENDATION, denied
    return (Modality.PERMISSION, True) if denied else (Modality.REQUIREMENT, False)


def _german(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    kind = match.lastgroup or ""
    behind = after.split(maxsplit=1)
    ends = not behind or behind[0] in {"und", "oder"} or (kind == "state" and after.strip() in _JOINING)
    if mark == "," and ends and _SUBORDINATE.match(before):
        return None
    clause = f"{before}\n{after}"
    denied = NOT["de"].search(clause) is not None
    if kind == "permission":
        return _permitted(denied, _ONLY_GERMAN.search(clause) is not None)
    if kind in {"to", "into"}:
        bound = _DUTY.search(before) is not None and _EASY.search(before) is None
        return (Modality.REQUIREMENT, denied) if bound else None
    if kind == "state":
        if COPULA["de"].search(clause) is None:
            return None
        restricts = _ONLY_GERMAN.search(before) is not None and _ALLOWED.search(match.group()) is not None
        return (Modality.REQUIREMENT, denied) if restricts else _judged_state(match.group(), denied)
    if kind in {"requirement", "no_duty"}:
        free = kind == "no_duty" or _NO_DUTY.search(clause) is not None
        return (Modality.PERMISSION, True) if free else (Modality.REQUIREMENT, False)
    return (Modality.POSSIBILITY if kind == "possibility" else Modality.RECOMMENDATION), denied


def _french(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    del mark
    kind = match.lastgroup or ""
    denied = NOT["fr"].search(before) is not None
    if denied and _DENIAL.search(after) is None and _NOBODY.search(before) is None and _BUT.search(after):
        denied = False  # "ne doit être utilisé que": only
    if kind == "permission":
        return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
    if kind == "recommendation":
        if match.group().lower() == "convient" and re.search(r"\bil\b", before, re.IGNORECASE) is None:
            return None
        return Modality.RECOMMENDATION, denied or _ADVISED_NOT.match(after) is not None
    if kind == "state":
        return _judged_state(match.group(), denied) if COPULA["fr"].search(before) else None
    return Modality.REQUIREMENT, denied


_Judge = Callable[[re.Match[str], str, str, str], tuple[Modality, bool] | None]


def _southern(code: str) -> _Judge:
    """Build the judge for Spanish, Italian or Portuguese, which negate before the verb."""

    def judge(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
        del after, mark
        kind = match.lastgroup or ""
        denied = NOT[code].search(before) is not None
        if kind == "permission":
            return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
        if kind == "ban":
            return (Modality.REQUIREMENT, True) if denied else (Modality.PERMISSION, False)
        if kind == "recommendation":
            return Modality.RECOMMENDATION, denied
        if kind == "state":
            return _judged_state(match.group(), denied) if COPULA[code].search(before) else None
        if kind == "impersonal":
            return _judged_state(match.group(), denied)
        return Modality.REQUIREMENT, denied

    return judge


def _northern(code: str) -> _Judge:
    """Build the judge for Dutch, Swedish, Norwegian or Danish, which negate anywhere in the clause."""

    def judge(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
        del mark
        clause = f"{before}\n{after}"
        kind, denied = match.lastgroup or "", NOT[code].search(clause) is not None
        if kind == "permission":
            return _permitted(denied, _ONLY.search(clause) is not None)
        if kind == "no_duty":
            return Modality.PERMISSION, True
        if kind == "state":
            return _judged_state(match.group(), denied)
        return Modality(kind), denied

    return judge


def _russian(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    """Judge a Russian word: "не" is directly before what it negates."""
    del mark
    kind, denied = match.lastgroup or "", match["not"] is not None
    if kind == "ban":
        return Modality.REQUIREMENT, True
    if kind == "state":
        return _judged_state(match.group(), denied)
    if kind == "permission":
        return _permitted(denied, _ONLY.search(f"{before}\n{after}") is not None)
    if kind == "possibility":
        return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
    return Modality(kind), denied


def _chinese(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    """Judge a Chinese word, which contains its own "not"."""
    del before, after, mark
    kind = match.lastgroup or ""
    if kind == "ban":
        return Modality.REQUIREMENT, True
    if kind == "no_duty":
        return Modality.PERMISSION, True
    return Modality(kind), match.group().startswith("不")


_JUDGES: dict[str, _Judge] = {
    "de": _german,
    "fr": _french,
    **{code: _southern(code) for code in ("es", "it", "pt")},
    **{code: _northern(code) for code in ("nl", "sv", "no", "da")},
    "ru": _russian,
    "zh": _chinese,
}

"""Words of force in German (DIN 820-2), French, Spanish, Italian and Portuguese, and whether they are negated.

Those of other languages are in `further`.

| | requirement | prohibition | recommendation | permission | possibility |
|---|---|---|---|---|---|
| de | muss, hat zu, ist zu | darf nicht, darf nur (restricts) | soll, sollte | darf, muss nicht (no duty) | kann |
| fr | doit | ne doit pas | il convient de, devrait | peut | |
| es | debe, deberá | no debe, no podrá | debería, conviene | puede, podrá | |
| it | deve, dovrà | non deve, non potrà, è vietato | dovrebbe, si raccomanda | può, potrà | |
| pt | deve, deverá | não deve, não poderá, é vedado | deveria, convém | pode, poderá | |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from knowledge_mcp.language.multilingual import further
from knowledge_mcp.model.chunk import Modality

Found = tuple[Modality, bool, int, int]
"""Force, whether it is negated, and where its word stands."""

FORCEFUL = frozenset({"de", "fr", "es", "it", "pt", *further.WORDS})
"""ISO 639-1 codes of the languages whose words of force are known, beside English."""

NOTES = (
    r"ANMERKUNG(?:EN)?(?:\s+\d+)?(?:\s+zum\s+Begriff)?\b|BEISPIELE?(?:\s+\d+)?\b|(?:Anmerkung|Beispiel)(?:\s+\d+)?\s*[:.–—]"
    r"|REMARQUES?(?:\s+\d+)?\b|EXEMPLES?(?:\s+\d+)?\b|(?:Remarque|Exemple)(?:\s+\d+)?\s*[:.–—]"
    r"|NOTAS?(?:\s+\d+)?\b|EJEMPLOS?(?:\s+\d+)?\b|(?:Nota|Ejemplo)(?:\s+\d+)?\s*[:.–—]"
    r"|(?:NOTE|OPMERKING(?:EN)?|VOORBEELD|ANMÄRKNING|EXEMPEL|MERKNAD|EKSEMPEL|BEMÆRK|ПРИМЕЧАНИ[ЕЯ]|Примечани[ея])(?:\s+\d+)?\b"
    r"|[注例]\s?\d{0,2}\s?[:：]|(?:ESEMPI[OE]?|EXEMPLOS?)(?:\s+\d+)?\b|(?:Esempio|Exemplo)(?:\s+\d+)?\s*[:.–—]"
)
"""How notes and examples open; a pattern without groups."""

DENIES_BEFORE = re.compile(r"\b(?:ne\s|n['’]|no\s|non\s|não\s)\s{0,3}\Z")
DENIES_BEHIND = re.compile(r"\b(?:nicht|keinesfalls|niemals|pas|jamais|niet|inte|ej|ikke)\b")
"""What denies a word of force in other languages; English words of force hold it."""
_QUOTED = re.compile(r"„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|»[^«\n]{0,400}«")
_BREAK = re.compile(r"[;:()]|,(?!\d)")
_ASIDE = re.compile(r"\([^()\n]{0,400}\)")
_AND = re.compile(
    r"\b(?:und|oder|aber|sondern|sowie|et|ou|mais|y|e|o|pero|ed|ma|mas|en|of|maar|och|eller|men|samt|og|и|а|но|или)\b"
)
_SEGMENT = 400
"""Characters before and behind a word of force that are looked at; clauses of ordinary documents are shorter."""

_WORDS = {
    "de": re.compile(
        r"\b(?:(?P<requirement>m(?:uss|uß|üssen|üsste|üssten|üsse))"
        r"|(?P<recommendation>soll(?:en|te|ten)?)"
        r"|(?P<permission>d(?:arf|ürfen|ürfe))"
        r"|(?P<possibility>k(?:ann|önnen))"
        r"|(?P<no_duty>brauch(?:t|en)(?=\s+(?:\w{1,20}\s+){0,3}nicht\b))"
        r"|(?P<state>erforderlich|notwendig|verpflichtend|vorgeschrieben|verpflichtet|unzulässig|verboten|untersagt"
        r"|zulässig|erlaubt|gestattet|statthaft|empfohlen|empfehlenswert)"
        r"|(?P<advises>empfiehlt)"
        r"|zu\s+(?P<to>[a-zäöüß]{2,30}n)(?=\s*(?:[.,;:)]|\Z|(?:und|oder|sowie|sein|haben)\b))"
        r"|(?P<into>(?:ab|an|auf|aus|be|bei|bereit|dar|durch|ein|fern|fest|frei|gegen|her|heran|hin|hinzu|mit|nach|nieder"
        r"|sicher|über|um|unter|vor|weg|wieder|zu|zurück|zusammen)zu[a-zäöüß]{2,30}n)"
        r"(?=\s*(?:[.,;:)]|\Z|(?:und|oder|sowie|sein)\b)))\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:(?P<requirement>doi(?:t|vent)|devr(?:a|ont)|faut"
        r"|(?:est|sont|sera|seront)\s+à(?=\s+(?!noter\b|signaler\b|souligner\b|remarquer\b)[a-zéèê]{2,30}(?:er|ir|re)\b))"
        r"|(?P<recommendation>devrai(?:t|ent)|convient)"
        r"|(?P<permission>peut|peuvent|pourr(?:a|ont))"
        r"|(?P<state>tenue?s?|obligatoires?|requise?s?|exigée?s?|nécessaires?|interdite?s?|prohibée?s?"
        r"|autorisée?s?|permise?s?|admise?s?|recommandée?s?))\b",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\b(?:(?P<requirement>debe|deben|deberá|deberán|tienen?(?=\s+que\b)|(?:han?|habr(?:á|án))(?=\s+de\s+\w{1,30}[aeií]r(?:se)?\b)"
        r"|tendr(?:á|án)(?=\s+que\b)|hay(?=\s+que\b))"
        r"|(?P<recommendation>deber[íi]an?|recomiendan?|conviene)"
        r"|(?P<ban>podr(?:á|án))"
        r"|(?P<permission>puede|pueden)"
        r"|(?P<state>obligatori[oa]s?|necesari[oa]s?|prohibid[oa]s?|permitid[oa]s?|autorizad[oa]s?|recomendables?"
        r"|recomendad[oa]s?|requerid[oa]s?)"
        r"|se\s+(?P<impersonal>permiten?|proh[íi]ben?|requieren?|exigen?))\b",
        re.IGNORECASE,
    ),
    "it": re.compile(
        r"\b(?:(?P<requirement>deve|devono|debbono|dovrà|dovranno|occorre|bisogna|va(?:nno)?(?=\s+\w{2,30}(?:at|it|ut)[oaie]\b)"
        r"|(?:è|sono|sarà|saranno)\s+da(?=\s+\w{2,30}(?:are|ere|ire|rsi)\b))"
        r"|(?P<recommendation>dovrebbe(?:ro)?|conviene)"
        r"|(?P<ban>potr(?:à|anno))"
        r"|(?P<permission>può|possono)"
        r"|(?P<state>tenut[oaie]|obbligat[oaie]|obbligatori[oae]?|necessari[oae]?|richiest[oaie]|vietat[oaie]|proibit[oaie]"
        r"|ammess[oaie]|consentit[oaie]|permess[oaie]|autorizzat[oaie]|raccomandat[oaie]|consigliat[oaie])"
        r"|si\s+(?P<impersonal>raccomanda(?:no)?|consiglia(?:no)?|richied(?:e|ono)))\b",
        re.IGNORECASE,
    ),
    "pt": re.compile(
        r"\b(?:(?P<requirement>deve|devem|dever(?:á|ão)|t[eê]m(?=\s+(?:que|de)\s+\w{1,30}[aeio]r(?:-se)?\b))"
        r"|(?P<recommendation>deveriam?|convém|recomendam?)"
        r"|(?P<ban>poder(?:á|ão))"
        r"|(?P<permission>pode|podem)"
        r"|(?P<state>obrigad[oa]s?|obrigatóri[oa]s?|necessári[oa]s?|exigid[oa]s?|requerid[oa]s?|vedad[oa]s?|proibid[oa]s?"
        r"|permitid[oa]s?|autorizad[oa]s?|facultad[oa]s?|recomendad[oa]s?|recomendáve(?:l|is)))\b",
        re.IGNORECASE,
    ),
    **further.WORDS,
}
KEY_WORDS = {
    "de": re.compile(r"\b(?:MUSS|MÜSSEN|DARF|DÜRFEN|SOLL|SOLLTE|SOLLEN|SOLLTEN|KANN|KÖNNEN)\b"),
    "fr": re.compile(r"\b(?:DOIT|DOIVENT|DEVRAIT|DEVRAIENT|PEUT|PEUVENT)\b"),
    "es": re.compile(r"\b(?:DEBE|DEBEN|DEBERÁ|DEBERÁN|DEBERÍA|DEBERÍAN|PUEDE|PUEDEN)\b"),
    "it": re.compile(r"\b(?:DEVE|DEVONO|DOVREBBE|DOVREBBERO|PUÒ|POSSONO)\b"),
    "pt": re.compile(r"\b(?:DEVE|DEVEM|DEVERÁ|DEVERÃO|DEVERIA|DEVERIAM|PODE|PODEM)\b"),
    **further.KEY_WORDS,
}
"""Words of force in capitals, by language."""

_COPULA = {
    "de": re.compile(r"\b(?:ist|sind|wird|werden|bleibt|bleiben|gilt|gelten|sei|seien)\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:est|sont|sera|seront|soit|soient)\b", re.IGNORECASE),
    "es": re.compile(r"\b(?:es|son|será|serán|está|están|queda|quedan)\b", re.IGNORECASE),
    "it": re.compile(r"\b(?:è|sono|sarà|saranno|sia|siano|resta|restano)\b", re.IGNORECASE),
    "pt": re.compile(r"\b(?:é|são|será|serão|seja|sejam|está|estão|fica|ficam)\b", re.IGNORECASE),
}
_DUTY = re.compile(r"\b(?:ist|sind|hat|haben)\b", re.IGNORECASE)
_NOT = {
    "de": re.compile(
        r"\b(?:nicht(?!\s+nur\b)|kein|keine|keinen|keinem|keiner|keines|niemand|nie|niemals|keinesfalls|nirgends|weder"
        r"|keineswegs)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(r"\b(?:ne\b|n['’])(?!\s+pas\s+(?:seulement|que)\b)", re.IGNORECASE),
    "es": re.compile(r"\b(?:no(?!\s+s[óo]lo\b)|nunca|jamás|ning[úu]n|ningun[oa]|nadie|tampoco)\b", re.IGNORECASE),
    "it": re.compile(r"\b(?:non(?!\s+sol(?:o|tanto)\b)|mai|nessun[oa]?|né)\b", re.IGNORECASE),
    "pt": re.compile(r"\b(?:não(?!\s+(?:só|somente|apenas)\b)|nunca|jamais|nenhum[a]?|ninguém|nem)\b", re.IGNORECASE),
}
_ONLY = re.compile(r"\b(?:nur|ausschließlich|lediglich|höchstens|maximal)\b", re.IGNORECASE)
_NO_DUTY = re.compile(
    r"\b(?:kein|keine|keinen|keinem|keiner|nicht(?!\s+(?:nur\b|(?:mehr|weniger|größer|kleiner|höher|länger)\s+als\b"
    r"|[a-zäöü]{1,30}(?:bar|bare|barem|baren|barer|bares|end|ende|endem|enden|ender|endes)\b)))\b",
    re.IGNORECASE,
)
"""What turns "muss" into "need not", but for "aus nicht brennbarem Holz" and "nicht mehr als"."""
_EASY = re.compile(r"\b(?:leicht|leichter|schwer|schwerer|einfach|schwierig|möglich)\s*\Z", re.IGNORECASE)
_BUT = re.compile(r"\bqu(?:e\b|['’])", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:pas|jamais|aucune?|ni|point|nullement)\b", re.IGNORECASE)
_NOBODY = re.compile(r"\b(?:aucune?|nul|nulle|personne|rien)\b", re.IGNORECASE)
_ADVISED_NOT = re.compile(r"\s+(?:\w{1,30}\s+){0,2}de\s+ne\s+pas\b", re.IGNORECASE)
_CONDITION = {
    "de": re.compile(
        r"\W{0,20}(?:wenn|falls|sofern|sobald|solange|soweit|bevor|nachdem|obwohl|weil|da|während|ob|muss|müssen|soll|sollen"
        r"|darf|dürfen|kann|können|ist|sind|wird|werden|hat|haben)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\W{0,20}(?:si|s['’]ils?|lorsqu(?:e|['’])\w*|quand|bien\s+qu(?:e|['’])\w*|puisqu(?:e|['’])\w*|avant\s+qu(?:e|['’])\w*)",
        re.IGNORECASE,
    ),
    "es": re.compile(
        r"\W{0,20}(?:si|cuando|aunque|siempre\s+que|en\s+caso\s+de\s+que|mientras|antes\s+de\s+que)\b", re.IGNORECASE
    ),
    "it": re.compile(
        r"\W{0,20}(?:se|quando|qualora|sebbene|finché|prima\s+che|nel\s+caso\s+in\s+cui)\b", re.IGNORECASE
    ),
    "pt": re.compile(
        r"\W{0,20}(?:se|quando|caso|embora|enquanto|sempre\s+que|antes\s+que|desde\s+que)\b", re.IGNORECASE
    ),
    **further.CONDITION,
}
_SUBORDINATE = re.compile(
    r"\s*(?:(?:in|an|auf|aus|bei|mit|für|von|zu|durch|über|unter|nach)\s+)?(?:die|der|das|den|dem|deren|dessen|denen"
    r"|welche[mnrs]?|wenn|falls|ob|weil|sofern|soweit|sobald|damit|bevor|wo\w{0,10}|wie|was|wer)\b",
    re.IGNORECASE,
)
"""How a German clause begins whose verb stands at its end, but for "dass", which may carry the demand."""


_INSERTED = re.compile(
    r",\s*(?:(?:in|an|auf|aus|bei|mit|für|von|zu|durch|über|unter|nach)\s+)?(?:die|der|das|den|dem|deren|dessen|denen"
    r"|welche[mnrs]?|wenn|falls|sofern|soweit|solange|sobald|bevor|wie|wo|außer|ausgenommen|Ausnahme|abweichend"
    r"|insbesondere|auch|gemessen|bezogen)\b[^,;:]{0,200},(?!\d)",
    re.IGNORECASE,
)
"""What a German clause may have between two commas before it goes on: "darf, wenn Personen anwesend sind, nicht …"."""
_VERB_AT_END = re.compile(r"[a-zäöüß]+n")
_MODALS = frozenset({"müssen", "dürfen", "sollen", "sollten", "können"})


def masked(sentence: str) -> str:
    """Blank what stands in German and French quotation marks; lengths stay."""
    return _QUOTED.sub(lambda match: " " * len(match.group()), sentence)


def forces(sentence: str, code: str, *, capitals: bool = False) -> Iterator[Found]:
    """Find the words of force of a sentence in another language than English, with what each does.

    Args:
        sentence: without what is quoted.
        code: one of `FORCEFUL`.
        capitals: only words in capitals count.
    """
    condition = 0
    if not capitals and _CONDITION[code].match(sentence):
        condition = max(sentence.find(","), 0)
    matches = list(_WORDS[code].finditer(sentence))
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
    """Find the last "and" between two verbs of force, behind which the clause of the second begins."""
    return [match.span() for match in _AND.finditer(sentence, one.end(), other.start())][-1:]


def _clause(sentence: str, match: re.Match[str], code: str, joints: Sequence[tuple[int, int]]) -> tuple[str, str, str]:
    """Cut out what stands before and behind a word in its own clause, and the mark that the clause begins behind.

    What the clause has in parentheses, and in German between two commas, is left out: it goes on behind them.
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
    end = _BREAK.search(after)
    return before[begin:], after[: end.start()] if end else after, mark


def _blanked(text: str, match: re.Match[str]) -> str:
    return text[: match.start()] + " " * len(match.group()) + text[match.end() :]


def _german(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    kind = match.lastgroup or ""
    ends = not after.strip() or after.split(maxsplit=1)[0] in {"und", "oder"}
    if mark == "," and ends and _SUBORDINATE.match(before):
        return None
    clause = f"{before}\n{after}"
    denied = _NOT["de"].search(clause) is not None
    if kind == "permission":
        limits = denied or _ONLY.search(clause) is not None
        return (Modality.REQUIREMENT, denied) if limits else (Modality.PERMISSION, False)
    if kind in {"to", "into"}:
        bound = _DUTY.search(before) is not None and _EASY.search(before) is None
        return (Modality.REQUIREMENT, denied) if bound else None
    if kind == "state":
        if _COPULA["de"].search(clause) is None:
            return None
        restricts = _ONLY.search(before) is not None and further.ALLOWED.search(match.group()) is not None
        return (Modality.REQUIREMENT, denied) if restricts else further.judge_state(match.group(), denied)
    if kind in {"requirement", "no_duty"}:
        free = kind == "no_duty" or _NO_DUTY.search(clause) is not None
        return (Modality.PERMISSION, True) if free else (Modality.REQUIREMENT, False)
    return (Modality.POSSIBILITY if kind == "possibility" else Modality.RECOMMENDATION), denied


def _french(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    del mark
    kind = match.lastgroup or ""
    denied = _NOT["fr"].search(before) is not None
    if denied and _DENIAL.search(after) is None and _NOBODY.search(before) is None and _BUT.search(after):
        denied = False  # "ne doit être utilisé que": only
    if kind == "permission":
        return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
    if kind == "recommendation":
        if match.group().lower() == "convient" and re.search(r"\bil\b", before, re.IGNORECASE) is None:
            return None
        return Modality.RECOMMENDATION, denied or _ADVISED_NOT.match(after) is not None
    if kind == "state":
        return further.judge_state(match.group(), denied) if _COPULA["fr"].search(before) else None
    return Modality.REQUIREMENT, denied


_Judge = Callable[[re.Match[str], str, str, str], tuple[Modality, bool] | None]


def _southern(code: str) -> _Judge:
    """Make the judge of Spanish, Italian or Portuguese, which deny before the verb."""

    def judge(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
        del after, mark
        kind = match.lastgroup or ""
        denied = _NOT[code].search(before) is not None
        if kind == "permission":
            return (Modality.POSSIBILITY, True) if denied else (Modality.PERMISSION, False)
        if kind == "ban":
            return (Modality.REQUIREMENT, True) if denied else (Modality.PERMISSION, False)
        if kind == "recommendation":
            return Modality.RECOMMENDATION, denied
        if kind == "state":
            return further.judge_state(match.group(), denied) if _COPULA[code].search(before) else None
        if kind == "impersonal":
            return further.judge_state(match.group(), denied)
        return Modality.REQUIREMENT, denied

    return judge


def _northern(code: str) -> _Judge:
    def judge(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
        del mark
        return further.judge_northern(code, match, f"{before}\n{after}")

    return judge


def _russian(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    del mark
    return further.judge_russian(match, f"{before}\n{after}")


def _chinese(match: re.Match[str], before: str, after: str, mark: str) -> tuple[Modality, bool] | None:
    del before, after, mark
    return further.judge_chinese(match)


_JUDGES: dict[str, _Judge] = {
    "de": _german,
    "fr": _french,
    **{code: _southern(code) for code in ("es", "it", "pt")},
    **{code: _northern(code) for code in ("nl", "sv", "no", "da")},
    "ru": _russian,
    "zh": _chinese,
}

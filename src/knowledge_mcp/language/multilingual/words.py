"""Words of force in languages other than English, their negations and openings of conditions; used by `force`.

| | requirement | prohibition | recommendation | permission | possibility |
|---|---|---|---|---|---|
| de | muss, hat zu, ist zu | darf nicht, darf nur (restricts) | soll, sollte | darf, muss nicht (no duty) | kann |
| fr | doit | ne doit pas | il convient de, devrait | peut | |
| es | debe, deberá | no debe, no podrá | debería, conviene | puede, podrá | |
| it | deve, dovrà | non deve, non potrà, è vietato | dovrebbe, si raccomanda | può, potrà | |
| pt | deve, deverá | não deve, não poderá, é vedado | deveria, convém | pode, poderá | |
| nl | moet, dient te, verplicht | mag niet, mag alleen | behoort, zou moeten | mag, hoeft niet (no duty) | kan |
| sv | ska, måste, krävs | får inte, är förbjudet | bör | får, behöver inte | kan |
| no | skal, må, kreves | skal ikke, er forbudt | bør, anbefales | kan, trenger ikke | |
| da | skal, kræves | må ikke, er forbudt | bør, anbefales | må, behøver ikke | kan |
| ru | должен, следует, необходимо | не допускается, запрещается | рекомендуется | допускается, может | |
| zh | 应, 必须 | 不应, 不得, 严禁 | 宜 | 可以, 不必 (no duty) | |

German follows DIN 820-2, Russian GOST R 1.5, in which "следует" is a requirement, and Chinese GB/T 1.1.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE
WORDS = {
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
        _I,
    ),
    "fr": re.compile(
        r"\b(?:(?P<requirement>doi(?:t|vent)|devr(?:a|ont)|faut"
        r"|(?:est|sont|sera|seront)\s+à(?=\s+(?!noter\b|signaler\b|souligner\b|remarquer\b)[a-zéèê]{2,30}(?:er|ir|re)\b))"
        r"|(?P<recommendation>devrai(?:t|ent)|convient)"
        r"|(?P<permission>peut|peuvent|pourr(?:a|ont))"
        r"|(?P<state>tenue?s?|obligatoires?|requise?s?|exigée?s?|nécessaires?|interdite?s?|prohibée?s?"
        r"|autorisée?s?|permise?s?|admise?s?|recommandée?s?))\b",
        _I,
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
        _I,
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
        _I,
    ),
    "pt": re.compile(
        r"\b(?:(?P<requirement>deve|devem|dever(?:á|ão)|t[eê]m(?=\s+(?:que|de)\s+\w{1,30}[aeio]r(?:-se)?\b))"
        r"|(?P<recommendation>deveriam?|convém|recomendam?)"
        r"|(?P<ban>poder(?:á|ão))"
        r"|(?P<permission>pode|podem)"
        r"|(?P<state>obrigad[oa]s?|obrigatóri[oa]s?|necessári[oa]s?|exigid[oa]s?|requerid[oa]s?|vedad[oa]s?|proibid[oa]s?"
        r"|permitid[oa]s?|autorizad[oa]s?|facultad[oa]s?|recomendad[oa]s?|recomendáve(?:l|is)))\b",
        _I,
    ),
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
"""Words of force by language; the group name is the kind of the word."""
KEY_WORDS = {
    "de": re.compile(r"\b(?:MUSS|MÜSSEN|DARF|DÜRFEN|SOLL|SOLLTE|SOLLEN|SOLLTEN|KANN|KÖNNEN)\b"),
    "fr": re.compile(r"\b(?:DOIT|DOIVENT|DEVRAIT|DEVRAIENT|PEUT|PEUVENT)\b"),
    "es": re.compile(r"\b(?:DEBE|DEBEN|DEBERÁ|DEBERÁN|DEBERÍA|DEBERÍAN|PUEDE|PUEDEN)\b"),
    "it": re.compile(r"\b(?:DEVE|DEVONO|DOVREBBE|DOVREBBERO|PUÒ|POSSONO)\b"),
    "pt": re.compile(r"\b(?:DEVE|DEVEM|DEVERÁ|DEVERÃO|DEVERIA|DEVERIAM|PODE|PODEM)\b"),
    "nl": re.compile(r"\b(?:MOET|MOETEN|MAG|MOGEN|DIENT|DIENEN|KAN|KUNNEN)\b"),
    "sv": re.compile(r"\b(?:SKA|SKALL|MÅSTE|BÖR|FÅR|KAN)\b"),
    "no": re.compile(r"\b(?:SKAL|MÅ|BØR|KAN)\b"),
    "da": re.compile(r"\b(?:SKAL|MÅ|BØR|KAN)\b"),
    "ru": re.compile(r"\b(?:ДОЛЖЕН|ДОЛЖНА|ДОЛЖНО|ДОЛЖНЫ|СЛЕДУЕТ|МОЖЕТ|МОГУТ)\b"),
    "zh": re.compile(r"(?!)"),
}
"""Words of force in capitals, by language."""
COPULA = {
    "de": re.compile(r"\b(?:ist|sind|wird|werden|bleibt|bleiben|gilt|gelten|sei|seien)\b", _I),
    "fr": re.compile(r"\b(?:est|sont|sera|seront|soit|soient)\b", _I),
    "es": re.compile(r"\b(?:es|son|será|serán|está|están|queda|quedan)\b", _I),
    "it": re.compile(r"\b(?:è|sono|sarà|saranno|sia|siano|resta|restano)\b", _I),
    "pt": re.compile(r"\b(?:é|são|será|serão|seja|sejam|está|estão|fica|ficam)\b", _I),
}
OF_A_NOUN = (
    r"[a-zäöüß]{1,30}(?:(?:bar|end)e[nmrs]?\b"
    r"|(?:lich|ig|isch|sam|haft|los|[a-zäöüß]{4}t|[a-zäöüß]{2}en)e[nmrs]?\s+(?-i:[A-ZÄÖÜ]))"
)
""""nicht" that negates a noun and not the sentence: "nicht brennbarem", "der nicht rauchenden Beschäftigten"."""
NOT = {
    "de": re.compile(
        rf"\b(?:nicht(?!\s+(?:nur\b|{OF_A_NOUN}))|kein|keine|keinen|keinem|keiner|keines|niemand|nie|niemals|keinesfalls|nirgends|weder"
        r"|keineswegs)\b",
        _I,
    ),
    "fr": re.compile(r"\b(?:ne\b|n['’])(?!\s+pas\s+(?:seulement|que)\b)", _I),
    "es": re.compile(r"\b(?:no(?!\s+s[óo]lo\b)|nunca|jamás|ning[úu]n|ningun[oa]|nadie|tampoco)\b", _I),
    "it": re.compile(r"\b(?:non(?!\s+sol(?:o|tanto)\b)|mai|nessun[oa]?|né)\b", _I),
    "pt": re.compile(r"\b(?:não(?!\s+(?:só|somente|apenas)\b)|nunca|jamais|nenhum[a]?|ninguém|nem)\b", _I),
    "nl": re.compile(r"\b(?:niet(?!\salleen\b)|geen|nooit|niemand|nergens|noch)\b", _I),
    "sv": re.compile(r"\b(?:inte(?!\sbara\b)|ej|ingen|inga|inget|aldrig)\b", _I),
    "no": re.compile(r"\b(?:ikke(?!\sbare\b)|ingen|intet|aldri)\b", _I),
    "da": re.compile(r"\b(?:ikke(?!\skun\b)|ingen|intet|aldrig)\b", _I),
}
CONDITION = {
    "de": re.compile(
        r"\W{0,20}(?:wenn|falls|sofern|sobald|solange|soweit|bevor|nachdem|obwohl|weil|da|während|ob|muss|müssen|soll|sollen"
        r"|darf|dürfen|kann|können|ist|sind|wird|werden|hat|haben)\b",
        _I,
    ),
    "fr": re.compile(
        r"\W{0,20}(?:si|s['’]ils?|lorsqu(?:e|['’])\w*|quand|bien\s+qu(?:e|['’])\w*|puisqu(?:e|['’])\w*|avant\s+qu(?:e|['’])\w*)",
        _I,
    ),
    "es": re.compile(
        r"\W{0,20}(?:si|cuando|aunque|siempre\s+que|en\s+caso\s+de\s+que|mientras|antes\s+de\s+que)\b", _I
    ),
    "it": re.compile(r"\W{0,20}(?:se|quando|qualora|sebbene|finché|prima\s+che|nel\s+caso\s+in\s+cui)\b", _I),
    "pt": re.compile(r"\W{0,20}(?:se|quando|caso|embora|enquanto|sempre\s+que|antes\s+que|desde\s+que)\b", _I),
    "nl": re.compile(r"\W{0,20}(?:als|indien|wanneer|zodra|zolang|tenzij|omdat|terwijl|voordat)\b", _I),
    "sv": re.compile(r"\W{0,20}(?:om|när|såvida|medan|innan|ifall|eftersom)\b", _I),
    "no": re.compile(r"\W{0,20}(?:hvis|dersom|når|med\smindre|fordi|mens|før|såfremt)\b", _I),
    "da": re.compile(r"\W{0,20}(?:hvis|såfremt|når|medmindre|fordi|mens|før|dersom)\b", _I),
    "ru": re.compile(r"\W{0,20}(?:если|когда|пока|хотя|прежде\sчем|в\sслучае,?\sесли)\b", _I),
    "zh": re.compile(r"(?!)"),
}

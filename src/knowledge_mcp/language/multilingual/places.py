"""How documents refer to places, in English and other languages: "siehe Abschnitt 4.2"; and numbers of codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields

CODE_NUMBER = r"(?:\d{1,3}|[A-Z]{1,5})(?:\.[A-Z]{1,5}){1,3}\.\d{1,4}[A-Z]?"
"""Numbers of codes with letters between the stops: "21.A.91", "CAT.GEN.100"."""
CODES = re.compile(CODE_NUMBER)
CERTIFICATION = (
    rf"(?:(?:AMC|GM)\d?\s{CODE_NUMBER}"
    r"|(?:CS|JAR|FAR|AMC\d?|GM\d?)[ -](?:\d{2,3}\.\d{3,4}[A-Z]?(?:-\d{1,3})?"
    r"|(?:(?<=see\s\w\w\s)|(?<=with\s\w\w\s)|(?<=under\s\w\w\s))\d{2}\.\d{2})"
    r"|CS-2\d(?:\sAm(?:en)?dm?(?:en)?t\.?\s\d{1,2})?|AMC\s\d{2}-\d{1,3}[A-Z]?|AC\s\d{2,3}(?:\.\d{1,4})?-\d{1,3}[A-Z]?)"
    r"(?!\s?(?:V|A|W|Hz|%))"
)
"""Certification specifications of aviation, what complies with them, and their paragraphs."""


@dataclass(frozen=True, slots=True)
class PlaceWords:
    """How a language refers to places: patterns without groups, which are combined with those of English.

    Attributes:
        parts: words before a clause number after the name of a document.
        clauses: words before a clause number of the same document.
        relative: also words before such a number, but in a document with articles, a number without full stops counts
            the parts of the article: "paragraph 1".
        known: words before a number that is a clause number only if the document has that clause.
        below: words before the number of a part of a clause, after the clause number.
        annexes, tables, figures: words before their numbers.
        see: words before any place.
        leads: further words before a bare clause number; most of them can also precede other numbers.
        joints: words between two numbers.
        units: what makes a number a quantity.
        shows: words after the number of a table or figure that is the subject of a sentence.
        owners: words between a place and the document or law that contains it.
        laws: kinds of laws.
    """

    parts: str = r"[Ss]ections?|SECTIONS?|[Ss]ecs?\.|[Cc]lauses?|CLAUSES?|[Ss]ubclauses?|[Pp]aragraphs?|[Aa]rticles?"
    clauses: str = r"(?:[Cc]lause|[Ss]ubclause|[Ss]ection|[Aa]rticle|CLAUSE|SECTION|ARTICLE)s?|(?:Sec|Art)s?\."
    relative: str = r"(?:[Pp]aragraph|[Ss]ub-?section|[Ss]entence)s?"
    below: str = r"(?:[Ss]ub)?[Pp]aragraphs?|[Pp]oints?|[Ii]tems?|[Ss]entences?|[Ii]ndents?"
    known: str = r"(?:[Cc]hapter|[Pp]art|[Rr]ule|[Rr]egulation|[Rr]equirement)s?|Notes?(?=\s+[A-Z]-\d)"
    annexes: str = r"[Aa]nnex(?:es)?|[Aa]ppendi(?:x|ces)|ANNEX|APPENDIX"
    tables: str = r"(?:[Tt]able|TABLE)s?"
    figures: str = r"(?:[Ff]igure|FIGURE)s?|[Ff]igs?\."
    see: str = r"see|See"
    leads: str = (
        r"in accordance with|specified in|described in|defined in|given in|according to|under|points?|of|by|in|with|to"
    )
    joints: str = r",|and|or|to|through|–"
    units: str = r"seconds|minutes|l(?:/s|/min)?|bar|[kM]?Pa|kN"
    shows: str = (
        r"shows?|gives?|lists?|contains?|is|are|shall|defines?|specif(?:y|ies)|summari[sz]es?|presents?|provides?|appl(?:y|ies)"
        r"|illustrates?|describes?|states?|zeigt|enthält|gibt|gilt|ist|montre|donne|indique|est|muestra|indica|es|mostra|è"
    )
    owners: str = r"(?:of|in|from|to)(?:\s+(?:the\s+)?(?:standard|specification))?"
    laws: str = (
        r"Acts?|Directive|Regulations?|Code|Law|Treaty|Convention|Agreement|Contract|Order|Ordinance|Rules|Constitution"
        r"|Charter|Statutes?|Bill|Decree|Protocol|Decision|Bylaws"
    )


ENGLISH_PLACES = PlaceWords()
_OWN = {
    "de": PlaceWords(
        parts=r"(?:Unter)?[Aa]bschnitt(?:e|en|s)?|Abs\.|Kapiteln?|Kap\.|Artikeln?|Art\.|Absatz|Absätzen?|Ziffern?|Nr\.",
        clauses=r"(?:Unter)?[Aa]bschnitt(?:e|en|s)?|Kapiteln?|Kap\.|Artikeln?|Art\.",
        relative=r"Absatz|Absätzen?|Ziffern?",
        below=r"(?:Unter)?[Aa]bsatz|Absätze|Abs\.|Satz|Sätze|Nummern?|Nr\.|Buchstaben?|Halbsatz",
        known=r"Teil(?:e|en|s)?|Regeln?|Anforderung(?:en)?",
        annexes=r"[Aa]nhangs?|[Aa]nhängen?|[Aa]nhänge|[Aa]nlagen?|ANHANG|ANLAGE",
        tables=r"[Tt]abellen?|Tab\.|TABELLE",
        figures=r"[Bb]ild(?:er|ern|es)?|[Aa]bbildung(?:en)?|Abb\.|BILD",
        see=r"[Ss]iehe|[Ss]\.",
        leads=r"[Gg]emäß|[Nn]ach|entsprechend|laut|[Ii]n|[Vv]on|[Aa]us|[Mm]it|unter|zu",
        joints=r"und|oder|bis|sowie",
        units=r"Sekunden?|Minuten?|Stunden?|Tagen?|Prozent",
        owners=r"(?:(?:in|aus|von|zu)\s+)?der\s+Norm|(?:in|aus|von|zu)\s+(?:der|dem|den)|im|aus|vom|zum|zur|der|des|von|in|zu",
        laws=(
            r"Richtlinie|Verordnung|Gesetze?s?|[A-Z][a-zäöüß]{2,30}(?:gesetz(?:es)?|gesetzbuch(?:e?s)?|ordnung|richtlinie)|Vertrag(?:es|s)?"
            r"|(?:[A-Z][a-zäöüß]{2,20}\s+)?Buch(?:e?s)?(?:\s+Sozialgesetzbuch)?"
        ),
    ),
    "fr": PlaceWords(
        parts=r"[Pp]aragraphes?|[Aa]rticles?|[Cc]hapitres?|[Pp]oints?|[Aa]linéas?",
        clauses=r"[Aa]rticles?|[Cc]hapitres?",
        relative=r"[Pp]aragraphes?|[Pp]oints?|[Aa]linéas?",
        below=r"[Pp]aragraphes?|[Aa]linéas?|[Pp]oints?|[Ll]ettres?",
        known=r"[Pp]arties?|[Ss]ections?|[Rr]ègles?|[Ee]xigences?",
        annexes=r"[Aa]nnexes?|ANNEXE|[Aa]ppendices?",
        tables=r"[Tt]ableaux?|TABLEAU",
        figures=r"[Ff]igures?",
        see=r"[Vv]oir(?:\s+(?:en|au|aux|le|la|les))?",
        leads=(
            r"[Ss]elon|conformément\s+(?:à|au|aux)|conformes?\s+(?:à|au|aux)|[Ee]n|[Aa]ux?"
            r"|à|de|du|des|dans|par"
        ),
        joints=r"et|ou|à|ainsi que",
        units=r"secondes?|minutes?|heures?|jours?",
        owners=r"(?:de|dans|à)\s+(?:la\s+norme|la|l['’])|du|des|de|dans\s+le|au",
        laws=r"[Dd]irective|[Rr]èglement|[Ll]oi|[Cc]ode|[Dd]écret|[Tt]raité|[Aa]rrêté",
    ),
    "es": PlaceWords(
        parts=r"[Aa]partados?|[Aa]rtículos?|[Cc]apítulos?|[Ss]ecci(?:ón|ones)|[Pp]árrafos?|[Pp]untos?|[Nn]umeral(?:es)?",
        clauses=r"[Aa]rtículos?|[Cc]apítulos?|[Ss]ecci(?:ón|ones)|[Nn]umeral(?:es)?",
        relative=r"[Aa]partados?|[Pp]árrafos?|[Pp]untos?",
        below=r"[Aa]partados?|[Pp]árrafos?|[Ll]etras?|[Nn]úmeros?",
        known=r"[Pp]artes?|[Rr]eglas?|[Rr]equisitos?",
        annexes=r"[Aa]nexos?|ANEXO|[Aa]péndices?|APÉNDICE",
        tables=r"[Tt]ablas?|TABLA|[Cc]uadros?",
        figures=r"[Ff]iguras?",
        see=r"[Vv]éan?se(?:\s+(?:en|el|la|los|las))?|[Vv]er",
        leads=(r"[Ss]egún|de\s+acuerdo\s+con|conformes?\s+(?:a|con)|[Ee]n|[Cc]on|[Dd]e|por"),
        joints=r"y|e|o|u|a",
        units=r"segundos?|minutos?|horas?|días?",
        owners=r"(?:de|en|a)\s+(?:la\s+norma|la|el|los|las)|del|de|al",
        laws=r"[Dd]irectiva|[Rr]eglamento|[Ll]ey|[Cc]ódigo|(?:[Rr]eal\s+)?[Dd]ecreto|[Tt]ratado|[Oo]rden",
    ),
    "it": PlaceWords(
        parts=r"[Pp]unt[oi]|[Pp]aragraf[oi]|[Aa]rticol[oi]|[Cc]apitol[oi]|[Ss]ezion[ei]|[Cc]omm[ai]|[Aa]rtt?\.",
        clauses=r"[Aa]rticol[oi]|[Cc]apitol[oi]|[Ss]ezion[ei]|[Pp]aragraf[oi]|[Aa]rtt?\.",
        relative=r"[Cc]omm[ai]|[Pp]unt[oi]",
        below=r"[Cc]omm[ai]|[Pp]unt[oi]|[Ll]etter[ae]|[Pp]eriod[oi]",
        known=r"[Pp]art[ei]|[Rr]egol[ae]|[Rr]equisit[oi]",
        annexes=r"[Aa]ppendic[ei]|[Aa]llegat[oi]|APPENDICE|ALLEGATO",
        tables=r"[Tt]abell[ae]|TABELLA|[Pp]rospett[oi]",
        figures=r"[Ff]igur[ae]",
        see=r"[Vv]eder[ei]|[Vv]edi|[Cc]fr\.",
        leads=r"[Ss]econdo|conformemente\s+(?:a|al|alla)|conform[ei]\s+(?:a|al|alla)|[Ii]n|[Cc]on|[Dd]i|[Dd]a|per|a",
        joints=r"e|ed|o|a",
        units=r"secondi|minuti|or[ae]|giorn[oi]",
        owners=r"(?:della|alla|nella)\s+norma|del|della|dello|dei|di|dal|nel|al",
        laws=r"[Dd]irettiva|[Rr]egolamento|[Ll]egge|[Cc]odice|[Dd]ecreto(?:\s+legislativo)?|[Tt]rattato",
    ),
    "pt": PlaceWords(
        parts=r"[Ss]ubsec?ç(?:ão|ões)|[Ss]ec?ç(?:ão|ões)|[Aa]rtigos?|[Cc]apítulos?|[Pp]arágrafos?|[Ii]te(?:m|ns)|[Pp]ontos?",
        clauses=r"[Aa]rtigos?|[Cc]apítulos?|[Ss]ec?ç(?:ão|ões)|[Ss]ubsec?ç(?:ão|ões)",
        relative=r"[Pp]arágrafos?|[Pp]ontos?|[Nn]úmeros?",
        below=r"[Pp]arágrafos?|[Aa]líneas?|[Ii]ncisos?|[Nn]úmeros?|[Ii]te(?:m|ns)",
        known=r"[Pp]artes?|[Rr]egras?|[Rr]equisitos?",
        annexes=r"[Aa]nexos?|ANEXO|[Aa]pêndices?|APÊNDICE",
        tables=r"[Tt]abelas?|TABELA|[Qq]uadros?",
        figures=r"[Ff]iguras?",
        see=r"[Vv]er|[Vv]eja(?:-se)?",
        leads=r"[Ss]egundo|[Cc]onforme|de\s+acordo\s+com|[Ee]m|[Nn][oa]s?|[Dd][eoa]s?|com|por",
        joints=r"e|ou|a",
        units=r"segundos?|minutos?|horas?|dias?",
        owners=r"(?:da|na)\s+norma|d[oae]s?|n[oa]s?",
        laws=r"[Dd]iretiva|[Rr]egulamento|[Ll]ei|[Cc]ódigo|[Dd]ecreto(?:-[Ll]ei)?|[Tt]ratado|[Pp]ortaria",
    ),
}


def _with_english(own: PlaceWords) -> PlaceWords:
    """Add the English words, which documents in other languages also use."""
    names = [each.name for each in fields(PlaceWords)]
    return PlaceWords(**{name: f"{getattr(own, name)}|{getattr(ENGLISH_PLACES, name)}" for name in names})


PLACE_WORDS = {code: _with_english(own) for code, own in _OWN.items()}
"""By ISO 639-1 code, including the English words."""


def _of_all(name: str) -> str:
    return "|".join(getattr(each, name) for each in (ENGLISH_PLACES, *_OWN.values()))


CLAUSE_WORDS = _of_all("parts")
"""Words before a clause number in any of the languages; a pattern without groups."""

NUMBERED = "|".join(map(_of_all, ("parts", "below", "annexes", "tables", "figures")))
"""Words before the number of any place, in any of the languages; a pattern without groups."""

SECTION_WORDS, BELOW_WORDS, OWNER_WORDS = map(_of_all, ("clauses", "below", "owners"))
"""Words before a clause number, before the number of its parts, and before the owner of a place, in any language."""

CAPTIONED = {"Annex": _of_all("annexes"), "Table": _of_all("tables"), "Figure": _of_all("figures")}
"""Words before the number of an annex, a table, a figure in any of the languages; patterns without groups."""


_LAST_PART = re.compile(r"(?P<rest>(?:.*\.)?[A-Z]{0,2})(?P<part>\d{1,3})")
_PARTS_OF_ADDRESS, _LARGE = 4, 100
"""Parts of an internet address, and a part that is too large for the number of a clause."""
_LONGEST_RANGE = 50
"""Maximum clauses in a range; in longer ones the words join two numbers in another way."""


def numbers_between(one: str, other: str) -> Iterator[str]:
    """Yield the numbers between two that differ in their last part: 5.4 and 5.5 of "5.3 to 5.6"; B of "A to C"."""
    if len(one) == len(other) == 1 and one.isalpha() and other.isalpha():
        yield from map(chr, range(ord(one) + 1, ord(other)))
    first, last = _LAST_PART.fullmatch(one), _LAST_PART.fullmatch(other)
    if first and last and first["rest"] == last["rest"] and int(last["part"]) <= int(first["part"]) + _LONGEST_RANGE:
        yield from (f"{first['rest']}{part}" for part in range(int(first["part"]) + 1, int(last["part"])))


def numbers_of_codes(clauses: Collection[str]) -> set[str]:
    """Return the clause numbers that are references wherever they are: "CS 25.1309", "21.A.91"."""
    return {number for number in clauses if " " in number or CODES.match(number)}


def is_address(number: str) -> bool:
    """Return whether a number has the form of an internet address: four parts, which are too large for a clause."""
    parts = [int(part) for part in number.split(".") if part.isdigit()]
    return len(parts) == _PARTS_OF_ADDRESS and (max(parts) >= _LARGE or min(parts) >= _LARGE // 10)

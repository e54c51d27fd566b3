"""Titles of the clauses that every standard has, as the members of ISO and CEN print them in their languages.

The titles are fixed by these bodies; those in English, German, French and Spanish vary more and are patterns in
`language/clauses.py`.
"""

from __future__ import annotations

_TITLES: dict[str, str] = {
    "references": (
        "riferimenti normativi|bibliografia|referências normativas|referências bibliográficas"
        "|normatieve verwijzingen|bibliografie|literatuur|normativa hänvisningar|normativa referenser|litteratur"
        "|litteraturförteckning|normative referencer|normative henvisninger|normative referanser|bibliografi"
        "|powołania normatywne|нормативные ссылки|библиография|规范性引用文件|参考文献"
        "|引用规格|引用規格|인용표준|참고문헌"
    ),
    "definitions": (
        "termini e definizioni|termini, definizioni e simboli|termini, definizioni, simboli e abbreviazioni"
        "|termini, definizioni e abbreviazioni|definizioni|glossario|termos e definições|termos, definições e símbolos"
        "|termos, definições e abreviaturas|definições|termen en definities|termen, definities en symbolen"
        "|termen, definities en afkortingen|begrippen|definities|termer och definitioner"
        "|termer, definitioner och symboler|termer, definitioner och förkortningar|definitioner|ordlista"
        "|termer og definitioner|termer, definitioner og symboler|termer, definitioner og forkortelser"
        "|termer og definisjoner|termer, definisjoner og symboler|termer, definisjoner og forkortelser|definisjoner"
        "|terminy i definicje|terminy, definicje i symbole|термины и определения|термины, определения и сокращения"
        "|термины, определения и обозначения|определения|术语和定义|术语、定义和缩略语|术语、定义和符号"
        "|术语和缩略语|术语|術語和定義|用語及び定義|용어와 정의|용어 및 정의"
        "|glossário|vocabulário|verklarende woordenlijst|begrippenlijst|ordliste|słownik pojęć|glosariusz"
        "|глоссарий|термины и сокращения|определения и сокращения|список терминов|用語集|词汇表|术语表|용어집"
    ),
    "abbreviations": (
        "abbreviazioni|simboli e abbreviazioni|simboli e termini abbreviati"
        "|abreviaturas e siglas|símbolos e abreviaturas"
        "|siglas|afkortingen|symbolen en afkortingen|förkortningar|symboler och förkortningar|forkortelser"
        "|symboler og forkortelser|symbole i skróty|symboles et termes abrégés|termes abrégés|términos abreviados"
        "|símbolos y términos abreviados|сокращения|обозначения и сокращения|缩略语|符号和缩略语|略語"
    ),
    "overview": (
        "scopo e campo di applicazione|scopo|campo di applicazione|escopo|objetivo e campo de aplicação|objetivo"
        "|onderwerp en toepassingsgebied|toepassingsgebied|omfattning|tillämpningsområde|anvendelsesområde|omfang"
        "|zakres normy|область применения|范围|範囲|適用範囲|적용범위"
    ),
}
_FRONT = (
    "premessa|premessa europea|premessa nazionale|prefazione|introduzione|indice|prefácio|preâmbulo|introdução|sumário"
    "|voorwoord|europees voorwoord|nationaal voorwoord|inleiding|inhoud|inhoudsopgave|förord|europeiskt förord"
    "|nationellt förord|orientering|inledning|innehåll|forord|europæisk forord|europeisk forord|nationalt forord"
    "|nasjonalt forord|indledning|innledning|introduktion|orientering|indhold|indholdsfortegnelse|innhold"
    "|przedmowa|wprowadzenie|spis treści|предисловие|введение|содержание|前言|引言|目次|目录|まえがき|序文|머리말|서문"
)
_ROLES = {title: role for role, titles in _TITLES.items() for title in titles.split("|")}
FRONT_TITLES = frozenset(_FRONT.split("|"))
"""Titles of forewords, introductions and contents, in lower case."""


def without_blanks(title: str) -> str:
    """Remove the blanks that Chinese and Japanese standards print between the characters of short titles: "前 言"."""
    return title if title.isascii() or any(mark < "\u3040" for mark in title if mark != " ") else title.replace(" ", "")


def role_elsewhere(title: str) -> str | None:
    """Return what a clause is for by its title in lower case: a value of `SectionRole`; None if no title is known."""
    bare = without_blanks(title)
    return "overview" if bare in FRONT_TITLES else _ROLES.get(bare)

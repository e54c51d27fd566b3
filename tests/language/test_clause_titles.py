"""The clauses that every standard has are known by their titles in the languages of the members of ISO and CEN."""

from __future__ import annotations

import re

import pytest

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE

_FOREWORD, _TERMS, _RULES, _TERM, _MEANING, _NOTE, _ORIGIN, _RULE = range(8)
_PRINTED = {
    "it": ("Premessa", "Termini e definizioni", "Requisiti", "valvola a sfera", "valvola con un otturatore sferico",
           "Nota 1 alla voce: La sfera può essere forata.", "[FONTE: ISO 1:2020, 3.2]",
           "La valvola deve essere marcata con la portata."),
    "nl": ("Voorwoord", "Termen en definities", "Eisen", "kogelkraan", "afsluiter met een kogelvormig orgaan",
           "Opmerking 1 bij de term: De kogel kan hol zijn.", "[BRON: ISO 1:2020, 3.2]",
           "De kraan moet sluiten."),
    "sv": ("Förord", "Termer och definitioner", "Krav", "kulventil", "ventil med ett kulformat organ",
           "Anm. 1 till termpost: Kulan kan vara borrad.", "[KÄLLA: ISO 1:2020, 3.2]",
           "Ventilen ska vara märkt."),
    "da": ("Forord", "Termer og definitioner", "Krav", "kugleventil", "ventil med et kugleformet organ",
           "Note 1 til term: Kuglen kan være boret.", "[KILDE: ISO 1:2020, 3.2]",
           "Ventilen skal være mærket af fabrikanten, og den må ikke være utæt."),
    "pt": ("Prefácio", "Termos e definições", "Requisitos", "válvula de esfera", "válvula com um obturador esférico",
           "Nota 1 à entrada: A esfera pode ser furada.", "[FONTE: ISO 1:2020, 3.2]",
           "A válvula não deve ser aberta sem uma licença do fabricante e as instruções são para o uso."),
    "ru": ("Предисловие", "Термины и определения", "Требования", "шаровой кран", "арматура с шаровым затвором",
           "Примечание 1: Шар может быть полым.", "[ИСТОЧНИК: ISO 1:2020, 3.2]",
           "Кран должен иметь маркировку."),
    "zh": ("前 言", "术语和定义", "要求", "球阀 ball valve", "带有球形启闭件的阀门",
           "注 1：球体可以是空心的。", "［来源：ISO 1:2020，3.2］", "阀门应有标志。"),
}  # fmt: skip


@pytest.mark.parametrize("language", _PRINTED)
def test_terms_and_rules_of_a_standard_are_found_by_its_titles(language: str) -> None:
    words = _PRINTED[language]
    text = (
        f"# {words[_FOREWORD]}\n\n{words[_RULE]}\n\n# 3 {words[_TERMS]}\n\n3.1\n\n{words[_TERM]}\n\n"
        f"{words[_MEANING]}\n\n{words[_NOTE]}\n\n{words[_ORIGIN]}\n\n# 4 {words[_RULES]}\n\n{words[_RULE]}\n"
    )
    document = MarkdownReader(sandbox=HERE).read(content_item(text.encode(), "a.md", "text/markdown"))
    found = find_definitions(document)
    assert [(each.term, each.text, each.clause_number, each.notes) for each in found] == [
        (words[_TERM], words[_MEANING], "3.1", (words[_NOTE],))
    ]
    assert re.fullmatch("ISO 1:2020[,，] ?3.2", found[0].origin)
    stated = find_statements(document, exempt=[each.span for each in found])
    assert [(each.clause_number, each.text) for each in stated] == [("4", words[_RULE])]


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("Riferimenti normativi", SectionRole.REFERENCES),
        ("规范性引用文件", SectionRole.REFERENCES),
        ("Termer og definisjoner", SectionRole.DEFINITIONS),
        ("用語及び定義", SectionRole.DEFINITIONS),
        ("Apêndice A: Glossário", SectionRole.DEFINITIONS),
        ("Приложение A: Термины и сокращения", SectionRole.DEFINITIONS),
        ("Symboles et termes abrégés", SectionRole.ABBREVIATIONS),
        ("Onderwerp en toepassingsgebied", SectionRole.OVERVIEW),
        ("范 围", SectionRole.OVERVIEW),
        ("Europees voorwoord", SectionRole.OVERVIEW),
        ("Termini di consegna", SectionRole.BODY),
        ("Scopo della prova", SectionRole.BODY),
    ],
)
def test_a_title_says_what_its_clause_is_for(title: str, role: SectionRole) -> None:
    assert role_of_title(title) is role

"""Terms clauses and references of German, French and Spanish documents are read as English ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.glossaries import measure
from benchmarks.glossary_forms import ELSEWHERE, made_elsewhere
from knowledge_mcp.language.glossary.terms import TermsClause
from knowledge_mcp.language.references import find_references

_CLAUSES = {"3", "4", "4.1", "4.2"}


@pytest.mark.parametrize(
    ("language", "text", "targets"),
    [
        ("de", "siehe Abschnitt 4.2 und Anhang A", ["4.2", "Annex A"]),
        ("de", "Das steht in ANLAGE B.", ["Annex B"]),
        (
            "de",
            "Die Prüfung muss nach 4.1 durchgeführt werden (siehe Tabelle 2 und Bild 3).",
            ["4.1", "Table 2", "Figure 3"],
        ),
        ("de", "Abschnitt 4.2 der ISO 4126-1:2013 gilt.", ["ISO 4126-1:2013 4.2"]),
        ("de", "Artikel 5 der Richtlinie 2014/68/EU gilt.", ["Richtlinie 2014/68/EU 5"]),
        ("de", "in 4.2 Sekunden", []),
        ("fr", "voir le paragraphe 4.2 et l’Annexe A", ["4.2", "Annex A"]),
        ("fr", "conformément à l’ISO 9001:2015, 7.3", ["ISO 9001:2015 7.3"]),
        ("fr", "l’article 5 de la Directive 2014/68/UE s’applique", ["Directive 2014/68/UE 5"]),
        ("fr", "conformément au 4.1 et selon 4.2, voir le Tableau 2", ["4.1", "4.2", "Table 2"]),
        ("fr", "l’article 4.2 de la norme NF EN 1990 s’applique", ["NF EN 1990 4.2"]),
        ("de", "Abschnitt 4.2 der Norm DIN EN 12464-1 gilt.", ["DIN EN 12464-1 4.2"]),
        ("es", "el apartado 4.2 de la norma UNE-EN 1990 se aplica", ["UNE-EN 1990 4.2"]),
        ("es", "Section 4.2 of the standard ISO 4126-1:2013", ["ISO 4126-1:2013 4.2"]),
        ("fr", "un débit de 4.2 l/s", []),
        ("es", "véase el apartado 4.2 y el Anexo A", ["4.2", "Annex A"]),
        ("es", "EL APÉNDICE B ES INFORMATIVO", ["Annex B"]),
        ("pt", "O APÊNDICE B É INFORMATIVO", ["Annex B"]),
        ("es", "según 4.1, véanse la Tabla 2 y la Figura 3", ["4.1", "Table 2", "Figure 3"]),
        ("es", "el apartado 4.2 de la ISO 4126-1:2013 se aplica", ["ISO 4126-1:2013 4.2"]),
    ],
)
def test_references_are_found_in_their_own_words(language: str, text: str, targets: list[str]) -> None:
    assert [each.target for each in find_references(text, clauses=_CLAUSES, language=language)] == targets


def test_words_of_another_language_lead_nowhere() -> None:
    assert find_references("siehe Abschnitt 4.2, von 4.2", clauses=_CLAUSES) == []


@pytest.mark.parametrize("name", [form.name for forms in ELSEWHERE.values() for form in forms])
def test_terms_are_found_with_their_whole_definitions_in_every_format(name: str, tmp_path: Path) -> None:
    language, form = next((code, form) for code, forms in ELSEWHERE.items() for form in forms if form.name == name)

    for kind, counts in measure(form, made_elsewhere(language, 30), tmp_path):
        expected = (counts["entries"], counts["named"], counts["sourced"], counts["noted"])
        assert (counts["found"], counts["names"], counts["sources"], counts["notes"]) == expected, kind
        assert counts["false"] == 0, kind


def test_parts_of_a_german_terms_clause_are_no_terms() -> None:
    clause = TermsClause()
    clause.heading("3", "Begriffe", 1)

    assert clause.opens("3.1 Grobventil") == ("3.1", "Grobventil", 2)
    assert clause.opens("3.2 Begriffe zu Ventilen") is None
    assert clause.opens("3.1 Allgemeines") is None

    clause.heading("4", "Terms and definitions", 1)
    assert clause.opens("4.1 General requirements") is None

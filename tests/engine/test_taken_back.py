"""Evidence that repeats a demand and takes something back: a condition, an exception, a hedge, some for all."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.tracing.opposing import retraction
from knowledge_mcp.lexical.analyser import EnglishAnalyser

TERMS = EnglishAnalyser().document_terms
PUMPS = "All pumps shall be tested and recorded every month by a trained person."
PUMPEN = "Der Betreiber muss alle Pumpen und die Ventile im Keller jeden Monat prüfen und warten."
POMPES = "L'exploitant doit contrôler toutes les pompes et les vannes de la cave chaque mois."
BOMBAS = "El titular debe comprobar todas las bombas y las válvulas del sótano cada mes."


@pytest.mark.parametrize(
    ("demand", "quote", "found"),
    [
        (PUMPS, PUMPS.replace("person", "person, if the owner asks for it"), "if the owner asks for it"),
        (PUMPS, PUMPS.replace("shall", "shall, if they are small,"), "if they are small"),
        (PUMPS, PUMPS.replace("shall", "shall, if small,").replace("tested and", "emptied, filled and"), "if small"),
        (PUMPEN, PUMPEN.replace("warten", "warten, wenn ein Mieter es verlangt"), "wenn ein Mieter es verlangt"),
        (POMPES, POMPES.replace("mois", "mois, si un locataire le demande"), "si"),
        (BOMBAS, BOMBAS.replace("mes.", "mes, si un inquilino lo solicita."), "si"),
    ],
)
def test_a_condition_that_the_demand_does_not_have_takes_something_back(demand: str, quote: str, found: str) -> None:
    taken = retraction(demand, quote, TERMS)
    assert taken is not None
    assert (taken.asked, taken.found, taken.is_opposite) == ("always", found, False)


@pytest.mark.parametrize(
    ("demand", "quote"),
    [
        (PUMPS, PUMPS.replace("person", "person, except in small plants")),
        (PUMPEN, PUMPEN.replace("warten", "warten, außer in kleinen Anlagen")),
        (POMPES, POMPES.replace("mois", "mois, sauf dans les petites installations")),
        (POMPES, POMPES.replace("mois", "mois, à moins qu'un accord ne le remplace")),
        (BOMBAS, BOMBAS.replace("mes.", "mes, salvo en las instalaciones pequeñas.")),
        (PUMPS, PUMPS.replace("shall", "shall usually")),
        (PUMPS, PUMPS.replace("every month", "every month to the extent practicable")),
        (PUMPEN, PUMPEN.replace("muss", "muss nach Möglichkeit")),
        (POMPES, POMPES.replace("doit", "doit généralement")),
        (BOMBAS, BOMBAS.replace("debe", "debe, en la medida de lo posible,")),
    ],
)
def test_an_exception_or_a_hedge_that_the_demand_does_not_have_takes_something_back(demand: str, quote: str) -> None:
    assert retraction(demand, quote, TERMS) is not None


@pytest.mark.parametrize(
    ("demand", "quote", "asked", "found"),
    [
        (PUMPS, PUMPS.replace("All", "Some"), "All", "Some"),
        (PUMPS, PUMPS.replace("tested and", "tested or"), "and", "or"),
        (PUMPS, PUMPS.replace("shall", "may"), "shall", "may"),
        (PUMPEN, PUMPEN.replace("alle", "einige"), "alle", "einige"),
        (PUMPEN, PUMPEN.replace("muss", "kann"), "muss", "kann"),
        (POMPES, POMPES.replace("toutes les", "certaines"), "toutes les", "certaines"),
        (BOMBAS, BOMBAS.replace("bombas y", "bombas o"), "y", "o"),
    ],
)
def test_a_weaker_word_in_the_same_place_takes_something_back(demand: str, quote: str, asked: str, found: str) -> None:
    taken = retraction(demand, quote, TERMS)
    assert taken is not None
    assert (taken.asked, taken.found) == (asked, found)


@pytest.mark.parametrize(
    ("demand", "quote"),
    [
        (PUMPEN, PUMPEN.replace("muss", "darf nicht")),
        ("The room shall not be locked at night.", "The room shall be locked at night."),
        ("Leavers must not keep their badge for 5 days.", "Leavers must keep their badge for 5 days."),
    ],
)
def test_a_denial_on_one_side_is_the_opposite(demand: str, quote: str) -> None:
    taken = retraction(demand, quote, TERMS)
    assert taken is not None
    assert taken.is_opposite


@pytest.mark.parametrize(
    ("demand", "quote"),
    [
        (PUMPS, PUMPS),
        (PUMPS, PUMPS.replace("shall be", "are")),
        (PUMPS, PUMPS.replace("shall", "must").replace("every month", "every week")),
        (PUMPS, PUMPS.replace("person", "person in order to protect the public")),
        (PUMPS, PUMPS.replace("person", "person and, if a fault is found, repaired at once")),
        (PUMPS, PUMPS.replace("person", "person, except as otherwise provided in this Section")),
        (PUMPS.replace("shall", "may"), PUMPS.replace("All", "Some")),
        ("Pumps that run shall be tested, where fitted.", "Pumps that run shall be tested, if fitted."),
        ("The record shall be kept.", "The record shall be kept by the team that usually meets on Monday morning."),
        ("If no key is given, it shall not open.", "It shall not open if no key is given."),
        (PUMPEN, PUMPEN.replace("warten", "warten und bei Bedarf ersetzen")),
        (PUMPS, PUMPS.replace("person", "person, even if the plant is closed")),
        (PUMPS, PUMPS.replace("person", "person wherever they are installed")),
        (PUMPEN, PUMPEN.replace("warten", "warten, auch wenn das Werk geschlossen ist")),
        (POMPES, POMPES.replace("mois", "mois, même si l'usine est fermée")),
        (BOMBAS, BOMBAS.replace("mes.", "mes, aunque la planta esté cerrada.")),
    ],
)
def test_other_words_take_nothing_back(demand: str, quote: str) -> None:
    assert retraction(demand, quote, TERMS) is None

"""Limits as sentences of several trades and languages set them, deny them and leave them open."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.quantities.limits import limits_in


def limits_of(sentence: str) -> list[str]:
    """List the limits with values in base units, without those that are exact."""
    return [
        f"{each.bound.value} {each.value:.6g} {each.unit}".strip()
        for each in limits_in(sentence)
        if each.bound.value != "exactly"
    ]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Zone 2 at least 50 lx and zone 3 at least two lamps.", ["at least 50 lx", "at least 2 lamp"]),
        ("Typ 2 darf höchstens 5 kg wiegen.", ["at most 5000 g"]),
        ("Steps shall be 150 mm min 180 mm max.", ["at least 0.15 m", "at most 0.18 m"]),
        ("A floor 60 inches (1525 mm) wide minimum is kept.", ["at least 1.524 m"]),
        ("Feed at 12 kPa, 36 inches (915 mm) or more.", ["at least 0.9144 m"]),
    ],
)
def test_the_words_of_a_limit_belong_to_the_nearest_number(sentence: str, found: list[str]) -> None:
    assert limits_of(sentence) == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("It shall be not less than 900 mm nor more than 1.2 m.", ["at least 0.9 m", "at most 1.2 m"]),
        ("It shall not be less than 5 V nor more than 9 V.", ["at least 5 V", "at most 9 V"]),
        ("It shall not exceed 5 mA (9 A in the fault condition).", ["at most 0.005 A", "at most 9 A"]),
        ("It is closed, provided that no single spacing exceeds 10 m.", ["at most 10 m"]),
        ("Nothing heavier than 5 kg is hung on it.", ["at most 5000 g"]),
        ("It shall have no parts that exceed 60 °C.", ["at most 60 °C"]),
        ("It shall not be allowed to exceed 60 °C.", ["at most 60 °C"]),
        ("It runs without exceeding 60 °C.", ["at most 60 °C"]),
        ("Doors do not reduce the width of the exit stairs to less than 750 mm.", ["at least 0.75 m"]),
        ("Lengths of more than 45 m are not permitted.", ["at most 45 m"]),
        ("Ducts longer than 45 m are not used with more than 3 bends.", ["at least 45 m", "at most 3 bend"]),
        ("A value of 50 mg/l shall not be exceeded.", ["at most 50 g/m³"]),
        ("It shall not be exceeded by more than 10 %.", ["at most 10 %"]),
        ("It is refused if it is not paid within 10 days.", ["at most 864000 s"]),
        ("It shall not open unless the pressure exceeds 5 bar.", ["at least 500000 Pa"]),
        ("It is given no later than 30 days before the test.", ["at least 2.592e+06 s"]),
        ("Der Wert von 5 °C darf nicht unterschritten werden.", ["at least 5 °C"]),
        ("Die Last darf 50 Prozent der Traglast nicht überschreiten.", ["at most 50 %"]),
        ("Die Leitung darf nicht größer sein als 100 m.", ["at most 100 m"]),
        ("Die Abweichungen über 5 mm sind unzulässig.", ["at most 0.005 m"]),
        ("La pression ne doit pas excéder 10 bar.", ["at most 1e+06 Pa"]),
        ("La surface n'excède pas 10 % de la superficie.", ["at most 10 %"]),
        ("La largeur du passage n'est pas inférieure à 0,90 mètre.", ["at least 0.9 m"]),
        ("Elle avance sans que la pente puisse dépasser 5 %.", ["at most 5 %"]),
        ("La anchura de la puerta no será inferior a 90 cm.", ["at least 0.9 m"]),
        ("La temperatura no debe superar los 60 °C en la sala.", ["at most 60 °C"]),
        ("La anchura de la puerta debe ser mayor o igual a 90 cm.", ["at least 0.9 m"]),
    ],
)
def test_a_negation_turns_the_limit_of_its_clause(sentence: str, found: list[str]) -> None:
    assert limits_of(sentence) == found


@pytest.mark.parametrize(
    "sentence",
    [
        "The door need not be wider than 900 mm.",
        "It is not necessary to provide more than 3 exits.",
        "The value does not have to be more than 5 mm.",
        "There are no requirements for tanks of more than 5 m³.",
        "Das Maß braucht 90 cm nicht zu überschreiten.",
    ],
)
def test_what_is_not_required_sets_no_limit(sentence: str) -> None:
    assert limits_in(sentence) == ()


def test_what_may_not_be_exceeded_is_a_limit() -> None:
    assert limits_of("It may not exceed 2 mm.") == ["at most 0.002 m"]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("A gap of 50 mm or 10 % of the span, whichever is greater, is kept.", ["at least 0.05 m", "at least 10 %"]),
        ("The lesser of 50 mm or 10 % of the span is kept.", []),
        ("It deviates by at most 5 mm or 2 %, whichever is greater.", []),
        ("It deviates by at most 5 mm or 2 %, whichever is less.", ["at most 0.005 m", "at most 2 %"]),
        ("Es sind 5 m oder 3 % vorzusehen, je nachdem, welcher Wert größer ist.", ["at least 5 m", "at least 3 %"]),
    ],
)
def test_a_choice_leaves_the_limits_that_hold_either_way(sentence: str, found: list[str]) -> None:
    assert limits_of(sentence) == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The pipe has 10-20 mm.", ["at least 0.01 m", "at most 0.02 m"]),
        ("The pipe has from 10 mm up to 20 mm.", ["at least 0.01 m", "at most 0.02 m"]),
        ("It is between 34 in. and 38 in. high.", ["at least 0.8636 m", "at most 0.9652 m"]),
        ("It is kept between -5 °C and -20 °C.", ["at most -5 °C", "at least -20 °C"]),
        ("It fell from 25 min to 2 min.", []),
        ("Use 5 to 10 l per person.", ["at least 0.005 m³/person", "at most 0.01 m³/person"]),
        ("Ein Abstand bis 5 mm, ab 3 kg und bis 3. Januar.", ["at most 0.005 m", "at least 3000 g"]),
        ("The tolerance is ±0.5 mm.", ["at most 0.0005 m"]),
        ("It deviates by no more than ±2 %.", ["at most 2 %"]),
        ("The shaft has 25 +0,2 −0,1 mm.", ["at least 0.0249 m", "at most 0.0252 m"]),
        ("The gauge is 1435 mm (+10/-5 mm).", ["at least 1.43 m", "at most 1.445 m"]),
        ("The supply is 24 V DC −15 %/+20 %.", ["at least 20.4 V", "at most 28.8 V"]),
        ("In class 5, -20 °C and +50 °C occur.", []),
    ],
)
def test_ranges_and_tolerances_have_both_ends(sentence: str, found: list[str]) -> None:
    assert limits_of(sentence) == found


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("at most 0.24 W/(m²K)", "at most 0.24 W/K·m²"),
        ("at most 0.24 W/m2K", "at most 0.24 W/K·m²"),
        ("at most 6 l/min per m²", "at most 0.0001 m³/m²·s"),
        ("at most 30 m³/h je Person", "at most 0.00833333 m³/person·s"),
        ("at most 5 newtons per square metre", "at most 5 Pa"),
        ("at most 1e-6 Pa m3/s", "at most 1e-06 Pa·m3/s"),
        ("at most 36 km/ h", "at most 10 m/s"),
        ("at most 130 mm Hg", "at most 17331.9 Pa"),
        ("at most 45 N m", "at most 45 Nm"),
        ("La surface est supérieure à 500 mètres carrés.", "at least 500 m²"),
        ("at most 5 mm per EN 123", "at most 0.005 m"),
        ("at least 1'500 l", "at least 1.5 m³"),
        ("Store it at minus 20 °C or below.", "at most -20 °C"),
        ("Es wird bei –18 °C oder weniger gelagert.", "at most -18 °C"),
        ("Il est déclaré dans un délai de vingt-quatre heures.", "at most 86400 s"),
        ("El plazo de la obra será como máximo de treinta y seis meses.", "at most 36 month"),
    ],
)
def test_values_have_their_whole_unit_and_number(sentence: str, found: str) -> None:
    assert limits_of(sentence) == [found]

"""Numbers of a sentence in base units, each with whether it is a least, a most, or the value itself."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.quantities.limits import limits_in
from knowledge_mcp.language.quantities.reading import quantities


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        (
            "Levels shall not exceed 10, 20 and 40 mg/m³ in turn.",
            [(0.01, "g/m³", "at most"), (0.02, "g/m³", "at most"), (0.04, "g/m³", "at most")],
        ),
        (
            "Die Werte von 10, 20 und 40 g dürfen nicht überschritten werden.",
            [(10.0, "g", "at most"), (20.0, "g", "at most"), (40.0, "g", "at most")],
        ),
        ("It is tested at least once annually.", [(12.0, "month", "at most")]),
        ("Es ist mindestens zweimal jährlich zu prüfen.", [(6.0, "month", "at most")]),
        ("It has at least 5 dB, 3 dB being usual.", [(5.0, "dB", "at least"), (3.0, "dB", "exactly")]),
        ("The fee shall not exceed EUR 1.250,50 a day.", [(1250.5, "€", "at most")]),
        ("The fee shall not exceed $5 per person.", [(5.0, "$/person", "at most")]),
        ("The pump shall stop within 2 seconds.", [(2.0, "s", "at most")]),
        ("It shall respond in no more than 200 ms.", [(0.2, "s", "at most")]),
        ("Noise shall not exceed 70 dB(A) at night.", [(70.0, "dBA", "at most")]),
        ("A password has at least 12 characters.", [(12.0, "character", "at least")]),
        ("It serves 1,000 users or more.", [(1000.0, "user", "at least")]),
        ("Keep 10 or more copies.", [(10.0, "", "at least")]),
        ("between 5 and 10 V", [(5.0, "V", "at least"), (10.0, "V", "at most")]),
        ("from -20 °C to 50 °C", [(-20.0, "°C", "at least"), (50.0, "°C", "at most")]),
        ("up to 55 degrees Celsius, not 130 deg F", [(55.0, "°C", "at most"), (130.0, "°F", "exactly")]),
        ("after two attempts", [(2.0, "attempt", "exactly")]),
        ("The cable is 1.5 km long.", [(1500.0, "m", "exactly")]),
        ("A file has ≤ 4 MiB.", [(4 * 1024.0**2, "B", "at most")]),
        ("It is not less than 900 mm wide.", [(0.9, "m", "at least")]),
        ("It is no fewer than 3 or not more than 9 beds.", [(3.0, "", "at least"), (9.0, "bed", "at most")]),
        ("It is not more than or equal to 5 V.", [(5.0, "V", "at most")]),
        ("A life greater than or equal to 10 000 h.", [(36_000_000.0, "s", "at least")]),
        ("A mass of 1 200,5 g, max. 1,500 kg", [(1200.5, "g", "exactly"), (1_500_000.0, "g", "at most")]),
        ("at the most 1,1 m, min. 0,125 m", [(1.1, "m", "at most"), (0.125, "m", "at least")]),
        ("It stops within 5 min 30 s.", [(330.0, "s", "at most")]),
        (
            "5 mm to 10 mm or 3–4 m",
            [(0.005, "m", "at least"), (0.01, "m", "at most"), (3, "m", "at least"), (4, "m", "at most")],
        ),
        ("at most 40ᵃ mm, 12.5 mmᵇ⁾", [(0.04, "m", "at most"), (0.0125, "m", "exactly")]),
        ("5 mm¹⁾ and 10²⁾ V", [(0.005, "m", "exactly"), (10, "V", "exactly")]),
        ("5 m²", [(5, "m²", "exactly")]),
        ("5 \u2126", [(5, "Ω", "exactly")]),
        ("1 MΩ, 10 kΩ and 5 mOhm", [(1e6, "Ω", "exactly"), (1e4, "Ω", "exactly"), (0.005, "Ω", "exactly")]),
        (
            "5 m², 5 cm2, 5 m³ and 5 l",
            [(5, "m²", "exactly"), (5e-4, "m²", "exactly"), (5, "m³", "exactly"), (0.005, "m³", "exactly")],
        ),
        ("2 kN/m², 2 kN/m and 2 m/s²", [(2000, "Pa", "exactly"), (2000, "N/m", "exactly"), (2, "m/s²", "exactly")]),
        ("36 km/h and 5 N·m", [(10, "m/s", "exactly"), (5, "Nm", "exactly")]),
        ("10⁻⁶ s, 5 × 10^-6 s, 1e-6 s", [(1e-6, "s", "exactly"), (5e-6, "s", "exactly"), (1e-6, "s", "exactly")]),
        ("2^24.5 bytes and 10^3.5 m", [(2**24.5, "B", "exactly"), (10**3.5, "m", "exactly")]),
        ("1/2 inch and 1 1/2 inches", [(0.0127, "m", "exactly"), (0.0381, "m", "exactly")]),
        ("5 M, 5 G and 5 per cent", [(5, "M", "exactly"), (5, "G", "exactly"), (5, "%", "exactly")]),
        ("See clause 4.2 of IEC 61508 and RFC 2119.", []),
        ("Use SHA256 and part A4.", []),
    ],
)
def test_numbers_have_unit_and_bound(sentence: str, found: list[tuple[float, str, str]]) -> None:
    read = [(each.value, each.unit, each.bound.value) for each in quantities(sentence)]
    assert [each[1:] for each in read] == [each[1:] for each in found]
    assert [each[0] for each in read] == pytest.approx([each[0] for each in found])


def test_the_words_that_make_a_limit_belong_to_its_place() -> None:
    sentence = "The valve shall close in 3 s or more, not less."
    (only,) = quantities(sentence)
    assert sentence[only.start : only.end] == "3 s or more"


def test_a_quantity_says_what_is_printed() -> None:
    least, most = quantities("It shall bear between 5 and 10 kN/m².")
    assert (str(least), str(most)) == ("at least 5 kN/m²", "at most 10 kN/m²")


@pytest.mark.parametrize(
    ("sentence", "limits"),
    [
        ("Der Flur muss mindestens 1.500 mm breit sein.", [("at least 1.500 mm", 1.5)]),
        ("Die Pumpe darf höchstens 2,5 s laufen und ist zu prüfen.", [("at most 2,5 s", 2.5)]),
        ("Der Spalt darf 5 mm nicht überschreiten.", [("at most 5 mm", 0.005)]),
        ("Die Höhe darf 2,100 m nicht unterschreiten und ist zu messen.", [("at least 2,100 m", 2.1)]),
        ("Die Pumpe darf nicht länger als 5 min trocken laufen.", [("at most 5 min", 300)]),
        (
            "Der Wert darf 40 °C nicht überschreiten und muss mindestens 5 °C sein.",
            [("at most 40 °C", 40), ("at least 5 °C", 5)],
        ),
        ("La largeur doit être d'au moins 1 500 mm et le couloir est libre.", [("at least 1 500 mm", 1.5)]),
        ("La pompe ne doit pas fonctionner plus de 5 s dans la zone.", [("at most 5 s", 5)]),
        ("La presión no debe ser superior a 1.500 kPa en el tubo.", [("at most 1.500 kPa", 1_500_000)]),
        ("La distancia no debe ser inferior a 2 m entre las filas.", [("at least 2 m", 2)]),
        ("The gap shall be at least 1.500 mm wide and the wall is dry.", [("at least 1.500 mm", 0.0015)]),
        ("The gap shall be at least 1,500 mm wide and the wall is dry.", [("at least 1,500 mm", 1.5)]),
    ],
)
def test_limits_in_other_languages_with_their_commas_and_points(sentence: str, limits: list[tuple[str, float]]) -> None:
    assert [(str(each), pytest.approx(each.value)) for each in limits_in(sentence)] == limits


def test_a_few_words_are_read_in_the_language_that_is_told() -> None:
    assert [each.value for each in quantities("Breite: 1.500 mm", "de")] == [1.5]
    assert [each.value for each in quantities("Breite: 1.500 mm")] == [0.0015]


@pytest.mark.parametrize(
    ("sentence", "limits"),
    [
        ("The minimum clear width shall be 815 mm.", [("at least 815 mm", 0.815, "m")]),
        ("Doors shall have a minimum clear width of 815 mm.", [("at least 815 mm", 0.815, "m")]),
        ("A password has a minimum length of 14 characters.", [("at least 14 characters", 14, "character")]),
        ("The maximum number of users is 50.", [("at most 50", 50, "")]),
        (
            "Maximum operating pressure 5 bar, minimum width: 900 mm",
            [("at most 5 bar", 5e5, "Pa"), ("at least 900 mm", 0.9, "m")],
        ),
        ("Die Mindestbreite der Tür beträgt 900 mm.", [("at least 900 mm", 0.9, "m")]),
        ("La largeur minimale est de 900 mm et la porte est libre.", [("at least 900 mm", 0.9, "m")]),
        ("La altura máxima será de 5 m en el patio.", [("at most 5 m", 5, "m")]),
        ("The maximum pressure at 5 bar is 2 kPa.", [("5 bar", 5e5, "Pa"), ("2 kPa", 2000, "Pa")]),
        ("The minimum and maximum widths are 800 mm and 900 mm.", [("800 mm", 0.8, "m"), ("900 mm", 0.9, "m")]),
        ("If the maximum is reached, 5 s pass.", [("5 s", 5, "s")]),
        ("The thickness is 5 mm (min.), 8 mm max.", [("at least 5 mm", 0.005, "m"), ("at most 8 mm", 0.008, "m")]),
        ("Widths of 900 mm and above, 2 m or wider", [("at least 900 mm", 0.9, "m"), ("at least 2 m", 2, "m")]),
        ("No wider than 5 m and not steeper than 1:12", [("at most 5 m", 5, "m"), ("at most 1:12", 1 / 12, "ratio")]),
        (
            "a gradient of at most 1 in 20; 2 out of 3",
            [("at most 1 in 20", 0.05, "ratio"), ("2 out of 3", 2 / 3, "ratio")],
        ),
        ("The load shall be limited to 5 kN.", [("at most 5 kN", 5000, "N")]),
        (
            "It is in excess of about 5 m, at least approximately 3 m.",
            [("more than 5 m", 5, "m"), ("at least 3 m", 3, "m")],
        ),
        ("Inspect at least once every 12 months.", [("at least once every 12 months", 12, "month")]),
        ("5 mm ≤ d < 10 mm", [("at least 5 mm", 0.005, "m"), ("less than 10 mm", 0.01, "m")]),
        ("at least $500, up to € 1.5m", [("at least $500", 500, "$"), ("at most € 1.5m", 1.5e6, "€")]),
        ("no more than 5 million people", [("at most 5 million people", 5e6, "people")]),
        ("Die Kosten von 10.000,50 EUR sind von der Stadt zu zahlen.", [("10.000,50 EUR", 10000.5, "€")]),
        (
            "at most 2½ in, not less than 1-1/2 hours",
            [("at most 2½ in", 0.0635, "m"), ("at least 1-1/2 hours", 5400, "s")],
        ),
        ("at least ¾ inch", [("at least ¾ inch", 0.01905, "m")]),
        ("at least 4'-0\"", [("at least 4'-0\"", 1.2192, "m")]),
        ("at least 5 in the room, 404 in response", [("at least 5", 5, ""), ("404", 404, "")]),
        ("at least twenty-five mm", [("at least twenty-five mm", 0.025, "m")]),
        ("within one hundred and twenty (120) days", [("at most one hundred and twenty (120) days", 120 * 86400, "s")]),
        ("within 30 (thirty) days", [("at most 30 (thirty) days", 30 * 86400, "s")]),
        ("within five (5) business days", [("at most five (5) business days", 5, "working day")]),
        ("within 30 calendar days", [("at most 30 calendar days", 30 * 86400, "s")]),
        ("not more than one and a half hours", [("at most one and a half hours", 5400, "s")]),
        ("at most half an hour, two thirds", [("at most half an hour", 1800, "s"), ("two thirds", 2 / 3, "")]),
        ("at least 20 ft 6 in.", [("at least 20 ft 6 in", 6.2484, "m")]),
        ("at most 1 hour and 30 minutes", [("at most 1 hour and 30 minutes", 5400, "s")]),
        ("at least 36 in. (915 mm) wide", [("at least 36 in", 0.9144, "m")]),
        ("not above 70 °F (21 °C), 1:12 (8.33 %)", [("at most 70 °F", 70, "°F"), ("1:12", 1 / 12, "ratio")]),
        ("not above 10 kg (98 N)", [("at most 10 kg", 1e4, "g"), ("at most 98 N", 98, "N")]),
        ("at least 900 x 600 mm", [("at least 900 mm", 0.9, "m"), ("at least 600 mm", 0.6, "m")]),
        (
            "(23 ± 2) °C",
            [("at least 21 °C (23 ± 2 °C)", 21, "°C"), ("at most 25 °C (23 ± 2 °C)", 25, "°C")],
        ),
        ("(10 to 15) mm", [("at least 10 mm", 0.01, "m"), ("at most 15 mm", 0.015, "m")]),
        (
            "5 mm +0.1/-0.2 mm",
            [("at least 4.8 mm (5 mm +0.1/-0.2 mm)", 0.0048, "m"), ("at most 5.1 mm (5 mm +0.1/-0.2 mm)", 0.0051, "m")],
        ),
        (
            "230 V +10 %/−6 %",
            [("at least 216.2 V (230 V +10 %/−6 %)", 216.2, "V"), ("at most 253 V (230 V +10 %/−6 %)", 253, "V")],
        ),
        ("0.9 m × 2.1 m or larger", [("at least 0.9 m", 0.9, "m"), ("at least 2.1 m", 2.1, "m")]),
        ("20 ± 2 °C", [("at least 18 °C (20 ± 2 °C)", 18, "°C"), ("at most 22 °C (20 ± 2 °C)", 22, "°C")]),
        (
            "230 V ± 10 %",
            [("at least 207 V (230 V ± 10 %)", 207, "V"), ("at most 253 V (230 V ± 10 %)", 253, "V")],
        ),
        ("−5…+40 °C", [("at least −5 °C", -5, "°C"), ("at most +40 °C", 40, "°C")]),
        ("at least 3 sq ft", [("at least 3 sq ft", 3 * 0.3048**2, "m²")]),
        ("mindestens zwei Jahre lang und nicht kürzer", [("at least zwei Jahre", 24, "month")]),
        ("Die Anzeige ist binnen zwei Wochen zu erstatten.", [("at most zwei Wochen", 14 * 86400, "s")]),
        (
            "Bei über 40 °C oder unter 5 °C steht die Pumpe.",
            [("more than 40 °C", 40, "°C"), ("less than 5 °C", 5, "°C")],
        ),
        ("Die Anlage ist mindestens alle zwei Jahre zu prüfen.", [("at least alle zwei Jahre", 24, "month")]),
        ("Le rapport est remis dans un délai de 30 jours.", [("at most 30 jours", 30 * 86400, "s")]),
        ("La distance ne doit pas dépasser 5 m dans la zone.", [("at most 5 m", 5, "m")]),
        ("La distancia no debe exceder de 5 m en la zona.", [("at most 5 m", 5, "m")]),
        (
            "It shall not run for more than 5 s and shall be at least 3 m long.",
            [("at most 5 s", 5, "s"), ("at least 3 m", 3, "m")],
        ),
        (
            "Der Wert muss mindestens 30 mm sein und darf 50 mm nicht überschreiten.",
            [("at least 30 mm", 0.03, "m"), ("at most 50 mm", 0.05, "m")],
        ),
        (
            "Luftflödet ska vara minst 30 mm och det får inte överstiga 50 mm.",
            [("at least 30 mm", 0.03, "m"), ("at most 50 mm", 0.05, "m")],
        ),
        ("Het niveau van de ruimte mag niet hoger zijn dan 35 mm.", [("at most 35 mm", 0.035, "m")]),
        ("De stroom van de pomp moet ten minste 30 mm zijn.", [("at least 30 mm", 0.03, "m")]),
        (
            "Расход воздуха должен быть не менее 30 mm и не более 50 mm.",
            [("at least 30 mm", 0.03, "m"), ("at most 50 mm", 0.05, "m")],
        ),
        ("Inspect the filter at least annually.", [("at least annually", 12, "month")]),
        (
            "Inspect it once a week, test it 3 times a year.",
            [("once a week", 604800, "s"), ("3 times a year", 4, "month")],
        ),
        (
            "Not more often than every 5 min, twice every 3 years",
            [("at most every 5 min", 300, "s"), ("twice every 3 years", 18, "month")],
        ),
        (
            "Supports at least every 2 m, bolts every 5 to 10 mm",
            [("at least every 2 m", 2, "m"), ("at least 5 mm", 0.005, "m"), ("at most 10 mm", 0.01, "m")],
        ),
        ("It shall not be opened more than twice a day.", [("at most twice a day", 43200, "s")]),
        ("Grease it monthly and check it every day.", [("monthly", 1, "month"), ("every day", 86400, "s")]),
        ("A daily mean of 5 °C, daily and weekly logs, 1 mm for every day", [("5 °C", 5, "°C"), ("1 mm", 1e-3, "m")]),
        ("Die Lager sind mindestens halbjährlich zu schmieren.", [("at least halbjährlich", 6, "month")]),
        ("La vanne doit être contrôlée une fois par an.", [("une fois par an", 12, "month")]),
        ("La válvula debe comprobarse dos veces al año.", [("dos veces al año", 6, "month")]),
        ('It is open from 7:00 to 23:59, "8443" and 5° 30\' wide.', [("8443", 8443, ""), ("5° 30'", 5.5, "°")]),
        ("parts per million", []),
    ],
)
def test_limits_are_read_in_the_forms_in_which_standards_print_them(
    sentence: str, limits: list[tuple[str, float, str]]
) -> None:
    assert [(str(each), pytest.approx(each.value), each.unit) for each in limits_in(sentence)] == limits

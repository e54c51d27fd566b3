"""Values of a document against the limits of a demand, also in other units and at the limit itself."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.tracing.row_checks import limit_checks


def checks_of(demand: str, evidence: str) -> list[str]:
    return [f"{each.result.value}: {each.asked} / {each.found}" for each in limit_checks(demand, [(evidence, "p. 1")])]


@pytest.mark.parametrize(
    ("demand", "evidence", "found"),
    [
        ("Zone 2 at least 50 lx.", "Zone 2: 40 lx", ["not met: at least 50 lx / 40 lx"]),
        ("The valve shall not be set to 5 bar.", "The valve is set to 4 bar.", []),
        ("The valve shall not be set to 5 bar.", "The valve is set to 5 bar.", []),
        (
            "The report shall be sent by 31 May 2026.",
            "The report is sent on 2026-06-15.",
            ["not met: by 31 May 2026 / 2026-06-15"],
        ),
        (
            "The report shall be sent not before 01.05.2026.",
            "The report is sent on 2 May 2026.",
            ["met: not before 01.05.2026 / 2 May 2026"],
        ),
        (
            "The gate shall not be opened before 1 May 2026.",
            "The gate is opened on 2026-04-15.",
            ["not met: not be opened before 1 May 2026 / 2026-04-15"],
        ),
        (
            "At least two thirds of the doors shall have closers.",
            "60 % of the doors have closers.",
            ["not met: at least two thirds / 60 %"],
        ),
        ("Zone 2 at least 50 lx.", "Zone 1: 40 lx", ["not stated: at least 50 lx / "]),
        (
            "The clear width shall be not less than 900 mm nor more than 1200 mm.",
            "The clear width is 1300 mm.",
            ["met: at least 900 mm / 1300 mm", "not met: at most 1200 mm / 1300 mm"],
        ),
        (
            "The U-value shall not exceed 0.24 W/(m²K).",
            "U = 0.28 W/m²K",
            ["not met: at most 0.24 W/(m²K) / 0.28 W/m²K"],
        ),
        (
            "The load shall not exceed 5 kN per anchor.",
            "The total load is 20 kN.",
            ["not stated: at most 5 kN per anchor / "],
        ),
        (
            "Emissions shall not exceed 20 mg/m³ as a daily mean and 60 mg/m³ as a half-hourly mean.",
            "Daily mean 25 mg/m³; half-hourly mean 40 mg/m³.",
            ["not met: at most 20 mg/m³ / 25 mg/m³", "met: at most 60 mg/m³ / 40 mg/m³"],
        ),
        (
            "The cover shall be 50 mm or 2 % of the span, whichever is greater.",
            "The cover is 60 mm.",
            [
                "met: at least 50 mm / 60 mm",
                "not stated: at least 2 % / ",
            ],
        ),
    ],
)
def test_a_value_is_compared_with_the_whole_limit(demand: str, evidence: str, found: list[str]) -> None:
    assert checks_of(demand, evidence) == found


@pytest.mark.parametrize(
    ("demand", "evidence", "found"),
    [
        ("It shall be greater than 5 mm.", "It is 5 mm.", ["not met: more than 5 mm / 5 mm"]),
        ("It shall not be less than 5 mm.", "It is 5 mm.", ["met: at least 5 mm / 5 mm"]),
        ("It shall take less than 200 ms.", "It takes 200 ms.", ["not met: less than 200 ms / 200 ms"]),
        ("It shall take less than or equal to 200 ms.", "It takes 200 ms.", ["met: at most 200 ms / 200 ms"]),
        ("It shall not exceed 5 V.", "It is 5 V.", ["met: at most 5 V / 5 V"]),
        ("It shall weigh < 5 kg.", "It weighs 5 kg.", ["not met: less than 5 kg / 5 kg"]),
    ],
)
def test_the_limit_itself_keeps_only_limits_that_include_it(demand: str, evidence: str, found: list[str]) -> None:
    assert checks_of(demand, evidence) == found


@pytest.mark.parametrize(
    ("demand", "evidence", "found"),
    [
        ("Rooms larger than 100 m² shall have at least two exits.", "The room of 80 m² has two exits.", ["two exits"]),
        ("If the pressure exceeds 10 bar, it shall open within 2 s.", "It opens at 8 bar within 1 s.", ["2 s"]),
    ],
)
def test_a_condition_is_no_limit_to_keep(demand: str, evidence: str, found: list[str]) -> None:
    assert [each.asked.split(maxsplit=2)[-1] for each in limit_checks(demand, [(evidence, "p. 1")])] == found


def test_a_wider_range_differs() -> None:
    found = checks_of("It shall operate at 0 °C to 40 °C.", "It operates at -20 °C to 55 °C.")
    assert found == ["differs: at least 0 °C / -20 °C", "differs: at most 40 °C / 55 °C"]

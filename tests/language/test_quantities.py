"""Numbers of a sentence in base units, each with whether it is a least, a most, or the value itself."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.quantities import quantities


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The pump shall stop within 2 seconds.", [(2.0, "s", "at most")]),
        ("It shall respond in no more than 200 ms.", [(0.2, "s", "at most")]),
        ("Noise shall not exceed 70 dB(A) at night.", [(70.0, "dBA", "at most")]),
        ("A password has at least 12 characters.", [(12.0, "character", "at least")]),
        ("It serves 1,000 users or more.", [(1000.0, "user", "at least")]),
        ("Keep 10 or more copies.", [(10.0, "", "at least")]),
        ("between 5 and 10 V", [(5.0, "V", "at least"), (10.0, "V", "at most")]),
        ("from -20 °C to 50 °C", [(-20.0, "°C", "at least"), (50.0, "°C", "at most")]),
        ("after two attempts", [(2.0, "attempt", "exactly")]),
        ("The cable is 1.5 km long.", [(1500.0, "m", "exactly")]),
        ("A file has ≤ 4 MiB.", [(4 * 1024.0**2, "B", "at most")]),
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

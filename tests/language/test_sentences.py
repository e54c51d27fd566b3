"""Sentences begin and end where a reader says they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.language.sentences import sentence_spans


def _split(text: str) -> list[str]:
    return [span.of(text) for span in sentence_spans(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Use a seal, e.g. Viton, on each joint.",
        "The limits (i.e. The upper and lower ones) hold.",
        "See Fig. 3 and No. 7 for the layout.",
        "The load is 3.5 kN at 20.0 mm.",
        "5.3.1. The pump starts.",
        "1. The pump starts.",
        "a. The pump starts.",
        "The value of clause 5.3 is used here.",
        "The sign reads “Stop. Go back.” and is red.",
        "Dr. Meyer and J. Smith approved it.",
        "It was tested by K. Brown at the works.",
        "Annex A. Methods of test",
        "John F. Kennedy spoke.",
        "It weighs approx. 12 kg in all.",
        "wrapped at\nthe line's end.",
        "Rails are at least 34 in. (865 mm) and at most 3 ft. 2 in. (965 mm) high.",
        "Das Gesetz (BGBl. I S. 1234), zuletzt geändert (ABl. L 46 vom 19.2.2011, S. 14), gilt.",
        "Les mesures prévues aux articles L. 611-31 et L. 611-32 sont prises.",
        "As amended by Pub. L. 116-92, 133 Stat. 1234, the rule applies.",
        "Use 1½ in. [38 mm] or 2-in. 10 gauge pipe.",
    ],
)
def test_no_sentence_ends_inside(text: str) -> None:
    assert _split(text) == [text]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One is open. Two is shut.", ["One is open.", "Two is shut."]),
        ("Is it open? Then shut it!", ["Is it open?", "Then shut it!"]),
        ("See clause 5.3. The next one differs.", ["See clause 5.3.", "The next one differs."]),
        ("It ends (here.) Another begins.", ["It ends (here.)", "Another begins."]),
        ("The kit holds:\n- a pump\n- a hose", ["The kit holds:", "- a pump", "- a hose"]),
        ("a first part\n\na second part", ["a first part", "a second part"]),
        ("Bolts, nuts, etc. The rest is loose.", ["Bolts, nuts, etc.", "The rest is loose."]),
        ("See Annex A. The doors open.", ["See Annex A.", "The doors open."]),
        ("Pumps are of type B. The motor runs.", ["Pumps are of type B.", "The motor runs."]),
        ("The fuse is 16 A. The cable is red.", ["The fuse is 16 A.", "The cable is red."]),
        ("Siehe Anhang A. Die Tür ist zu.", ["Siehe Anhang A.", "Die Tür ist zu."]),
        ("Rails are 34 in. Doors follow.", ["Rails are 34 in.", "Doors follow."]),
        ("This is what it is in. 5 doors follow.", ["This is what it is in.", "5 doors follow."]),
        ("It stops. cFE restarts it.", ["It stops.", "cFE restarts it."]),
        ("泵应启动。", ["泵应启动。"]),
        ("泵应启动。阀不得关闭！“灯亮。”它灭。", ["泵应启动。", "阀不得关闭！", "“灯亮。”", "它灭。"]),
        ("Loads " + "." * 50_000 + " 12", ["Loads " + "." * 50_000, "12"]),
    ],
)
def test_sentences_end_at_stops_blank_lines_and_list_items(text: str, sentences: list[str]) -> None:
    assert _split(text) == sentences


@given(st.text(alphabet=st.sampled_from(list('aB1 .?!:\n\t"“”()-*e.g.')), max_size=200), st.integers(0, 20))
def test_sentences_are_in_order_and_leave_out_nothing_but_blanks(text: str, start: int) -> None:
    position = start = min(start, len(text))
    for span in sentence_spans(text, start):
        assert text[position : span.start].strip() == ""
        assert span.of(text).strip() == span.of(text) != ""
        position = span.end
    assert text[position:].strip() == ""


def test_ordinals_and_short_words_of_german_end_no_sentence() -> None:
    text = (
        "Die Prüfung ist bis zum 31. Dezember 2020 abzuschließen. Im 2. Obergeschoss sind Türen vorzusehen. "
        "Der Abstand ist mind. 5 m gem. Ziff. 3. Er gilt ab 1. Januar. Es sind 5. Die Tür ist zu."
    )
    assert [span.of(text) for span in sentence_spans(text)] == [
        "Die Prüfung ist bis zum 31. Dezember 2020 abzuschließen.",
        "Im 2. Obergeschoss sind Türen vorzusehen.",
        "Der Abstand ist mind. 5 m gem. Ziff. 3.",
        "Er gilt ab 1. Januar.",
        "Es sind 5.",
        "Die Tür ist zu.",
    ]

"""What a text that names a requirement says of it: that it meets it, or only that it is there."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.requirements.mentions import is_aside, is_mention


def mentions(text: str) -> bool:
    """Ask about the first id in a text."""
    start = text.lower().index("sys")
    return is_mention(text, start, start + len("SYS-4"))


@pytest.mark.parametrize(
    "text",
    [
        "Satisfies SYS-4.",
        "The pump stops within 2 s, as SYS-4 requires.",
        "As required by SYS-4, the pump stops.",
        "This clause satisfies the system requirement SYS-4 in full.",
        "SYS-4 is fully met by the relay.",
        "SYS-4: verified by TC-3",
        "Covers ABC-99, SYS-4",
        "Map to SYS-4; no migration.",
        "Gemäß SYS-4 stoppt die Pumpe.",
        "Dieses Kapitel setzt die Anforderung SYS-4 um.",
        "Cette clause couvre l'exigence SYS-4.",
        "Cumple SYS-4.",
        "本条满足 SYS-4。",
    ],
)
def test_words_of_tracing_say_that_a_requirement_is_met(text: str) -> None:
    assert not mentions(text)


@pytest.mark.parametrize(
    "text",
    [
        "The pump stops (SYS-4).",
        "[SYS-4] Added a relay",
        "The pump stops within 2 s. SYS-4",
        "Pump → SYS-4",
        "Parent: SYS-4",
        "Status: open | Parent: `SYS-4`",
        "sys_req_id: SYS-4",
        "Stop | control_ids: ABC-99, SYS-4",
        "Objective ID: SYS-4",
        "policy number: SYS-4",
        'REQUIREMENT("SYS-4");',
        '@pytest.mark.requirement("SYS-4")',
        " * @req{SYS-4} The pump stops",
        "// SYS-4",
        "def test_sys_4_stops():",
        "SYS-4 Add a pump",
        "Stop of the pump SYS-4",
        "TC-1  Stop the pump   SYS-4  passed",
        "SYS-4 the relay opens.",
    ],
)
def test_a_name_that_stands_alone_is_a_marker(text: str) -> None:
    assert not mentions(text)


@pytest.mark.parametrize(
    "text",
    [
        "see SYS-4",
        "// See SYS-4 for the limits.",
        "Pump stop (see also SYS-4)",
        "See the pump stop (SYS-4).",
        "As described in SYS-4, the pump stops.",
        "The tests are described in SYS-4.",
        "The pump stops as\ndescribed in SYS-4.",
        "This replaces SYS-4.",
        "not SYS-4",
        "The pump of SYS-4 is blue.",
        "SYS-4 is met elsewhere.",
        "SYS-4 describes the pump of the plant.",
        "SYS-4 was changed in issue 2.",
        "Issue 2: SYS-4 was added.",
        "2.0 | 2024-01-01 | SYS-4 reworded",
        "3.2 SYS-4 Pump stop ............ 12",
        "See also: SYS-4",
        "Replaces: SYS-4",
        "Depends: SYS-4",
        "see_also_req: SYS-4",
        "Replaced by ID: SYS-4",
        "Remark: SYS-4",
        "Wie in SYS-4 beschrieben, stoppt sie.",
        "Voir SYS-4",
    ],
)
def test_other_sentences_only_mention_a_requirement(text: str) -> None:
    assert mentions(text)


def test_types_of_links_that_cover_nothing() -> None:
    assert all(map(is_aside, ("conflicts with", "replaces", "See also")))
    assert not any(map(is_aside, ("verifies", "parent", "")))

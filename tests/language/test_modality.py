"""What one sentence does: oblige, advise, permit, enable, or nothing of these."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.force import PLAIN, Convention, detect_convention, force_of
from knowledge_mcp.model.chunk import Modality

_CAPITALS = Convention(capitals=True)
_R, _S, _M, _C = Modality.REQUIREMENT, Modality.RECOMMENDATION, Modality.PERMISSION, Modality.POSSIBILITY


@pytest.mark.requirement("A-REQ-DATA-005")
@pytest.mark.parametrize(
    ("sentence", "modality", "negated"),
    [
        ("The valve shall close within 2 s.", _R, False),
        ("The valve must close.", _R, False),
        ("The supplier is required to keep records.", _R, False),
        ("Two signatures are required.", _R, False),
        ("Should the pump fail, the supplier shall replace it.", _R, False),
        ("The valve shall not leak.", _R, True),
        ("The valve shall also not leak.", _R, True),
        ("No operator shall enter the cell.", _R, True),
        ("No later than noon the operator shall leave.", _R, False),
        ("The report shall not only list but explain failures.", _R, False),
        ("The valve mustn't leak.", _R, True),
        ("The log should be kept for a year.", _S, False),
        ("It is recommended that the log be kept.", _S, False),
        ("Reuse of seals is not recommended.", _S, True),
        ("The seal may be reused.", _M, False),
        ("A second seal may be required for hot water.", _M, False),
        ("The seal need not be replaced.", _M, True),
        ("The supplier is not required to keep records.", _M, True),
        ("The supplier shall not be required to keep records.", _M, True),
        ("A guest will not be obliged to log in.", _M, True),
        ("The client must not be required to stay connected.", _R, True),
        ("The gauge can read negative values.", _C, False),
        ("The gauge cannot read negative values.", _C, True),
        ("The gauge should be read, and it shall be sealed.", _R, False),
        ("If the pump must be moved, the valve should be shut.", _S, False),
        ("If the pump is moved, the valve shall be shut.", _R, False),
        ("The valve is to be closed by hand.", _R, False),
        ("The valve is not to be opened.", _R, True),
        ("Smoking is not permitted.", _R, True),
        ("Entry is strictly prohibited.", _R, True),
        ("No smoking is allowed.", _R, True),
        ("A permit is mandatory.", _R, False),
        ("The hatch has to be locked.", _R, False),
        ("At no time shall the hatch be open.", _R, True),
        ("The valve shall, however, not leak.", _R, True),
        ("The valve shall (see 5.2) not leak.", _R, True),
        ("The valve shall, except during tests, not leak.", _R, True),
        ("The hatch shall at no time be open.", _R, True),
        ("The hatch shall, if not locked, be guarded.", _R, False),
        ("It ought not to leak.", _S, True),
        ("It is permitted to reuse seals.", _M, False),
        ("It is not required that seals be kept.", _M, True),
        ("No seal is required.", _M, True),
    ],
)
def test_small_words_have_force_where_no_capitals_are_declared(
    sentence: str, modality: Modality, negated: bool
) -> None:
    force = force_of(sentence, PLAIN)
    assert force is not None
    assert (force.modality, force.negated) == (modality, negated)


@pytest.mark.parametrize(
    "sentence",
    [
        "The pump runs.",
        "A second pump would be required to drain it in a day.",
        "Should a second pump be required, the supplier brings it.",
        "Deliveries start in May 2024.",
        'The word "shall" denotes an obligation.',
        "Shall indicates what is binding.",
        "The clerk asked “must this be signed”.",
        "Where a seal is required, the drawing says so.",
        "Set `must` to true in the file.",
        "Bolts as required.",
        "Pre-shall-processing is a name.",
        "A can of oil is on the shelf.",
        "Clean hands are a must.",
        "The lamps that are to be shown differ.",
        "What is allowed differs from place to place.",
        "The aim is to reduce wear.",
        "The pump will stop.",
    ],
)
def test_sentences_without_force_have_none(sentence: str) -> None:
    assert force_of(sentence, PLAIN) is None


@pytest.mark.requirement("A-REQ-DATA-005")
@pytest.mark.parametrize(
    ("sentence", "modality", "negated"),
    [
        ("A client MUST send the header.", _R, False),
        ("A client MUST NOT retry.", _R, True),
        ("REQUIRED. The name of the field.", _R, False),
        ("Clients SHOULD wait.", _S, False),
        ("Long names are NOT RECOMMENDED.", _S, True),
        ("The header is OPTIONAL.", _M, False),
        ("A client MAY wait, and must be patient.", _M, False),
        ("A *MUST* in emphasis counts.", _R, False),
    ],
)
def test_capitals_have_force_where_they_are_declared(sentence: str, modality: Modality, negated: bool) -> None:
    force = force_of(sentence, _CAPITALS)
    assert force is not None
    assert (force.modality, force.negated) == (modality, negated)


@pytest.mark.parametrize(
    "sentence",
    [
        "A client must send the header.",
        "Clients should wait and may retry.",
        'The key words "MUST" and MAY are to be interpreted as in RFC 2119.',
        "The code H3_REQUIRED_FIELD is logged.",
        "The CAN bus is quiet.",
    ],
)
def test_small_words_have_no_force_where_capitals_are_declared(sentence: str) -> None:
    assert force_of(sentence, _CAPITALS) is None


def test_a_declaration_of_key_words_makes_capitals_count_alone() -> None:
    text = "The key words “MUST” and “MAY” are to be interpreted as described in BCP 14.\nA client MUST wait."
    assert detect_convention(text) == _CAPITALS


def test_a_declaration_that_the_text_does_not_follow_is_overruled() -> None:
    text = "Key words are to be interpreted as described in RFC 2119. " + "The pump shall run. " * 5
    assert detect_convention(text) == PLAIN


def test_capitals_used_throughout_count_without_a_declaration() -> None:
    assert detect_convention("The client MUST wait.\n" * 6 + "It should be quick.\n") == _CAPITALS
    assert detect_convention("The client MUST wait.\n" * 6 + "It shall be quick.\n" * 6) == PLAIN


def test_headlines_in_capitals_make_no_convention() -> None:
    assert detect_convention("YOU MUST READ THIS\n" * 9 + "The pump shall run.\n") == PLAIN


def test_will_obliges_in_a_list_of_requirements_only() -> None:
    listed = "The pump shall stop when it is dry. The lamp will be lit when the pump stops."
    assert detect_convention(listed) == Convention(will=True)
    assert detect_convention(f"{listed} Pumps are old machines. They move water uphill. They are loud.") == PLAIN
    force = force_of("The lamp will not be lit.", Convention(will=True))
    assert force is not None
    assert (force.modality, force.negated) == (_R, True)


def test_can_in_capitals_has_force_only_where_it_is_declared() -> None:
    convention = detect_convention('"SHALL" and "CAN" are defined here.\n' + "The agency SHALL act.\n" * 6)
    force = force_of("The agency CAN decide.", convention)
    assert force is not None
    assert force.modality is _C

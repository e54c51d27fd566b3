"""Links are declared, decided or proposed with a probability; the rest are gaps, and evidence is word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from knowledge_mcp.engine.tracing.links import Trace, TraceItem, Verdict, trace
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ranking.linking import WEIGHTS, Linker, cut_of, likely_from, probabilities, ratings
from knowledge_mcp.surfaces.matrix import coverage_of, doubts, lost_links
from knowledge_mcp.testing.embedders import HashingEmbedder

REQUIREMENTS = [
    TraceItem("REQ-1", "", "The pump shall stop when the tank is full.", "r:1"),
    TraceItem("REQ-2", "", "Every login shall be written to the audit log. Passwords are never logged.", "r:2"),
    TraceItem("REQ-3", "", "Reports shall be printed in colour.", "r:3"),
]
TESTS = [
    TraceItem("t_overflow", "", "fill the tank; the pump must have stopped when the tank is full", "t:1"),
    TraceItem("t_audit", "", "make a login and read the audit log for it", "t:2"),
    TraceItem("t_cable", "", "bend the cable ten times and measure resistance", "t:3"),
]


def embed(texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.stack([np.frombuffer(vector, "<f4") for vector in HashingEmbedder().embed_documents(list(texts))])


LINKER = Linker(EnglishAnalyser().document_terms, embed)
TRACED = trace(REQUIREMENTS, TESTS, LINKER)


def sure(found: Trace) -> set[tuple[str, str, str]]:
    return {
        (link.source.id, link.target.id, link.verdict.value)
        for link in found.links
        if link.verdict is not Verdict.UNCERTAIN
    }


def test_what_belongs_together_is_proposed_and_the_rest_are_gaps() -> None:
    found = trace(REQUIREMENTS, TESTS, LINKER)
    assert sure(found) == {("REQ-1", "t_overflow", "likely"), ("REQ-2", "t_audit", "likely")}
    assert [each.id for each in found.untraced_sources] == ["REQ-3"]
    assert [each.id for each in found.untraced_targets] == ["t_cable"]


def test_declared_links_come_first_whichever_side_declares_them() -> None:
    listed = TraceItem("REQ-3", "", "Reports shall be printed in colour.", "r:3", links=("t_cable",))
    named = TraceItem("t_audit", "", "checks REQ-1 and the audit log of a login", "t:2")
    found = trace([*REQUIREMENTS[:2], listed], [TESTS[0], named, TESTS[2]], LINKER)
    declared = {(link.source.id, link.target.id) for link in found.links if link.verdict is Verdict.DECLARED}
    assert declared == {("REQ-3", "t_cable"), ("REQ-1", "t_audit")}


def test_what_a_person_decided_is_respected() -> None:
    decided = {("REQ-1", "t_overflow"): False, ("REQ-3", "t_cable"): True}
    found = trace(REQUIREMENTS, TESTS, LINKER, decided)
    assert ("REQ-1", "t_overflow") not in {(link.source.id, link.target.id) for link in found.links}
    assert ("REQ-3", "t_cable", "declared") in sure(found)


def test_evidence_stands_word_for_word_in_both_items() -> None:
    for link in trace(REQUIREMENTS, TESTS, LINKER).links:
        assert link.evidence.from_text in link.source.words
        assert link.evidence.to_text in link.target.words
        for word in link.evidence.words:
            assert word in link.evidence.from_text
    audit = next(each for each in trace(REQUIREMENTS, TESTS, LINKER).links if each.target.id == "t_audit")
    assert audit.evidence.from_text == "Every login shall be written to the audit log."
    assert {"audit", "log", "login"} <= set(audit.evidence.words)


def test_nothing_links_to_nothing() -> None:
    found = trace(REQUIREMENTS, [], LINKER)
    assert found.links == ()
    assert len(found.untraced_sources) == 3


def test_probabilities_keep_the_order_of_ratings_and_what_shares_no_word_has_none() -> None:
    rated = np.random.default_rng(4).normal(size=(40, 25)).astype(np.float32)
    rated[3, 4] = -np.inf
    chances = probabilities(rated)
    assert (np.argsort(chances, axis=None, kind="stable") == np.argsort(rated, axis=None, kind="stable")).all()
    assert chances[3, 4] == 0
    assert chances[rated > 0].min() >= 0.5 > chances[rated < 0].max()


def test_links_are_the_same_whichever_side_is_first() -> None:
    forth = {(link.source.id, link.target.id, round(link.probability, 3)) for link in TRACED.links}
    back = trace(TESTS, REQUIREMENTS, LINKER)
    assert forth == {(link.target.id, link.source.id, round(link.probability, 3)) for link in back.links}


def test_long_texts_are_linked_more_often_than_short_ones() -> None:
    words = "pump tank valve login audit report colour print sensor cable".split()
    short, long = ("The pump stops.", " ".join(words)), ("The pump stops the tank valve.", " ".join(words[:6]))
    rated = [LINKER.closeness(side, ("the pump stops", "print the report")) for side in (short, long)]
    assert rated[0].sizes[0][0] < rated[1].sizes[0][0]
    odds = ratings(LINKER.closeness(list(long), ["the pump stops", "print the report"]))
    assert np.allclose(
        odds[0, 0],
        WEIGHTS[0] + WEIGHTS[1] * rated[1].nearer[0, 0] + WEIGHTS[2] * (rated[1].sizes[0][0] + rated[1].sizes[1][0]),
    )


def test_the_cut_is_where_the_expected_f1_is_greatest() -> None:
    assert cut_of(np.array([[0.9, 0.8, 0.1, 0.1]], np.float32)) == np.float32(0.8)
    assert cut_of(np.array([[0.4, 0.4, 0.4, 0.4]], np.float32)) == np.float32(0.4)


def test_where_no_link_at_all_is_more_probable_none_is_likely() -> None:
    def likely(*chances: float) -> float:
        rated = np.array([chances], np.float32)
        return likely_from(rated, cut_of(rated))

    assert likely(0.06) == 1.0
    assert likely(0.2, 0.1) == 1.0
    assert likely(1.0, 0.1) == 1.0
    assert likely(0.9, 0.3) == np.float32(0.9)
    assert likely(*[0.06] * 40) == np.float32(0.06)


def test_a_long_target_is_rated_by_its_best_piece_too() -> None:
    filler = " ".join(f"unrelated{place % 97} material{place % 89}" for place in range(400))
    long = [f"{filler} the pump shall stop when the tank is full {filler}", filler]
    rated = ratings(LINKER.closeness(["The pump shall stop when the tank is full.", "Something else."], long))
    assert rated[0, 0] > rated[0, 1]


def test_sets_that_have_nothing_to_do_with_each_other_are_reported_but_for_declared_links() -> None:
    def strange(
        sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[list[tuple[int, int, float]], float, bool]:
        del sources, targets, least
        return [(0, 0, 0.9)], 0.5, False

    assert not trace(REQUIREMENTS, TESTS, strange).related
    assert trace(REQUIREMENTS, TESTS, strange, {("REQ-1", "t_cable"): True}).related
    copies = [TraceItem(f"copy of {each.id}", "", each.text, "c") for each in REQUIREMENTS]
    assert trace(REQUIREMENTS, copies, LINKER).related


def test_the_cosine_that_tells_whether_sets_are_related_is_that_of_the_better_side() -> None:
    many = ["The pump shall stop.", "Bridges are painted.", "Cows eat grass.", "Sand is dry.", "Ink is blue."]
    assert LINKER.closeness(["The pump shall stop."], many).median > 0.99
    assert LINKER.closeness(many[1:3], many[3:]).median < 0.44


def test_runs_of_letters_bring_forms_of_a_word_together() -> None:
    rated = LINKER.closeness(["authentication of users"], ["preauthenticated user", "prefabricated unit"]).nearer
    assert rated[0, 0] > rated[0, 1]


def witness(*pairs: tuple[str, str]) -> list[tuple[str, ...]]:
    """Return the words that speak for links that are declared, a pair of texts each."""
    sources = [TraceItem(f"A-{at}", "", one, "a", (f"B-{at}",)) for at, (one, _) in enumerate(pairs)]
    targets = [TraceItem(f"B-{at}", "", other, "b") for at, (_, other) in enumerate(pairs)]

    def propose(
        sources: Sequence[str], targets: Sequence[str], least: float
    ) -> tuple[list[tuple[int, int, float]], float, bool]:
        return [], 1.0, True

    return [link.evidence.words for link in trace(sources, targets, propose).links]


def test_words_of_grammar_and_force_speak_for_no_link() -> None:
    assert witness(
        ("The gate shall be closed by the guard of the tower.", "The closing of the gate shall be seen by all."),
        ("The lamp shall be on within the hour.", "The horn must be off, and the crew shall be told."),
    ) == [("gate",), ()]  # fmt: skip


def test_words_of_grammar_are_those_of_the_language() -> None:
    assert witness(
        ("Die Pumpe muss bei einem Ausfall der Heizung sofort abschalten.", "Die Pumpe und die Heizung sind aus."),
        ("Der Bediener muss die Anlage mit dem Schalter anhalten.", "Die Anlage muss mit einer Lampe melden."),
    ) == [("Heizung", "Pumpe"), ("Anlage",)]  # fmt: skip


def test_numbers_are_compared_as_they_are_measured_and_a_single_digit_speaks_for_no_link() -> None:
    assert witness(
        ("The pump draws 1,3 A.", "A lamp needs 1.7 A from port 1."),
        ("The valve opens at 2.5 bar.", "A horn is silent below 2,5 bar."),
        ("The shaft measures 12.375 inches.", "A rod has 12.391 inches."),
        ("The gate has 4 bolts.", "4 lamps are lit."),
        ("The relay holds 12 contacts.", "It has 12 coils."),
    ) == [(), ("2.5", "bar"), ("inches",), (), ("12",)]  # fmt: skip


def test_a_word_that_most_items_have_speaks_for_no_link() -> None:
    names = "alpha bravo carol delta echo fox golf hotel india julia".split()
    found = witness(*((f"The system handles {name}.", f"Our system tests {name}.") for name in names))
    assert found == [(name,) for name in names]


def test_declared_links_that_lead_nowhere_are_named() -> None:
    sources = [TraceItem("A-1", "", "The pump shall stop.", "a:1", links=("B-1", "B-99")), REQUIREMENTS[1]]
    targets = [TraceItem("B-1", "", "press the red button", "b:1", links=("A-7",)), TESTS[1]]
    found = trace(sources, targets, LINKER)
    assert ("A-1", "B-1", "declared") in sure(found)
    assert [(item.id, name) for item, name in found.lost] == [("A-1", "B-99"), ("B-1", "A-7")]
    assert lost_links(found) == "Declared links without a unique target item in these sets (2): A-1 → B-99, B-1 → A-7."


def test_links_name_items_of_several_documents_by_their_own_ids() -> None:
    sources = [TraceItem("A-1", "", "Nothing is said here, tested by TST-2.", "a:1", links=("B-1", "B-3"))]
    targets = [
        TraceItem("one: B-1", "", "press the red button", "b:1", name="B-1"),
        TraceItem("two: TST-2", "", "look at the lamp", "b:2", name="TST-2"),
        TraceItem("one: B-3", "", "turn the wheel", "b:3", name="B-3"),
        TraceItem("two: B-3", "", "close the door", "b:4", name="B-3"),
    ]
    found = trace(sources, targets, LINKER)
    declared = {link.target.id for link in found.links if link.verdict is Verdict.DECLARED}
    assert declared == {"one: B-1", "two: TST-2"}
    assert [name for _, name in found.lost] == ["B-3"]


def test_sets_without_any_chance_have_no_likely_link() -> None:
    assert likely_from(np.zeros((1, 4), np.float32), 1.0) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Unlike SYS-3, the display shall show warnings only.",
        "The colour is not covered by SYS-3 and is set by the customer.",
        "Alarms are logged by hand instead of the way of SYS-3.",
        "SYS-3: not yet implemented.",
        "[SYS-3] is not tested here.",
        "This module doesn't implement SYS-3.",
        "Not covered: SYS-8, SYS-3 and SYS-9",
        "SYS-3 wird nicht geprüft.",
        "Anders als in SYS-3 wird von Hand protokolliert.",
        "Contrairement à SYS-3, le journal est manuel.",
    ],
)
def test_an_item_that_says_it_does_not_meet_another_is_not_linked_with_it(text: str) -> None:
    sources = [TraceItem("SYS-3", "", "The controller shall log every alarm.", "a")]
    found = trace(sources, [TraceItem("SWR-3", "", f"{text} The controller logs every alarm.", "b")], _everything)
    assert [each.verdict for each in found.links] == [Verdict.MENTIONED]
    assert text.split(". ", maxsplit=1)[0] in found.links[0].evidence.to_text
    assert [each.id for each in found.untraced_sources] == ["SYS-3"]


@pytest.mark.parametrize(
    "text",
    [
        "The pump shall not exceed 5 bar (SYS-3).",
        "Implements SYS-3, not only in part.",
        "This does not only implement SYS-3 but logs warnings too.",
        "The level shall not be read twice. Satisfies: SYS-3",
        "Unlike before, SYS-3 is met by the controller.",
        "SYS-3 shall not be met by hand but by the controller.",
        "Not covered: SYS-8. Covers SYS-3.",
        "Unlike SYS-3 said at first. Traces to SYS-3",
    ],
)
def test_a_denial_of_something_else_leaves_a_link_declared(text: str) -> None:
    sources = [TraceItem("SYS-3", "", "The controller shall log every alarm.", "a")]
    found = trace(sources, [TraceItem("SWR-3", "", text, "b")], _everything)
    assert [each.verdict for each in found.links] == [Verdict.DECLARED]


def test_units_and_paths_name_no_item_that_has_a_bare_number() -> None:
    sources = [
        TraceItem("1", "", "Fans", "a"),
        TraceItem("h", "", "Pipes", "a"),
        TraceItem("R-8", "", "Doors", "a"),
        TraceItem("R-7", "", "Gates", "a"),
    ]
    found = trace(sources, [TraceItem("T", "", "Change the air at 4 1/h (v2/1), to meet R-7/8.", "b")], _everything)
    assert {each.source.id for each in found.links if each.verdict is Verdict.DECLARED} == {"R-7", "R-8"}


def _everything(
    sources: Sequence[str], targets: Sequence[str], least: float
) -> tuple[Sequence[tuple[int, int, float]], float, bool]:
    """Propose every pair, as if all were alike."""
    return [(one, other, 0.9) for one in range(len(sources)) for other in range(len(targets))], 0.5, True


def test_items_without_an_id_are_traced() -> None:
    found = trace([TraceItem("", "", "Deleted", "a")], [TraceItem("", "", "The pump shall stop.", "b")], LINKER)
    assert (len(found.withdrawn_sources), len(found.withdrawn_targets)) == (1, 0)


def test_a_line_that_begins_with_ids_speaks_of_these() -> None:
    """As the requirements of WARC tools do: what several satisfy stands below the last of them."""
    needs = [TraceItem(f"FR {number}", "", f"The tool shall do {number}.", "f") for number in range(1, 6)]
    meets = [TraceItem(f"SRS {number}", "", f"It shall be {number}.", "s") for number in range(1, 4)]
    said = "SRS 3 - It shall be 3.\n\nSRS 1-3 >> satisfies FR 1\n\nSRS 2 and SRS 3 satisfy FR 2-4 and FR 5\n"
    found = trace(needs, [*meets[:2], replace(meets[2], beside=said)], LINKER)
    declared = {(link.source.id, link.target.id) for link in found.links if link.verdict is Verdict.DECLARED}
    first = {("FR 1", f"SRS {number}") for number in range(1, 4)}
    assert declared == first | {(f"FR {one}", f"SRS {other}") for one in range(2, 6) for other in (2, 3)}


def test_what_refines_a_requirement_of_its_own_set_is_traced_through_it() -> None:
    above = TraceItem("SRS-1", "", "Atomic access is indivisible.", "s:1", links=("SYS-1",))
    below = TraceItem("SRS-2", "", "A bit is set so.", "s:2", links=("SRS-1",))
    deepest = TraceItem("SRS-3", "", "A bit is cleared so.", "s:3", links=("SRS-2",))
    other = TraceItem("SRS-4", "", "Colours are printed.", "s:4", links=("SRS-5",))
    last = TraceItem("SRS-5", "", "Paper is A4.", "s:5")
    system = [TraceItem("SYS-1", "", "The kernel has atomic services.", "y:1")]
    found = trace(system, [above, below, deepest, other, last], _never)
    assert [each.id for each in found.refining_targets] == ["SRS-2", "SRS-3"]
    assert [each.id for each in found.untraced_targets] == ["SRS-4", "SRS-5"]
    assert coverage_of(found)["to"] == {"items": 5, "declared": 3, "likely": 0, "none": 2}


def test_a_text_between_requirements_is_no_gap_unless_a_link_names_it() -> None:
    licence = TraceItem("TEXT-1", "", "Licence: Apache-2.0", "s:1", informative=True)
    named = TraceItem("TEXT-2", "", "Background of the pump.", "s:2", informative=True)
    demand = TraceItem("SRS-1", "", "The pump stops.", "s:3", links=("TEXT-2",))
    found = trace([licence, named], [demand, replace(licence, id="TEXT-3")], _never)
    assert (found.untraced_sources, found.untraced_targets, found.copies) == ((), (), ())
    assert sure(found) == {("TEXT-2", "SRS-1", "declared")}


def _never(
    sources: Sequence[str], targets: Sequence[str], least: float
) -> tuple[Sequence[tuple[int, int, float]], float, bool]:
    del sources, targets, least
    return [], 0.5, True


def test_what_only_mentions_a_requirement_is_shown_as_such_and_covers_nothing() -> None:
    sources = [TraceItem("SYS-3", "", "The controller shall log every alarm.", "a")]
    design = TraceItem("D-1", "", "The display is blue. For alarms, see SYS-3.", "b")
    other = TraceItem("D-2", "", "Logs go to flash.", "b", links=("SYS-3",), link_kinds=("conflicts with",))
    found = trace(sources, [design, other], _never)
    assert [(each.target.id, each.verdict, each.evidence.to_text) for each in found.links] == [
        ("D-1", Verdict.MENTIONED, "For alarms, see SYS-3."),
        ("D-2", Verdict.MENTIONED, "conflicts with: SYS-3"),
    ]
    assert [each.id for each in found.untraced_sources] == ["SYS-3"]
    assert coverage_of(found)["from"] == {"items": 1, "declared": 0, "likely": 0, "none": 1}
    accepted = trace(sources, [design], _never, {("SYS-3", "D-1"): True})
    assert sure(accepted) == {("SYS-3", "D-1", "declared")}
    likely = trace(sources, [design], _everything)
    assert sure(likely) == {("SYS-3", "D-1", "likely")}


def test_links_with_withdrawn_items_and_items_that_no_passed_test_covers_are_named() -> None:
    sources = [TraceItem(f"SYS-{number}", "", f"The pump shall do {number}.", "a") for number in range(1, 5)]
    gone = replace(sources[3], attributes={"Status": "Rejected"})

    def case(name: str, number: int, result: str) -> TraceItem:
        return TraceItem(name, "", f"(SYS-{number})", "t", attributes={"Result": result}, kind="test case")

    cases = [case("a", 1, "passed"), case("b", 1, "failed"), case("c", 2, "skipped"), case("d", 4, "passed")]
    found = trace([*sources[:3], gone], [*cases, TraceItem("e", "", "Covers SYS-3", "d")], _never)
    assert [(one.id, other.id) for one, other in found.outdated] == [("SYS-4", "d")]
    assert [(each.id, results) for each, results in found.unproven] == [("SYS-2", "skipped")]
    outdated, unproven = doubts(found).split(". ")
    assert outdated == "Links with a withdrawn item (1): SYS-4 → d"
    assert unproven == "Items of FROM that no passed test case covers (1): SYS-2 (skipped)."

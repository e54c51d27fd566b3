"""Evidence that recommends or permits what is required, beside evidence that requires it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowledge_mcp.engine.tracing.checking import CheckRow, EvidenceVerdict, check
from knowledge_mcp.engine.tracing.links import TraceItem
from knowledge_mcp.engine.tracing.obligations import obligations_of_items
from knowledge_mcp.engine.tracing.readings import ReadDocument
from knowledge_mcp.engine.tracing.row_checks import CheckType, EditionsKnown
from knowledge_mcp.lexical.analyser import EnglishAnalyser

RECORDS = "The operator shall keep records of each test."


def row_with(demand: str, *rated: tuple[str, float]) -> CheckRow:
    """Check a demand against sentences with given probabilities."""

    def seek(_: Sequence[str], sentences: Sequence[str], __: int) -> list[list[tuple[int, float]]]:
        return [[(sentences.index(sentence), odds) for sentence, odds in rated]]

    document = ReadDocument("policy", "\n\n".join(sentence for sentence, _ in rated))
    obligations = obligations_of_items([TraceItem("R1", "", demand, "list")])
    terms = EnglishAnalyser().document_terms
    return check(obligations, [document], seek, terms, EditionsKnown([], "", ""), {}).rows[0]


def forces(row: CheckRow) -> list[tuple[str, str]]:
    return [(each.asked, each.found) for each in row.checks if each.kind is CheckType.FORCE]


@pytest.mark.parametrize(
    ("quote", "word"),
    [
        ("Operators may hold records of their tests on paper.", "may"),
        ("Records of tests should be held by operators.", "should"),
        ("Small operators need not hold records of tests.", "need not"),
        ("An operator shall not be required to keep records of tests.", "shall not be required to"),
    ],
)
def test_the_best_evidence_is_weaker_than_the_demand_in_other_words(quote: str, word: str) -> None:
    row = row_with(RECORDS, (quote, 0.8), ("The plant is shown in a drawing of the site.", 0.55))
    assert forces(row) == [("shall", word)]
    assert row.verdict is EvidenceVerdict.PARTIAL


def test_evidence_that_requires_outweighs_equally_good_evidence_that_recommends() -> None:
    advice, duty = "Operators should hold records of tests.", "Operators shall hold records of tests."
    assert row_with(RECORDS, (advice, 0.8), (duty, 0.75)).verdict is EvidenceVerdict.FOUND
    assert row_with(RECORDS, (advice, 0.8), ("Tests shall be planned by operators.", 0.55)).checks


@pytest.mark.parametrize(
    ("demand", "quote"),
    [
        (RECORDS, "Records may be destroyed only after each test of the operator is closed."),
        (RECORDS, "The operator keeps a record of each test and may print it."),
        (RECORDS, "No record of a test may be destroyed by operators."),
        ("The door shall not be opened by visitors.", "The door may not be opened by visitors."),
        ("The system shall allow operators to export records.", "Operators may export records."),
        (
            "Records shall be kept of what a visitor may open in the plant.",
            "Records are kept of what visitors may open in the plant.",
        ),
    ],
)
def test_a_permission_with_a_limit_or_of_what_the_demand_permits_is_not_weaker(demand: str, quote: str) -> None:
    row = row_with(demand, (quote, 0.8))
    assert forces(row) == []


def test_evidence_with_an_added_condition_is_partial() -> None:
    row = row_with(RECORDS, ("The operator shall keep records of each test, if a customer asks for them.", 0.9))
    assert forces(row) == [("always", "if a customer asks for them")]
    assert row.verdict is EvidenceVerdict.PARTIAL


def test_evidence_without_the_denial_of_a_ban_is_a_conflict() -> None:
    row = row_with("Leavers shall not keep a badge for 5 days.", ("Leavers shall keep a badge for 5 days.", 0.9))
    assert [each.kind for each in row.checks if each.kind is CheckType.CONFLICT]
    assert row.verdict is EvidenceVerdict.PARTIAL

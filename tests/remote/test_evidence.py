"""Evidence from an engine on another machine: the same passages, locators, verdicts and refusals."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from knowledge_mcp.model.document import Box, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import (
    Difference,
    Excerpt,
    Locator,
    QuoteAnswer,
    QuotePlace,
    QuoteQuery,
    QuoteVerdict,
    ReadQuery,
    ReferenceQuery,
)
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from tests.fakes.knowledge import FakeKnowledge
from tests.remote.serving import served_remotely

PLACE = Locator("d", Span(0, 4), "00", (3, 4), ("iii", "iv"), (Box(3, 1.5, 2.25, 3.0, 4.0),), (7, 9))
ALTERED = QuoteAnswer(
    QuoteVerdict.ALTERED,
    (QuotePlace("said", Excerpt("said", PLACE, "D, p. iii"), 0.75, (Difference("a", ""), Difference("", "b"))),),
    2,
    ("Slow.",),
)


class Judge(FakeKnowledge):
    """Answer every quote that names no document with all that an answer can hold."""

    def verify_quote(self, query: QuoteQuery) -> QuoteAnswer:
        return super().verify_quote(query) if query.document_id else ALTERED


@pytest.fixture(scope="module")
def served() -> Generator[tuple[FakeKnowledge, RemoteKnowledge]]:
    local = Judge()
    with served_remotely(local) as remote:
        yield local, remote


def test_every_question_for_evidence_is_answered_as_it_is_there(served: tuple[FakeKnowledge, RemoteKnowledge]) -> None:
    local, remote = served
    knowledge: Knowledge = remote
    for record in local.documents():
        assert knowledge.document_structure(record.id) == local.document_structure(record.id)
        chunk = local.document_chunks(record.id)[-1]
        for read in (
            ReadQuery(record.id),
            ReadQuery(record.id, pages=(1, 1), max_tokens=50),
            ReadQuery(record.id, chunk.clause_number, cursor=chunk.span.start),
            ReadQuery(chunk_id=chunk.id, before=2, parents=True),
        ):
            assert knowledge.read(read) == local.read(read)
        for asked in (ReferenceQuery(record.id), ReferenceQuery(chunk_id=chunk.id, limit=3)):
            assert knowledge.references(asked) == local.references(asked)
    quote = QuoteQuery("records SHALL not be discarded", "example-standard")
    assert knowledge.verify_quote(quote) == local.verify_quote(quote)
    assert knowledge.verify_quote(QuoteQuery("said")) == ALTERED


def test_a_refusal_comes_back_with_what_is_near(served: tuple[FakeKnowledge, RemoteKnowledge]) -> None:
    with pytest.raises(NotFoundError) as missing:
        served[1].read(ReadQuery("example-standard", "5.3.9"))
    assert "5.3 has 5.3.1 and 5.3.2" in missing.value.suggestion
    for wrong in (ReadQuery("example-standard", max_tokens=10**9), ReadQuery("example-standard", "x" * 501)):
        with pytest.raises(InvalidInputError):
            served[1].read(wrong)
    with pytest.raises(InvalidInputError):
        served[1].references(ReferenceQuery("example-standard", limit=10**6))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("knowledge_read", {"document_id": "example-standard", "clause": "5.3.1"}),
        ("knowledge_outline", {"document_id": "example-standard", "clause": "5.3.1", "coverage": True}),
        ("knowledge_references", {"document_id": "example-standard"}),
        ("knowledge_verify_quote", {"quote": "said"}),
    ],
)
def test_the_evidence_tools_answer_alike_over_a_remote_engine(
    served: tuple[FakeKnowledge, RemoteKnowledge], name: str, arguments: dict[str, Any]
) -> None:
    tool = {each.name: each for each in SURFACE.tools}[name]
    here, there = (tool.run(each, parse(tool.request, arguments)) for each in served)
    assert there == here

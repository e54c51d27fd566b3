"""The fake that callers' tests lean on is honest: its chunks are spans, its ingest ingests, its filters filter."""

from __future__ import annotations

import hashlib
import io

import pytest

from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, SkippedFile
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix, SearchQuery
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge
from tests.fakes.knowledge import FakeKnowledge, Texts

BAD = SkippedFile("/bad.pdf", "corrupted", "It is no PDF.")


def item(name: str, text: str) -> SourceItem:
    """Describe a text file in memory."""
    data = text.encode()
    digest = hashlib.sha256(data).hexdigest()
    return SourceItem(f"/{name}", name, "text/markdown", len(data), digest, lambda: io.BytesIO(data))


def test_it_fills_the_port_and_its_chunks_are_the_spans_they_claim() -> None:
    knowledge: Knowledge = FakeKnowledge()
    for record in knowledge.documents():
        text = knowledge.document_text(record.id)
        for chunk in knowledge.document_chunks(record.id):
            assert chunk.span.of(text) == chunk.content
            assert knowledge.chunk(chunk.id)[0] == chunk


@pytest.mark.parametrize(
    ("expected", "clauses"),
    [
        (None, {"5.3.1", "5.3.2", "5.30", "2"}),
        (Equals("document_id", "example-handbook"), {"2"}),
        (In("document_id", ()), set[str]()),
        (Prefix("clause_number", "5.3."), {"5.3.1", "5.3.2"}),
        (And((Equals("normative", value=True), Prefix("clause_number", "5"))), {"5.3.1", "5.3.2"}),
    ],
)
def test_its_filters_keep_what_they_say(expected: Filter | None, clauses: set[str]) -> None:
    answer = FakeKnowledge().search(SearchQuery("verification plan", filter=expected))
    assert {hit.chunk.clause_number for hit in answer.hits} == clauses


def test_it_ingests_skips_recognises_and_removes() -> None:
    knowledge = FakeKnowledge(())
    source = Texts(item("Wind Gauges.md", "One.\n\nTwo."), BAD)
    planned = knowledge.ingest(source, IngestOptions(dry_run=True))
    assert planned.planned[0].chunks == 2
    assert knowledge.documents() == []
    events: list[IngestEvent] = []
    report = knowledge.ingest(source, IngestOptions(), on_event=events.append, on_unreadable=lambda _: True)
    assert report.skipped == (BAD,)
    assert report.documents[0].embedded == 2
    assert [event.kind for event in events][-1] is IngestEventKind.STORED
    assert knowledge.document("wind-gauges").chunk_count == 2
    assert knowledge.ingest(source, IngestOptions()).documents[0].unchanged
    assert not knowledge.ingest(source, IngestOptions(force=True)).documents[0].unchanged
    assert knowledge.remove("wind-gauges") == 2
    with pytest.raises(NotFoundError):
        knowledge.remove("wind-gauges")


def test_it_stops_where_it_is_told_to() -> None:
    knowledge = FakeKnowledge(())
    source = Texts(BAD, item("a.md", "One."))
    assert knowledge.ingest(source, IngestOptions(), on_unreadable=lambda _: False).documents == ()
    assert knowledge.ingest(source, IngestOptions(), cancelled=lambda: True).documents == ()
    assert knowledge.documents() == []

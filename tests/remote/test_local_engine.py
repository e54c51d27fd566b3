"""The real engine does for calls from another machine what it does for its own: real stages, a store in memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, ReadQuery, ReferenceQuery
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import And, Equals, Prefix, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.remote import values
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.sources.files import FileSource
from tests.engine.world import PUMPS, VALVES, World
from tests.remote.serving import served_remotely


@dataclass
class Twins:
    """Two engines over one folder: one asked in its own process, one from another machine."""

    here: World
    there: World
    remote: RemoteKnowledge

    def bring(self, options: IngestOptions) -> tuple[IngestReport, IngestReport, list[IngestEvent]]:
        """Ingest the folder into both; returns both reports and what was reported remotely."""
        events: list[IngestEvent] = []
        source = FileSource(self.here.folder, patterns=("*.md",))
        return self.here.ingest(options), self.remote.ingest(source, options, on_event=events.append), events


@pytest.fixture
def twins(tmp_path: Path) -> Generator[Twins]:
    """Make two empty engines over a folder of three files, one of which cannot be read."""
    here, there = World(tmp_path), World(tmp_path)
    here.write("pumps.md", PUMPS)
    here.write("care/valves.md", VALVES)
    (tmp_path / "scan.md").write_bytes(b"%PDF-1.7 in truth")
    with served_remotely(there.knowledge) as remote:
        yield Twins(here, there, remote)


def timeless(records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
    """Leave the times out, which differ between two runs."""
    return [replace(record, created_at="", updated_at="") for record in records]


def test_files_brought_from_afar_become_the_same_documents(twins: Twins) -> None:
    here, there, events = twins.bring(IngestOptions(dry_run=True))
    assert there.planned == here.planned
    assert twins.remote.documents() == []
    assert events == twins.here.events
    here, there, events = twins.bring(IngestOptions())
    assert timeless([done.record for done in there.documents]) == timeless([done.record for done in here.documents])
    assert [(done.embedded, done.reused) for done in there.documents] == [
        (done.embedded, done.reused) for done in here.documents
    ]
    assert there.skipped == here.skipped
    assert [skipped.reason for skipped in there.skipped] == ["mislabelled"]
    assert there.embedding_tokens == here.embedding_tokens
    assert events == twins.here.events[-len(events) :]
    _, there, _ = twins.bring(IngestOptions())
    assert all(done.unchanged for done in there.documents)


def test_questions_from_afar_get_the_same_answers(twins: Twins) -> None:
    twins.bring(IngestOptions())
    here, there = twins.here.knowledge, twins.remote
    for mode in SearchMode:
        for expected in (None, And((Prefix("clause_number", "3"), Equals("normative", value=True)))):
            query = SearchQuery("report an outage to the operator", 5, mode, filter=expected)
            assert there.search(query) == here.search(query)
            assert there.search(query).hits
    assert there.lookup("outage") == here.lookup("outage")
    assert there.requirements(RequirementQuery("battery")) == here.requirements(RequirementQuery("battery"))
    for record in here.documents():
        assert there.document_text(record.id) == here.document_text(record.id)
        chunks = here.document_chunks(record.id)
        assert there.document_chunks(record.id) == chunks
        assert there.chunk(chunks[-1].id) == here.chunk(chunks[-1].id)
        assert there.document_structure(record.id) == here.document_structure(record.id)
        around = ReadQuery(chunk_id=chunks[-1].id, before=1, parents=True)
        assert there.read(around) == here.read(around)
        assert there.references(ReferenceQuery(record.id)) == here.references(ReferenceQuery(record.id))
        quote = QuoteQuery(chunks[-1].content.replace(" ", "  "), record.id)
        assert there.verify_quote(quote) == here.verify_quote(quote)
    there.warm_up()
    assert there.health().status == "healthy"
    assert replace(there.stats(), documents=()) == replace(here.stats(), documents=())


@pytest.mark.parametrize("together", [True, False])
def test_nothing_is_embedded_before_the_question_about_unreadable_files_is_answered(
    twins: Twins, together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not together:
        monkeypatch.setattr(values, "MOST_ITEMS", 1)
    asked: list[Sequence[SkippedFile]] = []

    def no(skipped: Sequence[SkippedFile]) -> bool:
        asked.append(skipped)
        return False

    source = FileSource(twins.here.folder, patterns=("*.md",))
    report = twins.remote.ingest(source, IngestOptions(), on_unreadable=no)
    assert [len(skipped) for skipped in asked] == [1]
    assert (report.documents, len(report.skipped)) == ((), 1)
    assert not twins.there.base.exists()
    assert len(twins.remote.ingest(source, IngestOptions(), on_unreadable=lambda _: True).documents) == 2
    assert len(twins.remote.documents()) == 2


def test_a_document_removed_from_afar_is_gone(twins: Twins) -> None:
    twins.bring(IngestOptions())
    first = twins.remote.documents()[0]
    assert twins.remote.remove(first.id) == first.chunk_count
    with pytest.raises(NotFoundError):
        twins.there.knowledge.document(first.id)

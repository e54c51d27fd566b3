"""An ingest: incremental, atomic per document, honest about every file."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from knowledge_mcp.embedders.cache import CachedEmbedder
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import (
    CancelledError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    SpaceMismatchError,
)
from knowledge_mcp.model.ingest import IngestEventKind, IngestOptions, Inspection, SkippedFile
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.overridden import OverriddenStore
from tests.engine.publishing import PublishingStore
from tests.engine.world import PUMPS, VALVES, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Make a folder with two documents."""
    made = World(tmp_path)
    made.write("pumps.md", PUMPS)
    made.write("valves.md", VALVES)
    return made


def embedded(world: World) -> list[str]:
    """List what the fake embedder was given."""
    assert isinstance(world.embedder, HashingEmbedder)
    return world.embedder.documents


@pytest.mark.requirement("A-REQ-INGEST-004", "A-REQ-DATA-001")
def test_every_field_of_a_chunk_is_filled_after_an_ingest(world: World) -> None:
    world.ingest()
    record = world.knowledge.document("pumps")
    assert (record.title, record.document_type) == ("Pumping stations", "standard")
    assert dict(record.metadata)["edition"] == "2nd edition"
    assert record.embedding_model == world.embedder.space.label
    assert record.created_at == record.updated_at
    power = next(chunk for chunk in world.knowledge.document_chunks("pumps") if chunk.clause_number == "3.1")
    assert power.normative
    assert power.section_title == "Power"
    assert power.section_hierarchy[-2:] == ("3 Requirements", "3.1 Power")
    assert power.source_path == str(world.folder / "pumps.md")
    assert power.token_count == world.embedder.count_tokens(power.content)
    alarms = next(chunk for chunk in world.knowledge.document_chunks("pumps") if chunk.clause_number == "3.2")
    assert "3.1" in alarms.references
    assert alarms.chunk_type == "requirement"
    ids = [chunk.id for chunk in world.knowledge.document_chunks("pumps")]
    assert [str(uuid.UUID(each)) for each in ids] == ids
    assert alarms.parent_chunk_id in ids
    for chunk in world.knowledge.document_chunks("pumps"):
        assert (chunk.document_id, chunk.document_title, chunk.document_type) == (record.id, record.title, "standard")
        assert chunk.content_hash == hashlib.sha256(chunk.content.encode()).hexdigest()
        key = hashlib.sha256(chunk.embedding_text.encode()).hexdigest()
        assert len(world.store.open("kb").vectors([key])[key]) == 4 * world.embedder.space.dimensions


def test_a_second_ingest_of_unchanged_files_embeds_and_writes_nothing(world: World) -> None:
    first = world.ingest()
    given = len(embedded(world))
    second = world.ingest()
    assert len(embedded(world)) == given > 0
    assert [each.unchanged for each in first.documents] == [False, False]
    assert [each.unchanged for each in second.documents] == [True, True]


def test_a_changed_clause_is_the_only_one_that_is_embedded_again(world: World) -> None:
    world.ingest()
    given = len(embedded(world))
    world.write("pumps.md", PUMPS.replace("eight hours", "nine hours"))
    report = world.ingest()
    changed = next(each for each in report.documents if not each.unchanged)
    assert (changed.record.id, changed.embedded) == ("pumps", 1)
    assert changed.reused == changed.record.chunk_count - 1
    assert len(embedded(world)) == given + 1


@pytest.mark.requirement("A-REQ-INGEST-006", "CLARIFY-006")
def test_force_replaces_every_chunk_with_a_fresh_one(world: World) -> None:
    world.ingest()
    before = world.knowledge.document("pumps")
    report = world.ingest(IngestOptions(force=True))
    after = world.knowledge.document("pumps")
    assert [each.reused for each in report.documents] == [0, 0]
    assert before.chunk_count == after.chunk_count == len(world.knowledge.document_chunks("pumps"))
    assert after.created_at == before.created_at
    assert after.updated_at > before.updated_at


@pytest.mark.requirement("A-REQ-INGEST-006")
def test_identical_passages_of_two_documents_are_warned_of(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.ingest()
    world.write("copy.md", VALVES + "\n## 3 More\n\nOne thing more.\n")
    world.ingest()
    assert any("identical in 'valves'" in message for message in caplog.messages)
    assert IngestEventKind.DUPLICATE in world.kinds()


@pytest.mark.requirement("CLARIFY-001", "A-REQ-IF-004")
def test_unreadable_files_are_shown_before_anything_is_embedded_and_skipped_on_request(world: World) -> None:
    (world.folder / "broken.md").write_bytes(b"\xff\xfe\x00\xd8\x00")
    asked: list[str] = []

    def go_on(skipped: Sequence[SkippedFile]) -> bool:
        assert embedded(world) == []
        asked.extend(each.source for each in skipped)
        return True

    report = world.ingest(on_unreadable=go_on)
    assert asked == [str(world.folder / "broken.md")]
    assert len(report.documents) == 2
    assert [each.source for each in report.skipped] == asked


@pytest.mark.requirement("CLARIFY-001")
def test_an_ingest_is_aborted_when_the_user_says_so(world: World) -> None:
    (world.folder / "broken.md").write_bytes(b"\xff\xfe\x00\xd8\x00")
    report = world.ingest(on_unreadable=lambda _: False)
    assert report.documents == ()
    assert len(report.skipped) == 1
    assert world.knowledge.documents() == []
    assert embedded(world) == []


def test_a_dry_run_plans_and_stores_nothing(world: World) -> None:
    report = world.ingest(IngestOptions(dry_run=True))
    assert {each.document_id for each in report.planned} == {"pumps", "valves"}
    assert all(each.chunks and each.tokens for each in report.planned)
    assert embedded(world) == []
    assert world.store.open("kb").info() is None


def test_two_files_of_one_name_get_two_ids_that_stay_the_same(world: World) -> None:
    world.write("other/valves.md", VALVES.replace("gate", "ball"))
    world.ingest()
    ids = {record.id: record.source_path for record in world.knowledge.documents()}
    assert len(ids) == 3
    world.write("other/valves.md", VALVES.replace("gate", "needle"))
    world.ingest()
    assert {record.id: record.source_path for record in world.knowledge.documents()} == ids


def test_a_moved_file_keeps_its_document(world: World) -> None:
    world.ingest()
    (world.folder / "new").mkdir()
    (world.folder / "valves.md").rename(world.folder / "new" / "valves.md")
    report = world.ingest()
    moved = next(each for each in report.documents if not each.unchanged)
    assert (moved.record.id, moved.embedded) == ("valves", 0)
    assert world.knowledge.document("valves").source_path == str(world.folder / "new" / "valves.md")
    assert len(world.knowledge.documents()) == 2


def test_a_new_document_id_in_the_frontmatter_replaces_the_old_one(world: World) -> None:
    world.ingest()
    world.write("pumps.md", PUMPS.replace("title:", "document_id: std-7\ntitle:"))
    world.ingest()
    assert [record.id for record in world.knowledge.documents()] == ["std-7", "valves"]


@pytest.mark.requirement("CLARIFY-006")
def test_a_failing_embedding_service_leaves_the_old_version_and_says_how_far_it_came(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    world = World(tmp_path, embedder=CachedEmbedder(embedder, tmp_path / "cache.sqlite")).holding({"a.md": VALVES})
    world.write("a.md", "# Long\n" + "\n".join(f"\n## {n} Part\n\nPart {n} says {n}.\n" for n in range(1, 101)))
    embedder.failure, embedder.fail_after = ConnectionFailedError("gone"), 64
    with pytest.raises(ConnectionFailedError):
        world.ingest()
    failed = world.events[-1]
    assert (failed.kind, failed.done, failed.total) == (IngestEventKind.FAILED, 64, 100)
    assert len(world.knowledge.document_chunks("a")) == world.knowledge.document("a").chunk_count
    assert "valve" in world.knowledge.document_text("a")
    embedder.failure = None
    report = world.ingest()
    assert (report.documents[0].embedded, report.documents[0].reused) == (36, 64)


def test_a_cancelled_ingest_keeps_what_was_finished(world: World) -> None:
    report = world.ingest(cancelled=lambda: IngestEventKind.STORED in world.kinds())
    assert [each.record.id for each in report.documents] == [record.id for record in world.knowledge.documents()]


def test_another_embedding_space_is_refused_before_anything_is_read(world: World) -> None:
    world.ingest()
    other = World(world.folder, store=world.store, embedder=HashingEmbedder(model="other"))
    with pytest.raises(SpaceMismatchError, match=r"hashing.*other"):
        other.ingest()
    assert other.events == []


class SweptOnce(PublishingStore):
    """A store in which another writer removes the chunks of the first publish before they are visible."""

    swept = False

    def take(self, collection: str, new: WholeDocument) -> None:
        if not self.swept:
            self.swept = True
            raise InternalError("Chunks were discarded by another writer.")
        super().take(collection, new)


@pytest.mark.parametrize("slice_", [1, 64])
def test_chunks_removed_by_another_writer_are_written_again(tmp_path: Path, slice_: int) -> None:
    world = World(tmp_path, store=SweptOnce(EnglishAnalyser()), slice=slice_).holding({"pumps.md": PUMPS})
    assert len(world.knowledge.document_chunks("pumps")) == world.knowledge.document("pumps").chunk_count


class FullStore(OverriddenStore):
    """A store whose disk is full."""

    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        raise InternalError("The disk is full.")


def test_a_store_that_cannot_write_ends_the_ingest_with_its_reason(tmp_path: Path) -> None:
    world = World(tmp_path, store=FullStore(EnglishAnalyser()))
    world.write("pumps.md", PUMPS)
    with pytest.raises(InternalError, match="disk is full"):
        world.ingest()
    assert world.kinds()[-1] is IngestEventKind.FAILED
    assert world.knowledge.documents() == []


class FullAfterOne(PublishingStore):
    """A store that is full when its first document is there."""

    def take(self, collection: str, new: WholeDocument) -> None:
        if self.documents(collection):
            raise ConnectionFailedError("The disk is full.")
        super().take(collection, new)


def test_what_was_stored_before_the_store_failed_is_distinguished_from_what_was_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path, store=FullAfterOne(EnglishAnalyser()))
    for name in "abcdefgh":
        world.write(f"{name}.md", PUMPS.replace("Pumping", name))
    with pytest.raises(ConnectionFailedError, match="disk is full"):
        world.ingest()
    result = {Path(event.source).stem: event.kind for event in world.events}
    assert result == {"a": IngestEventKind.STORED} | dict.fromkeys("bcdefgh", IngestEventKind.FAILED)
    assert [each.id for each in world.knowledge.documents()] == ["a"]
    logged = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert [Path(each.split()[1].rstrip(":")).name for each in logged[:3]] == ["b.md", "c.md", "d.md"]
    assert logged[3:] == ["failed for the same reason: 4 more files: The disk is full."]


class RefusesB(OverriddenStore):
    """A store that cannot take one document, and then takes none of those that come with it."""

    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        if "b" in {each.record.id for each in documents}:
            raise InvalidInputError("A text contains half of a surrogate pair.")
        super().publish(collection, documents, on_published)


def test_a_document_that_cannot_be_stored_keeps_out_none_before_it(tmp_path: Path) -> None:
    world = World(tmp_path, store=RefusesB(EnglishAnalyser()))
    for name in ("a.md", "b.md"):
        world.write(name, PUMPS.replace("Pumping", name))
    with pytest.raises(InvalidInputError, match="surrogate"):
        world.ingest()
    failed = [Path(event.source).name for event in world.events if event.kind is IngestEventKind.FAILED]
    assert failed == ["b.md"]
    assert [each.id for each in world.knowledge.documents()] == ["a"]


def test_copies_among_files_that_are_stored_together_are_reported(world: World) -> None:
    world.write("pumps-copy.md", PUMPS)
    world.ingest()
    (event,) = [event for event in world.events if event.kind is IngestEventKind.DUPLICATE]
    assert Path(event.source).name == "pumps.md"
    assert event.message.endswith("passages of 'pumps' are identical in 'pumps-copy'.")

    for letter in "abcd":
        world.write(f"{letter}.md", PUMPS)
    world.events.clear()
    world.ingest()
    result = [event.message for event in world.events if event.kind is IngestEventKind.DUPLICATE]
    assert len(result) == 4  # one of each document, however many copies there are
    assert result[-1].endswith("passages of 'd' are identical in 'a', 'b', 'c' and 2 more.")


def test_searches_during_an_ingest_see_whole_documents_only(tmp_path: Path) -> None:
    world = World(tmp_path)
    text = "# Log\n" + "\n".join(f"\n## {n} Entry\n\nEntry {n} of edition ONE.\n" for n in range(1, 200))
    world.write("log.md", text)
    world.ingest()
    stop, mixed = threading.Event(), list[set[str]]()

    def look() -> None:
        while not stop.is_set():
            chunks = world.knowledge.document_chunks("log")
            editions = {chunk.content.split("edition ")[1][:3] for chunk in chunks if "edition " in chunk.content}
            if len(editions) != 1:
                mixed.append(editions)

    watcher = threading.Thread(target=look)
    watcher.start()
    for edition in ("TWO", "SIX", "TEN"):
        world.write("log.md", text.replace("ONE", edition))
        world.ingest()
    stop.set()
    watcher.join()
    assert mixed == []
    assert world.knowledge.search(SearchQuery("entry of edition TEN")).hits


def test_a_defect_in_one_file_does_not_stop_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = MarkdownReader.read

    def faulty(self: MarkdownReader, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        if "pumps" in item.name:
            raise ZeroDivisionError
        return honest(self, item, progress)

    monkeypatch.setattr(MarkdownReader, "read", faulty)
    report = world.ingest()
    assert [each.reason for each in report.failed] == ["internal_error"]
    assert [record.id for record in world.knowledge.documents()] == ["valves"]


def test_a_file_of_a_kind_without_a_reader_is_skipped_with_the_kinds_that_are_read(world: World) -> None:
    path = world.write("figures.csv", "a,b\n")
    (skipped,) = world.knowledge.ingest(FileSource(path), IngestOptions()).skipped
    result = "Files of this type are not supported (text/csv)."
    assert (skipped.reason, skipped.message) == ("unsupported", result)
    assert skipped.suggestion.endswith("convert it to a supported type: .markdown, .md, .mdx.")


def test_a_caller_that_leaves_while_a_file_is_opened_is_no_fault_of_the_file(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(reader: MarkdownReader, item: SourceItem) -> Inspection:
        raise CancelledError("The caller has left.")

    monkeypatch.setattr(MarkdownReader, "check", leave)
    world.write("pumps.md", PUMPS)
    with pytest.raises(CancelledError):
        world.ingest()
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


def test_an_ingest_that_is_cancelled_while_a_document_is_read_ends_before_it_is_cut(world: World) -> None:
    path = world.write("long.md", "# Long\n\n" + "".join(f"- item {n} shall be kept\n" for n in range(2_000)))
    reading = (IngestEventKind.READING, str(path))
    report = world.ingest(cancelled=lambda: reading in [(event.kind, event.source) for event in world.events])
    assert (IngestEventKind.CHUNKED, str(path)) not in [(event.kind, event.source) for event in world.events]
    assert report.failed == ()
    assert world.store.collections() == []  # what nothing was stored in is not there, rather than empty

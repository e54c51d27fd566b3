"""Every planned document ends as exactly one of stored, unchanged, skipped and failed, whatever its services do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.engine.ingest import plan
from knowledge_mcp.engine.ingest.ingest import CANCELLED, Outcomes
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    ContentRefusedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.model.ingest import IngestEventKind, IngestOptions, IngestReport
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.support.workers import MadeOnce
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.publishing import PublishingStore
from tests.engine.world import World
from tests.machine import examples
from tests.readers.in_process import HERE

_FINAL = {
    IngestEventKind.STORED: "stored",
    IngestEventKind.UNCHANGED: "unchanged",
    IngestEventKind.SKIPPED: "skipped",
    IngestEventKind.FAILED: "failed",
}
_ERRORS: tuple[KnowledgeError, ...] = (
    TimedOutError("The service took too long."),
    ConnectionFailedError("The service is gone."),
    RateLimitedError("Too many requests."),
    InternalError("The service is broken."),
    InvalidInputError("The service understood nothing."),
)


class Moody(HashingEmbedder):
    """Refuse, fail or answer, one mood a call; the last mood stays."""

    def __init__(self, moods: Sequence[str | KnowledgeError]) -> None:
        super().__init__()
        self._moods = list(moods)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        mood = self._moods.pop(0) if self._moods else "well"
        if isinstance(mood, KnowledgeError):
            raise mood
        vectors = super().embed_documents(texts)
        refused = {"well": 0, "some": 1, "many": 2, "all": len(texts)}[mood]
        if not refused:
            return vectors
        step = max(len(texts) // refused, 1)
        gone = set(range(0, len(texts), step))
        raise ContentRefusedError(
            "The service refused texts.",
            vectors=[None if place in gone else vector for place, vector in enumerate(vectors)],
            reasons=dict.fromkeys(gone, "against its rules"),
        )


class Moodier(PublishingStore):
    """Fail to publish now and then."""

    moods: Sequence[KnowledgeError | None] = ()

    def take(self, collection: str, new: WholeDocument) -> None:
        mood, self.moods = (self.moods[0], self.moods[1:]) if self.moods else (None, ())
        if mood is not None:
            raise mood
        super().take(collection, new)


def text_of(name: str, passages: int) -> str:
    """Write a document that is cut into so many passages."""
    return f"# {name}\n" + "".join(f"\n## {n} Part\n\nPart {n} of {name} says {n}.\n" for n in range(1, passages + 1))


def outcomes_of(report: IngestReport) -> Counter[str]:
    """Count how often each source stands in a report."""
    result = [each.record.source_path for each in report.documents]
    return Counter([*result, *(each.source for each in (*report.skipped, *report.failed))])


@pytest.mark.parametrize("slice_", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("word", ["says 1.", "says 2.", "says 3.", "says 10."])
def test_a_refused_passage_costs_a_long_document_that_passage_only(tmp_path: Path, slice_: int, word: str) -> None:
    world = World(tmp_path, embedder=HashingEmbedder(refused=word), slice=slice_)
    path = world.write("long.md", text_of("long", 10))
    report = world.ingest()
    assert [each.record.source_path for each in report.documents] == [str(path)]
    (done,) = report.documents
    kept = world.knowledge.document_chunks("long")
    assert (len(kept), done.record.chunk_count, done.embedded, done.reused) == (9, 9, 9, 0)
    assert not [chunk for chunk in kept if word in chunk.content]
    assert len([each for each in done.record.warnings if "refused" in each]) == 1


def test_a_document_of_which_all_is_refused_fails_with_the_number_of_its_passages(tmp_path: Path) -> None:
    world = World(tmp_path, embedder=HashingEmbedder(refused="says"), slice=3)
    world.write("long.md", text_of("long", 10))
    report = world.ingest()
    assert report.documents == ()
    assert [each.message for each in report.failed] == ["The embedding service refused all of 10 passages."]


def test_what_a_stopped_ingest_did_not_come_to_is_skipped_by_name(tmp_path: Path) -> None:
    world = World(tmp_path, slice=4)
    names = [str(world.write(f"{name}.md", text_of(name, 9))) for name in "abcdef"]
    report = world.ingest(cancelled=lambda: IngestEventKind.STORED in world.kinds())
    assert report.documents
    assert {each.reason for each in report.skipped} == {CANCELLED}
    assert outcomes_of(report) == Counter(names)


def test_documents_that_wait_when_the_service_ends_the_ingest_are_reported_as_failed(tmp_path: Path) -> None:
    world = World(tmp_path, embedder=HashingEmbedder(failure=TimedOutError("slow"), fail_after=9), slice=4)
    names = [str(world.write(f"{name}.md", text_of(name, 9))) for name in "abcdef"]
    with pytest.raises(TimedOutError):
        world.ingest()
    result = [event.source for event in world.events if event.kind in _FINAL]
    assert Counter(result) == Counter(names)


def test_a_lost_document_is_an_error_that_names_it() -> None:
    outcomes = Outcomes()
    outcomes.plan(["kept.md", "lost.md", "twice.md"])
    for source in ("kept.md", "twice.md", "twice.md"):
        outcomes.settle(source)
    assert outcomes.left == ["lost.md"]
    with pytest.raises(InternalError, match=r"2 documents: 'lost\.md', 'twice\.md'") as caught:
        outcomes.check()
    assert "kept.md" not in str(caught.value)


_moods = st.lists(st.one_of(st.sampled_from(["well", "some", "many", "all"]), st.sampled_from(_ERRORS)), max_size=12)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 23), min_size=1, max_size=6),
    slice_=st.integers(1, 17),
    files_at_once=st.one_of(st.none(), st.integers(1, 3)),
    moods=_moods,
    store_moods=st.lists(st.one_of(st.none(), st.none(), st.sampled_from(_ERRORS)), max_size=8),
    patience=st.one_of(st.none(), st.integers(0, 60)),
    runs=st.integers(1, 2),
)
def test_every_planned_document_has_exactly_one_outcome(
    sizes: list[int],
    slice_: int,
    files_at_once: int | None,
    moods: list[str | KnowledgeError],
    store_moods: list[KnowledgeError | None],
    patience: int | None,
    runs: int,
) -> None:
    with TemporaryDirectory() as folder:
        store = Moodier(EnglishAnalyser())
        store.moods = store_moods
        world = World(Path(folder), store=store, embedder=Moody(moods), slice=slice_)
        names = [str(world.write(f"d{n}.md", text_of(f"d{n}", size))) for n, size in enumerate(sizes)]
        for _ in range(runs):
            world.events.clear()
            try:
                report = world.ingest(
                    IngestOptions(files_at_once=files_at_once),
                    cancelled=lambda: patience is not None and len(world.events) > patience,
                )
            except KnowledgeError:
                result = [event.source for event in world.events if event.kind in _FINAL]
                assert Counter(result) == Counter(names)
            else:
                planned = outcomes_of(report)
                found = [event.source for event in world.events if event.kind is IngestEventKind.FOUND]
                assert planned == Counter(found)
                assert patience is not None or planned == Counter(names)
            for record in world.knowledge.documents() if world.base.exists() else []:
                assert len(world.knowledge.document_chunks(record.id)) == record.chunk_count > 0


@pytest.mark.parametrize(("release", "again"), [("0.0.9", True), ("0.10", False), ("", True)])
def test_what_a_newer_release_has_read_is_not_read_again_by_an_older_one(
    tmp_path: Path, release: str, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    world.write("a.md", text_of("a", 3))
    pipeline = Pipeline(
        {"text/markdown": MarkdownReader(sandbox=HERE)},
        ClauseChunker(),
        DocumentClassifier(),
        release=release,
    )
    with monkeypatch.context() as other:
        other.setattr(plan, "STRUCTURE_VERSION", "of another release")
        LocalKnowledge(world.base, MadeOnce(lambda: pipeline)).ingest(
            FileSource(tmp_path, patterns=("*.md",)), IngestOptions()
        )
    assert [each.unchanged for each in world.ingest().documents] == [not again]
    assert [each.unchanged for each in world.ingest(IngestOptions(force=True)).documents] == [False]

"""The progress of an ingest that is waited for: it never goes back, and most is left when embedding begins."""

from __future__ import annotations

from knowledge_mcp.engine.ingest.ingest import progress_of
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind


def event(kind: IngestEventKind, done: int, total: int) -> IngestEvent:
    """Make an event of one document."""
    return IngestEvent(kind, "a.pdf", done, total)


def test_most_of_the_progress_is_left_before_the_first_passage_is_embedded() -> None:
    done, total, message = progress_of(event(IngestEventKind.CHUNKED, 0, 561), "passage")
    assert message == "embedding passage 0 of 561"
    assert done < total / 2


def test_the_progress_never_goes_back_and_ends_below_the_whole() -> None:
    events = [event(IngestEventKind.READING, page, 9) for page in range(10)]
    events += [event(IngestEventKind.EMBEDDED, passage, 40) for passage in range(41)]
    steps = [progress_of(each, "passage")[0] for each in events]
    assert steps == sorted(steps)
    assert 90 < steps[-1] < 100

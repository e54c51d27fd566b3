"""The fake that callers' tests lean on is honest: its chunks are spans, its pages are where they were marked."""

from __future__ import annotations

import threading

import pytest

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.ports import Library
from tests.fakes.library import FakeLibrary
from tests.rag.conftest import GUIDE, PAGE, WEB


def test_it_fills_the_port_and_its_chunks_are_the_spans_they_claim() -> None:
    library: Library = FakeLibrary()
    done = library.deposit(Deposit(filename="guide.md", text=GUIDE))
    held = library.find(done.document_id)
    assert [chunk.span.of(held.text) for chunk in held.chunks] == [chunk.content for chunk in held.chunks]
    assert [chunk.page_numbers for chunk in held.chunks] == [(1,), (2,)]
    assert "<!-- page" not in held.text
    assert [chunk.clause_number for chunk in held.chunks] == ["1", "1.1"]


def test_it_recognises_replaces_and_removes() -> None:
    library = FakeLibrary()
    first = library.deposit(Deposit(filename="a.md", text="One."))
    assert library.deposit(Deposit(filename="a.md", text="One.")).unchanged
    assert library.deposit(Deposit(filename="a.md", text="Two.")).replaced
    assert library.deposit(Deposit("other", "a.md", "Two.")).document_id != first.document_id
    assert library.search_in("default", SearchQuery("two")).hits[0].chunk.content == "Two."
    assert library.remove_document(first.document_id) == 1
    assert library.drop_collection("other") == 1
    with pytest.raises(NotFoundError):
        library.records("other")
    assert library.records("default") == []


def test_it_refuses_what_a_library_refuses() -> None:
    library = FakeLibrary(web={**WEB, "https://bytes.example.com/": b"\xff\xfe"})
    for wrong in (
        Deposit(),
        Deposit(text="a", url=PAGE),
        Deposit("no name/", text="a"),
        Deposit(url="http://a.example"),
    ):
        with pytest.raises(InvalidInputError):
            library.deposit(wrong)
    for empty, reason in (
        (Deposit(text=" \n"), UnreadableReason.EMPTY),
        (Deposit(url="https://bytes.example.com/"), UnreadableReason.CORRUPTED),
    ):
        with pytest.raises(UnreadableDocumentError) as met:
            library.deposit(empty)
        assert met.value.reason is reason


def test_its_jobs_end_and_are_counted() -> None:
    begun, release = threading.Event(), threading.Event()

    def before(method: str) -> None:
        if method == "work":
            begun.set()
            assert release.wait(20)

    library = FakeLibrary(web=WEB, before=before)
    kept, stopped = library.submit(Deposit(url=PAGE)), library.submit(Deposit("other", url=PAGE))
    assert begun.wait(20)
    assert library.cancel_job(stopped.id).state == "cancelled"
    release.set()
    for worker in threading.enumerate():
        if worker.name == "fake library job":
            worker.join(20)
    assert library.job(kept.id).result is not None
    assert dict(library.job_counts()) == {"done": 1, "cancelled": 1}
    assert [each.name for each in library.collections()] == ["default"]
    library.close()
    assert library.closed

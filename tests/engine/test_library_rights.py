"""The library as one sees it who may not see all: what is hidden is answered like what is not there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.engine.core.restricted import copy_with
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.model.rights import ALLOWED, Rights
from knowledge_mcp.stores.memory import MemoryStore
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended


class Counted(MemoryStore):
    """Write down which of its methods this thread calls; another one looks for further jobs."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self._calls: list[str] = []
        self._thread = threading.get_ident()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and threading.get_ident() == self._thread:
            self._calls.append(name)
        return super().__getattribute__(name)

    def _forget(self) -> None:
        self._calls.clear()

    def _told(self) -> tuple[str, ...]:
        return tuple(self._calls)


def test_what_one_may_not_reach_is_answered_like_what_is_not_there_by_the_same_store_calls(shelf: Shelf) -> None:
    shelf.store = store = Counted()
    service = shelf.open()
    service.deposit(Deposit("docs", "pumps.md", PUMPS))
    foreign = service.deposit(Deposit("secret", "valves.md", VALVES)).document_id
    job = ended(service, service.submit(Deposit("secret", "more.md", PUMPS)).id).id
    seen = service.seen_by(Rights(("docs",)))

    def answer(ask: Callable[[str], Any], name: str) -> tuple[str, str | None, tuple[str, ...]]:
        store._forget()  # pyright: ignore[reportPrivateUsage] - every public name counts as a call
        with pytest.raises(NotFoundError) as raised:
            ask(name)
        calls = store._told()  # pyright: ignore[reportPrivateUsage] - as above
        assert calls
        return raised.value.message.replace(name, "it"), raised.value.suggestion, calls

    def search(name: str) -> Any:
        return seen.search_in(name, SearchQuery("valve"))

    near = foreign[:-1] + ("0" if foreign[-1] != "0" else "1")
    no_job = "f" * len(job)
    asks: list[tuple[Callable[[str], Any], str, str]] = [
        (seen.where, foreign, near), (seen.find, foreign, near), (seen.record, foreign, near),
        (seen.remove_document, foreign, near), (seen.job, job, no_job), (seen.cancel_job, job, no_job),
        (seen.records, "secret", "secreu"), (seen.drop_collection, "secret", "secreu"), (search, "secret", "secreu"),
    ]  # fmt: skip
    for ask, there, absent in asks:
        found = answer(ask, there)
        assert found == answer(ask, absent), ask
        assert there not in str(found)
    assert [each.name for each in seen.collections()] == ["docs"]
    assert service.where(foreign) == "secret"


def test_collections_are_found_that_may_be_written_but_never_suggested(shelf: Shelf) -> None:
    service = shelf.open()
    service.deposit(Deposit("inbox", "pumps.md", PUMPS))
    seen = service.seen_by(Rights((), reach=("inbox",)))
    with pytest.raises(NotFoundError) as raised:
        seen.drop_collection("inbux")
    assert "inbox" not in str(raised.value.suggestion)
    assert seen.drop_collection("inbox") == 1


def test_documents_for_some_groups_are_not_there_for_others_whatever_is_asked(shelf: Shelf) -> None:
    service = shelf.open()
    service.deposit(Deposit("docs", "pumps.md", PUMPS))
    secret = service.deposit(Deposit("docs", "valves.md", VALVES, metadata=((ALLOWED, "legal"),))).document_id
    lawyer = service.seen_by(Rights(groups=("legal",)))
    other = service.seen_by(Rights(groups=("eng",)))
    assert lawyer.find(secret).record.id == secret
    assert [each.documents for each in other.collections() if each.name == "docs"] == [1]
    assert [each.documents for each in lawyer.collections() if each.name == "docs"] == [2]
    assert [each.title for each in other.records("docs")] == ["Pumps"]
    assert [hit.chunk.document_title for hit in other.search_in("docs", SearchQuery("valve turned")).hits] == ["Pumps"]
    for ask in (other.where, other.find, other.record, other.remove_document):
        with pytest.raises(NotFoundError) as raised:
            ask(secret)
        assert secret[:-1] not in f"{raised.value.suggestion}"
    assert service.where(secret) == "docs"


def test_jobs_of_documents_for_some_groups_are_not_there_for_others(shelf: Shelf) -> None:
    service = shelf.open()
    legal = ((ALLOWED, "legal"),)
    named = ended(service, service.submit(Deposit("docs", "merger.md", VALVES, metadata=legal)).id).id
    service.deposit(Deposit("docs", "bonus.md", VALVES, metadata=legal))
    later = ended(
        service, service.submit(Deposit("docs", "bonus.md", f"{VALVES}\nMore.\n")).id
    ).id  # says no group again
    failed = ended(
        service, service.submit(Deposit("docs", "audit.md", url="https://a.example/x", metadata=legal)).id
    ).id
    seen = ended(service, service.submit(Deposit("docs", "pumps.md", PUMPS)).id).id
    lawyer = service.seen_by(Rights(groups=("legal",)))
    other = service.seen_by(Rights(groups=("eng",)))
    assert {each.id for each in lawyer.jobs()} == {named, later, failed, seen}
    assert [each.id for each in other.jobs()] == [seen]
    for hidden in (named, later, failed):
        assert lawyer.job(hidden).id == hidden
        for ask in (other.job, other.cancel_job):
            with pytest.raises(NotFoundError) as raised:
                ask(hidden)
            assert raised.value.message == f"Job not found: {hidden}"


def test_a_collection_that_holds_hidden_documents_alone_is_not_there(shelf: Shelf) -> None:
    service = shelf.open()
    service.deposit(Deposit("merger-2026", "valves.md", VALVES, metadata=((ALLOWED, "legal"),)))
    other = service.seen_by(Rights(groups=("eng",)))
    assert [each.name for each in other.collections()] == ["default"]
    for ask in (other.records, other.drop_collection):
        with pytest.raises(NotFoundError) as raised:
            ask("merger-2026")
        with pytest.raises(NotFoundError) as absent:
            ask("merger-2027")
        assert raised.value.message.replace("2026", "2027") == absent.value.message
        assert raised.value.suggestion == absent.value.suggestion
    assert [each.name for each in service.seen_by(Rights(groups=("legal",))).collections()][1:] == ["merger-2026"]


def test_a_new_version_of_a_document_is_for_the_same_groups_until_somebody_says_otherwise(shelf: Shelf) -> None:
    service = shelf.open()

    def allowed(text: str, *metadata: tuple[str, str]) -> str:
        done = service.deposit(Deposit("docs", "valves.md", text, metadata=metadata))
        return service.record(done.document_id).label(ALLOWED)

    assert allowed(VALVES, (ALLOWED, "legal")) == "legal"
    assert allowed(f"{VALVES}\nMore.\n") == "legal"
    assert allowed(f"---\n{ALLOWED}: eng\n---\n{VALVES}\nStill more.\n") == "legal"  # a file says nothing of rights
    assert allowed(f"{VALVES}\nThe end.\n", (ALLOWED, "*")) == "*"
    assert service.seen_by(Rights(groups=())).records("docs")


def test_a_view_of_a_service_changes_no_field_that_the_service_does_not_have(shelf: Shelf) -> None:
    with pytest.raises(TypeError, match="LibraryService has no field _reights"):
        copy_with(shelf.open(), _reights=Rights())

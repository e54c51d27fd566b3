"""The library service: documents of collections, recognised, replaced, found, removed."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from knowledge_mcp.engine.jobs.store_journal import JOBS_COLLECTION
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, InvalidInputError, NotFoundError
from knowledge_mcp.model.library import Deposit, Fetched
from knowledge_mcp.model.query import Equals, SearchQuery
from tests.engine.overridden import OverriddenStore
from tests.engine.shelf import PUMPS, VALVES, Shelf


@pytest.mark.requirement("D-REQ-4.1")
@pytest.mark.requirement("D-REQ-4.2")
@pytest.mark.requirement("D-REQ-4.3")
@pytest.mark.requirement("D-REQ-4.4")
def test_a_document_goes_into_its_collection_and_is_found_only_there(shelf: Shelf) -> None:
    service = shelf.open()
    assert [(each.name, each.documents) for each in service.collections()] == [("default", 0)]
    done = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    service.deposit(Deposit("beta", "valves.md", VALVES))
    assert [(each.name, each.documents) for each in service.collections()] == [
        ("alpha", 1),
        ("beta", 1),
        ("default", 0),
    ]
    assert [hit.chunk.document_id for hit in service.search_in("alpha", SearchQuery("battery")).hits] == [
        done.document_id
    ]
    assert not service.search_in("beta", SearchQuery("battery", filter=Equals("document_id", done.document_id))).hits
    assert service.search_in("default", SearchQuery("battery")).hits == ()


def test_a_collection_that_is_not_there_is_an_error_that_names_the_nearest(shelf: Shelf) -> None:
    service = shelf.open()
    service.deposit(Deposit("project-alpha", "pumps.md", PUMPS))
    with pytest.raises(NotFoundError, match="Collection not found: project-alfa") as raised:
        service.search_in("project-alfa", SearchQuery("battery"))
    assert "project-alpha" in raised.value.suggestion


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 64, "application_docs", "knowledge_jobs", "é"])
def test_a_name_that_no_collection_may_have_is_refused(shelf: Shelf, name: str) -> None:
    with pytest.raises(InvalidInputError):
        shelf.open().deposit(Deposit(name, "pumps.md", PUMPS))


def test_the_same_document_again_changes_nothing_and_another_content_replaces_it(shelf: Shelf) -> None:
    service = shelf.open()
    first = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    again = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    assert (again.document_id, again.unchanged, again.replaced) == (first.document_id, True, False)
    changed = service.deposit(Deposit("alpha", "pumps.md", PUMPS.replace("eight", "nine")))
    assert (changed.document_id, changed.unchanged, changed.replaced) == (first.document_id, False, True)
    texts = [chunk.content for chunk in service.find(first.document_id).chunks]
    assert any("nine hours" in text for text in texts)
    assert not any("eight hours" in text for text in texts)
    elsewhere = service.deposit(Deposit("beta", "pumps.md", PUMPS))
    assert elsewhere.document_id != first.document_id


def test_metadata_that_changed_is_kept_without_embedding_anything_again(shelf: Shelf) -> None:
    service = shelf.open()
    first = service.deposit(Deposit("alpha", "pumps.md", PUMPS, metadata=(("owner", "ada"),)))
    again = service.deposit(Deposit("alpha", "pumps.md", PUMPS, metadata=(("owner", "bob"), ("title", "Pump book"))))
    assert again.document_id == first.document_id
    record = service.record(first.document_id)
    assert dict(record.metadata)["owner"] == "bob"
    assert (again.title, record.title) == ("Pump book", "Pump book")
    third = service.deposit(Deposit("alpha", "pumps.md", PUMPS, metadata=(("owner", "cid"), ("title", "Pump book"))))
    assert (third.embedded, third.reused) == (0, third.chunks)


@pytest.mark.requirement("D-REQ-7.4")
def test_name_source_and_page_of_a_document_are_kept(shelf: Shelf) -> None:
    service = shelf.open()
    metadata = (("source", "https://example.com/pumps.pdf"), ("owner", "ada"))
    done = service.deposit(Deposit("alpha", "C:\\books\\pumps.md", PUMPS, metadata=metadata))
    found = service.find(done.document_id)
    assert (found.collection, found.record.source_path) == ("alpha", "https://example.com/pumps.pdf")
    assert dict(found.record.metadata) == {"filename": "pumps.md", "owner": "ada"}
    assert all(chunk.source_path == "https://example.com/pumps.pdf" for chunk in found.chunks)
    assert "eight hours" in found.text


def test_a_title_and_a_file_name_are_kept_without_marks_that_turn_what_follows(shelf: Shelf) -> None:
    service = shelf.open()
    done = service.deposit(Deposit("alpha", "pumps\u202efdp.md", PUMPS, metadata=(("title", "Pumps \u202e2"),)))
    record = service.record(done.document_id)
    assert (record.title, record.file_name) == ("Pumps 2", "pumpsfdp.md")


def test_a_source_that_is_too_long_is_refused_and_replaces_no_other(shelf: Shelf) -> None:
    service, long = shelf.open(), "https://example.com/" + "x" * 1980
    kept = service.deposit(Deposit("alpha", "pumps.md", PUMPS, metadata=(("source", long),)))
    with pytest.raises(InvalidInputError, match="The source has 2,001 characters"):
        service.deposit(Deposit("alpha", "valves.md", VALVES, metadata=(("source", f"{long}y"),)))
    assert [each.id for each in service.records("alpha")] == [kept.document_id]


def test_texts_without_a_name_are_distinguished_by_what_they_say(shelf: Shelf) -> None:
    service = shelf.open()
    assert service.deposit(Deposit(text=PUMPS)).document_id != service.deposit(Deposit(text=VALVES)).document_id
    assert service.deposit(Deposit(text=PUMPS)).unchanged


@pytest.mark.requirement("D-REQ-2.2")
def test_an_address_is_fetched_and_known_by_itself(shelf: Shelf) -> None:
    service = shelf.open()
    url = "https://example.com/pumps"
    shelf.web.pages[url] = Fetched("https://example.com/v2/pumps.md", PUMPS.encode(), "text/markdown", "pumps.md")
    done = service.deposit(Deposit("alpha", url=url))
    record = service.record(done.document_id)
    assert (record.source_path, dict(record.metadata)["fetched_from"]) == (url, "https://example.com/v2/pumps.md")
    with pytest.raises(NotFoundError, match="404"):
        service.deposit(Deposit("alpha", url="https://example.com/nothing"))


def test_the_signature_of_an_address_to_which_a_server_redirects_is_not_stored(shelf: Shelf) -> None:
    service = shelf.open()
    url = "https://example.com/releases/pumps.md"
    signed = "https://files.example.net/pumps.md?expires=99&signature=c2VjcmV0"
    shelf.web.pages[url] = Fetched(signed, PUMPS.encode(), "text/markdown", "pumps.md")
    record = service.record(service.deposit(Deposit("alpha", url=url)).document_id)
    assert dict(record.metadata)["fetched_from"] == "https://files.example.net/pumps.md"


@pytest.mark.parametrize(
    ("deposit", "message"),
    [
        (Deposit(), "exactly one"),
        (Deposit(text="a", content=b"a"), "exactly one"),
        (Deposit(text=" \n"), "empty"),
        (Deposit(filename="a.md", content=b""), "empty"),
        (Deposit(filename="a.xyz", content=b"a"), "The type of the file"),
        (Deposit(filename="a.pdf", content=b"a"), "Files of this type are not supported"),
        (Deposit(filename="a.md", text="a\ud800"), "lone surrogates"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_in_words(shelf: Shelf, deposit: Deposit, message: str) -> None:
    service = shelf.open()
    with pytest.raises(InvalidInputError, match=message):
        service.deposit(deposit)
    assert service.collections()[0].documents == 0


def test_a_document_that_is_removed_is_gone_and_others_stay(shelf: Shelf) -> None:
    service = shelf.open()
    first = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    service.deposit(Deposit("alpha", "valves.md", VALVES))
    assert service.where(first.document_id) == "alpha"
    assert service.remove_document(first.document_id) == first.chunks
    assert [record.title for record in service.records("alpha")] == ["Valves"]
    with pytest.raises(NotFoundError, match="Document not found"):
        service.find(first.document_id)
    assert service.drop_collection("alpha") == 1
    with pytest.raises(NotFoundError):
        service.drop_collection("alpha")


@pytest.mark.requirement("D-REQ-5.3")
def test_an_id_that_is_nearly_right_is_answered_with_the_right_one(shelf: Shelf) -> None:
    service = shelf.open()
    done = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    with pytest.raises(NotFoundError) as raised:
        service.find(done.document_id[:-1] + "x")
    assert done.document_id in raised.value.suggestion


def test_a_deposit_that_is_cancelled_leaves_what_was_there(shelf: Shelf) -> None:
    service = shelf.open()
    first = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    seen: list[str] = []

    def progress(_done: float, _total: float | None, message: str) -> None:
        seen.append(message)

    changed = Deposit("alpha", "pumps.md", PUMPS.replace("eight", "nine"))
    with pytest.raises(CancelledError):
        service.deposit(changed, on_progress=progress, cancelled=lambda: bool(seen))
    assert "eight hours" in service.find(first.document_id).text


class Narrow(OverriddenStore):
    """Refuse to list every record of a collection: a deposit must not need that."""

    listing: bool = True

    def documents(
        self, collection: str, document_ids: Sequence[str] | None = None, *, limit: int | None = None
    ) -> list[DocumentRecord]:
        if document_ids is None and limit is None and not self.listing and collection != JOBS_COLLECTION:
            raise AssertionError("all records were listed")
        return super().documents(collection, document_ids, limit=limit)


@pytest.mark.requirement("D-SCALE-corpus")
def test_a_deposit_looks_at_its_own_record_and_no_other_however_many_there_are(shelf: Shelf) -> None:
    store = Narrow(EnglishAnalyser())
    shelf.store = store
    service = shelf.open()
    service.deposit(Deposit("alpha", "valves.md", VALVES))
    store.listing = False
    first = service.deposit(Deposit("alpha", "pumps.md", PUMPS))
    assert service.deposit(Deposit("alpha", "pumps.md", PUMPS)).unchanged
    assert service.deposit(Deposit("alpha", "pumps.md", PUMPS + "More.\n")).replaced
    assert service.search_in("alpha", SearchQuery("battery")).hits
    assert service.find(first.document_id).record.title == "Pumps"


@pytest.mark.requirement("D-SCALE-ingestion", "D-SCALE-queries", "D-SCALE-users")
@pytest.mark.slow
def test_a_day_of_documents_and_searches_by_ten_users_at_once_is_answered(shelf: Shelf) -> None:
    service = shelf.open()
    failures: list[BaseException] = []

    def user(number: int) -> None:
        try:
            for turn in range(10):
                name = f"watchword{number}x{turn}"
                done = service.deposit(Deposit("alpha", f"{name}.md", f"# Notice\n\nThe watchword is {name}.\n"))
                for _ in range(10):
                    hits = service.search_in("alpha", SearchQuery(name, limit=1)).hits
                    assert [hit.chunk.document_id for hit in hits] == [done.document_id]
        except BaseException as exc:  # noqa: BLE001 - raised below, where the test sees it
            failures.append(exc)

    users = [threading.Thread(target=user, args=(number,)) for number in range(10)]
    for each in users:
        each.start()
    for each in users:
        each.join()
    assert failures == []
    assert len(service.records("alpha")) == 100

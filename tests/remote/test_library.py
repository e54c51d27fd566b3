"""A library on another machine answers as the one that it is: over the real service, on loopback."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.model.library import Deposit, LibraryDocument
from knowledge_mcp.model.query import And, Equals, Filter, Hit, In, Prefix, SearchMode, SearchQuery
from knowledge_mcp.ports import Library
from knowledge_mcp.remote import knowledge
from knowledge_mcp.remote.client import RemoteLibrary, from_options
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.fakes.library import FakeLibrary
from tests.remote.conftest import FIRES, PUMPS, Both
from tests.remote.serving import AT_ONCE, KEY, rest_service

PAGE = "https://docs.example.com/guide.html"


def bare(chunk: Chunk) -> Chunk:
    """Leave out what does not travel."""
    return replace(chunk, links=(), statements=(), definitions=())


def bare_hit(hit: Hit) -> Hit:
    return replace(hit, chunk=bare(hit.chunk))


def test_it_fills_the_port() -> None:
    library: Library = RemoteLibrary("https://rag.example.org", KEY)
    library.close()


@pytest.mark.requirement("D-REQ-4.2")
@pytest.mark.requirement("D-REQ-4.5")
def test_collections_are_the_same_from_afar(both: Both) -> None:
    assert both.remote.collections() == both.local.collections()


@pytest.mark.requirement("D-REQ-3.1")
@pytest.mark.requirement("D-REQ-3.7")
@pytest.mark.parametrize("mode", SearchMode)
def test_a_search_finds_the_same_from_afar(both: Both, mode: SearchMode) -> None:
    query = SearchQuery("pump valve", limit=3, mode=mode, weight=0.4)
    here, there = both.local.search_in("default", query), both.remote.search_in("default", query)
    assert there.hits == tuple(bare_hit(hit) for hit in here.hits)
    assert len(there.hits) == 3
    assert replace(there, hits=()) == replace(here, hits=())
    assert both.local.queries[-1] == ("default", query)


@pytest.mark.parametrize(
    "expected",
    [
        Equals("chunk_type", "guidance"),
        Equals("normative", value=False),
        Prefix("clause_number", "1"),
        And((Equals("document_type", "custom"), Prefix("clause_number", "1.1"))),
        In("document_id", ("nowhere", "neither")),
    ],
)
def test_filters_narrow_it_as_they_do_here(both: Both, expected: Filter) -> None:
    query = SearchQuery("pump valve door", filter=expected)
    here = [hit.chunk.id for hit in both.local.search_in("default", query).hits]
    assert [hit.chunk.id for hit in both.remote.search_in("default", query).hits] == here
    assert both.local.queries[-1] == ("default", query)


def test_a_filter_that_the_service_has_no_form_for_is_refused() -> None:
    library = RemoteLibrary("http://127.0.0.1:9", KEY, policy=AT_ONCE)
    twice = And((Equals("document_id", "a"), Equals("document_id", "b")))
    for expected in (twice, Equals("clause_number", "5"), In("clause_number", ("5",))):
        with pytest.raises(InvalidInputError):
            library.search_in("default", SearchQuery("x", filter=expected))
    library.close()


def test_more_than_the_service_gives_is_asked_for_as_much_as_it_gives(both: Both) -> None:
    both.remote.search_in("default", SearchQuery("pump", limit=100))
    assert both.local.queries[-1][1].limit == 50


@pytest.mark.requirement("D-REQ-4.3")
def test_a_search_stays_in_its_collection(both: Both) -> None:
    found = both.remote.search_in("project-alpha", SearchQuery("valve door"))
    assert {hit.chunk.document_title for hit in found.hits} == {"Pumps"}
    assert found.searched_documents == 1
    with pytest.raises(NotFoundError, match="project-alfa"):
        both.remote.search_in("project-alfa", SearchQuery("valve"))


@pytest.mark.requirement("D-REQ-5.1")
@pytest.mark.requirement("D-REQ-5.2")
@pytest.mark.requirement("D-REQ-5.4")
def test_a_document_comes_whole_from_afar(both: Both) -> None:
    for record in both.local.records("default"):
        here, there = both.local.find(record.id), both.remote.find(record.id)
        assert there == LibraryDocument(here.collection, here.record, here.text, tuple(map(bare, here.chunks)))
        assert [chunk.span.of(there.text) for chunk in there.chunks] == [chunk.content for chunk in there.chunks]
        assert both.remote.record(record.id) == record
        assert both.remote.where(record.id) == "default"
    assert both.remote.records("default") == both.local.records("default")


@pytest.mark.requirement("D-REQ-5.3")
def test_an_unknown_document_is_not_found(both: Both) -> None:
    for ask in (both.remote.find, both.remote.record, both.remote.where, both.remote.remove_document):
        with pytest.raises(NotFoundError, match="nowhere"):
            ask("nowhere")
    for strange in ("..", "", "a/b", "a?b=c#d", "%2e%2e"):
        with pytest.raises(KnowledgeError):
            both.remote.find(strange)


def test_health_tells_every_dependency(both: Both) -> None:
    report = both.remote.health()
    assert report.status == "healthy"
    assert report.vector_store.up
    assert report.embedding_service.up


@pytest.mark.requirement("D-REQ-6.1")
@pytest.mark.requirement("D-REQ-6.2")
@pytest.mark.requirement("D-REQ-6.3")
def test_a_key_is_needed_and_a_wrong_one_is_distinguished_from_none(both: Both) -> None:
    for key, words in (("", "without an API key"), ("wrong", "key")):
        library = RemoteLibrary(both.url, key, policy=AT_ONCE)
        with pytest.raises(AuthError, match=words) as refused:
            library.warm_up()
        assert not refused.value.recoverable
        library.close()
    both.remote.warm_up()


def test_a_key_that_may_not_is_an_auth_error(tmp_path: Path) -> None:
    library = FakeLibrary()
    rights = '{"keys": [{"name": "reader", "key": "reading-only-key-1", "read": ["*"], "write": []}]}'
    keys = tmp_path / "keys.json"
    keys.write_text(rights)
    keys.chmod(0o600)
    with (
        rest_service(library, keys=KeyRing(KEY, keys)) as url,
        closing(RemoteLibrary(url, "reading-only-key-1", policy=AT_ONCE)) as reader,
    ):
        assert reader.collections()[0].name == "default"
        with pytest.raises(AuthError, match="write"):
            reader.deposit(Deposit(text="A text."))
    assert library.deposits == []


@pytest.mark.requirement("D-REQ-1A.2")
@pytest.mark.requirement("D-REQ-1A.3")
@pytest.mark.requirement("D-REQ-4.1")
def test_a_text_is_brought_recognised_and_replaced() -> None:
    local = FakeLibrary()
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:
        text = Deposit("team", "pumps.md", PUMPS, metadata=(("source", "shelf/pumps.md"), ("title", "All pumps")))
        done = remote.deposit(text)
        assert (done.collection, done.title, done.source, done.chunks, done.pages) == (
            "team", "All pumps", "shelf/pumps.md", 2, 2,
        )  # fmt: skip
        assert (done.unchanged, done.replaced, done.embedded) == (False, False, 2)
        kept = local.deposits[-1]
        assert (kept.collection, kept.filename, kept.text) == ("team", "pumps.md", PUMPS)
        assert dict(kept.metadata) == dict(text.metadata)
        assert remote.deposit(text).unchanged
        assert not remote.deposit(replace(text, force=True)).unchanged
        assert local.deposits[-1].force
        assert remote.deposit(replace(text, text=FIRES)).replaced
        assert local.record(done.document_id).chunk_count == 2
        assert remote.remove_document(done.document_id) == 2
        assert remote.drop_collection("team") == 0
        with pytest.raises(NotFoundError):
            remote.drop_collection("team")


def test_a_file_is_brought_with_its_name_its_type_and_its_bytes() -> None:
    local = FakeLibrary()
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:
        content = b"\xef\xbb\xbfOne.\r\n\r\nTwo.\x00"
        done = remote.deposit(
            Deposit("team", "Prüfbericht 1", content=content, media_type="text/markdown", metadata=(("a", "b"),))
        )
        assert done.chunks >= 1
        kept = local.deposits[-1]
        assert (kept.filename, kept.content, kept.media_type) == ("Prüfbericht 1", content, "text/markdown")
        assert dict(kept.metadata) == {"a": "b"}
        with pytest.raises(InvalidInputError, match="cannot be read"):
            remote.deposit(Deposit(filename="broken.md", content=b"\xff\xfe\xff"))
        for nothing in (Deposit(), Deposit(text="a", url=PAGE), Deposit(content=b"a", text="a")):
            with pytest.raises(InvalidInputError):
                remote.deposit(nothing)


@pytest.mark.requirement("D-REQ-2.1")
@pytest.mark.requirement("D-REQ-2.3")
@pytest.mark.requirement("D-REQ-2.6")
def test_an_address_is_fetched_there_and_its_failures_come_back_as_they_are() -> None:
    local = FakeLibrary(
        web={
            PAGE: PUMPS,
            "https://slow.example.com/": TimedOutError("It takes too long.", suggestion="Later."),
            "https://down.example.com/": ConnectionFailedError("It cannot be reached."),
            "https://busy.example.com/": RateLimitedError("It asks to slow down."),
        }
    )
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:
        done = remote.deposit(Deposit("web", url=PAGE), cancelled=lambda: False)
        assert (done.chunks, done.collection, done.source) == (2, "web", PAGE)
        for address, kind, words in (
            ("https://gone.example.com/", NotFoundError, "404"),
            ("https://slow.example.com/", TimedOutError, "too long"),
            ("https://down.example.com/", ConnectionFailedError, "reached"),
            ("https://busy.example.com/", RateLimitedError, "slow down"),
            ("http://plain.example.com/", InvalidInputError, "url"),
        ):
            with pytest.raises(kind, match=words):
                remote.deposit(Deposit("web", url=address))


def test_an_accepted_document_is_followed_and_reported() -> None:
    go_on, begun = threading.Event(), threading.Event()

    def before(method: str) -> None:
        if method == "work":
            begun.set()
            assert go_on.wait(20)

    local = FakeLibrary(web={PAGE: PUMPS}, before=before)
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:
        messages: list[str] = []

        def on_progress(done: float, of: float | None, words: str) -> None:
            assert of == 100.0
            messages.append(words)
            go_on.set()

        assert remote.deposit(Deposit(url=PAGE), on_progress=on_progress).chunks == 2
        assert messages
        job = remote.submit(Deposit("default", "a.md", "One."))
        assert remote.job(job.id).id == job.id
        with pytest.raises(NotFoundError):
            remote.job("0123456789abcdef")


def test_a_connection_that_is_closed_amid_a_request_says_so() -> None:
    begun, release = threading.Event(), threading.Event()

    def before(method: str) -> None:
        if method == "collections":
            begun.set()
            assert release.wait(20)

    with rest_service(FakeLibrary(before=before)) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:

        def leave() -> None:
            assert begun.wait(20)
            remote.close()
            release.set()

        leaving = threading.Thread(target=leave)
        leaving.start()
        with pytest.raises(InternalError, match="closed"):
            remote.collections()
        leaving.join()


def test_giving_up_cancels_the_job_and_closing_ends_the_wait() -> None:
    release, begun = threading.Event(), threading.Event()

    def before(method: str) -> None:
        if method == "work":
            begun.set()
            assert release.wait(20)

    local = FakeLibrary(web={PAGE: PUMPS}, before=before)
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE)) as remote:
        with pytest.raises(InternalError, match="cancelled") as stopped:
            remote.deposit(Deposit(url=PAGE), cancelled=begun.is_set)
        assert stopped.value.recoverable
        begun.clear()
        job = remote.submit(Deposit(url=PAGE))
        assert remote.cancel_job(job.id).state == "cancelled"
        assert begun.wait(20)
        leaving = threading.Timer(0.2, remote.close)
        leaving.start()
        with pytest.raises(InternalError, match="closed"):
            remote.deposit(Deposit("default", "b.md", "Two."))
        leaving.join()
        release.set()


def test_a_failed_job_tells_why_and_a_long_one_is_not_waited_for_forever() -> None:
    release = threading.Event()

    def before(method: str) -> None:
        if method == "work":
            assert release.wait(20)

    local = FakeLibrary(before=before)
    with rest_service(local) as url, closing(RemoteLibrary(url, KEY, policy=AT_ONCE, ingest_timeout=0.2)) as remote:
        with pytest.raises(TimedOutError, match="longer") as late:
            remote.deposit(Deposit(url="https://gone.example.com/"))
        release.set()
        job_id = late.value.details.split()[-1]
        job, deadline = remote.job(job_id), time.monotonic() + 20
        while job.state != "failed" and time.monotonic() < deadline:
            job = remote.job(job_id)
        assert (job.state, job.error) == ("failed", "not_found")
        assert "404" in job.message
        assert job.suggestion == "Check it."


def test_settings_choose_the_address_and_the_key(both: Both) -> None:
    from pydantic import SecretStr

    class Settings:
        rag_api_url: str | None = both.url + "/"
        rag_api_key: SecretStr | None = SecretStr(KEY)

    library = from_options(Settings())
    assert library.collections() == both.local.collections()
    library.close()
    with (
        closing(knowledge.from_options(Settings(), "standards")) as engine,
        pytest.raises(NotFoundError, match="standards"),  # this service has no engines
    ):
        engine.stats()
    Settings.rag_api_url = None
    with pytest.raises(ConfigError, match="RAG_API_URL"):
        from_options(Settings())

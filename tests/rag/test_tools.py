"""The tools of the surface over a library: the specified fields, what is added, the truth where nothing is found."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from knowledge_mcp.model.call import Call
from knowledge_mcp.model.collection import DocumentStatus
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    TimedOutError,
)
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import And, Equals, In, Prefix, SearchMode
from knowledge_mcp.surfaces.answers import MAX_ANSWER_CHARACTERS, compact, shorten
from knowledge_mcp.surfaces.arguments import output_schema, parse
from knowledge_mcp.surfaces.rag import SURFACE
from tests.fakes.library import FakeLibrary
from tests.rag.conftest import GUIDE, PAGE, WEB, LibraryUnderTest

TOOLS = {tool.name: tool for tool in SURFACE.tools}


def ask(name: str, library: Any, /, call: Call | None = None, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a transport does, and return exactly what would be sent."""
    tool = TOOLS[name]
    request = parse(tool.request, arguments)
    response = tool.answer(library, request, call or Call())
    result = shorten(response.model_dump(mode="json", exclude_unset=True), tool.items)
    jsonschema.validate(result, output_schema(tool.response, SURFACE.error_model, whole=True))
    return result


def test_the_specified_tools_are_there_with_their_parameters_and_defaults() -> None:
    assert list(TOOLS)[:4] == ["search", "ingest_url", "list_collections", "get_document"]
    for name, required, defaults in (
        ("search", {"query": "x"}, {"collection": "default", "top_k": 5}),
        ("ingest_url", {"uri": "https://example.com"}, {"collection": "default"}),
        ("list_collections", {}, {}),
        ("get_document", {"doc_id": "abc123"}, {}),
    ):
        result = parse(TOOLS[name].request, required).model_dump()
        assert result.items() >= {**required, **defaults}.items()
    assert [tool.name for tool in SURFACE.tools if tool.writes] == ["ingest_url", "cancel_ingest_url"]


# ---- search


@pytest.mark.requirement("D-REQ-3.1")
@pytest.mark.requirement("D-REQ-3.3")
@pytest.mark.requirement("D-REQ-3.7")
def test_a_search_gives_text_score_source_and_page(service: LibraryUnderTest) -> None:
    answer = ask("search", service.library, query="authentication token", collection="project-alpha")
    assert set(answer) == {"results", "query", "collection", "mode", "total"}
    assert (answer["query"], answer["collection"], answer["mode"]) == (
        "authentication token", "project-alpha", "hybrid",
    )  # fmt: skip
    assert answer["total"] == len(answer["results"]) == 2
    first = answer["results"][0]
    assert first["text"] == "Authentication is by a bearer token that is sent with each request."
    assert 0 < first["score"] <= 1
    assert answer["results"][1]["score"] < first["score"]
    assert first["metadata"] == {
        "source": "guide.md",
        "page": 1,
        "filename": "guide.md",
        "collection": "project-alpha",
        "doc_id": service.held.records("project-alpha")[0].id,
        "chunk_id": first["metadata"]["chunk_id"],
        "chunk_index": 0,
        "title": "Signing in",
        "section": "Signing in",
        "clause_number": "1",
        "chunk_type": "guidance",
        "citation": "Signing in, 1 Signing in, p. 1",
    }
    assert service.held.queries[-1][0] == "project-alpha"


@pytest.mark.requirement("D-REQ-3.4")
def test_top_k_is_five_unless_told_and_at_most_fifty(service: LibraryUnderTest) -> None:
    text = "\n\n".join(f"Token number {place} is kept." for place in range(60))
    service.held.deposit(Deposit(filename="tokens.md", text=text))
    assert len(ask("search", service.library, query="token")["results"]) == 5
    assert len(ask("search", service.library, query="token", top_k=50)["results"]) == 50
    assert len(ask("search", service.library, query="token", top_k=1)["results"]) == 1
    for wrong in (0, 51, "5"):
        with pytest.raises(InvalidInputError, match="top_k"):
            ask("search", service.library, query="token", top_k=wrong)


@pytest.mark.requirement("D-REQ-3.5")
def test_nothing_found_is_an_empty_array_that_says_why(service: LibraryUnderTest) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"query": "zzz", "collection": "project-alpha"}, "No passage was found."),
        ({"query": "token"}, "contains no documents"),
        ({"query": "zzz", "collection": "project-alpha", "mode": "keyword"}, "these words"),
        ({"query": "token", "collection": "project-alpha", "document_type": "memo"}, "document_type=memo"),
        ({"query": "bearer monthly zzz", "collection": "project-alpha", "min_score": 0.9}, "min_score=0.9"),
    ]
    for arguments, words in cases:
        answer = ask("search", service.library, **arguments)
        assert (answer["results"], answer["total"]) == ([], 0)
        assert words in answer["message"]
        assert answer["suggestions"]


def test_results_below_the_wanted_score_are_left_out_and_counted(service: LibraryUnderTest) -> None:
    answer = ask("search", service.library, query="bearer token", collection="project-alpha", min_score=0.75)
    assert [result["metadata"]["page"] for result in answer["results"]] == [1]
    assert (answer["total"], answer["below_min_score"]) == (1, 1)


@pytest.mark.requirement("D-REQ-4.3")
@pytest.mark.requirement("D-REQ-4.4")
def test_a_search_stays_in_its_collection_and_an_unknown_one_is_reported(service: LibraryUnderTest) -> None:
    service.held.deposit(Deposit("default", "other.md", "Another token."))
    found = ask("search", service.library, query="token")
    assert {result["metadata"]["collection"] for result in found["results"]} == {"default"}
    assert found["results"][0]["text"] == "Another token."
    assert found["results"][0]["metadata"]["page"] is None
    with pytest.raises(NotFoundError, match="project-alfa") as missing:
        ask("search", service.library, query="token", collection="project-alfa")
    assert "project-alpha" in missing.value.suggestion
    with pytest.raises(InvalidInputError, match="collection"):
        ask("search", service.library, query="token", collection="no such/name")


def test_modes_and_filters_reach_the_library(service: LibraryUnderTest) -> None:
    ask("search", service.library, query="token", collection="project-alpha", mode="semantic", doc_id="a")
    ask(
        "search", service.library, query="token", collection="project-alpha", mode="keyword", doc_id=["a", "b"],
        chunk_type="table", normative_only=True, clause_number="1",
    )  # fmt: skip
    (_, first), (_, second) = service.held.queries[-2:]
    assert (first.mode, first.filter) == (SearchMode.SEMANTIC, Equals("document_id", "a"))
    assert second.mode is SearchMode.KEYWORD
    assert isinstance(second.filter, And)
    assert set(second.filter.parts) == {
        In("document_id", ("a", "b")), Equals("chunk_type", "table"), Equals("normative", value=True),
        Prefix("clause_number", "1"),
    }  # fmt: skip
    result = parse(
        TOOLS["search"].request, {"query": "x", "doc_id": "a", "normative_only": True, "document_type": "memo"}
    )
    assert result.filters() == {"doc_id": ["a"], "normative_only": True, "document_type": "memo"}
    assert result.subject() == "x"


def test_what_failed_on_the_way_is_reported() -> None:
    library = FakeLibrary(degraded=("The lexical leg failed.",))
    assert ask("search", library, query="x")["degraded"] == ["The lexical leg failed."]


# ---- ingest_url


@pytest.mark.requirement("D-REQ-2.1")
@pytest.mark.requirement("D-REQ-2.3")
@pytest.mark.requirement("D-REQ-2.6")
@pytest.mark.requirement("D-REQ-4.1")
def test_an_address_is_ingested_into_the_collection_that_is_named(service: LibraryUnderTest) -> None:
    answer = ask("ingest_url", service.library, uri=PAGE, collection="web", metadata={"team": "docs", "reviewed": True})
    record = service.held.records("web")[0]
    assert answer.items() >= {"status": "ingested", "doc_id": record.id, "chunks": 2}.items()
    assert (answer["collection"], answer["source"], answer["title"], answer["pages"]) == (
        "web", PAGE, "Signing in", 2,
    )  # fmt: skip
    assert dict(record.metadata).items() >= {"team": "docs", "reviewed": "true"}.items()
    assert (
        ask("ingest_url", service.library, uri=PAGE, collection="web", metadata={"team": "docs"})["unchanged"] is True
    )
    assert "unchanged" not in ask("ingest_url", service.library, uri=PAGE, collection="web", force=True)
    assert ask("search", service.library, query="bearer", collection="web")["total"] == 1


@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize(
    ("uri", "kind", "words"),
    [
        ("https://gone.example.com/", NotFoundError, "404"),
        ("https://slow.example.com/", TimedOutError, "too long"),
        ("https://down.example.com/", ConnectionFailedError, "cannot be reached"),
        ("http://docs.example.com/", InvalidInputError, "https|url"),
        ("https://ada:hunter2@docs.example.com/", InvalidInputError, "uri"),
    ],
)
def test_an_address_that_cannot_be_had_gives_a_clear_error(
    service: LibraryUnderTest, uri: str, kind: type[KnowledgeError], words: str
) -> None:
    with pytest.raises(kind, match=words) as met:
        ask("ingest_url", service.library, uri=uri)
    assert met.value.suggestion
    assert service.held.records("default") == []


def test_nobody_need_wait_for_it(service: LibraryUnderTest) -> None:
    def settled(job_id: str) -> dict[str, Any]:
        for _ in range(200):
            result = ask("ingest_url_status", service.library, job_id=job_id)
            if result["state"] in {"done", "failed", "cancelled"}:
                return result
            threading.Event().wait(0.02)
        raise AssertionError("the job did not end")

    accepted = ask("ingest_url", service.library, uri=PAGE, collection="web", wait=False)
    assert (accepted["status"], accepted["collection"]) == ("accepted", "web")
    done = settled(accepted["job_id"])
    assert done["result"]["chunks"] == 2
    assert done["result"]["doc_id"] == service.held.records("web")[0].id
    assert (done["collection"], done["source"], done["progress"]["done"]) == ("web", PAGE, 100.0)
    failed = settled(ask("ingest_url", service.library, uri="https://gone.example.com/", wait=False)["job_id"])
    assert (failed["state"], failed["failure"]["code"]) == ("failed", "not_found")
    assert "404" in failed["failure"]["message"]
    for tool in ("ingest_url_status", "cancel_ingest_url"):
        with pytest.raises(NotFoundError):
            ask(tool, service.library, job_id="0123456789abcdef")


def test_a_job_can_be_cancelled() -> None:
    release = threading.Event()

    def before(method: str) -> None:
        if method == "work":
            assert release.wait(20)

    library = FakeLibrary(web=WEB, before=before)
    job_id = ask("ingest_url", library, uri=PAGE, wait=False)["job_id"]
    assert ask("cancel_ingest_url", library, job_id=job_id)["state"] == "cancelled"
    release.set()
    library.close()
    assert library.records("default") == []


def test_progress_grows_with_every_message_and_comes_from_the_callers_own_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("knowledge_mcp.surfaces.following.HEARTBEAT", 0.02)
    heard = threading.Event()
    reported: list[tuple[float, float | None, str]] = []
    threads: set[str] = set()

    def progress(done: float, total: float | None, message: str) -> None:
        threads.add(threading.current_thread().name)
        reported.append((done, total, message))
        if len(reported) >= 4:
            heard.set()

    def before(method: str) -> None:
        if method == "deposit":
            assert heard.wait(20)

    library = FakeLibrary(web=WEB, before=before)
    ask("ingest_url", library, Call(progress=progress), uri=PAGE)
    shares = [done for done, _, _ in reported]
    assert shares == sorted(set(shares))
    assert reported[-1] == (100.0, 100.0, "done")
    assert threads == {threading.current_thread().name}


def test_whoever_gives_up_is_not_waited_for() -> None:
    gave_up = threading.Event()
    gave_up.set()
    library = FakeLibrary(web=WEB)
    with pytest.raises(InternalError, match="cancelled"):
        ask("ingest_url", library, Call(cancelled=gave_up.is_set), uri=PAGE)
    assert library.records("default") == []


# ---- list_collections, get_document


@pytest.mark.requirement("D-REQ-4.2")
@pytest.mark.requirement("D-REQ-4.4")
@pytest.mark.requirement("D-REQ-4.5")
def test_all_collections_come_with_their_number_of_documents(service: LibraryUnderTest) -> None:
    answer = ask("list_collections", service.library)
    assert [(each["name"], each["doc_count"]) for each in answer["collections"]] == [
        ("default", 0), ("project-alpha", 1),
    ]  # fmt: skip
    assert answer["collections"][1]["chunk_count"] == 2


@pytest.mark.requirement("D-REQ-5.1")
@pytest.mark.requirement("D-REQ-5.2")
@pytest.mark.requirement("D-REQ-5.4")
def test_a_document_comes_whole(service: LibraryUnderTest) -> None:
    held = service.held.find(service.held.records("project-alpha")[0].id)
    answer = ask("get_document", service.library, doc_id=held.record.id)
    assert (answer["doc_id"], answer["source"], answer["filename"], answer["collection"]) == (
        held.record.id, "guide.md", "guide.md", "project-alpha",
    )  # fmt: skip
    assert answer["metadata"] == {"author": "Ann", "filename": "guide.md"}
    assert [chunk["text"] for chunk in answer["chunks"]] == [chunk.content for chunk in held.chunks]
    assert [chunk["metadata"]["page"] for chunk in answer["chunks"]] == [1, 2]
    assert (answer["chunk_count"], answer["pages"], answer["title"]) == (2, 2, "Signing in")
    assert "next_offset" not in answer
    assert ask("get_document", service.library, doc_id=held.record.id, include_text=True)["text"] == held.text


@pytest.mark.requirement("D-REQ-5.3")
def test_an_unknown_document_is_a_document_not_found(service: LibraryUnderTest) -> None:
    with pytest.raises(NotFoundError, match=r"^Document not found: abc123$") as missing:
        ask("get_document", service.library, doc_id="abc123")
    message = SURFACE.render_error(missing.value)
    jsonschema.validate(message, output_schema(TOOLS["get_document"].response, SURFACE.error_model, whole=True))
    assert message["error"]["code"] == "not_found"
    assert message["error"]["suggestion"]


def test_a_long_document_is_read_in_parts_that_each_fit_and_miss_nothing() -> None:
    library = FakeLibrary()
    text = "# 1 Long\n\n" + "\n\n".join(f'Paragraph {place} "quoted" ' + "word " * 150 for place in range(400))
    doc_id = library.deposit(Deposit(filename="long.md", text=text)).document_id
    held = library.find(doc_id)
    for include_text in (False, True):
        chunks: list[dict[str, Any]] = []
        running, offset = "", 0
        while True:
            answer = ask("get_document", library, doc_id=doc_id, offset=offset, include_text=include_text)
            assert len(compact(answer)) <= MAX_ANSWER_CHARACTERS
            assert "truncated" not in answer
            chunks.extend(answer["chunks"])
            running += answer.get("text", "")
            offset = answer.get("next_offset", 0)
            if not offset:
                break
        assert [chunk["text"] for chunk in chunks] == [chunk.content for chunk in held.chunks]
        assert running == (held.text if include_text else "")
    part = ask("get_document", library, doc_id=doc_id, offset=10, limit=3)
    assert [chunk["metadata"]["chunk_index"] for chunk in part["chunks"]] == [10, 11, 12]
    assert part["next_offset"] == 13
    beyond = ask("get_document", library, doc_id=doc_id, offset=1000)
    assert (beyond["chunks"], beyond.get("next_offset")) == ([], None)


def test_text_that_overlapping_chunks_share_comes_once() -> None:
    library = FakeLibrary()
    doc_id = library.deposit(Deposit(filename="a.md", text=GUIDE)).document_id
    held = library.find(doc_id)
    first, second = held.chunks
    wider = replace(second, span=replace(second.span, start=first.span.start))

    class Overlapping(FakeLibrary):
        def find(self, document_id: str) -> Any:
            return replace(held, chunks=(first, replace(wider, content=wider.span.of(held.text))))

    parts = [
        ask("get_document", Overlapping(), doc_id=doc_id, offset=place, limit=1, include_text=True)["text"]
        for place in (0, 1)
    ]
    assert "".join(parts) == held.text


def test_a_passage_that_is_longer_than_any_answer_is_cut_and_said_so() -> None:
    library = FakeLibrary()
    doc_id = library.deposit(Deposit(filename="a.md", text="x" * 200_000 + "\n\nShort.")).document_id
    answer = ask("get_document", library, doc_id=doc_id)
    assert len(compact(answer)) <= MAX_ANSWER_CHARACTERS
    assert answer["next_offset"] == 1
    assert answer["truncated"]["omitted"] == 0
    assert ask("get_document", library, doc_id=doc_id, offset=1)["chunks"][0]["text"] == "Short."


def test_what_else_is_known_of_a_passage_or_a_document_is_reported_only_where_there_is_any() -> None:
    library = FakeLibrary()
    doc_id = library.deposit(
        Deposit(text="One.", metadata=(("source", "https://a.example/x%20y.pdf?z=1"),))
    ).document_id
    held = library.find(doc_id)
    plain = ask("get_document", library, doc_id=doc_id)
    assert plain["filename"] == "x y.pdf"
    assert not plain.keys() & {"status", "warnings", "pages"}
    rich = replace(held.chunks[0], page_numbers=(3, 4), page_labels=("iii", "iv"), lines=(7, 9), normative=True)
    lost = replace(held.record, status=DocumentStatus.PARTIAL, warnings=("Page 5 is lost.",), pages=9, metadata=())

    class Rich(FakeLibrary):
        def find(self, document_id: str) -> Any:
            return replace(held, record=lost, chunks=(rich,))

    result = ask("get_document", Rich(), doc_id=doc_id)
    assert (result["status"], result["warnings"], result["pages"]) == ("partial", ["Page 5 is lost."], 9)
    where = result["chunks"][0]["metadata"]
    assert (where["page"], where["pages"], where["lines"], where["normative"]) == (3, [3, 4], [7, 9], True)

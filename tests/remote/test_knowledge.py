"""A surface's engine on another machine: the same answers, the same errors, files brought over the wire."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from knowledge_mcp.model import errors
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    ContentRefusedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    UnreadableDocumentError,
    UnreadableReason,
)
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import Equals, RequirementQuery, SearchMode, SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote import values
from knowledge_mcp.remote.failures import error_from_payload, error_object
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.fakes.knowledge import FakeKnowledge, Texts
from tests.remote.serving import AT_ONCE, KEY, rest_service, served_remotely
from tests.waiting import wait_until

BAD = SkippedFile("/bad.pdf", "corrupted", "It is no PDF.", "Replace it.", (("pages", "3"),))


def item(name: str, text: str, **more: Any) -> SourceItem:
    data = text.encode()
    digest = hashlib.sha256(b"not of the bytes alone" + data).hexdigest()
    return SourceItem(f"/{name}", name, "text/markdown", len(data), digest, lambda: io.BytesIO(data), **more)


@pytest.fixture(scope="module")
def served() -> Generator[tuple[FakeKnowledge, RemoteKnowledge, str]]:
    """Serve an engine that tests leave as it is."""
    local = FakeKnowledge(degraded=("Slow.",))
    with (
        rest_service(engines={"standards": local}) as url,
        closing(RemoteKnowledge(url, KEY, "standards", policy=AT_ONCE)) as remote,
    ):
        yield local, remote, url


def test_every_question_is_answered_as_it_is_there(served: tuple[FakeKnowledge, RemoteKnowledge, str]) -> None:
    local, remote, _ = served
    knowledge: Knowledge = remote
    for mode in SearchMode:
        query = SearchQuery("verification plan", 3, mode, filter=Equals("document_type", "standard"))
        assert knowledge.search(query) == local.search(query)
    assert knowledge.lookup("widget") == local.lookup("widget")
    assert knowledge.lookup("widgit").similar_terms == ("widget",)
    expected = RequirementQuery("verification records", "widget", 2)
    assert knowledge.requirements(expected) == local.requirements(expected)
    assert (knowledge.stats(), knowledge.health()) == (local.stats(), local.health())
    assert knowledge.documents() == local.documents()
    for record in local.documents():
        assert knowledge.document(record.id) == record
        assert knowledge.document_text(record.id) == local.document_text(record.id)
        chunks = local.document_chunks(record.id)
        assert knowledge.document_chunks(record.id) == chunks
        assert knowledge.chunk(chunks[0].id) == local.chunk(chunks[0].id)
    texts = [f"text number {number}" for number in range(150)]
    assert knowledge.embed(texts) == local.embed(texts)
    knowledge.warm_up()
    assert local.warmed_up.is_set()
    with pytest.raises(NotFoundError, match="example-standrd") as missing:
        knowledge.document("example-standrd")
    assert "example-standard" in missing.value.suggestion


def test_documents_are_held_against_each_other_over_a_remote_engine(
    served: tuple[FakeKnowledge, RemoteKnowledge, str],
) -> None:
    _, remote, _ = served
    first, second = [record.id for record in remote.documents()][:2]
    checked = ask("knowledge_check", remote, document=first, standard=second)
    assert checked["total"] == len(checked["rows"]) > 0
    assert ask("knowledge_conflicts", remote, documents=[first])["total"] == 0


def test_more_texts_than_a_request_may_hold_are_refused_over_there(
    served: tuple[FakeKnowledge, RemoteKnowledge, str],
) -> None:
    answer = httpx.post(
        f"{served[2]}/engine/standards/embed",
        json={"texts": ["a"] * 300},
        headers={"Authorization": f"Bearer {KEY}"},
    )
    assert answer.status_code == 422
    assert "At most 256 texts" in answer.text


def ask(name: str, knowledge: Knowledge, **arguments: Any) -> dict[str, Any]:
    tool = {each.name: each for each in SURFACE.tools}[name]
    return tool.run(knowledge, parse(tool.request, arguments)).model_dump(mode="json", exclude_unset=True)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("knowledge_search", {"query": "verification plan"}),
        ("knowledge_search", {"query": "plan", "document_type": "handbook", "use_hybrid": False}),
        ("knowledge_search", {"query": "verification plan", "clause_number": "5.3"}),
        ("knowledge_search", {"query": "verification plan", "document_id": ["example-standrd"]}),
        ("knowledge_search", {"query": "zzz"}),
        ("knowledge_keyword_search", {"query": "verification", "clause_number": "5.3", "clause_exact": True}),
        ("knowledge_keyword_search", {"query": "discarded", "normative_only": True}),
        ("knowledge_lookup", {"term": "Widget"}),
        ("knowledge_lookup", {"term": "widgit"}),
        ("knowledge_requirements", {"topic": "verification records", "standard": "widget", "n_results": 2}),
        ("knowledge_requirements", {"topic": "verification", "standard": "example-standrd"}),
        ("knowledge_stats", {}),
        ("knowledge_health", {}),
    ],
)
def test_the_tools_of_standards_answer_alike_over_a_remote_engine(
    served: tuple[FakeKnowledge, RemoteKnowledge, str], tool: str, arguments: dict[str, Any]
) -> None:
    local, remote, _ = served
    assert ask(tool, remote, **arguments) == ask(tool, local, **arguments)


def test_its_resources_and_completions_work_over_a_remote_engine(
    served: tuple[FakeKnowledge, RemoteKnowledge, str],
) -> None:
    local, remote, _ = served
    for resource in SURFACE.resources:
        for argument in ("example-standard", local.document_chunks("example-standard")[0].id, ""):
            try:
                here = resource.read(local, argument)
            except NotFoundError:
                continue
            assert resource.read(remote, argument) == here
    assert SURFACE.completers is not None
    assert SURFACE.completers["document_id"](remote, "stand") == ["example-standard"]


# ---- errors


def _sample(kind: type[KnowledgeError]) -> KnowledgeError:
    more: dict[str, Any] = {}
    if issubclass(kind, UnreadableDocumentError):
        more = {"reason": UnreadableReason.ENCRYPTED, "source": "/a.pdf", "facts": {"pages": "3"}}
    elif issubclass(kind, ContentRefusedError):
        more = {"vectors": [b"\x00\x01\xff", None], "reasons": {1: "content filter"}}
    elif issubclass(kind, RateLimitedError):
        more = {"retry_after": 2.5}
    return kind("It failed.", details="why", suggestion="Do this.", **more)


KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type)
    and issubclass(kind, KnowledgeError)
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_comes_back_as_the_very_class(kind: type[KnowledgeError]) -> None:
    there = error_from_payload(error_object(_sample(kind)))
    assert type(there) is kind
    assert vars(there) == vars(_sample(kind))


def test_an_error_keeps_whether_it_may_pass_and_an_unknown_class_becomes_its_nearest() -> None:
    class JobLostError(NotFoundError):
        """A class that the other side does not know."""

    back = error_from_payload(error_object(JobLostError("Gone.", recoverable=False)))
    assert type(back) is NotFoundError
    assert not back.recoverable
    broken = error_object(_sample(UnreadableDocumentError))
    broken["knowledge_error"]["reason"] = "eaten"
    assert type(error_from_payload(broken)) is InvalidInputError


def test_errors_of_an_engine_reach_the_caller_over_the_wire() -> None:
    problem: list[Exception] = []

    def before(_: str) -> None:
        if problem:
            raise problem[0]

    with served_remotely(FakeKnowledge(before=before)) as remote:
        for raised in (
            QuotaExceededError("Used up.", details="d"),
            ConfigError("Set it."),
            AuthError("Azure refused the key.", suggestion="Check AZURE_OPENAI_KEY."),
            ConnectionFailedError("Away."),
        ):
            problem[:] = [raised]
            with pytest.raises(type(raised), match=raised.message) as met:
                remote.stats()
            assert vars(met.value) == vars(raised)
        problem[:] = [ZeroDivisionError("secret of the house")]
        with pytest.raises(InternalError) as crashed:
            remote.stats()
        assert "secret" not in f"{crashed.value} {crashed.value.details}"
        assert "incident" in crashed.value.details


class _SeenByAll(FakeKnowledge):
    """One whose documents every key may read."""

    def seen_by(self, rights: Rights) -> Knowledge:
        assert not rights.are_full
        return self


def test_what_is_not_there_or_not_allowed_is_refused(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"keys": [{"name": "r", "key": "reading-only-key-1", "read": ["engine:s*"], "write": []}]}')
    keys.chmod(0o600)
    engines: Mapping[str, Knowledge] = {"standards": _SeenByAll(), "planning": FakeKnowledge()}
    with rest_service(engines=engines, keys=KeyRing(KEY, keys)) as url:
        with closing(RemoteKnowledge(url, "reading-only-key-1", "standards", policy=AT_ONCE)) as reader:
            assert reader.stats().statistics.documents == 2
            with pytest.raises(AuthError, match="write"):
                reader.remove("example-standard")
            with pytest.raises(AuthError, match="write"):
                reader.ingest(Texts(item("a.md", "One.")), IngestOptions())
        with (
            closing(RemoteKnowledge(url, "reading-only-key-1", "planning", policy=AT_ONCE)) as other,
            pytest.raises(AuthError, match="planning"),
        ):
            other.stats()
        with (
            closing(RemoteKnowledge(url, KEY, "repositories", policy=AT_ONCE)) as absent,
            pytest.raises(NotFoundError, match="repositories"),
        ):
            absent.stats()
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False) as plain:
            for path, body, status in (
                ("/engine/standards/close", b"{}", 404),
                ("/engine/standards/_rank", b"{}", 404),
                ("/engine/standards/search", b"{", 422),
                ("/engine/standards/search", b"[]", 422),
                ("/engine/standards/lookup", b'{"term": "' + b"x" * 3000 + b'"}', 422),
                ("/engine/standards/search", b'{"query": {"text": "x", "limit": 100000}}', 422),
                ("/engine/standards/ingest", b"{}", 422),
            ):
                refused = plain.post(path, content=body)
                assert refused.status_code == status, path
                assert refused.json()["status_code"] == status
            assert plain.get("/openapi.json").json()["paths"].keys() & {"/engine/{surface}/{method}"} == set()
        with httpx.Client(base_url=url, trust_env=False) as stranger:
            assert stranger.post("/engine/standards/stats").status_code == 401


# ---- files


@pytest.fixture
def engine() -> Generator[tuple[FakeKnowledge, RemoteKnowledge]]:
    """Serve an empty engine."""
    local = FakeKnowledge(())
    with served_remotely(local) as remote:
        yield local, remote


def test_files_are_brought_with_all_that_is_known_of_them(engine: tuple[FakeKnowledge, RemoteKnowledge]) -> None:
    local, remote = engine
    seen: list[SourceItem | SkippedFile] = []
    contents: list[bytes] = []
    ingest = local.ingest

    def watched(source: Any, options: IngestOptions, **lines: Any) -> IngestReport:
        for each in source.items():
            seen.append(each)
            if isinstance(each, SourceItem):
                with each.open() as stream:
                    contents.append(stream.read())
                assert each.path is not None
                assert each.path.suffix == ".md"
        return ingest(source, options, **lines)

    local.ingest = watched
    brought = item(
        "Wind Gauges.md", "One.\n\nTwo.", labels=(("a", "b"),), document_id="gauges", title="Gauges",
        document_type="guide", language="eng", force_ocr=True,
    )  # fmt: skip
    events: list[IngestEvent] = []
    source = Texts(brought, BAD, item("b.md", "Three."))
    report = remote.ingest(source, IngestOptions(), on_event=events.append, on_unreadable=lambda _: True)
    first = seen[0]
    assert isinstance(first, SourceItem)
    assert replace(first, open=brought.open, path=None) == brought
    assert contents[0] == b"One.\n\nTwo."
    path = first.path
    assert path is not None
    wait_until(lambda: not path.exists())  # the engine removes it after its answer
    assert report.skipped == (BAD,)
    assert [done.record.id for done in report.documents] == ["wind-gauges", "b"]
    assert report.documents[0].embedded == 2
    assert [event.kind for event in events][-1] is IngestEventKind.STORED
    assert remote.document("wind-gauges").chunk_count == 2
    again = remote.ingest(source, IngestOptions())
    assert all(done.unchanged for done in again.documents)
    assert not remote.ingest(source, IngestOptions(force=True)).documents[0].unchanged
    assert remote.ingest(source, IngestOptions(dry_run=True)).planned[0].unchanged
    assert remote.remove("wind-gauges") == 2
    with pytest.raises(NotFoundError):
        remote.remove("wind-gauges")


@pytest.mark.parametrize("together", [True, False])
def test_unreadable_files_are_asked_about_once_before_anything_is_embedded(
    engine: tuple[FakeKnowledge, RemoteKnowledge], together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not together:
        monkeypatch.setattr(values, "MOST_ITEMS", 2)
    local, remote = engine
    worse = replace(BAD, source="/worse.pdf")
    source = Texts(item("a.md", "One."), BAD, item("b.md", "Two."), worse, item("c.md", "Three."))
    asked: list[tuple[SkippedFile, ...]] = []

    def no(skipped: Any) -> bool:
        asked.append(tuple(skipped))
        return False

    stopped = remote.ingest(source, IngestOptions(), on_unreadable=no)
    assert asked == [(BAD, worse)]
    assert (stopped.documents, stopped.skipped) == ((), (BAD, worse))
    assert local.documents() == []
    events: list[IngestEvent] = []
    report = remote.ingest(source, IngestOptions(), on_unreadable=lambda _: True, on_event=events.append)
    assert [done.record.id for done in report.documents] == ["a", "b", "c"]
    assert report.skipped == (BAD, worse)
    assert sum(event.kind is IngestEventKind.STORED for event in events) == 3


def test_many_files_travel_in_parcels_and_a_limit_of_cost_holds_over_all(
    engine: tuple[FakeKnowledge, RemoteKnowledge], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MOST_BYTES", 30)
    local, remote = engine
    limits: list[float | None] = []
    ingest = local.ingest

    def paid(source: Any, options: IngestOptions, **lines: Any) -> IngestReport:
        limits.append(options.max_cost)
        return replace(ingest(source, options, **lines), billed_tokens=1000, embedding_tokens=7, price=100.0)

    local.ingest = paid
    source = Texts(*(item(f"{place}.md", f"{place}" * 20) for place in range(4)))
    report = remote.ingest(source, IngestOptions(max_cost=0.25))
    assert limits == pytest.approx([0.25, 0.15, 0.05, 0.0])
    assert (report.billed_tokens, report.embedding_tokens, report.price) == (4000, 28, 100.0)
    assert len(report.documents) == 4
    assert remote.ingest(Texts(), IngestOptions()).documents == ()


def test_a_file_that_goes_away_is_skipped_with_its_reason(engine: tuple[FakeKnowledge, RemoteKnowledge]) -> None:
    def gone() -> Any:
        raise FileNotFoundError(2, "No such file or directory")

    _, remote = engine
    report = remote.ingest(Texts(replace(item("a.md", "One."), open=gone), item("b.md", "Two.")), IngestOptions())
    assert [each.reason for each in report.skipped] == [UnreadableReason.INACCESSIBLE]
    assert [done.record.id for done in report.documents] == ["b"]


def test_an_error_of_an_ingest_comes_back_and_giving_up_ends_it_there() -> None:
    begun, ended = threading.Event(), threading.Event()

    class Slow(FakeKnowledge):
        def ingest(self, source: Any, options: IngestOptions, **lines: Any) -> IngestReport:
            if options.force:
                raise QuotaExceededError("Used up.", details="d")
            begun.set()
            stop, deadline = lines["cancelled"], threading.Event()
            for _ in range(400):
                if stop():
                    ended.set()
                    break
                deadline.wait(0.05)
            return IngestReport()

    with served_remotely(Slow()) as remote:
        with pytest.raises(QuotaExceededError, match="Used up"):
            remote.ingest(Texts(item("a.md", "One.")), IngestOptions(force=True))
        report = remote.ingest(Texts(item("a.md", "One.")), IngestOptions(), cancelled=begun.is_set)
        assert report.documents == ()
        assert ended.wait(20)

"""The convert surface: two tools, their specified fields, and nothing that indexes or searches here."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.convert.conversion import ConversionService
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import (
    CancelledError,
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnreadableDocumentError,
)
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import MEDIA_TYPES, SourceItem
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.convert import SURFACE
from knowledge_mcp.surfaces.following import follow
from tests.fakes.library import FakeLibrary
from tests.readers.in_process import HERE
from tests.surfaces.calling import answer_of

TOOLS = {tool.name: tool for tool in SURFACE.tools}
REPORT = "---\nauthor: A. Writer\n---\n<!-- page 1 -->\n# Report\n\nOne.\n\n<!-- page 2 -->\n\nTwo <b>bold</b> words.\n"


class SlowReader:
    """Read nothing until it is let go, a page at a time."""

    def __init__(self) -> None:
        self.reading = threading.Event()
        self.go = threading.Event()
        self.stopped = threading.Event()

    @property
    def version(self) -> str:
        return "slow-1"

    def check(self, item: SourceItem) -> Inspection:
        return Inspection(None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        self.reading.set()
        self.go.wait(20)
        try:
            assert progress is not None
            progress(1, 2)
        except CancelledError:
            self.stopped.set()
            raise
        return MarkdownReader(sandbox=HERE).read(dataclasses.replace(item, media_type=MEDIA_TYPES[".md"]))

    def close(self) -> None:
        self.go.set()


class World:
    """A service over one folder and a library in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = FakeLibrary()
        self.slow = SlowReader()
        readers = {MEDIA_TYPES[".md"]: MarkdownReader(sandbox=HERE), MEDIA_TYPES[".txt"]: self.slow}
        self.service = ConversionService(readers, roots=(folder,), library=lambda: self.library)
        self.report = folder / "report.md"
        self.report.write_text(REPORT)

    def ask(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool."""
        return answer_of(SURFACE, name, self.service, **arguments)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


@pytest.mark.requirement("D-REQ-1.1", "D-REQ-1.2")
def test_convert_to_text_returns_the_text_of_the_file_behind_a_uri(world: World) -> None:
    answer = world.ask("convert_to_text", uri=world.report.as_uri())
    text = "<!-- page 1 -->\n\n# Report\n\nOne.\n\n<!-- page 2 -->\n\nTwo bold words.\n"
    assert answer == {
        "status": "converted",
        "text": text,
        "title": "Report",
        "filename": "report.md",
        "media_type": "text/markdown",
        "pages": 2,
        "total_chars": len(text),
        "metadata": {"author": "A. Writer"},
    }
    assert world.library.deposits == []


def test_a_long_text_comes_in_parts_that_join_to_the_whole(world: World) -> None:
    path = world.folder / "long.md"
    path.write_text("\n\n".join(f"Sentence number {n}." for n in range(200)))
    whole = world.ask("convert_to_text", uri=str(path))
    assert "next_offset" not in whole
    parts, offset = [""], 0
    while offset is not None:
        answer = world.ask("convert_to_text", uri=str(path), offset=offset, max_chars=1500)
        assert answer["total_chars"] == len(whole["text"])
        parts.append(answer["text"])
        offset = answer.get("next_offset")
    assert "".join(parts) == whole["text"]
    assert len(parts) > 3
    with pytest.raises(InvalidInputError, match="is beyond its end"):
        world.ask("convert_to_text", uri=str(path), offset=1_000_000)


def test_pages_can_be_asked_for(world: World) -> None:
    uri = str(world.report)
    assert world.ask("convert_to_text", uri=uri, pages="2")["text"] == "<!-- page 2 -->\n\nTwo bold words.\n"
    assert world.ask("convert_to_text", uri=uri, pages="1-2")["pages"] == 2
    for pages in ("2-1", "0", "x", "1,2"):
        with pytest.raises(InvalidInputError):
            world.ask("convert_to_text", uri=uri, pages=pages)
    with pytest.raises(InvalidInputError, match="contain no text"):
        world.ask("convert_to_text", uri=uri, pages="7-9")


@pytest.mark.requirement("D-REQ-1.3", "D-REQ-9.1")
@pytest.mark.parametrize(
    ("uri", "kind", "code"),
    [
        ("file:///nowhere/doc.pdf", InvalidInputError, "invalid_input"),
        ("https://example.org/doc.pdf", InvalidInputError, "invalid_input"),
        ("{folder}/missing.md", NotFoundError, "not_found"),
        ("{folder}/empty.md", UnreadableDocumentError, "invalid_input"),
    ],
)
def test_a_failed_conversion_is_an_error_object_that_says_why(
    world: World, uri: str, kind: type[KnowledgeError], code: str
) -> None:
    (world.folder / "empty.md").write_text("")
    with pytest.raises(kind) as caught:
        world.ask("convert_to_text", uri=uri.format(folder=world.folder))
    shown = SURFACE.render_error(caught.value)["error"]
    assert set(shown) == {"code", "message", "details", "recoverable", "suggestion"}
    assert shown["code"] == code
    assert shown["message"]
    assert shown["suggestion"]


@pytest.mark.requirement("D-REQ-1A.1", "D-REQ-1A.2", "D-REQ-1A.3")
def test_convert_and_ingest_sends_the_text_and_answers_id_and_chunks(world: World) -> None:
    answer = world.ask("convert_and_ingest", uri=world.report.as_uri(), collection="project-alpha")
    (deposit,) = world.library.deposits
    assert deposit.text == world.ask("convert_to_text", uri=str(world.report))["text"]
    assert dict(deposit.metadata)["pages"] == "2"
    assert answer["status"] == "ingested"
    (record,) = world.library.records("project-alpha")
    assert answer["doc_id"] == record.id
    assert answer["chunks"] == record.chunk_count > 0
    assert answer["collection"] == "project-alpha"
    assert answer["title"] == "Report"
    assert "unchanged" not in answer
    again = world.ask("convert_and_ingest", uri=world.report.as_uri(), collection="project-alpha")
    assert again["unchanged"] is True
    assert again["doc_id"] == answer["doc_id"]


@pytest.mark.requirement("D-REQ-1A.2")
def test_the_collection_is_default_unless_it_is_named_and_its_name_is_checked(world: World) -> None:
    assert world.ask("convert_and_ingest", uri=str(world.report))["collection"] == "default"
    for name in ("", "a/b", "-x", "x" * 64):
        with pytest.raises(InvalidInputError, match="collection"):
            world.ask("convert_and_ingest", uri=str(world.report), collection=name)


@pytest.mark.requirement("D-REQ-1A.4")
def test_a_failed_ingestion_is_reported_as_by_the_api(world: World) -> None:
    def refuse(method: str) -> None:
        raise ConnectionFailedError("The RAG API does not answer.", details="connection refused")

    world.library = FakeLibrary(before=refuse)
    with pytest.raises(ConnectionFailedError) as caught:
        world.ask("convert_and_ingest", uri=str(world.report))
    assert SURFACE.render_error(caught.value)["error"]["code"] == "connection_error"


@pytest.mark.requirement("D-REQ-1A.5", "D-REQ-10.1")
def test_without_an_address_of_the_api_the_setting_is_named_and_converting_continues(world: World) -> None:
    service = ConversionService({MEDIA_TYPES[".md"]: MarkdownReader(sandbox=HERE)}, roots=None, library=None)
    tool = TOOLS["convert_and_ingest"]
    with pytest.raises(ConfigError, match="RAG_API_URL") as caught:
        tool.run(service, parse(tool.request, {"uri": str(world.report)}))
    assert "RAG_API_KEY" in caught.value.suggestion
    reading = TOOLS["convert_to_text"]
    assert reading.run(service, parse(reading.request, {"uri": str(world.report)}))


@pytest.mark.requirement("D-REQ-1.5", "D-REQ-3.6")
def test_the_surface_converts_only_and_neither_indexes_nor_searches() -> None:
    assert list(TOOLS) == ["convert_to_text", "convert_and_ingest"]
    assert not TOOLS["convert_to_text"].writes
    assert TOOLS["convert_and_ingest"].writes
    assert not any(hasattr(ConversionService, name) for name in ("search", "search_in", "ingest", "documents"))
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, knowledge_mcp.surfaces.convert; print(*sys.modules)"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    rooms = {name.split(".")[1] for name in loaded if name.startswith("knowledge_mcp.")}
    assert not rooms & {"stores", "embedders", "lexical", "ranking", "chunking", "readers", "remote"}
    assert not {"knowledge_mcp.engine.search.search", "knowledge_mcp.engine.ingest.ingest"} & set(loaded)


def test_progress_is_reported_while_a_file_is_read_and_at_the_end(world: World) -> None:
    path = world.folder / "slow.txt"
    path.write_text("text")
    reported: list[tuple[float, float | None, str]] = []
    heard = threading.Event()

    def progress(done: float, of: float | None, words: str) -> None:
        reported.append((done, of, words))
        heard.set()
        world.slow.go.set()

    tool = TOOLS["convert_to_text"]
    assert tool.is_long
    tool.answer(world.service, parse(tool.request, {"uri": str(path)}), Call(progress))
    assert heard.is_set()
    assert reported[-1] == (100.0, 100.0, "done")
    amounts = [done for done, _, _ in reported]
    assert amounts == sorted(set(amounts))
    assert reported[0][2].startswith("reading")


def test_a_caller_who_gives_up_is_answered_at_once_and_the_reading_stops(world: World) -> None:
    path = world.folder / "slow.txt"
    path.write_text("text")
    tool = TOOLS["convert_to_text"]
    assert tool.is_long
    with pytest.raises(CancelledError):
        tool.answer(world.service, parse(tool.request, {"uri": str(path)}), Call(cancelled=world.slow.reading.is_set))
    world.slow.go.set()
    assert world.slow.stopped.wait(10)


def test_what_goes_wrong_in_the_work_goes_wrong_for_the_caller() -> None:
    def fail(*_: object) -> None:
        raise NotFoundError("gone")

    with pytest.raises(NotFoundError, match="gone"):
        follow(fail, Call(), give_up=None)

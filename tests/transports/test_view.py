"""Pictures of pages in answers, and the page that shows answers in the chat of clients that have MCP Apps."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import CallToolResult, ImageContent, TextContent, TextResourceContents

from knowledge_mcp import registry
from knowledge_mcp.model.errors import ErrorCode
from knowledge_mcp.model.ingest import IngestOptions
from knowledge_mcp.ports import Knowledge, MarkedPages
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.settings import load_settings
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.transports.mcp.listing import VIEW
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.wiring import build_knowledge
from tests.fakes.knowledge import FakeKnowledge
from tests.readers.pdf_files import standard

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n"


def embedder(_: object) -> HashingEmbedder:
    """Stand in for the local model: what is drawn depends on no vector."""
    return HashingEmbedder()


def opened(folder: Path) -> Knowledge:
    """Return what the product makes of a folder of data."""
    environ = {"DATA_PATH": str(folder / "data"), "EMBEDDING_PROVIDER": "local"}
    return build_knowledge(load_settings(environ=environ, folder=folder), roots=(folder,))


@pytest.fixture
def knowledge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Knowledge:
    """Return a knowledge base, put together as the product does it, with one PDF in it."""
    monkeypatch.setitem(registry.EMBEDDERS, "local", f"{__name__}:embedder")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "standard.pdf").write_bytes(standard(bookmarks=True))
    made = opened(tmp_path)
    report = made.ingest(FileSource(tmp_path / "files", patterns=("*.pdf",)), IngestOptions())
    assert len(report.documents) == 1
    return made


async def answered(knowledge: Knowledge, **arguments: Any) -> CallToolResult:
    """Call `knowledge_read`."""
    async with Client(build_server(lambda _: knowledge, ["standards"], version="1")) as client:
        return await client.call_tool("knowledge_read", arguments)


def pictures(result: CallToolResult) -> list[bytes]:
    """Return the pictures of an answer."""
    found = [each for each in result.content if isinstance(each, ImageContent)]
    assert all(each.mime_type == "image/png" for each in found)
    return [base64.b64decode(each.data) for each in found]


async def test_the_page_of_a_passage_comes_as_a_picture_with_the_passage_marked(knowledge: Knowledge) -> None:
    document = knowledge.documents()[0].id
    passage = next(chunk for chunk in knowledge.document_chunks(document) if chunk.boxes)
    result = await answered(knowledge, chunk_id=passage.id, picture=True)
    (picture,) = pictures(result)
    assert picture.startswith(PNG)
    assert isinstance(knowledge, MarkedPages)
    bare = knowledge.marked_page(document, passage.boxes[0].page, (), "")
    assert bare.startswith(PNG)
    assert picture != bare
    assert pictures(await answered(knowledge, chunk_id=passage.id)) == []


def test_a_reader_that_only_drew_a_page_is_closed_with_its_knowledge_base(
    knowledge: Knowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = knowledge.documents()[0].id
    other, closed = opened(tmp_path), list[PdfReader]()

    def close(reader: PdfReader) -> None:
        closed.append(reader)

    monkeypatch.setattr(PdfReader, "close", close)
    assert isinstance(other, MarkedPages)
    assert other.marked_page(document, 1, (), "").startswith(PNG)
    other.close()
    assert len(closed) == 1


async def test_a_page_that_is_not_drawn_says_why_instead_of_being_left_out(
    knowledge: Knowledge, tmp_path: Path
) -> None:
    document = knowledge.documents()[0].id
    (tmp_path / "files" / "standard.pdf").write_bytes(standard(bookmarks=False))
    changed = await answered(knowledge, document_id=document, picture=True)
    other = FakeKnowledge()
    elsewhere = await answered(other, document_id=other.documents()[0].id, picture=True)
    for result, words in ((changed, "changed since it was read"), (elsewhere, "cannot be drawn here")):
        assert result.is_error
        assert isinstance(result.content[0], TextContent)
        assert words in result.content[0].text
        assert ErrorCode.INVALID_INPUT.value in result.content[0].text


async def test_the_tools_whose_answers_are_shown_name_the_page_and_the_page_is_there() -> None:
    async with Client(build_server(lambda _: FakeKnowledge(), ["standards"], version="1")) as client:
        listed = (await client.list_tools()).tools
        shown = {tool.name: tool.meta for tool in listed if tool.meta}
        assert shown == {name: {"ui": {"resourceUri": VIEW}} for name in ("knowledge_read", "knowledge_changes")}
        assert EXTENSION_ID in (client.server_capabilities.extensions or {})
        (page,) = (await client.read_resource(VIEW)).contents
        assert isinstance(page, TextResourceContents)
        assert page.mime_type == APP_MIME_TYPE
        assert page.text.startswith("<!doctype html>")
    async with Client(build_server(lambda _: FakeKnowledge(), ["planning"], version="1")) as client:
        assert EXTENSION_ID not in (client.server_capabilities.extensions or {})

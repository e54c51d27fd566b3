"""Characters that nobody sees could carry words to the assistant alone: over MCP they leave as visible escapes."""

from __future__ import annotations

import json

import anyio
import pytest
from mcp import Client
from mcp.types import TextResourceContents

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.surfaces.answers import json_with_escapes, with_escapes
from knowledge_mcp.transports.mcp.server import build_server
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import FakeDocument, FakePassage
from tests.transports.tool_results import text_of

UNSEEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
ESCAPED = r"\U000e006f\U000e0062\U000e0065\U000e0079"
WALES = "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"


@pytest.mark.anyio
async def test_what_nobody_sees_in_a_title_or_a_passage_is_visible_in_answers_errors_and_resources() -> None:
    passage = FakePassage("1", f"Cranes{UNSEEN}", f"Cranes{UNSEEN} are tested.", ChunkType.GUIDANCE)
    knowledge = FakeKnowledge((FakeDocument("cranes", f"Guide{UNSEEN}", (passage,), "guide"),))
    with anyio.fail_after(20):
        async with Client(build_server(lambda _: knowledge, ["standards"], version="1")) as client:
            answered = await client.call_tool("knowledge_search", {"query": "cranes tested"})
            refused = await client.call_tool("knowledge_read", {"document_id": f"cranes{UNSEEN}"})
            listed, text = [
                (await client.read_resource(uri)).contents[0]
                for uri in ("knowledge://documents", "knowledge://documents/cranes")
            ]
    assert refused.is_error
    assert isinstance(listed, TextResourceContents)
    assert isinstance(text, TextResourceContents)
    for each in (answered.model_dump_json(), refused.model_dump_json(), listed.model_dump_json(), text.text):
        assert UNSEEN[:1] not in each
    assert json.loads(text_of(answered)) == answered.structured_content
    assert f"Guide{ESCAPED}" in json.dumps(answered.structured_content).replace(r"\\", "\\")
    assert f"Guide{ESCAPED}" in {each["document_title"] for each in json.loads(listed.text)["documents"]}
    assert f"Cranes{ESCAPED} are tested." in text.text


def test_letters_and_emoji_keep_what_they_need() -> None:
    for text in (
        "❤️\u200d🔥 👩\u200d👩\u200d👧",
        f"{WALES} Wales",
        "می\u200cخواهم",
        "葛\U000e0100城",
        "\ufeffconst a",
        "1️⃣",
    ):
        assert with_escapes(text) == text


def test_directions_and_runs_of_selectors_are_shown() -> None:
    assert with_escapes("a\u202eb") == r"a\u202eb"
    assert with_escapes("a" + "\ufe01" * 3) == r"a\ufe01\ufe01\ufe01"
    assert json.loads(json_with_escapes('{"\u2066a": "\u200b\u200c\u200b"}')) == {r"\u2066a": r"\u200b\u200c\u200b"}

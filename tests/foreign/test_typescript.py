"""The TypeScript SDKs, 1.x and 2.x, over every transport: answers and errors reach them whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.foreign.running import Clients, target_of
from tests.transports.spawned import Transport, WebServer
from tests.transports.trouble import SECRET

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
@pytest.mark.parametrize(("library", "era"), [("sdk1", "legacy"), ("client2", "legacy"), ("client2", "auto")])
@pytest.mark.requirement("A-REQ-IF-001")
def test_a_typescript_client_holds_the_whole_conversation(
    library: str, era: str, transport: Transport, clients: Clients, web: WebServer
) -> None:
    finished = clients.run("conversation.mjs", library, transport, era, *target_of(transport, web))
    assert finished.returncode == 0, finished.stderr
    said: dict[str, Any] = json.loads(finished.stdout)
    assert said["server"]["version"] == "9.9.9"
    assert "knowledge_search" in said["instructions"]
    assert len(said["tools"]) == 15
    assert said["good"]["structuredContent"]["total"] == 2
    assert said["good"]["content"][1]["type"] == "resource_link"
    assert said["empty"]["structuredContent"]["similar_terms"] == ["widget"]
    for name, code in (("bad", "invalid_input"), ("misspelt", "invalid_input"), ("crash", "internal_error")):
        result = said[name]
        assert result["isError"] is True, name
        assert result["structuredContent"]["error"]["code"] == code
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert SECRET not in finished.stdout
    for name in ("unknown", "missing", "incomplete"):
        assert said[name]["thrown"]["code"] == -32602, name
    first, *skills, view = [each["uri"] for each in said["resources"]]
    assert (first, view) == ("knowledge://documents", "ui://knowledge/view")
    assert [skill.split("/")[2] for skill in skills] == [
        "answer-with-evidence", "edition-review", "find-requirements", "gap-analysis",
    ]  # fmt: skip
    assert len(said["templates"]) == 3
    assert "verification plan" in said["resource"]["contents"][0]["text"]
    assert len(said["prompts"]) == 6
    assert "widget" in said["prompt"]["messages"][0]["content"]["text"]
    assert said["completed"]["completion"]["values"] == ["example-handbook"]

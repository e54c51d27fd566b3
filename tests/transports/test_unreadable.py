"""Lines of standard input that are no message: who waits for an answer gets one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.transports.spawned import ROOT

ANSWERED: list[tuple[str, object, int]] = [
    (
        r'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"query":"cut \ud83d"}}}',
        7,
        -32700,
    ),
    (r'{"jsonrpc":"2.0","id":"a","method":"x\udc00"}', "a", -32700),
    (r'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}', None, -32700),
    ("no JSON at all", None, -32700),
    ("[" * 50_000, None, -32700),
    ('{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}', 8, -32600),
    ('{"jsonrpc":"2.0","id":9}', 9, -32600),
    ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
    ('{"jsonrpc":"2.0","id":null,"method":"tools/list"}', None, -32600),
    ("[]", None, -32600),
    ("null", None, -32600),
]
SILENT = [
    "",
    "   ",
    r'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":"\ud800"}}',
    '{"jsonrpc":"2.0","method":"notifications/x","params":[]}',
    r'{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}',
]


def exchange(lines: list[str], expected: int) -> list[dict[str, Any]]:
    """Send lines to a server over stdio, and read every line that it wrote.

    Its input is closed once as many answers as expected have come: what is under way then is not answered any more.
    """
    command = [sys.executable, "-m", "tests.transports.server", "stdio"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        guard = threading.Timer(60, server.kill)
        guard.start()
        server.stdin.write("".join(f"{line}\n" for line in lines).encode())
        server.stdin.flush()
        answers = [server.stdout.readline() for _ in range(expected)]
        rest, result = server.communicate()
        guard.cancel()
    assert b"Traceback" not in result
    assert server.returncode == 0
    return [json.loads(line) for line in (*answers, *rest.splitlines()) if line]


@pytest.mark.requirement("A-REQ-REL-001")
def test_a_line_that_is_no_message_is_answered_before_a_session_too_which_then_continues() -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    opening = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}'
    first = ("no JSON at all", None, -32700)
    lines = [first[0], opening, *(line for line, _, _ in ANSWERED), *SILENT, ping]
    answers = exchange(lines, len(ANSWERED) + 3)
    assert "error" in answers[0]
    failures = [each for each in answers if "error" in each]
    codes = [(ident, code) for _, ident, code in (first, *ANSWERED)]
    assert [(each["id"], each["error"]["code"]) for each in failures] == codes
    assert all(each["error"]["data"]["error"]["code"] == "invalid_input" for each in failures)
    assert {each["id"] for each in answers if "result" in each} == {1, 2}

"""Who may connect to an HTTP server: tokens and where they come from, addresses, host names."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import SecretStr

from knowledge_mcp.cli.serve.starting import listening_problems, read_tokens
from knowledge_mcp.settings import Settings
from knowledge_mcp.settings.access import AccessSettings, signing_on_problems
from knowledge_mcp.support.hosts import is_loopback


@pytest.mark.parametrize(
    "text", ["alice: a1\n# a note\n\nbob: b:2\n", '{"alice": "a1", "bob": "b:2"}', "  alice :a1  \r\nbob:b:2"]
)
def test_a_file_of_tokens_is_read_in_both_forms(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(0o600)
    problems: list[str] = []
    settings = Settings(mcp_api_key=SecretStr("own"), mcp_api_keys_file=path)
    ring = read_tokens(settings, problems)
    shown = {text: ring.recognise(text.encode()) for text in ("own", "a1", "b:2", "other")}
    assert {text: key and key.name for text, key in shown.items()} == {
        "own": "default", "a1": "alice", "b:2": "bob", "other": None,
    }  # fmt: skip
    assert problems == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alice", "line 1"),
        ("alice:", "'alice'"),
        (": secret", "name is missing"),
        ("a: x\na: y", "given twice"),
        ("a: two words", "without spaces"),
        ("a: sch\u00fc", "visible ASCII"),
        ('{"a": 1}', "visible ASCII"),
        ("{", "not a valid JSON object"),
        ("# nothing\n", "contains no key"),
    ],
)
def test_a_wrong_file_of_tokens_is_a_problem_that_shows_no_token(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    problems: list[str] = []
    read_tokens(Settings(mcp_api_keys_file=path), problems)
    assert len(problems) == 1
    assert message in problems[0]
    assert "two words" not in problems[0]


def test_a_file_of_tokens_that_all_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tokens"
    path.write_text("a: b")
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        read_tokens(Settings(mcp_api_keys_file=path), [])
    assert "chmod 600" in caplog.text


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.1.2.3", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("127.example.org", False),
    ],
)
def test_loopback_addresses_are_known(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback
    assert bool(listening_problems(host, tokens=False, allowed=False)) is not loopback
    assert listening_problems(host, tokens=True, allowed=False) == []
    assert listening_problems(host, tokens=False, allowed=True) == []


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("https://id.example.org", True),
        ("http://127.0.0.1:8080", True),
        ("http://[::1]:8080", True),
        ("http://localhost", True),
        ("http://127.example.org", False),
        ("http://id.example.org", False),
    ],
)
def test_an_issuer_is_asked_over_http_on_this_machine_only(url: str, *, accepted: bool) -> None:
    settings = AccessSettings(oauth_issuer=url, oauth_resource="https://rag.example.org")
    assert (signing_on_problems(settings) == []) is accepted

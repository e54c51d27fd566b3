"""Keys that ask for what is another's, keys shown in other ways, sessions of others, and names that are not ours."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.attacks.connections import Served, served
from tests.servers.openai_server import OpenAIServer

_KEYS = 8
_OWNER = "an-owner-key-of-thirty-two-characters"
_SECOND = "a-second-key-of-thirty-two-characters"
_ABSENT = ("tenant-nobody", "0123456789abcdee", "fedcba9876543210")
_INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
_LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
_BOTH = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass
class _Service:
    """A running service, one connection to it, and what each tenant holds: collection, document, job."""

    server: Served
    tenants: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def ask(
        self, method: str, path: str, body: object = None, key: str | None = None, more: dict[str, str] | None = None
    ) -> _Answer:
        """Send one request."""
        headers = {"Content-Type": "application/json", **(more or {})}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            result = {name.lower(): value for name, value in answer.getheaders()}
            return _Answer(answer.status, result, answer.read().decode("utf-8", "replace"))


def _key(number: int) -> str:
    return f"limited-key-{number}-of-thirty-two-characters"


def _word(number: int) -> str:
    return f"zebrafish{number}quartz"


@contextmanager
def _service(folder: Path) -> Generator[_Service]:
    """Serve nine tenants, each with a collection, a document and a job; eight have a key to their own."""
    limited: list[dict[str, Any]] = [
        {"name": f"k{number}", "key": _key(number), "read": [f"tenant-{number}"], "write": [f"tenant-{number}"]}
        for number in range(_KEYS)
    ]
    whole = [{"name": "owner", "key": _OWNER}, {"name": "second", "key": _SECOND}]
    file = folder / "keys.json"
    file.write_text(json.dumps({"keys": [*limited, *whole]}))
    file.chmod(0o600)
    with OpenAIServer() as embedding:
        settings = {
            "EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": embedding.key, "OPENAI_BASE_URL": embedding.url,
            "RAG_API_KEYS_FILE": str(file),
        }  # fmt: skip
        with served(folder / "server", ["rag-api", "--with-mcp"], settings) as server:
            service = _Service(server)
            for number in range(_KEYS + 1):
                name, text = f"tenant-{number}", f"# Notes\n\nThe valve of {_word(number)} is turned once a year."
                body = {"text": text, "metadata": {"collection": name, "filename": f"{_word(number)}.md"}}
                document = _told(service.ask("POST", "/ingest", body, _OWNER), "doc_id")
                job = _told(service.ask("POST", "/ingest", {**body, "wait": False}, _OWNER), "job_id")
                service.tenants.append((name, document, job))
            for _, _, job in service.tenants:
                _wait(service, job)
            yield service


def _told(answer: _Answer, name: str) -> str:
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {answer.body[:300]}")
    return str(json.loads(answer.body)[name])


def _wait(service: _Service, job: str) -> None:
    deadline = time.monotonic() + 20
    while _told(service.ask("GET", f"/jobs/{job}", key=_OWNER), "state") not in {"done", "failed", "cancelled"}:
        if time.monotonic() > deadline:
            raise RuntimeError("a job does not end")
        time.sleep(0.02)


def _asks(target: Sequence[str], own: str) -> list[tuple[str, str, object]]:
    """List what is asked of a collection, a document and a job of somebody."""
    name, document, job = target
    near = document[:-1] + ("0" if document[-1] != "0" else "1")
    question = {"query": "valve turned", "collection": name}
    return [
        ("POST", "/search", question),
        ("POST", "/search", {**question, "mode": "keyword"}),
        ("POST", "/search", {**question, "mode": "semantic"}),
        ("POST", "/search", {**question, "collection": own, "filters": {"doc_id": document}}),
        ("GET", f"/documents?collection={name}", None),
        ("GET", "/collections", None),
        ("GET", f"/documents/{document}", None),
        ("GET", f"/documents/{document}?text=true", None),
        ("GET", f"/documents/{near}", None),
        ("HEAD", f"/documents/{document}", None),
        ("DELETE", f"/documents/{document}", None),
        ("DELETE", f"/collections/{name}", None),
        ("GET", f"/jobs/{job}", None),
        ("DELETE", f"/jobs/{job}", None),
        ("POST", "/ingest", {"text": "x", "metadata": {"collection": name}}),
        ("POST", "/ingest_url", {"url": "https://a.example/x", "collection": name}),
        ("GET", "/metrics", None),
    ]


def _plain(answer: _Answer, target: Sequence[str]) -> tuple[int, str]:
    text = answer.body.replace(answer.headers["x-request-id"], "<id>")
    for name in (*target, target[1][:-1] + ("0" if target[1][-1] != "0" else "1")):
        text = text.replace(name, "<name>")
    return answer.status, text


def _foreign(folder: Path) -> Outcome:
    """Ask with eight keys for what other tenants hold, and for what nobody holds: the answers are the same."""
    tried, through = 0, list[str]()
    with _service(folder) as service:
        for number in range(_KEYS):
            own, key = f"tenant-{number}", _key(number)
            missing = [_plain(service.ask(*ask, key), _ABSENT) for ask in _asks(_ABSENT, own)]
            tried += len(missing)
            for other, target in enumerate(service.tenants):
                if other == number:
                    continue
                for ask, expected in zip(_asks(target, own), missing, strict=True):
                    tried += 1
                    answer = service.ask(*ask, key)
                    if _word(other) in answer.body or _plain(answer, target) != expected:
                        through.append(f"key {number}: {ask[0]} {ask[1]} says {answer.status} {answer.body[:80]}")
        for number, (_, document, _) in enumerate(service.tenants):
            key = _key(number) if number < _KEYS else _OWNER
            if _word(number) not in service.ask("GET", f"/documents/{document}", key=key).body:
                through.append(f"the document of tenant {number} is gone")
    return Outcome(tried, tuple(through))


def _ways(key: str) -> list[tuple[str, dict[str, str]]]:
    """List 36 ways to show a key, or something like it, that are none: what is added to the path, and headers."""
    basic = base64.b64encode(f"user:{key}".encode()).decode()
    alone = base64.b64encode(key.encode()).decode()
    names = (
        "X-API-Key", "Api-Key", "X-Auth-Token", "X-Access-Token", "Proxy-Authorization", "X-Authorization",
        "X-Forwarded-Authorization", "X-Original-Authorization", "Authentication", "Www-Authenticate", "Token", "X-Key",
        "Authorization_", "X-Amz-Security-Token",
    )  # fmt: skip
    values = (
        key, f"Token {key}", f"Basic {basic}", f"Basic {alone}", f"Digest {key}", f"Bearer{key}", f"Bearer: {key}",
        f"Bearer {key}x", f"Bearer {key[:-1]}", f"Bearer {key.upper()}", f"Bearer {key} {key}", f"Bearer {key},{key}",
        f'Bearer "{key}"', f"Bearer {alone}", f"Bearer {key}\x0b", "Bearer null", "Bearer *",
    )  # fmt: skip
    asked = ("key", "api_key", "access_token")
    return [
        *(("", {name: f"Bearer {key}"}) for name in names),
        *(("", {"Authorization": value}) for value in values),
        *((f"?{name}={key}", dict[str, str]()) for name in asked),
        ("", {"Cookie": f"Authorization=Bearer {key}; token={key}; session={key}"}),
        ("", {"X-Original-URL": "/health", "X-Rewrite-URL": "/health", "X-HTTP-Method-Override": "GET"}),
    ]


_PATHS = (
    ("GET", "/collections"), ("GET", "/documents"), ("GET", "/documents/0123456789abcdef"), ("GET", "/metrics"),
    ("GET", "/jobs/0123456789abcdef"), ("GET", "/openapi.json"), ("GET", "/mcp"), ("GET", "/sse"), ("GET", "/docs"),
    ("POST", "/search"), ("POST", "/ingest"), ("POST", "/ingest_url"), ("POST", "/ingest_file"), ("POST", "/mcp"),
    ("POST", "/messages/"), ("POST", "/engine/standards/search"), ("DELETE", "/collections/tenant-0"),
    ("DELETE", "/documents/0123456789abcdef"), ("DELETE", "/jobs/0123456789abcdef"), ("PUT", "/health"),
)  # fmt: skip


def _otherwise(folder: Path) -> Outcome:
    """Show the owner's key in every way but the one that holds."""
    tried, through = 0, list[str]()
    with _service(folder) as service:
        for more, headers in _ways(_OWNER):
            for method, path in _PATHS:
                tried += 1
                status = service.ask(method, path + more, {} if method == "POST" else None, more=headers).status
                if status not in {400, 401, 403}:
                    through.append(f"{method} {path}{more} with {list(headers)} says {status}")
    return Outcome(tried, tuple(through))


def _sessions(folder: Path) -> Outcome:
    """Use the MCP session that one key opened with another key, a limited one, a wrong one, and none."""
    tried, through = 0, list[str]()
    with _service(folder) as service:
        opened = service.ask("POST", "/mcp", _INITIALIZE, _OWNER, _BOTH)
        session = {**_BOTH, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        for key in (_SECOND, _key(0), _OWNER[:-1], "", None):
            for method, body in (("POST", _LIST), ("GET", None), ("DELETE", None)):
                tried += 1
                answer = service.ask(method, "/mcp", body, key, session)
                if answer.status not in {400, 401, 403, 404} or "get_document" in answer.body:
                    through.append(f"{method} with key {str(key)[:12]} says {answer.status}")
        if "get_document" not in service.ask("POST", "/mcp", _LIST, _OWNER, session).body:
            through.append("the session's own key is no longer served")
    return Outcome(tried, tuple(through))


_FOREIGN = (
    "evil.example", "localhost.evil.example", "evil-localhost", "127.0.0.1.evil.example", "192.0.2.1", "0x7f000001",
    "2130706433", "localhost@evil.example", "[::ffff:192.0.2.1]", "localhost,evil.example", "xn--localhst-0wb",
)  # fmt: skip
_ORIGINS = (*_FOREIGN, "app.example", "sub.localhost.example", "127.0.0.2.example", "null.example")


def _names(folder: Path) -> Outcome:
    """Ask under names that are not ours, and from pages of others, as DNS rebinding would."""
    hosts = [form.format(name) for name in _FOREIGN for form in ("{}", "{}:80", "{}:443", "{}.", "{}:0", "{}/")]
    origins = [
        form.format(name)
        for name in _ORIGINS
        for form in ("http://{}", "https://{}", "http://{}:8080", "https://{}.", "chrome-extension://{}")
    ]
    through: list[str] = []
    with _service(folder) as service:
        for host in hosts:
            answer = service.ask("GET", "/collections", key=_OWNER, more={"Host": host})
            if answer.status < 400:
                through.append(f"Host {host} says {answer.status}")
        for origin in origins:
            answer = service.ask("GET", "/collections", key=_OWNER, more={"Origin": origin})
            if answer.status < 400 or "access-control-allow-origin" in answer.headers:
                through.append(f"Origin {origin} says {answer.status}")
    return Outcome(len(hosts) + len(origins), tuple(through), note=f"{len(hosts)} hosts, {len(origins)} origins")


ATTACKS: tuple[Attack, ...] = (
    Attack("rights", "eight limited keys ask for what eight other tenants hold, and for what nobody holds", _foreign),
    Attack("rights", "a key of all rights, shown in 36 ways that are none, on 20 routes", _otherwise),
    Attack("rights", "an MCP session of one key, used with other keys and without", _sessions),
    Attack("rights", "requests under foreign Hosts and from foreign Origins", _names),
)

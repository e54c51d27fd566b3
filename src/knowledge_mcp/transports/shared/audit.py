"""The audit log: one JSON object per line, appended to a file before the response leaves; no text, and no query."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.model.errors import InternalError, reason_of
from knowledge_mcp.support.events import in_one_line
from knowledge_mcp.transports.shared.keys import KEY

READ_DOCUMENTS = "knowledge_read_documents"
"""Key in a scope of the ids of documents that a response uses without naming them, known before it begins."""

MOST_DOCUMENTS = 10_000
"""Maximum documents named on one line; of more, only the number is given."""

MOST_BYTES = 64 * 1024 * 1024
"""Maximum bytes searched of one REST response; a whole document has some megabytes."""

_IDS = ("document_id", "doc_id")
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
"""A pipe without a reader, or full, is then an error instead of a wait without end."""


def documents_in(answer: object) -> list[str]:
    """List the documents that an answer names, each once: by id, files of repositories by name and path."""
    return list(dict.fromkeys(_find_ids(answer)))


def _find_ids(value: object) -> Iterator[str]:
    waiting = [value]  # no recursion: nesting may be arbitrarily deep
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            fields = cast("Mapping[str, object]", one)
            for name in _IDS:
                found = fields.get(name)
                if isinstance(found, str) and found:
                    yield found
            several = fields.get("document_ids")
            if isinstance(several, list):
                yield from (each for each in cast("list[object]", several) if isinstance(each, str))
            repository, path = fields.get("repository"), fields.get("file_path")
            if isinstance(repository, str) and isinstance(path, str):
                yield f"{repository}:{path}"
            waiting.extend(reversed(list(fields.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(cast("list[object]", one)))


class AuditLog:
    """Append to a file; thread-safe, and shared by several processes.

    Args:
        path: the file; created with its folder if missing, readable only by its owner.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def write(self, subject: str, tool: str, outcome: str, documents: Iterable[str] = (), **more: str) -> None:
        """Log one call.

        Args:
            subject: the key's name, or `oauth:` and the token's subject.
            tool: tool, resource or route.
            outcome: `answered`, or the code of the error.
            documents: ids of what was read.
            more: further fields.

        Raises:
            InternalError: it cannot be written; what is not logged must not be read.
        """
        ids = list(documents)
        fields: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "subject": in_one_line(subject, 300),
            "tool": in_one_line(tool, 300),
            "outcome": outcome,
            **more,
            "documents": ids[:MOST_DOCUMENTS],
        }
        if len(ids) > MOST_DOCUMENTS:
            fields["documents_in_all"] = len(ids)
        self._append(json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")

    def check(self) -> None:
        """Check that the file can be written, without writing anything.

        Raises:
            InternalError: it cannot.
        """
        self._append(b"")

    def _append(self, line: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock:
                file = os.open(self._path, _APPEND, 0o600)
                try:
                    if os.write(file, line) != len(line):
                        raise OSError("the disk is full")
                finally:
                    os.close(file)
        except OSError as exc:
            raise InternalError(
                "The audit log cannot be written, so all requests are refused.",
                details=reason_of(exc),
                suggestion="Free disk space at AUDIT_LOG, or make the file writable.",
            ) from exc


class AuditGate:
    """Log responses to REST requests before they leave.

    Args:
        app: the wrapped app.
        log: the audit log.
        is_other: returns by path which requests are logged elsewhere.

    A request without a key is not logged.
    """

    def __init__(self, app: ASGIApp, log: AuditLog, *, is_other: Any) -> None:
        self._app = app
        self._log = log
        self._is_other = is_other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_other(str(scope["path"])) or KEY not in scope:
            await self._app(scope, receive, send)
            return
        audited = _AuditedSend(scope, send, self._log, scope[KEY].name)
        try:
            await self._app(scope, receive, audited)
        finally:
            audited.finish()


class _AuditedSend:
    def __init__(self, scope: Scope, send: Send, log: AuditLog, subject: str) -> None:
        self._scope = scope
        self._send = send
        self._log = log
        self._subject = subject
        self._start: Message | None = None
        self._status = 0
        self._is_text = False
        self._written: set[str] = set()
        self._is_written = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start, self._status = message, int(message["status"])
            self._is_text = Headers(raw=list(message["headers"])).get("content-type", "").startswith("text/")
            return
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        self._write(message.get("body", b""), is_last=not message.get("more_body", False))
        if self._start is not None:
            begun, self._start = self._start, None
            await self._send(begun)
        await self._send(message)

    def finish(self) -> None:
        """Log a response that was not completed, if nothing of it was logged before."""
        if self._status and not self._is_written:
            self._write(b"", is_last=True)

    def _write(self, part: bytes, *, is_last: bool) -> None:
        """Log the documents named in a part (a line of a stream, or a whole response) before it leaves."""
        found: list[str] = []
        if self._status < 400:
            content = _lines_of(part) if not self._is_text and len(part) <= MOST_BYTES else None
            found = [*self._scope.get(READ_DOCUMENTS, ()), *documents_in([self._scope.get("path_params"), content])]
        new = [each for each in dict.fromkeys(found) if each not in self._written]
        if new or (is_last and not self._is_written):
            self._written.update(new)
            self._is_written = True
            tool = f"{self._scope['method']} {self._scope['path']}"
            self._log.write(self._subject, tool, "answered" if self._status < 400 else str(self._status), new)


def _lines_of(body: bytes) -> object:
    """Parse a response that is one JSON value, or a stream of lines of JSON; other content is ignored."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        found: list[object] = []
        for line in body.splitlines():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
        return found

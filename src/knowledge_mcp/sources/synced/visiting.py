"""Documents at addresses, fetched where they changed: by validators, and not at all where nothing says so."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError, RateLimitedError, TimedOutError
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.model.syncing import Visited
from knowledge_mcp.sources.web.exchange import WebRequest
from knowledge_mcp.sources.web.fetcher import WebAnswer, WebFetcher

_GIVEN_UP_AFTER = 3
"""Places in a row that could not be had: the server is down, not a page, and each try may take a minute."""
_UNCHANGED = 304


class Visitor:
    """Fetch documents for one sync, and keep the bytes of those that changed in a folder of its own.

    What was remembered of an address counts only where the knowledge base holds those very bytes: a sync that was
    killed after the fetch fetches again.

    Args:
        fetcher: asks the addresses.
        visited: what earlier syncs remembered, by address.
        login: value of `Authorization`, empty for none.
    """

    def __init__(self, fetcher: WebFetcher, visited: Mapping[str, Visited], *, login: str = "") -> None:
        self._fetcher = fetcher
        self._visited = dict(visited)
        self._login = login
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._held: dict[str, str] = {}
        self._missed_in_a_row = 0
        self._asked_to_wait = False
        self.unread: list[str] = []

    def knows(self, url: str) -> bool:
        """Tell whether an earlier sync has fetched an address."""
        return url in self._visited

    def holds(self, records: Sequence[DocumentRecord]) -> None:
        """Take note of what the knowledge base holds."""
        self._held = {record.source_path: record.sha256 for record in records}

    def visit(self, url: str, *, etag: str = "") -> SourceItem:
        """Fetch a document, unless it is unchanged; its bytes are fetched then only if somebody opens it.

        Args:
            url: its address.
            etag: what a list of the server says of it now.

        Raises:
            KnowledgeError: as `WebFetcher.ask`.
        """
        known = self._visited.get(url)
        if known is not None and self._held.get(url) != known.sha256:
            known = None
        if known is None or not etag or etag != known.etag:
            answer = self._ask(url, known)
            if known is None or answer.status != _UNCHANGED:
                return self._item(url, self._kept(url, answer, etag), self._file(url))
        return self._item(url, known, None)

    def tried(self, url: str, *, etag: str = "") -> SourceItem | SkippedFile:
        """Visit as `visit` does; what cannot be had is told as a skipped file, and named in `unread` if it may pass."""
        if self._asked_to_wait or self._missed_in_a_row >= _GIVEN_UP_AFTER:
            told = "The server asked to wait." if self._asked_to_wait else "The server does not answer."
            self.unread.append(f"{url}: {told}")
            return SkippedFile(url, ConnectionFailedError.code.value, told, "Sync again later.")
        try:
            item = self.visit(url, etag=etag)
        except KnowledgeError as error:
            if isinstance(error, ConnectionFailedError | TimedOutError | RateLimitedError):
                self._missed_in_a_row += 1
                self._asked_to_wait = isinstance(error, RateLimitedError)
                self.unread.append(f"{url}: {error.message}")
            return SkippedFile(url, error.code.value, error.message, error.suggestion)
        self._missed_in_a_row = 0
        return item

    def remembered(self, there: Collection[str]) -> dict[str, Visited]:
        """Give what the next sync should know: of what is there, and of what the knowledge base still holds."""
        return {url: each for url, each in self._visited.items() if url in there or url in self._held}

    def close(self) -> None:
        """Remove the bytes."""
        if self._folder is not None:
            self._folder.cleanup()

    def _ask(self, url: str, known: Visited | None) -> WebAnswer:
        headers: list[tuple[str, str]] = []
        if known is not None and known.etag:
            headers.append(("If-None-Match", known.etag))
        elif known is not None and known.last_modified:
            headers.append(("If-Modified-Since", known.last_modified))
        return self._fetcher.ask(url, WebRequest(headers=tuple(headers)), as_document=True, login=self._login)

    def _kept(self, url: str, answer: WebAnswer, etag: str) -> Visited:
        found = Visited(
            sha256=hashlib.sha256(answer.body).hexdigest(),
            size=len(answer.body),
            media_type=answer.media_type,
            name=answer.name,
            etag=answer.etag or etag,
            last_modified=answer.last_modified,
        )
        self._file(url).write_bytes(answer.body)
        self._visited[url] = found
        return found

    def _file(self, url: str) -> Path:
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="knowledge-sync-")
        return Path(self._folder.name) / hashlib.sha256(url.encode()).hexdigest()

    def _item(self, url: str, found: Visited, file: Path | None) -> SourceItem:
        opened: Callable[[], BinaryIO] = functools.partial(self._opened, url, found)
        if file is not None:
            opened = functools.partial(file.open, "rb")
        return SourceItem(
            uri=url,
            name=found.name,
            media_type=found.media_type,
            size=found.size,
            sha256=found.sha256,
            open=opened,
            labels=(("filename", found.name),),
        )

    def _opened(self, url: str, found: Visited) -> BinaryIO:
        """Fetch what was taken for unchanged after all: it is to be read in another way than before."""
        file = self._file(url)
        if not file.exists():
            try:
                answer = self._ask(url, None)
            except KnowledgeError as error:
                raise OSError(error.message) from error
            if hashlib.sha256(answer.body).hexdigest() != found.sha256:
                raise OSError("it has changed since it was looked at; sync again")
            file.write_bytes(answer.body)
        return file.open("rb")

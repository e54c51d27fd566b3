"""Web documents that are kept in sync: one address, or all addresses of a sitemap.

Both implement `ports.SyncedSource`. Changes are detected by validators.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urljoin

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
    UnreadableReason,
)
from knowledge_mcp.model.ingest import LeftOut, SkippedFile, Visited
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.sources.files import MOST_EXAMPLES
from knowledge_mcp.sources.synced.listing import Room, list_in_child
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.exchange import WebRequest
from knowledge_mcp.sources.web.fetcher import WebAnswer, WebFetcher
from knowledge_mcp.support.sandbox import shared_sandbox

_GIVEN_UP_AFTER = 3
"""Consecutive failed addresses after which a sync gives up: the server is down, and each try may take a minute."""
_UNCHANGED = 304


class Visitor:
    """Fetch documents for one sync, and keep the bytes of changed ones in a temporary folder.

    Stored validators of an address count only if the knowledge base has exactly those bytes: a sync killed after the
    fetch fetches again.

    Args:
        fetcher: fetches the addresses.
        visited: what earlier syncs stored, by address.
        remember: stores what the next sync needs to know about addresses.
        login: value of `Authorization`, empty for none.
    """

    def __init__(
        self,
        fetcher: WebFetcher,
        visited: Mapping[str, Visited],
        remember: Callable[[Mapping[str, Visited]], object],
        *,
        login: str = "",
    ) -> None:
        self._fetcher = fetcher
        self._remember = remember
        self._visited = dict(visited)
        self._login = login
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._stored: dict[str, str] = {}
        self._missed_in_a_row = 0
        self._asked_to_wait = False
        self.unread: list[str] = []
        self.ends: dict[str, str] = {}

    def knows(self, url: str) -> bool:
        """Return whether an earlier sync has fetched an address."""
        return url in self._visited

    def holds(self, records: Sequence[DocumentRecord]) -> None:
        """Record what the knowledge base contains."""
        self._stored = {record.source_path: record.sha256 for record in records}

    def is_stored(self, url: str, sha256: str = "") -> bool:
        """Return whether the knowledge base has the document of an address, optionally with other bytes than these."""
        return url in self._stored and self._stored[url] != sha256

    def note_missing(self, url: str) -> None:
        """Record that an address returned nothing."""
        self._visited[url] = replace(self._visited.get(url) or Visited("", 0, "", ""), missed=True)

    def missing_again(self, urls: Iterable[str]) -> list[str]:
        """List the addresses that returned nothing at the last sync and return nothing now.

        A server error ends the check: addresses without an answer are not missing.
        """
        found: list[str] = []
        for url in urls:
            if url in self._visited and self._visited[url].missed:
                try:
                    self._ask(url, None)
                except NotFoundError:
                    found.append(url)
                except KnowledgeError:
                    break
        return found

    def visit(self, url: str, *, etag: str = "") -> SourceItem:
        """Fetch a document, unless it is unchanged; then its bytes are fetched only if it is opened.

        Args:
            url: its address.
            etag: its entity tag in the server's list.

        Raises:
            KnowledgeError: as for `WebFetcher.ask`.
        """
        known = self._visited.get(url)
        if known is not None and self._stored.get(url) != known.sha256:
            known = None
        if known is None or not etag or etag != known.etag:
            answer = self._ask(url, known)
            if known is None or answer.status != _UNCHANGED:
                return self._item(url, self._kept(url, answer, etag), self._file(url))
        self._visited[url] = replace(known, missed=False)
        return self._item(url, known, None)

    def tried(self, url: str, *, etag: str = "") -> SourceItem | SkippedFile:
        """Do as `visit`; a failure becomes a skipped file, and is listed in `unread` if it may be temporary."""
        if self._asked_to_wait or self._missed_in_a_row >= _GIVEN_UP_AFTER:
            message = "The server is limiting requests." if self._asked_to_wait else "The server does not answer."
            self.unread.append(url)
            return SkippedFile(url, ConnectionFailedError.code.value, message, "Sync again later.")
        try:
            item = self.visit(url, etag=etag)
        except KnowledgeError as error:
            if isinstance(error, ConnectionFailedError | TimedOutError | RateLimitedError):
                self._missed_in_a_row += 1
                self._asked_to_wait = isinstance(error, RateLimitedError)
                self.unread.append(url)
            return SkippedFile(url, error.code.value, error.message, error.suggestion)
        self._missed_in_a_row = 0
        return item

    def remember(self, there: Collection[str]) -> None:
        """Store what the next sync needs: what exists, and what the knowledge base still has."""
        self._remember({url: each for url, each in self._visited.items() if url in there or url in self._stored})

    def close(self) -> None:
        """Delete the temporary bytes."""
        if self._folder is not None:
            self._folder.cleanup()

    def _ask(self, url: str, known: Visited | None) -> WebAnswer:
        headers: list[tuple[str, str]] = []
        if known is not None and known.etag:
            headers.append(("If-None-Match", known.etag))
        elif known is not None and known.last_modified:
            headers.append(("If-Modified-Since", known.last_modified))
        answer = self._fetcher.ask(url, WebRequest(headers=tuple(headers)), as_document=True, login=self._login)
        self.ends[url] = answer.url
        return answer

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
        """Fetch a document that was considered unchanged, because it must be read in another way than before."""
        file = self._file(url)
        if not file.exists():
            try:
                answer = self._ask(url, None)
            except KnowledgeError as error:
                raise OSError(error.message) from error
            if hashlib.sha256(answer.body).hexdigest() != found.sha256:
                raise OSError("it has changed since it was checked; sync again")
            file.write_bytes(answer.body)
        return file.open("rb")


class VisitedSource:
    """Common base of sources whose documents are fetched by a visitor."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    @property
    def unread(self) -> tuple[str, ...]:
        return tuple(self._visitor.unread)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return ()

    def close(self) -> None:
        self._visitor.close()


_MOST_SITEMAPS = 500
"""Maximum sitemaps of one index; with 50,000 addresses each they name more than anyone syncs."""


class PageSource(VisitedSource):
    """Treat one address as authoritative for its document; if it returns nothing, nothing is removed.

    Args:
        url: of the page.
        visitor: fetches the page.
    """

    only_names = True

    def __init__(self, url: str, visitor: Visitor) -> None:
        super().__init__(visitor)
        self._url = parse_address(url).url
        self._item: SourceItem | None = None

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        self._visitor.holds(records)
        try:
            self._item = self._visitor.visit(self._url)
        except NotFoundError:
            if not any(map(self.owns, records)):
                raise  # it never existed
            return False
        self._visitor.remember({self._url})
        return True

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        if self._item is not None:
            yield self._item

    def owns(self, record: DocumentRecord) -> bool:
        return record.source_path == self._url

    def is_gone(self, record: DocumentRecord) -> bool:
        return self._item is None and self.owns(record)


class SitemapSource(VisitedSource):
    """Treat a sitemap, or an index of sitemaps, as authoritative for its pages.

    A listed page that does not exist (404, 410) is gone once two consecutive syncs found nothing: a server that is
    being deployed returns nothing for a while. A page that never existed is left out. So are pages that redirect to the
    same target as others: that is a login page, or a placeholder for removed pages.

    Args:
        url: of the sitemap.
        fetcher: fetches sitemaps.
        visitor: fetches pages.
    """

    only_names = True

    def __init__(self, url: str, fetcher: WebFetcher, visitor: Visitor) -> None:
        super().__init__(visitor)
        self._address = parse_address(url)
        self._fetcher = fetcher
        self._pages: dict[str, None] = {}
        self._elsewhere: dict[str, None] = {}
        self._absent: dict[str, None] = {}
        self._sent_on: dict[str, None] = {}

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        self._visitor.holds(records)
        waiting = [self._address.url]
        seen: set[str] = set()
        room = Room(self._address.display_url)
        while waiting:
            url = waiting.pop()
            if url in seen:
                continue
            seen.add(url)
            if len(seen) > _MOST_SITEMAPS:
                raise InvalidInputError(
                    f"{self._address.display_url} lists more than {_MOST_SITEMAPS} sitemaps.",
                    suggestion="Register some of them separately.",
                )
            entries = self._read(url)
            for entry in entries:
                place = self._own(entry["loc"])
                if place is None:
                    self._elsewhere[entry["loc"]] = None
                elif entry["kind"] == "sitemap":
                    waiting.append(place)
                else:
                    self._pages[place] = None
            room.check(entries, len(self._pages) + len(self._elsewhere))
        for url in self._visitor.missing_again(self._pages):
            del self._pages[url]
            self._absent[url] = None
        return bool(self._pages)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        found = {url: self._visitor.tried(url) for url in self._pages}
        ends = self._shared_ends()
        has_page = False
        for url, item in found.items():
            there = self._there(url, item, ends.get(url, ""))
            if there is not None:
                has_page = True
                yield there
        self._visitor.remember(found.keys() | self._absent.keys())
        nothing = self._absent | self._sent_on
        if nothing and not has_page:
            raise NotFoundError(
                f"None of the {len(nothing):,} pages that {self._address.display_url} names is there.",
                suggestion=f"Open one of them, such as {next(iter(nothing))}, and sync again when it is there.",
            )

    def _there(self, url: str, item: SourceItem | SkippedFile, end: str) -> SourceItem | SkippedFile | None:
        """Return the result for a page; None if it does not exist and has no document to keep."""
        if isinstance(item, SkippedFile):
            if item.reason != NotFoundError.code.value:
                return item
            self._visitor.note_missing(url)
            if self._visitor.is_stored(url):
                advice = "Its document is kept. It is removed if the next sync also finds nothing."
                return replace(item, suggestion=advice)
            self._absent[url] = None
            return None
        if not end:
            return item
        if self._visitor.is_stored(url, item.sha256 or ""):
            message = f"It redirects to {parse_address(end).display_url}, like other pages."
            return SkippedFile(url, UnreadableReason.INACCESSIBLE, message, "Its document is kept unchanged.")
        self._sent_on[url] = None
        del self._pages[url]
        return None

    def _shared_ends(self) -> dict[str, str]:
        """Map pages that redirect to the same target as another page, or to a listed page, to that target."""
        ends = {url: end for url, end in self._visitor.ends.items() if end != url and url in self._pages}
        leading = Counter(ends.values())
        return {url: end for url, end in ends.items() if end in self._pages or leading[end] > 1}

    def owns(self, record: DocumentRecord) -> bool:
        return record.source_path in self._pages or self._visitor.knows(record.source_path)

    def is_gone(self, record: DocumentRecord) -> bool:
        return record.source_path not in self._pages

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        found = (
            ("addresses of other sites", self._elsewhere, "Register them separately."),
            ("listed pages that do not exist", self._absent, ""),
            ("pages that redirect to the same page as others", self._sent_on, ""),
        )
        return tuple(
            LeftOut(what, len(them), tuple(them)[:MOST_EXAMPLES], advice) for what, them, advice in found if them
        )

    def _read(self, url: str) -> list[dict[str, str]]:
        body = self._fetcher.ask(url, WebRequest()).body
        return list_in_child(shared_sandbox(), "sitemap", body, parse_address(url).display_url)

    def _own(self, loc: str) -> str | None:
        """Normalise an address; None if it belongs to another site, for which a sitemap is not authoritative.

        A server behind a TLS proxy calls itself http.
        """
        try:
            loc = urljoin(self._address.url, loc)
            address = parse_address(f"https{loc[4:]}" if loc.lower().startswith("http:") else loc)
        except (InvalidInputError, ValueError):
            return None
        return address.url if address.origin == self._address.origin else None

"""Pages of the web that are kept in sync: one address, or all that a sitemap names; both fill `ports.SyncedSource`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.model.syncing import Visited
from knowledge_mcp.sources.synced.listing import list_in_child
from knowledge_mcp.sources.synced.visiting import Visitor
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.exchange import WebRequest
from knowledge_mcp.sources.web.fetcher import WebFetcher
from knowledge_mcp.support.sandbox import Sandbox

_MOST_SITEMAPS = 500
"""Sitemaps of one index; with 50,000 addresses each they name more than anybody syncs."""
_EXAMPLES = 3

Remember = Callable[[Mapping[str, Visited]], None]
"""Keep what the next sync should know of addresses."""


class PageSource:
    """Hold one address to be the truth of its document; an address that gives nothing removes nothing.

    Args:
        url: of the page.
        visitor: fetches it.
        remember: keeps what the next sync should know.
    """

    def __init__(self, url: str, visitor: Visitor, remember: Remember) -> None:
        self._url = parse_address(url).url
        self._visitor = visitor
        self._remember = remember
        self._item: SourceItem | None = None

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        self._visitor.holds(records)
        self._item = self._visitor.visit(self._url)
        self._remember(self._visitor.remembered({self._url}))
        return True

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        assert self._item is not None, "look comes first"
        yield self._item

    def owns(self, record: DocumentRecord) -> bool:
        return record.source_path == self._url

    def is_gone(self, record: DocumentRecord) -> bool:
        return False

    @property
    def unread(self) -> tuple[str, ...]:
        return ()

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return ()

    def close(self) -> None:
        self._visitor.close()


class SitemapSource:
    """Hold a sitemap, or an index of sitemaps, to be the truth of the pages that it names.

    Args:
        url: of the sitemap.
        fetcher: asks for sitemaps.
        visitor: fetches pages.
        remember: keeps what the next sync should know.
        sandbox: where sitemaps are read.
    """

    def __init__(
        self, url: str, fetcher: WebFetcher, visitor: Visitor, remember: Remember, sandbox: Sandbox | None = None
    ) -> None:
        self._address = parse_address(url)
        self._fetcher = fetcher
        self._visitor = visitor
        self._remember = remember
        self._sandbox = sandbox or Sandbox()
        self._pages: dict[str, None] = {}
        self._elsewhere: dict[str, None] = {}

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        self._visitor.holds(records)
        waiting = [self._address.url]
        seen: set[str] = set()
        while waiting:
            url = waiting.pop()
            if url in seen:
                continue
            seen.add(url)
            if len(seen) > _MOST_SITEMAPS:
                raise InvalidInputError(
                    f"{self._address.shown} names more than {_MOST_SITEMAPS} sitemaps.",
                    suggestion="Register some of them one by one.",
                )
            for entry in self._read(url):
                place = self._own(entry["loc"])
                if place is None:
                    self._elsewhere[entry["loc"]] = None
                elif entry["kind"] == "sitemap":
                    waiting.append(place)
                else:
                    self._pages[place] = None
        return bool(self._pages)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        for url in self._pages:
            yield self._visitor.tried(url)
        self._remember(self._visitor.remembered(self._pages.keys()))

    def owns(self, record: DocumentRecord) -> bool:
        return record.source_path in self._pages or self._visitor.knows(record.source_path)

    def is_gone(self, record: DocumentRecord) -> bool:
        return record.source_path not in self._pages

    @property
    def unread(self) -> tuple[str, ...]:
        return tuple(self._visitor.unread)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        if not self._elsewhere:
            return ()
        named = tuple(list(self._elsewhere)[:_EXAMPLES])
        return (LeftOut("addresses of other sites", len(self._elsewhere), named, "Register them by themselves."),)

    def close(self) -> None:
        self._visitor.close()
        self._sandbox.close()

    def _read(self, url: str) -> list[dict[str, str]]:
        body = self._fetcher.ask(url, WebRequest()).body
        return list_in_child(self._sandbox, "sitemap", body, parse_address(url).shown)

    def _own(self, loc: str) -> str | None:
        """Spell an address in one way; None for one of another site, for which a sitemap cannot speak."""
        try:
            address = parse_address(loc)
        except InvalidInputError:
            return None
        return address.url if address.origin == self._address.origin else None

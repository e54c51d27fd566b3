"""Folders of WebDAV servers that are kept in sync: SharePoint, Nextcloud, many document systems.

A folder is walked by PROPFIND of depth 1; a file whose entity tag is unchanged since the last sync is not fetched.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import AuthError, InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import DOCUMENT_PATTERNS, MEDIA_TYPES, SourceItem, advice_on_kind, is_unread_document
from knowledge_mcp.sources.files import MOST_EXAMPLES
from knowledge_mcp.sources.synced.listing import Room, list_in_child
from knowledge_mcp.sources.synced.web import VisitedSource, Visitor
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.exchange import WebRequest
from knowledge_mcp.sources.web.fetcher import WebFetcher
from knowledge_mcp.support.sandbox import shared_sandbox

_ASKED = (
    b'<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getetag/></prop></propfind>'
)
_PROPFIND = WebRequest("PROPFIND", (("Depth", "1"), ("Content-Type", "application/xml; charset=utf-8")), _ASKED)
_MOST_FOLDERS = 100_000
"""Maximum folders of one source: a server that generates folders on request would be walked for ever."""


class WebDavSource(VisitedSource):
    """Treat a folder of a WebDAV server as authoritative for the files below it.

    Args:
        url: of the folder.
        fetcher: lists folders.
        visitor: fetches files.
        login: value of `Authorization`, empty for none.
        patterns: names of the files to read; empty for every document.
    """

    only_names = False

    def __init__(
        self,
        url: str,
        fetcher: WebFetcher,
        visitor: Visitor,
        *,
        login: str = "",
        patterns: Sequence[str] = (),
    ) -> None:
        super().__init__(visitor)
        self._root = _spelled(parse_address(url).url).rstrip("/") + "/"
        self._fetcher = fetcher
        self._login = login
        self._patterns = tuple(pattern.lower() for pattern in (patterns or DOCUMENT_PATTERNS))
        self._asked = bool(patterns)
        self._files: dict[str, str] = {}
        self._skipped: dict[str, SkippedFile] = {}
        self._closed: list[str] = []
        self._left: Counter[str] = Counter()
        self._elsewhere: dict[str, None] = {}

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        self._visitor.holds(records)
        waiting, seen = [self._root], {self._root}
        room = Room(parse_address(self._root).display_url)
        while waiting:
            folder = waiting.pop()
            entries = self._listed(folder)
            for entry in entries:
                place = self._below(folder, entry["href"])
                if place is None:
                    self._elsewhere[entry["href"]] = None
                if place is None or place.rstrip("/") == folder.rstrip("/"):
                    continue
                if entry["folder"]:
                    place = place.rstrip("/") + "/"
                    if place not in seen and not self._is_hidden(place):
                        seen.add(place)
                        waiting.append(place)
                else:
                    self._take(place, entry["etag"])
            room.check(entries, len(self._files) + len(self._skipped) + len(self._elsewhere))
            if folder == self._root and entries and len(self._elsewhere) == len({each["href"] for each in entries}):
                raise InvalidInputError(
                    f"{parse_address(folder).display_url} lists nothing below itself, only {entries[0]['href'][:200]}.",
                    suggestion="Register the address that the server uses for its folder.",
                )
            if len(seen) > _MOST_FOLDERS:
                raise InvalidInputError(
                    f"There are more than {_MOST_FOLDERS:,} folders below {parse_address(self._root).display_url}.",
                    suggestion="Register subfolders instead.",
                )
        return bool(self._files or self._skipped)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        for url in sorted({*self._files, *self._skipped}):
            yield self._skipped[url] if url in self._skipped else self._visitor.tried(url, etag=self._files[url])
        self._visitor.remember(self._files.keys())

    def owns(self, record: DocumentRecord) -> bool:
        return record.source_path.startswith(self._root)

    def is_gone(self, record: DocumentRecord) -> bool:
        place = record.source_path
        is_there = place in self._files or place in self._skipped
        return not is_there and not any(place.startswith(each) for each in self._closed)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        found = [LeftOut(what, count) for what, count in self._left.most_common()]
        if self._elsewhere:
            examples = tuple(self._elsewhere)[:MOST_EXAMPLES]
            found.append(LeftOut("entries outside of the folder", len(self._elsewhere), examples))
        return tuple(found)

    def _listed(self, folder: str) -> list[dict[str, str]]:
        display_url = parse_address(folder).display_url
        try:
            answer = self._fetcher.ask(folder, _PROPFIND, login=self._login)
        except (AuthError, NotFoundError) as error:
            if folder == self._root and isinstance(error, AuthError) and not self._login:
                raise AuthError(
                    f"{display_url} requires a login.",
                    details=error.details,
                    suggestion=f"Set SOURCE_LOGINS={parse_address(folder).place}=USER:PASSWORD, and sync again.",
                ) from error
            if folder == self._root:
                raise
            self._closed.append(folder)
            self._skipped[folder] = SkippedFile(
                folder, UnreadableReason.INACCESSIBLE, f"The folder cannot be read: {error.message}", error.suggestion
            )
            return []
        if answer.status != 207:
            raise InvalidInputError(f"{display_url} does not support WebDAV.", suggestion="Give the WebDAV address.")
        return list_in_child(shared_sandbox(), "propfind_answer", answer.body, display_url)

    def _below(self, folder: str, href: str) -> str | None:
        """Normalise a listed address; None if it is not below the source.

        A server behind a TLS proxy calls itself http, and names its own port.
        """
        try:
            address = urlsplit(href)
            if address.scheme.lower() in {"http", "https"} and address.hostname == parse_address(self._root).host:
                href = address.path
            place = _spelled(parse_address(urljoin(folder, href)).url)
        except (InvalidInputError, ValueError):
            return None
        steps = unquote(place.removeprefix(self._root)).split("/")
        return place if place.startswith(self._root) and ".." not in steps else None

    def _is_hidden(self, place: str) -> bool:
        hidden = unquote(place.rstrip("/").rpartition("/")[2]).startswith((".", "~$"))
        if hidden:
            self._left["hidden files and folders"] += 1
        return hidden

    def _take(self, place: str, etag: str) -> None:
        name = unquote(place.rpartition("/")[2])
        if self._is_hidden(place):
            return
        if any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in self._patterns):
            self._files[place] = etag
        elif not self._asked and is_unread_document(name):
            advice = advice_on_kind(name, MEDIA_TYPES)
            message = f"{name}: Files of this type are not supported."
            self._skipped[place] = SkippedFile(place, UnreadableReason.UNSUPPORTED, message, advice)
        else:
            self._left[f"{PurePosixPath(name).suffix.lower() or 'other'} files"] += 1


def _spelled(url: str) -> str:
    """Escape an address as this program does, however its server escapes."""
    origin, path = url[: url.index("/", 8)], url[url.index("/", 8) :]
    return origin + quote(unquote(path.partition("?")[0]), safe="/:@!$&'()*+,;=-._~")

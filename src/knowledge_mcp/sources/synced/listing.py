"""Lists of documents from a server, read in a child process: sitemaps, and PROPFIND responses.

They are untrusted bytes, so a child reads them, as for documents.
"""

from __future__ import annotations

import contextlib
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.sandbox import InputFile, Limits, Refusal, Sandbox, SandboxFailure

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_MOST_UNPACKED = 50 * 1024 * 1024
"""Maximum bytes of an unpacked sitemap, as defined by sitemaps.org."""
_GZIP = b"\x1f\x8b"
_AT_ONCE = 1_000
_ETAG = re.compile(r'(W/)?"?([!#-~]{1,512})"?')
_LIMITS = Limits(seconds=120.0)
"""A sitemap of 50,000 addresses takes a second."""
_MOST_PLACES = 1_000_000
"""Maximum addresses of one source: they are held in memory, and a server may never end."""
_MOST_CHARACTERS = 256 * _MOST_PLACES
"""Maximum characters of all lists of one source: so many long addresses take 300 MB; one alone can have ten million."""
_IN_PARTS = "Register parts of it separately."


class Room:
    """Count what the lists of one source hold, to refuse a source that would fill the memory.

    Args:
        shown: the source's address, for the error.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._characters = 0

    def check(self, entries: Iterable[Mapping[str, str]], places: int) -> None:
        """Count a list.

        Args:
            entries: the list.
            places: different addresses of the source so far.

        Raises:
            InvalidInputError: its addresses are too many or too long.
        """
        self._characters += sum(len(text) for entry in entries for text in entry.values())
        if places > _MOST_PLACES:
            raise InvalidInputError(f"{self._shown} lists more than {_MOST_PLACES:,} addresses.", suggestion=_IN_PARTS)
        if self._characters > _MOST_CHARACTERS:
            raise InvalidInputError(
                f"{self._shown} lists addresses of more than {_MOST_CHARACTERS:,} characters.", suggestion=_IN_PARTS
            )


def list_in_child(sandbox: Sandbox, function: str, body: bytes, shown: str) -> list[dict[str, str]]:
    """Read a list in a child process; `function` is the name of a function in this module.

    Raises:
        InvalidInputError: it is not such a list, or the child failed.
    """
    target = f"knowledge_mcp.sources.synced.listing:{function}"
    files = {"path": InputFile(io.BytesIO(body), ".xml")}
    try:
        with contextlib.closing(sandbox.run(target, {}, files=files, limits=_LIMITS)) as values:
            return [entry for piece in values for entry in piece]
    except (Refusal, SandboxFailure) as error:
        raise InvalidInputError(
            f"{shown} does not return a readable list.", details=str(error), suggestion="Check the address."
        ) from error


def sitemap(path: str) -> Iterator[list[dict[str, str]]]:
    """Yield the entries of a sitemap or of an index of sitemaps: `kind` (`url`, `sitemap`) and `loc`.

    Raises:
        Refusal: it is neither.
    """
    data = Path(path).read_bytes()
    if data.startswith(_GZIP):
        data = _unpacked(data)
    root = _parsed(data)
    if _local(root) not in {"urlset", "sitemapindex"}:
        raise Refusal("corrupted", "This is not a sitemap.")
    found: list[dict[str, str]] = []
    for entry in root:
        kind = _local(entry)
        loc = next((each.text for each in entry if _local(each) == "loc"), None)
        if kind in {"url", "sitemap"} and loc and loc.strip():
            found.append({"kind": kind, "loc": loc.strip()})
    yield from _pieces(found)


def propfind_answer(path: str) -> Iterator[list[dict[str, str]]]:
    """Yield the entries of a PROPFIND response: `href`, `folder` (`yes` or empty), `etag`.

    Raises:
        Refusal: it is not one.
    """
    root = _parsed(Path(path).read_bytes())
    if root.tag != "{DAV:}multistatus":
        raise Refusal("corrupted", "This is not a WebDAV response.")
    found: list[dict[str, str]] = []
    for response in root.iterfind("{DAV:}response"):
        href = response.findtext("{DAV:}href")
        if not href or not href.strip():
            continue
        entry = {"href": href.strip(), "folder": "", "etag": ""}
        for each in response.iterfind("{DAV:}propstat"):
            if " 200" in (each.findtext("{DAV:}status") or " 200"):
                is_folder = each.find("{DAV:}prop/{DAV:}resourcetype/{DAV:}collection") is not None
                entry["folder"] = "yes" if is_folder else entry["folder"]
                entry["etag"] = _tag(each.findtext("{DAV:}prop/{DAV:}getetag") or "") or entry["etag"]
        found.append(entry)
    yield from _pieces(found)


def _tag(text: str) -> str:
    """Write an entity tag as a header does: some servers list theirs without quotes; empty if invalid."""
    found = _ETAG.fullmatch(text.strip())
    return f'{found[1] or ""}"{found[2]}"' if found else ""


def _pieces(found: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    for start in range(0, len(found), _AT_ONCE):
        yield found[start : start + _AT_ONCE]


def _unpacked(data: bytes) -> bytes:
    unpack = zlib.decompressobj(31)
    try:
        whole = unpack.decompress(data, _MOST_UNPACKED)
    except zlib.error as error:
        raise Refusal("corrupted", "It is not compressed as stated.", details=str(error)) from error
    if unpack.unconsumed_tail or not unpack.eof:
        raise Refusal("too_large", "It is cut off, or larger than a sitemap may be.")
    return whole


def _parsed(data: bytes) -> Element:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Refusal("corrupted", "It is not XML.", details=str(error)) from error


def _local(element: Element) -> str:
    tag: Any = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""

"""In the child: web pages. An uploaded page is read whole; of a crawled one the main content, where it can be told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.containers import foreign, magic_of, mislabelled
from knowledge_mcp.readers.html_hidden import take_out_hidden
from knowledge_mcp.readers.html_main import main_content
from knowledge_mcp.readers.html_walk import parse_html, walk_html
from knowledge_mcp.readers.pieces import Piece, facts, hidden_piece, messages
from knowledge_mcp.readers.text import NotTextError, decode_text
from knowledge_mcp.support.sandbox_worker import Refusal

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

__all__ = ["MOST_BYTES", "page", "text_of"]

MOST_BYTES = 64_000_000
_WANTED = "a web page"
_META = {
    "author": "author",
    "date": "date",
    "dc.creator": "author",
    "dc.date": "date",
    "article:published_time": "date",
    "article:modified_time": "modified",
    "description": "description",
    "og:description": "description",
    "og:site_name": "site",
    "keywords": "keywords",
}


def text_of(path: str, wanted: str, *, markup: bool = False, most: int = MOST_BYTES) -> tuple[str, str]:
    """Return a text file's text, and the warning where its encoding was guessed; `markup` also refuses web pages, XML.

    Raises:
        Refusal: empty, too large, mislabelled, or of no encoding that can be told.
    """
    head = magic_of(path)
    what = foreign(head, markup=markup)
    if what:
        raise mislabelled(wanted, what)
    if Path(path).stat().st_size > most:
        raise Refusal("too_large", f"It holds more than {most // 1_000_000} MB.", suggestion="Split it.")
    try:
        decoded = decode_text(Path(path).read_bytes())
    except NotTextError as error:
        raise Refusal(
            "corrupted", f"It is not {wanted}: {error}", suggestion="Save it as UTF-8, or give it its right extension."
        ) from error
    return decoded.text, decoded.warning


def page(path: str, *, check: bool, uri: str = "") -> Iterator[dict[str, Any]]:
    """Yield a web page's messages; of one whose address begins with https:// those of its main content.

    Raises:
        Refusal: it is no web page, or empty, or more than can be read.
    """
    text, warning = text_of(path, _WANTED)
    root = parse_html(text)
    if check:
        if not any(str(words).strip() for words in root.itertext()):
            raise Refusal("empty", "The page has no text.")
        yield {"pages": None}
        return
    yield from messages(_pieces(root, text, warning, uri))


def _pieces(root: Element, text: str, warning: str, uri: str) -> Iterator[Piece]:
    from lxml import etree

    title, metadata = _described(root)
    warnings = [warning] if warning else []
    hidden = take_out_hidden(root)
    if uri.startswith("https://"):
        shown = etree.tostring(root, encoding="unicode", method="html") if hidden else text
        pieces, why = main_content(root, shown, list(walk_html(root, base=uri)), uri, title)
        if why:
            warnings.append(why)
        yield from pieces
    else:
        yield from walk_html(root)
    if hidden:
        yield hidden_piece(hidden)
    yield facts(title=title, metadata=metadata, warnings=warnings)


def _described(root: Element) -> tuple[str, dict[str, str]]:
    """Return the page's title, and what it says of itself."""
    found = next((element.text for element in root.iter("title", "{*}title")), "")
    metadata: dict[str, str] = {}
    for element in root.iter("meta", "{*}meta"):
        key = _META.get((element.get("name") or element.get("property") or "").lower())
        content = " ".join((element.get("content") or "").split())[:4000]
        if key and content:
            metadata.setdefault(key, content)
    language = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang")
    if language and re.fullmatch(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*", language):
        metadata["language"] = language
    return " ".join((found or "").split()), metadata

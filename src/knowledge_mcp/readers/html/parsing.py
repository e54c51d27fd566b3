"""Child process: HTML to a tree."""

from __future__ import annotations

import html
import re
from typing import Any

from knowledge_mcp.readers.html.completed import complete
from knowledge_mcp.readers.shared.containers import Element, refuse_crowded
from knowledge_mcp.support.sandbox_worker import Refusal

_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_XHTML = b"http://www.w3.org/1999/xhtml"


def parse_html(text: str) -> Element:
    """Parse HTML, even if it is invalid; well-formed XHTML is parsed as XML.

    Raises:
        Refusal: it is nested too deeply to be parsed without losing text.
    """
    from lxml import etree

    data = text.encode("utf-8", "replace")
    refuse_crowded(data)
    strict = _xhtml(text) if _XHTML in data[:2000] else None
    if strict is not None:
        complete(strict, parse_html)
        return strict
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True, recover=True
    )
    try:
        root: Any = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if "empty" in str(error).lower():
            raise Refusal("empty", "The page has no text.") from error
        raise Refusal("corrupted", "The page cannot be parsed.", details=str(error)[:300]) from error
    deep = [entry.message for entry in parser.error_log if "depth" in entry.message.lower()]
    if deep:
        raise Refusal("unsupported", "The page's elements are nested too deeply to be read.", details=deep[0])
    if root is None:
        raise Refusal("empty", "The page has no text.")
    found: Element = root
    complete(found, parse_html)
    return found


def _xhtml(text: str) -> Element | None:
    """Parse XHTML as XML, where empty elements close themselves; None if it is not well-formed."""
    from lxml import etree

    plain = _ENTITY.sub(_character, text)
    plain = re.sub(r"^\s*<\?xml[^>]*\?>", lambda match: "\n" * match.group().count("\n"), plain)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(plain.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None


def _character(match: re.Match[str]) -> str:
    name = match.group(1)
    return match.group() if name in _XML_ENTITIES else html.unescape(match.group())

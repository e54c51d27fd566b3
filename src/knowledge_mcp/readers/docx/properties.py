"""What a Word document says about itself: core, custom and application properties."""

from __future__ import annotations

import re

from knowledge_mcp.readers.docx.ooxml import Element, attribute, local, parse
from knowledge_mcp.readers.docx.package import Package

__all__ = ["read_properties", "sensible_title"]

_CORE = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "category": "category",
    "contentStatus": "status",
    "created": "created",
    "modified": "modified",
    "lastModifiedBy": "last_modified_by",
    "revision": "revision",
    "version": "version",
    "identifier": "identifier",
    "language": "language",
}
_MAX_VALUE = 2_000
_MAX_PROPERTIES = 200
_NO_TITLE = re.compile(
    r"(?:microsoft word - .*|document ?\d*|untitled.*|.*\.(?:docx?|dotx?|odt|rtf)|word document|template|title)",
    re.IGNORECASE,
)


def read_properties(package: Package) -> dict[str, str]:
    """Read all properties as flat text; custom ones (names in lower case, blanks as "_") win over core ones.

    Raises:
        lxml.etree.XMLSyntaxError: a properties part is damaged.
    """
    found: dict[str, str] = {}
    core = package.member("docProps/core.xml")
    for element in parse(core) if core else ():
        _keep(found, _CORE.get(local(element), ""), element.text)
    extended = package.member("docProps/app.xml")
    for element in parse(extended) if extended else ():
        _keep(found, {"Company": "company"}.get(local(element), ""), element.text)
    custom = package.member("docProps/custom.xml")
    for element in list(parse(custom))[:_MAX_PROPERTIES] if custom else ():
        name = re.sub(r"[^a-z0-9]+", "_", (attribute(element, "name") or "").lower()).strip("_")
        _keep(found, name, _text_of(element))
    if "modified" in found:
        found.setdefault("date", found["modified"][:10])
    return found


def sensible_title(title: str | None) -> str:
    """Return a title property unless it is one that an application made up."""
    words = " ".join((title or "").split())
    return "" if _NO_TITLE.fullmatch(words) else words


def _keep(found: dict[str, str], name: str, text: str | None) -> None:
    if name and text and text.strip():
        found[name] = " ".join(text.split())[:_MAX_VALUE]


def _text_of(element: Element) -> str:
    return " ".join(str(piece) for piece in element.itertext())

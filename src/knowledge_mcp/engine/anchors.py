"""Where the anchor of a link leads inside a document: what stands behind the "#" of `guide.html#valves`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from knowledge_mcp.engine.held import HeldDocument
from knowledge_mcp.engine.placing import section_at
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.structure import OutlineEntry

__all__ = ["find_anchor"]

_PAGE = re.compile(r"page=(\d{1,6})(?:&.*)?", re.IGNORECASE)
_DIRECTIVE = re.compile(r":~:.*", re.DOTALL)
_LEAST = 3
"""Letters and digits from which on a heading is told by them alone."""


def find_anchor(document: HeldDocument, anchor: str) -> tuple[Span, OutlineEntry | None] | None:
    """Find what an anchor names, and the section that it stands in; None where there is nothing of the name.

    First come the names that the source itself gives to its places, then a page ("page=12"), then headings: by the
    words as GitHub writes them ("5-scope", "notes-1" for the second of its name), or by their letters and digits alone
    where only one heading has them. What begins with a heading is the whole section, else the passage up to the next
    empty line.
    """
    name = " ".join(_DIRECTIVE.sub("", unquote(anchor)).split())
    if not name:
        return None
    given = {each.name: each.place for each in document.structure.anchors}
    place = given.get(name)
    if place is None:
        folded = name.casefold()
        place = next((each.place for each in document.structure.anchors if each.name.casefold() == folded), None)
    if place is not None:
        return _at(document, place)
    if match := _PAGE.fullmatch(name):
        wanted = int(match.group(1))
        page = next((each for each in document.structure.pages if each.number == wanted), None)
        return None if page is None else (page.span, section_at(document, page.span.start))
    section = _headed(document.structure.sections, name)
    return None if section is None else (section.span, section)


def _at(document: HeldDocument, place: int) -> tuple[Span, OutlineEntry | None]:
    section = section_at(document, place)
    if section is not None and section.span.start == place:
        return section.span, section
    end = section.span.end if section is not None else len(document.text)
    below = (entry.span.start for entry in document.structure.sections if place < entry.span.start < end)
    end = min(below, default=end)
    stop = document.text.find("\n\n", place, end)
    return Span(place, end if stop < 0 else stop), section


def _headed(sections: Sequence[OutlineEntry], name: str) -> OutlineEntry | None:
    seen: dict[str, int] = {}
    folded = name.casefold()
    for entry in sections:
        slug = _slug(entry)
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        if folded == (f"{slug}-{count}" if count else slug):
            return entry
    wanted = _letters(name)
    if len(wanted) < _LEAST:
        return None
    readings: tuple[Callable[[OutlineEntry], str], ...] = (_label, lambda entry: entry.title)
    for reading in readings:
        found = [entry for entry in sections if _letters(reading(entry)) == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _label(entry: OutlineEntry) -> str:
    return f"{entry.number} {entry.title}" if entry.number else entry.title


def _slug(entry: OutlineEntry) -> str:
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", _label(entry).casefold()).strip())


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())

"""Child process: prepare documents of the IETF in XML (RFC 7749 and 7991) to be read like other documents in XML.

What readers see but the file leaves to the processor is written into the tree: section numbers ("1.2" in the middle,
"A.1" at the back), texts of references, cited works. Elements of the older version are renamed.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from knowledge_mcp.readers.data.prose import text_without_notes
from knowledge_mcp.readers.shared.containers import Element
from knowledge_mcp.readers.shared.pieces import Piece, facts

_ENTITIES = {"&nbhy;": "\u2011", "&wj;": "\u2060", "&zwsp;": "\u200b"}
"""Entities that documents of the IETF declare and HTML does not have."""
_COUNTED = ("numbers", "letters", "format")
"""How the styles of numbered lists begin in the older version."""


def is_rfc(root: Element) -> bool:
    """Return whether an XML file is such a document: it has a front and a middle."""
    return root.tag == "rfc" and root.find("front") is not None and root.find("middle") is not None


def rfc_facts(root: Element) -> Piece:
    """Return title, designation, authors and date."""
    authors = [each.get("fullname") or _words(each.find("organization")) for each in root.iterfind("front/author")]
    date = root.find("front/date")
    day = [date.get(part) or "" for part in ("day", "month", "year")] if date is not None else []
    known = {
        "designation": f"RFC {root.get('number')}" if root.get("number") else root.get("docName") or "",
        "author": ", ".join(filter(None, authors)),
        "date": " ".join(filter(None, day)),
    }
    metadata = {name: value for name, value in known.items() if value}
    return facts(title=_words(root.find("front/title")), metadata=metadata)


def complete_rfc(root: Element) -> None:
    """Write into a document what a processor would add to it."""
    from lxml import etree

    shown = _complete_sections(root)
    for each in list(root.iter("reference")):
        _cite(each)
    etree.strip_elements(root, "iref", "cref", with_tail=False)
    for each in list(root.iter(etree.Entity)):
        _resolve(each)
    for each in root.iter("xref"):
        if not text_without_notes(each):
            each.text = _led_to(each, shown)
        if each.get("target") not in shown:
            each.attrib.pop("target", None)
    for each in root.iter("eref"):
        each.text = each.text or ("" if len(each) else each.get("target"))
    for each in list(root.iter("list")):
        _rename_list(each)
    for each in list(root.iter("texttable")):
        _rename_table(each)


def _complete_sections(root: Element) -> dict[str, str]:
    """Write titles and numbers; return the texts of references to sections, by the sections' names."""
    for each in root.findall("front/title"):  # of everything that follows
        root.insert(0, each)
    for each in [each for each in root.iterfind("front/*") if each.tag not in {"abstract", "note"}]:
        _remove(each)
    for each in root.iterfind("front/*"):
        _entitle(each, _title(each) or ("Abstract" if each.tag == "abstract" else "Note"))
    shown: dict[str, str] = {}
    for part in root.iterchildren("middle", "back"):
        shown |= dict(_number_sections(part, "", is_back=part.tag == "back"))
    return shown


def _number_sections(parent: Element, above: str, *, is_back: bool) -> Iterator[tuple[str, str]]:
    """Write numbers before titles; yield the names of sections, each with the text of a reference to it."""
    count = 0
    for each in parent.iterchildren("section", "references"):
        number, title = "", _title(each)
        if each.tag == "section" and each.get("numbered") != "false":
            count += 1
            number = f"{above}.{count}" if above else chr(ord("A") + (count - 1) % 26) if is_back else str(count)
        if each.tag == "references":
            title = title or "References"
        elif each.get("anchor"):
            yield each.get("anchor", ""), f"{'Appendix' if is_back else 'Section'} {number}" if number else title
        label = f"Appendix {number}." if is_back and not above and number else number
        _entitle(each, f"{label} {title}".strip() or "Untitled")
        yield from _number_sections(each, number, is_back=is_back)


def _entitle(element: Element, words: str) -> None:
    for old in element.findall("name"):
        _remove(old)
    element.attrib.pop("title", None)
    name: Any = element.makeelement("name", {})  # lxml's stubs do not allow setting its line
    name.text, name.sourceline = words, element.sourceline
    element.insert(0, name)


def _cite(reference: Element) -> None:
    """Turn a cited work into one line."""
    series = [f"{info.get('name')} {info.get('value')}" for info in reference.iter("seriesInfo")]
    named = [_words(reference.find("front/title")), *series, reference.get("target") or ""]
    for each in list(reference):
        reference.remove(each)
    reference.attrib.pop("target", None)
    reference.tag, reference.text = "t", f"[{reference.get('anchor')}] {', '.join(filter(None, named))}"


def _resolve(entity: Any) -> None:
    """Replace an entity by its text, if it is well known."""
    words = _ENTITIES.get(entity.text) or html.unescape(entity.text)
    above, before = entity.getparent(), entity.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + words + (entity.tail or "")
    else:
        above.text = (above.text or "") + words + (entity.tail or "")
    above.remove(entity)


def _led_to(element: Element, shown: dict[str, str]) -> str:
    """Return the text of a reference without words: the section that it leads to, or the document."""
    target, section = element.get("target") or "", element.get("section") or ""
    cited = shown.get(target, f"[{target}]")
    if not section:
        return cited
    return section if element.get("sectionFormat") == "bare" else f"Section {section} of {cited}"


def _rename_list(element: Element) -> None:
    hanging = any(each.get("hangText") for each in element)
    element.tag = "dl" if hanging else "ol" if element.get("style", "").startswith(_COUNTED) else "ul"
    for each in list(element.iterchildren("t")):
        each.tag = "dd" if hanging else "li"
        if hanging:
            term: Any = each.makeelement("dt", {})
            term.text, term.sourceline = each.get("hangText", "").rstrip(":"), each.sourceline
            each.addprevious(term)


def _rename_table(element: Element) -> None:
    """Make rows of the header and cells of an older table."""
    heads, cells = element.findall("ttcol"), element.findall("c")
    width = max(len(heads), 1)
    element.tag = "table"
    for row in (heads, *(cells[at : at + width] for at in range(0, len(cells), width))):
        line: Any = element.makeelement("tr", {})
        line.sourceline = row[0].sourceline if row else element.sourceline
        for each in row:
            each.tag = "th" if each.tag == "ttcol" else "td"
            line.append(each)
        element.append(line)


def _remove(element: Element) -> None:
    above = element.getparent()
    if above is not None:
        above.remove(element)


def _title(element: Element) -> str:
    return _words(element.find("name")) or " ".join((element.get("title") or "").split())


def _words(element: Element | None) -> str:
    return text_without_notes(element) if element is not None else ""

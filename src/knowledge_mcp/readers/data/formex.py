"""Child process: prepare acts of the European Union in XML (Formex 4) to be read like other laws in XML.

Numbers and titles of chapters and articles are made those of their parts, and quotation marks, which are elements, are
written as characters. Source: the schema of the Publications Office.
"""

from __future__ import annotations

import re

from knowledge_mcp.readers.shared.containers import Element

_MARK = re.compile(r"(?:00[2-7AB]|20[0-4]|300)[0-9A-F]")
"""Code of a quotation mark, in hexadecimal."""
_RENAMED = {
    **dict.fromkeys(("TI.ART", "NO.PARAG", "NO.P"), "num"),
    **dict.fromkeys(("VISA", "GR.CONSID.INIT", "PREAMBLE.INIT", "PREAMBLE.FINAL"), "p"),
    **dict.fromkeys(("FT", "REF.DOC", "REF.DOC.OJ", "DATE"), "span"),
    "STI.ART": "heading",
    "PARAG": "paragraph",
    "NP": "point",
    "NOTE": "fn",
    "QUOT.S": "quotedstructure",
    "TBL": "table",
    "ROW": "tr",
    "CELL": "td",
}
_LOOKS = {"SUB": "sub", "SUP": "sup", "BOLD": "b", "ITALIC": "i"}
_WORDS = ("ALINEA", "TXT")
_INSIDE = ("P", "LIST", "DLIST", "TBL", "QUOT.S", "NP")
"""Make what contains words a container."""
_ACTS = ("ACT", "CONS.ACT")


def is_formex(root: Element) -> bool:
    """Return whether an XML file is such an act: its articles have titles of their own."""
    return next(root.iter("TI.ART"), None) is not None


def complete_formex(root: Element) -> None:
    """Give the elements of an act the names of those in other laws, and write the marks that they stand for."""
    from lxml import etree

    etree.strip_elements(root, "BIB.INSTANCE", with_tail=False)
    for each in list(root.iter("QUOT.START", "QUOT.END")):
        code = each.get("CODE") or ""
        _write(each, chr(int(code, 16)) if _MARK.fullmatch(code) else '"')
    for each in list(root.iter("TITLE")):
        _divide(each)
    for each in root.iter("*"):
        each.tag = _name_of(each)


def _write(element: Element, words: str) -> None:
    """Replace an element with words."""
    above, before = element.getparent(), element.getprevious()
    if above is None:
        return
    words += element.tail or ""
    if before is None:
        above.text = (above.text or "") + words
    else:
        before.tail = (before.tail or "") + words
    above.remove(element)


def _divide(title: Element) -> None:
    """Make "CHAPTER I" and its title, in one element, the number and the title of their part."""
    above, first, second = title.getparent(), title.find("TI"), title.find("STI")
    if above is None or first is None or above.tag in _ACTS:
        title.tag = "doctitle"
        return
    place = above.index(title)
    above.remove(title)
    for part, name in ((second, "heading"), (first, "heading" if second is None else "num")):
        if part is not None:
            part.tag = name
            for line in part.iter("P"):
                line.tag = "span"
            above.insert(place, part)


def _name_of(element: Element) -> str:
    """Return the new name of an element; those of its children are still the old ones."""
    tag = str(element.tag)
    if tag == "HT":
        return _LOOKS.get(element.get("TYPE") or "", "span")
    if tag in _WORDS:
        return "content" if any(each.tag in _INSIDE for each in element) else "p"
    if tag in {"LIST", "ITEM"}:  # numbers of items make them items
        is_numbered = next(element.iter("NP"), None) is not None
        return "div" if is_numbered else {"LIST": "ul", "ITEM": "li"}[tag]
    return _RENAMED.get(tag, tag.lower())

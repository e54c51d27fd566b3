"""Child process: whether an XML file is a document, and its title."""

from __future__ import annotations

from collections.abc import Iterator

from knowledge_mcp.readers.data import vocabulary as names
from knowledge_mcp.readers.shared.containers import Element, local_name, without_namespace

BREAKS = frozenset({"br", "lb", "eol"})
MOST_TITLE = 300
_LEAST_SHARE = 0.5
"""Share of a document's letters that must be in paragraphs; in data they are a few remarks."""
_LEAST_PARAGRAPHS, _LEAST_WORDS = 3, 5
"""Fewest paragraphs of a document, and fewest words of a sentence in them."""
_UNSAID = names.NOTES_BELOW | names.DATA_ABOUT
_APART = names.PARAGRAPHS | BREAKS
_HIGH = 3
"""Deepest level of the title of a whole document."""


def is_prose(root: Element) -> bool:
    """Return whether it is a document, not data: most letters are in paragraphs, and several of these are sentences.

    Data may have paragraphs too; their subjects are in attributes, which a page would lose.
    """
    whole = inside = paragraphs = named = 0
    allowed = names.PARAGRAPHS | names.SENTENCES
    allowed |= names.WEAK_PARAGRAPHS if _has_numbered_parts(root) else frozenset[str]()
    stack: list[tuple[Element, bool]] = [(root, False)]
    while stack:
        element, is_inside = stack.pop()
        name = name_of(element)
        if name in names.DATA_ABOUT:
            continue
        named += _is_named_by_attributes(element)
        if not is_inside and name in allowed:
            is_inside = True
            paragraphs += len(text_without_notes(element).split()) >= _LEAST_WORDS
        is_inside = is_inside or name in names.TABLES or name in names.CODE
        for words in (element.text, *(child.tail for child in element)):
            letters = len("".join((words or "").split()))
            whole += letters
            inside += letters if is_inside else 0
        stack.extend((child, is_inside) for child in element if isinstance(child.tag, str))
    return paragraphs >= max(_LEAST_PARAGRAPHS, named) and inside >= _LEAST_SHARE * whole


def _is_named_by_attributes(element: Element) -> bool:
    """Recognise `<set-parameter param-id="ac-1">` and `<prop name="label" value="AC-1"/>`, as in OSCAL."""
    is_empty = not len(element) and not (element.text or "").strip()
    return (is_empty and "value" in element.attrib) or any(key.endswith("-id") for key in element.attrib)


def _has_numbered_parts(root: Element) -> bool:
    """Return whether numbered parts are nested, as in laws: records of data have numbers too, but side by side."""
    numbered = {element.getparent() for element in root.iter("*") if name_of(element) in names.NUMBERS}
    return any(above in numbered for part in numbered if part is not None for above in part.iterancestors())


def title_of(root: Element) -> str:
    """Return a document's own title; empty if only its first heading has one."""
    language = next((value for key, value in root.attrib.items() if without_namespace(key) == "lang"), "")
    for name in ("doctitle", "shorttitle", "titlestmt", "title-wrap"):
        found = [element for element in root.iter("*") if name_of(element) == name]
        found.sort(key=lambda element: language not in element.attrib.values())
        for element in found:
            inner = next((each for each in element.iter("*") if name_of(each) in {"full", "main"}), element)
            words = text_without_notes(inner)
            if words and len(words) <= MOST_TITLE:
                return words
    for element in root.iter("*"):
        if name_of(element) == "title" and sum(1 for _ in element.iterancestors()) <= _HIGH:
            return text_without_notes(element)
    subject = next((each for each in root.iter("*") if name_of(each) == "subject"), None)
    return text_without_notes(subject) if subject is not None else ""


def name_of(element: Element) -> str:
    """Return the local name of an element in lower case, empty for anything else."""
    return local_name(element).lower() if isinstance(element.tag, str) else ""


def elements_of(element: Element) -> Iterator[Element]:
    """Return the child elements of an element."""
    return (child for child in element if isinstance(child.tag, str))


def text_without_notes(element: Element) -> str:
    """Join the words of an element without its notes."""
    parts: list[str] = []
    stack: list[str | Element] = [element]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            parts.append(top)
        elif top is element or name_of(top) not in _UNSAID:
            inside: list[str | Element] = [top.text or ""]
            for child in top:
                apart = " " if name_of(child) in _APART else ""
                inside += [apart, child, apart, child.tail or ""]
            stack.extend(reversed(inside))
    return " ".join("".join(parts).split())


def has_words(element: Element) -> bool:
    """Return whether an element has words outside its child elements."""
    return any((words or "").strip() for words in (element.text, *(child.tail for child in element)))

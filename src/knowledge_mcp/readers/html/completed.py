"""Child process: write content of a page as words that its tree shows in other ways: equations, ruby, frames.

Links of a place to itself, which are there to be copied ("¶"), are removed. An equation of MathML would otherwise run
into one number ("12" for a half), a ruby annotation into its word, and a page inside the page is in an attribute.
Superscript numbers that lead to notes become marks: "mm/s" with the note 2 is not "mm/s²".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from knowledge_mcp.readers.html.tables import MARKER
from knowledge_mcp.readers.shared.containers import Element, local_name
from knowledge_mcp.readers.shared.equations import write_equations
from knowledge_mcp.readers.shared.numbering import whole_number

EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
NOTE_MARK = "[^"
"""How the mark of a note begins, in its text and in references to it, as in Markdown."""
_NUMBER = re.compile(r"\s*(?:\d{1,3}|[a-z]|[*†‡§]{1,3})\s*")
_OWN_MARK = re.compile(r"\s*(?:\[?\d{1,3}[.)\]]?|[\^↑↩]\ufe0e?)\s*")
_HEADING = re.compile("h[1-6]")
_BLOCKS = ("li", "p", "dd", "aside", "div")


def is_note_mark(element: Element) -> bool:
    """Return whether a link declares itself as a reference to a note, which some stylesheet raises."""
    return _name(element) == "a" and "noteref" in f"{element.get(EPUB_TYPE) or ''} {element.get('role') or ''}"


def mark_notes(root: Element) -> None:
    """Rewrite superscript numbers and letters that link to a place of the page as marks of notes.

    The mark is also put before the note. A note that has the same letter itself stays as it is.
    """
    links = [each for each in root.iter("a", "{*}a") if (each.get("href") or "").startswith("#")]
    raised = [(each, number) for each in links if _is_raised(each) and (number := _number_of(each))]
    if not raised:
        return
    places = {name: each for each in root.iter() for key in ("id", "name") if (name := each.get(key))}
    for link, number in raised:
        target = places.get((link.get("href") or "")[1:])
        note = _note_at(target) if target is not None else None
        if note is None or any(each is note or _is_note(each) for each in link.iterancestors()):
            continue  # it is the link back
        if not number.isdigit() and _text_of(note).lstrip(" [(").startswith(number):
            continue
        mark = f"{NOTE_MARK}{number}]"
        if note.get(MARKER) is None:
            _begin_with(note, mark)
        if note.get(MARKER) == mark:
            link[:] = []
            link.text = mark


def _number_of(link: Element) -> str:
    """Return the number of a note that a link shows, "" for anything else; a work in a bibliography is in brackets."""
    words = _text_of(link).strip()
    words = words.strip("[]") if is_note_mark(link) else words
    return words.strip() if _NUMBER.fullmatch(words) else ""


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _text_of(element: Element) -> str:
    return "".join(map(str, element.itertext()))


def _is_note(element: Element) -> bool:
    return (element.get(MARKER) or "").startswith(NOTE_MARK)


def _is_raised(link: Element) -> bool:
    above = link.getparent()
    inside = [each for each in link.iterdescendants() if _name(each) == "sup"]
    return is_note_mark(link) or (above is not None and _name(above) == "sup") or bool(inside)


def _note_at(target: Element) -> Element | None:
    """Return the list item or paragraph that a link leads to, or the first paragraph inside its target."""
    for each in (target, *target.iterancestors()):
        if _name(each) in {"li", "p", "dd"}:
            return each
        if each is not target and _name(each) in _BLOCKS:
            break
    return next((each for each in target.iterdescendants() if _name(each) in {"li", "p"}), None)


def _begin_with(note: Element, mark: str) -> None:
    """Put a mark before a note, in place of its own, which may be a link back."""
    note.set(MARKER, mark)
    label = note.getprevious()
    if label is not None and _name(label) == "span" and _OWN_MARK.fullmatch(_text_of(label)):
        label.clear(keep_tail=True)
    own = next((each for each in note.iterdescendants() if each.text and each.text.strip()), None)
    inside = note if note.text and note.text.strip() else own
    if inside is None:
        return
    if inside is own and _OWN_MARK.fullmatch(inside.text or ""):
        inside.text = mark
        inside.tail = f" {(inside.tail or '').lstrip()}"
    else:
        inside.text = f"{mark} {(inside.text or '').lstrip()}"


_MOST_FRAMES = 50
"""Most pages within a page; documents have only a few."""


def complete(root: Element, parse: Callable[[str], Element]) -> None:
    """Write equations, ruby and pages within the page in place, and headings by role; `parse` parses such a page."""
    write_equations(root)
    for ruby in root.iter("ruby", "{*}ruby"):
        names = [local_name(part).lower() for part in ruby.iter() if isinstance(part.tag, str)]
        for reading in ruby.iter("rt", "{*}rt") if "rp" not in names else ():
            words = "".join(map(str, reading.itertext()))
            for part in list(reading):
                reading.remove(part)
            reading.text = f"({words})"
    for frame in list(root.iter("iframe", "{*}iframe"))[:_MOST_FRAMES]:
        page = frame.get("srcdoc", "")
        if page.strip():
            tail = frame.tail
            frame.clear()
            frame.tag, frame.tail = "div", tail
            frame.extend(list(next(parse(page).iter("body", "{*}body"), ())))
    for part in list(root.iter("*")):
        if (part.get("role") or "").lower() == "heading" and _HEADING.fullmatch(_name(part)) is None:
            part.tag = f"h{min(max(whole_number(part.get('aria-level'), 2), 1), 6)}"
    for link in root.iter("a", "{*}a"):
        if _leads_to_itself(link):
            link.clear(keep_tail=True)


def _leads_to_itself(link: Element) -> bool:
    """Return whether a link without letters or digits leads to an element that contains it or is next to it."""
    name = (link.get("href") or "")[1:]
    if not name or not (link.get("href") or "").startswith("#"):
        return False
    above = link.getparent()
    if above is None or len(link) or any(map(str.isalnum, link.text or "")):
        return False
    beside = [each for each in (link.getprevious(), link.getnext()) if each is not None]
    return any(each.get("id") == name for each in (link, *beside, above, *above.iterancestors()))

"""Comments in web pages that Google Docs exports: raised marks "[a]" in the text, and the comments below it."""

from __future__ import annotations

import re

from knowledge_mcp.readers.shared.containers import Element, local_name, words_of
from knowledge_mcp.readers.shared.hidden import remark

_MARK, _NOTE = re.compile(r"cmnt_ref\d{1,6}"), re.compile(r"cmnt\d{1,6}")
"""Ids of the mark of a comment, and of the comment that leads back to it."""
_LABEL = re.compile(r"\[[a-z]{1,4}\]")


def take_comments(root: Element) -> list[str]:
    """Take the comments and their marks out of a page; return each as one line."""
    links = {each.get("id") or "": each for each in root.iter("a", "{*}a")}
    marks = [each for name, each in links.items() if _MARK.fullmatch(name) and _leads_to(each, _NOTE)]
    notes = [each for name, each in links.items() if _NOTE.fullmatch(name) and _leads_to(each, _MARK)]
    others = {*marks, *notes} if marks and notes else set[Element]()
    found: list[str] = []
    for note in notes if others else ():
        block = _block_of(note, others)
        found.append(remark("", None, "comment", text=_LABEL.sub("", words_of(block), count=1).strip()))
        block.clear(keep_tail=True)
    for mark in marks if others else ():
        above = mark.getparent()
        (above if above is not None and local_name(above).lower() == "sup" else mark).clear(keep_tail=True)
    return found


def _leads_to(link: Element, names: re.Pattern[str]) -> bool:
    return names.fullmatch((link.get("href") or "").removeprefix("#")) is not None


def _block_of(note: Element, others: set[Element]) -> Element:
    """Return the largest element around a comment that has no other comment and no mark."""
    block = note
    for above in note.iterancestors():
        is_shared = any(each in others for each in above.iter("a", "{*}a") if each is not note)
        if is_shared or local_name(above).lower() in {"body", "html"}:
            break
        block = above
    return block

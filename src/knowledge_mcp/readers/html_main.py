"""In the child: the main content of a crawled page, without what stands around it on every page of its site.

trafilatura tells which words are the content, but what it gives of them is often broken up: code line by line, lists
flattened. So its words only choose: the smallest part of the page that holds nearly all of them is read from the page
itself, less the menus in it. Where no such part is found its own answer is taken.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from knowledge_mcp.readers.html_walk import html_pieces, walk_html
from knowledge_mcp.readers.pieces import Piece, heading
from knowledge_mcp.support.distribution import install_command

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

__all__ = ["main_content"]

_LEAST_WORDS = 40
_LEAST_SHARE = 0.1
_HELD = 0.9
_MOST_TEXT, _MOST_DEPTH = 2_000_000, 150
_AROUND = frozenset({"nav", "aside", "footer", "form", "dialog"})
_PARTS = frozenset({"div", "ul", "ol", "section", "table", "header", "p", "menu"})
_MENU_WORDS, _MENU_LINKS, _MENU_FOREIGN = 6, 0.6, 0.5


def main_content(root: Element, text: str, whole: list[Piece], base: str, title: str) -> tuple[list[Piece], str]:
    """Return the blocks of the main content, and nothing; or those of the whole page, and why.

    Args:
        root: the page; parts of it are taken out.
        text: the page's source.
        whole: the blocks of the whole page.
        base: its address.
        title: what it calls itself.
    """
    try:
        import trafilatura
    except ImportError:
        return whole, (
            "The main content was not told from the rest of the page, for trafilatura is not installed "
            f"({install_command('office')}); the whole page was kept."
        )
    try:
        got = trafilatura.extract(
            text,
            url=base,
            output_format="html",
            include_links=True,
            include_tables=True,
            include_formatting=True,
            include_comments=False,
            favor_recall=True,
        )
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError):
        got = None
    pieces = list(html_pieces(got, base=base)) if got else []
    words = _words(pieces)
    if words.total() < _LEAST_WORDS or words.total() < _LEAST_SHARE * _words(whole).total():
        return whole, "The main content could not be told from the rest of the page; the whole page was kept."
    first = next((_said(element) for element in root.iter("h1", "{*}h1")), "") or title
    part = _part(root, words)
    if part is not None:
        read = list(walk_html(part, base=base))
        if (_words(read) & words).total() >= _HELD * words.total():
            pieces = read
    return _headed(pieces, first), ""


def _headed(pieces: list[Piece], first: str) -> list[Piece]:
    """Begin with the page's first heading, which belongs to its content wherever it stands."""
    if not first or any(" ".join(each.get("heading", "").split()) == first for each in pieces):
        return pieces
    return [heading(first, 1), *pieces]


def _part(root: Element, wanted: Counter[str]) -> Element | None:
    """Find the smallest part that holds nearly all words, and take the menus out of it; None in a page too large."""
    if sum(len(str(words)) for words in root.itertext()) > _MOST_TEXT:
        return None
    part = next(root.iter("body", "{*}body"), root)
    for _ in range(_MOST_DEPTH):
        inner = next((child for child in part if _share(child, wanted) >= _HELD), None)
        if inner is None or _name(inner) in {"p", "table", "ul", "ol", "pre", "dl"}:
            break
        part = inner
    else:
        return None
    for element in list(part.iter("*")):
        name = _name(element)
        if element is not part and (name in _AROUND or (name in _PARTS and _is_menu(element, wanted))):
            element.clear(keep_tail=True)
    return part


def _is_menu(element: Element, wanted: Counter[str]) -> bool:
    """Tell a list of links that the main content knows little of."""
    linked = sum(len(_said(link).split()) for link in element.iter("a", "{*}a"))
    if linked < _MENU_WORDS:
        return False
    words = Counter(_said(element).split())
    return linked >= _MENU_LINKS * words.total() and (words - wanted).total() >= _MENU_FOREIGN * words.total()


def _share(element: Element, wanted: Counter[str]) -> float:
    return (Counter(_said(element).split()) & wanted).total() / wanted.total()


def _words(pieces: list[Piece]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for each in pieces:
        counted.update(word for word in (each.get("text") or each.get("heading", "")).split() if word.strip("|-•"))
    return counted


def _said(element: Element) -> str:
    if not isinstance(element.tag, str) or _name(element) in {"script", "style", "template", "noscript"}:
        return ""
    return " ".join(" ".join(str(words) for words in element.itertext()).split())


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""

"""Child process: web pages. Uploaded pages are read completely, crawled ones by their main content, if it is found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from knowledge_mcp.language.titles import without_site
from knowledge_mcp.readers.html.contents import contents_of
from knowledge_mcp.readers.html.hidden import take_out_hidden
from knowledge_mcp.readers.html.lines import source_line
from knowledge_mcp.readers.html.parsing import parse_html
from knowledge_mcp.readers.html.remarks import take_comments
from knowledge_mcp.readers.html.walk import html_pieces, walk_html
from knowledge_mcp.readers.shared.containers import Element, local_name, words_of
from knowledge_mcp.readers.shared.hidden import COMMENTS, comments_left_out, noted
from knowledge_mcp.readers.shared.pieces import Piece, facts, heading, hidden_piece, messages
from knowledge_mcp.readers.shared.text import text_of
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

_UNSAID = tuple(f"{space}{name}" for name in ("script", "style", "template", "noscript") for space in ("", "{*}"))
_LEAST_WORDS = 40
_LEAST_SHARE = 0.1
_COVERED_SHARE = 0.9
_LEFT_BEHIND = 5
"""Words of the main content that may remain outside the part that is read: a breadcrumb trail, but not a sentence."""
_MOST_TEXT, _MOST_ELEMENTS = 2_000_000, 10_000
"""Limits for guessing the main content: trafilatura takes 15 s for 10,000 short paragraphs, and quadratic time; of
longer texts it loses the headings. Larger pages are read completely, except for what their markup calls menus, headers
and footers.
"""
_AROUND = frozenset({"nav", "form", "dialog"})
_PARTS = frozenset({"aside", "div", "footer", "header", "menu", "ol", "p", "section", "table", "ul"})
_AROUND_ROLES = frozenset({"banner", "contentinfo", "navigation", "search"})
_AROUND_NAMES = frozenset(
    "breadcrumb breadcrumbs footer menu nav navbar navigation navpath site-footer site-header sidebar sphinxsidebar"
    " related topnav".split()
)
_MOST_NAMES = 500
_MENU_WORDS, _MENU_LINKS, _MENU_FOREIGN = 6, 0.6, 0.5


def main_content(root: Element, base: str, title: str) -> tuple[list[Piece], str]:
    """Return the blocks of the main content, and a warning about the rest of the page, empty if there is none.

    Args:
        root: the page; parts of it are removed.
        base: its address.
        title: its own title.
    """
    whole = _words(list(walk_html(root, base=base))).total()
    part = _marked(root)
    headings = [words_of(each, " ") for tree in (part, root) if tree is not None for each in tree.iter("h1", "{*}h1")]
    first = next(iter(headings), "") or title
    if part is not None:
        counts = _word_counts(part)
        _take_out(each for each in part.iter("*") if each is not part and _is_around_main(each, *counts[each]))
        pieces, why = list(walk_html(part, base=base)), ""
    else:
        _take_out(root.iter("nav", "{*}nav"))
        pieces, why = _guessed(root, base)
    left = whole - _words(pieces).total()
    pieces = pieces if why else _headed(pieces, first)
    return pieces, why or (_left_out(left) if left > 0 else "")


def _marked(root: Element) -> Element | None:
    """Return the single element that the page marks as its main content; None if most words are outside it."""
    outermost = _outermost(
        element
        for element in root.iter("*")
        if local_name(element).lower() == "main" or (element.get("role") or "").lower() == "main"
    )
    if len(outermost) != 1:
        return None
    body = next(root.iter("body", "{*}body"), root)
    beside = sum(_word_count(element) for element in _surroundings(body) if outermost[0] not in element.iter("*"))
    inside = _word_count(outermost[0])
    return outermost[0] if inside and 2 * inside >= _word_count(body) - beside else None


def _is_around_main(element: Element, words: int, linked: int) -> bool:
    """Return whether an element of the main content is not content: navigation, dialogs, lists of links named so."""
    name, role = local_name(element).lower(), (element.get("role") or "").lower()
    if name in {"nav", "dialog"} or role in _AROUND_ROLES:
        return True
    return name in _PARTS and linked >= _MENU_LINKS * words and _is_called_around(element)


def _guessed(root: Element, base: str) -> tuple[list[Piece], str]:
    """Return the blocks of the main content of an unmarked page; all blocks, and a warning, if it is not found."""
    from lxml import etree

    if sum(1 for _ in root.iter()) > _MOST_ELEMENTS or sum(len(str(words)) for words in root.itertext()) > _MOST_TEXT:
        _take_out_surroundings(root)
        return list(walk_html(root, base=base)), ""
    whole = list(walk_html(root, base=base))
    try:
        import trafilatura
    except ImportError:
        return whole, (
            "The main content was not separated from the rest of the page, because trafilatura is not installed "
            f"({install_command('office')}); the whole page was kept."
        )
    try:
        got = trafilatura.extract(
            etree.tostring(root, encoding="unicode", method="html"),
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
        return whole, "The main content could not be separated from the rest of the page; the whole page was kept."
    read = list(walk_html(_part(root, words), base=base))
    return (read if (_words(read) & words).total() >= _COVERED_SHARE * words.total() else pieces), ""


def _headed(pieces: list[Piece], first: str) -> list[Piece]:
    """Begin with the page's first heading, which belongs to its content wherever it is."""
    if not first or any(" ".join(each.get("heading", "").split()) == first for each in pieces):
        return pieces
    return [heading(first, 1), *pieces]


def _part(root: Element, expected: Counter[str]) -> Element:
    """Return the smallest part that contains the words, without the menus in it."""
    part = next(root.iter("body", "{*}body"), root)
    found = Counter(words_of(part, " ").split()) & expected
    while True:
        inside = ((child, Counter(words_of(child, " ").split()) & expected) for child in part)
        child, inner = next((each for each in inside if (found - each[1]).total() < _LEFT_BEHIND), (part, found))
        if child is part or local_name(child).lower() in {"p", "table", "ul", "ol", "pre", "dl"}:
            break
        part, found = child, inner
    for element, (words, linked) in reversed(_word_counts(part).items()):
        name = local_name(element).lower()
        if element is not part and (name in _AROUND or (name in _PARTS and _is_menu(element, words, linked, expected))):
            element.clear(keep_tail=True)
    return part


def _is_menu(element: Element, words: int, linked: int, expected: Counter[str]) -> bool:
    """Return whether an element is a list of links that are mostly not in the main content."""
    if linked < _MENU_WORDS or linked < _MENU_LINKS * words:
        return False
    own_words = Counter(words_of(element, " ").split())
    return (own_words - expected).total() >= _MENU_FOREIGN * own_words.total()


def _word_counts(part: Element) -> dict[Element, tuple[int, int]]:
    """Count the words of each element, and how many of them are links, in one pass from the end."""
    counts: dict[Element, tuple[int, int]] = {}
    for element in reversed(list(part.iter("*"))):
        words, linked = len((element.text or "").split()), 0
        for child in element:
            inside = counts.get(child, (0, 0))
            words += inside[0] + len((child.tail or "").split())
            linked += inside[1]
        counts[element] = (words, words if local_name(element).lower() == "a" else linked)
    return counts


def _word_count(element: Element) -> int:
    return len(words_of(element, " ").split())


def _words(pieces: list[Piece]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for each in pieces:
        counted.update(word for word in (each.get("text") or each.get("heading", "")).split() if word.strip("|-•"))
    return counted


_EXPECTED = "a web page"
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


_FORWARDS = re.compile(r"[\s\d.]{0,20}[;,]\s{0,9}url\s{0,9}=\s{0,9}['\"]?([^'\"\s]{1,500})", re.IGNORECASE)
"""The content of a `meta` element that opens another page after some seconds."""


def page(path: str, *, check: bool, uri: str = "", main_text: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a web page's messages; if its address begins with https://, those of its main content.

    With `main_text`, menus, headers and footers of other pages are left out if their markup shows them.

    Raises:
        Refusal: it is not a web page, or is empty or too large.
    """
    text, warning = text_of(path, _EXPECTED)
    root = parse_html(text)
    if not check:
        is_made_by_scripts = next(root.iter("script", "{*}script"), None) is not None
        try:
            yield from messages(_pieces(root, warning, uri, main_text=main_text))
        except Refusal as refusal:
            if refusal.reason != "empty" or not is_made_by_scripts:
                raise
            why = "The page has no text before its scripts run in a browser."
            raise Refusal("empty", why, suggestion="Save what a browser shows as PDF or HTML, and use that.") from None
    elif not any(str(words).strip() for words in root.itertext()):
        raise Refusal("empty", "The page has no text.")


def _pieces(root: Element, warning: str, uri: str, *, main_text: bool) -> Iterator[Piece]:
    title, metadata = _described(root)
    warnings = [warning] if warning else []
    hidden = take_out_hidden(root)
    if comments := take_comments(root):
        warnings.append(comments_left_out(len(comments)))
        metadata |= noted(COMMENTS, comments)
    headings = [words_of(element, " ") for element in root.iter("h1", "h2", "{*}h1", "{*}h2")]
    _take_out(contents_of(root))
    if uri.startswith("https://"):
        warnings += _doubts(root)
        _take_out(root.iter(*_UNSAID))
        pieces, omission = main_content(root, uri, title)
        if omission:
            warnings.append(omission)
        yield from pieces
    else:
        left = _take_out_surroundings(root) if main_text else 0
        if left:
            warnings.append(_left_out(left))
        yield from walk_html(root, line_of=source_line)
    if hidden:
        yield hidden_piece(hidden)
    yield facts(title=without_site(title, headings), metadata=metadata, warnings=warnings)


def _doubts(root: Element) -> Iterator[str]:
    """Yield why a crawled page may not be the document that was asked for."""
    if any((each.get("type") or "").lower() == "password" for each in root.iter("input", "{*}input")):
        yield "The page asks for a password: it may be a sign-in page in place of the document."
    for each in root.iter("meta", "{*}meta"):
        forwarded = _FORWARDS.match(each.get("content") or "")
        if forwarded is not None and (each.get("http-equiv") or "").lower() == "refresh":
            yield f"The page forwards browsers to another address, which was not fetched: {forwarded[1]}"


def _take_out_surroundings(root: Element) -> int:
    """Remove menus, headers and footers by their elements, roles and names; return the number of words removed.

    Nothing is removed if less than half of the words would remain, unless the page marks its main content: such names
    then mean something else here.
    """
    body = next(root.iter("body", "{*}body"), root)
    outermost = _surroundings(body)
    left = sum(map(_word_count, outermost))
    if not left or (2 * left > _word_count(body) and _marked(root) is None):
        return 0
    _take_out(outermost)
    return left


def _surroundings(body: Element) -> list[Element]:
    return _outermost(element for element in body.iter("*") if element is not body and _is_around(element, body))


def _outermost(elements: Iterable[Element]) -> list[Element]:
    found = dict.fromkeys(elements)
    return [element for element in found if found.keys().isdisjoint(element.iterancestors())]


def _take_out(elements: Iterable[Element]) -> None:
    for element in list(elements):
        element.clear(keep_tail=True)


def _left_out(words: int) -> str:
    message = how_many(words, "word around the page's text was", "words around the page's text were")
    return f"{message} omitted: menus, headers, footers."


def _is_around(element: Element, body: Element) -> bool:
    name = local_name(element).lower()
    if name == "nav" or (element.get("role") or "").lower() in _AROUND_ROLES:
        return True
    if name in {"header", "footer"}:  # of the page; those of an article belong to it
        return element.getparent() is body
    return name in {"div", "ul", "ol", "table", "section", "aside"} and _is_called_around(element)


def _is_called_around(element: Element) -> bool:
    words = f"{element.get('id') or ''} {element.get('class') or ''}".lower()
    return len(words) <= _MOST_NAMES and not _AROUND_NAMES.isdisjoint(words.split())


def _is_drawing(element: Element) -> bool:
    return local_name(element).lower() == "svg"


def _described(root: Element) -> tuple[str, dict[str, str]]:
    """Return the page's title and metadata."""
    titles = (each for each in root.iter("title", "{*}title") if not any(map(_is_drawing, each.iterancestors())))
    found = next((element.text for element in titles), "")
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

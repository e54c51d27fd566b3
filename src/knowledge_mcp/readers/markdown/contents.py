"""Take out lists of contents, which only repeat a document's headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.language.clauses import speaks_of_document
from knowledge_mcp.readers.shared.layout import letters_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_FEWEST = 4
"""Fewest headings that a list of contents names."""
_LISTED = 0.6
"""Share of the headings that it names, as in web pages; below a title that says what it is, any share will do."""
_LINKED = 0.75
"""Share of its letters that are in links to places of the document."""


def without_contents(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a document without the lists whose items are links to most of its headings."""
    titles = [_words(tokens[at + 1]) for at, token in enumerate(tokens) if token.type == "heading_open"]
    known = {letters_of(title) for title in titles}
    kept: list[Token] = []
    above, at = "", 0
    while at < len(tokens):
        token = tokens[at]
        end = at + 1
        if token.type == "heading_open":
            above = _words(tokens[at + 1])
        elif token.type in _LISTS and token.level == 0:
            end = next(k for k in range(at, len(tokens)) if tokens[k].level == 0 and tokens[k].nesting < 0) + 1
            named = speaks_of_document(above)
            if _repeats(tokens[at:end], known, _FEWEST if named else max(_FEWEST, _LISTED * len(titles))):
                at = end
                continue
        kept += tokens[at:end]
        at = end
    return kept


def _repeats(tokens: Sequence[Token], known: set[str], least: float) -> bool:
    """Return whether a list is made of links with the words of at least so many headings."""
    linked = [words for token in tokens if token.type == "inline" for words in _linked(token)]
    named = {letters_of(words) for words in linked} & known
    whole = sum(len(letters_of(_words(token))) for token in tokens if token.type == "inline")
    return len(named) >= least and sum(len(letters_of(words)) for words in linked) >= _LINKED * whole


def _linked(inline: Token) -> Iterator[str]:
    """Yield the words of links that lead to places of the document."""
    words: list[str] | None = None
    for child in inline.children or ():
        if child.type == "link_open":
            words = [] if str(child.attrGet("href") or "").startswith("#") else None
        elif child.type == "link_close":
            yield "".join(words or ())
            words = None
        elif words is not None:
            words.append(child.content)


def _words(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())

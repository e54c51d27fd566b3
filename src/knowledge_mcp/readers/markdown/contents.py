"""Take out lists of contents, which only repeat a document's headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.language.clauses import FEWEST_LISTED, LINKED, fewest_listed, speaks_of_document
from knowledge_mcp.readers.shared.layout import letters_of

if TYPE_CHECKING:
    from markdown_it.token import Token

_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})
_BLOCKS = _LISTS | {"table_open"}
_BREAKS = frozenset({"softbreak", "hardbreak"})
_PRINTED = 0.75
"""Share of its rows that are titles: the others are cut or joined."""
_ID = re.compile(r"\{[^{}]{0,200}\}\Z")
"""The id after a heading: "1 Scope {#scope}"."""
_FIGURES = "0123456789"


def without_contents(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of a document without its lists of contents.

    These are lists whose items are links to most of its headings; and tables, lists and paragraphs that print its
    headings with the numbers of their pages, as programs that convert print write them.
    """
    headings = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "heading_open"]
    titles = [_ID.sub("", plain_words(heading).rstrip()) for heading in headings]
    known = {letters_of(title) for title in titles}
    printed = {_name(title) for title in titles} - {""}
    kept: list[Token] = []
    above, at = "", 0
    while at < len(tokens):
        token = tokens[at]
        end = at + 1
        named = speaks_of_document(above)
        if token.type == "heading_open" or _is_title(tokens, at):
            above = plain_words(tokens[at + 1])
        elif token.level == 0 and (token.type in _BLOCKS or (named and token.type == "paragraph_open")):
            end = _end(tokens, at)
            least = fewest_listed(len(titles), titled=named)
            is_linked = token.type in _LISTS and _repeats(tokens[at:end], known, least)
            if is_linked or _prints(tokens[at:end], printed, titled=named):
                at = end
                continue
        kept += tokens[at:end]
        at = end
    return kept


def _is_title(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a paragraph says that contents follow, as a title does."""
    is_apart = tokens[at].type == "paragraph_open" and tokens[at].level == 0
    return is_apart and speaks_of_document(plain_words(tokens[at + 1]))


def _end(tokens: Sequence[Token], at: int) -> int:
    """Return the end of a block, or of a run of paragraphs."""
    kind = tokens[at].type
    end = at
    while end < len(tokens) and tokens[end].type == kind:
        end = next(k for k in range(end, len(tokens)) if tokens[k].level == 0 and tokens[k].nesting < 0) + 1
        if kind != "paragraph_open":
            break
    return end


def _prints(tokens: Sequence[Token], titles: set[str], *, titled: bool = False) -> bool:
    """Return whether rows and lines are titles of the document, most of them with the number of a page after them.

    Below a title that says what they are, numbers alone may be left of the rest.
    """
    rows = [row for row in _rows(tokens) if row.strip()]
    named = [row for row in rows if _name(row) in titles]
    paged = [row for row in named if row.rstrip()[-1] in _FIGURES]
    bare = [row for row in rows if not _name(row)] if titled else []
    is_sure = len(named) >= FEWEST_LISTED and (titled or 2 * len(paged) > len(named))
    return (is_sure or len(bare) == len(rows) >= FEWEST_LISTED) and len(named) + len(bare) >= _PRINTED * len(rows)


def _rows(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of each row of tables, and each line of other text."""
    row: list[str] | None = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield " ".join(row or ())
            row = None
        elif token.type == "inline" and row is not None:
            row.append(plain_words(token))
        elif token.type == "inline":
            yield from plain_words(token).split("\n")


def _name(words: str) -> str:
    """Return the letters of a title without its number and the number of its page; empty if it has no letters."""
    return letters_of(words).strip(_FIGURES)


def _repeats(tokens: Sequence[Token], known: set[str], least: float) -> bool:
    """Return whether a list is made of links with the words of at least so many headings."""
    linked = [words for token in tokens if token.type == "inline" for words in _linked(token)]
    named = {letters_of(words) for words in linked} & known
    whole = sum(len(letters_of(plain_words(token))) for token in tokens if token.type == "inline")
    return len(named) >= least and sum(len(letters_of(words)) for words in linked) >= LINKED * whole


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


def plain_words(inline: Token) -> str:
    """Return the text of a heading, a cell or a paragraph without its markup; breaks are line ends."""
    children = inline.children or ()
    return "".join("\n" if each.type in _BREAKS else each.content for each in children if each.type != "html_inline")

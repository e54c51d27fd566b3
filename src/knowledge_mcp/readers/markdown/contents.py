"""Take out lists of contents, which only repeat a document's headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
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
_MOST_MISSED = 5
"""Most paragraphs in a row without a page among printed contents: the foot of a page, a cut entry."""
_LONGEST_PAGE = 5
"""Most digits of the number of a page."""


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
    named, at = False, 0
    while at < len(tokens):
        token = tokens[at]
        end = at + 1
        if token.type == "heading_open":
            named = speaks_of_document(plain_words(tokens[at + 1]))
        elif _is_title(tokens, at):
            named = True
        elif token.level == 0 and _is_block(tokens, at, named=named):
            end = _end(tokens, at)
            least = fewest_listed(len(titles), titled=named)
            is_linked = token.type in _LISTS and _repeats(tokens[at:end], known, least)
            if is_linked or _prints(tokens[at:end], printed, titled=named):
                at = end
                continue
        kept += tokens[at:end]
        at = end
    return kept


def _is_block(tokens: Sequence[Token], at: int, *, named: bool) -> bool:
    """Return whether contents may begin here: a list, a table, or paragraphs below a title or with leaders."""
    if tokens[at].type == "paragraph_open":
        return named or _page_behind_leaders(plain_words(tokens[at + 1]).partition("\n")[0]) > 0
    return tokens[at].type in _BLOCKS


def _page_behind_leaders(row: str) -> int:
    """Return the page of "3.2 Wind . . . . 12"; 0 if there are no leaders before a number."""
    bare = row.rstrip()
    before = bare.rstrip(_FIGURES)
    has_leaders = before.rstrip().endswith((". . .", "...", "…"))
    return int(bare[len(before) :][-_LONGEST_PAGE:] or 0) if has_leaders else 0


def _is_title(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a paragraph says that contents follow, as a title does."""
    if tokens[at].type != "paragraph_open" or tokens[at].level:
        return False
    words = plain_words(tokens[at + 1])
    return speaks_of_document(words) and not _page_behind_leaders(words)


def _end(tokens: Sequence[Token], at: int) -> int:
    """Return the end of a block, or of a run of paragraphs: with leaders but for a few, or without."""
    kind = tokens[at].type
    end, last, missed = at, 0, 0
    while end < len(tokens) and tokens[end].type == kind and not (last and missed > _MOST_MISSED):
        is_paragraph = kind == "paragraph_open"
        has_page = is_paragraph and any(map(_page_behind_leaders, _rows(tokens[end : end + 2])))
        is_later = has_page and not last and missed > _MOST_MISSED
        if is_paragraph and end > at and (is_later or _is_title(tokens, end)):
            break
        end = next(k for k in range(end, len(tokens)) if tokens[k].level == 0 and tokens[k].nesting < 0) + 1
        if not is_paragraph:
            break
        last, missed = (end, 0) if has_page else (last, missed + 1)
    return last or end


def _prints(tokens: Sequence[Token], titles: set[str], *, titled: bool = False) -> bool:
    """Return whether rows and lines are titles of the document, most of them with the number of a page after them.

    So are lines with leaders before numbers that seldom fall, whatever they name. Below a title that says what they
    are, numbers alone may be left of the rest.
    """
    rows = [row for row in _rows(tokens) if row.strip()]
    pages = [page for row in rows if (page := _page_behind_leaders(row))]
    falls = sum(one > other for one, other in pairwise(pages))
    if len(pages) >= max(FEWEST_LISTED, _PRINTED * len(rows)) and falls * FEWEST_LISTED <= len(pages):
        return True
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

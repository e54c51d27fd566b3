"""Find titles of clauses that a program wrote as the beginnings of paragraphs: "5.3.1 Wind loads. The tower …".

Programs that convert print recognise headings by their font size. If a standard prints its headings in the size of its
text, they are paragraphs, or the first words of paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from knowledge_mcp.language.force import PLAIN, forces_of
from knowledge_mcp.language.openings import UNTITLED
from knowledge_mcp.readers.markdown.contents import plain_words
from knowledge_mcp.readers.shared.numbering import NumberKey, follows, number_key

if TYPE_CHECKING:
    from markdown_it.token import Token

_FEWEST = 6
"""Fewest numbers that count on: rows of figures count on for two or three."""
_IN_ORDER = 0.75
"""Share of the numbered paragraphs that count on; the others are references and amounts."""
_TITLED = 0.6
"""Share of them with a title; in a document of clauses without titles, short sentences look like some."""
_MOST_WORDS, _LONGEST = 12, 100
"""Most words and characters of a title."""
_STOP = re.compile(r"[.:](?=\s|\Z)")


def titles_before_text(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the length of number and title of each paragraph with a title, by the `id` of its inline token.

    There are none if headings have numbers, if the numbers of paragraphs do not count on, or if few have a title.
    """
    headings = (tokens[at + 1] for at, token in enumerate(tokens) if token.type == "heading_open")
    if any(_number_of(plain_words(heading)) for heading in headings):
        return {}
    numbered = list(_numbered(tokens))
    in_order = sum(follows(one, other) for (one, _, _), (other, _, _) in pairwise(numbered))
    is_counted = in_order >= max(_FEWEST, _IN_ORDER * len(numbered))
    ends = {id(inline): end for _, inline, end in numbered if end}
    return ends if is_counted and len(ends) >= _TITLED * len(numbered) else {}


def _numbered(tokens: Sequence[Token]) -> Iterator[tuple[NumberKey, Token, int]]:
    """Yield each paragraph that begins with a number of several parts, with the length of its title; 0 for none."""
    for at, token in enumerate(tokens):
        if token.type == "paragraph_open" and not token.level:
            words = plain_words(tokens[at + 1])
            if (number := _number_of(words)) is not None:
                yield number[0], tokens[at + 1], _end_of_title(words, number[1])


def _number_of(words: str) -> tuple[NumberKey, int] | None:
    """Return the number of several parts at the beginning of a text, and where the words after it begin."""
    found = UNTITLED.match(words)
    key = number_key(found["number"]) if found and found["number"][0].isdecimal() else None
    return (key, found.end()) if found and key and len(key) > 1 else None


def _end_of_title(words: str, start: int) -> int:
    """Return the end of the title after a number; 0 if a sentence follows, or nothing."""
    line, is_cut, _ = words[start : start + 2 * _LONGEST].partition("\n")
    stop = _STOP.search(line)
    title = line[: stop.start()] if stop is not None else line.rstrip()
    is_whole = stop is not None or not is_cut
    is_short = 0 < len(title) <= _LONGEST and len(title.split()) <= _MOST_WORDS
    is_title = is_whole and is_short and title[:1].isupper() and not title.endswith((",", ";", "…"))
    return start + len(title) if is_title and not forces_of(title, PLAIN) else 0

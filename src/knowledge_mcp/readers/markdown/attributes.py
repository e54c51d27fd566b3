"""Lines of kramdown that are not text: attributes of a block (`{: #a title="Limits"}`), and parts of an IETF draft.

CommonMark reads them as text, or as a row of the table above. A title is text: it is a paragraph below its block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

_LINE = re.compile(r"\{:(?!:)(?P<inside>[^{}]{0,1000})\}\s*|--- (?:abstract|middle|back)\s*")
_TITLE = re.compile(r"\btitle=\"(?P<words>[^\"]{1,500})\"")


def read_attributes(parser: MarkdownIt) -> None:
    """Make a parser read such lines; they end a paragraph, a list and a table."""
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "attributes", _attributes, {"alt": interrupts})


def _attributes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    del end
    found = _LINE.fullmatch(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    state.line = start + 1
    if (title := _TITLE.search(found["inside"] or "")) is not None:
        state.push("paragraph_open", "p", 1).map = [start, start + 1]
        words = state.push("inline", "", 0)
        words.content, words.map, words.children = title["words"], [start, start + 1], []
        state.push("paragraph_close", "p", -1)
    return True

"""Changes and comments in Markdown, in the syntax of CriticMarkup: `{--24 V--}{++28 V++}{>>why?<<}`.

CommonMark does not support them, and reads `{~~24 V~>28 V~~}` as words that are all struck out. They are rewritten as
HTML: deletions become struck-out text, insertions text, and comments HTML comments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

_WRITTEN = (
    (re.compile(r"\{--([^{}]{1,2000}?)--\}"), r"<del>\1</del>"),
    (re.compile(r"\{~~((?:[^{}~]|~(?!>)){1,2000})~>([^{}]{0,2000}?)~~\}"), r"<del>\1</del>\2"),
    (re.compile(r"\{\+\+([^{}]{1,2000}?)\+\+\}"), r"\1"),
    (re.compile(r"\{==([^{}]{1,2000}?)==\}"), r"\1"),
    (re.compile(r"\{>>([^{}]{0,2000}?)<<\}"), r"<!--\1-->"),
)
_OPENINGS = ("{--", "{~~", "{++", "{==", "{>>")


def read_revised(parser: MarkdownIt) -> None:
    """Make a parser read changes and comments."""
    parser.core.ruler.before("inline", "revised", _revised)


def _revised(state: StateCore) -> None:
    for token in state.tokens:
        # if the words contain code, the marks may be part of it
        if token.type == "inline" and any(mark in token.content for mark in _OPENINGS) and "`" not in token.content:
            for pattern, written in _WRITTEN:
                token.content = pattern.sub(written, token.content)

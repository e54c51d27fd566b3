"""Remove text that is struck out or hidden by HTML in Markdown from the parsed tokens, and count it by reason.

A block element hides what follows up to its end tag, whichever block contains that; an inline element hides at most the
rest of the paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.html.hidden import reason_of
from knowledge_mcp.readers.shared.hidden import nonblank_length

if TYPE_CHECKING:
    from markdown_it.token import Token

_HIDING = re.compile(r"\b(?:style|hidden|color)\b|<(?:del|s|strike)\b", re.IGNORECASE)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_SELF_ENDING = frozenset("p li td th tr dt dd option".split())


def take_out_hidden(tokens: Sequence[Token]) -> Counter[str]:
    """Remove what is struck out or hidden by HTML, and count its non-blank characters."""
    counted: Counter[str] = Counter()
    for token in tokens:
        _sift_struck(token.children or (), counted)
    htmls = (each for token in tokens for each in (token, *(token.children or ())) if each.type.startswith("html_"))
    if not any(_HIDING.search(token.content) for token in htmls):
        return counted
    blocks = _Sieve(counted)
    for token in tokens:
        if token.type == "html_block":
            token.content = blocks.sift(token.content)
        elif token.type in {"fence", "code_block"} and blocks.reason is not None:
            blocks.count(token.content)
            token.content = ""
        elif token.type == "inline":
            _sift_inline(token, blocks, counted)
    return counted


def _sift_struck(children: Sequence[Token], counted: Counter[str]) -> None:
    depth = 0
    for child in children:
        depth += {"s_open": 1, "s_close": -1}.get(child.type, 0)
        if depth:
            counted[HiddenReason.STRUCK] += nonblank_length(child.content)
            child.content = ""


def _sift_inline(token: Token, blocks: _Sieve, counted: Counter[str]) -> None:
    within = blocks if blocks.reason is not None else _Sieve(counted)
    for child in token.children or ():
        if child.type == "html_inline" and within is not blocks:
            child.content = within.sift(child.content)
        elif within.reason is not None:
            within.count(child.content)
            child.content = ""
    if within is blocks:
        token.content = ""


class _Sieve(HTMLParser):
    """Rewrite HTML without what it hides; `reason` is why the next text is hidden, None if it is visible."""

    def __init__(self, counted: Counter[str]) -> None:
        super().__init__(convert_charrefs=False)
        self.reason: HiddenReason | None = None
        self._counted = counted
        self._tag, self._depth = "", 0
        self._out: list[str] = []

    def sift(self, source: str) -> str:
        """Return the visible part of a piece of HTML."""
        self._out = []
        start = source.find("<!--", source.rfind("-->") + 1)  # an unclosed comment
        self.feed(source if start < 0 else source[:start])
        self.close()
        self.reset()
        return "".join(self._out)

    def count(self, text: str) -> None:
        """Count text if it is hidden."""
        if self.reason is not None:
            self._counted[self.reason] += nonblank_length(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.reason is not None and self._tag in _SELF_ENDING and tag == self._tag:
            self.reason = None
        if self.reason is not None:
            self._depth += tag == self._tag
            return
        attributes = {name: value or "" for name, value in attrs}
        reason = reason_of(tag, attributes)
        if reason is None:
            self._out.append(self.get_starttag_text() or "")
        elif tag in _VOID:
            self._counted[reason] += nonblank_length(attributes.get("alt"))
        else:
            self.reason, self._tag, self._depth = reason, tag, 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self.reason is None:
            self._out.append(f"</{tag}>")
        elif tag == self._tag:
            self._depth -= 1
            self.reason = self.reason if self._depth else None

    def handle_data(self, data: str) -> None:
        if self.reason is None:
            self._out.append(data)
        self.count(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

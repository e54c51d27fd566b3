"""Markdown inlines to text with references: the words as a reader sees them, without the marks of emphasis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.markdown.embedded_html import inline_text
from knowledge_mcp.readers.markdown.pages import BREAK
from knowledge_mcp.readers.richtext import RichText

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["anchor_names", "footnote_label", "image_alone", "inline_rich"]

_LETTERED_ITEM = re.compile(r"\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})\)\s")
_NAME = re.compile(r"<(?:a\s[^>]{0,1000}?\bname|\w{1,30}+\s[^>]{0,1000}?\bid)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def inline_rich(tokens: Sequence[Token]) -> RichText:
    """Write inline tokens as text; links become references, images their alternative text."""
    rich = RichText()
    links: list[tuple[int, str]] = []
    for index, token in enumerate(tokens):
        kind = token.type
        if kind in {"text", "code_inline", "text_special"}:
            _add(rich, token.content)
        elif kind == "softbreak":
            _soft_break(rich, tokens, index)
        elif kind == "hardbreak":
            rich.break_line()
        elif kind == "html_inline":
            if inline_text(token.content):
                rich.break_line()
        elif kind == "image":
            rich.add(token.content)
        elif kind == "link_open":
            links.append((len(rich), str(token.attrs.get("href", ""))))
        elif kind == "link_close" and links:
            start, target = links.pop()
            rich.mark(start, None if target.startswith("#") else ReferenceKind.LINK, target)
        elif kind == "footnote_ref":
            rich.add(f"[^{footnote_label(token)}]")
    return rich


def _add(rich: RichText, text: str) -> None:
    first, *others = text.split(BREAK)
    rich.add(first)
    for piece in others:
        rich.break_page()
        rich.add(piece)


def _soft_break(rich: RichText, tokens: Sequence[Token], index: int) -> None:
    """Join lines with a blank, but keep lines that begin as items: Markdown itself knows no "a)"."""
    following = tokens[index + 1].content.lstrip(BREAK) if index + 1 < len(tokens) else ""
    if _LETTERED_ITEM.match(following):
        rich.break_line()
    else:
        rich.add(" ")


def footnote_label(token: Token) -> str:
    """Return a footnote's label as written, or its number where it stood inline."""
    meta: dict[str, object] = token.meta
    label = meta.get("label")
    number = meta.get("id")
    return str(label) if label else str(number + 1 if isinstance(number, int) else 1)


def image_alone(tokens: Sequence[Token]) -> bool:
    """Tell whether a paragraph shows nothing but pictures."""
    shown = [token for token in tokens if token.type not in {"softbreak", "hardbreak", "link_open", "link_close"}]
    return bool(shown) and all(t.type == "image" or (t.type == "text" and not t.content.strip()) for t in shown)


def anchor_names(tokens: Sequence[Token]) -> list[str]:
    """List the names that `<a name="...">` and the ids of tags give within inline tokens."""
    names: list[str] = []
    for token in tokens:
        if token.type == "html_inline":
            names.extend(_NAME.findall(token.content))
    return names

"""Markdown files to `Document`: CommonMark with tables, definition lists, footnotes and YAML frontmatter.

The canonical text is what a reader of the rendered page sees: words without marks of emphasis, link texts without
addresses (those become references), tables as Markdown rows, code as it stands. HTML is stripped to its words. It runs
in this process: the parser is pure Python without native code, its nesting is bounded and so is the file's size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.assembly import MOST_TEXT, DocumentBuilder, too_long
from knowledge_mcp.readers.markdown.hidden import take_out_hidden
from knowledge_mcp.readers.markdown.pages import without_markers
from knowledge_mcp.readers.markdown.source import decode, read_frontmatter, read_source
from knowledge_mcp.readers.properties import named_type, proposed_id
from knowledge_mcp.support.checkpoints import checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.ruler import StateBase
    from markdown_it.token import Token

__all__ = ["MarkdownReader"]

_MAX_NESTING = 60
_MAX_BRACKETS = 50_000
_MOST_PARTS = 1_500_000
"""Blocks, and places inside them where markup may begin; each may become an object of half a kilobyte."""


class MarkdownReader:
    """Read .md, .markdown and .mdx files; blocks carry their source lines, and pages where markers tell them."""

    @property
    def version(self) -> str:
        return "markdown-4"

    def check(self, item: SourceItem) -> Inspection:
        text, _ = decode(item, read_source(item))
        front = read_frontmatter(text)
        if not _after_lines(text, front.lines).strip():
            raise _empty(item)
        return Inspection(pages=None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        from knowledge_mcp.readers.markdown.walker import Walker

        builder = DocumentBuilder()
        text, warning = decode(item, read_source(item))
        front = read_frontmatter(text)
        body = _after_lines(text, front.lines)
        if len(body) > MOST_TEXT:
            raise too_long(item)
        if any(part.count("[") > _MAX_BRACKETS for part in body.split("\n\n")):
            raise _too_many_brackets(item)
        try:
            source, marks = without_markers(body, _blocks)
            tokens = _parse(source)
        except _TooManyTokensError as error:
            raise too_long(item) from error
        for sentence in ([warning] if warning else []) + front.warnings + marks.warnings:
            builder.warn(sentence)
        if any(token.level >= _MAX_NESTING - 1 for token in tokens):
            raise _too_deep(item)
        is_mdx = item.name.lower().endswith(".mdx")
        walker = Walker(builder, first_line=front.lines + 1, is_mdx=is_mdx, marks=marks)
        builder.leave_out(take_out_hidden(tokens))
        walker.walk(tokens)
        walker.finish()
        if not builder.has_text:
            raise _empty(item)
        for number in marks.numbers:
            builder.page(number)
        document_type, sentence = named_type(front.values)
        if sentence:
            builder.warn(sentence)
        if progress is not None:
            progress(1, 1)
        return builder.build(
            item,
            title=front.values.get("title", "") or walker.title,
            id=proposed_id(front.values, item.name),
            document_type=document_type,
            metadata=front.values,
        )

    def close(self) -> None:
        """Hold nothing, and so free nothing."""


def _parse(text: str) -> Sequence[Token]:
    return _parser().parse(text)


def _blocks(text: str) -> Sequence[Token]:
    """Parse no further than to blocks."""
    return _block_parser().parse(text)


@functools.cache
def _block_parser() -> MarkdownIt:
    return _new_parser().disable("inline")


@functools.cache
def _parser() -> MarkdownIt:
    """Give the parser; one serves all threads, for what it learns of a text it keeps outside of itself."""
    return _new_parser()


def _new_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    parser.use(deflist_plugin).use(footnote_plugin)
    # footnotes stay where they are written, cited or not
    parser.disable(["footnote_tail", "footnote_inline"])
    parser.block.ruler.before("table", "checkpoint", _look, {"alt": []})
    parser.inline.ruler.before("text", "checkpoint", _look)
    return parser


class _TooManyTokensError(Exception):
    """Say that a text has more parts than memory should hold."""


def _look(state: StateBase, *_place: object) -> bool:
    """Take nothing of the text, but count, and let the work be stopped; a rule that is asked at every part."""
    checkpoint()
    count = state.env["parts"] = state.env.get("parts", 0) + 1
    if count > _MOST_PARTS:
        raise _TooManyTokensError
    return False


def _after_lines(text: str, count: int) -> str:
    return text.split("\n", count)[count] if count and text.count("\n") >= count else "" if count else text


def _too_deep(item: SourceItem) -> UnreadableDocumentError:
    """Refuse what the parser would silently cut: beyond its bound it drops the rest of the text."""
    return UnreadableDocumentError(
        f"{item.name} nests lists or quotations more than {_MAX_NESTING // 2} levels deep.",
        reason=UnreadableReason.UNSUPPORTED,
        source=item.uri,
        suggestion="Look for a line with very many '>' or '-' at its start.",
    )


def _too_many_brackets(item: SourceItem) -> UnreadableDocumentError:
    """Refuse what would take the parser hours: it looks for a link's end from every bracket of a paragraph."""
    return UnreadableDocumentError(
        f"{item.name} has more than {_MAX_BRACKETS} brackets in one paragraph.",
        reason=UnreadableReason.UNSUPPORTED,
        source=item.uri,
        suggestion="Split the paragraph by empty lines.",
    )


def _empty(item: SourceItem) -> UnreadableDocumentError:
    return UnreadableDocumentError(
        f"{item.name} has no text.",
        reason=UnreadableReason.EMPTY,
        source=item.uri,
        suggestion="Write something into it, or leave it out.",
    )

"""Markdown files to `Document`: CommonMark with tables, definition lists, footnotes and YAML frontmatter.

The canonical text is what a reader of the rendered page sees: words without marks of emphasis, link texts without
addresses (those become references), tables as Markdown rows, code as it stands. HTML is stripped to its words. It runs
in this process: the parser is pure Python without native code, its nesting is bounded and so is the file's size.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias, cast

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.markdown.hidden import take_out_hidden
from knowledge_mcp.readers.markdown.pages import without_markers
from knowledge_mcp.readers.shared.assembly import MOST_TEXT, DocumentBuilder, parse_document_type, proposed_id, too_long
from knowledge_mcp.readers.shared.containers import foreign_in, mislabelled
from knowledge_mcp.readers.shared.isolation import inaccessible, refused, unreadable
from knowledge_mcp.support.checkpoints import checkpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.ruler import StateBase
    from markdown_it.token import Token

Yaml: TypeAlias = "dict[object, Yaml] | list[Yaml] | str | int | float | bool | date | None"

MAX_BYTES = 64_000_000
MAX_FRONTMATTER_CHARACTERS = 100_000
MAX_ALIASES = 20
MAX_DEPTH = 6
MAX_VALUE = 4_000

_FRONTMATTER = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)(?:^|\n)(?:---(?:[ \t]+abstract)?|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_ALIAS = re.compile(r"(?:^|[\s,\[{:-])\*[A-Za-z0-9_-]+", re.MULTILINE)
_C1_CONTROLS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(slots=True)
class Frontmatter:
    """Hold what stands between the dashes at a file's head.

    Attributes:
        values: flat text by lower-case key; lists joined with commas, nested keys with dots.
        lines: lines that it takes up, the dashes included; 0 where there is none or it could not be read.
        warnings: what was wrong with it.
    """

    values: dict[str, str] = field(default_factory=dict[str, str])
    lines: int = 0
    warnings: list[str] = field(default_factory=list[str])


def read_source(item: SourceItem) -> bytes:
    """Read all bytes of an item.

    Raises:
        UnreadableDocumentError: INACCESSIBLE, TOO_LARGE, EMPTY or MISLABELLED.
    """
    try:
        with item.open() as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise inaccessible(item, error) from error
    if len(data) > MAX_BYTES:
        message = f"More than {MAX_BYTES // 1_000_000} MB are too much for one Markdown document."
        raise unreadable(item, UnreadableReason.TOO_LARGE, message, suggestion="Split it into several files.")
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise unreadable(item, UnreadableReason.EMPTY, "The file is empty.")
    if what := foreign_in(BytesIO(data), markup=False):
        raise refused(item, mislabelled("Markdown", what))
    return data


def decode(item: SourceItem, data: bytes) -> tuple[str, str | None]:
    """Decode UTF-8, UTF-8, UTF-16 and UTF-32 with a byte order mark, and Windows-1252 where nothing speaks against it.

    Returns:
        The text without mark, line ends LF; and a warning where the encoding had to be guessed.

    Raises:
        UnreadableDocumentError: CORRUPTED, no encoding fits.
    """
    warning = None
    try:
        text = data.decode(_marked(data) or "utf-8-sig")
    except UnicodeDecodeError as error:
        if not _is_plausible_cp1252(data):
            raise unreadable(
                item,
                UnreadableReason.CORRUPTED,
                "The file is not UTF-8 text.",
                details=f"byte {error.start}: {error.reason}",
                suggestion="Save it as UTF-8.",
            ) from error
        text = data.decode("cp1252")
        warning = "The file is not UTF-8; it was read as Windows-1252, so some characters may be wrong."
    return text.replace("\r\n", "\n").replace("\r", "\n"), warning


def _marked(data: bytes) -> str | None:
    """Name the encoding that a byte order mark tells; UTF-32's little-endian one begins like UTF-16's."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def _is_plausible_cp1252(data: bytes) -> bool:
    """Tell western text from binary data: no control characters, few letters beyond ASCII."""
    if _C1_CONTROLS.search(data) or re.search(rb"[\x00-\x08\x0b\x0e-\x1f]", data):
        return False
    high = sum(byte >= 0x80 for byte in data)
    return high <= len(data) * 0.2


def read_frontmatter(text: str) -> Frontmatter:
    """Read YAML frontmatter, safely: no tags, few aliases, bounded size.

    What cannot be read leaves a warning, and its lines are then part of the document's text, not lost.
    """
    from yaml import YAMLError, safe_load

    match = _FRONTMATTER.match(text)
    if match is None:
        if re.match(r"---[ \t]*\n[A-Za-z_]+:", text):
            return Frontmatter(warnings=["The frontmatter is not closed by a line of dashes; it is kept as text."])
        return Frontmatter()
    source = match.group("yaml")
    if len(source) > MAX_FRONTMATTER_CHARACTERS or len(_ALIAS.findall(source)) > MAX_ALIASES:
        return Frontmatter(warnings=["The frontmatter is too large or has too many aliases; it is kept as text."])
    try:
        loaded: object = safe_load(source)
    except (YAMLError, ValueError, RecursionError) as error:
        where = " ".join(str(error).split())[:200]
        return Frontmatter(warnings=[f"The frontmatter is not valid YAML and is kept as text: {where}"])
    if loaded is None:
        return Frontmatter(lines=match.group().count("\n"))
    if not isinstance(loaded, dict):
        return Frontmatter(warnings=["The frontmatter is not a list of keys and values; it is kept as text."])
    values: dict[str, str] = {}
    _flatten("", cast("Yaml", loaded), values, 0)
    return Frontmatter(values, lines=match.group().count("\n") or 1)


def _flatten(prefix: str, value: Yaml, values: dict[str, str], depth: int) -> None:
    """Write nested YAML as flat text."""
    if depth > MAX_DEPTH or value is None:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            name = str(key).strip().lower().replace("-", "_")
            _flatten(f"{prefix}.{name}" if prefix else name, inner, values, depth + 1)
    elif isinstance(value, list):
        plain = [str(entry) for entry in value if not isinstance(entry, dict | list)]
        if plain:
            values[prefix] = ", ".join(plain)[:MAX_VALUE]
        for position, entry in enumerate(entry for entry in value if isinstance(entry, dict | list)):
            _flatten(f"{prefix}.{position}", entry, values, depth + 1)
    else:
        values[prefix] = " ".join(str(value).split())[:MAX_VALUE]


_MAX_NESTING = 60
_MAX_BRACKETS = 50_000
_MOST_PARTS = 1_500_000
"""Blocks, and places inside them where markup may begin; each may become an object of half a kilobyte."""


class MarkdownReader:
    """Read .md, .markdown and .mdx files; blocks carry their source lines, and pages where markers tell them."""

    @property
    def version(self) -> str:
        return "markdown-9"

    def check(self, item: SourceItem) -> Inspection:
        text, _ = decode(item, read_source(item))
        front = read_frontmatter(text)
        if not _after_lines(text, front.lines).strip():
            raise _empty(item)
        return Inspection(pages=None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        from knowledge_mcp.readers.markdown.walker import MarkdownWalker

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
        walker = MarkdownWalker(builder, first_line=front.lines + 1, is_mdx=is_mdx, marks=marks)
        builder.leave_out(take_out_hidden(tokens))
        walker.walk(tokens)
        walker.finish()
        if not builder.has_text:
            raise _empty(item)
        for number in marks.numbers:
            builder.page(number)
        document_type, sentence = parse_document_type(front.values)
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
    """Give the parser; one serves all threads, because it keeps no state of a text."""
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
    return unreadable(
        item,
        UnreadableReason.UNSUPPORTED,
        f"Lists or quotations are nested more than {_MAX_NESTING // 2} levels deep.",
        suggestion="Look for a line with very many '>' or '-' at its start.",
    )


def _too_many_brackets(item: SourceItem) -> UnreadableDocumentError:
    """Refuse what would take the parser hours: it looks for a link's end from every bracket of a paragraph."""
    return unreadable(
        item,
        UnreadableReason.UNSUPPORTED,
        f"There are more than {_MAX_BRACKETS} brackets in one paragraph.",
        suggestion="Split the paragraph by empty lines.",
    )


def _empty(item: SourceItem) -> UnreadableDocumentError:
    return unreadable(
        item,
        UnreadableReason.EMPTY,
        "The file has no text.",
        suggestion="Write something into it, or leave it out.",
    )

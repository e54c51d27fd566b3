"""Child process: Markdown, which is CommonMark with tables, definition lists, footnotes, and YAML or TOML front matter.

The canonical text is what a reader of the rendered page sees: words without marks of emphasis, link texts without
addresses (those become references), tables as Markdown rows, code unchanged. HTML is reduced to its words.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from knowledge_mcp.language.sentences import row_cells
from knowledge_mcp.readers.markdown.contents import without_contents
from knowledge_mcp.readers.markdown.hidden import take_out_hidden
from knowledge_mcp.readers.markdown.pages import without_markers
from knowledge_mcp.readers.markdown.syntax import read_more
from knowledge_mcp.readers.shared.assembly import MOST_TEXT
from knowledge_mcp.readers.shared.pieces import BATCH, RecordingBuilder, facts, too_much
from knowledge_mcp.readers.shared.text import nonblank_text_of
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.ruler import StateBase
    from markdown_it.token import Token

Yaml: TypeAlias = "dict[object, Yaml] | list[Yaml] | str | int | float | bool | date | None"

MAX_FRONTMATTER_CHARACTERS = 100_000
MAX_ALIASES = 20
MAX_DEPTH = 6
MAX_VALUE = 4_000

_FRONTMATTER = re.compile(
    r"---[ \t]*\n(?P<yaml>.*?)(?:^|\n)(?:---(?:[ \t]+abstract)?|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_TOML = re.compile(r"\+\+\+[ \t]*\n(?P<toml>.*?)(?:^|\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
_ALIAS = re.compile(r"(?:^|[\s,\[{:-])\*[A-Za-z0-9_-]+", re.MULTILINE)


@dataclass(slots=True)
class Frontmatter:
    """The front matter between dashes or plus signs at the beginning of a file.

    Attributes:
        values: flat text by lower-case key; lists joined with commas, nested keys with dots.
        lines: number of its lines, including those; 0 if there is none or it could not be read.
        warnings: what was wrong with it.
    """

    values: dict[str, str] = field(default_factory=dict[str, str])
    lines: int = 0
    warnings: list[str] = field(default_factory=list[str])


def read_frontmatter(text: str) -> Frontmatter:
    """Read YAML or TOML front matter safely: no tags, few aliases, limited size.

    If it cannot be read, there is a warning, and its lines are kept as text of the document.
    """
    from yaml import YAMLError, safe_load

    toml = _TOML.match(text)
    if toml is not None:
        return _toml_of(toml)
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


def _toml_of(match: re.Match[str]) -> Frontmatter:
    """Read TOML front matter, between lines of plus signs."""
    if len(match["toml"]) > MAX_FRONTMATTER_CHARACTERS:
        return Frontmatter(warnings=["The frontmatter is too large; it is kept as text."])
    try:
        loaded = tomllib.loads(match["toml"])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Frontmatter(warnings=[f"The frontmatter is not valid TOML and is kept as text: {error}"])
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
"""Most blocks, and places inside them where markup may begin; each may become an object of half a kilobyte."""


def markdown(path: str, *, check: bool, mdx: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the messages of a Markdown file: its text block by block, then title and front matter.

    Blocks have their source lines, and their pages if there are page markers.

    Args:
        path: the file.
        check: check that it can be read, and yield nothing.
        mdx: it has imports and exports between its paragraphs.

    Raises:
        Refusal: it is not text, or is empty, nested too deeply, or too large.
    """
    text, warning = nonblank_text_of(path, "Markdown")
    front = read_frontmatter(text)
    body = _after_lines(text, front.lines)
    if not body.strip():
        raise _empty()
    if check:
        return
    builder = RecordingBuilder()
    for sentence in ([warning] if warning else []) + front.warnings:
        builder.warn(sentence)
    title = yield from _lay(builder, body, front.lines + 1, mdx=mdx)
    if not builder.has_text:
        raise _empty()
    yield from builder.taken()
    yield facts(title=front.values.get("title", "") or title, metadata=front.values)


def _lay(builder: RecordingBuilder, body: str, first_line: int, *, mdx: bool) -> Generator[dict[str, Any], None, str]:
    """Build and yield the text after the front matter; return its title."""
    from knowledge_mcp.readers.markdown.walker import MarkdownWalker

    if len(body) > MOST_TEXT:
        raise too_much()
    if any(part.count("[") > _MAX_BRACKETS for part in body.split("\n\n")):
        raise _too_many_brackets()
    try:
        source, marks = without_markers(body, _parser("inline").parse)
        tokens = _parser().parse(source)
    except _TooManyTokensError as error:
        raise too_much() from error
    for sentence in marks.warnings:
        builder.warn(sentence)
    if (count := source.count("<!-- formula-not-decoded -->")) > 0:
        subject = how_many(count, "formula is", "formulas are")
        builder.warn(f"{subject} missing: the program that wrote this file did not read them. Look at its original.")
    if any(token.level >= _MAX_NESTING - 1 for token in tokens):
        raise _too_deep()
    beyond = _cells_beyond(tokens, source.split("\n"))
    if beyond:
        subject = how_many(beyond, "cell of a table was", "cells of tables were")
        builder.warn(f"{subject} omitted, as on a web page: the header has no column for them.")
    walker = MarkdownWalker(builder, first_line=first_line, is_mdx=mdx, marks=marks)
    builder.leave_out(take_out_hidden(tokens))
    for _ in walker.walk(without_contents(tokens)):
        yield from builder.taken(least=BATCH)
    walker.finish()
    for number in marks.numbers:
        builder.page(number)
    return walker.title


def _cells_beyond(tokens: Sequence[Token], lines: Sequence[str]) -> int:
    """Count the non-empty cells that the parser drops because the header of their table has fewer columns."""
    columns = beyond = 0
    for token in tokens:
        if token.type == "table_open":
            columns = 0
        elif token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and columns and token.map is not None:
            row = lines[token.map[0]].strip()
            if row.startswith("|"):
                beyond += sum(bool(cell.of(row).strip()) for cell in row_cells(0, row)[columns:])
    return beyond


@functools.cache
def _parser(*disabled: str) -> MarkdownIt:
    """Return a parser, without some of its rules; one serves all threads, because it keeps no state."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    parser.use(deflist_plugin).use(footnote_plugin)
    # footnotes stay where they are written, cited or not
    parser.disable(["footnote_tail", "footnote_inline", *disabled])
    read_more(parser)
    parser.block.ruler.before("table", "count", _count, {"alt": []})
    parser.inline.ruler.before("text", "count", _count)
    return parser


class _TooManyTokensError(Exception):
    """A text has more parts than memory allows."""


def _count(state: StateBase, *_place: object) -> bool:
    """Count the parts of a text: a rule that is called for each of them and never matches."""
    count = state.env["parts"] = state.env.get("parts", 0) + 1
    if count > _MOST_PARTS:
        raise _TooManyTokensError
    return False


def _after_lines(text: str, count: int) -> str:
    return text.split("\n", count)[count] if count and text.count("\n") >= count else "" if count else text


def _too_deep() -> Refusal:
    """Return the refusal of deep nesting: beyond its limit, the parser silently drops the rest of the text."""
    return Refusal(
        "unsupported",
        f"Lists or quotations are nested more than {_MAX_NESTING // 2} levels deep.",
        suggestion="Look for a line with very many '>' or '-' at its start.",
    )


def _too_many_brackets() -> Refusal:
    """Return the refusal of text that would take the parser hours: it searches for a link's end from each bracket."""
    return Refusal(
        "unsupported",
        f"There are more than {_MAX_BRACKETS} brackets in one paragraph.",
        suggestion="Split the paragraph by empty lines.",
    )


def _empty() -> Refusal:
    return Refusal("empty", "The file has no text.", suggestion="Add text to it, or exclude it.")

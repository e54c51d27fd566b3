"""Turns source code and related text files into a `Document`: the file's text, verbatim, with its symbols as sections.

The canonical text is the file's text line by line, so line numbers agree. A section is a symbol (class, function,
table, heading …): its title is the name, its heading the signature, and its span includes the comments above. A block
is a run of whole lines that should not be cut. `Block.depth` is its nesting depth, `Block.marker` its kind: the
symbol's kind if it contains a signature, else `import`, `doc`, `comment` or empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from knowledge_mcp.model.document import Block, BlockKind, Document, HeadingSource, Section, Span
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.code.outline import Outline, from_lines, from_markup, from_parse, language_of, line_starts
from knowledge_mcp.readers.code.parse import GRAMMARS
from knowledge_mcp.readers.shared.assembly import short_title
from knowledge_mcp.readers.shared.isolation import SandboxedReader, inaccessible, is_installed, unreadable
from knowledge_mcp.readers.shared.text import DecodedText, NotTextError, decode_text
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox import FailureKind, Limits, Sandbox, SandboxFailure

_MAX_BYTES = 16 * 1024 * 1024
_LIMITS = Limits(memory=768 * 1024 * 1024, seconds=20.0, silence=20.0)
_CPP = re.compile(
    r"^[ \t]*(?:(?:class[ \t]+\w|(?:inline )?namespace\b)[^;{\n]*+\n?[ \t]*+\{|template[ \t]*<"
    r"|(?:public|private|protected)[ \t]*:|using[ \t]+(?:namespace\b|\w+[ \t]*=))",
    re.MULTILINE,
)
"""Code that is in no file of C."""
_MARKUP = frozenset({"markdown", "rst"})
_FAILURES = {
    FailureKind.TOO_SLOW: "its parser took too long",
    FailureKind.OUT_OF_MEMORY: "its parser needed too much memory",
    FailureKind.CRASHED: "its parser crashed",
    FailureKind.FAILED: "its parser failed",
}


class CodeReader(SandboxedReader):
    """Read source code, markup and configuration files. Thread-safe.

    A grammar parses in a child process with limits of memory and time. If it fails, the file is not refused but read by
    its lines, with a warning. The same applies if a language's grammar is not installed.

    Args:
        sandbox, limits: as in `SandboxedReader`.
    """

    def __init__(self, *, sandbox: Sandbox | None = None, limits: Limits = _LIMITS) -> None:
        super().__init__(sandbox, limits)
        installed = GRAMMARS.items() if is_installed("tree_sitter") else ()
        self._installed = frozenset(name for name, grammar in installed if is_installed(grammar.module))

    @property
    def version(self) -> str:
        return f"code-4 grammars={len(self._installed)}"

    def check(self, item: SourceItem) -> Inspection:
        _decode(item)
        return Inspection(pages=None)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        decoded = _decode(item)
        text = decoded.text
        language = language_of(item.media_type)
        if language == "c" and _CPP.search(text):  # headers of both languages have the same extension
            language = "cpp"
        outline, warning = self._outline(text, language)
        sections = _sections(text, outline)
        blocks = _blocks(text, outline, sections)
        if progress is not None:
            progress(1, 1)
        return Document(
            id=item.name,
            title=item.name,
            document_type=None,
            text=text,
            sections=sections,
            blocks=blocks,
            pages=(),
            source_uri=item.uri,
            sha256=item.sha256,
            media_type=item.media_type,
            metadata=(("language", language), ("structure", outline.structure), ("encoding", decoded.encoding)),
            warnings=tuple(sentence for sentence in (decoded.warning, warning) if sentence),
        )

    def _outline(self, text: str, language: str) -> tuple[Outline, str]:
        """Find the structure; the second value explains why it is less than the language allows."""
        if language in _MARKUP:
            return from_markup(text, language), ""
        grammar = GRAMMARS.get(language)
        if grammar is None:
            return from_lines(text, language), ""
        if language not in self._installed:
            missing = f"The grammar for {language} is not installed, so symbols are unknown."
            return from_lines(text, language), f"{missing} Run: {install_command('code')}"
        function = "knowledge_mcp.readers.code.parse:parse"
        try:
            (found,) = self._sandbox.run(function, {"text": text, "language": language}, limits=self._limits)
        except SandboxFailure as failure:
            return Outline("lines"), f"The file was cut by lines, because {_FAILURES[failure.kind]}."
        return from_parse(found), "The file has syntax errors; some symbols may be missing." if found["errors"] else ""


def _decode(item: SourceItem) -> DecodedText:
    try:
        with item.open() as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise inaccessible(item, error) from error
    if len(data) > _MAX_BYTES:
        message = f"It is larger than {_MAX_BYTES >> 20} MB."
        raise unreadable(item, UnreadableReason.TOO_LARGE, message, suggestion="Split it.")
    try:
        decoded = decode_text(data, keep_returns=True)
    except NotTextError as error:
        suggestion = "If it is text, save it as UTF-8; if not, exclude it."
        raise unreadable(item, UnreadableReason.UNSUPPORTED, str(error), suggestion=suggestion) from error
    if not decoded.text.strip():
        raise unreadable(item, UnreadableReason.EMPTY, "The file has no text.", suggestion="Exclude it.")
    return decoded


# ---- sections and blocks --------------------------------------------------------------------------------------------


def _sections(text: str, outline: Outline) -> tuple[Section, ...]:
    built: list[Section] = []
    for index, symbol in enumerate(outline.symbols):
        parent = built[symbol.parent] if symbol.parent is not None else None
        start = _line_start(text, symbol.span.start)
        end = symbol.span.end
        if parent is not None:  # after a syntax error, a grammar may let a child extend beyond its parent
            start, end = max(start, parent.span.start), min(end, parent.span.end)
        built.append(
            Section(
                index=index,
                parent=symbol.parent,
                level=parent.level + 1 if parent is not None else 1,
                number=None,
                title=short_title(symbol.name),
                heading=symbol.signature,
                span=Span(start, max(start, end)),
                source=HeadingSource.MARKUP,
            )
        )
    return tuple(built)


def _line_start(text: str, place: int) -> int:
    """Return the start of the line if only white space is before the position, else the position itself."""
    start = text.rfind("\n", 0, place) + 1
    return start if not text[start:place].strip() else place


def _blocks(text: str, outline: Outline, sections: Sequence[Section]) -> tuple[Block, ...]:
    starts = line_starts(text)
    lines = len(starts) - 1
    opens = _openings(sections, outline, starts)
    cuts = sorted({0, *(line for line in outline.cuts if 0 <= line < lines)})
    if outline.structure == "lines":
        cuts = [line for line in range(lines) if text[starts[line] : starts[line + 1]].strip()] or [0]
    blocks: list[Block] = []
    path: list[int] = []
    following = 0
    for first, stop in check_each(pairwise([*cuts, lines])):
        body = text[starts[first] : starts[stop]].rstrip()
        if not body.strip():
            continue
        span = Span(starts[first], starts[first] + len(body))
        while following < len(sections) and sections[following].span.start <= span.start:
            path.append(following)
            following += 1
        path = [row for row in path if sections[row].span.end > span.start]
        last = first + body.count("\n")
        marker, kind = _marker(outline, opens, first, last)
        section = path[-1] if path else None
        depth = outline.cuts.get(first, 0)
        blocks.append(Block(kind, span, section, lines=(first + 1, last + 1), marker=marker, depth=depth))
    return tuple(blocks)


def _openings(sections: Sequence[Section], outline: Outline, starts: Sequence[int]) -> dict[int, str]:
    """Map the line of each signature to the kind of its symbol; the first one if a line has several."""
    found: dict[int, str] = {}
    line = 0
    for section in sorted(sections, key=lambda one: one.heading.start):
        while line + 1 < len(starts) - 1 and starts[line + 1] <= section.heading.start:
            line += 1
        found.setdefault(line, outline.symbols[section.index].kind)
    return found


def _marker(outline: Outline, opens: dict[int, str], first: int, last: int) -> tuple[str, BlockKind]:
    opened = next((opens[line] for line in range(first, last + 1) if line in opens), "")
    if opened:
        return opened, BlockKind.HEADING if opened == "heading" else BlockKind.CODE
    roles = {outline.roles.get(line, "") for line in (first, last)}
    role = roles.pop() if len(roles) == 1 else ""
    return role, BlockKind.CODE

"""The chunker for repositories: chunks are symbols with their location in the file, and line numbers are exact."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Sequence

from knowledge_mcp.chunking.code.packing import CodePiece, Packer, SourceFile
from knowledge_mcp.chunking.prose.passages import ChunkIds
from knowledge_mcp.language.names import without_generics
from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, text_key
from knowledge_mcp.model.document import Document, Span
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.events import log_event

MAX_CHUNKS_PER_FILE = 100
"""Maximum chunks of one file (C 11.4)."""

_LOGGER = logging.getLogger(__name__)
_JOIN = 2
"""Tokens reserved for how a tokenizer encodes the blank line between context and content."""
_HIERARCHY_LEVELS = 6
_MOST_NAMES = 8
_SMALL = 0.5
"""Share of a chunk's capacity from which on a symbol is a chunk by itself (`benchmarks/code_chunks.py`)."""


class CodeChunker:
    """Split source files by symbol, and files without symbols by lines (`ports.Chunker`).

    A file that fits is one chunk. Otherwise a symbol that fits is a chunk, small neighbours are packed together, and a
    symbol that is too long is split between its statements; its later parts have its signature and the first words of
    its documentation as context. Text without structure is split between lines, with an overlap. Chunks are whole lines
    unless a line is too long by itself. Sizes are tokens of the collection's own tokenizer, capped by the model's
    limit; if that makes chunks smaller than `max_tokens`, correspondingly more are allowed, to hold the same text.

    A chunk's `section_hierarchy` names the enclosing symbols, `section_title` its own symbol or symbols, and
    `definitions` has each symbol that begins in it: the term is its name, the alias its qualified name, the domain its
    kind, the text its signature.

    Args:
        max_tokens: maximum tokens of a chunk (50..8000).
        overlap_tokens: tokens of whole lines shared by chunks of text without structure (0..4000, less than
            `max_tokens`).
        max_chunks: maximum chunks of `max_tokens` of one file (C 11.4); what is left out is logged, and returned by
            `lines_left_out`.

    Raises:
        ConfigError: values outside their ranges, or contradictory.
    """

    def __init__(
        self, max_tokens: int = 500, overlap_tokens: int = 50, *, max_chunks: int = MAX_CHUNKS_PER_FILE
    ) -> None:
        problems = [
            f"{name} is {value}, which is outside {low}..{high}"
            for name, value, low, high in (
                ("CHUNK_MAX_TOKENS", max_tokens, 50, 8000),
                ("CHUNK_OVERLAP_TOKENS", overlap_tokens, 0, 4000),
                ("the most chunks of a file", max_chunks, 1, 100_000),
            )
            if not low <= value <= high
        ]
        if overlap_tokens >= max_tokens:
            problems.append(f"CHUNK_OVERLAP_TOKENS ({overlap_tokens}) is not less than CHUNK_MAX_TOKENS ({max_tokens})")
        if problems:
            raise ConfigError(
                "The sizes of code chunks do not fit: " + "; ".join(problems) + ".",
                suggestion="Set CHUNK_MAX_TOKENS and CHUNK_OVERLAP_TOKENS to values that fit together.",
            )
        self._max_tokens = max_tokens
        self._overlap = overlap_tokens
        self._max_chunks = max_chunks
        self.version = f"code/2 max={max_tokens} overlap={overlap_tokens} chunks={max_chunks}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Split and describe every passage, in order."""
        if not document.blocks:
            return []
        file = SourceFile(document, measure)
        contexts = CodeContexts(document, measure)

        def capacity(section: int | None) -> int:
            return max(1, min(self._max_tokens, measure.max_tokens - contexts.most(section) - _JOIN))

        packer = Packer(file, measure, capacity, self._overlap, _SMALL)
        by_lines = dict(document.metadata).get("structure") == "lines"
        pieces = packer.by_lines() if by_lines else packer.by_symbols()
        most = self._max_chunks * -(-self._max_tokens // capacity(None))
        if len(pieces) > most:
            pieces = packer.by_blocks()
        writer = _Writer(file, document_type, contexts)
        chunks = [writer.write(index, piece) for index, piece in enumerate(check_each(pieces[:most]))]
        left_out = lines_left_out(document, chunks)
        if left_out is not None:
            log_event(
                _LOGGER,
                logging.WARNING,
                "chunk_limit_reached",
                document_id=document.id,
                max_chunks=most,
                first_line_left_out=left_out[0],
                last_line_left_out=left_out[1],
            )
        return chunks


def lines_left_out(document: Document, chunks: Sequence[Chunk]) -> tuple[int, int] | None:
    """Return the first and last line in no chunk because the file had too many; None if all lines are in chunks."""
    if not document.blocks or not chunks:
        return None
    end = chunks[-1].span.end
    rest = [block for block in document.blocks if block.span.end > end]
    if not rest or rest[0].lines is None or rest[-1].lines is None:
        return None
    first = rest[0].lines[0] if rest[0].span.start >= end else document.text.count("\n", 0, end) + 1
    return first, rest[-1].lines[1]


class _Writer:
    """Create the chunks of one document."""

    def __init__(self, file: SourceFile, document_type: str, contexts: CodeContexts) -> None:
        document = file.document
        self._file = file
        self._document = document
        self._type = document_type
        self._contexts = contexts
        self._by_place = sorted(range(len(document.sections)), key=lambda row: document.sections[row].heading.start)
        self._starts = [document.sections[row].heading.start for row in self._by_place]
        self._ids = ChunkIds(document.id)
        self._openers: dict[int, str] = {}

    def write(self, index: int, piece: CodePiece) -> Chunk:
        """Create the chunk of one piece."""
        document = self._document
        content = piece.span.of(document.text)
        digest = text_key(content)
        opened = self._symbols_opened(piece.span)
        above = [one.index for one in document.ancestors(piece.section)]
        identity = self._ids.next("\x1f".join(document.sections[row].title for row in above), digest)
        parent = next((self._openers[row] for row in reversed(above) if row in self._openers), None)
        for row in opened:
            self._openers.setdefault(row, identity)
        return Chunk(
            id=identity,
            document_id=document.id,
            document_title=document.title,
            document_type=self._type,
            index=index,
            content=content,
            content_hash=digest,
            context=self._contexts.of(piece.section, piece.span),
            token_count=piece.tokens,
            span=piece.span,
            section_hierarchy=tuple(document.sections[row].title for row in above)[:_HIERARCHY_LEVELS],
            section_title=self._title(piece, opened),
            clause_number=None,
            parent_chunk_id=parent,
            chunk_type=ChunkType.GUIDANCE,
            normative=False,
            source_path=document.source_uri,
            lines=piece.lines,
            definitions=tuple(self._definition(row) for row in opened),
        )

    def _symbols_opened(self, span: Span) -> list[int]:
        """List the symbols whose signatures begin in a span."""
        return self._by_place[bisect_left(self._starts, span.start) : bisect_left(self._starts, span.end)]

    def _title(self, piece: CodePiece, opened: Sequence[int]) -> str:
        """Name the symbols of a piece, without nested ones: the one that ends in it, and those that begin in it.

        If there is none, use the symbol that the piece is part of.
        """
        sections = self._document.sections
        inner = set(opened)
        ends = [one.index for one in self._document.ancestors(self._file.begun_in(piece.span))]
        ends = ends[len(self._document.ancestors(piece.section)) :][:1]
        rows = [*ends, *(row for row in opened if sections[row].parent not in inner)]
        names = list(dict.fromkeys(sections[row].title for row in rows))
        if not names:
            return sections[piece.section].title if piece.section is not None else ""
        return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")

    def _called(self, row: int) -> str:
        """Name a symbol as code that uses it does: without generics, and an implementation by its type."""
        title, kind = self._document.sections[row].title, self._contexts.kind(row)
        if kind == "heading":
            return title
        return without_generics(title.rpartition(" for ")[2] if kind == "impl" else title)

    def _definition(self, row: int) -> Definition:
        document = self._document
        section = document.sections[row]
        qualified = ".".join(self._called(one.index) for one in document.ancestors(row))
        plain = self._called(row).replace("::", ".").rpartition(".")[2]
        others = dict.fromkeys(name for name in (plain, qualified) if name != section.title)
        return Definition(
            term=section.title,
            text=" ".join(section.heading.of(document.text).split()),
            span=section.span,
            aliases=tuple(others),
            domain=self._contexts.kind(row) or None,
        )


CONTEXT_TOKENS = 64
"""Maximum tokens of a chunk's context; never more than a quarter of the model's limit."""

_SEPARATOR = " > "
_LONGEST = 160
_MOST_LEVELS = 6
_DOC_LONGEST = 200
_DECORATION = re.compile(r"^[\s/*#!;%'\"-]+|[\s/*'\"]+$")
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)


class CodeContexts:
    """Build the context of each symbol of one document; cached per symbol.

    Attributes:
        limit: maximum tokens of a context.
    """

    def __init__(self, document: Document, measure: TokenMeasure) -> None:
        self._document = document
        self._measure = measure
        self.limit = max(1, min(CONTEXT_TOKENS, measure.max_tokens // 4))
        self._docs: dict[int, Span] = {}
        self._kinds: dict[int, str] = {}
        self._signatures: dict[int, str] = {}
        self._found: dict[tuple[int | None, bool], tuple[str, int]] = {}
        for block in document.blocks:
            if block.section is None:
                continue
            if block.marker == "doc":
                self._docs.setdefault(block.section, block.span)
            opens = document.sections[block.section].heading.start
            if block.span.start <= opens < block.span.end:
                self._kinds[block.section] = block.marker

    def kind(self, section: int) -> str:
        """Return the kind of a symbol, empty if unknown."""
        return self._kinds.get(section, "")

    def most(self, section: int | None) -> int:
        """Return the tokens of the longest context that a piece inside a symbol can have."""
        return max(self._context(section, inside)[1] for inside in (False, True))

    def of(self, section: int | None, span: Span) -> str:
        """Return the context of a piece; a symbol whose signature is in the piece is not repeated."""
        shows = section is not None and span.start <= self._document.sections[section].heading.start < span.end
        return self._context(section, not shows)[0]

    def _context(self, section: int | None, inside: bool) -> tuple[str, int]:
        key = (section, inside)
        found = self._found.get(key)
        if found is None:
            words = self._words(section, inside)
            found = self._found[key] = (words, self._measure.count_tokens(words))
        return found

    def _words(self, section: int | None, inside: bool) -> str:
        rows = [each.index for each in self._document.ancestors(section)]
        rows = (rows if inside else rows[:-1])[-_MOST_LEVELS:]
        parts = [self._document.title, *(self._signature(row) for row in rows)]
        while len(parts) > 2 and self._count(parts) > self.limit:
            del parts[1]
        if self._count(parts) > self.limit:
            parts = [self._shorten(part, self.limit // len(parts) - 1) for part in parts]
        words = _SEPARATOR.join(part for part in parts if part)
        doc = self._doc(section) if inside and section is not None else ""
        if doc and self._measure.count_tokens(f"{words}\n{doc}") <= self.limit:
            return f"{words}\n{doc}"
        return words if self._measure.count_tokens(words) <= self.limit else self._shorten(words, self.limit)

    def _signature(self, row: int) -> str:
        found = self._signatures.get(row)
        if found is None:
            section = self._document.sections[row]
            words = " ".join(section.heading.of(self._document.text).split()) or section.title
            found = self._signatures[row] = words if len(words) <= _LONGEST else section.title
        return found

    def _doc(self, row: int) -> str:
        """Return the first sentence of a symbol's documentation."""
        span = self._docs.get(row)
        if span is None:
            return ""
        lines = (
            _DECORATION.sub("", line)
            for line in self._document.text[span.start : min(span.end, span.start + 4 * _DOC_LONGEST)].split("\n")
        )
        words = " ".join(line for line in lines if line)
        sentence = _SENTENCE.match(words)
        words = sentence.group(1) if sentence else words
        return words[:_DOC_LONGEST]

    def _count(self, parts: list[str]) -> int:
        return self._measure.count_tokens(_SEPARATOR.join(parts))

    def _shorten(self, words: str, limit: int) -> str:
        """Keep the end of a path, which matters most, and the beginning of anything else."""
        spans = self._measure.token_spans(words)
        if len(spans) <= limit:
            return words
        if limit <= 0:
            return ""
        shortened = words[spans[-limit][0] :] if words == self._document.title else words[: spans[limit][0]]
        while shortened and self._measure.count_tokens(shortened) > limit:
            shortened = shortened[: len(shortened) // 2]
        return shortened.strip()

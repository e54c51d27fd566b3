"""A chunk: the passage that is embedded, found and cited."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.model.document import Box, Reference, Span

_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*+\|(?=[ \t|:]*-)[ \t|:-]*\|[ \t]*+(?:\n|\Z)", re.MULTILINE)
_BORDER = re.compile(r"(?<!\\)\|")


def plain_rows(text: str) -> str:
    """Write each row of a Markdown table as its cells, one after another; other lines stay as they are.

    Pipes and rules are half of a table's tokens and carry no meaning. Without them, a table of figures is as close to a
    question about it as prose is. No word is lost or joined to another.
    """
    return _ROW.sub(_cells, _RULE.sub("", text)) if "|" in text else text


def _cells(row: re.Match[str]) -> str:
    cells = (cell.strip() for cell in _BORDER.split(row.group(1)))
    return " ".join(cell for cell in cells if cell) + ";"


Vector = bytes
"""One embedding: little-endian IEEE float32, `4 * dimensions` bytes, unit norm; `numpy.frombuffer(v, "<f4")`."""


def numbers_of(vector: Vector) -> tuple[float, ...]:
    """Unpack a vector into its components, for callers that do not need to import numpy."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


class ChunkType(StrEnum):
    """Kinds of chunk (A-REQ-DATA-002)."""

    DEFINITION = "definition"
    REQUIREMENT = "requirement"
    RECOMMENDATION = "recommendation"
    GUIDANCE = "guidance"
    EXAMPLE = "example"
    FIGURE = "figure"
    TABLE = "table"
    OVERVIEW = "overview"
    REFERENCE = "reference"
    ANNEX = "annex"


class Modality(StrEnum):
    """The normative force of a statement."""

    REQUIREMENT = "requirement"
    RECOMMENDATION = "recommendation"
    PERMISSION = "permission"
    POSSIBILITY = "possibility"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that states a requirement, recommendation, permission or possibility.

    Attributes:
        span: the sentence in the document's canonical text.
        modality: its normative force.
        negated: "shall not", "should not" …
        clause_number: innermost numbered clause that contains it, None if there is none.
        identifier: explicit requirement id ("SRS-4.2.1", "REQ-12"), None if there is none.
        lead_in: span of the sentence that a list item depends on ("The supplier shall:"), None otherwise.
        text: the sentence, preceded by its lead-in if it has one; whitespace normalised.
        weak: no word expresses force; it is a numbered item, step or story below a heading that announces requirements.
    """

    span: Span
    modality: Modality
    negated: bool
    clause_number: str | None
    text: str
    identifier: str | None = None
    lead_in: Span | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one term.

    Attributes:
        term: as printed.
        aliases: synonyms and abbreviations as printed.
        text: the words of the definition, whitespace normalised.
        span: the whole entry in the canonical text.
        clause_number: the entry's clause ("3.1.4"), None if there is none.
        domain: subject field `<...>`, if given.
        notes: notes and examples of the entry as printed, each with its label ("Note 1 to entry: ..."), whitespace
            normalised.
        origin: the source that the entry itself names ("ISO 9000:2015, 3.1.2, modified"), empty if it names none.
    """

    term: str
    text: str
    span: Span
    aliases: tuple[str, ...] = ()
    clause_number: str | None = None
    domain: str | None = None
    notes: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage with everything that A-REQ-DATA-001 requires; times and model are in its document's record.

    Attributes:
        id: UUIDv5 of document id, position and content.
        document_id, document_title, document_type: those of its document; the type is a `DocumentType` value.
        index: position in the document from 0.
        content: exactly `span.of(document.text)`.
        content_hash: SHA-256 hex of `content`.
        context: heading path on one line, then `cut_from`; put before the content for embedding and lexical search
            only, never shown as content.
        token_count: tokens of `content`, counted by the collection's tokenizer.
        span: its location in the canonical text.
        section_hierarchy: titles with numbers from the top, at most six (clarification 4).
        section_title: title of the innermost section.
        clause_number: its clause, never truncated, None if there is none.
        parent_chunk_id: id of the chunk at the start of the enclosing section, None at the top.
        chunk_type, normative: what it is.
        page_numbers: physical pages from 1; page_labels: the printed ones, same length, empty for a page
            without one.
        lines: first and last source line from 1, None if the format has none.
        references: cross-references in it, in normal form, in order, unique.
        links: the same cross-references with kind and location.
        statements, definitions: those found in it.
        boxes: where its blocks are on the pages; may cover more than the chunk, never less; empty if unknown.
        source_path: the source's uri.
    """

    id: str
    document_id: str
    document_title: str
    document_type: str
    index: int
    content: str
    content_hash: str
    context: str
    token_count: int
    span: Span
    section_hierarchy: tuple[str, ...]
    section_title: str
    clause_number: str | None
    parent_chunk_id: str | None
    chunk_type: ChunkType
    normative: bool
    source_path: str
    page_numbers: tuple[int, ...] = ()
    page_labels: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    references: tuple[str, ...] = ()
    links: tuple[Reference, ...] = ()
    statements: tuple[Statement, ...] = ()
    definitions: tuple[Definition, ...] = ()
    boxes: tuple[Box, ...] = ()

    @property
    def cut_from(self) -> str:
        """Return what the content was cut from and must be read with: header and notes of a table, caption, lead-in."""
        return self.context.partition("\n")[2]

    @property
    def embedding_text(self) -> str:
        """Build the text for embedding and lexical search: context, blank line, content; tables without pipes."""
        content = plain_rows(self.content)
        return f"{plain_rows(self.context)}\n\n{content}" if self.context else content


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """A chunk with its vector.

    Attributes:
        chunk: the passage.
        vector: its embedding in the collection's space.
        embedding_key: SHA-256 hex of `chunk.embedding_text`; the vector may be reused under this key in the same space.
    """

    chunk: Chunk
    vector: Vector
    embedding_key: str


def embedding_key(chunk: Chunk) -> str:
    """Hash the text that is embedded; the hash is the key under which its vector may be reused."""
    return text_key(chunk.embedding_text)


def text_key(text: str) -> str:
    """Hash a text: what was embedded, a chunk's content, a name. It need not be valid Unicode."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

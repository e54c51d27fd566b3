"""What a document shows: its outline, and its blocks as text."""

from __future__ import annotations

from knowledge_mcp.model.document import BlockKind, Document


def outline(document: Document) -> list[tuple[int, str | None, str]]:
    """List the level, number and title of each section."""
    return [(section.level, section.number, section.title) for section in document.sections]


def kinds(document: Document) -> list[tuple[str, str]]:
    """List the kind and text of each block."""
    return [(block.kind.value, block.span.of(document.text)) for block in document.blocks]


def texts(document: Document, kind: BlockKind = BlockKind.PARAGRAPH) -> list[str]:
    """List the texts of the blocks of one kind."""
    return [block.span.of(document.text) for block in document.blocks if block.kind is kind]


def blocks(document: Document) -> list[str]:
    """List the texts of all blocks."""
    return [block.span.of(document.text) for block in document.blocks]

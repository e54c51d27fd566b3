"""What kind of chunk a passage is, by its place and by what stands in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.analysis.clauses import SectionFacts, SectionRole
from knowledge_mcp.chunking.passages import Piece
from knowledge_mcp.model.chunk import ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.document import BlockKind, Span

__all__ = ["chunk_type_of"]

_FIGURE = re.compile(r"\W*(?:figure|fig\.)\s", re.IGNORECASE)
_BY_ROLE = {
    SectionRole.ANNEX: ChunkType.ANNEX,
    SectionRole.OVERVIEW: ChunkType.OVERVIEW,
    SectionRole.ABBREVIATIONS: ChunkType.DEFINITION,
}


def chunk_type_of(
    piece: Piece,
    text: str,
    facts: SectionFacts,
    statements: Sequence[Statement],
    definitions: Sequence[Definition],
) -> ChunkType:
    """Classify a piece; the first that holds wins.

    1. `reference`: it stands in a bibliography or among normative references.
    2. `definition`: it stands in a terms or abbreviations clause and defines something, or definitions are half of it.
    3. `example`: it stands in a section of examples, or its body is examples only, with the code that belongs to them.
    4. `table`: half of its body or more is table.
    5. `figure`: half of its body or more is captions of figures, and it states nothing.
    6. `requirement`: it holds a mandatory statement. 7. `recommendation`: it holds an advisory one.
    8. `annex`: it stands in an annex that is none of the above.
    9. `overview`: it stands in scope, introduction, foreword, abstract, contents or the like; an abbreviations clause
       without entries is a `definition`.
    10. `guidance`: everything else, permissions and possibilities too.
    """
    role = facts.role(piece.passage.section)
    if role is SectionRole.REFERENCES:
        return ChunkType.REFERENCE
    sizes, captions = _sizes(piece, text)
    body = sum(sizes.values())
    if definitions and (
        role in {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS} or _covered(piece.span, definitions) * 2 >= body
    ):
        return ChunkType.DEFINITION
    if role is SectionRole.EXAMPLE or _only_examples(piece, sizes, body):
        return ChunkType.EXAMPLE
    if body and sizes.get(BlockKind.TABLE, 0) * 2 >= body:
        return ChunkType.TABLE
    if body and captions * 2 >= body and not statements:
        return ChunkType.FIGURE
    found = {statement.modality for statement in statements}
    if Modality.REQUIREMENT in found:
        return ChunkType.REQUIREMENT
    if Modality.RECOMMENDATION in found:
        return ChunkType.RECOMMENDATION
    return _BY_ROLE.get(role, ChunkType.GUIDANCE)


def _sizes(piece: Piece, text: str) -> tuple[dict[BlockKind, int], int]:
    """Count code points by kind of block, headings left out, and those in captions of figures."""
    sizes: dict[BlockKind, int] = {}
    captions = 0
    for block in piece.blocks:
        if block.kind is BlockKind.HEADING:
            continue
        size = max(0, min(block.span.end, piece.span.end) - max(block.span.start, piece.span.start))
        sizes[block.kind] = sizes.get(block.kind, 0) + size
        if block.kind is BlockKind.CAPTION and _FIGURE.match(text, block.span.start, block.span.end):
            captions += size
    return sizes, captions


def _only_examples(piece: Piece, sizes: dict[BlockKind, int], body: int) -> bool:
    examples = sizes.get(BlockKind.EXAMPLE, 0)
    code = sizes.get(BlockKind.CODE, 0)
    if not body or examples + code < body:
        return False
    if not code:
        return True
    return piece.passage.is_announced(next(block for block in piece.blocks if block.kind is not BlockKind.HEADING))


def _covered(span: Span, definitions: Sequence[Definition]) -> int:
    return sum(max(0, min(d.span.end, span.end) - max(d.span.start, span.start)) for d in definitions)

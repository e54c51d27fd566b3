"""What FakeLibrary holds: deposits laid out as documents, one chunk a paragraph."""

from __future__ import annotations

import re
import uuid

from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.library import Deposit, LibraryDocument
from knowledge_mcp.model.media_types import media_type_of
from knowledge_mcp.testing.fake_documents import sha256

__all__ = ["SPACE", "TIME", "document_of"]

TIME = "2026-01-15T10:00:00+00:00"
SPACE = "local/fake-words (8)"

_PAGE = re.compile(r"<!-- page (\d+) -->")
_HEADING = re.compile(r"#{1,6} (?:(?P<number>\d+(?:\.\d+)*) )?(?P<title>.+)")


def document_of(deposit: Deposit, source: str) -> LibraryDocument:
    """Lay out what a deposit brought, given its text."""
    metadata = dict(deposit.metadata)
    known_by = deposit.filename or deposit.url or sha256(source)
    document_id = sha256(f"{deposit.collection}/{known_by}")[:16]
    heading = _HEADING.search(source)
    title = metadata.get("title") or (heading["title"] if heading else "") or known_by
    origin = metadata.get("source") or deposit.url or deposit.filename or "text"
    filename = deposit.filename or (deposit.url or "").rpartition("/")[2]
    if filename:
        metadata.setdefault("filename", filename)
    text, chunks = _cut(source, document_id, title, origin)
    record = DocumentRecord(
        id=document_id, title=title, document_type="custom", source_path=origin, sha256=sha256(source),
        pipeline="fake", size=len(source.encode()), pages=max((n for c in chunks for n in c.page_numbers), default=0),
        chunk_count=len(chunks), token_count=sum(chunk.token_count for chunk in chunks), embedding_model=SPACE,
        created_at=TIME, updated_at=TIME, media_type=deposit.media_type or media_type_of(filename),
        metadata=tuple(metadata.items()),
    )  # fmt: skip
    return LibraryDocument(deposit.collection, record, text, tuple(chunks))


def _cut(source: str, document_id: str, title: str, origin: str) -> tuple[str, list[Chunk]]:
    """Take the page markers out, and make a chunk of each paragraph that is no heading."""
    text, page, section, number = "", None, "", None
    chunks: list[Chunk] = []
    for part in re.split(r"\n\s*\n|(<!-- page \d+ -->)", source):
        piece = (part or "").strip()
        if marker := _PAGE.fullmatch(piece):
            page = int(marker[1])
            continue
        if not piece:
            continue
        span = Span(len(text), len(text) + len(piece))
        text += f"{piece}\n\n"
        if heading := _HEADING.fullmatch(piece):
            section, number = heading["title"], heading["number"]
            continue
        pages = () if page is None else (page,)
        chunks.append(
            Chunk(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document_id}/{len(chunks)}/{piece}")),
                document_id=document_id, document_title=title, document_type="custom", index=len(chunks),
                content=piece, content_hash=sha256(piece), context=f"{title} > {section}" if section else title,
                token_count=len(piece.split()), span=span, section_hierarchy=(section,) if section else (),
                section_title=section, clause_number=number, parent_chunk_id=None, chunk_type=ChunkType.GUIDANCE,
                normative=False, source_path=origin, page_numbers=pages, page_labels=tuple(map(str, pages)),
            )
        )  # fmt: skip
    return text, chunks

"""Answers of the convert tools: the specified fields by their names, and what is added."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from knowledge_mcp.surfaces.contract import Response

__all__ = ["ConvertAndIngestResponse", "ConvertResponse"]


class ConvertResponse(Response):
    """Answer of `convert_to_text`."""

    status: Literal["converted"]
    text: str = Field(description="Markdown; a line `<!-- page 3 -->` stands before what is on page or slide 3.")
    title: str
    filename: str
    media_type: str
    pages: int = Field(default=0, description="Pages or slides of the whole document; absent where it has none.")
    total_chars: int = Field(description="Characters of the whole text, or of the pages that were asked for.")
    next_offset: int = Field(default=0, description="Where to go on; absent where this is the end.")
    metadata: dict[str, str] = Field(default={}, description="What the document says of itself.")
    warnings: list[str] = Field(default=[], description="What was lost or is doubtful.")


class ConvertAndIngestResponse(Response):
    """Answer of `convert_and_ingest` (D-REQ-1A)."""

    status: Literal["ingested"]
    doc_id: str = Field(description="Give it to get_document of the remote RAG server.")
    chunks: int = Field(description="Passages that can be found now.")
    collection: str
    title: str
    source: str
    pages: int = Field(default=0, description="Pages or slides; absent where the document has none.")
    unchanged: bool = Field(default=False, description="The very same document was there already.")
    replaced: bool = Field(default=False, description="An earlier version of it was replaced.")
    warnings: list[str] = Field(default=[], description="What was lost or is doubtful.")

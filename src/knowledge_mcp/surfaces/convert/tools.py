"""The convert tools: from a request to the desk where files are converted, and back to an answer."""

from __future__ import annotations

from typing import Any

from knowledge_mcp.engine.conversion import ConversionDesk
from knowledge_mcp.engine.jobs import CancelledError
from knowledge_mcp.model.errors import ConfigError, InvalidInputError
from knowledge_mcp.surfaces.contract import Call, Tool
from knowledge_mcp.surfaces.convert.requests import ConvertAndIngestRequest, ConvertRequest
from knowledge_mcp.surfaces.convert.responses import ConvertAndIngestResponse, ConvertResponse
from knowledge_mcp.surfaces.following import follow

__all__ = ["TOOLS", "convert_and_ingest", "convert_to_text"]


def convert_to_text(knowledge: Any, request: ConvertRequest, call: Call | None = None) -> ConvertResponse:
    """Answer `convert_to_text`."""
    desk, pages = _desk(knowledge), request.page_range()
    converted = follow(
        lambda tell, cancelled: desk.convert(request.uri, pages=pages, on_progress=tell, cancelled=cancelled),
        call or Call(),
        give_up=_cancelled,
    )
    text = converted.text
    if request.offset >= len(text):
        raise InvalidInputError(
            f"The text has {len(text)} characters; it ends before offset {request.offset}.",
            suggestion="Begin at next_offset of the part before, or at 0.",
        )
    end = len(text) if request.max_chars is None else request.offset + request.max_chars
    more: dict[str, Any] = {"next_offset": end} if end < len(text) else {}
    if converted.pages:
        more["pages"] = converted.pages
    if converted.metadata:
        more["metadata"] = dict(converted.metadata)
    if converted.warnings:
        more["warnings"] = list(converted.warnings)
    return ConvertResponse(
        status="converted",
        text=text[request.offset : end],
        title=converted.title,
        filename=converted.filename,
        media_type=converted.media_type,
        total_chars=len(text),
        **more,
    )


def convert_and_ingest(
    knowledge: Any, request: ConvertAndIngestRequest, call: Call | None = None
) -> ConvertAndIngestResponse:
    """Answer `convert_and_ingest`."""
    desk = _desk(knowledge)
    deposited = follow(
        lambda tell, cancelled: desk.convert_and_ingest(
            request.uri, request.collection, force=request.force, on_progress=tell, cancelled=cancelled
        ),
        call or Call(),
        give_up=_cancelled,
    )
    more: dict[str, Any] = {}
    if deposited.pages:
        more["pages"] = deposited.pages
    if deposited.unchanged:
        more["unchanged"] = True
    if deposited.replaced:
        more["replaced"] = True
    if deposited.warnings:
        more["warnings"] = list(deposited.warnings)
    return ConvertAndIngestResponse(
        status="ingested",
        doc_id=deposited.document_id,
        chunks=deposited.chunks,
        collection=deposited.collection,
        title=deposited.title,
        source=deposited.source,
        **more,
    )


def _desk(knowledge: Any) -> ConversionDesk:
    if not isinstance(knowledge, ConversionDesk):
        raise ConfigError("This knowledge base cannot convert files.", details=type(knowledge).__name__)
    return knowledge


def _cancelled() -> CancelledError:
    return CancelledError("The conversion was cancelled.")


TOOLS = (
    Tool(
        name="convert_to_text",
        title="Convert a file to text",
        description=(
            "Convert a file of this machine to Markdown: PDF, DOCX, PPTX, XLSX, images (by text recognition), HTML, "
            "CSV, JSON, XML and more. Headings, lists and tables are kept, and a line `<!-- page 3 -->` stands before "
            "what is on page or slide 3. Nothing is uploaded or indexed. For a long document pass pages, or max_chars "
            "and go on at next_offset."
        ),
        request=ConvertRequest,
        response=ConvertResponse,
        run=convert_to_text,
        run_long=convert_to_text,
    ),
    Tool(
        name="convert_and_ingest",
        title="Convert a file and ingest it",
        description=(
            "Convert a file of this machine to text here, and send the text to the RAG API, which makes it searchable "
            "in the collection. The same file again changes nothing; a changed one replaces its earlier version. "
            "Needs RAG_API_URL and RAG_API_KEY."
        ),
        request=ConvertAndIngestRequest,
        response=ConvertAndIngestResponse,
        run=convert_and_ingest,
        run_long=convert_and_ingest,
        writes=True,
    ),
)
"""All tools of the surface, in the order in which they are listed."""

"""Every adapter and surface by name: one line each, imported only when used.

A new store or embedder needs one file with a builder, one line here, and its name in `model/collection.py`; the
extensions of a reader's media type are in `model/source.py`. What has only one implementation is imported in `wiring`.
"""

from __future__ import annotations

import importlib
from typing import Any

SEEING_READERS = {
    "application/pdf": "knowledge_mcp.readers.pdf.reader:PdfReader",
    **dict.fromkeys(
        ("image/bmp", "image/jpeg", "image/png", "image/tiff"), "knowledge_mcp.readers.images.reader:ImageReader"
    ),
}
PROTECTED_MEDIA_TYPES = frozenset({"application/pdf"})
CONVERTING_READERS = dict.fromkeys(
    (
        "application/epub+zip",
        "application/rtf",
        "application/vnd.ms-excel",
        "application/vnd.ms-outlook",
        "application/vnd.oasis.opendocument.presentation",
        "application/vnd.oasis.opendocument.presentation-flat-xml",
        "application/vnd.oasis.opendocument.spreadsheet",
        "application/vnd.oasis.opendocument.spreadsheet-flat-xml",
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.text-flat-xml",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "message/rfc822",
    ),
    "knowledge_mcp.readers.office.reader:OfficeReader",
)
WEB_READERS = dict.fromkeys(("application/xhtml+xml", "text/html"), "knowledge_mcp.readers.html.reader:HtmlReader")
READERS = {
    **SEEING_READERS,
    **CONVERTING_READERS,
    **WEB_READERS,
    **dict.fromkeys(
        ("application/json", "application/xml", "text/csv"), "knowledge_mcp.readers.data.reader:DataReader"
    ),
    **dict.fromkeys(("text/asciidoc", "text/x-rst"), "knowledge_mcp.readers.markup.reader:MarkupReader"),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (
        "knowledge_mcp.readers.docx.reader:DocxReader"
    ),
    **dict.fromkeys(
        ("application/reqif+xml", "application/reqif+zip", "application/x-doorstop+zip", "text/x-strictdoc"),
        "knowledge_mcp.readers.requirements.reader:RequirementFileReader",
    ),
    "application/oscal+yaml": "knowledge_mcp.readers.data.reader:DataReader",
    "text/markdown": "knowledge_mcp.readers.markdown.reader:MarkdownReader",
    "text/plain": "knowledge_mcp.readers.plain.reader:PlainTextReader",
}
OCR_ENGINES = {
    "tesseract": "knowledge_mcp.ocr.tesseract:from_options",
}
CHUNKERS = {
    "rag": "knowledge_mcp.chunking.prose.sections:ContextualChunker",
    "repositories": "knowledge_mcp.chunking.code.chunker:CodeChunker",
    "standards": "knowledge_mcp.chunking.prose.sections:ClauseChunker",
    "planning": "knowledge_mcp.chunking.prose.recursive:RecursiveChunker",
}
EMBEDDERS = {
    "local": "knowledge_mcp.embedders.local.embedder:from_options",
    "openai": "knowledge_mcp.embedders.services.providers:from_openai_options",
    "azure": "knowledge_mcp.embedders.services.providers:from_azure_options",
}
SYNCED_SOURCES = {
    "folder": "knowledge_mcp.sources.synced.building:folder",
    "page": "knowledge_mcp.sources.synced.building:page",
    "sitemap": "knowledge_mcp.sources.synced.building:sitemap",
    "git": "knowledge_mcp.sources.synced.building:repository",
    "webdav": "knowledge_mcp.sources.synced.building:webdav",
}
STORES = {
    "sqlite": "knowledge_mcp.stores.sqlite.store:from_options",
    "postgres": "knowledge_mcp.stores.postgres.opening:from_options",
    "qdrant": "knowledge_mcp.stores.qdrant.opening:from_options",
    "chromadb": "knowledge_mcp.stores.chroma.store:from_options",
    "memory": "knowledge_mcp.stores.memory:from_options",
}
RERANKERS = {
    "local": "knowledge_mcp.ranking.rerankers:from_local_options",
    "api": "knowledge_mcp.ranking.rerankers:from_api_options",
}
LIBRARY_REVIEW = "knowledge_mcp.surfaces.viewing:run_review"
"""Runs the reviews of a library."""
REVIEWS = "knowledge_mcp.surfaces.standards.tracing:run_review"
"""Runs the reviews of the standards' tools."""
SURFACES = {
    "convert": "knowledge_mcp.surfaces.convert:SURFACE",
    "standards": "knowledge_mcp.surfaces.standards:SURFACE",
    "planning": "knowledge_mcp.surfaces.planning:SURFACE",
    "rag": "knowledge_mcp.surfaces.rag:SURFACE",
    "repositories": "knowledge_mcp.surfaces.repositories:SURFACE",
}


def load(target: str) -> Any:
    """Import `module:attribute` and return the attribute.

    Raises:
        ImportError, AttributeError: the entry in this file is wrong.
    """
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)

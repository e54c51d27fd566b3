"""Every adapter and surface by name: one line each, loaded only when it is used.

A store, an embedder, a reader … is one new file with a builder, and one line here. The contract suites of `testing` run
over these tables, so that a new line is tested by itself.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "ANALYSER",
    "CHUNKERS",
    "CLASSIFIER",
    "EMBEDDERS",
    "FUSIONS",
    "READERS",
    "SOURCES",
    "STORES",
    "SURFACES",
    "load",
]

SOURCES = {
    "files": "knowledge_mcp.sources.files:FileSource",
}
READERS = {
    "application/pdf": "knowledge_mcp.readers.pdf:PdfReader",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "knowledge_mcp.readers.docx:DocxReader",
    "text/markdown": "knowledge_mcp.readers.markdown:MarkdownReader",
}
CHUNKERS = {
    "standards": "knowledge_mcp.chunking.clauses:ClauseChunker",
}
CLASSIFIER = "knowledge_mcp.analysis.document_type:DocumentClassifier"
ANALYSER = "knowledge_mcp.lexical.analyser:EnglishAnalyser"
EMBEDDERS = {
    "local": "knowledge_mcp.embedders.local:from_options",
}
STORES = {
    "sqlite": "knowledge_mcp.stores.sqlite:from_options",
    "memory": "knowledge_mcp.stores.memory:from_options",
}
FUSIONS = {
    "rrf": "knowledge_mcp.ranking.fusion:fuse",
}
SURFACES = {
    "standards": "knowledge_mcp.surfaces.standards:SURFACE",
}


def load(target: str) -> Any:
    """Import `module:attribute` and return the attribute.

    Raises:
        ImportError, AttributeError: the line in this file is wrong.
    """
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)

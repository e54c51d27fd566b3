"""Every Protocol that outside code may implement; they use only `model`.

All are plain, synchronous and thread-safe unless stated otherwise; all raise only `KnowledgeError`s.
"""

from __future__ import annotations

from knowledge_mcp.ports.answering import Fusion, Knowledge, Reranker, Synonyms
from knowledge_mcp.ports.embedding import Embedder, TokenMeasure
from knowledge_mcp.ports.library import Fetcher, Library, MarkedPages, PageDrawer, SharedLibrary
from knowledge_mcp.ports.reading import Chunker, Classifier, OcrEngine, Reader, Source, SyncedSource
from knowledge_mcp.ports.storing import Analyser, Collection, Store

__all__ = [
    "Analyser",
    "Chunker",
    "Classifier",
    "Collection",
    "Embedder",
    "Fetcher",
    "Fusion",
    "Knowledge",
    "Library",
    "MarkedPages",
    "OcrEngine",
    "PageDrawer",
    "Reader",
    "Reranker",
    "SharedLibrary",
    "Source",
    "Store",
    "SyncedSource",
    "Synonyms",
    "TokenMeasure",
]

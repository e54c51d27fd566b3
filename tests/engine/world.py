"""A small knowledge base for tests: Markdown files in a folder, real stages, a store in memory, a hashing embedder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.ports import Embedder, Store
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.sources.files import FileSource
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.support.workers import MadeOnce
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.readers.in_process import HERE

PUMPS = """---
title: Pumping stations
edition: 2nd edition
document_type: standard
---
# Pumping stations

## 1 Scope

This standard gives requirements for unattended pumping stations.

## 2 Terms and definitions

### 2.1 outage

period in which a station moves no water

### 2.2 duty pump

pump that runs under normal load

## 3 Requirements

### 3.1 Power

The station shall run on battery for eight hours. The operator should test the battery monthly.

### 3.2 Alarms

The controller shall report every outage to the operator within one minute, see 3.1.

NOTE The operator shall not be woken for a planned outage.
"""

VALVES = """# Valve guide

## 1 Choosing a valve

A gate valve may be used where flow is rarely throttled.

## 2 Care

Each valve shall be turned once a year. Grease can be applied to the stem.
"""


@dataclass
class World:
    """Hold the folder, the parts that tests look into, and what was reported on the way."""

    folder: Path
    store: Store = field(default_factory=lambda: MemoryStore(EnglishAnalyser()))
    embedder: Embedder = field(default_factory=HashingEmbedder)
    hybrid: bool = True
    collection: str = "kb"
    slice: int = 64
    repositories: str = ""
    health_threshold_ms: int = 500
    events: list[IngestEvent] = field(default_factory=list[IngestEvent])

    def __post_init__(self) -> None:
        """Put the parts together."""
        self.base = Base(
            store=self.store,
            collection=self.collection,
            embedder=self.embedder,
            analyser=EnglishAnalyser(),
            fuse=fuse,
            hybrid=self.hybrid,
            slice=self.slice,
        )
        pipeline = Pipeline({"text/markdown": MarkdownReader(sandbox=HERE)}, ClauseChunker(), DocumentClassifier())
        self.knowledge = LocalKnowledge(
            self.base,
            MadeOnce(lambda: pipeline),
            health_threshold_ms=self.health_threshold_ms,
            repositories=self.repositories,
        )

    def write(self, name: str, text: str) -> Path:
        """Write one file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def holding(self, files: Mapping[str, str]) -> Self:
        """Write these files below the folder, ingest all of it, and return this."""
        for name, text in files.items():
            self.write(name, text)
        self.ingest()
        return self

    def ingest(
        self,
        options: IngestOptions | None = None,
        *,
        on_unreadable: Callable[[Sequence[SkippedFile]], bool] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Ingest every Markdown file of the folder."""
        return self.knowledge.ingest(
            FileSource(self.folder, patterns=("*.md",)),
            options or IngestOptions(),
            on_event=self.events.append,
            on_unreadable=on_unreadable,
            cancelled=cancelled,
        )

    def kinds(self) -> list[IngestEventKind]:
        """List the kinds of all events so far."""
        return [event.kind for event in self.events]

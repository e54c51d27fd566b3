"""A store, a small web, and services of a library over them, as several processes would open them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.jobs.journal import JobState
from knowledge_mcp.engine.jobs.store_journal import ENDED_COLLECTION, JOBS_COLLECTION, StoreJournal
from knowledge_mcp.engine.library.service import LibraryService
from knowledge_mcp.language.document_types import DocumentClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Fetched, IngestJob
from knowledge_mcp.ports import Reader, Store
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.readers.in_process import HERE

PUMPS = "# Pumps\n\n## 1 Power\n\nThe station shall run on battery for eight hours.\n"
VALVES = "# Valves\n\n## 1 Care\n\nEach valve shall be turned once a year.\n"
DEADLINE = 20.0


class Web:
    """Serve pages by address, or fail as told."""

    def __init__(self) -> None:
        self.pages: dict[str, Fetched | Exception] = {}

    def fetch(self, url: str, *, cancelled: Callable[[], bool] | None = None) -> Fetched:
        found = self.pages.get(url, NotFoundError(f"{url} answered 404."))
        if isinstance(found, Exception):
            raise found
        return found


class Held(HashingEmbedder):
    """Embed only once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.let = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.reached.set()
        assert self.let.wait(DEADLINE)
        return super().embed_documents(texts)


class Shelf:
    """Hold a store, and open services over it as processes would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Store = MemoryStore(EnglishAnalyser())
        self.web = Web()
        self.services: list[LibraryService] = []

    @staticmethod
    def ask_again(service: LibraryService) -> None:
        """Let the service ask now whether a job is to stop, as it would after two seconds."""
        service._journal._answers.clear()  # pyright: ignore[reportPrivateUsage] - nobody waits two seconds in a test

    def journal(self) -> StoreJournal:
        """Open the journal as one more process."""
        return StoreJournal(self.store, HashingEmbedder().space)

    def open(
        self,
        embedder: HashingEmbedder | None = None,
        *,
        pdf: PdfReader | None = None,
        shelf: str = "",
        holds_against: Callable[..., Mapping[str, Any]] | None = None,
    ) -> LibraryService:
        """Open one more service; with a reader of PDF it reads and draws these too."""
        base = Base(
            store=self.store,
            collection="default",
            embedder=embedder or HashingEmbedder(),
            analyser=EnglishAnalyser(),
            fuse=fuse,
        )
        readers: dict[str, Reader] = {"text/markdown": MarkdownReader(sandbox=HERE)}
        if pdf is not None:
            readers["application/pdf"] = pdf
        service = LibraryService(
            base,
            Pipeline(readers, ClauseChunker(), DocumentClassifier()),
            self.web,
            folder=self.folder,
            is_reserved=lambda name: name in {JOBS_COLLECTION, ENDED_COLLECTION, "application_docs"},
            shelf=shelf,
            drawer=pdf,
            patience=5.0,
            holds_against=holds_against,
        )
        self.services.append(service)
        return service


def ended(service: LibraryService, job_id: str) -> IngestJob:
    """Wait for a job's end."""
    pause = threading.Event()
    for _ in range(int(DEADLINE / 0.02)):
        job = service.job(job_id)
        if JobState(job.state).is_final:
            return job
        pause.wait(0.02)
    raise AssertionError(f"the job did not end: {service.job(job_id)}")

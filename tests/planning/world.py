"""A small planning store for tests: made-up papers in a folder, a reader that knows them, a fast embedder."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.chunking.prose.recursive import RecursiveChunker
from knowledge_mcp.engine.core.base import Base, counts_of
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.planning.service import EXTENSIONS, PlanningService
from knowledge_mcp.language.document_types import PlanningClassifier
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.document import BlockKind, Document, Span
from knowledge_mcp.model.errors import KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import PageEvidence, RecognisedPage, ScanOptions, Survey
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Embedder, Store
from knowledge_mcp.ranking.fusion import fuse
from knowledge_mcp.readers.scans.judging import PlanningReader
from knowledge_mcp.readers.scans.recognition import Recognition
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.planning import SURFACE
from knowledge_mcp.surfaces.planning.shapes import render_error
from knowledge_mcp.testing.embedders import HashingEmbedder

REF = "25/01178/REM"
TOOLS = {tool.name: tool for tool in SURFACE.tools}
_SUBJECTS = (
    "The development provides covered cycle parking beside the northern entrance.",
    "Vehicle movements at the junction stay below its capacity in the peak hours.",
    "A travel plan coordinator is appointed before the first home is occupied.",
    "Surface water drains to an attenuation pond south of the access road.",
    "Visibility splays of forty three metres are kept clear on both sides.",
)


@dataclass(frozen=True)
class Sheet:
    """One page of a paper: its text, and what a look at it shows; `ocr` is the confidence where it is a scan."""

    text: str = ""
    image_ratio: float = 0.0
    slanted: int = 0
    ocr: float | None = None


def paper(path: Path, *sheets: Sheet | str) -> Path:
    """Write a paper; what is text alone is a page with a text layer."""
    pages = [asdict(Sheet(each) if isinstance(each, str) else each) for each in sheets]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"pages": pages}))
    return path


def report(pages: int = 3, sentences: int = 14, topic: str = "") -> list[str]:
    """Make the text of some pages, each sentence distinguished by its number."""
    return [
        " ".join(
            f"{topic}{_SUBJECTS[number % len(_SUBJECTS)]} Paragraph {page}.{number} says so."
            for number in range(sentences)
        )
        for page in range(1, pages + 1)
    ]


class PaperReader:
    """Read papers (`SurveyingReader`); each of `hooks` is called with a page's number before it is read."""

    def __init__(self, options: ScanOptions | None = None, version: str = "1") -> None:
        self.options = options or ScanOptions()
        self._version = version
        self.hooks: list[Callable[[int], object]] = []
        self.readings: list[ScanOptions] = []

    @property
    def version(self) -> str:
        return f"paper-{self._version}"

    def with_options(self, options: ScanOptions) -> PaperReader:
        other = PaperReader(options, self._version)
        other.readings, other.hooks = self.readings, self.hooks
        return other

    def check(self, item: SourceItem) -> Inspection:
        return Inspection(len(self._sheets(item)))

    def survey(self, item: SourceItem) -> Survey:
        return Survey(
            tuple(
                PageEvidence(
                    number,
                    sheet.image_ratio,
                    images=int(sheet.image_ratio > 0),
                    slanted=sheet.slanted,
                    characters=0 if sheet.ocr is not None else len("".join(sheet.text.split())),
                )
                for number, sheet in enumerate(self._sheets(item), 1)
            ),
            is_image_file=not item.name.endswith(".pdf"),
        )

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition:
        sheets = self._sheets(item)
        return Recognition(
            {
                number: RecognisedPage(number, str(number), Span(0, 0), "ocr", confidence=sheets[number - 1].ocr or 0.0)
                for number in pages
            }
        )

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        self.readings.append(self.options)
        builder = DocumentBuilder()
        sheets = self._sheets(item)
        for number, sheet in enumerate(sheets, 1):
            for hook in self.hooks:
                hook(number)
            scanned = sheet.ocr is not None or self.options.force
            if scanned and not self.options.enabled:
                builder.page(number, method="none", note="looks scanned")
                builder.warn(f"No text on page {number} of {len(sheets)}.")
            else:
                builder.page(number, method="ocr" if scanned else "text_layer" if sheet.text else "blank")
                for paragraph in sheet.text.split("\n\n"):
                    builder.block(BlockKind.PARAGRAPH, paragraph, pages=(number,))
            if progress is not None:
                progress(number, len(sheets))
        if not builder.has_text:
            raise UnreadableDocumentError("no text.", name=item.name, reason=UnreadableReason.EMPTY, source=item.uri)
        return builder.build(item, title="")

    def close(self) -> None: ...

    def _sheets(self, item: SourceItem) -> list[Sheet]:
        with item.open() as stream:
            content = stream.read()
        if not content:
            raise UnreadableDocumentError("empty.", name=item.name, reason=UnreadableReason.EMPTY, source=item.uri)
        try:
            return [Sheet(**page) for page in json.loads(content)["pages"]]
        except (ValueError, KeyError) as exc:
            raise UnreadableDocumentError(
                "damaged.", name=item.name, reason=UnreadableReason.CORRUPTED, source=item.uri
            ) from exc


@dataclass
class World:
    """Hold a folder of papers, a folder of data, and the service over them."""

    folder: Path
    reader: PaperReader = field(default_factory=PaperReader)
    store: Store = field(default_factory=lambda: MemoryStore(EnglishAnalyser()))
    embedder: Embedder = field(default_factory=HashingEmbedder)
    roots: Sequence[Path] | None = None
    strict: bool = False
    options: ScanOptions | None = None
    patience: float = 10.0

    def __post_init__(self) -> None:
        """Put the parts together."""
        self.papers = self.folder / "papers"
        self.papers.mkdir(exist_ok=True)
        self.data = self.folder / "data"
        self.base = Base(
            store=self.store,
            collection="application_docs",
            embedder=self.embedder,
            analyser=EnglishAnalyser(),
            fuse=fuse,
        )
        judging = PlanningReader(self.reader, strict=self.strict, options=self.options)
        self.pipeline = Pipeline(dict.fromkeys(EXTENSIONS.values(), judging), RecursiveChunker(), PlanningClassifier())
        self.service = PlanningService(
            self.base,
            self.pipeline,
            folder=self.data,
            roots=(self.papers,) if self.roots is None else self.roots,
            patience=self.patience,
        )

    def paper(self, name: str, *sheets: Sheet | str) -> str:
        """Write a paper below the folder and return its path."""
        return str(paper(self.papers / name, *(sheets or report())))

    def call(self, name: str, /, *, line: Call | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a transport does, and return exactly what would be sent."""
        tool = TOOLS[name]
        request = parse(tool.request, arguments)
        return tool.answer(self.service, request, line or Call()).sent()

    def ingest(self, path: str, ref: str = REF, **more: Any) -> dict[str, Any]:
        """Call `ingest_document`."""
        return self.call("ingest_document", file_path=path, application_ref=ref, **more)

    def chunks(self) -> int:
        """Count the chunks in the store."""
        return counts_of(self.store.open("application_docs")).chunks if self.base.exists() else 0


def refusal(world: World, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that fails, and return the error object that would be sent."""
    with pytest.raises(KnowledgeError) as caught:
        world.call(name, **arguments)
    return render_error(caught.value)


class Gate:
    """Hold a reader at a page until it is let through."""

    def __init__(self, page: int = 2) -> None:
        self.page = page
        self.reached = threading.Event()
        self.open = threading.Event()

    def __call__(self, page: int) -> None:
        if page == self.page:
            self.reached.set()
            assert self.open.wait(30)

"""Page images read by an OCR engine, some at a time: what any reader of scans does with what its child renders.

The words go into a file, page by page, for the child that lays them out: a long scan is never held in memory.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import IO, Any

from knowledge_mcp.model.document import Document, Page, Span
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.ocr import LOW_CONFIDENCE, OcrPage, RecognisedPage, ScanOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.support.events import log_event

__all__ = ["Recognition", "coverage", "ranges", "recognise", "words_file"]

_logger = logging.getLogger(__name__)
NO_WORDS = "no text was recognised: a picture, or too poor to read"
BLANK = "no text on this page"


@dataclass(slots=True)
class Recognition:
    """What became of the pages: the readings by page, those that failed with the reason, those that are blank."""

    readings: dict[int, RecognisedPage] = field(default_factory=dict[int, RecognisedPage])
    failed: dict[int, str] = field(default_factory=dict[int, str])
    blank: set[int] = field(default_factory=set[int])
    error: KnowledgeError | None = None


def words_file() -> IO[str]:
    """Open the temporary file that `recognise` fills; closing it removes it."""
    return tempfile.NamedTemporaryFile("w+", encoding="utf-8", suffix=".jsonl")


def recognise(
    item: SourceItem,
    pages: Mapping[int, str],
    images: Callable[[Sequence[int]], Generator[Any]],
    engine: OcrEngine,
    options: ScanOptions,
    sink: IO[str],
    on_page: Callable[[int], None],
) -> Recognition:
    """Read pages and write their words to `sink`, one JSON object per page and line.

    Args:
        item: whose pages they are, for the log.
        pages: numbers of the pages with the reason why each is read.
        images: renders pages: yields a description (`page`, `dpi`, `blank` where there is nothing to read, `failed`
            with the reason where it cannot be rendered), and after it, unless it is one of these, the PNG.
        engine: who reads.
        options: in which language.
        sink: text file; each line holds `page`, `reason`, `scale` (points per pixel), `size`, `words`, and
            `turned` (degrees clockwise: quarter turns, and what was needed beyond them) where it was not upright.
        on_page: told after each page how many are done.

    Nothing is raised for a page that fails: its reason is kept, and the other pages are read.
    """
    result = Recognition()
    try:
        engine.ready(options.language)
    except KnowledgeError as error:
        result.failed, result.error = dict.fromkeys(pages, _said(error)), error
        return result
    waiting: dict[Future[OcrPage], dict[str, Any]] = {}
    pool = ThreadPoolExecutor(engine.workers, thread_name_prefix="ocr")
    rendered = images(sorted(pages))
    try:
        for described in rendered:
            if described.get("blank"):
                result.blank.add(described["page"])
            elif "failed" in described:
                result.failed[described["page"]] = described["failed"]
            else:
                task = pool.submit(engine.read, next(rendered), language=options.language)
                waiting[task] = described
                # one more than are read at a time, so that the next image is ready when a program ends
                while len(waiting) > engine.workers:
                    _collect(waiting, result, item, pages, sink, on_page)
                continue
            on_page(_done(result))
        while waiting:
            _collect(waiting, result, item, pages, sink, on_page)
    finally:
        rendered.close()
        pool.shutdown(cancel_futures=True)
    sink.flush()
    return result


def _collect(
    waiting: dict[Future[OcrPage], dict[str, Any]],
    result: Recognition,
    item: SourceItem,
    pages: Mapping[int, str],
    sink: IO[str],
    on_page: Callable[[int], None],
) -> None:
    """Take over what is done, at least one page."""
    for task in wait(waiting, return_when=FIRST_COMPLETED).done:
        described = waiting.pop(task)
        number: int = described["page"]
        try:
            page = task.result()
        except KnowledgeError as error:
            result.failed[number], result.error = _said(error), error
            log_event(
                _logger, logging.WARNING, "ocr_failed", source=item.name, page=number, error=error.message,
                details=error.details,
            )  # fmt: skip
        else:
            result.readings[number] = _reading(number, page)
            _report(item, number, page)
            sink.write(json.dumps(_record(number, pages[number], page, described["dpi"])) + "\n")
        on_page(_done(result))


def _done(result: Recognition) -> int:
    return len(result.readings) + len(result.failed) + len(result.blank)


def _said(error: KnowledgeError) -> str:
    return f"{error.message} {error.suggestion}".strip()


def _report(item: SourceItem, number: int, page: OcrPage) -> None:
    """Log a page at WARNING where its confidence is low (B-NFR-001)."""
    low = bool(page.words) and page.confidence < LOW_CONFIDENCE
    log_event(
        _logger,
        logging.WARNING if low else logging.DEBUG,
        "ocr_low_confidence" if low else "ocr_page",
        source=item.name,
        page=number,
        confidence=round(page.confidence, 1),
        doubtful=round(page.doubtful, 3),
        rotation=page.rotation,
    )


def _reading(number: int, page: OcrPage) -> RecognisedPage:
    note = NO_WORDS
    if page.words:
        note = f"read by text recognition, confidence {page.confidence:.0f} %"
        if page.confidence < LOW_CONFIDENCE:
            note += f" (low; {page.doubtful:.0%} of the words are doubtful)"
    return RecognisedPage(
        number, str(number), Span(0, 0), "ocr", note, round(page.confidence, 1), round(page.doubtful, 3), page.rotation
    )


def _record(number: int, reason: str, page: OcrPage, dpi: float) -> dict[str, Any]:
    words = [[word.text, word.confidence, *word.box, word.line, word.block] for word in page.words]
    size = [page.width, page.height]
    record: dict[str, Any] = {"page": number, "reason": reason, "scale": 72.0 / dpi, "size": size, "words": words}
    if page.rotation or page.skew:
        record["turned"] = [page.rotation, page.skew]
    return record


# ---- what is told of it ---------------------------------------------------------------------------------------------


def coverage(document: Document, result: Recognition) -> tuple[tuple[Page, ...], list[str]]:
    """Return a document's pages with the readings of those whose method is `ocr`, and warnings about them."""
    pages: list[Page] = []
    low: list[int] = []
    wordless: list[int] = []
    for page in document.pages:
        reading = result.readings.get(page.number)
        if page.method != "ocr" or reading is None:
            pages.append(page)
            continue
        pages.append(dataclasses.replace(reading, label=page.label, span=page.span))
        if reading.note == NO_WORDS:
            wordless.append(page.number)
        elif reading.confidence < LOW_CONFIDENCE:
            low.append(page.number)
    count = len(document.pages)
    warnings: list[str] = []
    if low:
        warnings.append(f"Text recognition was unsure (confidence below 70 %) on {ranges(low)} of {count}.")
    if wordless:
        warnings.append(f"No text was recognised on {ranges(wordless)} of {count}: pictures, or too poor to read.")
    return tuple(pages), warnings


def ranges(numbers: Sequence[int]) -> str:
    """Print ascending page numbers briefly: "page 2", "pages 2, 5-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    printed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {printed}"

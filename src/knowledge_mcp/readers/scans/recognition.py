"""Reads page images with an OCR engine, a few at a time; used by every reader of scans after its child has rendered.

The words go into a file, page by page, for the child that lays them out: a long scan is never held in memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import logging
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import IO, Any

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.multilingual.recognition import LANGUAGE_NAMES, language_of
from knowledge_mcp.language.titles import TitleCandidate, TitleSource, choose_title
from knowledge_mcp.model.document import LAYER_UNCHECKED, BlockKind, Document, HeadingSource, Page, Span
from knowledge_mcp.model.errors import KnowledgeError, TimedOutError
from knowledge_mcp.model.extraction import DOUBTFUL, LOW_CONFIDENCE, NOT_READ, OcrPage, RecognisedPage, ScanOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.shared.assembly import DocumentBuilder, is_one_clause, short_title
from knowledge_mcp.readers.shared.isolation import hindered
from knowledge_mcp.readers.shared.layout import unpacked
from knowledge_mcp.support.checkpoints import GLANCE, checkpoint, inherit_checkpoints
from knowledge_mcp.support.events import log_event

_logger = logging.getLogger(__name__)
_FRUITLESS = 3600.0
"""Number of seconds without a sure word after which the remaining pages are left unread, and named: sheets of strokes
or grain take two minutes each, and a file of 10,000 of them would occupy its reader for a week. Plates of photographs
take a few seconds each."""
NO_WORDS = "no text was recognised: an image, or too poor to read"
BLANK = "no text on this page"


@dataclass(slots=True)
class Recognition:
    """The results for the pages: readings by page, failed pages with the reason, blank pages.

    Attributes:
        fruitful: when the last sure word was read, by the monotonic clock.
        language: the languages in which the pages were read, joined by `+`.
        ready: checks another language; raises an error that says what is missing.
    """

    readings: dict[int, RecognisedPage] = field(default_factory=dict[int, RecognisedPage])
    failed: dict[int, str] = field(default_factory=dict[int, str])
    blank: set[int] = field(default_factory=set[int])
    error: KnowledgeError | None = None
    fruitful: float = field(default_factory=time.monotonic)
    language: str = ""
    ready: Callable[[str], None] | None = None


@contextlib.contextmanager
def words_file(item: SourceItem) -> Generator[IO[str]]:
    """Open the temporary file that `recognise` fills for an item, and remove it at the end.

    Raises:
        UnreadableDocumentError: there is no space for it, or for a page image.
    """
    try:
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8", suffix=".jsonl") as sink:
            yield sink
    except OSError as error:
        raise hindered(item, error) from error


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
        item: the file of the pages, for the log.
        pages: numbers of the pages, each with the reason why it is read.
        images: renders pages: yields a description (`page`, `dpi`, `blank` if there is nothing to read, `failed` with
            the reason if it cannot be rendered), followed by the PNG unless the page is blank or failed.
        engine: the OCR engine.
        options: which languages to read.
        sink: text file; each line holds `page`, `reason`, `scale` (points per pixel), `size`, `words`, `rules` if there
            are any, and `turned` (degrees clockwise: quarter turns, and the rest) if the page was not upright.
        on_page: called after each page with the number of finished pages.

    A page that fails raises no error: its reason is kept, and the other pages are read.
    """
    result = Recognition(language=options.language, ready=engine.ready)
    try:
        engine.ready(options.language)
    except KnowledgeError as error:
        result.failed, result.error = dict.fromkeys(pages, _reason(error)), error
        return result
    waiting: dict[Future[OcrPage], dict[str, Any]] = {}
    pool = ThreadPoolExecutor(engine.workers, thread_name_prefix="ocr")
    read = inherit_checkpoints(functools.partial(engine.read, language=options.language))
    rendered = images(sorted(pages))
    try:
        for described in rendered:
            if time.monotonic() - result.fruitful > _FRUITLESS:
                _give_up(result, pages, waiting)
                break
            if described.get("blank"):
                result.blank.add(described["page"])
            elif "failed" in described:
                result.failed[described["page"]] = described["failed"]
            else:
                task = pool.submit(read, next(rendered))
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
    """Collect finished pages, at least one."""
    while not (done := wait(waiting, GLANCE, return_when=FIRST_COMPLETED).done):
        checkpoint()
    for task in done:
        described = waiting.pop(task)
        number: int = described["page"]
        try:
            page = task.result()
        except KnowledgeError as error:
            result.failed[number], result.error = _reason(error), error
            log_event(
                _logger, logging.WARNING, "ocr_failed", source=item.name, page=number, error=error.message,
                details=error.details,
            )  # fmt: skip
        else:
            result.readings[number] = _reading(number, page)
            if any(len(word.text) > 2 and word.confidence >= DOUBTFUL for word in page.words):
                result.fruitful = time.monotonic()
            _report(item, number, page)
            sink.write(json.dumps(_record(number, pages[number], page, described["dpi"])) + "\n")
        on_page(_done(result))


def _give_up(result: Recognition, pages: Mapping[int, str], waiting: Mapping[Any, Mapping[str, Any]]) -> None:
    """Leave the pages that have not begun unread, and record why."""
    result.error = TimedOutError(
        f"OCR was stopped: it found no word in {_FRUITLESS / 60:.0f} minutes.",
        suggestion="Split the document, and remove pages with drawings or images.",
    )
    begun = {*result.readings, *result.failed, *result.blank, *(each["page"] for each in waiting.values())}
    result.failed.update(dict.fromkeys(set(pages) - begun, _reason(result.error)))


def _done(result: Recognition) -> int:
    return len(result.readings) + len(result.failed) + len(result.blank)


def _reason(error: KnowledgeError) -> str:
    return f"{error.message} {error.suggestion}".strip()


def _report(item: SourceItem, number: int, page: OcrPage) -> None:
    """Log a page, at WARNING if its confidence is low (B-NFR-001)."""
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
        note = f"read by OCR, confidence {page.confidence:.0f} %"
        if page.confidence < LOW_CONFIDENCE:
            note += f" (low; {page.doubtful:.0%} of the words are doubtful)"
        note += _digits(page) + _unread(page)
    confidence, doubtful = round(page.confidence, 1), round(page.doubtful, 3)
    return RecognisedPage(
        number, str(number), Span(0, 0), "ocr", note, confidence=confidence, doubtful=doubtful, rotation=page.rotation
    )


_MOST_DIGITS = 8
"""Maximum number of doubtful numbers that a note prints; it counts the others."""


def _digits(page: OcrPage) -> str:
    """Describe which words with digits are doubtful: a wrong letter is noticed, a wrong digit is not."""
    doubtful = [word.text for word in page.words if word.confidence < DOUBTFUL and any(map(str.isdigit, word.text))]
    if not doubtful:
        return ""
    shown = ", ".join(f"'{each}'" for each in dict.fromkeys(doubtful[:_MOST_DIGITS]))
    more = f" and {len(doubtful) - _MOST_DIGITS} more" if len(doubtful) > _MOST_DIGITS else ""
    return f"; doubtful digits: {shown}{more}"


_LEAST_UNREAD = 0.005
"""Minimum unread share of a page's print that is reported: about a word on a full page."""


def _unread(page: OcrPage) -> str:
    if page.unread < _LEAST_UNREAD:
        return ""
    return f"; about {max(page.unread, 0.01):.0%} {NOT_READ}: images, stamps, handwriting, or words too poor"


def _record(number: int, reason: str, page: OcrPage, dpi: float) -> dict[str, Any]:
    words = [[word.text, word.confidence, *word.box, word.line, word.block, word.stroke] for word in page.words]
    size = [page.width, page.height]
    record: dict[str, Any] = {"page": number, "reason": reason, "scale": 72.0 / dpi, "size": size, "words": words}
    if page.rules:
        record["rules"] = page.rules
    if page.rotation or page.skew:
        record["turned"] = [page.rotation, page.skew]
    return record


# ---- reporting ------------------------------------------------------------------------------------------------------


def coverage(document: Document, result: Recognition) -> tuple[tuple[Page, ...], list[str]]:
    """Return a document's pages with the readings of those whose method is `ocr`, and warnings about them."""
    pages: list[Page] = []
    low: list[int] = []
    partly: list[int] = []
    wordless: list[int] = []
    for page in document.pages:
        reading = result.readings.get(page.number)
        if page.method != "ocr" or reading is None:
            pages.append(page)
            continue
        pages.append(dataclasses.replace(reading, label=page.label, span=page.span, runs=page.runs))
        if reading.note == NO_WORDS:
            wordless.append(page.number)
        elif reading.confidence < LOW_CONFIDENCE:
            low.append(page.number)
        if NOT_READ in reading.note:
            partly.append(page.number)
    count = len(document.pages)
    warnings: list[str] = []
    if low:
        warnings.append(f"OCR is uncertain (confidence below 70 %) on {ranges(low)} of {count}.")
    if wordless:
        warnings.append(f"No text was recognised on {ranges(wordless)} of {count}: images, or too poor to read.")
    if partly:
        causes = "images, stamps, handwriting, or words too poor; their share is in the coverage"
        warnings.append(f"Some print was not read on {ranges(partly)} of {count}: {causes}.")
    return _with_languages(document.text, pages, result, warnings), warnings


_PACKS = {
    "en": "eng", "de": "deu", "fr": "fra", "es": "spa", "it": "ita", "pt": "por", "nl": "nld", "sv": "swe", "no": "nor",
    "da": "dan", "fi": "fin", "ru": "rus", "zh": "chi_sim", "ja": "jpn", "ko": "kor", "ar": "ara", "he": "heb",
    "el": "ell", "th": "tha", "hi": "hin",
}  # fmt: skip
"""Tesseract's names of the languages that `language_of` recognises."""


def _with_languages(text: str, pages: Sequence[Page], result: Recognition, warnings: list[str]) -> tuple[Page, ...]:
    """Note on pages that their language was not among those read, and add warnings with what to do."""
    others: dict[str, list[int]] = {}
    noted: list[Page] = []
    for page in pages:
        found = language_of(page.span.of(text)) if page.method == "ocr" else ""
        if found in _PACKS and _PACKS[found] not in result.language.split("+"):
            others.setdefault(found, []).append(page.number)
            note = f"{page.note}; {LANGUAGE_NAMES[found]} read as '{result.language}': some letters are doubtful"
            noted.append(dataclasses.replace(page, note=note))
        else:
            noted.append(page)
    languages = "+".join((result.language, *(_PACKS[found] for found in others)))
    for found, numbers in others.items():
        sentence = f"The recognised text of {ranges(numbers)} of {len(pages)} is {LANGUAGE_NAMES[found]}"
        warnings.append(
            f"{sentence}, and it was read as '{result.language}'. {_remedy(_PACKS[found], languages, result)}"
        )
    return tuple(noted)


def _remedy(pack: str, languages: str, result: Recognition) -> str:
    again = f"set OCR_LANGUAGE to {languages} and read it again."
    try:
        if result.ready is not None:
            result.ready(pack)
    except KnowledgeError as error:
        return f"{error.message} {error.suggestion.rstrip('.')}; then {again}"
    return f"S{again[1:]}"


def ranges(numbers: Sequence[int]) -> str:
    """Format ascending page numbers briefly: "page 2", "pages 2, 5-9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    printed = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"{'page' if len(numbers) == 1 else 'pages'} {printed}"


_SCANNED = "no text layer; looks scanned (OCR is not part of this reader)"
_CONTENTS = "contents page; its entries are the headings"

Progress = Callable[[int, int], None]


_BEGINNING = 50_000
"""Number of characters of a text whose words count as evidence for a title: about twenty printed pages."""


@dataclasses.dataclass(slots=True)
class Assembly:
    """Collects a child's messages and builds the document from them."""

    builder: DocumentBuilder = dataclasses.field(default_factory=DocumentBuilder)
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    headlines: Sequence[str] = ()
    running: str = ""
    left_out: str = ""
    scans: dict[int, str] = dataclasses.field(default_factory=dict[int, str])
    pages: int = 0

    def take(self, messages: Iterable[Any], recognition: Recognition, progress: Progress | None) -> None:
        """Process messages; `scans` is filled if the child asks for recognition instead."""
        for message in messages:
            if "progress" in message:
                self.pages = message["progress"][1]
                if progress is not None:
                    progress(*message["progress"])
            elif "scans" in message:
                self.scans = dict(message["scans"])
            elif "hidden" in message:
                self.builder.leave_out(message["hidden"])
            elif "warning" in message:
                self.builder.warn(message["warning"])
            elif "facts" in message:
                self.facts, self.headlines = message["facts"], message["headlines"]
                self.running, self.left_out = message["running"], message.get("left_out", "")
                if message.get("commented"):
                    self.builder.expect_comments()
            elif "items" in message:
                for fields in message["items"]:
                    _add_blocks(self.builder, fields)
            else:
                _name_pages(self.builder, message, recognition)

    def build(
        self, item: SourceItem, recognition: Recognition, *, metadata: Mapping[str, str], stated: str = ""
    ) -> Document:
        """Build the document, with the recognition results of its pages; `stated` is the title in its properties.

        Removed headers and footers are listed in its metadata as `running_lines`.
        """
        metadata = {**metadata, **({"running_lines": self.left_out} if self.left_out else {})}
        document = self.builder.build(item, metadata=metadata)
        document = dataclasses.replace(document, title=short_title(self._title(document, item.name, stated)))
        if not recognition.readings:
            return document
        pages, warnings = coverage(document, recognition)
        return dataclasses.replace(document, pages=pages, warnings=(*document.warnings, *warnings))

    def _title(self, document: Document, name: str, stated: str) -> str:
        first = next((page for page in document.pages if len(page.span)), None)
        recognised = first is not None and first.method == "ocr"
        sections = (each for each in document.sections if each.level == 1 and each.number is None)
        heading = next((each.title for each in sections), "")
        heading = heading if role_of_title(heading) is SectionRole.BODY else ""  # "Foreword", "Bibliography"
        candidates = [
            TitleCandidate(stated, TitleSource.STATED),
            *(
                TitleCandidate(print_, TitleSource.SMALLER if place else TitleSource.LARGEST, recognised)
                for place, print_ in enumerate(self.headlines)
                if not is_one_clause(print_, document.sections)
            ),
            TitleCandidate(heading, TitleSource.HEADING, recognised),
            TitleCandidate(self.running, TitleSource.RUNNING, recognised),
        ]
        return choose_title(candidates, name, document.text[:_BEGINNING])


def _add_blocks(builder: DocumentBuilder, fields: dict[str, Any]) -> None:
    fields["boxes"] = unpacked(fields.get("boxes", ()))
    if "lines" in fields:
        fields["lines"] = tuple(fields["lines"])
    if "heading" in fields:
        fields["source"] = HeadingSource(fields["source"])
        builder.heading(fields.pop("heading"), **fields)
    else:
        builder.block(BlockKind(fields.pop("kind")), fields.pop("text"), **fields)


def _name_pages(builder: DocumentBuilder, message: Mapping[str, Any], recognition: Recognition) -> None:
    pages: list[int] = message["pages"]
    labels: list[str] = message["labels"]
    scanned = set(message["scanned"]) - recognition.blank
    blank = set(message["blank"]) | recognition.blank
    contents = set(message["contents"])
    recognised = set(message["recognised"])
    doubtful: dict[int, str] = dict(message.get("doubtful", ()))
    for number in pages:
        label = labels[number - 1] if number <= len(labels) else str(number)
        if number in recognised:
            builder.page(number, label, method="ocr")
        elif number in scanned:
            builder.page(number, label, method="none", note=recognition.failed.get(number, _SCANNED))
        elif number in blank:
            builder.page(number, label, method="blank", note=BLANK)
        else:
            builder.page(number, label, note=_CONTENTS if number in contents else doubtful.get(number, ""))
    layers = [number for number in pages if doubtful.get(number, "").startswith(LAYER_UNCHECKED)]
    if layers:
        where = f"{ranges(layers)} of {len(pages)}"
        builder.warn(f"The text of {where} was recognised by the producer of the file; the image may differ.")
    for sentence in _losses(sorted(scanned), len(pages), recognition):
        builder.warn(sentence)


def _losses(scanned: Sequence[int], count: int, recognition: Recognition) -> list[str]:
    """Return warnings about the pages that were not read, one sentence for each reason."""
    reasons: dict[str, list[int]] = {}
    for number in scanned:
        reasons.setdefault(recognition.failed.get(number, ""), []).append(number)
    return [
        f"No text on {ranges(numbers)} of {count}: scanned. {reason}"
        if reason
        else f"No text on {ranges(numbers)} of {count}: scanned, and OCR was not run."
        for reason, numbers in reasons.items()
    ]

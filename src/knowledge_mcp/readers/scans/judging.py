"""A reader that surveys documents before it reads them, and refuses documents of only pictures, with measurements.

It wraps the PDF and the image reader when planning documents are ingested, and implements the same port.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Protocol, Self

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import (
    ExtractionVerdict,
    ScanOptions,
    Survey,
    after_reading,
    extraction_method,
    is_rendering,
    judge,
    pages_to_sample,
)
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Reader
from knowledge_mcp.readers.scans.recognition import Recognition
from knowledge_mcp.support.wording import how_many

_FORCE = "Pass force_ocr to read it anyway."
_FOUND = frozenset(
    {
        *("extraction_method", "contains_drawings", "image_ratio", "total_pages", "page_coverage"),
        *("document_type_confidence", "document_type_reason", "force_ocr", "ocr_language", "other_places"),
    }
)
"""Metadata names that a file's own front matter must not set: answers are made from them."""


class SurveyingReader(Protocol):
    """A reader that can survey a document's pages before it reads them, and read a sample of them."""

    @property
    def version(self) -> str: ...

    def check(self, item: SourceItem) -> Inspection: ...

    def survey(self, item: SourceItem) -> Survey: ...

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition: ...

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document: ...

    def with_options(self, options: ScanOptions) -> SurveyingReader: ...

    def close(self) -> None: ...


class JudgingReader:
    """Read only what is worth reading (B-FR-001 step 3, B-NFR-001). As thread-safe as the wrapped reader.

    Args:
        reader: the wrapped reader; closed with this one.
        options: how scanned pages are treated.
        threshold: average image ratio above which a document is image-based (`IMAGE_RATIO_THRESHOLD`).
        strict: True for `IMAGE_SKIP=strict`.
    """

    def __init__(
        self,
        reader: SurveyingReader,
        *,
        options: ScanOptions | None = None,
        threshold: float = 0.7,
        strict: bool = False,
    ) -> None:
        self._options = options or ScanOptions()
        self._reader = reader.with_options(self._options)
        self._owner = reader
        self._threshold = threshold
        self._strict = strict

    @property
    def version(self) -> str:
        """Return the version of the wrapped reader, with the threshold and the mode."""
        mode = "strict" if self._strict else "sample"
        return f"{self._reader.version} judged ({self._threshold:g}, {mode})"

    def with_options(self, options: ScanOptions) -> Self:
        """Return a reader with other options for scanned pages; it shares this one's children, so do not close it."""
        return type(self)(self._owner, options=options, threshold=self._threshold, strict=self._strict)

    def check(self, item: SourceItem) -> Inspection:
        """Open the file and count its pages; raise the errors of the wrapped reader."""
        return self._reader.check(item)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the document, and add what was found out about its pages to its metadata.

        The metadata get `extraction_method`, `contains_drawings`, `image_ratio`, `total_pages`, and `page_coverage`: a
        JSON list of one object per page (`page`, `method`, `image_ratio`, `paths`, `drawing`, and, if known,
        `confidence`, `doubtful`, `reason`).

        Raises:
            UnreadableDocumentError: with the reason `image_based` and the facts `image_ratio` and `total_pages` if it
            is
                skipped; otherwise as the wrapped reader.
        """
        verdict, sampled = self.judge(item)
        if verdict.skipped:
            raise _skipped(item, verdict, sampled)
        reader = self._reader
        if not verdict.recognise:
            reader = self._owner.with_options(dataclasses.replace(self._options, enabled=False))
        document = reader.read(item, progress)
        metadata = dict(document.metadata) | _facts(after_reading(verdict, document), document)
        return dataclasses.replace(document, metadata=tuple(metadata.items()))

    def judge(self, item: SourceItem) -> tuple[ExtractionVerdict, Recognition]:
        """Survey a document, read a sample of its pages if the verdict depends on it, and decide.

        Raises:
            UnreadableDocumentError: it cannot be opened or parsed.
        """
        survey = self._reader.survey(item)
        force = self._options.force
        sampled = Recognition()
        unsure = survey.image_ratio > self._threshold and not survey.is_image_file and not is_rendering(item.name)
        if unsure and not self._strict and not force and self._options.enabled:
            sampled = self._reader.sample(item, pages_to_sample(survey))
        verdict = judge(
            survey,
            item.name,
            threshold=self._threshold,
            strict=self._strict,
            force_ocr=force,
            sampled=sampled.readings,
        )
        return verdict, sampled

    def close(self) -> None:
        """End the idle child processes of the wrapped reader."""
        self._owner.close()


def _skipped(item: SourceItem, verdict: ExtractionVerdict, sampled: Recognition) -> UnreadableDocumentError:
    why = "it has the name of a rendering, and no text" if verdict.rendering else "images cover it"
    message = f"The document is image-based: {why} ({how_many(verdict.total_pages, 'page')})."
    suggestion = _FORCE
    if sampled.error is not None:
        message += f" No sample of it could be read: {sampled.error.message}"
        suggestion = sampled.error.suggestion
    return UnreadableDocumentError(
        message,
        reason=UnreadableReason.IMAGE_BASED,
        source=item.uri,
        name=item.name,
        suggestion=suggestion,
        facts={"image_ratio": f"{verdict.image_ratio:g}", "total_pages": str(verdict.total_pages)},
    )


def _facts(verdict: ExtractionVerdict, document: Document) -> dict[str, str]:
    doubtful = {page.number: getattr(page, "doubtful", None) for page in document.pages}
    pages: list[dict[str, object]] = []
    for page in verdict.pages:
        facts: dict[str, object] = {
            "page": page.number,
            "method": page.method,
            "image_ratio": page.image_ratio,
            "paths": page.paths,
            "drawing": page.drawing,
        }
        if page.confidence is not None:
            facts |= {"confidence": page.confidence, "doubtful": doubtful.get(page.number)}
        if page.reason:
            facts["reason"] = page.reason
        pages.append(facts)
    return {
        "extraction_method": extraction_method(document),
        "contains_drawings": "true" if verdict.contains_drawings else "false",
        "image_ratio": f"{verdict.image_ratio:g}",
        "total_pages": str(verdict.total_pages),
        "page_coverage": json.dumps(pages, separators=(",", ":")),
    }


class PlanningReader(JudgingReader):
    """Read planning documents (`ports.Reader`); `SourceItem.language` and `force_ocr` override the options."""

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the document with the options of its item; metadata and errors as in `JudgingReader.read`."""
        options = dataclasses.replace(
            self._options,
            force=item.force_ocr or self._options.force,
            language=item.language or self._options.language,
        )
        if options != self._options:
            return self.with_options(options).read(item, progress)
        try:
            document = super().read(item, progress)
        except UnreadableDocumentError as error:
            if error.reason is UnreadableReason.IMAGE_BASED:
                error.facts["page_coverage"] = self._skipped_pages(item)
            raise
        return _with_sizes(document)

    def _skipped_pages(self, item: SourceItem) -> str:
        pages = [
            {"page": page.number, "method": "skipped", "image_ratio": page.image_ratio, "drawing": page.is_drawing}
            for page in self._reader.survey(item).pages
        ]
        return json.dumps(pages, separators=(",", ":"))


class CountingReader:
    """Read documents without page images, and add the sizes that an ingest reports (`ports.Reader`).

    Args:
        reader: the wrapped reader; closed with this one.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @property
    def version(self) -> str:
        """Return the version of the wrapped reader."""
        return self._reader.version

    def check(self, item: SourceItem) -> Inspection:
        """Open the file; raise the errors of the wrapped reader."""
        return self._reader.check(item)

    def read(self, item: SourceItem, progress: Callable[[int, int], None] | None = None) -> Document:
        """Read the document; `total_chars` and `total_words` are added to its metadata.

        The document type that the file claims is dropped, and its metadata under names that a survey sets.
        """
        document = self._reader.read(item, progress)
        metadata = tuple((name, value) for name, value in document.metadata if name not in _FOUND)
        return _with_sizes(dataclasses.replace(document, document_type=None, metadata=metadata))

    def close(self) -> None:
        """End the idle child processes of the wrapped reader."""
        self._reader.close()


def _with_sizes(document: Document) -> Document:
    sizes = {"total_chars": str(len(document.text)), "total_words": str(len(document.text.split()))}
    return dataclasses.replace(document, metadata=tuple((dict(document.metadata) | sizes).items()))

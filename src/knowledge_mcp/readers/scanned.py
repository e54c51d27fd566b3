"""Files with pages to recognise, from a child's messages to the `Document`: what the PDF and the image reader share."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.model.document import BlockKind, Document, HeadingSource
from knowledge_mcp.model.errors import KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ocr import ScanOptions
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.assembly import DocumentBuilder
from knowledge_mcp.readers.boxes import unpacked
from knowledge_mcp.readers.isolation import run_isolated, unreadable
from knowledge_mcp.readers.recognition import (
    BLANK,
    Recognition,
    coverage,
    ranges,
    recognise,
    words_file,
)
from knowledge_mcp.support.sandbox import Given, Limits, Sandbox

__all__ = ["Assembly", "ScanReading", "engine_version", "options_version"]

_SCANNED = "no text layer; looks scanned (OCR is not part of this reader)"
_CONTENTS = "contents page; its entries are the headings"

Progress = Callable[[int, int], None]


def engine_version(engine: OcrEngine | None, options: ScanOptions) -> str:
    """Return the engine's version where it is to be used and can run, else nothing."""
    return engine.version if engine is not None and options.enabled else ""


def options_version(engine: OcrEngine | None, options: ScanOptions) -> str:
    """Print what recognition adds to a reader's version: nothing where it cannot run."""
    version = engine_version(engine, options)
    if not version:
        return ""
    forced = ", forced" if options.force else ""
    return f" ({version}, {options.language}, {options.dpi} dpi{forced})"


@dataclasses.dataclass(slots=True)
class Assembly:
    """Take a child's messages and build the document of them."""

    builder: DocumentBuilder = dataclasses.field(default_factory=DocumentBuilder)
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    headline: str = ""
    scans: dict[int, str] = dataclasses.field(default_factory=dict[int, str])
    pages: int = 0

    def take(self, messages: Iterable[Any], recognition: Recognition, progress: Progress | None) -> None:
        """Lay down what messages say; `scans` is filled where the child asks for recognition instead."""
        for message in messages:
            if "progress" in message:
                self.pages = message["progress"][1]
                if progress is not None:
                    progress(*message["progress"])
            elif "scans" in message:
                self.scans = dict(message["scans"])
            elif "facts" in message:
                self.facts, self.headline = message["facts"], message["headline"]
            elif "items" in message:
                for fields in message["items"]:
                    _lay_down(self.builder, fields)
            else:
                _name_pages(self.builder, message, recognition)

    def build(self, item: SourceItem, recognition: Recognition, *, title: str, metadata: Mapping[str, str]) -> Document:
        """Make the document, with what recognition says of its pages."""
        document = self.builder.build(item, title=title, metadata=metadata)
        if not recognition.readings:
            return document
        pages, warnings = coverage(document, recognition)
        return dataclasses.replace(document, pages=pages, warnings=(*document.warnings, *warnings))


@dataclasses.dataclass(frozen=True, slots=True)
class ScanReading:
    """Read a file whose pages may need recognition: parse, recognise what needs it, lay out.

    Attributes:
        sandbox, limits: where children run, and their bounds.
        engine: who recognises; None leaves scanned pages unread.
        options: how.
        render: job that renders pages, `module:function`.
    """

    sandbox: Sandbox
    limits: Limits
    engine: OcrEngine | None
    options: ScanOptions
    render: str

    def images(self, item: SourceItem, pages: Sequence[int]) -> Generator[Any]:
        """Render pages: a description of each, then its PNG unless it is blank."""
        arguments = {"pages": list(pages), "dpi": self.options.dpi}
        return run_isolated(self.sandbox, self.render, item, arguments, limits=self.limits)

    def run(
        self, item: SourceItem, job: str, arguments: Mapping[str, Any], progress: Progress | None
    ) -> tuple[Assembly, Recognition]:
        """Read the file by its job; where that asks for recognition, do it and call the job once more.

        Pages that are recognised count twice in what `progress` is told: once parsed, once recognised.
        """
        scans = "all" if self.options.force else "find"
        asked = {"scans": scans if self.engine is not None and self.options.enabled else "", **arguments}
        assembly, nothing = Assembly(), Recognition()
        with contextlib.closing(self._job(item, job, asked)) as messages:
            assembly.take(messages, nothing, progress)
        if not assembly.scans or self.engine is None:
            return assembly, nothing

        def report(done: int) -> None:
            if progress is not None:
                progress(assembly.pages + done, assembly.pages + len(assembly.scans))

        return self._with_recognition(item, job, arguments, assembly.scans, report)

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition:
        """Recognise some pages for what their confidence is."""
        if self.engine is None:
            return Recognition()
        with words_file() as sink:
            whole = dict.fromkeys(pages, "sample")
            render = functools.partial(self.images, item)
            return recognise(item, whole, render, self.engine, self.options, sink, _nothing)

    def _job(
        self, item: SourceItem, job: str, arguments: Mapping[str, Any], files: Mapping[str, Given] | None = None
    ) -> Generator[Any]:
        return run_isolated(self.sandbox, job, item, arguments, files=files, limits=self.limits)

    def _with_recognition(
        self,
        item: SourceItem,
        job: str,
        arguments: Mapping[str, Any],
        scans: Mapping[int, str],
        report: Callable[[int], None],
    ) -> tuple[Assembly, Recognition]:
        assert self.engine is not None
        assert self.engine is not None
        with words_file() as sink:
            recognition = recognise(
                item,
                scans,
                functools.partial(self.images, item),
                self.engine,
                self.options,
                sink,
                report,
            )
            given = {**arguments, "unread": sorted(recognition.failed)}
            assembly = Assembly()
            try:
                with (
                    Path(sink.name).open("rb") as words,
                    contextlib.closing(self._job(item, job, given, {"recognised": Given(words)})) as messages,
                ):
                    assembly.take(messages, recognition, None)
            except UnreadableDocumentError as error:
                raise _explained(item, error, recognition) from error
        return assembly, recognition


def _explained(item: SourceItem, error: UnreadableDocumentError, recognition: Recognition) -> KnowledgeError:
    """Say of a file without any text why recognition gave none."""
    if error.reason is not UnreadableReason.EMPTY:
        return error
    if recognition.error is not None:
        why = recognition.error
        failed = f"Its {ranges(sorted(recognition.failed))} could not be read: {why.message}"
        return unreadable(item, UnreadableReason.EMPTY, failed, details=why.details, suggestion=why.suggestion)
    said = "Text recognition found no text: its pages are blank, or pictures."
    return unreadable(item, UnreadableReason.EMPTY, said, suggestion="Nothing in it can be searched; leave it out.")


def _nothing(done: int) -> None:
    """Tell nobody."""


def _lay_down(builder: DocumentBuilder, fields: dict[str, Any]) -> None:
    fields["boxes"] = unpacked(fields.get("boxes", ()))
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
    for number in pages:
        label = labels[number - 1] if number <= len(labels) else str(number)
        if number in recognised:
            builder.page(number, label, method="ocr")
        elif number in scanned:
            builder.page(number, label, method="none", note=recognition.failed.get(number, _SCANNED))
        elif number in blank:
            builder.page(number, label, method="blank", note=BLANK)
        else:
            builder.page(number, label, note=_CONTENTS if number in contents else "")
    for sentence in _losses(sorted(scanned), len(pages), recognition):
        builder.warn(sentence)


def _losses(scanned: Sequence[int], count: int, recognition: Recognition) -> list[str]:
    """Say which pages were not read and why, one sentence for each reason."""
    reasons: dict[str, list[int]] = {}
    for number in scanned:
        reasons.setdefault(recognition.failed.get(number, ""), []).append(number)
    return [
        f"No text on {ranges(numbers)} of {count}: scanned. {reason}"
        if reason
        else f"No text on {ranges(numbers)} of {count}: scanned, and text recognition (OCR) was not run."
        for reason, numbers in reasons.items()
    ]

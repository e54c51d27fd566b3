"""What readers of files with scanned pages share: parse, recognise the pages that need it, lay out."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from knowledge_mcp.model.errors import KnowledgeError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.extraction import ScanOptions
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import OcrEngine
from knowledge_mcp.readers.scans.recognition import Assembly, Progress, Recognition, ranges, recognise, words_file
from knowledge_mcp.readers.shared.isolation import SandboxedReader, run_isolated, unreadable
from knowledge_mcp.support.sandbox import InputFile, Limits, Sandbox


class RecognisingReader(SandboxedReader):
    """Read files whose pages may need recognition: parse, recognise what needs it, lay out. Thread-safe.

    A subclass sets `label`, `job` (the module with the jobs `check` and `read`) and `renders` (the job that renders
    pages).

    Args:
        sandbox, limits: as in `SandboxedReader`.
        ocr: the OCR engine; whoever passes it closes it. With None, scanned pages stay unread, each with a note.
        options: how scanned pages are treated.
    """

    label: ClassVar[str]
    job: ClassVar[str]
    renders: ClassVar[str]

    def __init__(
        self,
        *,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        ocr: OcrEngine | None = None,
        options: ScanOptions | None = None,
    ) -> None:
        super().__init__(sandbox, limits or Limits())
        self._ocr = ocr
        self._options = options or ScanOptions()

    @property
    def version(self) -> str:
        """Return the reader's name and version; it must change when what the reader produces changes."""
        version = self._ocr.version if self._ocr is not None and self._options.enabled else ""
        if not version:
            return self.label
        forced = ", forced" if self._options.force else ""
        return f"{self.label} ({version}, {self._options.language}, {self._options.dpi} dpi{forced})"

    def with_options(self, options: ScanOptions) -> Self:
        """Return a reader with other options for scanned pages; it shares this one's children, so do not close it."""
        other = copy.copy(self)
        other._options = options  # noqa: SLF001 - a copy of this one
        return other

    def sample(self, item: SourceItem, pages: Sequence[int]) -> Recognition:
        """Recognise a few pages to see the result; their words are not kept."""
        if self._ocr is None:
            return Recognition()
        with words_file(item) as sink:
            whole = dict.fromkeys(pages, "sample")
            render = functools.partial(self._images, item)
            return recognise(item, whole, render, self._ocr, self._options, sink, lambda _: None)

    def _counted(self, item: SourceItem) -> Inspection:
        """Count the pages of a file with its `check` job."""
        with contextlib.closing(self._run("check", item, {})) as messages:
            pages = 0
            for message in messages:
                pages = int(message["pages"])
        return Inspection(pages=pages)

    def _seen(
        self, item: SourceItem, arguments: Mapping[str, Any], progress: Progress | None
    ) -> tuple[Assembly, Recognition]:
        """Read the file with its `read` job; if that asks for recognition, recognise and run the job again.

        Recognised pages count twice in the numbers passed to `progress`: once when parsed, once when recognised.
        """
        scans = "all" if self._options.force else "find"
        all_arguments = {"scans": scans if self._ocr is not None and self._options.enabled else "", **arguments}
        assembly, nothing = Assembly(), Recognition()
        with contextlib.closing(self._run("read", item, all_arguments)) as messages:
            assembly.take(messages, nothing, progress)
        if not assembly.scans or self._ocr is None:
            return assembly, nothing

        def report(done: int) -> None:
            if progress is not None:
                progress(assembly.pages + done, assembly.pages + len(assembly.scans))

        return self._with_recognition(item, arguments, assembly.scans, self._ocr, report)

    def _images(self, item: SourceItem, pages: Sequence[int]) -> Generator[Any]:
        """Render pages: a description of each, then its PNG unless it is blank."""
        arguments = {"pages": list(pages), "dpi": self._options.dpi}
        return run_isolated(self._sandbox, self.renders, item, arguments, limits=self._limits)

    def _run(
        self, job: str, item: SourceItem, arguments: Mapping[str, Any], files: Mapping[str, InputFile] | None = None
    ) -> Generator[Any]:
        return run_isolated(self._sandbox, f"{self.job}:{job}", item, arguments, files=files, limits=self._limits)

    def _with_recognition(
        self,
        item: SourceItem,
        arguments: Mapping[str, Any],
        scans: Mapping[int, str],
        engine: OcrEngine,
        report: Callable[[int], None],
    ) -> tuple[Assembly, Recognition]:
        with words_file(item) as sink:
            render = functools.partial(self._images, item)
            recognition = recognise(item, scans, render, engine, self._options, sink, report)
            given = {**arguments, "unread": sorted(recognition.failed)}
            assembly = Assembly()
            try:
                with (
                    Path(sink.name).open("rb") as words,
                    contextlib.closing(self._run("read", item, given, {"recognised": InputFile(words)})) as messages,
                ):
                    assembly.take(messages, recognition, None)
            except UnreadableDocumentError as error:
                raise _explained(item, error, recognition) from error
        return assembly, recognition


def _explained(item: SourceItem, error: UnreadableDocumentError, recognition: Recognition) -> KnowledgeError:
    """Explain for a file without any text why recognition found none."""
    if error.reason is not UnreadableReason.EMPTY:
        return error
    if recognition.error is not None:
        why = recognition.error
        failed = f"Its {ranges(sorted(recognition.failed))} could not be read: {why.message}"
        return unreadable(item, UnreadableReason.EMPTY, failed, details=why.details, suggestion=why.suggestion)
    explanation = "OCR found no text: its pages are blank or images."
    return unreadable(
        item, UnreadableReason.EMPTY, explanation, suggestion="Nothing in it can be searched; exclude it."
    )

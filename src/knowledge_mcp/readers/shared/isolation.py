"""Read untrusted bytes in a child process, for any reader: it gets the item's file and returns plain values.

Errors there become `UnreadableDocumentError`, the only error that readers raise for a file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
from collections.abc import Callable, Generator, Mapping
from io import BytesIO
from typing import Any, ClassVar

from knowledge_mcp.model.document import Document, hidden_sentence, summed_hidden
from knowledge_mcp.model.errors import ConfigError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.ingest import Inspection
from knowledge_mcp.model.source import SourceItem, media_type_of
from knowledge_mcp.ports import Reader
from knowledge_mcp.readers.shared.pieces import DocumentAssembly
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox import (
    FailureKind,
    InputFile,
    Limits,
    Refusal,
    Sandbox,
    SandboxFailure,
    shared_sandbox,
)

_REASONS: dict[FailureKind, tuple[UnreadableReason, str, str]] = {
    FailureKind.TOO_SLOW: (
        UnreadableReason.TOO_SLOW,
        "Reading took too long and was stopped.",
        "Split the file, or export it again with a simpler layout.",
    ),
    FailureKind.OUT_OF_MEMORY: (
        UnreadableReason.TOO_LARGE,
        "Reading needed more memory than allowed and was stopped.",
        "Split the file; if it is small, it may be designed to use up memory.",
    ),
    FailureKind.CRASHED: (
        UnreadableReason.CORRUPTED,
        "The file made its parser crash.",
        "Repair the file or export it again, then try again.",
    ),
    FailureKind.FAILED: (
        UnreadableReason.CORRUPTED,
        "The file could not be parsed.",
        "Repair the file or export it again, then try again.",
    ),
}


def run_isolated(
    sandbox: Sandbox,
    function: str,
    item: SourceItem,
    arguments: Mapping[str, Any],
    *,
    files: Mapping[str, InputFile] | None = None,
    limits: Limits | None = None,
) -> Generator[Any]:
    """Yield what `function(path=..., **arguments)` yields in a child process.

    The child gets a copy of the item's bytes, and of further `files` by the names of their arguments.

    Raises:
        UnreadableDocumentError: it cannot be opened; or the function refused it, was stopped, crashed or failed.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(item.open())
        except OSError as error:
            raise inaccessible(item, error) from error
        try:
            given = {"path": InputFile(stream, item.suffix), **(files or {})}
            values = stack.enter_context(
                contextlib.closing(sandbox.run(function, arguments, files=given, limits=limits))
            )
            yield from values
        except OSError as error:
            raise hindered(item, error) from error
        except Refusal as refusal:
            raise refused(item, refusal) from refusal
        except SandboxFailure as failure:
            reason, message, suggestion = _REASONS[failure.kind]
            raise unreadable(item, reason, message, details=failure.details, suggestion=suggestion) from failure


def unreadable(
    item: SourceItem, reason: UnreadableReason, message: str, *, details: str = "", suggestion: str | None = None
) -> UnreadableDocumentError:
    """Return the error for an item, with its name in the message."""
    return UnreadableDocumentError(
        message, reason=reason, source=item.uri, name=item.name, details=details, suggestion=suggestion
    )


def inaccessible(item: SourceItem, error: OSError) -> UnreadableDocumentError:
    """Return the error for an item that cannot be opened."""
    return unreadable(
        item,
        UnreadableReason.INACCESSIBLE,
        "The file cannot be opened.",
        details=_cause(error),
        suggestion="Check that the file exists and can be read.",
    )


def hindered(item: SourceItem, error: OSError) -> UnreadableDocumentError:
    """Return the error for an item that this machine cannot read now, for example because its disk is full."""
    return unreadable(
        item,
        UnreadableReason.INACCESSIBLE,
        f"This machine could not read the file: {_cause(error)}.",
        suggestion="Check the free space for temporary files (TMPDIR) and the free memory, then try again.",
    )


def _cause(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def refused(item: SourceItem, refusal: Refusal) -> UnreadableDocumentError:
    """Return the error for an item that a job refused."""
    return unreadable(
        item,
        UnreadableReason(refusal.reason),
        refusal.message,
        details=refusal.details,
        suggestion=refusal.suggestion or None,
    )


LIMITS = Limits(memory=1024 * 1024 * 1024, seconds=300.0, silence=120.0)
"""Default memory and time for one file."""

Progress = Callable[[int, int], None]


class SandboxedReader:
    """Base of readers that run jobs in child processes.

    Args:
        sandbox: its child processes, closed by the caller; None uses the shared ones.
        limits: memory and time for one file.
    """

    def __init__(self, sandbox: Sandbox | None = None, limits: Limits = LIMITS) -> None:
        self._sandbox = sandbox or shared_sandbox()
        self._limits = limits

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def is_installed(module: str) -> bool:
    """Return whether a module could be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


class ConvertingReader(SandboxedReader):
    """Read files by jobs in child processes. Thread-safe. A subclass sets `jobs` and `label`.

    A job is a function `(path, *, check)` that yields the messages of `readers.shared.pieces`, or `{"markdown": text}`
    pieces, which are passed to the Markdown reader; with `check` it yields at most `{"pages": number}`.

    Args:
        markdown: reads the Markdown that jobs yield; closed by the caller.
        sandbox, limits: as `SandboxedReader`.
        installed: returns whether a module is installed.
    """

    jobs: ClassVar[Mapping[str, str]] = {}
    item_jobs: ClassVar[Mapping[str, str]] = {}
    """Jobs for tables with one requirement per row: those whose columns are named in the label `columns`."""
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Modules of the extra `office` that are needed for a media type."""
    label: ClassVar[str] = "converting-1"

    def __init__(
        self,
        *,
        markdown: Reader | None = None,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        installed: Callable[[str], bool] = is_installed,
    ) -> None:
        super().__init__(sandbox, limits or LIMITS)
        self._markdown = markdown
        self._installed = installed

    @property
    def version(self) -> str:
        """Name and version of the reader; changes whenever its output changes."""
        return f"{self.label} ({self._markdown.version})" if self._markdown is not None else self.label

    def check(self, item: SourceItem) -> Inspection:
        """Check in a child process that the file is what its name says, complete and not locked.

        Raises:
            UnreadableDocumentError: it is not.
            ConfigError: a library that reads it is not installed.
        """
        pages: int | None = None
        for message in self._run(item, check=True):
            pages = message.get("pages", pages)
        return Inspection(pages=pages)

    def read(self, item: SourceItem, progress: Progress | None = None) -> Document:
        """Read the whole file.

        Raises:
            UnreadableDocumentError: as in `check`; or it has no text, or time or memory ran out.
            ConfigError: as in `check`.
        """
        laying = DocumentAssembly()
        markdown: list[str] = []
        for message in self._run(item, check=False):
            if "markdown" in message:
                markdown.append(message["markdown"])
            else:
                laying.take(message)
        document = self._from_markdown(item, laying, "".join(markdown)) if markdown else laying.build(item)
        if progress is not None:
            progress(len(document.pages) or 1, len(document.pages) or 1)
        return document

    def _arguments(self, item: SourceItem) -> dict[str, Any]:
        """Return what a job needs besides its file."""
        return {}

    def _run(self, item: SourceItem, *, check: bool) -> Any:
        media_type = item.media_type if item.media_type in self.jobs else media_type_of(item.name)
        job = self.jobs.get(media_type)
        if job is None:
            raise unreadable(item, UnreadableReason.UNSUPPORTED, f"Files of type {item.media_type} cannot be read.")
        if missing := [name for name in self.needs.get(media_type, ()) if not self._installed(name)]:
            raise ConfigError(
                "Reading this kind of file needs libraries that are not installed.",
                details=f"missing: {', '.join(missing)}",
                suggestion=f"Run: {install_command('office')}",
            )
        arguments = {"check": check, **self._arguments(item)}
        columns = dict(item.labels).get("columns")
        if columns and media_type in self.item_jobs:
            job, arguments = self.item_jobs[media_type], {"check": check, "columns": columns}
        yield from run_isolated(self._sandbox, job, item, arguments, limits=self._limits)

    def _from_markdown(self, item: SourceItem, laying: DocumentAssembly, text: str) -> Document:
        """Read the Markdown, and give the document the properties of the original file."""
        assert self._markdown is not None, "a reader whose jobs give Markdown is made with a Markdown reader"
        # a blank first line, so that what follows is never taken for front matter
        data = f"\n{text}".encode("utf-8", "replace")
        inner = dataclasses.replace(
            item, media_type="text/markdown", size=len(data), open=lambda: BytesIO(data), path=None
        )
        document = self._markdown.read(inner)
        shell = laying.build(item)
        reported = {hidden_sentence(shell.hidden), hidden_sentence(document.hidden)}
        hidden = summed_hidden((shell.hidden, document.hidden))
        warnings = [sentence for sentence in (*shell.warnings, *document.warnings) if sentence not in reported]
        return dataclasses.replace(
            document,
            id=shell.id,
            title=shell.title if laying.title or laying.untitled else document.title,
            document_type=shell.document_type or document.document_type,
            # the lines of the intermediate Markdown do not exist in the file
            blocks=tuple(dataclasses.replace(block, lines=None) for block in document.blocks),
            media_type=item.media_type,
            metadata=shell.metadata,
            warnings=(*warnings, *filter(None, [hidden_sentence(hidden)])),
            hidden=hidden,
        )

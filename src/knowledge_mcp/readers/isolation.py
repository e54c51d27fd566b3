"""Read untrusted bytes in a child process, on behalf of any reader: the item's file in, plain values out.

Maps what can go wrong there to `UnreadableDocumentError`, the one error that readers raise for a file.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path, PurePath
from typing import Any

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.support.sandbox import FailureKind, Limits, Refusal, Sandbox, SandboxFailure

__all__ = ["local_file", "run_isolated", "unreadable"]

_REASONS: dict[FailureKind, tuple[UnreadableReason, str, str]] = {
    FailureKind.TOO_SLOW: (
        UnreadableReason.TOO_SLOW,
        "Reading took too long and was stopped.",
        "Split the file, or export it anew with a simpler layout.",
    ),
    FailureKind.OUT_OF_MEMORY: (
        UnreadableReason.TOO_LARGE,
        "Reading needed more memory than allowed and was stopped.",
        "Split the file; if it is small, it may be made to exhaust its reader.",
    ),
    FailureKind.CRASHED: (
        UnreadableReason.CORRUPTED,
        "The file made its parser crash.",
        "Repair the file or export it anew, then ingest again.",
    ),
    FailureKind.FAILED: (
        UnreadableReason.CORRUPTED,
        "The file could not be parsed.",
        "Repair the file or export it anew, then ingest again.",
    ),
}


@contextlib.contextmanager
def local_file(item: SourceItem) -> Generator[Path]:
    """Give the item as a local file: its own, or a temporary copy of its bytes.

    Raises:
        UnreadableDocumentError: it cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        try:
            if item.path is not None:
                path = item.path.absolute()
                path.open("rb").close()
            else:
                copy = stack.enter_context(tempfile.NamedTemporaryFile(suffix=PurePath(item.name).suffix))
                with item.open() as stream:
                    shutil.copyfileobj(stream, copy, 1 << 20)
                copy.flush()
                path = Path(copy.name)
        except OSError as error:
            raise unreadable(
                item, UnreadableReason.INACCESSIBLE, "The file cannot be opened.", details=str(error.strerror or error)
            ) from error
        yield path


def run_isolated(
    sandbox: Sandbox, function: str, item: SourceItem, arguments: Mapping[str, Any], *, limits: Limits | None = None
) -> Generator[Any]:
    """Yield what `function(path=..., **arguments)` yields in a child process.

    Raises:
        UnreadableDocumentError: the function refused the file, was stopped, crashed or failed.
    """
    with local_file(item) as path:
        values = sandbox.run(function, {"path": str(path), **arguments}, limits=limits)
        try:
            with contextlib.closing(values):
                yield from values
        except Refusal as refusal:
            raise unreadable(
                item,
                UnreadableReason(refusal.reason),
                refusal.message,
                details=refusal.details,
                suggestion=refusal.suggestion or None,
            ) from refusal
        except SandboxFailure as failure:
            reason, message, suggestion = _REASONS[failure.kind]
            raise unreadable(item, reason, message, details=failure.details, suggestion=suggestion) from failure


def unreadable(
    item: SourceItem, reason: UnreadableReason, message: str, *, details: str = "", suggestion: str | None = None
) -> UnreadableDocumentError:
    """Make the error for an item, its name in the message."""
    said = f"{item.name}: {message}"
    return UnreadableDocumentError(said, reason=reason, source=item.uri, details=details, suggestion=suggestion)

"""Read untrusted bytes in a child process, on behalf of any reader: the item's file in, plain values out.

Maps what can go wrong there to `UnreadableDocumentError`, the one error that readers raise for a file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from pathlib import PurePath
from typing import Any

from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.support.sandbox import FailureKind, Given, Limits, Refusal, Sandbox, SandboxFailure

__all__ = ["run_isolated", "unreadable"]

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


def run_isolated(
    sandbox: Sandbox,
    function: str,
    item: SourceItem,
    arguments: Mapping[str, Any],
    *,
    files: Mapping[str, Given] | None = None,
    limits: Limits | None = None,
) -> Generator[Any]:
    """Yield what `function(path=..., **arguments)` yields in a child process.

    The child is given a copy of the item's bytes, and of the further `files` by the names of their arguments.

    Raises:
        UnreadableDocumentError: it cannot be opened; or the function refused it, was stopped, crashed or failed.
    """
    with contextlib.ExitStack() as stack:
        try:
            suffix = (item.path or PurePath(item.name)).suffix
            given = {"path": Given(stack.enter_context(item.open()), suffix), **(files or {})}
            values = stack.enter_context(
                contextlib.closing(sandbox.run(function, arguments, files=given, limits=limits))
            )
            yield from values
        except OSError as error:
            raise unreadable(
                item, UnreadableReason.INACCESSIBLE, "The file cannot be opened.", details=str(error.strerror or error)
            ) from error
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

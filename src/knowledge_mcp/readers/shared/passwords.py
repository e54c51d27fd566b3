"""Password-protected files: known passwords, asking for more, and the decrypted copy."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

from knowledge_mcp.model.errors import ConfigError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.isolation import run_isolated
from knowledge_mcp.support.files import read_whole_text
from knowledge_mcp.support.sandbox import Limits, Sandbox
from knowledge_mcp.support.sandbox_worker import Refusal

T = TypeVar("T")

_JOB = f"{__name__}:unlock_pdf"
_PIECE = 1 << 20
_WITHOUT_SECURITY = 3  # PDFium's FPDF_REMOVE_SECURITY


class Passwords:
    """Open protected files with passwords from a file or from a person. Thread-safe.

    Args:
        file: one password per line, tried in order; read again for each protected file.
        ask: called with a file's name and the reason; returns a password, or None or "" to leave the file out. It is
            called again until the password fits.
    """

    def __init__(self, file: Path | None = None, ask: Callable[[str, str], str | None] | None = None) -> None:
        self._file = file
        self._ask = ask
        self._fitting: dict[str, str] = {}
        self._refused: set[str] = set()

    def read(self, item: SourceItem, sandbox: Sandbox, limits: Limits, action: Callable[[SourceItem], T]) -> T:
        """Return `action(item)`; if a password is needed, call it with a decrypted copy.

        Raises:
            UnreadableDocumentError: `action` raised it, or no password fits.
            ConfigError: the file of passwords cannot be read.
        """
        try:
            return action(item)
        except UnreadableDocumentError as error:
            if error.reason is not UnreadableReason.PASSWORD_PROTECTED:
                raise
            with self._opened(item, sandbox, limits, error) as copy:
                return action(copy)

    @contextlib.contextmanager
    def _opened(
        self, item: SourceItem, sandbox: Sandbox, limits: Limits, error: UnreadableDocumentError
    ) -> Generator[SourceItem]:
        with tempfile.NamedTemporaryFile(suffix=item.suffix) as copy:
            for password in self._candidates(item, error.problem):
                try:
                    with contextlib.closing(
                        run_isolated(sandbox, _JOB, item, {"password": password}, limits=limits)
                    ) as pieces:
                        for piece in pieces:
                            copy.write(piece)
                except UnreadableDocumentError as refusal:
                    if refusal.reason is not UnreadableReason.PASSWORD_PROTECTED:
                        raise
                    continue
                copy.flush()
                self._fitting[item.sha256] = password
                place = Path(copy.name)
                yield dataclasses.replace(item, path=place, open=functools.partial(place.open, "rb"))
                return
        raise UnreadableDocumentError(
            error.problem,
            reason=error.reason,
            source=error.source,
            name=item.name,
            details=error.details,
            suggestion="Add its password to the file that DOCUMENT_PASSWORDS_FILE names, or save the PDF without one.",
        )

    def _candidates(self, item: SourceItem, message: str) -> Iterator[str]:
        known = self._fitting.get(item.sha256)
        yield from [known] if known is not None else self.listed()
        if self._ask is None or known is not None or item.sha256 in self._refused:
            return
        why = message
        while password := self._ask(item.name, why):
            yield password
            why = "The password is wrong."
        self._refused.add(item.sha256)

    def listed(self) -> list[str]:
        """List the passwords of the configured file, none without one.

        Raises:
            ConfigError: the file cannot be read.
        """
        if self._file is None:
            return []
        try:
            lines = read_whole_text(self._file).splitlines()
        except (OSError, UnicodeDecodeError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
            raise ConfigError(
                f"The passwords in {self._file} cannot be read: {why}.",
                suggestion="Correct DOCUMENT_PASSWORDS_FILE, or make the file readable.",
            ) from exc
        return [line for line in lines if line]


def unlock_pdf(path: str, *, password: str) -> Iterator[bytes]:
    """Yield a PDF's bytes without its protection; runs in a child process.

    Raises:
        Refusal: password_protected, if this is not its password.
    """
    import pypdfium2

    document: Any  # the library's type annotations are incomplete
    try:
        document = pypdfium2.PdfDocument(path, password=password)
    except pypdfium2.PdfiumError as error:
        message = "The PDF is protected by a password."
        raise Refusal("password_protected", message, details=f"PDFium: {error}") from error
    with contextlib.closing(document):
        opened = io.BytesIO()
        document.save(opened, flags=_WITHOUT_SECURITY)
    view = opened.getbuffer()
    for start in range(0, len(view), _PIECE):
        yield bytes(view[start : start + _PIECE])

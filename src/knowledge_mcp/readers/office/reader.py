"""Office files to `Document`: presentations, workbooks, e-books, OpenDocument texts, mails.

What converts them is named by media type below and runs in a child process; the heavy libraries are imported there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import ClassVar

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import Reader
from knowledge_mcp.readers.shared.isolation import ConvertingReader
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.sandbox import Limits, Sandbox

_OPEN_XML = "application/vnd.openxmlformats-officedocument"
_PPTX = f"{_OPEN_XML}.presentationml.presentation"
_XLSX = f"{_OPEN_XML}.spreadsheetml.sheet"
_XLS = "application/vnd.ms-excel"
_MSG = "application/vnd.ms-outlook"
_ODT = "application/vnd.oasis.opendocument.text"
_EPUB = "application/epub+zip"
_EML = "message/rfc822"

_NEEDS: Mapping[str, tuple[str, ...]] = {
    _MSG: ("olefile",),
    _PPTX: ("markitdown", "pptx"),
    _XLS: ("openpyxl", "xlrd"),
    _XLSX: ("openpyxl", "xlrd"),
}
_ROOM = "knowledge_mcp.readers.office"


def is_installed(module: str) -> bool:
    """Tell whether a module could be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


class OfficeReader(ConvertingReader):
    """Read .pptx, .xlsx, .xls, .epub, .odt, .msg and .eml files; slides are pages, the others have none. Thread-safe.

    Args:
        markdown: reads what MarkItDown makes of presentations; it stays its giver's to close.
        sandbox: where files are parsed; None makes one that this reader owns and closes.
        limits: memory and time for one file.
        installed: tells whether a module is there.
    """

    label = "office-11"
    jobs: ClassVar[Mapping[str, str]] = {
        _EML: f"{_ROOM}.mail:eml",
        _EPUB: f"{_ROOM}.books:epub",
        _MSG: f"{_ROOM}.mail:msg",
        _ODT: f"{_ROOM}.odt:odt",
        _PPTX: f"{_ROOM}.markitdown:pptx",
        _XLS: f"{_ROOM}.sheets:workbook",
        _XLSX: f"{_ROOM}.sheets:workbook",
    }

    item_jobs: ClassVar[Mapping[str, str]] = {_XLSX: "knowledge_mcp.readers.requirements.documents:workbook_items"}

    def __init__(
        self,
        *,
        markdown: Reader,
        sandbox: Sandbox | None = None,
        limits: Limits | None = None,
        installed: Callable[[str], bool] = is_installed,
    ) -> None:
        super().__init__(markdown=markdown, sandbox=sandbox, limits=limits)
        self._installed = installed

    def _prepare(self, media_type: str) -> None:
        missing = [name for name in _NEEDS.get(media_type, ()) if not self._installed(name)]
        if missing:
            raise ConfigError(
                "Reading this kind of office file needs libraries that are not installed.",
                details=f"missing: {', '.join(missing)}",
                suggestion=f"Run: {install_command('office')}",
            )

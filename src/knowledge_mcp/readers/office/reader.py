"""Office files to `Document`: presentations, workbooks, e-books, OpenDocument files, mails.

The converters are listed below by media type. They run in a child process, which imports the heavy libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from knowledge_mcp.model.source import MEDIA_TYPES, WORKBOOKS
from knowledge_mcp.readers.shared.isolation import ConvertingReader

_PPTX, _XLSX, _XLS, _MSG = (MEDIA_TYPES[each] for each in (".pptx", ".xlsx", ".xls", ".msg"))
_EPUB, _EML, _RTF = (MEDIA_TYPES[each] for each in (".epub", ".eml", ".rtf"))

_ROOM = "knowledge_mcp.readers.office"


class OfficeReader(ConvertingReader):
    """Read .pptx, .xlsx, .xls, .epub, .msg, .eml, .rtf and OpenDocument files. Slides are pages. Thread-safe.

    Of `ConvertingReader`'s arguments, `markdown` reads what MarkItDown makes of presentations.
    """

    label = "office-25"
    jobs: ClassVar[Mapping[str, str]] = {
        _EML: f"{_ROOM}.mail:eml",
        _EPUB: f"{_ROOM}.books:epub",
        _MSG: f"{_ROOM}.mail:msg",
        _RTF: f"{_ROOM}.rtf.job:rtf",
        **dict.fromkeys((MEDIA_TYPES[".odp"], MEDIA_TYPES[".fodp"]), f"{_ROOM}.odf.slides:odp"),
        **dict.fromkeys((MEDIA_TYPES[".ods"], MEDIA_TYPES[".fods"]), f"{_ROOM}.workbooks.opening:workbook"),
        **dict.fromkeys((MEDIA_TYPES[".odt"], MEDIA_TYPES[".fodt"]), f"{_ROOM}.odf.text:odt"),
        _PPTX: f"{_ROOM}.markitdown:pptx",
        _XLS: f"{_ROOM}.workbooks.opening:workbook",
        _XLSX: f"{_ROOM}.workbooks.opening:workbook",
    }
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        _MSG: ("olefile",),
        _PPTX: ("markitdown", "pptx"),
        _XLS: ("openpyxl", "xlrd"),
        _XLSX: ("openpyxl", "xlrd"),
    }

    item_jobs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (MEDIA_TYPES[each] for each in sorted(WORKBOOKS)), "knowledge_mcp.readers.requirements.documents:workbook_items"
    )

"""The reader of Word documents: a child process reads the file, this process builds the `Document`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from knowledge_mcp.model.source import MEDIA_TYPES
from knowledge_mcp.readers.shared.isolation import ConvertingReader


class DocxReader(ConvertingReader):
    """Read .docx files: structure, computed numbers, tables, notes, references and properties; there are no pages."""

    label = "docx-26"
    jobs: ClassVar[Mapping[str, str]] = {MEDIA_TYPES[".docx"]: "knowledge_mcp.readers.docx.job:docx"}

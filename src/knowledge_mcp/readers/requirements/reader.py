"""Requirement files to their items, and to documents with a section for each item; read in a child process."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from knowledge_mcp.model.document import Document, RequirementItem
from knowledge_mcp.model.errors import UnreadableReason
from knowledge_mcp.model.source import DOORSTOP, MEDIA_TYPES, WORKBOOKS, SourceItem
from knowledge_mcp.readers.shared.isolation import (
    ConvertingReader,
    Progress,
    SandboxedReader,
    inaccessible,
    run_isolated,
    unreadable,
)
from knowledge_mcp.readers.shared.pieces import item_of


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """The items of one file in order; `left_out` names sheets of a workbook that have text but no items."""

    title: str
    items: tuple[RequirementItem, ...]
    left_out: tuple[str, ...] = ()


_HERE = "knowledge_mcp.readers.requirements"
SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        ".reqif": f"{_HERE}.reqif:reqif",
        ".reqifz": f"{_HERE}.reqif:reqif",
        ".sdoc": f"{_HERE}.texts:strictdoc",
        ".yml": f"{_HERE}.texts:doorstop",
        ".rst": f"{_HERE}.texts:sphinx_needs",
        ".json": f"{_HERE}.texts:needs_json",
        **dict.fromkeys(WORKBOOKS, f"{_HERE}.tables:workbook"),
        ".xml": f"{_HERE}.results:results",
    }
)
"""The job for each extension."""


class RequirementReader(SandboxedReader):
    """Read requirement files. Thread-safe.

    Args:
        sandbox, limits: as `SandboxedReader`.
    """

    def read(self, item: SourceItem, columns: Mapping[str, str] | None = None) -> RequirementSet:
        """Read a file; a file of the right kind without items yields none.

        Args:
            item: the file.
            columns: names of a workbook's columns for `id`, `title`, `text` and `links`.

        Raises:
            UnreadableDocumentError: it is not what its extension says, damaged, too large, or a library is missing.
        """
        suffix = item.name[item.name.rfind(".") :].lower()
        job = SUFFIXES.get(suffix)
        if job is None:
            raise unreadable(item, UnreadableReason.UNSUPPORTED, f"Requirements are not read from {suffix} files.")
        arguments: dict[str, Any] = {"columns": dict(columns or {})} if suffix in WORKBOOKS else {}
        title, items, left_out = "", list[RequirementItem](), list[str]()
        for message in run_isolated(self._sandbox, job, item, arguments, limits=self._limits):
            if "id" in message:
                items.append(item_of(message, item.name[: item.name.rfind(".")]))
            else:
                title = message.get("title", title)
                left_out += message.get("left_out", ())
        return RequirementSet(title or item.name, tuple(items), tuple(left_out))


_ORIGINAL_TYPES = frozenset({MEDIA_TYPES[".reqif"], MEDIA_TYPES[".reqifz"]})
"""Media types whose files contain more than their items: rich text, types, additions of tools."""
_LARGEST_ORIGINAL = 64_000_000
"""Largest compressed file to keep, in bytes: it is read together with the structure of its document."""


class RequirementFileReader(ConvertingReader):
    """Read requirement files to documents: a section for each item, and the items themselves. Thread-safe.

    Args:
        sandbox, limits: as `ConvertingReader`.
    """

    label = "requirements-7"
    jobs: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (MEDIA_TYPES[".reqif"], MEDIA_TYPES[".reqifz"], MEDIA_TYPES[".sdoc"], DOORSTOP), f"{_HERE}.documents:document"
    )

    def read(self, item: SourceItem, progress: Progress | None = None) -> Document:
        """Read the whole file, and keep its bytes if they contain more than its items.

        Raises:
            UnreadableDocumentError, ConfigError: as `ConvertingReader.read`.
        """
        found = super().read(item, progress)
        if found.media_type not in _ORIGINAL_TYPES:
            return found
        try:
            with item.open() as stream:
                packed = base64.b64encode(zlib.compress(stream.read(), 9)).decode()
        except OSError as error:
            raise inaccessible(item, error) from error
        if len(packed) <= _LARGEST_ORIGINAL:
            return replace(found, original=packed)
        message = "The file is too large to be kept as a whole: an export has its items, but not their rich text."
        return replace(found, warnings=(*found.warnings, message))

    def _arguments(self, item: SourceItem) -> dict[str, Any]:
        return {"media_type": item.media_type}

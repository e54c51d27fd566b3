"""Where a document's bytes come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["SourceItem"]


@dataclass(frozen=True, slots=True)
class SourceItem:
    """Name one file, page or object to be read.

    Attributes:
        uri: stable identifier; for files the absolute path.
        name: file name with extension, for messages and for the document id.
        media_type: e.g. `application/pdf`, as told by extension and checked by the reader's magic bytes.
        size: bytes.
        sha256: lower-case hex of the bytes.
        open: open the bytes anew for reading; the caller closes. Raises OSError.
        path: the local file, when there is one (readers in child processes use it).
    """

    uri: str
    name: str
    media_type: str
    size: int
    sha256: str
    open: Callable[[], BinaryIO]
    path: Path | None = None

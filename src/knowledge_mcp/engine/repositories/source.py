"""The files of one indexing with what is known of them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import PurePosixPath

from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import Checkout, SourceItem
from knowledge_mcp.ports import Source


def is_plain(path: str) -> bool:
    """Tell whether a path of Git's is written in a scan as it is: no byte in it that is escaped there."""
    return path.isprintable() and "\\" not in path and not any("\ud800" <= sign <= "\udfff" for sign in path)


class RepositoryFiles:
    """Label the files that a scan finds, and keep apart what it passes over (`ports.Source`).

    Args:
        scan: finds them.
        copy: where they are from.
        only: paths that may have changed; None for all.

    Attributes:
        hashes: by uri of each file found, the hash of its bytes; whole once `items` has run.
        skipped: files passed over.
    """

    def __init__(self, scan: Source, copy: Checkout, only: Collection[str] | None) -> None:
        self._scan = scan
        self._copy = copy
        self._only = only
        self._dirty = frozenset(change.path for change in copy.dirty)
        self.hashes: dict[str, str] = {}
        self.skipped: list[SkippedFile] = []

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the files in the order of the scan."""
        for entry in self._scan.items():
            if isinstance(entry, SkippedFile):
                self.skipped.append(entry)
            elif self._only is None or entry.name in self._only:
                self.hashes[entry.uri] = entry.sha256
                yield dataclasses.replace(entry, labels=tuple(self._labels(entry).items()), document_id=entry.uri)

    def _labels(self, item: SourceItem) -> dict[str, str]:
        labels = {
            "repository": self._copy.name,
            "path": item.name,
            "extension": PurePosixPath(item.name).suffix,
            "commit": self._copy.commit,
        }
        if item.name in self._dirty:
            labels["uncommitted"] = "true"
        if item.path is not None:
            try:
                modified = datetime.fromtimestamp(item.path.stat().st_mtime, UTC)
                labels["modified_at"] = modified.isoformat(timespec="seconds").replace("+00:00", "Z")
            except OSError:
                return labels  # it has just gone; reading it will say so
        return labels


def uncommitted_fingerprint(copy: Checkout) -> str:
    """Hash what differs from the commit, with sizes and times, so that a later change shows; empty where nothing does.

    Args:
        copy: the files.
    """
    if not copy.dirty:
        return ""
    digest = hashlib.sha256()
    for change in copy.dirty:
        digest.update(os.fsencode(f"{change.kind}\0{change.path}\0"))
        try:
            status = (copy.folder / change.path).lstat()
            digest.update(f"{status.st_size}\0{status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(b"gone\n")
    return digest.hexdigest()

"""A git repository of documents that is kept in sync; fills `ports.SyncedSource`.

It is cloned below the list of sources and brought to where its branch is, with the care that the clones of code get:
no hook, filter, submodule or link out of it is followed. Its documents are named by their place in the clone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import Checkout, SourceItem
from knowledge_mcp.model.syncing import SourceSpec
from knowledge_mcp.sources.git.source import GitClones
from knowledge_mcp.sources.synced.folder import FolderSource


def check_below(below: str) -> str:
    """Return a folder inside a repository, if it is one.

    Raises:
        InvalidInputError: it leads out of it.
    """
    path = PurePosixPath(below)
    if path.is_absolute() or ".." in path.parts or ".git" in path.parts or "\x00" in below:
        raise InvalidInputError(
            "That is no folder inside the repository.", suggestion="Give it as `docs` or `docs/standards`."
        )
    return "" if str(path) == "." else str(path)


class RepositorySource:
    """Hold a branch of a repository to be the truth of the documents in it.

    Args:
        spec: what was registered.
        clones: where the clone lies, under the name of the source.
    """

    def __init__(self, spec: SourceSpec, clones: GitClones) -> None:
        self._spec = spec
        self._clones = clones
        self._place = clones.place(spec.name)
        self._files = FolderSource(self._place / check_below(spec.below), spec.patterns, links=False)
        self._checkout: Checkout | None = None

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        spec = self._spec
        there = self._place.is_dir()
        checkout = self._clones.clone(spec.location, name=spec.name, branch=spec.branch)
        self._checkout = self._clones.update(spec.name, branch=spec.branch) if there else checkout
        folder = self._place / check_below(spec.below)
        if Path(os.path.realpath(folder)) != Path(os.path.realpath(self._place)) / check_below(spec.below):
            raise InvalidInputError(f"'{spec.below}' of {spec.location} is a link.", suggestion="Name its target.")
        if not folder.is_dir():
            raise NotFoundError(
                f"{spec.location} has no folder '{spec.below}' at {self._checkout.commit[:12]}.",
                suggestion="Register the source again with the folder's new name.",
            )
        return self._files.look(records)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        assert self._checkout is not None, "look comes first"
        labels = (("repository", self._checkout.url), ("commit", self._checkout.commit))
        for item in self._files.items():
            yield replace(item, labels=(*item.labels, *labels)) if isinstance(item, SourceItem) else item

    def owns(self, record: DocumentRecord) -> bool:
        return self._files.owns(record)

    def is_gone(self, record: DocumentRecord) -> bool:
        return self._files.is_gone(record)

    @property
    def unread(self) -> tuple[str, ...]:
        return ()

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self._files.left_out

    def close(self) -> None:
        """Leave the clone for the next sync."""

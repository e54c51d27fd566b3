"""Local folders and git repositories of documents that are kept in sync; both implement `ports.SyncedSource`.

A repository is cloned below the list of sources and updated to its branch, with the same protection as clones of
code: no hook, filter, submodule or link out of it is followed. Its documents are named by their path in the clone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import LeftOut, SkippedFile, SourceSpec
from knowledge_mcp.model.source import Checkout, SourceItem
from knowledge_mcp.ports import SyncedSource
from knowledge_mcp.sources.files import MOST_EXAMPLES, FileSource, lies_below, spelled
from knowledge_mcp.sources.git.source import GitClones


class FolderSource:
    """Treat a folder as authoritative for the files below it.

    Args:
        folder: its path.
        patterns: as for `FileSource`; empty for every document.
        links: whether to follow links to files outside the folder, as their creator wants.
        own_data: as for `FileSource`.
        mounts: mount points above and below the folder at the last sync; files on one that is not mounted now do not
            count as deleted.
        remember: stores the present mount points.
    """

    only_names = False

    def __init__(
        self,
        folder: Path,
        patterns: Sequence[str] = (),
        *,
        links: bool = True,
        own_data: Path | None = None,
        mounts: Collection[str] = (),
        remember: Callable[[Collection[str]], None] = lambda _: None,
    ) -> None:
        self._folder = spelled(folder)
        self._patterns = tuple(patterns) or None
        self._links = links
        self._own_data = own_data
        self._mounts = mounts
        self._remember = remember
        self._files: FileSource | None = None
        self._unmounted: tuple[str, ...] = ()

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        if not self._folder.is_dir():
            raise NotFoundError(
                f"There is no folder {self._folder}.",
                suggestion="If it is on a disk that is not mounted, mount it; if not, remove the source.",
            )
        self._unmounted = tuple(each for each in self._mounts if not os.path.ismount(each))
        for each in self._unmounted:
            if self._folder.is_relative_to(each):
                raise NotFoundError(
                    f"The disk at {each} is not mounted, on which {self._folder} was at the last sync.",
                    suggestion="Mount it. If the folder has moved, remove the source and add it again.",
                )
        self._files = FileSource(self._folder, patterns=self._patterns, links=self._links, own_data=self._own_data)
        return not self._files.is_empty()

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        assert self._files is not None, "look comes first"
        for each in self._unmounted:
            message = f"{each}: A disk that was mounted here at the last sync is no longer mounted."
            advice = "Mount it. If it is no longer used, remove the source and add it again."
            yield SkippedFile(each, UnreadableReason.INACCESSIBLE, message, advice)
        yield from self._files.items()
        above = next((str(each) for each in (self._folder, *self._folder.parents) if os.path.ismount(each)), "")
        self._remember({*filter(None, [above]), *self._unmounted, *self._files.mounts})

    def owns(self, record: DocumentRecord) -> bool:
        return lies_below(self._folder, record)

    def is_gone(self, record: DocumentRecord) -> bool:
        assert self._files is not None, "look comes first"
        if any(Path(record.source_path).is_relative_to(each) for each in self._unmounted):
            return False
        return self._files.is_gone(record.source_path)

    @property
    def unread(self) -> tuple[str, ...]:
        return self._unmounted

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        return self._files.left_out if self._files is not None else ()

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


class OtherSources:
    """What a sync of one source must know about the other registered sources.

    Args:
        sources: the others; none has been walked.
    """

    def __init__(self, sources: Sequence[SyncedSource]) -> None:
        self._sources = sources

    def own(self, record: DocumentRecord) -> bool:
        """Return whether a document came from one of them."""
        return any(each.owns(record) for each in self._sources)

    def gone(self, records: Sequence[DocumentRecord]) -> list[DocumentRecord]:
        """List documents whose files certainly no longer exist; folders without such documents are not walked."""
        found: dict[str, DocumentRecord] = {}
        for source in self._sources:
            if type(source) is not FolderSource:  # looking into a repository means fetching it
                continue
            missing = [each for each in records if source.owns(each) and not os.path.lexists(each.source_path)]
            try:
                if missing and source.look(records):
                    found |= {each.id: each for each in missing if source.is_gone(each)}
            except NotFoundError:  # not reachable now, and nothing of it is known to be gone
                continue
        return list(found.values())


def check_below(below: str) -> str:
    """Return a folder inside a repository after checking it.

    Raises:
        InvalidInputError: it leads outside.
    """
    path = PurePosixPath(below)
    if path.is_absolute() or ".." in path.parts or ".git" in path.parts or "\x00" in below:
        raise InvalidInputError(
            "This is not a folder in the repository.", suggestion="Use a path such as `docs` or `docs/standards`."
        )
    return "" if str(path) == "." else str(path)


class RepositorySource(FolderSource):
    """Treat a branch of a repository as authoritative for its documents; its folder is in the clone.

    Args:
        spec: the registration.
        clones: contains the clone, under the name of the source.
    """

    def __init__(self, spec: SourceSpec, clones: GitClones) -> None:
        self._spec = spec
        self._clones = clones
        self._place = clones.place(spec.name)
        super().__init__(self._place / check_below(spec.below), spec.patterns, links=False)
        self._checkout: Checkout | None = None

    def look(self, records: Sequence[DocumentRecord]) -> bool:
        spec = self._spec
        there = self._place.is_dir()
        checkout = self._clones.clone(spec.location, name=spec.name, branch=spec.branch)
        self._checkout = self._clones.update(spec.name, branch=spec.branch) if there else checkout
        folder = self._place / check_below(spec.below)
        if Path(os.path.realpath(folder)) != Path(os.path.realpath(self._place)) / check_below(spec.below):
            raise InvalidInputError(
                f"'{spec.below}' of {spec.location} is a link.", suggestion="Give its target instead."
            )
        if not folder.is_dir():
            raise NotFoundError(
                f"{spec.location} has no folder '{spec.below}' at {self._checkout.commit[:12]}.",
                suggestion="Register the source again with the folder's new name.",
            )
        return super().look(records)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        assert self._checkout is not None, "look comes first"
        labels = (("repository", self._checkout.url), ("commit", self._checkout.commit))
        for item in super().items():
            yield replace(item, labels=(*item.labels, *labels)) if isinstance(item, SourceItem) else item

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        absent = self._checkout.absent if self._checkout is not None else ()
        below = [each for each in absent if PurePosixPath(each).is_relative_to(self._spec.below)]
        advice = "Register their repositories separately."
        found = [LeftOut("submodules", len(below), tuple(below[:MOST_EXAMPLES]), advice)] if below else []
        return (*super().left_out, *found)

"""Files of a repository on this disk at one commit, and what changed between two."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ChangeKind(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """Tell what became of one file.

    Attributes:
        kind: what.
        path: where it is, or was if it is deleted, below the root; bytes that are no UTF-8 as surrogates.
        old_path: where a renamed file was, else empty.
        same: whether a renamed file's bytes are unchanged.
    """

    kind: ChangeKind
    path: str
    old_path: str = ""
    same: bool = False


@dataclass(frozen=True, slots=True)
class RemoteHead:
    """Tell where a remote branch stands: its name and its commit."""

    branch: str
    commit: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """Describe files on this disk at one commit.

    Attributes:
        name: the repository's name.
        url: where it comes from, without credentials; empty where that is not known.
        folder: where its files are.
        branch: empty where none is checked out.
        commit: full hash; empty for a folder that is no repository, or has no commit yet.
        shallow: whether older commits are missing.
        local: a working tree that is not ours, and is only read.
        dirty: what differs from the commit; empty for a clone of ours.
    """

    name: str
    url: str
    folder: Path
    branch: str
    commit: str
    shallow: bool = False
    local: bool = False
    dirty: tuple[FileChange, ...] = ()

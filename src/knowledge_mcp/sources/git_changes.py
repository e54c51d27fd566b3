"""What differs between two commits, and between a working tree and its commit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.git_process import GitCall, GitProgram

__all__ = ["ChangeKind", "FileChange", "changes_between", "has_commit", "uncommitted"]

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_RENAMES = 20_000


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


def has_commit(git: GitProgram, folder: Path, commit: str, call: GitCall) -> bool:
    """Tell whether a clone holds a commit with its tree."""
    if not _COMMIT.fullmatch(commit):
        raise InvalidInputError("That is not a commit's full hash.", suggestion="Give all 40 hexadecimal digits.")
    code, _ = git.run(["cat-file", "-e", f"{commit}^{{tree}}"], call, folder=folder, allowed=(0, 1, 128))
    return code == 0


def changes_between(git: GitProgram, folder: Path, old: str, new: str, call: GitCall) -> tuple[FileChange, ...] | None:
    """List what changed from one commit to another, in order of path; None where the clone lacks one of them.

    Raises:
        InvalidInputError: `old` or `new` is no full commit hash.
    """
    if not (has_commit(git, folder, old, call) and has_commit(git, folder, new, call)):
        return None
    arguments = ["diff-tree", "-r", "-z", "--raw", "-M", f"-l{_MOST_RENAMES}", "--no-ext-diff", "--no-textconv"]
    _, output = git.run([*arguments, "--ignore-submodules=all", old, new, "--"], call, folder=folder)
    return tuple(sorted(_parsed(output), key=lambda change: change.path))


def _parsed(output: bytes) -> Iterator[FileChange]:
    fields = iter(output.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        status = head.split(b" ")[-1].decode("ascii")
        path = os.fsdecode(next(fields))
        if status[0] in "RC":
            target = os.fsdecode(next(fields))
            if status[0] == "R":
                yield FileChange(ChangeKind.RENAMED, target, path, same=status[1:] == "100")
            else:
                yield FileChange(ChangeKind.ADDED, target)
        else:
            kind = {"A": ChangeKind.ADDED, "D": ChangeKind.DELETED}.get(status[0], ChangeKind.MODIFIED)
            yield FileChange(kind, path)


def uncommitted(git: GitProgram, folder: Path, call: GitCall) -> tuple[FileChange, ...]:
    """List what a working tree has that its commit has not, ignored files aside; nothing of it is touched."""
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"]
    _, prefix = git.run(["rev-parse", "--show-prefix"], call, folder=folder)
    _, output = git.run([*arguments, "--", "."], call, folder=folder)
    above = os.fsdecode(prefix.removesuffix(b"\n"))
    found: list[FileChange] = []
    for field in output.split(b"\0"):
        if len(field) < 4:
            continue
        status, path = field[:2].decode("ascii"), os.fsdecode(field[3:]).removeprefix(above)
        kind = ChangeKind.ADDED if status in {"??", "A ", "AM"} else ChangeKind.MODIFIED
        found.append(FileChange(ChangeKind.DELETED if "D" in status else kind, path))
    return tuple(sorted(found, key=lambda change: change.path))

"""The source files of a folder: a clone, a working tree, or any folder of code."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.sources.scan_content import objection_to
from knowledge_mcp.sources.scan_ignore import IgnoreRules, Patterns
from knowledge_mcp.sources.scan_types import (
    DEFAULT_EXCLUDES,
    DEFAULT_EXTENSIONS,
    DEFAULT_NAMES,
    EVER_EXCLUDED,
    media_type_of,
)
from knowledge_mcp.support.path_text import printable_path

__all__ = ["DEFAULT_EXCLUDES", "DEFAULT_EXTENSIONS", "MAX_FILE_BYTES", "RepositoryScan"]

MAX_FILE_BYTES = 1024 * 1024
"""Larger files are left out (C 11.4)."""


class RepositoryScan:
    """Find the source files of a folder (`ports.Source`).

    An item's uri is `repository:path`, its name the path below the root, with `/`, as it can be stored and shown: bytes
    that are no UTF-8, control characters and backslashes stand as escapes. Without a repository's name the uri is the
    absolute path. Nothing is followed out of the root: symbolic links are left out, `.git` is never entered. Folders
    are walked one at a time, in order of their names, so that memory depends on the largest folder, not on the tree.

    Args:
        root: the folder.
        repository: the repository's name, first part of each uri.
        include_extensions: what is looked at instead of `DEFAULT_EXTENSIONS` and `DEFAULT_NAMES`; a leading dot may be
            missing, case does not matter, and a whole name ("Dockerfile") counts too.
        exclude_patterns: left out beside `DEFAULT_EXCLUDES`, as in a `.gitignore` at the root.
        gitignore: whether `.gitignore` files are heeded.
        max_bytes: larger files are left out.
        only: the only paths to look at, written as an item's name is; None for all.

    Attributes:
        left_out: how many files and folders were passed over without a word, by reason: `extension`, `excluded`,
            `ignored`, `empty`; filled while `items` runs.

    Raises:
        NotFoundError: there is nothing at `root`.
        InvalidInputError: `root` is no folder, or an extension is empty.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        repository: str = "",
        include_extensions: Sequence[str] | None = None,
        exclude_patterns: Sequence[str] = (),
        gitignore: bool = True,
        max_bytes: int = MAX_FILE_BYTES,
        only: Collection[str] | None = None,
    ) -> None:
        self._root = Path(os.path.realpath(Path(root).expanduser()))
        if not os.path.lexists(self._root):
            raise NotFoundError(f"There is no folder {printable_path(self._root)}.", suggestion="Check the path.")
        if not os.path.isdir(self._root):  # noqa: PTH112 - a folder closed to us is an answer here, not an OSError
            raise InvalidInputError(f"{printable_path(self._root)} is not a folder.", suggestion="Give a folder.")
        self._repository = repository
        self._only = only
        chosen = (*DEFAULT_EXTENSIONS, *DEFAULT_NAMES) if include_extensions is None else tuple(include_extensions)
        if any(not one.strip(" .") for one in chosen):
            raise InvalidInputError("An extension is empty.", suggestion="Give extensions such as '.py'.")
        self._wanted = frozenset(one.strip().lower().lstrip(".") for one in chosen)
        self._excludes = Patterns([*DEFAULT_EXCLUDES, *EVER_EXCLUDED, *exclude_patterns])
        self._gitignore = gitignore
        self._max_bytes = max_bytes
        self.left_out: Counter[str] = Counter()

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield files and skipped files, each folder's files by name first, then the folders below it by name."""
        self.left_out.clear()
        rules = IgnoreRules(self._root) if self._gitignore else None
        waiting: list[tuple[str, IgnoreRules | None]] = [("", rules)]
        while waiting:
            folder, rules = waiting.pop()
            try:
                entries = _entries(self._root / folder)
            except OSError as error:
                message = (
                    f"{printable_path(folder)}: The folder cannot be read: {error.strerror or type(error).__name__}."
                )
                yield self._skipped(folder, UnreadableReason.INACCESSIBLE, message, "Check its permissions.")
                continue
            folders: list[tuple[str, IgnoreRules | None]] = []
            for name, is_folder in entries:
                path = f"{folder}/{name}" if folder else name
                if is_folder:
                    if self._enters(name, path, rules):
                        folders.append((path, rules.below(self._root, path) if rules is not None else None))
                elif self._only is not None and printable_path(path) not in self._only:
                    continue
                elif self._looks_at(name, path, rules):
                    found = self._file(path)
                    if found is not None:
                        yield found
            waiting.extend(reversed(folders))

    def _enters(self, name: str, path: str, rules: IgnoreRules | None) -> bool:
        if name.lower() == ".git":
            return False
        return not self._is_left_out(path, rules, folder=True)

    def _looks_at(self, name: str, path: str, rules: IgnoreRules | None) -> bool:
        lower = name.lower()
        if lower == ".git":
            return False
        extension = lower.rpartition(".")[2] if "." in lower.lstrip(".") else ""
        if lower not in self._wanted and extension not in self._wanted:
            self.left_out["extension"] += 1
            return False
        return not self._is_left_out(path, rules, folder=False)

    def _is_left_out(self, path: str, rules: IgnoreRules | None, *, folder: bool) -> bool:
        if self._excludes.verdict(path, folder=folder):
            self.left_out["excluded"] += 1
            return True
        if rules is not None and rules.ignores(path, folder=folder):
            self.left_out["ignored"] += 1
            return True
        return False

    def _file(self, path: str) -> SourceItem | SkippedFile | None:
        """Read one file and look at its bytes; whatever goes wrong becomes a skipped file with its reason."""
        place = self._root / path
        name = printable_path(path)
        try:
            status = place.lstat()
            if stat.S_ISLNK(status.st_mode):
                message = f"{name}: It is a symbolic link, which is not followed."
                return self._skipped(path, UnreadableReason.UNSUPPORTED, message, "Index what it points to.")
            if not stat.S_ISREG(status.st_mode):
                return self._skipped(path, UnreadableReason.UNSUPPORTED, f"{name}: It is no regular file.", "")
            if status.st_size > self._max_bytes:
                return self._too_large(path, status.st_size)
            with _open(place) as stream:
                data = stream.read(self._max_bytes + 1)
        except OSError as error:
            message = f"{name}: The file cannot be read: {error.strerror or type(error).__name__}."
            return self._skipped(path, UnreadableReason.INACCESSIBLE, message, "Check its permissions.")
        if len(data) > self._max_bytes:
            return self._too_large(path, len(data))
        if not data.strip():
            self.left_out["empty"] += 1
            return None
        media_type = media_type_of(Path(path).name)
        objection = objection_to(data, media_type)
        if objection is not None:
            return self._skipped(path, objection.reason, f"{name}: {objection.message}", objection.suggestion)
        return SourceItem(
            uri=self._uri(path),
            name=name,
            media_type=media_type,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            open=functools.partial(_open, place),
            path=place,
        )

    def _too_large(self, path: str, size: int) -> SkippedFile:
        message = f"{printable_path(path)}: It has {size:,} bytes, more than {self._max_bytes:,}."
        return self._skipped(path, UnreadableReason.TOO_LARGE, message, "Leave it out, or split it.")

    def _skipped(self, path: str, reason: UnreadableReason, message: str, suggestion: str) -> SkippedFile:
        return SkippedFile(self._uri(path), reason, message, suggestion)

    def _uri(self, path: str) -> str:
        return f"{self._repository}:{printable_path(path)}" if self._repository else printable_path(self._root / path)


def _entries(folder: Path) -> list[tuple[str, bool]]:
    """List a folder's names with whether each is a folder; links are not, wherever they lead."""
    with os.scandir(folder) as found:
        return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)


def _open(path: Path) -> BinaryIO:
    """Open a regular file; never a link put in its place, never a pipe that would wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file")
        return io.open(descriptor, "rb")  # noqa: UP020 - the builtin's name is this function's
    except BaseException:
        os.close(descriptor)
        raise

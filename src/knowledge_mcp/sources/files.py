"""Files of the local machine: one file, a folder with all documents below it, or several of both.

Everything found is accounted for: it is read, skipped with a reason, or counted as something that is not a document.
"""

from __future__ import annotations

import errno
import fnmatch
import functools
import hashlib
import io
import os
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, UnreadableReason
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import (
    DOCUMENT_PATTERNS,
    DOORSTOP,
    MEDIA_TYPES,
    MOST_BYTES,
    OSCAL_YAML,
    UNKNOWN,
    YAML,
    SourceItem,
    is_unread_document,
    kind_of,
    media_type_of,
)
from knowledge_mcp.ports import Source
from knowledge_mcp.sources.scan.files import DEFAULT_EXTENSIONS, DEFAULT_NAMES, is_lfs_pointer
from knowledge_mcp.support.files import (
    NotRegularError,
    identity_of,
    is_folder,
    open_beneath,
    open_same,
    path_of_text,
    path_text,
)

_DOORSTOP = ".doorstop.yml"
"""The file that marks a folder of Doorstop items."""
_HEAD = 1024
_Found = tuple[Path, Callable[[], SourceItem | SkippedFile]]
"""A file that was found, and the function that opens it."""

_CODE = frozenset(DEFAULT_EXTENSIONS) - frozenset(MEDIA_TYPES)
_PROJECT_FILES = frozenset(
    "cmakelists.txt composer.json package-lock.json package.json pom.xml requirements.txt tsconfig.json".split()
)
"""Names of files for tools, although their extensions are those of documents."""
_WRITTEN_BY_TOOLS = frozenset({"__pycache__", "bower_components", "node_modules", "site-packages"})
_PICTURES = frozenset(extension for extension, kind in MEDIA_TYPES.items() if kind.startswith("image/"))
_ARCHIVES = frozenset(".7z .bz2 .gz .rar .tar .tgz .xz .zip".split())
MOST_EXAMPLES = 3
"""Maximum paths named for each kind of ignored files."""
_MOST_KINDS = 20
"""Maximum kinds named for a folder; further ones are counted together."""

_ADVICE: Mapping[str, str] = {
    "source code": "Index repositories with pk-mcp.",
    "pictures": "Pass --pattern with their names, such as '*.png', to read them by OCR.",
    "archives": "Unpack them to read their documents.",
}


class FileSource:
    """Find files to ingest.

    Args:
        path: a file, or a folder.
        recursive: for a folder, whether to include folders below it.
        patterns: file name patterns (`*`, `?`, `[...]`), case-insensitive; a single file need not match any. None reads
            every document, including unsupported kinds, which are then refused by name.
        links: whether to follow symbolic links; if untrusted users can write there, ignore them.
        own_data: the folder with this program's own data; it is not entered from a folder above it.

    Folders behind symbolic links are entered only if they are inside `path`, and no folder twice; hidden files and
    folders (leading dot) are ignored.

    Raises:
        NotFoundError: `path` does not exist.
        InvalidInputError: `path` is neither a file nor a folder, or there is no pattern.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        recursive: bool = True,
        patterns: Sequence[str] | None = None,
        links: bool = True,
        own_data: Path | None = None,
    ) -> None:
        self.path: Final = spelled(path)
        self._own_data = None if own_data is None else _identity(own_data)
        self._recursive = recursive
        self._links = links
        self._has_patterns = patterns is not None
        self._patterns = tuple(pattern.lower() for pattern in (DOCUMENT_PATTERNS if patterns is None else patterns))
        self._left: dict[str, list[str]] = {}
        self._counts: Counter[str] = Counter()
        self._mounts: list[str] = []
        if not self._patterns:
            raise InvalidInputError("No file name pattern was given.", suggestion="Give a pattern such as '*.pdf'.")
        if not os.path.lexists(self.path):
            raise NotFoundError(f"There is no file or folder {path_text(self.path)}.", suggestion="Check the path.")
        # os.path, not Path: an overlong name or an unreadable folder is an answer here, not an OSError
        if os.path.exists(self.path) and not (os.path.isfile(self.path) or os.path.isdir(self.path)):  # noqa: PTH110, PTH112, PTH113
            raise InvalidInputError(
                f"{path_text(self.path)} is neither a file nor a folder.", suggestion="Give a file or folder."
            )

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Count what the last run of `items` ignored, most frequent first: no documents, or not asked for."""
        ranked = self._counts.most_common()
        named = [
            LeftOut(what, count, tuple(self._left[what]), _ADVICE.get(what, "")) for what, count in ranked[:_MOST_KINDS]
        ]
        more = sum(count for _, count in ranked[_MOST_KINDS:])
        return (*named, *([LeftOut("files of other types", more)] if more else []))

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield files and skipped files: the files of each folder by name, then its subfolders by name."""
        for found in self._walk():
            yield found if isinstance(found, SkippedFile) else found[1]()

    def is_empty(self) -> bool:
        """Return whether `items` would yield nothing."""
        return not self._met

    def meets(self, path: str) -> bool:
        """Return whether `items` would yield a file of that name."""
        return path in self._met

    def vanished(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """List the records whose files were below the folder and no longer exist there."""
        return [each for each in records if lies_below(self.path, each) and self.is_gone(each.source_path)]

    def is_gone(self, path: str) -> bool:
        """Return whether a file of that name no longer exists; False if that cannot be checked.

        A name is also gone if its file is now found under another one: a folder was renamed and a link left behind, or
        only the case of the name changed on a case-insensitive file system. The same applies to a name behind a link
        that is not followed. The folder is walked once for all calls.
        """
        if self.meets(path):
            return False
        place = path_of_text(path)
        try:
            if stat.S_ISDIR(os.lstat(place).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):  # no permission, or not a valid name on this machine
            return False
        straight = Path(os.path.realpath(self.path)) / place.relative_to(self.path)
        is_behind_link = Path(os.path.realpath(place)) != straight
        return (is_behind_link and not self._links) or _identity(place) in self._identities

    @functools.cached_property
    def _met(self) -> dict[str, Path]:
        """Return the paths of all files found, as text."""
        found = (Path(each.source) if isinstance(each, SkippedFile) else each[0] for each in self._walk())
        return {path_text(each): each for each in found}

    @functools.cached_property
    def _identities(self) -> set[tuple[int, int]]:
        return {_identity(each) for each in self._met.values()}

    @property
    def mounts(self) -> tuple[str, ...]:
        """List the subfolders that were mount points at the last walk."""
        return tuple(self._mounts)

    def _walk(self) -> Iterator[SkippedFile | _Found]:
        """Find the files, each with the function that opens it; nothing is read yet."""
        self._left.clear()
        self._mounts.clear()
        self._counts.clear()
        if not self.path.is_dir():
            yield self.path, functools.partial(_item, self.path, None)
            return
        root = Path(os.path.realpath(self.path))
        device, _ = here = _identity(self.path)
        seen = {here}
        waiting = [self.path]  # a stack, not recursion: folders may be nested deeper than Python's call stack
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as found:
                    entries = sorted(found, key=lambda e: e.name)
            except OSError as error:
                yield _inaccessible(folder, error, "folder")
                continue
            if self._is_doorstop(folder, entries):
                items = [each.name for each in entries if each.name.endswith(".yml") and each.is_file()]
                yield folder / _DOORSTOP, functools.partial(_doorstop, folder, items, root)
                entries = [each for each in entries if each.name not in items]
            entries = [each for each in entries if not self._is_passed_over(each)]
            for entry in entries:
                if is_folder(entry):
                    continue
                why = "" if self._is_catalogue(entry) else self._objection(entry.name)
                if why:
                    self._leave(why, entry.path)
                else:
                    # links to files are followed, as their creator wants; other files are opened only below the root
                    path = Path(entry.path)
                    yield path, functools.partial(_item, path, None if entry.is_symlink() else root)
            if self._recursive:
                waiting.extend(reversed(list(self._below(entries, seen, device))))

    def _is_doorstop(self, folder: Path, entries: Sequence[os.DirEntry[str]]) -> bool:
        """Return whether this is a folder of Doorstop items, which is one document."""
        named = any(each.name == _DOORSTOP and not each.is_symlink() for each in entries)
        return named and not self._objection(f"{folder.name}.doorstop")

    def _below(self, entries: Sequence[os.DirEntry[str]], seen: set[tuple[int, int]], device: int) -> Iterator[Path]:
        """Yield the subfolders to enter, each only once overall; records which are mount points."""
        for entry in entries:
            if is_folder(entry) and (not entry.is_symlink() or self._is_inside(entry.path)):
                identity = _identity(Path(entry.path))
                if identity == self._own_data:
                    self._leave("data of this program", entry.path)
                elif identity not in seen:
                    seen.add(identity)
                    if identity[0] != device and os.path.ismount(entry.path):
                        self._mounts.append(entry.path)
                    yield Path(entry.path)

    def _is_passed_over(self, entry: os.DirEntry[str]) -> bool:
        """Ignore and count hidden entries, and folders that tools fill."""
        is_inner = is_folder(entry)
        if entry.is_symlink() and not self._links:
            self._leave("links", entry.path)
            return True
        if entry.name.startswith((".", "~$")):
            if entry.name != ".git":  # Git's own data, never meant as documents
                self._leave("hidden folders" if is_inner else "hidden files", entry.path)
            return True
        if is_inner and self._recursive and entry.name in _WRITTEN_BY_TOOLS:
            self._leave("folders that tools generate", entry.path)
            return True
        return False

    def _leave(self, what: str, path: str) -> None:
        self._counts[what] += 1
        examples = self._left.setdefault(what, [])
        if len(examples) < MOST_EXAMPLES:
            examples.append(path_text(Path(path)))

    def _objection(self, name: str) -> str:
        """Say what kind of ignored file it is; empty if it is not ignored."""
        lower = name.lower()
        fits = any(fnmatch.fnmatchcase(lower, pattern) for pattern in self._patterns)
        if self._has_patterns:
            return "" if fits else "files that match no pattern"
        if lower in _PROJECT_FILES:
            return "source code"
        return "" if fits or is_unread_document(name) else _kind_of(name)

    def _is_catalogue(self, entry: os.DirEntry[str]) -> bool:
        """Return whether it is a document by its content, where the names of documents were not asked for."""
        return not self._has_patterns and kind_of_file(Path(entry.path)) == OSCAL_YAML

    def _is_inside(self, path: str) -> bool:
        # realpath, not Path.resolve, which raises on loops
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path))


def kind_of_file(path: Path) -> str:
    """Return the media type of a file by its name, or else by its first bytes."""
    if media_type_of(path.name) == UNKNOWN and path.suffix.lower() in YAML:
        return kind_of(path.name, head_of(path))
    return media_type_of(path.name)


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        with open_beneath(None, Path(os.path.realpath(path))) as stream:
            return stream.read(_HEAD)
    except (NotRegularError, OSError):
        return b""


def _kind_of(name: str) -> str:
    """Name the kind of a file that is not a document."""
    extension = PurePath(name).suffix.lower()
    if extension in _CODE or name in DEFAULT_NAMES:
        return "source code"
    if extension in _PICTURES:
        return "pictures"
    if extension in _ARCHIVES:
        return "archives"
    return f"{extension} files" if extension else "files without an extension"


def _identity(folder: Path) -> tuple[int, int]:
    try:
        status = folder.stat()
    except OSError:
        return (0, hash(str(folder)))
    return (status.st_dev, status.st_ino)


def _item(path: Path, root: Path | None) -> SourceItem | SkippedFile:
    """Open one file, check its size and first bytes, hash it; every problem becomes a skipped file with its reason.

    Args:
        path: as it was found.
        root: folder, with links resolved, below which to open it; None follows links anywhere.
    """
    try:
        place = Path(os.path.realpath(path if root is None else path.parent))
        place = place if root is None else place / path.name
        if root is not None and not place.is_relative_to(root):
            raise OSError(errno.EXDEV, "it has been moved out of the folder")
        with open_beneath(root, place) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MOST_BYTES:
                return _too_large(path, size)
            identity = identity_of(stream)
            head = stream.read(_HEAD)
            refusal = _refuse(path, head)
            if refusal is not None:
                return refusal
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()  # reads in blocks
    except (NotRegularError, FileNotFoundError):
        return _not_a_file(path)
    except OSError as error:
        return _not_a_file(path) if error.errno == errno.ELOOP else _inaccessible(path, error, "file")
    return SourceItem(
        uri=path_text(path),
        name=path_text(path.name),
        media_type=kind_of(path.name, head),
        size=size,
        sha256=digest,
        open=functools.partial(open_same, root, place, identity),
        path=path,
    )


def _doorstop(folder: Path, names: Sequence[str], root: Path) -> SourceItem | SkippedFile:
    """Make one file of a folder of Doorstop items; the same items give the same file."""
    packed = io.BytesIO()
    place = Path(os.path.realpath(folder))
    try:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                with open_beneath(root, place / name) as stream:
                    archive.writestr(zipfile.ZipInfo(name), stream.read(MOST_BYTES))
                if packed.tell() > MOST_BYTES:
                    return _too_large(folder, packed.tell())
    except OSError as error:
        return _inaccessible(folder, error, "folder")
    content = packed.getvalue()
    return SourceItem(
        uri=path_text(folder / _DOORSTOP),
        name=f"{path_text(folder.name)}.doorstop",
        media_type=DOORSTOP,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        open=lambda: io.BytesIO(content),
        labels=(("filename", f"{path_text(folder.name)}.doorstop"),),
    )


def _too_large(path: Path, size: int) -> SkippedFile:
    return SkippedFile(
        path_text(path),
        UnreadableReason.TOO_LARGE,
        f"The file has {size >> 20} MiB, more than {MOST_BYTES >> 20} MiB.",
        "Split it.",
    )


def _refuse(path: Path, head: bytes) -> SkippedFile | None:
    """Skip empty files and Git LFS pointers; the reader checks whether the content fits the extension."""
    if not head:
        return SkippedFile(
            path_text(path),
            UnreadableReason.EMPTY,
            "The file is empty (0 bytes).",
            "Replace it.",
        )
    if is_lfs_pointer(head):
        message = "This is a Git LFS pointer; the file itself is stored elsewhere."
        return SkippedFile(path_text(path), UnreadableReason.UNSUPPORTED, message, "Fetch it with `git lfs pull`.")
    return None


def _not_a_file(path: Path) -> SkippedFile:
    there = os.path.exists(path)  # noqa: PTH110 - Path.exists raises where a link leads to a place closed to us
    if os.path.islink(path) and not there:  # noqa: PTH114
        message = "The symbolic link points to nothing."
        return SkippedFile(path_text(path), UnreadableReason.INACCESSIBLE, message, "Fix or remove the link.")
    if not there:
        message = "The file no longer exists."
        return SkippedFile(
            path_text(path), UnreadableReason.INACCESSIBLE, message, "If it should be there, run it again."
        )
    message = "This is not a regular file."
    return SkippedFile(path_text(path), UnreadableReason.UNSUPPORTED, message, "Give a regular file.")


def _inaccessible(path: Path, error: OSError, what: str) -> SkippedFile:
    reason = error.strerror or type(error).__name__
    message = f"The {what} cannot be read: {reason}."
    return SkippedFile(path_text(path), UnreadableReason.INACCESSIBLE, message, "Check its permissions.")


def spelled(path: str | os.PathLike[str]) -> Path:
    """Write a path in the form of documents' sources: absolute, without `~` and `..`, links not resolved."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - `Path.resolve` would follow the links


def lies_below(folder: Path, record: DocumentRecord) -> bool:
    """Return whether a document was read from a file below a folder, in the form of `spelled`."""
    return record.source_path.startswith(os.path.join(folder, ""))  # noqa: PTH118 - compared as text


class FileSources:
    """Join several files and folders (`Source`); a file below two of them is found once."""

    def __init__(self, sources: Sequence[FileSource]) -> None:
        self._sources = sources

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """List what the last run of `items` ignored, as counted by each of them."""
        return tuple(each for source in self._sources for each in source.left_out)

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the items of each source, in order."""
        yielded: set[str] = set()
        for source in self._sources:
            for item in source.items():
                name = item.source if isinstance(item, SkippedFile) else item.uri
                if name not in yielded:
                    yielded.add(name)
                    yield item

    def vanished(self, records: Iterable[DocumentRecord]) -> list[DocumentRecord]:
        """List the records whose files were below one of the folders and no longer exist there."""
        known = list(records)
        gone = {each.id for source in self._sources for each in source.vanished(known)}
        return [each for each in known if each.id in gone and not any(s.meets(each.source_path) for s in self._sources)]

    def is_emptied(self, record: DocumentRecord) -> bool:
        """Return whether a document was in a folder that now contains no file at all."""
        return any(each.is_empty() and lies_below(each.path, record) for each in self._sources)


@dataclass(frozen=True, slots=True)
class LabelledSource:
    """Add labels to every item of another source (`Source`)."""

    source: Source
    labels: tuple[tuple[str, str], ...]

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the items of the other source."""
        for item in self.source.items():
            yield item if isinstance(item, SkippedFile) else replace(item, labels=(*item.labels, *self.labels))

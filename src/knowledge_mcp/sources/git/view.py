"""Read another user's repository without its configuration, so that nothing named in it can run.

Git runs commands that a repository's own configuration names: filters, file system monitors, hooks, helpers, text
converters, and what it includes. No list of settings to override is ever complete. Therefore Git gets a folder of ours
instead of `.git`: it has the repository's objects, references and index, and our own configuration. Of the
repository's configuration only a few plain values are read, from one file without its includes.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from knowledge_mcp.sources.git.process import GitCall, GitProgram, git_error
from knowledge_mcp.support.files import remove_folder

_MOST = 4096
"""Maximum bytes of a file that contains one line."""

_PLAIN = re.compile(r"(?:true|false|minimal|default|sha1|sha256|files|reftable)\n?")
_COPIED = "core.filemode core.ignorecase core.symlinks core.precomposeunicode core.trustctime core.checkstat".split()
_FORMAT = ("extensions.objectformat", "extensions.refstorage")
_REMOTE = "remote.origin.url"


class GitView(NamedTuple):
    """How Git reads a repository, and its remote.

    Attributes:
        call: the context for running Git; valid until the `with` block ends.
        remote: the address of `origin` in the repository; empty if it has none.
    """

    call: GitCall
    remote: str


class _Repository(NamedTuple):
    """The parts of a repository: working tree, its `.git` folder, and the folder shared by linked working trees."""

    root: Path
    own: Path
    common: Path


@contextmanager
def viewed(git: GitProgram, folder: Path, call: GitCall) -> Generator[GitView | None]:
    """Return a view of the repository that contains a folder; None if there is none.

    Raises:
        InvalidInputError: the repository belongs to another user.
        KnowledgeError: Git failed.
    """
    repository = _find_repository(folder)
    if repository is None:
        yield None
        return
    for each in (repository.root, repository.own):
        if sys.platform != "win32" and each.stat().st_uid != os.geteuid():
            raise git_error("dubious ownership", what=call.what)
    values = _values(git, repository, call)
    view = Path(tempfile.mkdtemp(prefix="git-view-"))
    try:
        _write_view(repository, view, values)
        variables = {
            "GIT_DIR": str(view),
            "GIT_WORK_TREE": str(repository.root),
            "GIT_OBJECT_DIRECTORY": str(repository.common / "objects"),
            "GIT_INDEX_FILE": str(repository.own / "index"),
        }
        yield GitView(replace(call, variables=variables), values.get(_REMOTE, ""))
    finally:
        remove_folder(view)


def _find_repository(folder: Path) -> _Repository | None:
    """Search upwards for a repository like Git does: only on this file system, ignoring invalid ones."""
    device = folder.stat().st_dev
    for root in (folder, *folder.parents):
        if root.stat().st_dev != device:
            return None
        own = _own_folder(root / ".git")
        if own is None:
            continue
        shared = _line_of(own / "commondir")
        common = own / shared if shared else own
        if (common / "objects").is_dir() and (common / "refs").is_dir() and _head(own):
            return _Repository(root, own, common)
    return None


def _own_folder(entry: Path) -> Path | None:
    """Return the folder that `.git` is, or that it names in a linked working tree or a submodule."""
    if entry.is_dir():
        return entry
    target = _line_of(entry).removeprefix("gitdir: ")
    return entry.parent / target if target and (entry.parent / target).is_dir() else None


def _line_of(file: Path) -> str:
    """Read a regular file of one line; empty if it is not one."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.fsdecode(opened.read(_MOST)).rstrip("\n")


def _head(own: Path) -> str:
    """Return the content of HEAD; in old repositories it is a symbolic link to a reference."""
    head = own / "HEAD"
    if head.is_symlink() and (target := os.readlink(head)).startswith("refs/"):  # noqa: PTH115 - as it is written
        return f"ref: {target}"
    return _line_of(head)


def _values(git: GitProgram, repository: _Repository, call: GitCall) -> dict[str, str]:
    """Read the few values that say how the repository is stored, and its remote."""
    file = repository.common / "config"
    if not file.is_file():
        return {}
    names = "|".join(re.escape(each) for each in (*_COPIED, *_FORMAT, _REMOTE))
    arguments = ["config", "--file", str(file), "--no-includes", "-z", "--get-regexp", f"^({names})$"]
    _, output = git.run(arguments, call, allowed=(0, 1))
    pairs = (entry.partition("\n") for entry in os.fsdecode(output).split("\0") if entry)
    return {name: value for name, _, value in pairs if name == _REMOTE or _PLAIN.fullmatch(value)}


def _write_view(repository: _Repository, view: Path, values: dict[str, str]) -> None:
    """Create the folder that Git sees."""
    (view / "HEAD").write_bytes(os.fsencode(_head(repository.own)) + b"\n")
    format_lines = [f"\t{name.partition('.')[2]} = {values[name]}\n" for name in _FORMAT if name in values]
    core_lines = [f"\t{name.partition('.')[2]} = {values[name]}\n" for name in _COPIED if name in values]
    version = 1 if format_lines else 0
    text = f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{''.join(core_lines)}"
    (view / "config").write_text(text + (f"[extensions]\n{''.join(format_lines)}" if format_lines else ""))
    (view / "info").mkdir()
    for name in ("refs", "reftable"):
        if (repository.common / name).is_dir():
            (view / name).symlink_to(repository.common / name)
    for name in ("packed-refs", "shallow", "info/exclude", "info/attributes"):
        if (repository.common / name).is_file():
            (view / name).symlink_to(repository.common / name)
    for part in repository.own.glob("sharedindex.*"):
        (view / part.name).symlink_to(part)

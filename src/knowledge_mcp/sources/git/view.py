"""A repository of somebody else's, seen without its configuration: nothing that it names can run.

Git runs commands that a repository's own configuration names: filters, file system monitors, hooks, helpers, text
converters, and what it includes from elsewhere. No list of settings to override is ever complete. So Git is shown a
folder of ours in place of `.git`: it has the repository's objects, references and index, and a configuration that we
wrote. The repository's own is read for a few plain values only, one file without what it includes.
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
"""Bytes of a file that holds one line."""

_PLAIN = re.compile(r"(?:true|false|minimal|default|sha1|sha256|files|reftable)\n?")
_COPIED = "core.filemode core.ignorecase core.symlinks core.precomposeunicode core.trustctime core.checkstat".split()
_FORMAT = ("extensions.objectformat", "extensions.refstorage")
_REMOTE = "remote.origin.url"


class GitView(NamedTuple):
    """Say how Git reads a repository, and where that comes from.

    Attributes:
        call: to run Git with; valid until the context ends.
        remote: the address of `origin` as the repository has it; empty where it has none.
    """

    call: GitCall
    remote: str


class _Repository(NamedTuple):
    """The parts of a repository: working tree, own folder, and the folder that linked working trees share."""

    root: Path
    own: Path
    common: Path


@contextmanager
def viewed(git: GitProgram, folder: Path, call: GitCall) -> Generator[GitView | None]:
    """Show Git the repository that a folder belongs to; None where it belongs to none.

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
    """Look upward for a repository as Git does: on this file system only, past what is none."""
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
    """Return the folder that `.git` is, or names in a linked working tree and a submodule."""
    if entry.is_dir():
        return entry
    target = _line_of(entry).removeprefix("gitdir: ")
    return entry.parent / target if target and (entry.parent / target).is_dir() else None


def _line_of(file: Path) -> str:
    """Read a regular file of one line; empty where it is none."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.fsdecode(opened.read(_MOST)).rstrip("\n")


def _head(own: Path) -> str:
    """Return what HEAD says; old ones are symbolic links to a reference."""
    head = own / "HEAD"
    if head.is_symlink() and (target := os.readlink(head)).startswith("refs/"):  # noqa: PTH115 - as it is written
        return f"ref: {target}"
    return _line_of(head)


def _values(git: GitProgram, repository: _Repository, call: GitCall) -> dict[str, str]:
    """Read the few values that say how the repository is stored, and where it comes from."""
    file = repository.common / "config"
    if not file.is_file():
        return {}
    names = "|".join(re.escape(each) for each in (*_COPIED, *_FORMAT, _REMOTE))
    arguments = ["config", "--file", str(file), "--no-includes", "-z", "--get-regexp", f"^({names})$"]
    _, output = git.run(arguments, call, allowed=(0, 1))
    pairs = (entry.partition("\n") for entry in os.fsdecode(output).split("\0") if entry)
    return {name: value for name, _, value in pairs if name == _REMOTE or _PLAIN.fullmatch(value)}


def _write_view(repository: _Repository, view: Path, values: dict[str, str]) -> None:
    """Lay out what Git sees as its folder."""
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

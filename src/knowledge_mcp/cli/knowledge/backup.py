"""`knowledge backup` and `knowledge restore`: everything that cannot be made again, in one file, while it is used."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import secrets
import tarfile
import tempfile
from collections.abc import Generator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from knowledge_mcp import __version__
from knowledge_mcp.cli.shared.options import with_groups
from knowledge_mcp.cli.shared.output import write_json
from knowledge_mcp.cli.shared.progress import WorkBar
from knowledge_mcp.cli.shared.session import StoreOptions
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, InvalidInputError, NotFoundError
from knowledge_mcp.support.files import make_private_folder, touch_private
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings

BACKUP_HELP = """\
Back up the SQLite store and the data that belongs to it into one file, while servers and ingests keep running.

The file contains one consistent state of the store, with all documents, passages, vectors and texts. It also contains
these parts of DATA_PATH: the lists of repositories and sources, counters, waiting jobs, and people's decisions on links
and rows. The file is written completely or not at all, checked when it is complete, and readable by its owner only. It
contains no keys, passwords, settings, models, caches or clones.

\b
Examples:
  knowledge backup /backup/knowledge.tar
  knowledge backup /backup/knowledge-$(date +%F).tar --force

\b
Exit codes: 0 written, 1 failed, 3 configuration or connection, 130 interrupted.
"""

RESTORE_HELP = """\
Replace the SQLite store and the data that belongs to it with a backup.

The backup is checked first; then each file is replaced in one step. Running servers use the restored store from the
next request on. Do not run an ingest at the same time: what it writes is lost with the old store.

\b
Examples:
  knowledge restore /backup/knowledge.tar
  DATA_PATH=/srv/knowledge knowledge restore /backup/knowledge.tar --force

\b
Exit codes: 0 restored, 1 failed, 3 configuration or connection, 130 interrupted.
"""


@with_groups
def backup(
    options: StoreOptions,
    file: Annotated[Path, typer.Argument(help="File to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the store into one file."""
    with options.open_settings() as settings:
        report = back_up(settings, file, force=force)
        _report(f"Written: {file}", report, as_json=options.as_json)


@with_groups
def restore(
    options: StoreOptions,
    file: Annotated[Path, typer.Argument(help="File written by `knowledge backup`.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the existing store.")] = False,
) -> None:
    """Replace the store by a backup."""
    with options.open_settings() as settings:
        report = restore_from(settings, file, force=force)
        _report(f"Restored: {settings.data_folder}", report, as_json=options.as_json)


def _report(action: str, report: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        write_json({"ok": True, **report})
        return
    counts = (
        how_many(report["documents"], "document"),
        how_many(report["chunks"], "chunk"),
        f"{report['bytes']:,} bytes",
    )
    typer.echo(f"{action} ({', '.join(counts)})")


_STORE = "knowledge.sqlite"
_LIST = "backup.json"
_FORM = "knowledge-mcp backup 1"
_EXTRA_FILES = ("repositories.json", "metrics.json")
_FOLDERS = ("jobs/*.json", "decisions/*.json", "sources/*/*.json", "sources/*/*.visited", "sources/*/*.mounts")
_BLOCK = 1 << 20
_INSTEAD = {
    "postgres": "Use the server's own backups, or `pg_dump --schema=knowledge_mcp`, "
    "or copy it into a file first: `knowledge migrate --from postgres --to sqlite --to-path FOLDER --all`.",
    "qdrant": "Use Qdrant's own snapshots (`POST /collections/NAME/snapshots`) of both of its collections, "
    "or copy it into a file first: `knowledge migrate --from qdrant --to sqlite --to-path FOLDER --all`.",
    "chromadb": "Stop everything that uses CHROMADB_PATH and copy the folder, back up the server's volume, "
    "or copy it into a file first: `knowledge migrate --from chromadb --to sqlite --to-path FOLDER --all`.",
}


def back_up(settings: Settings, file: Path, *, force: bool) -> dict[str, int]:
    """Write the store and what belongs to it into one file; returns what is in it.

    Raises:
        ConfigError: the store is no SQLite file.
        NotFoundError: there is no store.
        InvalidInputError: the file is there.
        DamagedError, InternalError: the store cannot be read whole.
    """
    _check_backend(settings)
    if not settings.store_file.exists():
        raise NotFoundError(f"There is no store at '{settings.store_file}'.", suggestion="Check DATA_PATH.")
    if file.exists() and not force:
        raise InvalidInputError(
            f"'{file}' already exists.", suggestion="Choose another name, or pass --force to replace it."
        )
    from knowledge_mcp.stores.sqlite.backup import check_copy, copy_store

    with _disk_errors(file), _working_folder(file.parent) as folder:
        copy = folder / file.name  # named in an error if there is no space for it
        touch_private(copy)
        with WorkBar("percent") as bar:
            copy_store(settings.store_file, copy, functools.partial(bar.show, "Copying the store"))
        counts = check_copy(copy)
        members = {_STORE: copy, **_extra_files(settings.data_folder)}
        packed = folder / f"{file.name}.packed"
        touch_private(packed)
        _pack(packed, members)
        _check(packed, folder)
        packed.replace(file)
        return {**counts, "bytes": file.stat().st_size}


def restore_from(settings: Settings, file: Path, *, force: bool) -> dict[str, int]:
    """Restore what is in a backup; returns what is in it.

    Raises:
        ConfigError: the configured store is no SQLite file.
        NotFoundError: there is no such backup.
        InvalidInputError: it is no backup, or is damaged; or there is a store that must not be replaced.
    """
    _check_backend(settings)
    if not file.is_file():
        raise NotFoundError(f"There is no file '{file}'.", suggestion="Name a file written by `knowledge backup`.")
    target = settings.data_folder
    if settings.store_file.exists() and not force:
        raise InvalidInputError(
            f"A store already exists at '{settings.store_file}'.",
            suggestion="Pass --force to replace it, or set DATA_PATH to another folder.",
        )
    from knowledge_mcp.stores.sqlite.backup import check_copy, put_in_place

    with _disk_errors(target):
        make_private_folder(target)
        with _working_folder(target) as folder:
            names = _check(file, folder, keep=True)
            counts = check_copy(folder / _STORE)
            size = file.stat().st_size
            put_in_place(folder / _STORE, settings.store_file)
            for name in names - {_STORE}:
                make_private_folder((target / name).parent)
                (folder / name).replace(target / name)
    return {**counts, "bytes": size}


def _check_backend(settings: Settings) -> None:
    from knowledge_mcp.settings import choose_store

    backend = choose_store(settings).backend
    if backend in _INSTEAD:
        raise ConfigError(
            f"The configured store is {backend}; `knowledge backup` works only with the SQLite store.",
            suggestion=_INSTEAD[backend],
        )


def _extra_files(folder: Path) -> dict[str, Path]:
    """List the files of the store that are written atomically, so that a copy of each is one state of it."""
    found = {name: folder / name for name in _EXTRA_FILES if (folder / name).is_file()}
    for pattern in _FOLDERS:
        found |= {each.relative_to(folder).as_posix(): each for each in sorted(folder.glob(pattern))}
    return {name: each for name, each in found.items() if _is_known(name)}


def _pack(packed: Path, members: dict[str, Path]) -> None:
    """Write the files, then the list with their hashes."""
    hashes: dict[str, str] = {}
    with packed.open("wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, path in members.items():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as content:  # a job may just have ended
                hashes[name] = hashlib.file_digest(content, "sha256").hexdigest()
                content.seek(0)
                _add(archive, name, content, os.fstat(content.fileno()).st_size)
        listed = {
            "form": _FORM,
            "version": __version__,
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "files": hashes,
        }
        data = json.dumps(listed, indent=1).encode()
        _add(archive, _LIST, io.BytesIO(data), len(data))
        stream.flush()
        os.fsync(stream.fileno())


def _add(archive: tarfile.TarFile, name: str, content: Any, size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    archive.addfile(entry, content)


def _check(packed: Path, folder: Path, *, keep: bool = False) -> set[str]:
    """Compare a backup's files with their hashes; with `keep` they are written below a folder.

    Raises:
        InvalidInputError: it is no backup, lacks a file, has one too many, or one is damaged.
    """
    found: dict[str, str] = {}
    listed: Any = {}
    try:
        with tarfile.open(packed, "r:") as archive:
            for entry in archive:
                is_whole = entry.isreg() and not entry.issparse()  # a sparse entry can unpack to any size
                content = archive.extractfile(entry) if is_whole else None
                if content is None or not _is_known(entry.name) or entry.name in found:
                    raise InvalidInputError(
                        f"'{packed.name}' contains '{entry.name}', which does not belong in a backup."
                    )
                if entry.name == _LIST:
                    listed = json.loads(content.read())
                    continue
                found[entry.name] = _read(content, folder / entry.name if keep else None)
        marked, hashes = listed["form"] == _FORM, dict[str, str](listed["files"])
    except (tarfile.TarError, EOFError, ValueError, TypeError, LookupError, RecursionError) as exc:
        raise _no_backup(packed, f"{type(exc).__name__}: {exc}") from exc
    if not marked or _STORE not in found:
        raise _no_backup(packed, "it is not marked as a backup, or contains no store")
    wrong = sorted(name for name in found.keys() | hashes.keys() if found.get(name) != hashes.get(name))
    if wrong:
        raise _no_backup(packed, f"damaged or missing: {', '.join(wrong)}")
    return set(found)


def _is_known(name: str) -> bool:
    """Return whether a backup may hold a file of this name: no other can be written by a restore."""
    parts = name.split("/")
    if "\\" in name or ":" in name or any(part.startswith(".") for part in parts):  # they lead elsewhere on Windows
        return False
    patterns = (pattern.split("/") for pattern in (_STORE, _LIST, *_EXTRA_FILES, *_FOLDERS))
    return any(len(each) == len(parts) and all(map(fnmatchcase, parts, each)) for each in patterns)


def _read(content: Any, path: Path | None) -> str:
    digest = hashlib.sha256()
    with contextlib.ExitStack() as stack:
        target = None
        if path is not None:
            make_private_folder(path.parent)
            touch_private(path)
            target = stack.enter_context(path.open("wb"))
        while block := content.read(_BLOCK):
            digest.update(block)
            if target is not None:
                target.write(block)
        if target is not None:
            target.flush()
            os.fsync(target.fileno())
    return digest.hexdigest()


def _no_backup(packed: Path, details: str) -> InvalidInputError:
    return InvalidInputError(
        f"'{packed.name}' is not a complete backup; nothing was changed.",
        details=details,
        suggestion="Use another backup file.",
    )


@contextlib.contextmanager
def _working_folder(parent: Path) -> Generator[Path]:
    """Create a folder next to the result, and remove it with its remaining files afterwards."""
    with tempfile.TemporaryDirectory(prefix=f".backup-{secrets.token_hex(4)}-", dir=parent) as name:
        yield Path(name)


@contextlib.contextmanager
def _disk_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as exc:
        raise ConnectionFailedError(
            f"'{path}' cannot be written: {exc.strerror or exc}.",
            suggestion="Check the folder, its permissions and the free disk space, then try again.",
        ) from exc

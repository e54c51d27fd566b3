"""The list of registered sources of one collection, with their states: small JSON files, one for each source.

It is on the machine that syncs, next to the embedded store, because folders, clones and logins belong to that machine.
Each file is replaced atomically, and read-modify-write holds a lock, so that several processes share the list. No
credential is stored in it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError, TimedOutError
from knowledge_mcp.model.ingest import SourceKind, SourceSpec, SourceState, SourceStatus, Visited
from knowledge_mcp.sources.git.folder import CloneFolder
from knowledge_mcp.support.files import write_atomically
from knowledge_mcp.support.locks import hold_lock


class SourceList:
    """Store registrations; safe for many threads and processes.

    Args:
        folder: of the lists of all collections; created with the first source.
        collection: the collection of this list.
    """

    def __init__(self, folder: Path, collection: str) -> None:
        self._folder = folder / quote(collection, safe="")

    @property
    def clones(self) -> Path:
        """Return the folder of the clones."""
        return self._folder / "clones"

    def all(self) -> list[SourceStatus]:
        """List the sources by name.

        Raises:
            InternalError: a file of the list cannot be read.
        """
        found: list[SourceStatus] = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(NotFoundError):  # removed meanwhile by another process
                found.append(self._read(path))
        return found

    def get(self, name: str) -> SourceStatus:
        """Return one source; NotFoundError lists the existing ones."""
        path = self._path(name)
        if not path.is_file():
            there = ", ".join(each.spec.name for each in self.all()) or "none"
            raise NotFoundError(f"There is no source '{name[:80]}'.", suggestion=f"Registered sources: {there}.")
        return self._read(path)

    def add(self, spec: SourceSpec) -> None:
        """Register a source.

        Raises:
            InvalidInputError: the name is taken, or its location is already registered.
        """
        with hold_lock(self._locks, "list"):
            for each in self.all():
                same = (each.spec.kind, each.spec.location, each.spec.branch, each.spec.below)
                if same == (spec.kind, spec.location, spec.branch, spec.below):
                    raise InvalidInputError(
                        f"{each.spec.location} is already registered as '{each.spec.name}'.",
                        suggestion=f"`knowledge sources remove {each.spec.name}` removes it from the list first.",
                    )
                if each.spec.name == spec.name:
                    raise InvalidInputError(
                        f"The name '{each.spec.name}' is already registered for {each.spec.location}.",
                        suggestion="Choose another name with --name, or remove that one first.",
                    )
            self._write(spec, SourceState())

    def forget(self, name: str, *, clone: bool = False) -> None:
        """Remove a source and what is stored about it; its `clone` too, unless documents are still there."""
        with hold_lock(self._locks, "list"):
            status = self.get(name)
            self._path(name).unlink(missing_ok=True)
            self._visited(name).unlink(missing_ok=True)
            self._mounts(name).unlink(missing_ok=True)
            if clone and status.spec.kind is SourceKind.GIT:
                CloneFolder(self.clones).remove(name)

    def note(self, name: str, state: SourceState) -> None:
        """Store the state of a source; one that was removed meanwhile stays removed."""
        with hold_lock(self._locks, "list"):
            if self._path(name).is_file():
                self._write(self.get(name).spec, state)

    def visited(self, name: str) -> dict[str, Visited]:
        """Return what is stored about addresses; empty if unreadable: they are then fetched again."""
        try:
            content = json.loads(self._visited(name).read_bytes())
            return {url: Visited(**fields) for url, fields in content.items()}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return {}

    def remember(self, name: str, visited: Mapping[str, Visited]) -> None:
        """Store what the next sync needs to know about addresses."""
        self._put(self._visited(name), {url: asdict(each) for url, each in visited.items()})

    def mounts(self, name: str) -> tuple[str, ...]:
        """Return the stored mount points of a folder; empty if unreadable."""
        try:
            return tuple(map(str, json.loads(self._mounts(name).read_bytes())))
        except (OSError, ValueError, TypeError, RecursionError):
            return ()

    def remember_mounts(self, name: str, mounts: Collection[str]) -> None:
        """Store the mount points of a folder."""
        self._put(self._mounts(name), sorted(mounts))

    @contextmanager
    def working(self, name: str) -> Generator[None]:
        """Lock one source for a sync.

        Raises:
            TimedOutError: another process is syncing it.
        """
        with hold_lock(self._locks, f"sync {name}", give_up=lambda: True) as mine:
            if not mine:
                raise TimedOutError(f"Another process is syncing '{name}'.", suggestion="Wait until it has finished.")
            yield

    @property
    def _locks(self) -> Path:
        return self._folder / "locks"

    def _path(self, name: str) -> Path:
        return self._folder / f"{quote(name, safe='')}.json"

    def _visited(self, name: str) -> Path:
        return self._folder / f"{quote(name, safe='')}.visited"

    def _mounts(self, name: str) -> Path:
        return self._folder / f"{quote(name, safe='')}.mounts"

    def _write(self, spec: SourceSpec, state: SourceState) -> None:
        self._put(self._path(spec.name), {"source": asdict(spec), "state": asdict(state)})

    def _put(self, path: Path, content: Any) -> None:
        try:
            write_atomically(
                path, json.dumps(content, indent=1, ensure_ascii=False).encode(), durable=True, private=True
            )
        except OSError as error:
            raise InternalError(
                f"The list of sources cannot be written: {error.strerror or error}.",
                suggestion="Check the permissions and the free space of DATA_PATH.",
                recoverable=True,
            ) from error

    def _read(self, path: Path) -> SourceStatus:
        try:
            content = cast("dict[str, dict[str, Any]]", json.loads(path.read_bytes()))
            source, state = content["source"], content["state"]
            source |= {"kind": SourceKind(source["kind"]), "patterns": tuple(source["patterns"])}
            source["allow"] = tuple(source.get("allow", ()))
            return SourceStatus(SourceSpec(**source), SourceState(**state))
        except FileNotFoundError as error:
            raise NotFoundError(f"The source '{path.stem}' no longer exists.") from error
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InternalError(
                f"The list of sources is damaged: {path}.",
                details=str(error),
                suggestion="Remove that file and register the source again; its documents are kept.",
            ) from error

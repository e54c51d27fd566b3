"""Stores by name, for the commands that work with another one than the configured, or with two at once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.errors import ConfigError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from knowledge_mcp.ports import Store
    from knowledge_mcp.settings import Settings

__all__ = ["Backend", "open_store"]


class Backend(StrEnum):
    """Kinds of store."""

    SQLITE = "sqlite"
    QDRANT = "qdrant"
    CHROMADB = "chromadb"


def open_store(
    settings: Settings, backend: str, path: Path | None = None, *, existing: bool = False, untouched: bool = False
) -> Store:
    """Open one kind of store as the settings describe it, and make sure that it answers.

    Args:
        settings: what was read; which store they select does not matter here.
        backend: a name of the registry.
        path: folder of an embedded store, instead of DATA_PATH's or CHROMADB_PATH's.
        existing: refuse an embedded store whose file is not there, instead of making an empty one.
        untouched: give an empty store in memory in the place of an embedded one that is not there.

    Raises:
        NotFoundError: the store's file is not there.
        ConfigError: this build has no such store, or the settings do not describe it.
        InvalidInputError: a folder was given for a store that is a server.
        ConnectionFailedError, TimedOutError, AuthError: it does not answer.
    """
    from knowledge_mcp import registry, wiring
    from knowledge_mcp.settings import contradictions

    if backend not in registry.STORES:
        raise ConfigError(
            f"This build has no store '{backend}'.",
            suggestion=f"It has: {', '.join(each.value for each in Backend if each in registry.STORES)}.",
        )
    chosen = settings.model_copy(update={"vector_store": backend, **_at(backend, path)})
    problems = contradictions(chosen)
    if problems:
        raise ConfigError(
            problems[0], details="\n".join(problems), suggestion="Set what is missing, then run the same command again."
        )
    file, variable = _file_of(chosen)
    if file is not None and not file.exists():
        if existing:
            raise NotFoundError(f"There is no store at '{file}'.", suggestion=f"Set {variable}, or name its folder.")
        if untouched:
            return wiring.build_store(chosen, "memory")
    store = wiring.build_store(chosen, backend)
    try:
        store.ping()
    except BaseException:
        store.close()
        raise
    return store


def _file_of(settings: Settings) -> tuple[Path | None, str]:
    """Name an embedded store's file, None for a server, and the variable that says where it is."""
    if settings.vector_store == Backend.SQLITE:
        return settings.store_file, "DATA_PATH"
    if settings.vector_store == Backend.CHROMADB and settings.chromadb_host is None:
        return settings.chromadb_path / "chroma.sqlite3", "CHROMADB_PATH"
    return None, ""


def _at(backend: str, path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    if backend == Backend.SQLITE:
        return {"data_path": path.absolute()}
    if backend == Backend.CHROMADB:
        return {"chromadb_path": path.absolute(), "chromadb_host": None}
    raise InvalidInputError(
        f"A folder was given for '{backend}', which is a server.", suggestion="Set its address in the settings instead."
    )

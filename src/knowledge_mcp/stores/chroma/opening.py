"""How ChromaDB is opened: an address, a server's client with time limits, a folder shared within the process."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError
from knowledge_mcp.stores.chroma.errors import StatusError, missing
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.system.locking import try_lock

LOCK_FILE = ".knowledge-mcp.lock"


class FolderLock:
    """Hold a folder for this process until `release`.

    Args:
        folder: made where there is none.

    Raises:
        ConnectionFailedError: another process holds it (names its pid), or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
            mine = try_lock(self._handle)
        except OSError as exc:
            raise ConnectionFailedError(
                f"The folder '{folder}' cannot be written: {exc.strerror}.",
                suggestion="Check its permissions, or set CHROMADB_PATH to another folder.",
            ) from exc
        os.lseek(self._handle, 0, os.SEEK_SET)
        if not mine:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise ConnectionFailedError(
                f"The embedded ChromaDB in '{folder}' is in use by process {holder or 'unknown'}.",
                details="Two processes that write to one embedded ChromaDB damage its index.",
                suggestion=f"Stop that process, or share the folder: run `chroma run --path {folder}` and set "
                "CHROMADB_HOST and CHROMADB_PORT in both.",
            )
        os.ftruncate(self._handle, 0)
        os.write(self._handle, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let others in; the file stays, since removing it would let two hold two files of one name."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class Address:
    """Say where ChromaDB is.

    Attributes:
        path: folder of the embedded one; not used where there is a host.
        host: of the server, None for embedded. port, ssl, token: of the server; the token is never shown.
        tenant, database: names of the server's own partitions.
    """

    path: Path
    host: str | None = None
    port: int = 8000
    ssl: bool = False
    token: str | None = field(default=None, repr=False)
    tenant: str = "default_tenant"
    database: str = "default_database"

    @property
    def location(self) -> str:
        """Name the folder or the address."""
        if self.host is None:
            return str(self.path)
        scheme = "https" if self.ssl else "http"
        host = self.host.partition("://")[2] or self.host
        return f"{scheme}://{host.rpartition('@')[2]}:{self.port}"


class ChromaOptions(Protocol):
    """Name the settings that an address needs."""

    @property
    def chromadb_path(self) -> Path: ...
    @property
    def chromadb_host(self) -> str | None: ...
    @property
    def chromadb_port(self) -> int: ...
    @property
    def chromadb_ssl(self) -> bool: ...
    @property
    def chromadb_token(self) -> Secret | None: ...


def address_of(options: ChromaOptions) -> Address:
    """Read the address that the settings name."""
    token = options.chromadb_token
    return Address(
        path=options.chromadb_path,
        host=options.chromadb_host,
        port=options.chromadb_port,
        ssl=options.chromadb_ssl,
        token=None if token is None else token.get_secret_value(),
    )


def _settings(**more: Any) -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False, _env_file=None, **more)  # pyright: ignore[reportCallIssue] - pydantic's own argument, which the library's class does not declare


def _import() -> Any:
    try:
        import chromadb
    except ImportError as exc:
        raise missing(str(exc)) from exc
    return chromadb


def open_server(address: Address) -> Any:
    """Connect to a server, once it has shown that it is ChromaDB."""
    _import()
    import httpx

    from knowledge_mcp.stores.chroma.server import READING_SECONDS, ServerClient, hooks

    headers: dict[str, str] = {}
    if address.token:
        headers = {"Authorization": f"Bearer {address.token}", "X-Chroma-Token": address.token}
    with httpx.Client(timeout=READING_SECONDS, headers=headers, event_hooks=hooks()) as probe:
        _ask_for_life(probe, address.location)
    settings = _settings(
        chroma_server_host=address.host,
        chroma_server_http_port=address.port,
        chroma_server_ssl_enabled=address.ssl,
        chroma_server_headers=headers,
    )
    return ServerClient(settings, address.tenant, address.database)


def _ask_for_life(probe: Any, location: str) -> None:
    """Make sure that it is ChromaDB which answers: another service has no such page, or another text on it."""
    try:
        said: Any = probe.get(f"{location}/api/v2/heartbeat").json()
    except StatusError as exc:
        if exc.status not in {404, 405, 410}:
            raise
        said = None
        details = str(exc)
    except ValueError as exc:
        said, details = None, f"{type(exc).__name__}: {exc}"
    else:
        details = f"It says {str(said)[:200]}"
    if not isinstance(said, dict) or "nanosecond heartbeat" not in said:
        raise ConfigError(
            f"What answers at {location} is not a ChromaDB, or is older than 1.0.",
            details=details,
            suggestion="Check CHROMADB_HOST and CHROMADB_PORT.",
        )


@dataclass
class _Opened:
    """One embedded ChromaDB of this process, shared by all stores on its folder."""

    client: Any
    lock: FolderLock
    process: int
    users: int = 0


_opened: dict[Path, _Opened] = {}
_opened_lock = threading.Lock()


def open_embedded(address: Address) -> Any:
    """Open the folder, or join the stores of this process that have it open."""
    chromadb = _import()
    folder = address.path.resolve()
    with _opened_lock:
        known = _opened.get(folder)
        if known is not None and known.process != os.getpid():
            raise ConnectionFailedError(
                f"The embedded ChromaDB in '{folder}' was opened before this process split off.",
                suggestion="Open the store in the new process only.",
                recoverable=False,
            )
        if known is None:
            lock = FolderLock(folder)
            try:
                client = chromadb.PersistentClient(str(folder), settings=_settings())
            except BaseException:
                lock.release()
                raise
            known = _opened[folder] = _Opened(client, lock, os.getpid())
        known.users += 1
        return known.client


def release_embedded(address: Address) -> None:
    """Let the folder go; the last of this process's stores on it closes it."""
    folder = address.path.resolve()
    with _opened_lock:
        known = _opened[folder]
        known.users -= 1
        if known.users == 0:
            del _opened[folder]
            try:
                known.client.close()
            finally:
                known.lock.release()

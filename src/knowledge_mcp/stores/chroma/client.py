"""The connection to ChromaDB, embedded or over HTTP: opened on first use, with timeouts, retries and error mapping.

Everything that the library leaves untyped ends here: `ChromaTable` is a ChromaDB collection as the other modules see
it.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, may_pass
from knowledge_mcp.stores.chroma.errors import StatusError, mapped, missing
from knowledge_mcp.stores.shared.rules import store_closed
from knowledge_mcp.support.batches import batches, grouped
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.files import walk_folders
from knowledge_mcp.support.retry import SPECIFIED, RetryPolicy, call_with_retries
from knowledge_mcp.support.system.locking import try_lock

MOST_ROWS = 1_000
"""Maximum rows to write or delete per call: about a second's work, far below the timeout."""
MOST_BYTES = 8 * 1024 * 1024
"""Maximum bytes to write per call; a server refuses bodies of 40 MiB."""
MOST_READ = 2_000
"""Maximum ids per read, below SQLite's limit of variables per statement."""
MOST_VALUES = 500
"""Maximum values of one condition, each of which becomes a variable in several statements."""
_PAGE = 200

T = TypeVar("T")
Where = dict[str, Any]


LOCK_FILE = ".knowledge-mcp.lock"


class FolderLock:
    """Locks a folder for this process until `release`.

    Args:
        folder: it is created if it does not exist.

    Raises:
        ConnectionFailedError: another process holds the lock (names its pid), or the folder is not writable.
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
        """Release the lock. The file stays: if it were removed, two processes could lock two files of the same name."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class Address:
    """Where ChromaDB is.

    Attributes:
        path: folder of an embedded ChromaDB; ignored if there is a host.
        host: of the server; None for embedded.
        port, ssl, token: of the server; the token is never shown.
        database: name of the database on the server.
    """

    path: Path
    host: str | None = None
    port: int = 8000
    ssl: bool = False
    token: str | None = field(default=None, repr=False)
    database: str = "default_database"

    @property
    def location(self) -> str:
        """The folder or the address, without the token."""
        if self.host is None:
            return str(self.path)
        scheme = "https" if self.ssl else "http"
        host = self.host.partition("://")[2] or self.host
        return f"{scheme}://{host.rpartition('@')[2]}:{self.port}"


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
    """Connect to a server, after checking that it is ChromaDB."""
    _import()
    import httpx

    from knowledge_mcp.stores.chroma.server import READING_SECONDS, ServerClient, hooks

    headers: dict[str, str] = {}
    if address.token:
        headers = {"Authorization": f"Bearer {address.token}", "X-Chroma-Token": address.token}
    # without TLS, skip loading certificates, which takes 40 ms per client
    with httpx.Client(timeout=READING_SECONDS, headers=headers, event_hooks=hooks(), verify=address.ssl) as probe:
        _ask_for_life(probe, address.location)
    settings = _settings(
        chroma_server_host=address.host,
        chroma_server_http_port=address.port,
        chroma_server_ssl_enabled=address.ssl,
        chroma_server_headers=headers,
        **({} if address.ssl else {"chroma_server_ssl_verify": False}),
    )
    return ServerClient(settings, address.database)


def _ask_for_life(probe: Any, location: str) -> None:
    """Check that ChromaDB answers; another service has no such page, or a different one.

    Raises:
        ConfigError: it is not ChromaDB.
    """
    try:
        answer: Any = probe.get(f"{location}/api/v2/heartbeat").json()
    except StatusError as exc:
        if exc.status not in {404, 405, 410}:
            raise
        answer = None
        details = str(exc)
    except ValueError as exc:
        answer, details = None, f"{type(exc).__name__}: {exc}"
    else:
        details = f"It says {str(answer)[:200]}"
    if not isinstance(answer, dict) or "nanosecond heartbeat" not in answer:
        raise ConfigError(
            f"The server at {location} is not ChromaDB, or is older than 1.0.",
            details=details,
            suggestion="Check CHROMADB_HOST and CHROMADB_PORT.",
        )


@dataclass
class _SharedClient:
    """One embedded ChromaDB of this process, shared by all stores on its folder."""

    client: Any
    lock: FolderLock
    process: int
    users: int = 0


_opened: dict[Path, _SharedClient] = {}
_opened_lock = threading.Lock()


def open_embedded(address: Address) -> Any:
    """Open the folder, or share it with the stores of this process that have it open."""
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
            known = _opened[folder] = _SharedClient(client, lock, os.getpid())
        known.users += 1
        return known.client


def release_embedded(address: Address) -> None:
    """Release the folder; the last store of this process that uses it closes it."""
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


@dataclass(frozen=True, slots=True)
class ChromaRow:
    """One entry to write. Metadata keys whose value is None are removed."""

    id: str
    metadata: Mapping[str, Any]
    vector: Any = None
    document: str = ""
    uri: str = ""

    @property
    def size(self) -> int:
        """Estimated bytes on the wire."""
        texts = sum(len(each) for each in self.metadata.values() if isinstance(each, str))
        return 2 * (texts + len(self.document)) + (0 if self.vector is None else 6 * len(self.vector)) + 1_000


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """One entry that was read, with the requested parts."""

    id: str
    metadata: Mapping[str, Any]
    document: str
    uri: str


@dataclass(frozen=True, slots=True)
class NearEntry:
    """One entry near a query vector, with its own vector."""

    id: str
    vector: Any


class ChromaConnection:
    """Opens ChromaDB at the first call, and maps the errors of all calls.

    Args:
        address: where ChromaDB is.
        policy: retries of temporary failures of a server; calls to an embedded ChromaDB are not retried.
    """

    def __init__(self, address: Address, policy: RetryPolicy = SPECIFIED) -> None:
        self.address = address
        self._policy = policy if address.host is not None else RetryPolicy(())
        self._lock = threading.Lock()
        self._client: Any = None
        self._closed = False

    @property
    def embedded(self) -> bool:
        """Whether ChromaDB is embedded in this process."""
        return self.address.host is None

    def call(self, what: Callable[[Any], T]) -> T:
        """Make one call with the client, and retry it while the failure may be temporary."""

        def attempt() -> T:
            with mapped(self.address.location):
                return what(self._open())

        return call_with_retries(attempt, service="ChromaDB", may_pass=may_pass, policy=self._policy)

    def table(self, name: str) -> ChromaTable:
        """Return a collection.

        Raises:
            GoneError: it does not exist.
        """
        return ChromaTable(self, self.call(lambda client: client.get_collection(name, embedding_function=None)))

    def make_table(self, name: str, metadata: Mapping[str, Any], configuration: Mapping[str, Any]) -> ChromaTable:
        """Create a collection.

        Raises:
            TakenError: the name is taken.
        """
        return ChromaTable(
            self,
            self.call(
                lambda client: client.create_collection(
                    name, metadata=dict(metadata), configuration=dict(configuration), embedding_function=None
                )
            ),
        )

    def drop_table(self, name: str) -> None:
        """Delete a collection.

        Raises:
            GoneError: it does not exist.
        """
        self.call(lambda client: client.delete_collection(name))

    def tables(self) -> dict[str, Mapping[str, Any]]:
        """Map the names of all collections to their metadata."""
        found: dict[str, Mapping[str, Any]] = {}
        while True:
            offset = len(found)
            page: list[Any] = self.call(lambda client, at=offset: client.list_collections(limit=_PAGE, offset=at))
            found.update({str(each.name): dict(each.metadata or {}) for each in page})
            if len(page) < _PAGE or len(found) == offset:
                return found

    def most_rows(self) -> int:
        """Return the maximum number of rows per write."""
        return max(1, min(MOST_ROWS, int(self.call(lambda client: client.get_max_batch_size()))))

    def close(self) -> None:
        """Close the client; later calls raise an error."""
        with self._lock:
            self._closed = True
            client, self._client = self._client, None
        if client is not None:
            if self.embedded:
                release_embedded(self.address)
            else:
                client.close()

    def _open(self) -> Any:
        with self._lock:
            if self._closed:
                raise store_closed()
            if self._client is None:
                self._client = open_embedded(self.address) if self.embedded else open_server(self.address)
            return self._client


class ChromaTable:
    """One ChromaDB collection."""

    def __init__(self, connection: ChromaConnection, collection: Any) -> None:
        self._connection = connection
        self._collection = collection
        self.name = str(collection.name)
        self.metadata: Mapping[str, Any] = dict(collection.metadata or {})

    def put(self, rows: Sequence[ChromaRow]) -> None:
        """Write rows with distinct ids, in as many calls as needed; those of one small call become visible together."""
        most = self._connection.most_rows() if rows else 1
        for batch in grouped(rows, (most, MOST_BYTES), lambda row: (1, row.size)):
            self._write(batch)

    def ids(self, where: Where | None) -> list[str]:
        """List the ids of the entries that match a condition, or of all."""
        answer = self._call(lambda each: each.get(where=where, include=[]))
        return [str(each) for each in answer["ids"]]

    def uris(self, where: Where | None) -> dict[str, str]:
        """Map the ids of the entries that match a condition, or of all, to their uris; empty if an entry has none."""
        answer = self._call(lambda each: each.get(where=where, include=["uris"]))
        return {name: uri or "" for name, uri in zip(answer["ids"], answer["uris"] or (), strict=True)}

    def rows(
        self, *, ids: Sequence[str] | None = None, where: Where | None = None, limit: int | None = None
    ) -> list[FoundEntry]:
        """Read entries by id, or those that match a condition, at most `limit`; in no particular order."""
        if ids is None:
            return self._rows(None, where, limit)
        found: list[FoundEntry] = []
        for batch in check_each(batches(ids, MOST_READ)):
            found.extend(self._rows(batch, where))
        return found

    def rows_with(self, name: str, values: Sequence[str]) -> Iterator[FoundEntry]:
        """Read the entries whose metadata field has one of some values, in no particular order."""
        for batch in batches(values, MOST_VALUES):
            yield from self._rows(None, {name: {"$in": batch}})

    def one(self, id: str) -> FoundEntry | None:
        """Read one entry, or None if it does not exist."""
        found = self._rows([id], None)
        return found[0] if found else None

    def nearest(self, vector: Any, limit: int, where: Where | None) -> list[NearEntry]:
        """Query the index: the nearest entries with their vectors, nearest first."""
        answer = self._call(
            lambda each: each.query(query_embeddings=[vector], n_results=limit, where=where, include=["embeddings"])
        )
        embeddings = answer["embeddings"]
        return [NearEntry(str(name), near) for name, near in zip(answer["ids"][0], embeddings[0], strict=True)]

    def vectors(self, ids: Sequence[str]) -> dict[str, Any]:
        """Map ids to their vectors as ChromaDB has them; unknown ids are left out."""
        found: dict[str, Any] = {}
        for batch in batches(ids, MOST_READ):
            answer = self._call(lambda each, batch=batch: each.get(ids=batch, include=["embeddings"]))
            found.update(zip(answer["ids"], answer["embeddings"], strict=True))
        return found

    def remove(self, ids: Sequence[str]) -> None:
        """Delete entries; unknown ids are ignored."""
        for batch in batches(ids, MOST_ROWS):
            self._call(lambda each, batch=batch: each.delete(ids=batch))

    def remove_if(self, ids: Sequence[str], where: Where) -> None:
        """Delete those of a few entries that match a condition."""
        if ids:
            self._call(lambda each: each.delete(ids=list(ids), where=where))

    def count(self) -> int:
        """Return the number of entries."""
        return int(self._call(lambda each: each.count()))

    def _rows(self, ids: list[str] | None, where: Where | None, limit: int | None = None) -> list[FoundEntry]:
        parts = ["metadatas", "documents", "uris"]
        answer = self._call(lambda each: each.get(ids=ids, where=where, limit=limit, include=parts))
        count = len(answer["ids"])
        blank = [None] * count
        return [
            FoundEntry(str(name), metadata or {}, document or "", uri or "")
            for name, metadata, document, uri in zip(
                answer["ids"],
                answer["metadatas"] or blank,
                answer["documents"] or blank,
                answer["uris"] or blank,
                strict=True,
            )
        ]

    def _write(self, rows: Sequence[ChromaRow]) -> None:
        content: dict[str, Any] = {
            "ids": [row.id for row in rows],
            "embeddings": [[1.0] if row.vector is None else row.vector for row in rows],
            "metadatas": [dict(row.metadata) for row in rows],
            "documents": [row.document for row in rows],
        }
        if any(row.uri for row in rows):
            content["uris"] = [row.uri for row in rows]
        self._call(lambda each: each.upsert(**content))

    def _call(self, what: Callable[[Any], T]) -> T:
        return self._connection.call(lambda _: what(self._collection))


_KNOWN_SECONDS = 5.0


class StorageSize:
    """The size of a store in bytes, cached for some seconds, as every search would compute it otherwise."""

    def __init__(self, connection: ChromaConnection) -> None:
        self._connection = connection
        self._known = (-math.inf, 0)

    def bytes(self, chunks: int, dimensions: int) -> int:
        """Return the size of the folder; for a server, which does not report its size, an estimate."""
        if not self._connection.embedded:
            return chunks * (12 * dimensions + 6_000) + 1
        counted, known = self._known
        if time.monotonic() - counted > _KNOWN_SECONDS:
            known = sum(_sizes(self._connection.address.path))
            self._known = (time.monotonic(), known)
        return known


def _sizes(folder: Path | None) -> Iterator[int]:
    for place, _, files in walk_folders(folder or ""):
        for file in files:
            with contextlib.suppress(OSError):
                yield (Path(place) / file).stat().st_size

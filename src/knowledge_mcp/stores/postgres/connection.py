"""Transactions on one PostgreSQL database: connection pool, retries and error mapping.

Nothing lasts longer than a transaction (no prepared statements, session settings or session locks), so that a pooler in
transaction mode can be used.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator
from typing import TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    TimedOutError,
)
from knowledge_mcp.stores.postgres.tables import (
    SCHEMA,
    Connection,
    Extension,
    PostgresSession,
    check_version,
    prepare_schema,
    register_vectors,
)
from knowledge_mcp.stores.shared.rules import store_closed

T = TypeVar("T")

_MOST_CONNECTIONS = 16
"""A server accepts 100 by default: enough for three replicas, an ingest and a person at a console."""
_IDLE_SECONDS = 60.0
_LOOK_SECONDS = 1.0
"""How long to wait for a free connection before checking that the server can be reached at all."""
_CONNECT_SECONDS = 10
_CLOSED_BY_SERVER = frozenset({"57P01", "57P02", "57P03", "25006"})
"""SQLSTATEs of a server that was shut down, crashed, is starting, or is read-only (a primary that became a standby)."""
_OVERTAKEN = frozenset({"40001", "40P01"})


class _ConnectionLostError(ConnectionFailedError):
    """A connection was lost, or the transaction was aborted by a conflict, before its outcome was known.

    Attributes:
        is_open: whether it may have been committed anyway.
    """

    is_open = False


class PostgresDatabase:
    """Provides transactions on one database; connects on first use.

    Args:
        url: connection string, as libpq accepts it.
        patience: seconds to wait for a connection, and for another writer, before raising TimedOutError.

    Raises:
        ConfigError: the connection string is invalid. Transactions raise it as `tables.prepare_schema` does.
        ConnectionFailedError, TimedOutError: raised by transactions.
    """

    def __init__(self, url: str, *, patience: float = 120.0) -> None:
        self.location = location_of(url)
        self._patience = patience
        # an empty password stops libpq from sending PGPASSWORD to an address that comes from a file
        ours = {"application_name": "knowledge-mcp", "connect_timeout": _CONNECT_SECONDS, "password": ""}
        given = {**ours, **conninfo_to_dict(url)}
        self._secrets = [str(given[each]) for each in ("password", "sslpassword") if given.get(each)]
        self._address = make_conninfo("", **{**given, "client_encoding": "UTF8"})
        self._pool: ConnectionPool[Connection] | None = None
        self._extension: Extension | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def extension(self) -> Extension:
        """Location and version of pgvector."""
        self._opened()
        assert self._extension is not None
        return self._extension

    def close(self) -> None:
        """Close all idle connections. Those in use are closed when their transaction ends."""
        with self._lock:
            self._closed, pool, self._pool = True, self._pool, None
        if pool is not None:
            pool.close()

    def read(self, work: Callable[[PostgresSession], T]) -> T:
        """Run `work` in one snapshot; retry once if the connection was lost."""
        try:
            with self.snapshot() as session:
                return work(session)
        except _ConnectionLostError:
            self._renew()
            with self.snapshot() as session:
                return work(session)

    @contextlib.contextmanager
    def snapshot(self) -> Generator[PostgresSession]:
        """Open a read transaction on one snapshot; it blocks no writer."""
        with self._transaction(psycopg.IsolationLevel.REPEATABLE_READ, read_only=True) as session:
            yield session

    def write(self, work: Callable[[PostgresSession], T], written: Callable[[PostgresSession], T | None]) -> T:
        """Run `work` in one write transaction; retry once if the connection was lost.

        Args:
            work: writes, and returns the result; may run twice.
            written: checks whether a transaction with an unknown outcome was committed; returns the result if so, else
                None.
        """
        try:
            return self._write(work)
        except _ConnectionLostError as exc:
            self._renew()
            known = self.read(written) if exc.is_open else None
            return self._write(work) if known is None else known

    def _write(self, work: Callable[[PostgresSession], T]) -> T:
        with self._transaction(psycopg.IsolationLevel.READ_COMMITTED, read_only=False) as session:
            waits = f"{round(1000 * self._patience)}"
            found = session.rows(f"SELECT version, set_config('lock_timeout', %s, true) FROM {SCHEMA}.meta", (waits,))
            check_version(session, int(found[0][0]))
            return work(session)

    @contextlib.contextmanager
    def mapped(self) -> Generator[None]:
        """Convert exceptions inside into `KnowledgeError`s, as every transaction does."""
        try:
            yield
        except (psycopg.Error, UnicodeError) as exc:
            raise self._error_of(exc) from exc

    @contextlib.contextmanager
    def _transaction(self, level: psycopg.IsolationLevel, *, read_only: bool) -> Generator[PostgresSession]:
        pool = self._opened()
        connection = self._taken(pool)
        is_open = False
        try:
            connection.isolation_level, connection.read_only = level, read_only
            yield PostgresSession(connection, self.location)
            is_open = not read_only
            connection.commit()
        except (psycopg.Error, UnicodeError) as exc:
            state = exc.sqlstate if isinstance(exc, psycopg.Error) else None
            if connection.closed or state in _CLOSED_BY_SERVER or state in _OVERTAKEN:
                if state not in _OVERTAKEN:
                    connection.close()
                lost = _ConnectionLostError(_LOST.format(self.location), details=self._hidden(exc))
                lost.is_open = is_open and state not in _OVERTAKEN
                raise lost from exc
            raise self._error_of(exc) from exc
        finally:
            if not connection.closed:
                with contextlib.suppress(psycopg.Error):
                    connection.rollback()
            pool.putconn(connection)

    def _taken(self, pool: ConnectionPool[Connection]) -> Connection:
        """Take a connection. While none is free, check that the server can be reached, as the pool does not."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return pool.getconn(timeout=_LOOK_SECONDS)
            except PoolTimeout as exc:
                if time.monotonic() > deadline:
                    raise TimedOutError(
                        f"No connection to {self.location} became free in {self._patience:.0f} seconds.",
                        suggestion="Wait until other work is done, then try again.",
                    ) from exc
                self._connected().close()
            except psycopg.Error as exc:  # raised by a closed pool
                raise store_closed() from exc

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._closed:
                raise store_closed()
            if self._pool is None:
                with contextlib.closing(self._connected()) as connection, self.mapped():
                    self._extension = prepare_schema(PostgresSession(connection, self.location))
                    connection.commit()
                self._pool = ConnectionPool(
                    self._address,
                    connection_class=Connection,
                    kwargs={"prepare_threshold": None},
                    configure=register_vectors(self._extension.oid),
                    min_size=0,
                    max_size=_MOST_CONNECTIONS,
                    max_idle=_IDLE_SECONDS,
                    reconnect_timeout=0.0,
                    open=True,
                )
            return self._pool

    def _connected(self) -> Connection:
        try:
            return psycopg.connect(self._address, prepare_threshold=None)
        except psycopg.Error as exc:
            raise self._refused(exc) from exc

    def _renew(self) -> None:
        """Discard the dead connections that a failure has left in the pool."""
        pool = self._opened()
        with contextlib.suppress(psycopg.Error):
            pool.check()

    def _hidden(self, error: BaseException) -> str:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _refused(self, error: psycopg.Error) -> KnowledgeError:
        """Explain why no connection can be made; libpq has no error codes here, only messages."""
        details, words = self._hidden(error), str(error)
        for phrase, message, suggestion in _REFUSALS:
            if phrase in words:
                return ConfigError(message.format(self.location), details=details, suggestion=suggestion)
        return ConnectionFailedError(f"PostgreSQL does not answer at {self.location}.", details=details)

    def _error_of(self, error: psycopg.Error | UnicodeError) -> KnowledgeError:
        details = self._hidden(error)
        if isinstance(error, UnicodeError | psycopg.DataError):
            return InvalidInputError("A text or number cannot be stored.", details=details)
        state = error.sqlstate or ("08" if isinstance(error, psycopg.OperationalError) else "")
        for states, kind, message, suggestion in _STATES:
            if state.startswith(states):
                return kind(message.format(self.location), details=details, suggestion=suggestion)
        return InternalError(f"{self.location} could not be used.", details=details)


_LOST = "The connection to {} was lost."
_TLS = "Correct sslmode, sslrootcert, sslcert or sslkey in DATABASE_URL, or the server's certificate."
_TLS_WORDS = (" certificate", "private key", "SSL required", "but SSL", "sslmode", "SSL error: tlsv", "signature fail")
_REFUSALS = (
    ("password", "{} refused the user or the password.", "Correct the user and password in DATABASE_URL."),
    ('role "', "{} does not know the user.", "Correct the user in DATABASE_URL, or create it on the server."),
    *((phrase, "{} does not accept these TLS settings.", _TLS) for phrase in _TLS_WORDS),
    ("pg_hba.conf", "{} does not accept this type of connection from here.", "Let the server's pg_hba.conf allow it."),
    ('" does not exist', "The server has no database {}.", "Make it with CREATE DATABASE, or correct DATABASE_URL."),
)
_STATES: tuple[tuple[tuple[str, ...], Callable[..., KnowledgeError], str, str], ...] = (
    (("42501",), ConfigError, "The user lacks rights in {}.", "Run `CREATE SCHEMA knowledge_mcp AUTHORIZATION …`."),
    (("42P01", "42703", "3F000"), ConfigError, "The tables in {} are not those of this version.", "Restart it."),
    (("08", "57P", "25006"), ConnectionFailedError, _LOST, "Check that the server is running and accepts writes."),
    (("55P03", "57014"), TimedOutError, "Another writer has been writing to {} for too long.", "Try again later."),
    (("531",), ConnectionFailedError, "There is no space left on the disk of {}.", "Free space, then run again."),
    (("53", "58"), ConnectionFailedError, "The server of {} is short of something.", "See the details and its log."),
    (("XX",), InternalError, "{} is damaged, or its server has failed.", "See its log; restore a backup if needed."),
)


def location_of(url: str) -> str:
    """Return a database's location without secrets.

    Raises:
        ConfigError: the connection string is invalid.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        # its message may contain the password
        raise ConfigError(
            "DATABASE_URL is not the address of a PostgreSQL database.",
            suggestion="Use the form postgresql://user:password@host:5432/database.",
        ) from None
    ports = str(given.get("port") or "")
    name = given.get("dbname") or given.get("user") or ""
    return f"postgresql://{given.get('host') or ''}{':' if ports else ''}{ports}/{name}"

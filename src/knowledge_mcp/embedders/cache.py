"""The embedding cache in front of an embedder: what was once paid for, or a stopped ingest has worked out, is kept.

Its file holds vectors by embedding space and hash of the text, in SQLite. Every collection of a store shares it, and
several processes may use it at once. It is a help and never a condition: where the file cannot be used the embedder
works without it, which the log tells once.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import EmbeddingSpace, EmbeddingUsage
from knowledge_mcp.model.errors import ContentRefusedError, InternalError, InvalidInputError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import make_private_folder, touch_private

if TYPE_CHECKING:
    from knowledge_mcp.embedders.cache import CacheFile

logger = logging.getLogger(__name__)

T = TypeVar("T")

APPLICATION = 0x6B6D6563
"""`kmec` in the file's header: what else calls itself SQLite is left alone."""
VERSION = 1
BUSY_MILLISECONDS = 2_000
PAUSE_SECONDS = 0.01
"""Between tries where SQLite answers busy at once; making the file takes another process about as long."""
WAL_LIMIT = 16 * 1024 * 1024
KEYS_OF_A_STATEMENT = 500
USE_IS_TOLD_AFTER = 3_600
"""Seconds for which a use is not written down again, so that reading rarely writes."""
SWEPT_TO = 0.9
ROWS_OF_A_SWEEP = 256
MOST_PASSING = 4_096

SCHEMA = """
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    text BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum BLOB NOT NULL,
    used INTEGER NOT NULL,
    UNIQUE (space, text)
) STRICT;
CREATE INDEX vectors_by_use ON vectors (used, id);
"""


class _Connection(Protocol):
    """What is used of apsw's connection, whose own types are partly unknown."""

    def __enter__(self) -> object: ...
    def __exit__(self, *_: object) -> bool | None: ...
    def execute(self, statements: str, bindings: Sequence[object] = ...) -> Iterable[tuple[Any, ...]]: ...
    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[object]]) -> object: ...
    def pragma(self, name: str, value: int | str | None = None) -> Any: ...
    def changes(self) -> int: ...
    def set_busy_timeout(self, milliseconds: int) -> None: ...
    def close(self) -> None: ...


class CacheFile:
    """Keep the vectors of one embedding space in a file that other spaces share; may be used by many threads.

    Args:
        path: the file, made with its folder at the first use.
        space: fingerprint of the space.
        dimensions: components of its vectors.
        most_bytes: bound of the file; above it the vectors go that were not used for longest.
        clock: seconds since the epoch.
    """

    def __init__(
        self, path: Path, space: str, dimensions: int, *, most_bytes: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._space = space
        self._size = 4 * dimensions
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._usable = True
        self._logged: set[str] = set()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return what is known and whole, by key (SHA-256 of the text)."""
        return self._guarded("read", lambda connection: self._get(connection, keys), {})

    def put(self, vectors: Mapping[bytes, Vector], *, passing: bool = False) -> None:
        """Keep vectors by key; those of a wrong length are left out.

        Args:
            vectors: by SHA-256 of the text.
            passing: they are the first to go, and only the latest few thousand are kept, until they are used again.
        """
        rows = [(key, vector) for key, vector in vectors.items() if len(vector) == self._size]
        if rows:
            used = 0 if passing else int(self._clock())
            self._guarded("write", lambda connection: self._put(connection, rows, used), None)

    def close(self) -> None:
        """Close the file; later calls find and keep nothing."""
        with self._lock:
            self._usable = False
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _get(self, connection: _Connection, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        stale: list[int] = []
        damaged: list[int] = []
        now = int(self._clock())
        for start in range(0, len(keys), KEYS_OF_A_STATEMENT):
            some = keys[start : start + KEYS_OF_A_STATEMENT]
            marks = ",".join("?" * len(some))
            statement = f"SELECT id, text, vector, checksum, used FROM vectors WHERE space = ? AND text IN ({marks})"
            for row, key, vector, checksum, used in connection.execute(statement, (self._space, *some)):
                if len(vector) != self._size or checksum != self._checksum(key, vector):
                    damaged.append(row)
                    continue
                found[key] = vector
                if not now - USE_IS_TOLD_AFTER <= used <= now:
                    stale.append(row)
        if damaged:
            self._log("damaged", f"{len(damaged)} vectors are damaged and are asked for again")
        if stale:
            self._note_use(connection, stale, now)
        return found

    def _note_use(self, connection: _Connection, rows: Sequence[int], now: int) -> None:
        """Write down that rows were used; where another process writes for long, or nobody may, it is left."""
        import apsw

        try:
            with connection:
                connection.executemany("UPDATE vectors SET used = ? WHERE id = ?", [(now, row) for row in rows])
        except (apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.FullError):
            return

    def _put(self, connection: _Connection, rows: Sequence[tuple[bytes, Vector]], used: int) -> None:
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (space, text, vector, checksum, used) VALUES (?, ?, ?, ?, ?)",
                [(self._space, key, vector, self._checksum(key, vector), used) for key, vector in rows],
            )
            if not used:
                connection.execute(
                    "DELETE FROM vectors WHERE id IN "
                    "(SELECT id FROM vectors WHERE used = 0 ORDER BY id DESC LIMIT -1 OFFSET ?)",
                    (MOST_PASSING,),
                )
            self._sweep(connection)

    def _sweep(self, connection: _Connection) -> None:
        """Drop what was not used for longest, down to nine tenths of the bound; its pages are used again."""
        if self._held(connection) <= self._most_bytes:
            return
        while self._held(connection) > SWEPT_TO * self._most_bytes:
            connection.execute(
                "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors ORDER BY used, id LIMIT ?)", (ROWS_OF_A_SWEEP,)
            )
            if not connection.changes():
                return

    def _held(self, connection: _Connection) -> int:
        pages, free, size = (int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def _checksum(self, key: bytes, vector: Vector) -> bytes:
        """Bind a vector to its space and text, so that neither a flipped bit nor a mixed-up row goes through."""
        return hashlib.blake2b(self._space.encode() + key + vector, digest_size=16).digest()

    def _guarded(self, doing: str, work: Callable[[_Connection], T], otherwise: T) -> T:
        import apsw

        with self._lock:
            if not self._usable:
                return otherwise
            try:
                if self._connection is None:
                    self._connection = self._open()
                return work(self._connection)
            except (apsw.BusyError, apsw.LockedError, apsw.ProtocolError) as exc:
                self._log("busy", f"another process holds it: {exc}")
            except (apsw.Error, OSError, ValueError, TypeError) as exc:
                self._usable = False
                self._log("unusable", f"{type(exc).__name__}: {exc}", doing)
                self._drop_connection()
        return otherwise

    def _open(self) -> _Connection:
        import apsw

        make_private_folder(self._path.parent)
        touch_private(self._path)
        connection = cast("_Connection", apsw.Connection(str(self._path)))
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            self._check_owner(connection)
            self._into_wal(connection)
            connection.pragma("synchronous", "normal")
            connection.pragma("journal_size_limit", WAL_LIMIT)
            connection.execute("BEGIN IMMEDIATE")
            try:
                if connection.pragma("user_version") == 0:
                    connection.execute(SCHEMA)
                    connection.pragma("application_id", APPLICATION)
                    connection.pragma("user_version", VERSION)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except BaseException:
            connection.close()
            raise
        return connection

    def _into_wal(self, connection: _Connection) -> None:
        """Choose the journal that many may read and write by; here SQLite does not wait for others by itself."""
        import apsw

        until = time.monotonic() + BUSY_MILLISECONDS / 1000
        while True:
            try:
                connection.pragma("journal_mode", "wal")
            except apsw.BusyError:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _check_owner(self, connection: _Connection) -> None:
        with connection:  # one moment for all three: another process may be making the file
            version, owner = connection.pragma("user_version"), connection.pragma("application_id")
            empty = not connection.pragma("schema_version")
        if (version, owner) != (VERSION, APPLICATION) and not (empty and not version and not owner):
            raise ValueError(f"the file is something else's, or of another version ({version})")

    def _drop_connection(self) -> None:
        import apsw

        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except apsw.Error as exc:
                logger.debug("closing the damaged embedding cache: %s", exc)

    def _log(self, what: str, reason: str, doing: str = "") -> None:
        """Log each kind of trouble once."""
        if what in self._logged:
            return
        self._logged.add(what)
        log_event(
            logger, logging.WARNING, "embedding_cache_bypassed",
            path=str(self._path), trouble=what, reason=reason, doing=doing,
        )  # fmt: skip


CACHE_FILE = "embedding-cache.sqlite"
MOST_BYTES = 2 * 1024**3
STOPPED_FILE = "embedding-cache-local.sqlite"
STOPPED_BYTES = 64 * 1024**2
"""Some 30,000 passages, which no document has: what is stored is found again in its collection."""

OnAnswer = Callable[[Sequence[str], Sequence[Vector]], None]
"""Told the texts and the vectors of each answer as soon as it is there, on the thread that asked."""


class TellingEmbedder(Embedder, Protocol):
    """An embedder that tells of each answer as soon as it is there."""

    def embed_each(self, texts: Sequence[str], on_answer: OnAnswer) -> list[Vector]:
        """Embed as `embed_documents` does; `on_answer` gets the texts and the vectors of each answer."""
        ...


class CachedEmbedder:
    """Answer from the cache what it knows, and keep what the inner embedder answers; fills `ports.Embedder`.

    Vectors are kept as each answer of the service arrives, so that a crash loses at most the requests under way.
    Refused texts are not remembered. Questions are kept too, but never in place of passages.

    Args:
        inner: who answers. Its space is part of every key.
        file: the cache's file; made at its first use.
        most_bytes: above it, what was not used for longest goes.
        keeps_questions: whether questions are kept too.
    """

    def __init__(
        self, inner: TellingEmbedder, file: Path, *, most_bytes: int = MOST_BYTES, keeps_questions: bool = True
    ) -> None:
        self._inner = inner
        self._path = file
        self._most_bytes = most_bytes
        self._file: CacheFile | None = None
        self._keeps_questions = keeps_questions
        self._lock = threading.Lock()
        self._answered = 0
        self._closed = False

    @property
    def space(self) -> EmbeddingSpace:
        return self._inner.space

    @property
    def price(self) -> float | None:
        return self._inner.price

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def usage(self) -> EmbeddingUsage:
        asked = self._inner.usage
        return EmbeddingUsage(requests=asked.requests, tokens=asked.tokens, cached=asked.cached + self._answered)

    def count_tokens(self, text: str) -> int:
        return self._inner.count_tokens(text)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._inner.token_spans(text)

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self._refuse_when_closed()
        refuse_blanks(texts)
        prefix = self.space.document_prefix
        known = self._look_up(prefix, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]

        def keep(some: Sequence[str], vectors: Sequence[Vector]) -> None:
            self._cache().put({_key(prefix, text): vector for text, vector in zip(some, vectors, strict=True)})

        reasons: dict[str, str] = {}
        refusal: ContentRefusedError | None = None
        try:
            answered: Sequence[Vector | None] = self._inner.embed_each(missing, keep) if missing else []
        except ContentRefusedError as exc:
            refusal, answered = exc, exc.vectors
            reasons = {missing[index]: words for index, words in exc.reasons.items()}
        self._count(sum(text in known for text in texts))
        known.update((text, each) for text, each in zip(missing, answered, strict=True) if each is not None)
        if refusal is not None:
            refused = {index: reasons[text] for index, text in enumerate(texts) if text in reasons}
            raise ContentRefusedError(
                refusal.message,
                vectors=[known.get(text) for text in texts],
                reasons=refused,
                details=refusal.details,
                suggestion=refusal.suggestion,
            ) from refusal
        return [known[text] for text in texts]

    def documents_at_hand(self, texts: Sequence[str]) -> dict[str, Vector]:
        self._refuse_when_closed()
        known = self._look_up(self.space.document_prefix, texts)
        self._count(len(known))
        return known

    def embed_query(self, text: str) -> Vector:
        self._refuse_when_closed()
        if not self._keeps_questions:
            return self._inner.embed_query(text)
        refuse_blanks([text])
        prefix = self.space.query_prefix
        known = self._look_up(prefix, [text]).get(text)
        if known is not None:
            self._count(1)
            return known
        vector = self._inner.embed_query(text)
        self._cache().put({_key(prefix, text): vector}, passing=True)
        return vector

    def warm_up(self) -> None:
        self._refuse_when_closed()
        self._inner.warm_up()

    def close(self) -> None:
        self._closed = True
        self._inner.close()
        if self._file is not None:
            self._file.close()

    def _look_up(self, prefix: str, texts: Sequence[str]) -> dict[str, Vector]:
        keys = {text: _key(prefix, text) for text in texts}
        found = self._cache().get(list(keys.values())) if keys else {}
        return {text: found[key] for text, key in keys.items() if key in found}

    def _count(self, answered: int) -> None:
        with self._lock:
            self._answered += answered

    def _cache(self) -> CacheFile:
        from knowledge_mcp.embedders.cache import CacheFile

        with self._lock:
            if self._file is None:
                self._file = CacheFile(
                    self._path, self.space.fingerprint, self.space.dimensions, most_bytes=self._most_bytes
                )
            return self._file

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise InternalError("The embedder is closed.")


def cached(inner: TellingEmbedder, folder: Path) -> CachedEmbedder:
    """Put the cache of a data folder in front of an embedder that is paid; opens nothing."""
    return CachedEmbedder(inner, folder / CACHE_FILE)


def of_stopped_runs(inner: TellingEmbedder, folder: Path) -> CachedEmbedder:
    """Put a small cache in front of an embedder that costs only time, for ingests that are stopped; opens nothing."""
    return CachedEmbedder(inner, folder / STOPPED_FILE, most_bytes=STOPPED_BYTES, keeps_questions=False)


def refuse_blanks(texts: Sequence[str]) -> None:
    """Raise an `InvalidInputError` that names the first blank text."""
    for position, text in enumerate(texts):
        if not text.strip():
            raise InvalidInputError(f"Text {position + 1} of {len(texts)} is blank; only text can be embedded.")


def _key(prefix: str, text: str) -> bytes:
    return hashlib.sha256((prefix + text).encode("utf-8", "surrogatepass")).digest()

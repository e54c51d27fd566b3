"""The in-memory data for searches of one collection in the SQLite store, and how it follows the file.

A view is one state of the collection: sign bits, lengths and filter fields of every slot, all derived from the file.
The next state is made from the last one by reading only what was published or deleted since, by any process. States
share buffers that only grow, so an older view stays valid while a search still uses it.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.stores.shared.ranking import GrowingArray, SlotBuffers, SlotView, length_norms
from knowledge_mcp.stores.sqlite.tables import Row, Session
from knowledge_mcp.support.checkpoints import check_each

FLOATS_UP_TO = 16_384
"""Up to this many slots, the vectors and names are also held: 24 MiB for 384 components, and 2 MiB."""

RECENT = 16_384
"""Number of vectors cached for larger collections, in the same amount of memory. A search reads 600 vectors, then 200,
of which half are the same, and the next question is often about the same things.
"""

RECENT_NAMES = 65_536
"""Number of names cached for larger collections, and of slots by name. A name takes a twentieth of a vector's memory,
and as long to read.
"""

FREQUENT = 12
"""A term is frequent if at least one in this many passages contains it. A count for every slot then takes about as much
memory as its postings, and gives the count of any slot directly.
"""

_MOST_FREQUENT = 128
"""Number of frequent terms whose counts are cached, at one byte per slot each: 13 MB at 100,000 slots, about twice the
rest of the view. Of 40,000 words drawn by Zipf's law 83 are frequent.
"""

_AT_ONCE = 2_048
_INTEGER = sys.getsizeof(1 << 20)
_NAME = 85
"""Bytes of a chunk id with 36 characters."""
_CLAUSE = 100
"""Bytes of a clause number in addition to its entry in the map, and of a block with its document's id."""
_BLOCK = 220
_BLOCKS = """
SELECT first_slot, size, document_id, keys, bits, lengths, fields FROM blocks
WHERE collection = ? AND first_slot >= ? ORDER BY first_slot
"""
_GRAVES = "SELECT first_slot, size FROM graves WHERE collection = ? AND version > ?"

T = TypeVar("T", bound=np.generic)


class _RecentValues(Generic[T]):
    """Caches the values last read of slots, which never change: slot `n` is at `n % count`. Thread-safe.

    Args:
        dtype: type of the values.
        count: number of values to keep.
        width: components per value; None if a value is one item.
    """

    def __init__(self, dtype: type[T], count: int, width: int | None = None) -> None:
        self._values: NDArray[T] = np.empty(count if width is None else (count, width), dtype)
        self._slots = np.full(count, -1, np.int64)
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """Allocated bytes, including unused capacity."""
        return self._values.nbytes + self._slots.nbytes

    def get(self, slots: NDArray[np.int64], read: Callable[[NDArray[np.int64]], NDArray[T]]) -> NDArray[T]:
        """Return the values of some slots; `read` reads those that are not cached."""
        places = slots % len(self._slots)
        values = np.empty((len(slots), *self._values.shape[1:]), self._values.dtype)
        with self._lock:
            known = self._slots[places] == slots
            values[known] = self._values[places[known]]
        if not known.all():
            missing, taken = slots[~known], places[~known]
            values[~known] = found = read(missing)
            with self._lock:  # if two slots share a place, the last one wins, in both arrays
                self._values[taken] = found
                self._slots[taken] = missing
        return values


@dataclass(kw_only=True)
class _ViewBuffers(SlotBuffers):
    """The buffers that only grow, shared by all states of one collection and epoch."""

    bits: GrowingArray[np.uint64]
    floats: GrowingArray[np.float32] | None
    keys: GrowingArray[np.int64] = field(default_factory=lambda: GrowingArray(np.int64))
    recent_floats: _RecentValues[np.float32] | None = None
    recent_names: _RecentValues[np.object_] | None = None
    names: list[str] = field(default_factory=list[str])
    slots: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def bytes(self) -> int:
        """Size in bytes: exact for the arrays, estimated for names and maps."""
        growing = (self.bits, self.keys, self.lengths, self.kinds, self.clauses, self.floats)
        arrays = (*growing, self.recent_floats, self.recent_names)
        name = sys.getsizeof(self.names[-1]) + _INTEGER if self.names else 0
        return (
            sum(each.bytes for each in arrays if each is not None)
            + sum(sys.getsizeof(each) for each in (self.names, self.slots, self.clause_names, self.blocks))
            + name * len(self.names)
            + (0 if self.recent_names is None else _NAME * (RECENT_NAMES + len(self.slots)))
            + _CLAUSE * len(self.clause_names)
            + _BLOCK * len(self.blocks)
        )


@dataclass(kw_only=True)
class SqliteView(SlotView):
    """One state of one collection.

    Attributes:
        collection, epoch, version: identify the state.
        dimensions: components of a vector.
        bits: sign bits of the vectors, `[words, size]`.
        floats: the vectors, `[size, dimensions]`; None in larger collections.
        names: chunk ids by slot; those beyond `size` belong to later states. None in larger collections.
        keys: `chunks.key` of each slot.
        fixed_bytes: bytes of the arrays and buffers, without the filter masks and the counts.
        counts: counts of frequent terms that were queried, for every slot including dead ones.
    """

    buffers: _ViewBuffers  # pyright: ignore[reportIncompatibleVariableOverride] - never set to another one
    collection: int
    epoch: int
    version: int
    dimensions: int
    bits: NDArray[np.uint64]
    floats: NDArray[np.float32] | None
    names: list[str] | None
    keys: NDArray[np.int64]
    fixed_bytes: int
    counts: dict[str, NDArray[np.uint8]] = field(default_factory=dict[str, NDArray[np.uint8]])

    @property
    def bytes(self) -> int:
        """Size in bytes of the view."""
        return self.fixed_bytes + (len(self.masks) + len(self.counts)) * self.size

    def keep_counts(self, term: str, counts: NDArray[np.uint8]) -> None:
        """Cache the counts of a frequent term for every slot; the oldest ones are evicted."""
        for oldest in list(self.counts)[: len(self.counts) + 1 - _MOST_FREQUENT]:
            self.counts.pop(oldest, None)
        self.counts[term] = counts

    def vectors(self, connection: Session, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of some slots, `[n, dimensions]`; cached, otherwise like `vectors_of`."""
        recent, dimensions = self.buffers.recent_floats, self.dimensions
        assert recent is not None, "what is held is not asked for"
        return recent.get(slots, lambda missing: vectors_of(connection, self.keys[missing], dimensions))

    def names_at(self, connection: Session, slots: NDArray[np.int64]) -> list[str]:
        """Return the chunk ids of some slots; cached, otherwise like `names_of`."""
        names, recent = self.names, self.buffers.recent_names
        if names is not None:
            return [names[slot] for slot in slots.tolist()]
        assert recent is not None

        def read(missing: NDArray[np.int64]) -> NDArray[np.object_]:
            return np.array(names_of(connection, self.keys[missing]), np.object_)

        found = recent.get(slots, read).tolist()
        named = self.buffers.slots
        if len(named) > RECENT_NAMES:
            named.clear()
        named.update(zip(found, slots.tolist(), strict=True))
        return found

    def slots(self, chunk_ids: Iterable[str]) -> dict[str, int]:
        """Map chunk ids to their slots, for visible chunks whose names are held or were recently read.

        A visible chunk can be missing: if its name was not read, or if it was published again with the same id, and the
        map has its slot of another state.
        """
        later = self.buffers.slots
        found = ((each, later.get(each, self.size)) for each in chunk_ids)
        return {each: slot for each, slot in found if slot < self.size and (self.alive is None or self.alive[slot])}


def sign_bits(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Pack the signs of `[n, dimensions]` vectors into `[n, 8 * words]` bytes, eight bytes per word."""
    packed = np.packbits(vectors > 0.0, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))) if missing else packed


class ViewState(NamedTuple):
    """Identifies the state of a collection that a snapshot sees; a greater version is later."""

    epoch: int
    version: int
    size: int


def state_of(connection: Session, collection: int) -> ViewState:
    """Read the state of a collection."""
    return ViewState(
        *connection.rows("SELECT epoch, version, next_slot FROM collections WHERE id = ?", (collection,))[0]
    )


def next_view(
    connection: Session, collection: int, dimensions: int, last: SqliteView | None, state: ViewState
) -> SqliteView:
    """Return the view of the snapshot's state, built from the last view if possible."""
    epoch, version, size = state
    if last is not None and (last.epoch, last.version) == (epoch, version):
        return last
    if last is None or last.epoch != epoch or last.version > version:
        buffers, start, since = (
            _ViewBuffers(
                bits=GrowingArray(np.uint64, -(-dimensions // 64), by_columns=True),
                floats=GrowingArray(np.float32, dimensions),
            ),
            0,
            version,
        )
        alive = np.zeros(size, np.bool_)
    else:
        buffers, start, since = last.buffers, last.size, last.version
        alive = np.zeros(size, np.bool_)
        alive[:start] = True if last.alive is None else last.alive
    if size > FLOATS_UP_TO:
        buffers.floats, buffers.names, buffers.slots = None, [], {}
        buffers.recent_floats = buffers.recent_floats or _RecentValues(np.float32, RECENT, dimensions)
        buffers.recent_names = buffers.recent_names or _RecentValues(np.object_, RECENT_NAMES)
    for first, count in connection.rows(_GRAVES, (collection, since)):
        alive[first : first + count] = False
    found = connection.rows(_BLOCKS, (collection, start))
    for block in check_each(found):
        alive[block[0] : block[0] + block[1]] = True
        _load(buffers, block)
    if buffers.floats is not None:
        _load_vectors(connection, buffers, buffers.floats, found, dimensions)
    lengths = buffers.lengths.upto(size).astype(np.float64)
    chunks = int(np.count_nonzero(alive))
    everywhere = chunks == size
    norms = length_norms(lengths, None if everywhere else alive)
    return SqliteView(
        collection=collection,
        epoch=epoch,
        version=version,
        dimensions=dimensions,
        size=size,
        chunks=chunks,
        alive=None if everywhere else alive,
        bits=buffers.bits.upto(size),
        floats=None if buffers.floats is None else buffers.floats.upto(size),
        names=None if buffers.floats is None else buffers.names,
        keys=buffers.keys.upto(size),
        norms=norms,
        buffers=buffers,
        fixed_bytes=buffers.bytes + norms.nbytes + alive.nbytes,
    )


def vectors_of(connection: Session, keys: NDArray[np.int64], dimensions: int) -> NDArray[np.float32]:
    """Read the vectors of chunks, `[n, dimensions]`; a vector of the wrong length becomes all NaN.

    Raises:
        InternalError: a vector is missing.
    """
    if not len(keys):
        return np.zeros((0, dimensions), np.float32)
    select = "SELECT v.vector FROM carray(?) c CROSS JOIN vectors v WHERE v.key = c.value"
    found = [row[0] for row in _all_of(connection, select, keys, "vectors")]
    if set(map(len, found)) != {4 * dimensions}:
        nothing = np.full(dimensions, np.nan, "<f4").tobytes()
        found = [each if len(each) == 4 * dimensions else nothing for each in found]
    return np.frombuffer(b"".join(found), "<f4").reshape(len(keys), -1)


def names_of(connection: Session, keys: NDArray[np.int64]) -> list[str]:
    """Read the ids of chunks.

    Raises:
        InternalError: a chunk is missing.
    """
    select = "SELECT k.chunk_id FROM carray(?) c CROSS JOIN chunks k WHERE k.key = c.value"
    return [str(row[0]) for row in _all_of(connection, select, keys, "chunks")]


def _all_of(connection: Session, select: str, keys: NDArray[np.int64], what: str) -> list[Row]:
    """Read one row for each key.

    Raises:
        InternalError: a row is missing.
    """
    found = connection.by_keys(select, keys)
    if len(found) != len(keys):
        raise InternalError(
            f"{len(keys) - len(found)} {what} are missing from the store.",
            suggestion="Run `knowledge doctor` and ingest the documents that it lists again.",
        )
    return found


def _load(buffers: _ViewBuffers, block: Row) -> None:
    first, size, document_id, keys, bits, lengths, fields = block
    values: dict[str, Any] = json.loads(fields)
    kinds = [(kind[0], kind[1], kind[2]) for kind in values["kinds"]]
    buffers.take(first, document_id, np.frombuffer(lengths, "<u4"), (kinds, values["kind"]), values["clause"])
    if size:
        buffers.bits.put(first, np.frombuffer(bits, "<u8").reshape(size, -1).T)
        buffers.keys.put(first, np.frombuffer(keys, "<i8"))


def _load_vectors(
    connection: Session, buffers: _ViewBuffers, floats: GrowingArray[np.float32], blocks: Sequence[Row], dimensions: int
) -> None:
    """Read the vectors and names of all new blocks in batches, instead of one query for each block."""
    spans = [np.arange(int(each[0]), int(each[0]) + int(each[1]), dtype=np.int64) for each in blocks if each[1]]
    if not spans:
        return
    slots = np.concatenate(spans)
    size = int(slots[-1]) + 1
    keys, rows = buffers.keys.upto(size), floats.upto(size)
    buffers.names.extend([""] * (size - len(buffers.names)))
    for start in check_each(range(0, len(slots), _AT_ONCE)):
        some = slots[start : start + _AT_ONCE]
        rows[some] = vectors_of(connection, keys[some], dimensions)
        for slot, name in zip(some.tolist(), names_of(connection, keys[some]), strict=True):
            buffers.names[slot] = name
            buffers.slots[name] = slot

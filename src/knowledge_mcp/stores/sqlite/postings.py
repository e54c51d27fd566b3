"""The inverted index of the SQLite store: posting lists of slots and counts, in segments that are written once.

Each publish writes one small segment. Eight segments of a level are merged into one of the next level, so that a query
reads few rows per term. A posting list is `4 n` bytes of slots (uint32, ascending) followed by `n` bytes of counts
(uint8), so that NumPy can view it without unpacking. Postings of deleted chunks stay until the slots are renumbered;
readers must ignore dead slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.stores.sqlite.tables import Session

SEGMENTS_PER_LEVEL = 8
"""A query reads at most 7 rows per term and level, and each posting is rewritten once per level."""
BATCH_POSTINGS = 500_000
"""Postings held at once while the index is read or renumbered: 2.5 MB."""


@dataclass
class Segment:
    """Collects the postings of one block; slots are relative to the block's first slot."""

    slots: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    counts: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def add(self, slot: int, counts: dict[str, int]) -> None:
        """Add the term counts of one chunk. Slots must be added in ascending order."""
        for term, count in counts.items():
            self.slots.setdefault(term, []).append(slot)
            self.counts.setdefault(term, []).append(count)

    def take_over(self, other: Segment, offset: int) -> None:
        """Append the postings of another segment, shifted by `offset`; their slots must be greater than those here."""
        for term, slots in other.slots.items():
            self.slots.setdefault(term, []).extend(slot + offset for slot in slots)
            self.counts.setdefault(term, []).extend(other.counts[term])

    def lists(self, first_slot: int) -> Iterator[tuple[str, bytes]]:
        """Yield each term with its posting list, sorted by term, with `first_slot` added to the slots."""
        terms = sorted(self.slots)
        all_slots = np.fromiter((slot for term in terms for slot in self.slots[term]), "<u4")
        slots = (all_slots + np.uint32(first_slot)).tobytes()
        place = 0
        for term in terms:
            counts = self.counts[term]
            yield term, slots[4 * place : 4 * (place + len(counts))] + bytes(counts)
            place += len(counts)


def add_segment(connection: Session, collection: int, lists: Iterable[tuple[str, bytes]]) -> None:
    """Write a new segment at the lowest level, and merge the levels that are full."""
    _write(connection, collection, 0, lists)
    level = 0
    while True:
        found = connection.rows(
            "SELECT id FROM segments WHERE collection = ? AND level = ? ORDER BY id", (collection, level)
        )
        if len(found) < SEGMENTS_PER_LEVEL:
            return
        merged = [int(row[0]) for row in found]
        _write(connection, collection, level + 1, _merged(connection, merged))
        _delete(connection, merged)
        level += 1


def posting_lists(
    connection: Session, collection: int, terms: Sequence[str]
) -> dict[str, tuple[NDArray[np.uint32], NDArray[np.uint8]]]:
    """Read the posting lists of terms: slots and counts, each slot once.

    Dead slots are included. Slots ascend within a segment; segments come in any order.
    """
    found: dict[str, list[bytes]] = {}
    for term, data in connection.rows(
        "SELECT p.term, p.data FROM segments s CROSS JOIN postings p"
        f" WHERE s.collection = ? AND p.segment = s.id AND p.term IN ({','.join('?' * len(terms))})",
        (collection, *terms),
    ):
        found.setdefault(term, []).append(data)
    return {term: _joined(parts) for term, parts in found.items()}


def all_postings(connection: Session, collection: int) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint8]]]:
    """Yield all slots and counts of a collection, in batches of many terms."""
    batch: list[bytes] = []
    size = 0
    for (data,) in connection.stream(
        "SELECT p.data FROM segments s CROSS JOIN postings p WHERE s.collection = ? AND p.segment = s.id", (collection,)
    ):
        batch.append(data)
        size += len(data) // 5
        if size >= BATCH_POSTINGS:
            yield _joined(batch)
            batch, size = [], 0
    if batch:
        yield _joined(batch)


def drop_segments(connection: Session, collection: int) -> None:
    """Delete the inverted index of a collection."""
    found = connection.rows("SELECT id FROM segments WHERE collection = ?", (collection,))
    _delete(connection, [int(row[0]) for row in found])


def renumber_postings(connection: Session, collection: int, new_slots: NDArray[np.int64]) -> None:
    """Rewrite the index as one segment; `new_slots[old]` is the new number of a slot, or -1 if it is dead."""
    found = connection.rows("SELECT id, level FROM segments WHERE collection = ? ORDER BY id", (collection,))
    old = [int(row[0]) for row in found]
    level = max((int(row[1]) for row in found), default=0)
    _write(connection, collection, level, _renumbered(_merged(connection, old), new_slots))
    _delete(connection, old)


def _renumbered(lists: Iterable[tuple[str, bytes]], new_slots: NDArray[np.int64]) -> Iterator[tuple[str, bytes]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for each in lists:
        batch.append(each)
        size += len(each[1]) // 5
        if size >= BATCH_POSTINGS:
            yield from _renumbered_batch(batch, new_slots)
            batch, size = [], 0
    if batch:
        yield from _renumbered_batch(batch, new_slots)


def _renumbered_batch(batch: Sequence[tuple[str, bytes]], new_slots: NDArray[np.int64]) -> Iterator[tuple[str, bytes]]:
    slots = new_slots[np.concatenate([_slots(data) for _, data in batch])]
    counts = np.concatenate([_counts(data) for _, data in batch])
    ends = np.cumsum([len(data) // 5 for _, data in batch])
    alive = slots >= 0
    kept_before = np.concatenate([[0], np.cumsum(alive)])
    slot_bytes = slots[alive].astype("<u4").tobytes()
    count_bytes = counts[alive].tobytes()
    start = 0
    for (term, _), end in zip(batch, ends.tolist(), strict=True):
        first, last = int(kept_before[start]), int(kept_before[end])
        start = end
        if last > first:
            yield term, slot_bytes[4 * first : 4 * last] + count_bytes[first:last]


def _write(connection: Session, collection: int, level: int, lists: Iterable[tuple[str, bytes]]) -> None:
    segment = connection.insert("INSERT INTO segments (collection, level) VALUES (?, ?)", (collection, level))
    connection.many(
        "INSERT INTO postings (segment, term, data) VALUES (?, ?, ?)", ((segment, term, data) for term, data in lists)
    )


def _merged(connection: Session, segments: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    streams = [_stream(connection, segment) for segment in segments]
    for term, same in groupby(heapq.merge(*streams), key=_term):
        lists = [data for _, _, data in same]
        if len(lists) == 1:
            yield term, lists[0]
        else:
            sizes = [len(data) // 5 for data in lists]
            slots = [data[: 4 * size] for data, size in zip(lists, sizes, strict=True)]
            counts = [data[4 * size :] for data, size in zip(lists, sizes, strict=True)]
            yield term, b"".join(slots + counts)


def _stream(connection: Session, segment: int) -> Iterator[tuple[str, int, bytes]]:
    for term, data in connection.stream("SELECT term, data FROM postings WHERE segment = ? ORDER BY term", (segment,)):
        yield term, segment, data


def _term(entry: tuple[str, int, bytes]) -> str:
    return entry[0]


def _delete(connection: Session, segments: Iterable[int]) -> None:
    for segment in segments:
        connection.run("DELETE FROM postings WHERE segment = ?", (segment,))
        connection.run("DELETE FROM segments WHERE id = ?", (segment,))


def _joined(parts: Sequence[bytes]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the slots and counts of several posting lists."""
    if len(parts) == 1:
        return _slots(parts[0]), _counts(parts[0])
    return np.concatenate([_slots(each) for each in parts]), np.concatenate([_counts(each) for each in parts])


def _slots(data: bytes) -> NDArray[np.uint32]:
    if len(data) % 5 or not data:
        raise ValueError("a posting list of another length than any that was written")
    return np.frombuffer(data, "<u4", len(data) // 5)


def _counts(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8, offset=4 * (len(data) // 5))

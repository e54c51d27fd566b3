"""The in-memory data for searches of a ChromaDB collection, and how it follows the writes of any process.

ChromaDB has no BM25, so the postings of all visible chunks are held here, built from the packed index that each
document has in the store. For small collections the exact vectors are held too; then the dense leg is exact and every
search sees one state of the collection. A small entry of the store changes with each publish. It is read before each
search, and if it has changed, only documents with a new generation are read.
"""

from __future__ import annotations

import contextlib
import functools
import struct
import threading
import zlib
from array import array
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.errors import TimedOutError
from knowledge_mcp.model.query import Filter, LegHit
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import FoundEntry
from knowledge_mcp.stores.chroma.layout import Index, document_of, unpack_index, unpack_vectors
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.writing import (
    STATE,
    change_of,
    index_rows,
    make_index,
    visible_generations,
    visible_of,
)
from knowledge_mcp.stores.shared.filters import chunk_ids_in
from knowledge_mcp.stores.shared.payload import record_from_json
from knowledge_mcp.stores.shared.ranking import (
    SlotBuffers,
    SlotView,
    best_hits,
    bm25_weights,
    length_norms,
    likely_slots,
    products,
)
from knowledge_mcp.stores.shared.rules import is_newer
from knowledge_mcp.support.batches import batches

_TRIES = 50
_CHUNK = 900
"""Approximate bytes of a chunk's id, key, kinds and clause, including the maps."""
_SLOT = 18
"""Bytes of a slot's length, norm, kind and clause."""
_TERM = 70
"""Approximate bytes of a term in the list of its document."""


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """Memory limits of one collection in one process, in bytes.

    Attributes:
        postings: above this, there is no lexical leg.
        vectors: above this, the dense leg queries ChromaDB's index.
    """

    postings: int = 512 * 1024 * 1024
    vectors: int = 64 * 1024 * 1024


@dataclass
class SlotBlock:
    """The visible generation of one document, at consecutive slots from `first`."""

    document_id: str
    token: str
    first: int
    index: Index
    vectors: NDArray[np.float32] | None = None
    alive: bool = True

    @property
    def size(self) -> int:
        return len(self.index.ids)

    @property
    def bytes(self) -> int:
        """Estimated bytes, including the entries of its chunks in the maps of a view, without vectors."""
        index = self.index
        arrays = (index.lengths, index.ends, index.places, index.counts)
        return sum(each.nbytes for each in arrays) + _CHUNK * self.size + _TERM * len(index.terms)

    @functools.cached_property
    def places(self) -> dict[str, int]:
        """Map chunk ids to their slots."""
        return {chunk_id: slot for slot, chunk_id in enumerate(self.index.ids, start=self.first)}

    def vector(self, key: str) -> bytes:
        """Return the vector in memory for an embedding key of this block, or empty bytes."""
        return b"" if self.vectors is None else self.vectors[self.index.keys.index(key)].tobytes()


class SnapshotState(threading.local):
    """Whether this thread wants to read one state only, and whether a refresh has loaded it."""

    is_asked = False
    is_current = False


def scaled_vectors(place: ChromaCollection, block: SlotBlock) -> dict[str, bytes]:
    """Read the vectors by embedding key as ChromaDB normalised them: they differ from exact ones in the last bit."""
    found: dict[str, Any] = place.chunks.vectors([f"{block.token} {each}" for each in block.index.ids])
    return {
        key: np.asarray(found[f"{block.token} {chunk_id}"], "<f4").tobytes()
        for chunk_id, key in zip(block.index.ids, block.index.keys, strict=True)
        if f"{block.token} {chunk_id}" in found
    }


class Totals:
    """Counts documents, chunks and tokens of one collection, reading only new records. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._change: str | None = None
        self._known: dict[str, tuple[str, int, int]] = {}

    def count(self, place: ChromaCollection, change: str) -> tuple[int, int, int]:
        """Return the numbers of visible documents, chunks and tokens.

        Args:
            place: the collection.
            change: its state, from `ChromaView.change_now`.

        Raises:
            TimedOutError: documents are replaced faster than they can be counted.
        """
        with self._lock:
            if change != self._change:
                self._known = self._read(place)
                self._change = change
            counted = self._known.values()
            return len(counted), sum(chunks for _, chunks, _ in counted), sum(tokens for *_, tokens in counted)

    def _read(self, place: ChromaCollection) -> dict[str, tuple[str, int, int]]:
        """Return generation, chunks and tokens of each visible document, by entry."""
        for _ in range(_TRIES):
            visible = visible_generations(place.documents)
            known = {name: each for name, each in self._known.items() if visible.get(name) == each[0]}
            for found in place.documents.rows(ids=[name for name in visible if name not in known]):
                if visible_of(found) == visible[found.id]:
                    record = record_from_json(str(found.metadata["record"]))
                    known[found.id] = (visible[found.id], record.chunk_count, record.token_count)
            if len(known) == len(visible):  # none was replaced before it was read
                return known
        raise TimedOutError("Documents are replaced faster than they can be counted.")


_GROUP = 40
"""Documents whose indexes are read at once."""
_COMPACT_FROM = 4096
"""Number of slots from which dead slots are reclaimed once they are the majority."""
_MARGIN = 1e-4
"""Bound for the error of scores in single precision."""


class ChromaView:
    """The view of one collection. Call every method with `lock` held.

    Args:
        place: the collection.
        analyser: an index of another version is rebuilt from the chunks; an index of a newer version stays unchanged in
            the store.
        limits: memory limits.
    """

    def __init__(self, place: ChromaCollection, analyser: Analyser, limits: ViewLimits) -> None:
        self.lock = threading.RLock()
        self.totals = Totals()
        self._snapshot = SnapshotState()
        self.place = place
        self.analyser = analyser
        self._limits = limits
        self.change: str | None = None
        """The state that the last refresh loaded; None before the first."""
        self._clear()

    def _clear(self) -> None:
        self._by_entry: dict[str, SlotBlock] = {}
        self._owners: dict[str, SlotBlock] = {}
        self._keyed: dict[str, SlotBlock] = {}
        self._postings: dict[str, array[int]] = {}
        self._bytes = 0
        self._block_bytes = 0
        self._names: list[str] = []
        self._buffers = SlotBuffers()
        self._state: SlotView | None = None
        self._matrix: NDArray[np.float32] | None = None

    @property
    def generations(self) -> dict[str, str]:
        """Map document ids to their visible generations."""
        return {block.document_id: block.token for block in self._by_entry.values()}

    @property
    def chunks(self) -> int:
        """The number of visible chunks."""
        return sum(block.size for block in self._by_entry.values())

    @property
    def bytes(self) -> int:
        """Estimated bytes; vectors are held twice, by block and as one matrix."""
        masks = 0 if self._state is None else 1 + len(self._state.masks)
        vectors = 0 if self._matrix is None else 2 * self._matrix.nbytes
        return self._block_bytes + (0 if self.too_large else self._bytes) + (_SLOT + masks) * self._size + vectors

    @property
    def _size(self) -> int:
        return len(self._names)

    @property
    def too_large(self) -> bool:
        """Whether the postings would exceed their memory limit."""
        return self._bytes > self._limits.postings

    @property
    def exact(self) -> bool:
        """Whether the vectors are held here, so that the dense leg is exact."""
        return self.chunks * self.place.info.space.dimensions * 4 <= self._limits.vectors

    @contextlib.contextmanager
    def snapshot(self) -> Generator[None]:
        """Let this thread read one state, until the context ends or a read finds that its data is gone."""
        before, self._snapshot.is_asked = self._snapshot.is_asked, True
        try:
            yield
        finally:
            self._snapshot.is_asked = before
            self._snapshot.is_current = before and self._snapshot.is_current

    def refresh(self, *, again: bool = False) -> None:
        """Update the view to what is visible in the store now; one short call if nothing has changed.

        Args:
            again: the state of the last refresh was found to be gone, so a snapshot does not keep it either.

        Raises:
            TimedOutError: documents are replaced faster than they can be read.
        """
        if self._snapshot.is_current and not again:
            return
        for _ in range(_TRIES):
            if self._follow():
                self._snapshot.is_current = self._snapshot.is_asked
                return
        raise TimedOutError("Documents are replaced faster than their search index can be read.")

    def change_now(self) -> str:
        """Return the state of this thread's snapshot, or else of the store."""
        return self.change or "" if self._snapshot.is_current else self.change_in_store()

    def change_in_store(self) -> str:
        """Return the state of the store, regardless of what this view has loaded."""
        return change_of(self.place.documents.one(STATE))

    def entries_of(self, names: Sequence[str]) -> list[FoundEntry]:
        """Read entries of documents. In a snapshot, the same call also checks whether the view's state is current."""
        if not names or not self._snapshot.is_asked or self._snapshot.is_current or self.change is None:
            return list(self.place.documents.rows(ids=list(names)))
        found = {each.id: each for each in self.place.documents.rows(ids=[*names, STATE])}
        with self.lock:
            self._snapshot.is_current = change_of(found.pop(STATE, None)) == self.change
        return list(found.values())

    def _follow(self) -> bool:
        """Load what has changed; return False if a document was replaced before it could be read."""
        change = self.change_in_store()
        if change == self.change:
            return True
        visible = visible_generations(self.place.documents)
        for entry, block in list(self._by_entry.items()):
            if visible.get(entry) != block.token:
                block.alive = False
                block.vectors = None
                del self._by_entry[entry]
                self._state = self._matrix = None
        new = {entry: token for entry, token in visible.items() if entry not in self._by_entry}
        if self._size > _COMPACT_FROM and self._size > 2 * self.chunks:
            self._clear()
            new = visible
        read = [self._load({entry: new[entry] for entry in some}) for some in batches(new, _GROUP)]
        if not all(read):
            return False
        # what was published in the meantime has changed the state again, and is loaded by the next refresh
        self.change = change
        return True

    def _load(self, new: dict[str, str]) -> bool:
        first = self.place.documents.rows(ids=[f"index {token} 0" for token in new.values()])
        more = [
            f"index {each.metadata['generation']} {number}"
            for each in first
            for number in range(1, int(each.metadata["parts"]))
        ]
        parts = {each.id: each for each in (*first, *self.place.documents.rows(ids=more))}
        for entry, token in new.items():
            head = parts.get(f"index {token} 0")
            names = [f"index {token} {number}" for number in range(int(head.metadata["parts"]) if head else 0)]
            packed = [str(parts[name].metadata["packed"]) for name in names if name in parts]
            index = self._unpacked("".join(packed)) if names and len(packed) == len(names) else None
            document_id = document_of(entry)
            if index is None or index.analyser != self.analyser.version:
                made_by = str(head.metadata.get("analyser", "")) if head else ""
                newer = is_newer(made_by, self.analyser.version)
                index = make_index(self.place, token, self.analyser)
                if visible_generations(self.place.documents).get(entry) != token:
                    return False
                if not newer:
                    self.place.documents.put(index_rows(token, document_id, index))
            self._add(entry, document_id, token, index)
        return True

    def _unpacked(self, packed: str) -> Index | None:
        try:
            return unpack_index(packed)
        except (ValueError, zlib.error, struct.error, KeyError, TypeError):
            return None

    def _add(self, entry: str, document_id: str, token: str, index: Index) -> None:
        block = SlotBlock(document_id, token, self._size, index)
        self._buffers.take(block.first, document_id, index.lengths, (index.kinds, None), index.clauses)
        self._names.extend(index.ids)
        self._by_entry[entry] = block
        self._owners.update(dict.fromkeys(index.ids, block))
        self._keyed.update(dict.fromkeys(index.keys, block))
        self._state = self._matrix = None
        self._block_bytes += block.bytes
        self._bytes += 8 * len(index.places) + sum(240 for term in index.terms if term not in self._postings)
        if self.too_large:
            self._postings.clear()
            return
        packed = (((index.places.astype("<u8") + np.uint64(block.first)) << np.uint64(8)) | index.counts).tobytes()
        start = 0
        for term, end in zip(index.terms, index.ends.tolist(), strict=True):
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = array("Q")
            postings.frombytes(packed[8 * start : 8 * end])
            start = end

    def _slots(self) -> SlotView:
        """Return the slots of the state that the last refresh loaded."""
        if self._state is None:
            alive = np.zeros(self._size, np.bool_)
            for block in self._by_entry.values():
                alive[block.first : block.first + block.size] = True
            norms = length_norms(self._buffers.lengths.upto(self._size).astype(np.float64), alive)
            self._state = SlotView(self._size, int(np.count_nonzero(alive)), alive, norms, self._buffers)
        return self._state

    def lexical(self, terms: Sequence[str], filter: Filter | None, limit: int) -> tuple[LegHit, ...]:
        """Return the best chunks by BM25 that contain any of the terms."""
        state = self._slots()
        if limit <= 0:
            return ()
        counted = state.weighed_by(state.weighed_mask(filter))
        scores = np.zeros(self._size, np.float64)
        for term, times in Counter(terms).items():
            if term in self._postings:
                packed = np.array(self._postings[term], np.uint64)
                places, weights = bm25_weights(packed >> np.uint64(8), packed & np.uint64(255), *counted, times)
                scores[places] += weights
        scores *= self._mask(filter)
        slots = likely_slots(scores, limit)
        return best_hits(slots, scores[slots], limit, self._names_at)

    def dense(self, vector: bytes, filter: Filter | None, limit: int) -> tuple[LegHit, ...]:
        """Return the nearest chunks that the filter keeps, with exact scores."""
        matrix = self._vectors()
        slots = np.flatnonzero(self._mask(filter))
        if limit <= 0 or not len(slots):
            return ()
        query = np.frombuffer(vector, "<f4")
        if len(slots) > max(1024, 4 * limit):
            rough = (matrix @ query)[slots]
            cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
            slots = slots[rough >= cut - _MARGIN]
        return best_hits(slots, products(matrix, slots, vector), limit, self._names_at)

    def allowed(self, filter: Filter | None) -> int:
        """Return the number of chunks that a filter keeps."""
        return int(np.count_nonzero(self._mask(filter)))

    def entries(self, filter: Filter | None) -> list[str]:
        """Return the entries of the chunks that a filter keeps."""
        mask = self._mask(filter)
        return [
            f"{block.token} {block.index.ids[place]}"
            for block in self._by_entry.values()
            for place in np.flatnonzero(mask[block.first : block.first + block.size]).tolist()
        ]

    def loaded_vectors(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return those of some vectors that are in memory; none unless this thread's snapshot has loaded this state."""
        if not self._snapshot.is_current or self._matrix is None:
            return {}
        blocks = ((key, self._keyed.get(key)) for key in keys)
        found = {key: block.vector(key) for key, block in blocks if block is not None and block.alive}
        return {key: vector for key, vector in found.items() if any(vector)}

    def entries_by_id(self, chunk_ids: Iterable[str]) -> dict[str, str]:
        """Map chunk ids to their entries, for visible chunks."""
        owners = ((each, self._owners.get(each)) for each in chunk_ids)
        return {each: f"{block.token} {each}" for each, block in owners if block is not None and block.alive}

    def definitions(self) -> Iterable[tuple[str, int, str, list[str]]]:
        """Yield (chunk id, position in the document, term, aliases), sorted by document and position."""
        for block in sorted(self._by_entry.values(), key=lambda block: block.document_id):
            for place, term, aliases in block.index.definitions:
                yield block.index.ids[place], place, term, aliases

    def _vectors(self) -> NDArray[np.float32]:
        """Return the vectors of all slots; those of dead slots may be zero."""
        if self._matrix is None:
            visible = list(self._by_entry.values())
            self._load_vectors([block for block in visible if block.vectors is None and block.size])
            self._matrix = np.zeros((self._size, self._dimensions), np.float32)
            for block in visible:
                if block.vectors is not None:
                    self._matrix[block.first : block.first + block.size] = block.vectors
        return self._matrix

    def _load_vectors(self, blocks: Sequence[SlotBlock]) -> None:
        for group in batches(blocks, _GROUP):
            exact: dict[str, bytes] = {}
            for found in self.place.documents.rows(ids=[each for block in group for each in block.index.vectors]):
                exact.update(unpack_vectors(found))
            for block in group:
                if any(key not in exact for key in block.index.keys):
                    exact.update(scaled_vectors(self.place, block))
                joined = b"".join(exact.get(key, b"\0" * (4 * self._dimensions)) for key in block.index.keys)
                block.vectors = np.frombuffer(joined, "<f4").reshape(block.size, -1)

    @property
    def _dimensions(self) -> int:
        return self.place.info.space.dimensions

    def _mask(self, filter: Filter | None) -> NDArray[np.bool_]:
        rest, chunk_ids = chunk_ids_in(filter)
        kept = self._slots().mask(rest)
        assert kept is not None, "the slots of this view are always known"
        if chunk_ids is None:
            return kept
        named = np.zeros(self._size, np.bool_)
        owners = ((each, self._owners.get(each)) for each in chunk_ids)
        named[[block.places[each] for each, block in owners if block is not None and block.alive]] = True
        return named & kept

    def _names_at(self, slots: NDArray[np.int64]) -> Iterable[str]:
        """Return the chunk ids of slots."""
        return map(self._names.__getitem__, slots.tolist())

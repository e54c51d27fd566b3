"""A store restricted to what a reader may see: hidden documents do not exist.

Everything that an answer reads goes through a handle on a collection. Therefore the filter is here, once for all stores
and use cases: records, texts, passages, terms and counts of hidden documents, and collections that contain only
those. Both legs of a search exclude them by the store's own filter, which weights words as if they were not stored.
"""

from __future__ import annotations

import copy
import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Self, TypeVar, cast

from knowledge_mcp.engine.core.base import Base, base_of
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    EmbeddingSpace,
    StoreIdentity,
    StoreStatistics,
    WholeDocument,
)
from knowledge_mcp.model.errors import NotFoundError, leave_out, noticing
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import And, ChunkKey, Filter, LegResults, NotIn
from knowledge_mcp.model.rights import ALLOWED, EVERYBODY, Rights, may_see
from knowledge_mcp.ports import Analyser, Collection, Store

_MOST_VIEWS = 64
"""Maximum cached views (sets of rights), each with the ids of documents and the families of editions."""

T = TypeVar("T")


def copy_with(original: T, **fields: object) -> T:
    """Return a copy of a service, or of a part of one, with other values in these fields; the rest is shared.

    Raises:
        TypeError: there is no such field.
    """
    other = copy.copy(original)
    if unknown := fields.keys() - vars(other).keys():
        raise TypeError(f"{type(original).__name__} has no field {', '.join(sorted(unknown))}.")
    vars(other).update(fields)
    return other


def restricted_base(base: Base, rights: Rights) -> Base:
    """Return the same parts with the store restricted to these rights; derived data is cached."""
    rights = Rights(rights.read, rights.groups)
    if rights.are_full:
        return base
    with base.views_lock:
        found = base.views.pop(rights, None)
        if found is None:
            store = RestrictedStore(base.store, rights, base.analyser)
            found = base_of(dataclasses.replace(base, store=store, beside={}), base.collection)
        base.views[rights] = found
        while len(base.views) > _MOST_VIEWS:
            base.views.pop(next(iter(base.views)))
        return found


def hidden_ids(base: Base) -> frozenset[str]:
    """Return the ids of a collection's existing documents that the reader of this base must not see."""
    opened = base.opened
    return opened.hidden if isinstance(opened, RestrictedCollection) else frozenset()


def is_readable(base: Base) -> bool:
    """Return whether the reader of this base may read its collection, whether it exists or not."""
    return not isinstance(base.opened, _MissingCollection)


@dataclass(frozen=True)
class _VisibleDocuments:
    """Which documents of one state are visible, and which are hidden."""

    state: str
    visible: frozenset[str]
    hidden: frozenset[str]
    chunks: int
    tokens: int

    @property
    def is_any(self) -> bool:
        """Return whether the collection is visible: one with only hidden documents does not exist."""
        return bool(self.visible) or not self.hidden


class RestrictedStore:
    """Restrict a store (`Store`) to these rights; writes go to the store itself.

    Args:
        under: the underlying store.
        rights: the read permissions.
        analyser: for the keys of terms.
    """

    def __init__(self, under: Store, rights: Rights, analyser: Analyser) -> None:
        self._under = under
        self._rights = rights
        self._analyser = analyser
        self._groups = frozenset(rights.groups)
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _VisibleDocuments] = OrderedDict()

    @property
    def identity(self) -> StoreIdentity:
        return self._under.identity

    def close(self) -> None:
        """Do nothing: the store is shared."""

    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        return self._under.create_collection(name, space)

    def collections(self) -> list[CollectionInfo]:
        listed = [info for info in self._under.collections() if self._rights.may_read(info.name)]
        if EVERYBODY in self._groups:
            return listed
        return [info for info in listed if self.view(info.name, info.state, self._under.open(info.name)).is_any]

    def drop_collection(self, name: str) -> bool:
        return self._under.drop_collection(name)

    def rename_collections(self, names: Mapping[str, str]) -> None:
        self._under.rename_collections(names)

    def open(self, name: str) -> Collection:
        if not self._rights.may_read(name):
            return cast("Collection", _MissingCollection(name))
        under = self._under.open(name)
        return under if EVERYBODY in self._groups else RestrictedCollection(name, under, self._analyser, self.view)

    def view(self, name: str, state: str, collection: Collection) -> _VisibleDocuments:
        """Return what is visible of a collection in a state; computed once for each state."""
        with self._lock:
            known = self._known.get(name)
        if known is not None and known.state == state:
            return known
        with noticing():  # damaged data is not visible, and must not be reported to readers who may not see it
            records = collection.documents()
        seen = [each for each in records if may_see(each, self._groups)]
        visible = frozenset(each.id for each in seen)
        found = _VisibleDocuments(
            state,
            visible,
            frozenset(each.id for each in records if each.id not in visible),
            sum(each.chunk_count for each in seen),
            sum(each.token_count for each in seen),
        )
        with self._lock:
            self._known[name] = found
            self._known.move_to_end(name)
            while len(self._known) > _MOST_VIEWS:
                self._known.popitem(last=False)
        return found


class RestrictedCollection:
    """Restrict a collection (`Collection`) to its visible documents."""

    def __init__(
        self,
        name: str,
        under: Collection,
        analyser: Analyser,
        view: Callable[[str, str, Collection], _VisibleDocuments],
    ) -> None:
        self._name = name
        self._now = under
        self._analyser = analyser
        self._view_of = view
        self._current: _VisibleDocuments | None = None

    @contextmanager
    def snapshot(self) -> Generator[Self]:
        under = self._now
        with under.snapshot() as collection:
            self._now = collection
            try:
                self._current = self._whole()
                yield self
            finally:
                self._now, self._current = under, None

    def _visible_now(self) -> _VisibleDocuments:
        """Return what is visible; raise NotFoundError like a store if nothing is."""
        view = self._whole()
        if not view.is_any:
            raise _no_collection(self._name)
        return view

    def _whole(self) -> _VisibleDocuments:
        if self._current is not None:
            return self._current
        info = self._now.info()
        if info is None:
            raise _no_collection(self._name)
        return self._view_of(info.name, info.state, self._now)

    @property
    def hidden(self) -> frozenset[str]:
        """Return the ids of the hidden documents."""
        return frozenset() if self._now.info() is None else self._whole().hidden

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        """Describe the visible part and count it; bytes concern the whole store, and are not reported."""
        info = self._now.info()
        if info is None:
            return None
        view = self._whole()
        if not counted or not view.is_any:
            return info if view.is_any else None
        return dataclasses.replace(info, statistics=StoreStatistics(len(view.visible), view.chunks, view.tokens, 0))

    def publish(self, documents: Sequence[WholeDocument], on_published: Callable[[str], object]) -> None:
        self._now.publish(documents, on_published)

    def delete(self, document_id: str) -> int:
        return self._now.delete(document_id) if document_id in self._visible_now().visible else 0

    def vectors(self, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        return self._now.vectors(embedding_keys)

    def documents(self, document_ids: Sequence[str] | None = None, *, limit: int | None = None) -> list[DocumentRecord]:
        view = self._visible_now()
        if document_ids is not None:
            ids = [each for each in document_ids if each in view.visible]
        elif not view.hidden:
            return [_without_groups(each) for each in self._now.documents(limit=limit)]
        else:
            ids = sorted(view.visible)[:limit]
        return [_without_groups(each) for each in self._now.documents(ids, limit=limit)] if ids else []

    def parts(self, document_id: str) -> DocumentParts | None:
        return self._now.parts(document_id) if document_id in self._visible_now().visible else None

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        visible = self._visible_now().visible
        permitted = [each for each in values if each in visible] if key == "document" else values
        with noticing() as damage:
            found = self._now.chunks(key, permitted)
        for each in damage:
            if each.document_id in visible:
                leave_out(each)
        return [chunk for chunk in found if chunk.document_id in visible]

    def search(self, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
        hidden = self._visible_now().hidden
        combined = filter
        if hidden:
            absent = NotIn("document_id", hidden, absent=True)
            combined = absent if filter is None else And((filter, absent))
        return self._now.search(vector=vector, text=text, filter=combined, limit=limit)

    def defined_terms(self) -> dict[str, str]:
        view = self._visible_now()
        terms = self._now.defined_terms()
        if not view.hidden:
            return terms
        theirs = self._terms(self._now.chunks("document", sorted(view.hidden)))
        doubtful = [key for key in terms if key in theirs]
        ours = self._terms(self.chunks("term", doubtful))
        return {key: ours.get(key, term) for key, term in terms.items() if key not in theirs or key in ours}

    def _terms(self, chunks: Sequence[Chunk]) -> dict[str, str]:
        ordered = sorted(chunks, key=lambda each: (each.document_id, each.index))
        definitions = [one for each in ordered for one in each.definitions]
        terms: dict[str, str] = {}
        for name in (*(each.term for each in definitions), *(name for each in definitions for name in each.aliases)):
            terms.setdefault(self._analyser.term_key(name), name)
        return terms

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Check nothing: only unrestricted readers may."""
        del repair
        return []


def _without_groups(record: DocumentRecord) -> DocumentRecord:
    """Return a record without its groups: who else may read it is not disclosed."""
    if not record.label(ALLOWED):
        return record
    return dataclasses.replace(record, metadata=tuple(each for each in record.metadata if each[0] != ALLOWED))


def _no_collection(name: str) -> NotFoundError:
    return NotFoundError(f"There is no collection '{name}'.")


class _MissingCollection:
    """A handle on a collection that does not exist (`Collection`): everything except `info` raises."""

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, *, counted: bool = False) -> CollectionInfo | None:
        """Return None."""
        del counted
        return None

    def __getattr__(self, _member: str) -> NoReturn:
        raise _no_collection(self._name)

"""How a collection is stored in Qdrant: two Qdrant collections, the payload of their points, and their indexes.

The Qdrant collections are named `<name>__<number>` and `<name>__<number>__records`; `<name>` and `<name>__records` are
aliases. Qdrant applies a change of aliases atomically for readers, but saves them one by one, so a killed server may
have changed only some. Therefore the intended names are written first, in one point, and whoever finds a name missing
completes the change.

The first collection has one point per chunk and generation: the vector `dense`, the sparse vector `bm25`, and a payload
with the chunk and all fields for filters. The second has points without vectors: one that describes the collection, one
per document (its record, and which generation of its chunks is visible), and parts of canonical texts and of
structures, for documents that have them.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qdrant_client import QdrantClient, models

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import ConfigError, InvalidInputError, KnowledgeError, NotFoundError, QuotaExceededError
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, QdrantConnection
from knowledge_mcp.stores.shared.payload import space_from_json, space_to_json
from knowledge_mcp.stores.shared.rules import checked_renames, is_newer, now
from knowledge_mcp.support.events import log_event

LAYOUT = 1
_LEXICAL = "sparse"
"""Value of `lexical` in the description: chunks have sparse vectors. Servers without them had another value."""
DENSE = "dense"
BM25 = "bm25"
SUFFIX = "__records"
MOST_NAME = 240
_RESERVED = re.compile(r"__(\d+|records)$")
_HOME = re.compile(rf"__\d+{SUFFIX}$")
_logger = logging.getLogger(__name__)
FORBIDDEN = frozenset('<>:"/\\|?*\0')
_SPACE = uuid.UUID("6d2f1c1e-5b0c-5a36-9b57-0f3c0d4a7e11")

MOVING, VISIBLE = "moving", "visible"
"""States of a chunk's point: in a publish, when the document's record decides whether it is visible; settled."""

_OURS = (
    "Choose another name (QDRANT_COLLECTION, --to-collection): another program or another version of this one made it, "
    "and it is left as it is."
)


def point_id(*parts: str) -> str:
    """Derive a point's id from what it represents."""
    return str(uuid.uuid5(_SPACE, "\0".join(parts)))


META = point_id("collection")
"""Id of the point that describes a collection."""


def records_of(name: str) -> str:
    """Return the name of the Qdrant collection with the records and texts of `name`."""
    return f"{name}{SUFFIX}"


_KEYWORDS = (
    "document_id", "generation", "state", "chunk_id", "document_type", "chunk_type", "clause_number", "clauses",
    "content_hash", "embedding_key", "terms", "weights", "next",
)  # fmt: skip
INDEXES: Mapping[str, str] = {**dict.fromkeys(_KEYWORDS, "keyword"), "normative": "bool"}
"""Index type for each payload field of a chunk's point."""
RECORD_INDEXES: Mapping[str, str] = {"kind": "keyword", "document_id": "keyword", "generation": "keyword"}
"""Index type for each payload field of a record's point."""


def schema_of(kind: str, *, on_disk: bool) -> models.PayloadSchemaType | models.KeywordIndexParams:
    """Return the schema of a payload index."""
    if kind == "bool":
        return models.PayloadSchemaType.BOOL
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=on_disk or None)


@dataclass(frozen=True, slots=True)
class QdrantCollection:
    """A collection, as its description says.

    Attributes:
        connection: to its server.
        name: name of the collection.
        home: name of the Qdrant collection with the chunks; a rename does not change it.
        space, created_at: as in `CollectionInfo`.
        analyser: version of the analyser that made its terms and weights.
        mean: mean length of a chunk in terms, for which the BM25 weights were computed; None before the first publish.
        changed: changes with every write.
        coming: version of the analyser that is re-indexing or was interrupted; empty for none.
        indexer: which process is re-indexing, and its progress; changes as long as it is alive.
        is_naming: whether a change of names was started and not finished.
    """

    connection: QdrantConnection = field(repr=False, compare=False)
    name: str
    home: str
    space: EmbeddingSpace
    created_at: str
    analyser: str
    mean: float | None
    changed: str
    coming: str = ""
    indexer: str = ""
    is_naming: bool = False

    @property
    def records(self) -> str:
        return records_of(self.home)

    @property
    def info(self) -> CollectionInfo:
        return CollectionInfo(self.name, self.space, self.created_at)

    @property
    def indexed_by(self) -> str:
        """The newest analyser version whose terms it has, or will have."""
        return self.coming if is_newer(self.coming, self.analyser) else self.analyser

    @property
    def weights(self) -> str:
        """Label of the weights that its points should have."""
        return f"{self.analyser} {self.mean!r}"


def place_of(connection: QdrantConnection, name: str, payload: Mapping[str, Any] | None) -> QdrantCollection | None:
    """Parse a description; None if the collection is being dropped.

    Raises:
        ConfigError: it has another layout.
    """
    if payload is None or payload.get("kind") != "collection":
        raise ConfigError(f"Qdrant's collection '{records_of(name)}' does not describe '{name}'.", suggestion=_OURS)
    if payload.get("layout") != LAYOUT:
        raise ConfigError(
            f"Collection '{name}' has layout {payload.get('layout')} in Qdrant; this version reads {LAYOUT}.",
            suggestion=_OURS,
        )
    if payload["lexical"] != _LEXICAL:
        raise ConfigError(f"Collection '{name}' has no sparse vectors in Qdrant.", suggestion=_OURS)
    if payload["state"] == "dropping":
        return None
    return QdrantCollection(
        connection, name, payload["home"], space_from_json(payload["space"]), payload["created_at"],
        payload["analyser"], payload.get("mean"), payload.get("changed", ""), payload.get("coming", ""),
        payload.get("indexer", ""), bool(payload.get("names")),
    )  # fmt: skip


def look(connection: QdrantConnection, name: str) -> QdrantCollection | None:
    """Return a collection, or None if it does not exist.

    Raises:
        ConfigError: Qdrant has a collection of that name that is not ours.
    """
    if not _fits(name):
        return None
    try:
        found = connection.retrieve(records_of(name), [META])
    except NotFoundError:
        if records_of(name) not in _settled_names(connection):
            if not connection.exists(name):
                return None
            if records_of(name) not in connection.aliases():
                raise ConfigError(f"Qdrant has a collection '{name}' with another layout.", suggestion=_OURS) from None
        found = connection.retrieve(records_of(name), [META])  # its names were given in the meantime
    return place_of(connection, name, found[0].payload if found else None)


def all_places(connection: QdrantConnection) -> list[QdrantCollection]:
    """Return all our collections, sorted by name."""
    aliases = _settled_names(connection)
    found: list[QdrantCollection] = []
    for name in sorted(aliases):
        if records_of(name) in aliases:
            try:
                place = look(connection, name)
                found += [] if place is None else [place]
            except ConfigError as exc:  # another program's with such a name, or a newer version's
                log_event(_logger, logging.WARNING, "collection_left_out", collection=name, reason=exc.message)
    return found


def create(connection: QdrantConnection, name: str, space: EmbeddingSpace, analyser: str) -> None:
    """Create both Qdrant collections with their indexes, then name them in one step.

    The remains of an interrupted create are reused, those of an interrupted drop are removed. A collection that another
    process has created since the caller checked is left as it is.
    """
    _check_name(name)
    config = connection.config
    meta: dict[str, Any] = {
        "kind": "collection", "layout": LAYOUT, "state": "making", "space": space_to_json(space), "analyser": analyser,
        "created_at": now(), "changed": "", "lexical": _LEXICAL,
    }  # fmt: skip
    aliases = connection.aliases()
    dropped = aliases.get(records_of(name), "").removesuffix(SUFFIX)
    if dropped and look(connection, name) is not None:
        return
    named = {target.removesuffix(SUFFIX) for target in aliases.values()}
    present = set(connection.names())
    nameless = _nameless(connection, name, present, named)
    states = {each: payload.get("state") for each, payload in nameless.items()}
    if "ready" in states.values() and records_of(name) in connection.aliases():
        return  # another process has created it; otherwise it has lost its names, but nobody has dropped it
    home = next((each for each, state in states.items() if state not in {"ready", "dropping"}), None)
    if home is None:
        homes = (f"{name}__{number}" for number in itertools.count(1))
        home = next(each for each in homes if not {each, records_of(each)} & (named | present))
    elif nameless[home] and any(
        nameless[home].get(key) != meta[key] for key in ("layout", "space", "analyser", "lexical")
    ):
        _remove(connection, home)
    meta["home"] = home
    _made(connection, records_of(home), lambda client: _make_records(client, records_of(home), config))
    for name_of_field, kind in RECORD_INDEXES.items():
        connection.index(records_of(home), name_of_field, schema_of(kind, on_disk=config.on_disk))
    never = models.Filter(must=[models.FieldCondition(key="kind", match=models.MatchValue(value="never"))])
    first = models.PointsList(points=[models.PointStruct(id=META, payload=meta, vector={})], update_filter=never)
    connection.write(records_of(home), [models.UpsertOperation(upsert=first)], in_turn=True)
    _made(connection, home, lambda client: _make_chunks(client, home, space, config))
    _check_vectors(connection, home, space)
    for name_of_field, kind in INDEXES.items():
        connection.index(home, name_of_field, schema_of(kind, on_disk=config.on_disk))
    _give_names(connection, {home: name})
    update_description(connection, home, {"state": "ready"})
    for each in (dropped, *(each for each, state in states.items() if state == "dropping")):
        if each:  # removed last: its number stays taken, so nobody removes what another has just created
            _remove(connection, each)


def drop(place: QdrantCollection) -> None:
    """Remove a collection. If interrupted, it counts as dropped, and the next `create` removes it.

    A server over its quota cannot store that state, but it does remove the collection; if interrupted there, drop it
    again. A server with a full disk refuses the state, and then nothing is removed: it would lose the names and keep
    the rest.
    """
    with contextlib.suppress(QuotaExceededError):
        update_description(place.connection, place.home, {"state": "dropping"})
    _remove(place.connection, place.home)


def rename(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Rename collections, all in one step."""
    places = {each.name: each for each in all_places(connection)}
    changed = checked_renames(names, places)
    for new in changed.values():
        _check_name(new)
        if new not in places:
            look(connection, new)  # a server refuses a name in use, or takes it away, only after changing others
    for place in places.values():
        if place.is_naming:  # that change was abandoned before any name was changed
            update_description(connection, place.home, {"names": {}})
    if changed:
        _give_names(connection, {places[old].home: new for old, new in changed.items()})


def _check_name(name: str) -> None:
    if not _fits(name):
        raise InvalidInputError(
            f"'{name}' is not allowed as the name of a collection in Qdrant.",
            suggestion=f'Use at most {MOST_NAME} characters without any of <>:"/\\|?* and no ending in __ and digits.',
        )


def _fits(name: str) -> bool:
    return bool(name) and len(name) <= MOST_NAME and not FORBIDDEN & set(name) and not _RESERVED.search(name)


def _nameless(
    connection: QdrantConnection, name: str, present: set[str], named: set[str]
) -> dict[str, Mapping[str, Any]]:
    """Map the unnamed Qdrant collections of `name`, in order of number, to their descriptions.

    A description is empty if it was not written yet.
    """
    ours = re.compile(rf"{re.escape(name)}__(\d+){SUFFIX}")
    found: dict[str, Mapping[str, Any]] = {}
    for number in sorted(int(match[1]) for each in present if (match := ours.fullmatch(each))):
        home = f"{name}__{number}"
        if home in named:
            continue
        payload = _description(connection, home)
        if payload is not None and (not payload or payload.get("kind") == "collection"):  # otherwise gone, or not ours
            found[home] = payload
    return found


def _description(connection: QdrantConnection, home: str) -> Mapping[str, Any] | None:
    """Read a description; empty if it was not written yet, None if the collection is gone."""
    try:
        found = connection.retrieve(records_of(home), [META])
    except NotFoundError:
        return None
    return (found[0].payload or {}) if found else {}


def _give_names(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Name collections, given by home. The first write makes the change durable."""
    update_description(connection, min(names), {"names": dict(names)})
    _change_names(connection, names)
    update_description(connection, min(names), {"names": {}})


def _change_names(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Change aliases in such an order that a collection always has all its names or lacks the one for look-up."""
    aliases = connection.aliases()
    new = [pair for home, name in names.items() for pair in ((name, home), (records_of(name), records_of(home)))]
    given = {alias for alias, _ in new}
    old = [alias for alias, target in aliases.items() if alias in given or target.removesuffix(SUFFIX) in names]
    connection.alias(
        [
            *_unnamed(sorted(old, key=lambda alias: not alias.endswith(SUFFIX))),
            *(
                models.CreateAliasOperation(create_alias=models.CreateAlias(alias_name=alias, collection_name=target))
                for alias, target in new
            ),
        ]
    )


def _settled_names(connection: QdrantConnection) -> dict[str, str]:
    """Return the aliases, after completing changes that a killed server has left unfinished."""
    aliases = connection.aliases()
    targets = set(aliases.values())
    homes = {each.removesuffix(SUFFIX) for each in connection.names() if _HOME.search(each)}
    if all({home, records_of(home)} <= targets for home in homes):
        return aliases
    known = {home: payload for home in homes if (payload := _description(connection, home))}
    lost = {home for home, payload in known.items() if payload.get("state") != "dropping"}
    lost = {home for home in lost if not {home, records_of(home)} <= targets}
    for home, payload in known.items():
        names: dict[str, str] = payload.get("names") or {}
        if lost & names.keys():
            _change_names(connection, {each: name for each, name in names.items() if each in homes})
            update_description(connection, home, {"names": {}})
    return connection.aliases()


def _unnamed(names: Iterable[str]) -> list[models.AliasOperations]:
    return [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)) for alias in names]


def _remove(connection: QdrantConnection, home: str) -> None:
    """Remove both Qdrant collections with their aliases; a name that another collection has received stays."""
    connection.drop(home)
    connection.drop(records_of(home))


def update_description(connection: QdrantConnection, home: str, payload: Mapping[str, Any]) -> None:
    """Update the description of a collection."""
    change = models.SetPayload(payload=dict(payload), points=[META])
    connection.write(records_of(home), [models.SetPayloadOperation(set_payload=change)], in_turn=True)


def _made(connection: QdrantConnection, name: str, make: Callable[[QdrantClient], object]) -> None:
    """Create one Qdrant collection, unless it exists; another process may be creating it at the same time."""
    if connection.exists(name):
        return
    try:
        connection.create(name, make)
    except KnowledgeError:
        if not connection.exists(name):
            raise


def _make_records(client: QdrantClient, name: str, config: QdrantConfig) -> None:
    client.create_collection(
        name, vectors_config={}, shard_number=config.shards, replication_factor=config.replication_factor,
        write_consistency_factor=config.write_consistency, on_disk_payload=True, timeout=config.write_seconds,
    )  # fmt: skip


def _make_chunks(client: QdrantClient, name: str, space: EmbeddingSpace, config: QdrantConfig) -> None:
    index = models.SparseIndexParams(on_disk=True) if config.on_disk else None
    client.create_collection(
        name,
        vectors_config={
            DENSE: models.VectorParams(
                size=space.dimensions, distance=models.Distance.DOT, on_disk=config.on_disk or None
            )
        },
        sparse_vectors_config={BM25: models.SparseVectorParams(modifier=models.Modifier.IDF, index=index)},
        quantization_config=_quantization(config),
        shard_number=config.shards, replication_factor=config.replication_factor,
        write_consistency_factor=config.write_consistency, on_disk_payload=True, timeout=config.write_seconds,
    )  # fmt: skip


def _quantization(config: QdrantConfig) -> models.QuantizationConfig | None:
    if config.quantization == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if config.quantization == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _check_vectors(connection: QdrantConnection, name: str, space: EmbeddingSpace) -> None:
    """Reject an existing Qdrant collection with different vectors.

    Raises:
        ConfigError: it lacks the dense vector of the space.
    """
    params = connection.info(name).config.params
    dense = params.vectors.get(DENSE) if isinstance(params.vectors, dict) else None
    if dense is None or dense.size != space.dimensions or dense.distance != models.Distance.DOT:
        raise ConfigError(
            f"Qdrant has a collection '{name}' with another layout: it lacks the vector '{DENSE}' of"
            f" {space.dimensions} dimensions.",
            suggestion=_OURS,
        )

"""How a collection of ours lies in Qdrant: two collections of Qdrant's, what their points hold, and their indexes.

Qdrant calls them `<name>__<number>` and `<name>__<number>__records`; the names `<name>` and `<name>__records` are
aliases. Nobody sees Qdrant change a part of them, but it saves them one by one, and one that is killed then has changed
some. So what they shall be is written first, in one point, and who misses a name finishes what was left.

The first holds one point per chunk and generation: the vector `dense`, the sparse vector `bm25`, and a payload with the
chunk and all that a filter may name. The second holds points without vectors: one that describes the collection, one
per document (its record, and which generation of its chunks is the visible one), and in parts the canonical texts and
the sections and pages, where a document has any.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qdrant_client import QdrantClient, models

from knowledge_mcp.model.collection import CollectionInfo, EmbeddingSpace
from knowledge_mcp.model.errors import (
    ConfigError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
)
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, QdrantConnection
from knowledge_mcp.stores.shared.payload import space_from_json, space_to_json
from knowledge_mcp.stores.shared.rules import checked_renames, is_newer, now
from knowledge_mcp.support.events import log_event

LAYOUT = 1
_LEXICAL = "sparse"
"""How a collection keeps the words of its chunks; there was another way for servers before sparse vectors."""
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
"""States of a chunk's point: a publish is under way, and the document's record decides; settled."""

_OURS = (
    "Choose another name (QDRANT_COLLECTION, --to-collection): another program or another version of this one made it, "
    "and it is left as it is."
)


def point_id(*parts: str) -> str:
    """Derive the id of a point from what it stands for."""
    return str(uuid.uuid5(_SPACE, "\0".join(parts)))


META = point_id("collection")
"""Id of the point that describes a collection."""


def records_of(name: str) -> str:
    """Name the collection beside `name` that holds records and texts."""
    return f"{name}{SUFFIX}"


_KEYWORDS = (
    "document_id", "generation", "state", "chunk_id", "document_type", "chunk_type", "clause_number", "clauses",
    "content_hash", "embedding_key", "terms", "weights", "next",
)  # fmt: skip
INDEXES: Mapping[str, str] = {**dict.fromkeys(_KEYWORDS, "keyword"), "normative": "bool"}
"""Payload index of each field of a chunk's point."""
RECORD_INDEXES: Mapping[str, str] = {"kind": "keyword", "document_id": "keyword", "generation": "keyword"}
"""Payload index of each field of a record's point."""


def schema_of(kind: str, *, on_disk: bool) -> models.PayloadSchemaType | models.KeywordIndexParams:
    """Describe one payload index."""
    if kind == "bool":
        return models.PayloadSchemaType.BOOL
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, on_disk=on_disk or None)


@dataclass(frozen=True, slots=True)
class QdrantCollection:
    """A collection as its describing point says.

    Attributes:
        name: of the collection.
        home: Qdrant's own name of the collection that holds the chunks; a rename does not change it.
        space, created_at: as in `CollectionInfo`.
        analyser: version of the analyser that made its words and weights.
        coming: version that is about to make them, or was; empty for none.
        indexer: who is making them, and how far it is; another value as long as it goes on.
        is_naming: whether names were about to change.
        mean: length of a chunk in terms that the BM25 weights are made with; None before the first publish.
        changed: another value after every change.
    """

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
        """Name the newest analyser whose words it has, or is about to have."""
        return self.coming if is_newer(self.coming, self.analyser) else self.analyser

    @property
    def weights(self) -> str:
        """Name the weights that points of this place should have."""
        return f"{self.analyser} {self.mean!r}"


def place_of(name: str, payload: Mapping[str, Any] | None) -> QdrantCollection | None:
    """Read a describing point; None while the collection is being dropped.

    Raises:
        ConfigError: it is of another layout.
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
        name, payload["home"], space_from_json(payload["space"]), payload["created_at"], payload["analyser"],
        payload.get("mean"), payload.get("changed", ""), payload.get("coming", ""), payload.get("indexer", ""),
        bool(payload.get("names")),
    )  # fmt: skip


def look(connection: QdrantConnection, name: str) -> QdrantCollection | None:
    """Look a collection up; None where there is none.

    Raises:
        ConfigError: Qdrant has one of that name that is not ours.
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
                raise ConfigError(f"Qdrant has a collection '{name}' of another layout.", suggestion=_OURS) from None
        found = connection.retrieve(records_of(name), [META])  # it has got its names since
    return place_of(name, found[0].payload if found else None)


def all_places(connection: QdrantConnection) -> list[QdrantCollection]:
    """Look up every collection of ours, by name."""
    aliases = _settled_names(connection)
    found: list[QdrantCollection] = []
    for name in sorted(aliases):
        if records_of(name) in aliases:
            try:
                place = look(connection, name)
                found += [] if place is None else [place]
            except ConfigError as exc:  # somebody else's, who likes such names, or a newer version's
                log_event(_logger, logging.WARNING, "collection_left_out", collection=name, reason=exc.message)
    return found


def create(connection: QdrantConnection, name: str, space: EmbeddingSpace, analyser: str) -> None:
    """Make both of Qdrant's collections with their indexes, then give them their names in one step.

    What an interrupted make has left is used, what an interrupted drop has left is removed. What another process has
    made since the caller looked is left as it is.
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
        return  # another process has made it meanwhile; else it has lost its names, but nobody has dropped it
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
    for field, kind in RECORD_INDEXES.items():
        connection.index(records_of(home), field, schema_of(kind, on_disk=config.on_disk))
    never = models.Filter(must=[models.FieldCondition(key="kind", match=models.MatchValue(value="never"))])
    first = models.PointsList(points=[models.PointStruct(id=META, payload=meta, vector={})], update_filter=never)
    connection.write(records_of(home), [models.UpsertOperation(upsert=first)], in_turn=True)
    _made(connection, home, lambda client: _make_chunks(client, home, space, config))
    _check_vectors(connection, home, space)
    for field, kind in INDEXES.items():
        connection.index(home, field, schema_of(kind, on_disk=config.on_disk))
    _give_names(connection, {home: name})
    tell(connection, home, {"state": "ready"})
    for each in (dropped, *(each for each, state in states.items() if state == "dropping")):
        if each:  # its number is not taken again before, so that nobody removes what another has just made
            _remove(connection, each)


def drop(connection: QdrantConnection, place: QdrantCollection) -> None:
    """Remove a collection; a kill on the way leaves one that counts as gone and is removed by the next `create`.

    A server over its quota cannot keep that state, but removes the collection; after a kill there, drop it again. A
    server with a full disk refuses the state, and then nothing is removed: it would lose the names and keep the rest.
    """
    with contextlib.suppress(QuotaExceededError):
        tell(connection, place.home, {"state": "dropping"})
    _remove(connection, place.home)


def rename(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Give collections new names, all in one step."""
    places = {each.name: each for each in all_places(connection)}
    changed = checked_renames(names, places)
    for new in changed.values():
        _check_name(new)
        if new not in places:
            look(connection, new)  # a server refuses a name in use, or takes it away, after it has changed others
    for place in places.values():
        if place.is_naming:  # that was given up before any name was changed
            tell(connection, place.home, {"names": {}})
    if changed:
        _give_names(connection, {places[old].home: new for old, new in changed.items()})


def _check_name(name: str) -> None:
    if not _fits(name):
        raise InvalidInputError(
            f"'{name}' cannot be the name of a collection in Qdrant.",
            suggestion=f'Take at most {MOST_NAME} characters without any of <>:"/\\|?* and no ending in __ and digits.',
        )


def _fits(name: str) -> bool:
    return bool(name) and len(name) <= MOST_NAME and not FORBIDDEN & set(name) and not _RESERVED.search(name)


def _nameless(
    connection: QdrantConnection, name: str, present: set[str], named: set[str]
) -> dict[str, Mapping[str, Any]]:
    """Map homes that a collection was made under and that have no names, by number, to what describes each.

    That is empty before it is written.
    """
    ours = re.compile(rf"{re.escape(name)}__(\d+){SUFFIX}")
    found: dict[str, Mapping[str, Any]] = {}
    for number in sorted(int(match[1]) for each in present if (match := ours.fullmatch(each))):
        home = f"{name}__{number}"
        if home in named:
            continue
        payload = _description(connection, home)
        if payload is not None and (not payload or payload.get("kind") == "collection"):  # else gone, or not ours
            found[home] = payload
    return found


def _description(connection: QdrantConnection, home: str) -> Mapping[str, Any] | None:
    """Read what the point that describes a collection says; empty before it is written, None where it is gone."""
    try:
        found = connection.retrieve(records_of(home), [META])
    except NotFoundError:
        return None
    return (found[0].payload or {}) if found else {}


def _give_names(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Give collections, by their homes, these names; the first write decides."""
    tell(connection, min(names), {"names": dict(names)})
    _change_names(connection, names)
    tell(connection, min(names), {"names": {}})


def _change_names(connection: QdrantConnection, names: Mapping[str, str]) -> None:
    """Change the aliases so that at each step a collection has all its names or lacks the one that is looked up."""
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
    """Read the aliases, once what a killed server has left half done is finished."""
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
            tell(connection, home, {"names": {}})
    return connection.aliases()


def _unnamed(names: Iterable[str]) -> list[models.AliasOperations]:
    return [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias)) for alias in names]


def _remove(connection: QdrantConnection, home: str) -> None:
    """Remove both of Qdrant's collections, with their aliases; another one that has got the name since keeps it."""
    connection.drop(home)
    connection.drop(records_of(home))


def tell(connection: QdrantConnection, home: str, payload: Mapping[str, Any]) -> None:
    """Write to the point that describes a collection."""
    change = models.SetPayload(payload=dict(payload), points=[META])
    connection.write(records_of(home), [models.SetPayloadOperation(set_payload=change)], in_turn=True)


def _made(connection: QdrantConnection, name: str, make: Callable[[QdrantClient], object]) -> None:
    """Make one of Qdrant's collections, unless it is there: another process may be making it too."""
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
    """Refuse a collection that was there already and is made otherwise."""
    params = connection.info(name).config.params
    dense = params.vectors.get(DENSE) if isinstance(params.vectors, dict) else None
    if dense is None or dense.size != space.dimensions or dense.distance != models.Distance.DOT:
        raise ConfigError(
            f"Qdrant has a collection '{name}' of another layout: it lacks the vector '{DENSE}' of"
            f" {space.dimensions} dimensions.",
            suggestion=_OURS,
        )

"""The routes of Qdrant's REST protocol that `stores.qdrant` uses, answered by the client's local mode.

Bodies are read with the client's own models of the protocol, which refuse unknown fields. Needs the `qdrant` extra.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

from tests.servers.qdrant_local import LocalQdrant, refusal

M = TypeVar("M", bound=BaseModel)
Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the collection's name from the path, query parameters, and the body."""

    client: QdrantClient
    name: str
    parameters: Parameters
    body: bytes

    def read(self, model: type[M]) -> M:
        """Read the body as one of the protocol's own models, which refuse unknown fields."""
        try:
            return model.model_validate_json(self.body)
        except ValidationError as exc:
            raise refusal(400, f"Format error in JSON body: {exc}") from exc


Handler = Callable[[Request], Any]


def answer(local: LocalQdrant, method: str, path: str, parameters: Parameters, body: bytes) -> Any:
    """Do what one request asks for and return its result.

    Raises:
        UnexpectedResponse: what a server would refuse, with the status that it would answer.
    """
    name, handler = route_of(method, path, parameters)
    return handler(Request(local.client, name, parameters, body))


def route_of(method: str, path: str, parameters: Parameters) -> tuple[str, Handler]:
    """Find the collection that a request names, and who answers.

    Raises:
        UnexpectedResponse: nobody answers such a path, or it takes no such parameters.
    """
    for (verb, pattern), (allowed, handler) in ROUTES.items():
        found = re.fullmatch(pattern, path)
        if found is not None and verb == method:
            unknown = parameters.keys() - allowed
            if unknown:
                raise refusal(400, f"unknown parameters {sorted(unknown)} of {method} {path}")
            return urllib.parse.unquote(found.groupdict().get("name") or ""), handler
    raise refusal(404, f"no route {method} {path}")


def _list_collections(asking: Request) -> Any:
    return asking.client.get_collections()


def _list_aliases(asking: Request) -> Any:
    return asking.client.get_aliases()


def _change_aliases(asking: Request) -> Any:
    asked = asking.read(models.ChangeAliasesOperation)
    return asking.client.update_collection_aliases(asked.actions)


def _exists(asking: Request) -> Any:
    return {"exists": asking.client.collection_exists(asking.name)}


def _describe(asking: Request) -> Any:
    return asking.client.get_collection(asking.name)


def _create(asking: Request) -> Any:
    asked = asking.read(models.CreateCollection)
    return asking.client.create_collection(
        asking.name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors
    )


def _drop(asking: Request) -> Any:
    return asking.client.delete_collection(asking.name)


def _index(asking: Request) -> Any:
    asked = asking.read(models.CreateFieldIndex)
    return asking.client.create_payload_index(asking.name, asked.field_name, asked.field_schema)


def _write(asking: Request) -> Any:
    if asking.parameters.get("wait") != "true":
        raise refusal(400, "this stand-in always waits")
    asked = asking.read(models.UpdateOperations)
    return asking.client.batch_update_points(asking.name, asked.operations)


def _query(asking: Request) -> Any:
    asked = asking.read(models.QueryRequestBatch)
    return asking.client.query_batch_points(asking.name, asked.searches)


def _scroll(asking: Request) -> Any:
    asked = asking.read(models.ScrollRequest)
    points, offset = asking.client.scroll(
        asking.name,
        scroll_filter=asked.filter,
        limit=asked.limit or 10,
        order_by=asked.order_by,
        offset=asked.offset,
        with_payload=True if asked.with_payload is None else asked.with_payload,
        with_vectors=asked.with_vector or False,
    )
    return models.ScrollResult(points=points, next_page_offset=cast("models.ExtendedPointId | None", offset))


def _retrieve(asking: Request) -> Any:
    asked = asking.read(models.PointRequest)
    payload = True if asked.with_payload is None else asked.with_payload
    return asking.client.retrieve(asking.name, asked.ids, with_payload=payload, with_vectors=asked.with_vector or False)


def _count(asking: Request) -> Any:
    asked = asking.read(models.CountRequest)
    return asking.client.count(asking.name, asked.filter, exact=asked.exact is not False)


def _facet(asking: Request) -> Any:
    asked = asking.read(models.FacetRequest)
    return asking.client.facet(asking.name, asked.key, facet_filter=asked.filter, limit=asked.limit or 10)


def _root(_: Request) -> Any:
    return {"title": "a stand-in for Qdrant", "version": "1.20.0"}


_READS = frozenset({"timeout"})
_WRITES = frozenset({"wait", "ordering", "timeout"})
_NAME = "/collections/(?P<name>[^/]+)"
ROUTES: Mapping[tuple[str, str], tuple[frozenset[str], Handler]] = {
    ("GET", "/"): (frozenset(), _root),
    ("GET", "/collections"): (frozenset(), _list_collections),
    ("GET", "/aliases"): (frozenset(), _list_aliases),
    ("POST", "/collections/aliases"): (frozenset({"timeout"}), _change_aliases),
    ("GET", f"{_NAME}/exists"): (frozenset(), _exists),
    ("GET", _NAME): (frozenset(), _describe),
    ("PUT", _NAME): (frozenset({"timeout"}), _create),
    ("DELETE", _NAME): (frozenset({"timeout"}), _drop),
    ("PUT", f"{_NAME}/index"): (_WRITES, _index),
    ("POST", f"{_NAME}/points/batch"): (_WRITES, _write),
    ("POST", f"{_NAME}/points/query/batch"): (_READS, _query),
    ("POST", f"{_NAME}/points/scroll"): (_READS, _scroll),
    ("POST", f"{_NAME}/points/count"): (_READS, _count),
    ("POST", f"{_NAME}/facet"): (_READS, _facet),
    ("POST", f"{_NAME}/points"): (_READS, _retrieve),
}
"""Handler of each route, with the parameters that it takes."""

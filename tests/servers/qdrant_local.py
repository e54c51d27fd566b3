"""The Qdrant client's local mode as a server would behave: one call at a time, and failures as a server answers them.

It stands for a server in tests of the store, directly or behind `tests.servers.qdrant_server`; where a real one is
named (`tests.servers.qdrant_real`), that one answers instead. Needs the `qdrant` extra.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, cast

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse
from qdrant_client.local.local_collection import LocalCollection
from qdrant_client.local.qdrant_local import QdrantLocal

from tests.servers.qdrant_indexed import IndexedCollection
from tests.servers.qdrant_real import REAL, RealPart

_LOCK = threading.Lock()


def refusal(status: int, reason: str) -> UnexpectedResponse:
    """Make the error that a server's answer of this status is."""
    body = models.ErrorResponse(time=0.0, status=models.ErrorResponseStatus(error=reason)).model_dump_json()
    return UnexpectedResponse(status, "refused", body.encode(), httpx.Headers())


class LocalQdrant:
    """Keep collections in this process by the client's local mode, or in a part of the real server that is named.

    Unlike local mode, this remembers payload indexes (`get_collection` names them), looks points up by them (the
    answers are the same), and can be shared by threads.

    Args:
        location: `:memory:`, or a folder that is kept.
        indexed: False leaves collections as local mode makes them, which compares every point in every call; so are
            those in a folder. Neither asks a real server.
        kind: of collections; any but the usual one asks no real server.

    Attributes:
        real: the part of a server that answers instead, None where local mode does.
    """

    def __init__(
        self, location: str = ":memory:", *, indexed: bool = True, kind: type[LocalCollection] = IndexedCollection
    ) -> None:
        self.kind: type[LocalCollection] = kind
        asked = REAL if location == ":memory:" and indexed and kind is IndexedCollection else None
        self.real = None if asked is None else RealPart(asked)
        self._indexes: dict[str, dict[str, Any]] = {}
        self._indexed = indexed and location == ":memory:"
        if self.real is not None:
            return
        # not the client around it, which copies the descriptions of all its models each time
        self._client = QdrantLocal(location, force_disable_check_same_thread=True)

    @property
    def client(self) -> QdrantClient:
        """Pass for the client that a store asks for."""
        return cast("QdrantClient", self)

    def close(self) -> None:
        """Leave what was kept to the next handle: a server outlives its clients."""

    def __getattr__(self, name: str) -> Any:
        if self.real is not None:
            return self.real.called(name)
        method = getattr(self._client, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            with _LOCK, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # local mode says what it cannot do
                try:
                    if name == "update_collection_aliases":
                        # a server goes from one to the next: what it did before it refuses one stays
                        return all(method([each], **kwargs) for each in args[0])
                    if name == "batch_update_points" and any(_is_empty(each) for each in args[1]):
                        raise refusal(422, "must specify vectors to update for point")
                    if name == "facet" and args[1] not in self._indexes.get(self._home(args[0]), {}):
                        raise refusal(400, f"no appropriate index for faceting: `{args[1]}`")
                    return self._noted(name, args, method(*args, **kwargs))
                except KeyError as exc:
                    raise refusal(404, f"Not found: point {exc}") from exc
                except ValueError as exc:
                    raise refusal(_status(str(exc)), str(exc)) from exc

        return called

    def _home(self, name: str) -> str:
        """Return the collection that a name or an alias stands for."""
        return self._client.aliases.get(name, name)

    def _noted(self, name: str, args: tuple[Any, ...], answer: Any) -> Any:
        if name == "create_collection" and self._indexed:
            made = self._client.collections
            made[args[0]] = self.kind(made[args[0]].config)
        elif name == "create_payload_index":
            self._indexes.setdefault(args[0], {})[args[1]] = args[2]
        elif name == "delete_payload_index":
            self._indexes[args[0]].pop(args[1])
        elif name == "delete_collection":
            self._indexes.pop(args[0], None)
        elif name == "get_collection":
            schema = {field: _index_info(kind) for field, kind in self._indexes.get(self._home(args[0]), {}).items()}
            return answer.model_copy(update={"payload_schema": schema})
        return answer


def _is_empty(operation: models.UpdateOperation) -> bool:
    """Tell whether an update of vectors has a point that gets none: a server refuses that by REST, not by gRPC."""
    if not isinstance(operation, models.UpdateVectorsOperation):
        return False
    given = (cast("dict[str, Any]", each.vector).values() for each in operation.update_vectors.points)
    return any(not any(getattr(vector, "indices", vector) for vector in vectors) for vectors in given)


def _index_info(kind: Any) -> models.PayloadIndexInfo:
    name = kind if isinstance(kind, str) else getattr(kind, "type", kind)
    return models.PayloadIndexInfo(data_type=models.PayloadSchemaType(str(getattr(name, "value", name))), points=0)


def _status(reason: str) -> int:
    if reason.endswith("is not found in the collection") and not reason.startswith("Point"):  # its kind of vectors
        return 400
    if "not found" in reason:
        return 404
    return 409 if "already exists" in reason else 400

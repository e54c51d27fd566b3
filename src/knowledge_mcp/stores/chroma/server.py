"""The client of a ChromaDB server: the library's HTTP protocol, with the timeouts and the closing that it lacks.

`chromadb.HttpClient` accepts neither a timeout nor hooks for its session, and does not close its sockets. The library's
settings name the class that talks to the server, so ours is a subclass of the original. Imported only if a server is
used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chromadb import Collection
from chromadb.api.fastapi import FastAPI
from chromadb.config import DEFAULT_TENANT, Settings, System

from knowledge_mcp.stores.chroma.errors import raise_for_status

READING_SECONDS = 10.0
WRITING_SECONDS = 60.0
_WRITES = ("/upsert", "/add", "/update", "/delete")


def hooks() -> dict[str, list[Any]]:
    """Return the event hooks of an `httpx` client: timeouts by kind of request, and errors for failed requests."""
    return {"request": [_limit_time], "response": [raise_for_status]}


def _limit_time(request: Any) -> None:
    """Set the timeout of a request; it is longer for writes."""
    writes = request.method in {"PUT", "DELETE"} or str(request.url.path).endswith(_WRITES)
    seconds = WRITING_SECONDS if writes else READING_SECONDS
    request.extensions["timeout"] = dict.fromkeys(("connect", "pool"), READING_SECONDS) | dict.fromkeys(
        ("read", "write"), seconds
    )


class LimitedApi(FastAPI):
    """The library's HTTP API, with timeouts and a session that can be closed."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._session.timeout = READING_SECONDS
        self._session.event_hooks = hooks()

    def close_session(self) -> None:
        """Close the sockets."""
        self._session.close()


class ServerClient:
    """The calls of `chromadb.ClientAPI` that the store needs, on one database of a server.

    Args:
        settings: with host, port and headers of the server; the API class is set here.
        database: name of the database on the server.
    """

    def __init__(self, settings: Settings, database: str) -> None:
        settings.chroma_api_impl = f"{LimitedApi.__module__}.{LimitedApi.__qualname__}"
        self._place: dict[str, Any] = {"tenant": DEFAULT_TENANT, "database": database}
        self._system = System(settings)
        self._api = self._system.instance(LimitedApi)
        self._system.start()
        try:
            self._api.get_database(name=database, tenant=DEFAULT_TENANT)
        except BaseException:
            self.close()
            raise

    def get_max_batch_size(self) -> int:
        """Return the maximum number of rows per write."""
        return self._api.get_max_batch_size()

    def get_collection(self, name: str, embedding_function: None = None) -> Collection:
        """Return a collection."""
        return self._collection(self._api.get_collection(name=name, **self._place), embedding_function)

    def create_collection(
        self, name: str, *, metadata: Any, configuration: Any, embedding_function: None = None
    ) -> Collection:
        """Create a collection."""
        model = self._api.create_collection(name=name, metadata=metadata, configuration=configuration, **self._place)
        return self._collection(model, embedding_function)

    def delete_collection(self, name: str) -> None:
        """Delete a collection."""
        self._api.delete_collection(name=name, **self._place)

    def list_collections(self, limit: int, offset: int) -> Sequence[Collection]:
        """List a page of the collections."""
        return [self._collection(model) for model in self._api.list_collections(limit, offset, **self._place)]

    def close(self) -> None:
        """Stop the client and close its session."""
        self._system.stop()
        self._api.close_session()

    def _collection(self, model: Any, embedding_function: None = None) -> Collection:
        return Collection(client=self._api, model=model, embedding_function=embedding_function)
